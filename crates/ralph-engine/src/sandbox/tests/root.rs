//! Programs of root's that run as another user of the machine. Ordinary users have nothing to give up.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use ralph_core::config::SandboxMode;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::ground::{CANARY, Machine, write};
use crate::layer::tests::support::{
    Ground, LIMIT, as_root_and_as_user, must, plain, run_spec, written,
};
use crate::process::{Ended, SandboxMeans, Stdin, spawn};
use crate::sandbox::{AgentFile, AgentFolder, SandboxUser};

const ON: &str = "on, by namespaces, and programs do not run as root";

const FOLDERS: &[AgentFolder] = &[AgentFolder {
    variable: None,
    folder: ".agent",
    files: &[AgentFile::login("login.json")],
}];

fn machine(ground: &Ground) -> Machine<'_> {
    let machine = Machine::new(ground, SandboxMeans::Namespaces);
    assert_eq!(machine.sentence(), ON);
    machine
}

/// User, group and mode of a file on the disk.
fn facts(path: &Path) -> (u32, u32, u32) {
    let meta = fs::symlink_metadata(path).unwrap();
    (meta.uid(), meta.gid(), meta.mode() & 0o7777)
}

fn make_private(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// An overlay, which can't be mapped, where the repository is to be.
fn repository_on_an_overlay(dir: &Path) {
    for name in ["a", "b", "c"] {
        fs::create_dir(dir.join(name)).unwrap();
    }
    let [lower, upper, work] = ["a", "b", "c"].map(|name| dir.join(name).display().to_string());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let at = dir.join("repo").display().to_string();
    must("mount", ["-t", "overlay", "overlay", "-o", &options, &at]);
}

as_root_and_as_user! {
    a_program_of_root_is_another_user_with_a_name_and_a_home_and_without_rights: plain => |ground| {
        if !ground.is_root {
            return;
        }
        let machine = machine(ground);
        let (said, ended) = machine.run(
            "id -u; id -G; whoami; getent passwd \"$(id -u)\" | cut -d: -f6; getent group \"$(id -g)\" | cut -d: -f1; \
             env -u HOME /usr/bin/python3 -c 'import os; print(os.path.expanduser(\"~\"))'; \
             stat -c %U \"$HOME\" /tmp \"$REPO\" /etc; grep -E 'Uid|Gid|Groups|Cap|NoNewPrivs' /proc/self/status",
        );
        assert_eq!(ended, Ended::Code(0), "{said}");
        let id: u32 = said.lines().next().unwrap().parse().unwrap();
        assert!((80_000..88_000).contains(&id), "{said}");
        let home = machine.home.display();
        let none = "0000000000000000";
        let expected = format!(
            "{id}\n{id}\nralph\n{home}\nralph\n{home}\nralph\nralph\nralph\nroot\n\
             Uid:\t{id}\t{id}\t{id}\t{id}\nGid:\t{id}\t{id}\t{id}\t{id}\nGroups:\t \n\
             CapInh:\t{none}\nCapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nCapAmb:\t{none}\nNoNewPrivs:\t1\n"
        );
        assert_eq!(said, expected);
    };

    what_root_may_do_by_its_number_alone_is_closed: plain => |ground| {
        if !ground.is_root {
            return;
        }
        let machine = machine(ground);
        // All of these are there, on mounts that can be written or read: only their owner keeps a program out.
        let open = [
            "test -w /proc/sys/kernel/core_pattern",
            "test -w /proc/sys/kernel/hostname",
            "test -w /proc/sys/vm/drop_caches",
            "test -w /proc/sysrq-trigger",
            "test -r /proc/kcore",
            "test -r /etc/shadow",
            "test -r /proc/1/environ",
            "test -r /proc/1/mem",
            "ls /proc/1/fd",
            "ls /proc/1/cwd/",
            "kill -0 1",
            "kill -HUP 1",
            "renice -n 5 -p 1",
            "test -O /usr",
            "test -O /etc/passwd",
            "test -w /etc/passwd",
        ];
        let (said, _) = machine.run("grep ' /proc ' /proc/self/mounts | grep -c rw,; ls /etc/shadow /proc/1/environ");
        assert_eq!(said, "1\n/etc/shadow\n/proc/1/environ\n");
        for way in open {
            let (said, _) = machine.run(&format!("{{ {way}; }} >/dev/null 2>&1 && echo OPEN"));
            assert_eq!(said, "", "{way}");
        }
        // Root without its rights gets through to some of it: its number is enough.
        drop(machine);
        let reduced = Machine::reduced(ground);
        let (said, _) = reduced.run("kill -0 1 && echo signals; test -O /usr && echo owns");
        assert_eq!(said, "signals\nowns\n");
    };

    in_place_what_a_program_makes_is_roots_and_what_is_roots_is_its_own: plain => |ground| {
        if !ground.is_root {
            return;
        }
        let private = ground.write("private", "1\n");
        make_private(&private);
        let machine = machine(ground);
        let (said, ended) = machine.run(
            "set -e; umask 022; test -O . && test -O private && cat private; echo 2 >>private; \
             mkdir -p new/deep; echo x >new/deep/file; chmod 750 new; ln -s private link; \
             printf '#!/bin/sh\\n' >run.sh; chmod +x run.sh; mkfifo pipe; ls -lnd new | awk -v id=$(id -u) '$3 == id && $4 == id {print \"own\"}'",
        );
        assert_eq!((said.as_str(), ended), ("1\nown\n", Ended::Code(0)));
        assert_eq!(ground.read("private"), "1\n2\n");
        for (path, mode) in [
            ("private", 0o600), ("new", 0o750), ("new/deep", 0o755), ("new/deep/file", 0o644),
            ("link", 0o777), ("run.sh", 0o755), ("pipe", 0o644),
        ] {
            assert_eq!(facts(&ground.repo.join(path)), (0, 0, mode), "{path}");
        }
    };

    in_a_layer_everything_that_was_written_is_roots: plain => |ground| {
        if !ground.is_root {
            return;
        }
        for path in ["src/a.rs", "src/deep/b.rs", "old", "gone"] {
            make_private(&ground.write(path, "before\n"));
        }
        let machine = machine(ground);
        let layer = ground.layer();
        let (said, ended) = machine.run_in_layer(
            &layer,
            "set -e; echo more >>src/a.rs; mv src/deep src/moved; mv old new; rm gone; mkdir made; echo x >made/file; \
             chmod 755 made/file; cat src/moved/b.rs; test -O src/moved/b.rs",
        );
        assert_eq!((said.as_str(), ended), ("before\n", Ended::Code(0)));
        assert_eq!(
            written(&layer),
            [
                "gone gone", "dir made", "file made/file 755 2", "file new 600 7", "gone old",
                "dir src <src", "file src/a.rs 600 12", "gone src/deep", "dir src/moved <src/deep",
            ]
        );
        let upper = &layer.folders()[0].upper;
        for path in ["made", "made/file", "new", "src", "src/a.rs", "src/moved"] {
            let (user, group, _) = facts(&upper.join(path));
            assert_eq!((user, group), (0, 0), "{path}");
        }
        assert_eq!(ground.read("src/a.rs"), "before\n");
    };

    the_repository_of_another_user_stays_theirs: plain => |ground| {
        if !ground.is_root {
            return;
        }
        make_private(&ground.write("private", "1\n"));
        ground.write("tracked.txt", "tracked\n");
        must("git", ["-C", ground.repo.to_str().unwrap(), "init", "-q"]);
        must("chown", ["-R", "1234:1235", ground.repo.to_str().unwrap()]);
        let machine = machine(ground);
        let work = "set -e; cat private; echo 2 >>private; mkdir new; echo x >new/file; git add .; \
                    git -c user.name=a -c user.email=a@b commit -q -m x; git log --format=%s";
        let layer = ground.layer();
        let (said, ended) = machine.run_in_layer(&layer, work);
        assert_eq!((said.as_str(), ended), ("1\nx\n", Ended::Code(0)));
        for path in ["private", "new", "new/file", ".git/index"] {
            let (user, group, _) = facts(&layer.folders()[0].upper.join(path));
            assert_eq!((user, group), (1234, 1235), "{path}");
        }
        let (said, ended) = machine.run(work);
        assert_eq!((said.as_str(), ended), ("1\nx\n", Ended::Code(0)));
        for path in ["private", "new", "new/file", ".git/index"] {
            let (user, group, _) = facts(&ground.repo.join(path));
            assert_eq!((user, group), (1234, 1235), "{path}");
        }
    };

    a_repository_with_files_of_several_users_is_worked_on_as_root_by_name: plain => |ground| {
        if !ground.is_root {
            return;
        }
        let others = ground.write("others", "1\n");
        chown(&ground.repo, Some(1234), Some(1234)).unwrap();
        chown(&others, Some(4321), Some(4321)).unwrap();
        let found = Machine::find(ground, SandboxMode::Auto).unwrap();
        assert!(found.is_reduced());
        let why = format!("{} belongs to another user than the repository", others.display());
        assert_eq!(found.sentence(), format!("reduced: by namespaces, and programs run as root ({why})"));
        let refused = Machine::find(ground, SandboxMode::Required).unwrap_err();
        assert_eq!(
            refused,
            format!("ralph runs as root, and its programs can't run as another user here ({why}): root is not kept in by a sandbox")
        );
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        let (said, ended) = machine.run("id -u; echo 2 >>others");
        assert_eq!((said.as_str(), ended), ("0\n", Ended::Code(0)));
    };

    where_owners_can_not_be_mapped_programs_are_root_and_required_is_refused: repository_on_an_overlay => |ground| {
        if !ground.is_root {
            return;
        }
        let found = Machine::find(ground, SandboxMode::Auto).unwrap();
        assert!(found.is_reduced());
        let why = format!("mapping the owners of {} failed: Invalid argument (os error 22)", ground.repo.display());
        assert_eq!(found.sentence(), format!("reduced: by namespaces, and programs run as root ({why})"));
        let refused = Machine::find(ground, SandboxMode::Required).unwrap_err();
        assert!(refused.contains(&why), "{refused}");
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        let (said, _) = machine.run("id -u; echo x >made");
        assert_eq!(said, "0\n");
        assert_eq!(ground.read("made"), "x\n");
    };

    a_sandbox_that_is_required_is_one_for_root_as_well: plain => |ground| {
        let found = Machine::find(ground, SandboxMode::Required).unwrap();
        assert!(!found.is_reduced());
        let expected = if ground.is_root { ON } else { "on, by namespaces" };
        assert_eq!(found.sentence(), expected);
        let left = fs::read_dir(ground.dir.join("data/homes")).into_iter().flatten().count();
        assert_eq!(left, 2 * usize::from(ground.is_root), "the files with its name, and a lock");
        drop(found);
        let left = fs::read_dir(ground.dir.join("data/homes")).into_iter().flatten().count();
        assert_eq!(left, 0);
    };

    what_a_person_allows_is_as_open_as_to_root: plain => |ground| {
        if !ground.is_root {
            return;
        }
        let (read, written) = (ground.dir.join("read/key"), ground.dir.join("write/key"));
        for path in [&read, &written] {
            write(path, CANARY);
            make_private(path);
        }
        let machine = Machine::with(ground, SandboxMeans::Namespaces, |safety| {
            safety.allow_read = vec![ground.dir.join("read"), "/etc/shadow".into()];
            safety.allow_write = vec![ground.dir.join("write")];
        });
        assert_eq!(machine.sentence(), ON);
        let (said, ended) = machine.run(
            "set -e; cat \"$DIR/read/key\"; grep -c ^root: /etc/shadow; echo x >\"$DIR/write/key\"; echo x >\"$DIR/write/new\"",
        );
        assert_eq!((said, ended), (format!("{CANARY}1\n"), Ended::Code(0)));
        assert_eq!(facts(&written), (0, 0, 0o600));
        assert_eq!(fs::metadata(ground.dir.join("write/new")).unwrap().uid(), 0);
        let (said, _) = machine.run("echo x >>/etc/shadow && echo OPEN; echo x >\"$DIR/read/key\" && echo OPEN");
        assert!(!said.contains("OPEN"), "{said}");
    };

    no_program_that_runs_as_root_is_made: plain => |ground| {
        if !ground.is_root {
            return;
        }
        let machine = machine(ground);
        let script = "cp /bin/true plain; chmod 755 plain; chmod u+s plain; chmod 4755 plain; install -m 4755 plain installed
            /usr/bin/python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(what):
    try:
        if what() == -1:
            raise OSError(ctypes.get_errno(), 'failed')
        print('OPEN')
    except OSError:
        pass
tried(lambda: os.close(os.open('opened', os.O_CREAT | os.O_WRONLY, 0o4755)))
tried(lambda: os.mknod('node', 0o104755))
fd = os.open('plain', os.O_RDONLY)
tried(lambda: os.fchmod(fd, 0o4755))
tried(lambda: libc.syscall(2, b'old', os.O_CREAT | os.O_WRONLY, 0o4755))
tried(lambda: libc.syscall(85, b'created', 0o4755))
tried(lambda: libc.syscall(90, b'plain', 0o4755))
tried(lambda: libc.syscall(452, -100, b'plain', 0o4755, 0))
tried(lambda: os.close(os.open('.', 0o20200001, 0o4755)))
how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
tried(lambda: libc.syscall(437, -100, b'second', ctypes.byref(how), 24))
END";
        let (said, _) = machine.run(&format!("{script}\nchmod g+s . && chmod 1755 plain && ./plain && echo works"));
        assert!(said.ends_with("works\n") && !said.contains("OPEN"), "{said}");
        for entry in fs::read_dir(&ground.repo).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(facts(&path).2 & 0o4000, 0, "{}", path.display());
        }
    };

    a_login_that_is_renewed_stays_roots: plain => |ground| {
        if !ground.is_root {
            return;
        }
        let machine = machine(ground);
        let login = machine.home.join(".agent/login.json");
        write(&login, r#"{"token": "old"}"#);
        make_private(&login);
        let (said, ended) = machine.run_agent(
            "cd && cat .agent/login.json && echo '{\"token\": \"new\"}' >.agent/t && mv .agent/t .agent/login.json && touch .cargo .agent/x",
            FOLDERS,
        );
        assert_eq!((said.as_str(), ended), (r#"{"token": "old"}"#, Ended::Code(0)));
        assert_eq!(fs::read_to_string(&login).unwrap(), "{\"token\": \"new\"}\n");
        assert_eq!(facts(&login), (0, 0, 0o600));
    };

    devices_and_streams_can_be_opened_by_their_names: plain => |ground| {
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        let (said, ended) = machine.run("set -e; for name in null zero full; do : >/dev/$name; done; echo a >/dev/stdout; echo b >/dev/stderr; echo c >/proc/self/fd/1");
        assert_eq!((said.as_str(), ended), ("a\nb\nc\n", Ended::Code(0)));
    };

    signals_reach_a_program_and_killing_it_ends_all_of_it: plain => |ground| {
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        for (signal, expected) in [(Signal::TERM, Ended::Code(3)), (Signal::KILL, Ended::Signal(9))] {
            let mut spec = machine.spec("trap 'exit 3' TERM; echo ready; while :; do read -r line; done");
            spec = spec.stdin(Stdin::Open);
            let enclosure = machine.sandbox.enclose(&mut spec, SandboxUser::Command).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let ended = runtime.block_on(async {
                let mut running = spawn(&spec, ground.containment()).unwrap();
                let mut lines = BufReader::new(running.take_stdout().unwrap()).lines();
                assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
                running.signal(signal);
                tokio::time::timeout(LIMIT, running.wait()).await.unwrap().unwrap()
            });
            assert_eq!(ended, expected);
            drop(enclosure);
        }
    };

    the_layer_without_a_sandbox_is_as_before: plain => |ground| {
        if !ground.is_root {
            return;
        }
        let layer = ground.layer();
        let spec = ground.spec("sh").args(["-c", "id -u; echo x >made"]);
        let (said, _) = run_spec(&spec.mounts(layer.mount_plan().unwrap()), ground.containment()).unwrap();
        assert_eq!(said, "0\n");
        assert_eq!(written(&layer), ["file made 644 2"]);
    };
}
