//! Ways out of a layer that must be closed, each really tried.

use std::fs;
use std::path::Path;

use super::support::{as_root_and_as_user, lines, must, own_program, plain, run_spec, scan};
use crate::layer::{Layer, LayerPlace, LayerTarget, PlaceRequest};
use crate::process::{Containment, OverlayXattrs};

/// Does one thing inside a layer by a system call that no tool makes, and says how it went.
#[test]
#[ignore = "started by other tests inside a layer"]
fn act() {
    let act = std::env::var("RALPH_LAYER_ACT").unwrap();
    let args = std::env::var("RALPH_LAYER_ARGS").unwrap();
    let args: Vec<&str> = args.split('\n').collect();
    let done = match act.as_str() {
        "rename" => fs::rename(args[0], args[1]),
        "connect" => std::os::unix::net::UnixStream::connect(args[0]).map(|_| ()),
        "mark" => {
            let marks = ["trusted.overlay.opaque", "user.overlay.opaque"];
            let set = |name: &str| {
                rustix::fs::setxattr(args[0], name, b"y", rustix::fs::XattrFlags::empty())
            };
            let results: Vec<String> = marks
                .iter()
                .map(|name| format!("{:?}", set(name)))
                .collect();
            println!("ACT: {}", results.join(" "));
            return;
        }
        "dig" => (0..args[0].parse().unwrap()).try_for_each(|_| {
            fs::create_dir("d")?;
            std::env::set_current_dir("d")
        }),
        "handle" => open_by_handle(args[0]),
        other => panic!("{other}"),
    };
    match done {
        Ok(()) => println!("ACT: done"),
        Err(error) => println!("ACT: failed {}", error.raw_os_error().unwrap()),
    }
}

/// Opens the root of the file system that a folder is on by its handle: inode 2 on ext4.
#[allow(unsafe_code)]
fn open_by_handle(folder: &str) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;

    #[repr(C)]
    struct Handle {
        bytes: u32,
        kind: i32,
        inode: u32,
        generation: u32,
    }
    let mut handle = Handle {
        bytes: 8,
        kind: 1,
        inode: 2,
        generation: 0,
    };
    let mount = fs::File::open(folder)?;
    // SAFETY: a handle with its length.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            &raw mut handle,
            libc::O_RDONLY,
        )
    };
    if fd < 0 {
        Err(std::io::Error::last_os_error())
    } else {
        Ok(())
    }
}

