//! The content of an upper folder, and what can be put there.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::support::{as_root_and_as_user, lines, must, plain, scan, written};
use crate::layer::upper::{Descent, ScanError, UpperUsage, attribute_name};
use crate::layer::{
    CopySize, DiskReserve, FolderCopy, Layer, LayerPlace, LayerTarget, PlaceRequest, Prefill,
    PrefillFile, UpperKind,
};

as_root_and_as_user! {
    special_files_and_unreadable_folders_are_named: plain => |ground| {
        let layer = ground.layer();
        ground.run(&layer, "mkfifo pipe; mkdir -m 000 closed; mkdir open; ln -s /etc/passwd open/link");
        let upper = layer.upper(&layer.folders()[0]).unwrap();
        drop(std::os::unix::net::UnixListener::bind(layer.folders()[0].upper.join("socket")).unwrap());
        let closed = if ground.is_root { "dir closed" } else { "unreadable closed" };
        assert_eq!(written(&layer), [
            closed, "dir open", "link open/link", "Fifo pipe", "Socket socket",
        ]);
        for path in ["pipe", "open/link", "socket", "open", "../upper/pipe", "/etc/passwd"] {
            assert!(upper.open_file(Path::new(path)).is_err(), "{path}");
        }
        let pruned = upper.scan(|path| {
            if path == Path::new("open") { Descent::Prune } else { Descent::Enter }
        }).unwrap();
        assert!(pruned.iter().any(|entry| entry.path == Path::new("open")));
        assert!(!pruned.iter().any(|entry| entry.path == Path::new("open/link")));
    };

    whiteouts_by_an_attribute_are_known_where_the_folder_says_so: plain => |ground| {
        let layer = ground.layer();
        let upper = &layer.folders()[0].upper;
        let xattrs = ground.place().options.xattrs;
        let mark = |path: &str, name: &str, value: &[u8]| {
            let name = attribute_name(xattrs, name);
            rustix::fs::setxattr(upper.join(path), name, value, rustix::fs::XattrFlags::empty()).unwrap();
        };
        fs::create_dir(upper.join("marked")).unwrap();
        fs::create_dir(upper.join("plain")).unwrap();
        for file in ["marked/gone", "marked/file", "plain/file"] {
            fs::write(upper.join(file), "").unwrap();
            fs::set_permissions(upper.join(file), fs::Permissions::from_mode(0o644)).unwrap();
        }
        mark("marked", "opaque", b"x");
        mark("marked/gone", "whiteout", b"");
        mark("plain/file", "whiteout", b"");
        assert_eq!(lines(&scan(&layer)), [
            "dir marked <marked", "file marked/file 644 0", "gone marked/gone", "dir plain <plain",
            "file plain/file 644 0",
        ]);
        mark("plain", "redirect", b"/../../etc");
        let scanned = layer.upper(&layer.folders()[0]).unwrap().scan(|_| Descent::Enter);
        assert!(matches!(scanned, Err(ScanError::OddRedirect { .. })), "{scanned:?}");
    };

    redirects_are_resolved_from_the_root: plain => |ground| {
        let layer = ground.layer();
        let upper = &layer.folders()[0].upper;
        let xattrs = ground.place().options.xattrs;
        let mark = |path: &str, value: &[u8]| {
            let name = attribute_name(xattrs, "redirect");
            fs::create_dir_all(upper.join(path)).unwrap();
            rustix::fs::setxattr(upper.join(path), name, value, rustix::fs::XattrFlags::empty()).unwrap();
        };
        mark("b", b"a");
        mark("b/y", b"x");
        mark("b/y/z", b"/top/w");
        fs::create_dir(upper.join("b/same")).unwrap();
        let entries = scan(&layer);
        assert_eq!(lines(&entries), ["dir b <a", "dir b/same <a/same", "dir b/y <a/x", "dir b/y/z <top/w"]);
    };

    what_is_written_before_a_run_is_seen_in_it: plain => |ground| {
        ground.write("changed", "before\n");
        ground.write("deleted", "d\n");
        ground.write("kept/one", "1\n");
        ground.write("kept/two", "2\n");
        ground.write("opaque/old", "o\n");
        ground.write("file-then-folder", "f\n");
        fs::set_permissions(ground.repo.join("kept"), fs::Permissions::from_mode(0o750)).unwrap();
        let layer = ground.layer();
        let options = ground.place().options;
        let prefill = Prefill::open(&layer.folders()[0].upper, &ground.repo, options.xattrs).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = |path: &str, content: &str, mode: u32| {
            let file = PrefillFile { content: content.as_bytes(), mode, modified: Some(modified) };
            prefill.file(Path::new(path), &file).unwrap();
        };
        file("changed", "after\n", 0o644);
        file("new/deep/script", "s\n", 0o755);
        file("kept/one", "one\n", 0o600);
        prefill.whiteout(Path::new("deleted")).unwrap();
        prefill.whiteout(Path::new("kept/two")).unwrap();
        prefill.opaque_folder(Path::new("opaque")).unwrap();
        file("opaque/new", "n\n", 0o644);
        file("file-then-folder/in", "i\n", 0o644);
        // Replaced, and taken back.
        prefill.whiteout(Path::new("new")).unwrap();
        file("new/deep/script", "s2\n", 0o755);
        file("opaque/gone", "", 0o644);
        prefill.forget(Path::new("opaque/gone")).unwrap();
        assert!(prefill.whiteout(Path::new("../outside")).is_err());
        assert_eq!(lines(&scan(&layer)), [
            "file changed 644 6", "gone deleted", "dir file-then-folder <file-then-folder",
            "file file-then-folder/in 644 2", "dir kept <kept",
            "file kept/one 600 4", "gone kept/two", "dir new", "dir new/deep", "file new/deep/script 755 3",
            "dir opaque", "file opaque/new 644 2",
        ]);
        let said = ground.run(&layer, "cat changed new/deep/script kept/one; ls . kept opaque; \
            stat -c %a,%Y kept/one changed; stat -c %a kept; cat file-then-folder/in; \
            echo d >deleted; rm kept/one; rm -r opaque; rm -r new");
        assert_eq!(said, "after\ns2\none\n.:\nchanged\nfile-then-folder\nkept\nnew\nopaque\n\n\
            kept:\none\n\nopaque:\nnew\n600,1000000000\n644,1000000000\n750\ni\n");
        assert_eq!(ground.read("deleted"), "d\n");
        let after = scan(&layer);
        assert!(lines(&after).contains(&"file deleted 644 2".to_owned()));
        assert!(after.iter().any(|e| e.path == Path::new("kept/one") && e.kind == UpperKind::Whiteout));
    };

    a_folder_that_was_copied_before_a_run_can_be_renamed_by_anyone: plain => |ground| {
        ground.write("src/deep/file", "f\n");
        ground.write("src/script", "s\n");
        fs::set_permissions(ground.repo.join("src/script"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("script", ground.repo.join("src/link")).unwrap();
        let layer = ground.layer();
        let prefill = Prefill::open(&layer.folders()[0].upper, &ground.repo, ground.place().options.xattrs);
        let prefill = prefill.unwrap();
        let copy = |entries, bytes| prefill.copy_folder(Path::new("src"), CopySize { entries, bytes }).unwrap();
        assert_eq!(copy(100, 3), FolderCopy::LeftAlone);
        assert_eq!(copy(3, 100), FolderCopy::LeftAlone);
        assert_eq!(scan(&layer), []);
        assert_eq!(copy(4, 4), FolderCopy::Copied(CopySize { entries: 4, bytes: 4 }));
        let before = fs::metadata(ground.repo.join("src/script")).unwrap();
        let after = fs::metadata(layer.folders()[0].upper.join("src/script")).unwrap();
        assert_eq!((before.mtime_nsec(), before.mode()), (after.mtime_nsec(), after.mode()));
        let plan = layer.mount_plan().unwrap();
        assert_eq!(ground.act(plan, "rename", &["src", "lib"]), "done");
        assert_eq!(ground.run(&layer, "cat lib/deep/file lib/link; ls"), "f\ns\nlib\n");
        assert_eq!(written(&layer), [
            "dir lib", "dir lib/deep", "file lib/deep/file 644 2", "link lib/link",
            "file lib/script 755 2", "gone src",
        ]);
        assert_eq!(ground.read("src/script"), "s\n");
    };

    a_layer_in_memory_is_full_for_the_program_alone: |dir| {
        let memory = dir.join("memory");
        fs::create_dir(&memory).unwrap();
        let args = ["-t", "tmpfs", "-o", "size=130m,mode=0777", "tmpfs"].map(Path::new);
        must("mount", args.into_iter().chain([memory.as_path()]));
    } => |ground| {
        fs::write(ground.dir.join(".ralph-layers"), "").unwrap();
        let memory = ground.dir.join("memory");
        let request = PlaceRequest { temp_dir: &memory, ..ground.request(&memory) };
        let place = LayerPlace::find(&request).unwrap();
        assert_eq!(place.max_bytes, Some(65 << 20), "half of what is free");
        let layer = Layer::create(&place, &[LayerTarget::new(&ground.repo)]).unwrap();
        let (said, _) = ground.try_run(&layer, "head -c 200000000 /dev/zero >big");
        assert!(said.contains("No space left on device"), "{said}");
        let usage = layer.upper(&layer.folders()[0]).unwrap().usage().unwrap();
        assert!(usage.bytes > 100 << 20, "{usage:?}");
        ground.write("on-the-disk", "there is room\n");
        let path = layer.path().to_owned();
        drop(layer);
        assert!(!path.exists());
    };

    what_root_writes_before_a_run_belongs_to_the_owner_of_the_repository: plain => |ground| {
        ground.write("src/file", "f\n");
        let layer = ground.layer();
        let upper = &layer.folders()[0].upper;
        if ground.is_root {
            for path in ["", "src", "src/file"] {
                std::os::unix::fs::chown(ground.repo.join(path), Some(1000), Some(1001)).unwrap();
            }
        }
        let prefill = Prefill::open(upper, &ground.repo, ground.place().options.xattrs).unwrap();
        let file = PrefillFile { content: b"x", mode: 0o4755, modified: None };
        prefill.file(Path::new("src/new/file"), &file).unwrap();
        let owner = if ground.is_root { (1000, 1001) } else { (65534, 65534) };
        for path in ["src", "src/new", "src/new/file"] {
            let meta = fs::symlink_metadata(upper.join(path)).unwrap();
            assert_eq!((meta.uid(), meta.gid()), owner, "{path}");
        }
        assert_eq!(fs::metadata(upper.join("src/new/file")).unwrap().mode() & 0o7777, 0o4755);
    };

    the_space_of_a_layer_is_measured_and_space_can_be_held_back: plain => |ground| {
        let layer = ground.layer();
        let upper = layer.upper(&layer.folders()[0]).unwrap();
        assert_eq!(upper.usage().unwrap(), UpperUsage::default());
        ground.run(&layer, "head -c 1000000 /dev/urandom >a; ln a b; mkdir d; truncate -s 1G sparse");
        let usage = upper.usage().unwrap();
        assert_eq!(usage.entries, 4);
        assert!((1_000_000..1_100_000).contains(&usage.bytes), "{usage:?}");
        let free = || {
            let room = rustix::fs::statvfs(&ground.dir).unwrap();
            room.f_bavail * room.f_frsize
        };
        // Others use the disk too: only much of it can be told apart.
        let before = free();
        let reserve = DiskReserve::hold(&ground.dir, 1 << 30).unwrap();
        assert!(free() + (1 << 29) < before);
        drop(reserve);
        assert!(free() + (1 << 29) > before);
    };

    a_path_that_is_too_long_is_told_by_its_beginning: plain => |ground| {
        let layer = ground.layer();
        let script = r#"n=$(printf %0200d 0); i=0; mkdir deep; cd deep
            while test $i -lt 30; do mkdir $n && cd -P $n || exit 1; i=$((i+1)); done; echo x >file"#;
        ground.run(&layer, script);
        let scanned = layer.upper(&layer.folders()[0]).unwrap().scan(|_| Descent::Enter);
        let scanned = scanned.unwrap();
        let too_long: Vec<_> = scanned.iter().filter(|e| e.kind == UpperKind::TooLong).collect();
        assert_eq!(too_long.len(), 1);
        assert!(too_long[0].path.starts_with("deep"));
        let path = layer.path().to_owned();
        drop(layer);
        assert!(!path.exists());
    };
}