as_root_and_as_user! {
    no_mount_can_be_undone_from_inside: plain => |ground| {
        let canary = ground.write("canary", "alive\n");
        let layer = ground.layer();
        // Each way ends in an attempt to write through to the real folder.
        let ways = [
            r#"umount "$REPO""#,
            r#"umount -l "$REPO""#,
            r#"mount -o remount,ro "$REPO""#,
            r#"mount -o remount,bind,rw "$REPO""#,
            r#"mkdir "$DIR/other$$"; mount --bind "$DIR" "$DIR/other$$""#,
            r#"mount -t tmpfs tmpfs "$REPO""#,
            r#"nsenter -t 1 -m sh -c 'umount "$REPO"'"#,
            r#"nsenter -t $PPID -m true"#,
            r#"unshare -Urm umount "$REPO""#,
            r#"unshare -Urm umount -l "$REPO""#,
            r#"unshare -Urm sh -c 'mkdir "$DIR/m$$"; mount --bind "$DIR" "$DIR/m$$" && ls "$DIR/m$$/repo"'"#,
            r#"unshare -m umount "$REPO""#,
            r#"mknod "$DIR/disk$$" b 254 0"#,
            r#"mount -t proc proc /proc"#,
            r#"chroot /proc/1/root sh -c 'test ! -e "$REPO/in-the-layer"'"#,
            r#"ls /proc/1/cwd/canary"#,
            r#"echo '|/bin/true' >/proc/sys/kernel/core_pattern"#,
            r#"touch /sys/kernel/uevent_helper /sys/kernel/mm/transparent_hugepage/enabled"#,
        ];
        ground.run(&layer, "touch in-the-layer");
        for way in ways {
            let script = format!("{{ {way}; }} && echo OPEN; echo written >\"$REPO/canary\"");
            let (said, _) = ground.try_run(&layer, &script);
            assert!(!said.contains("OPEN"), "{way}: {said}");
            assert_eq!(fs::read_to_string(&canary).unwrap(), "alive\n", "{way}");
        }
        assert_eq!(lines(&scan(&layer)), ["file canary 644 8", "file in-the-layer 644 0"]);
    };

    what_processes_show_of_their_folders_is_the_layer: plain => |ground| {
        ground.write("canary", "alive\n");
        let layer = ground.layer();
        ground.run(&layer, "touch in-the-layer");
        // Whatever can be read at all must be inside.
        let said = ground.run(&layer, r#"
            for process in /proc/[0-9]*; do
                for way in "$process/root$REPO" "$process/cwd"; do
                    if test -e "$way/canary" && test ! -e "$way/in-the-layer"; then echo "OPEN $way"; fi
                done
                for way in "$process"/fd/*; do
                    if test -e "$way/canary" && test ! -e "$way/in-the-layer"; then echo "OPEN $way"; fi
                done
            done; echo looked; ls -d /proc/[0-9]* | wc -l
        "#);
        let (looked, count) = said.split_once('\n').unwrap();
        assert_eq!(looked, "looked");
        assert!(count.trim().parse::<u32>().unwrap() < 8, "only its own processes: {count}");
    };

    handles_and_marks_are_refused: plain => |ground| {
        ground.write("folder/file", "f\n");
        let layer = ground.layer();
        let plan = || layer.mount_plan().unwrap();
        let outside = ground.dir.to_str().unwrap();
        let refused = format!("failed {}", libc::EPERM);
        assert_eq!(ground.act(plan(), "handle", &[outside]), refused);
        // In a namespace of its own it has the capability, yet not over these mounts.
        for folder in [outside, "/usr"] {
            let script = format!(
                "RALPH_LAYER_ACT=handle RALPH_LAYER_ARGS='{folder}' unshare -Urm '{}' \
                 layer::tests::canaries::act --exact --ignored --nocapture",
                own_program().display()
            );
            let said = ground.run(&layer, &script);
            assert!(said.contains("ACT: failed"), "{folder}: {said}");
        }
        // The marks of the overlay itself can't be set through it, and others mean nothing.
        ground.act(plan(), "mark", &["folder"]);
        assert_eq!(ground.run(&layer, "cat folder/file"), "f\n");
        let entries = lines(&scan(&layer));
        assert!(entries.is_empty() || entries == ["dir folder <folder"], "{entries:?}");
        let (said, _) = ground.try_run(&layer, "mknod folder/file2 c 0 0 && echo MADE");
        assert!(!said.contains("MADE"), "{said}");
    };

    capabilities_are_gone_and_what_packages_need_stays: plain => |ground| {
        let layer = ground.layer();
        let said = ground.run(&layer, "grep ^Cap /proc/self/status");
        let set = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        // MKNOD, DAC_READ_SEARCH, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN.
        let undo = [27, 2, 16, 17, 19, 21].iter().fold(0_u64, |bits, bit| bits | 1 << bit);
        for name in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(set(name) & undo, 0, "{name} {said}");
        }
        if ground.is_root {
            // CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID, NET_BIND_SERVICE, SYS_CHROOT.
            let needed = [0, 1, 3, 6, 7, 10, 18].iter().fold(0_u64, |bits, bit| bits | 1 << bit);
            assert_eq!(set("CapEff:") & needed, needed, "{said}");
            let said = ground.run(&layer, "echo x >f; chown 1000:1000 f; chmod 0 f; cat f; \
                stat -c %u:%g f; setpriv --reuid 1000 --regid 1000 --clear-groups id -u");
            assert_eq!(said, "x\n1000:1000\n1000\n");
        } else {
            // An exec by an ordinary user leaves none at all.
            assert_eq!(set("CapEff:") | set("CapPrm:"), 0, "{said}");
        }
    };

    root_of_a_user_namespace_can_undo_nothing_either: plain => |ground| {
        // Such is root in a container that may not mount by itself.
        let data = ground.dir.join("data");
        let containment = Containment::UserNamespace;
        let place = LayerPlace::find(&PlaceRequest { containment, ..ground.request(&data) }).unwrap();
        assert_eq!(place.options.xattrs, OverlayXattrs::User);
        let layer = Layer::create(&place, &[LayerTarget::new(&ground.repo)]).unwrap();
        let script = r#"umount "$REPO" && echo OPEN; mount -o remount,ro "$REPO" && echo OPEN
            nsenter -t 1 -m true && echo OPEN; mount -t tmpfs tmpfs "$REPO" && echo OPEN
            echo x >file; grep CapBnd /proc/self/status"#;
        let spec = ground.spec("sh").args(["-c", script]).mounts(layer.mount_plan().unwrap());
        let (said, _) = run_spec(&spec, containment).unwrap();
        assert!(!said.contains("OPEN") && said.contains("CapBnd:"), "{said}");
        assert_eq!(lines(&scan(&layer)), ["file file 644 2"]);
        assert!(!ground.repo.join("file").exists());
    };

    disks_are_out_of_reach: plain => |ground| {
        let layer = ground.layer();
        let said = ground.run(&layer, r#"
            find /dev -type b 2>/dev/null | while read disk; do
                if test -b "$disk" && test -r "$disk" || test -n "$(head -c 1 "$disk" 2>/dev/null)"; then
                    echo "OPEN $disk"
                fi
                echo "saw $disk"
            done
        "#);
        assert!(said.contains("saw ") && !said.contains("OPEN "), "{said}");
    };

    the_folders_of_layers_are_covered: plain => |ground| {
        let layer = ground.layer();
        let place = ground.place().folder;
        let upper = layer.folders()[0].upper.display().to_string();
        let script = format!(
            "ls -A '{0}'; touch '{0}/x' && echo WRITTEN; ls '{upper}' && echo SEEN; true",
            place.display()
        );
        let said = ground.run(&layer, &script);
        assert!(!said.contains("WRITTEN") && !said.contains("SEEN"), "{said}");
        assert!(said.starts_with("touch:"), "nothing is listed: {said}");
        assert_eq!(scan(&layer), []);
        // A caller covers more after it, also folders around.
        let plan = layer.mount_plan().unwrap().cover(&ground.dir.join("data"));
        assert_eq!(ground.run_plan(plan, r#"ls -A "$DIR/data""#).unwrap().0, "");
    };

    other_paths_to_the_repository_are_read_only: |dir| {
        let repo = dir.join("repo");
        fs::create_dir(repo.join("src")).unwrap();
        fs::write(repo.join("src/file"), "f\n").unwrap();
        for (from, to) in [(repo.as_path(), "alias"), (dir, "around"), (&repo.join("src"), "part")] {
            fs::create_dir(dir.join(to)).unwrap();
            must("mount", [Path::new("--bind"), from, &dir.join(to)]);
        }
    } => |ground| {
        let layer = ground.layer();
        for way in ["alias/src/file", "around/repo/src/file", "part/file"] {
            let (said, _) = ground.try_run(&layer, &format!("echo x >\"$DIR/{way}\" && echo WRITTEN"));
            assert!(said.contains("Read-only file system"), "{way}: {said}");
        }
        ground.run(&layer, r#"echo y >src/file; echo z >"$DIR/around/beside""#);
        assert_eq!(ground.read("src/file"), "f\n");
        assert_eq!(fs::read_to_string(ground.dir.join("beside")).unwrap(), "z\n");
    };
}
