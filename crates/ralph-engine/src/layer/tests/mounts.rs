//! The view of a program, what it writes, and what stays.

use std::fs;
use std::path::{Path, PathBuf};

use super::support::{as_root_and_as_user, lines, must, plain, run_spec, scan, written};
use crate::layer::checks::{CheckRequest, SearchExtent, check_repository};
use crate::layer::{InPlaceReason, Layer, LayerPlace, LayerTarget, PlaceRequest};
use crate::process::{
    BindAccess, Containment, Ended, MountPlan, MountPlanError, MountStep, SpawnError,
};

as_root_and_as_user! {
    writes_go_to_the_upper_folder_and_the_repository_stays: plain => |ground| {
        ground.write("a", "a\n");
        ground.write("gone", "gone\n");
        ground.write("moved", "moved\n");
        ground.write("src/lib.rs", "lib\n");
        ground.write("old/one", "1\n");
        let layer = ground.layer();
        let said = ground.run(&layer, r#"
            set -e; umask 022; test "$PWD" = "$REPO"
            echo b >>a; rm gone; mv moved src/moved; mkdir new; echo n >new/file; chmod 755 new/file
            ln -s ../a new/link; rm -r old; mkdir old; echo 2 >old/two
            cat a src/lib.rs; ls old
        "#);
        assert_eq!(said, "a\nb\nlib\ntwo\n");
        assert_eq!(ground.read("a"), "a\n");
        assert_eq!(ground.read("gone"), "gone\n");
        assert_eq!(ground.read("old/one"), "1\n");
        assert!(!ground.repo.join("new").exists());
        assert_eq!(written(&layer), [
            "file a 644 4", "gone gone", "gone moved", "dir new", "file new/file 755 2",
            "link new/link", "dir old", "file old/two 644 2", "dir src <src", "file src/moved 644 6",
        ]);
        let link = fs::read_link(layer.folders()[0].upper.join("new/link"));
        assert_eq!(link.unwrap(), Path::new("../a"));
        // A second program goes on where the first one was.
        assert_eq!(ground.run(&layer, "cat a; ls"), "a\nb\na\nnew\nold\nsrc\n");
    };

    renaming_a_folder_of_the_base_works_for_root_and_is_exdev_for_a_user: plain => |ground| {
        ground.write("src/deep/file", "f\n");
        ground.write("src/other", "o\n");
        let layer = ground.layer();
        let act = |from: &str, to: &str| {
            ground.act(layer.mount_plan().unwrap(), "rename", &[from, to])
        };
        if !ground.is_root {
            assert_eq!(act("src", "lib"), format!("failed {}", libc::EXDEV));
            // `mv` then copies.
            ground.run(&layer, "mv src lib");
            assert_eq!(written(&layer), [
                "dir lib", "dir lib/deep", "file lib/deep/file 644 2", "file lib/other 644 2", "gone src",
            ]);
            return;
        }
        assert_eq!(act("src", "lib"), "done");
        assert_eq!(act("lib/deep", "lib/deeper"), "done");
        ground.run(&layer, "mkdir top; mv lib/deeper top/deepest; echo x >top/deepest/new");
        assert_eq!(written(&layer), [
            "dir lib <src", "gone lib/deep", "gone src", "dir top", "dir top/deepest <src/deep",
            "file top/deepest/new 644 2",
        ]);
        assert_eq!(ground.run(&layer, "cat top/deepest/file lib/other"), "f\no\n");
    };

    what_is_written_over_a_folder_in_memory_is_limited_and_gone_with_the_program: plain => |ground| {
        ground.write("logs/one", "1\n");
        let layer = ground.layer();
        let run = |script: &str| {
            let mut plan = layer.mount_plan().unwrap();
            let scratch = MountStep::Scratch {
                path: ground.repo.join("logs"),
                xattrs: ground.place().options.xattrs,
                most: Some(64 << 20),
            };
            plan.steps.insert(1, scratch);
            ground.run_plan(plan, script).unwrap()
        };
        let (said, ended) = run("echo 2 >>logs/one; mkdir logs/sub; echo n >logs/sub/new; cat logs/one logs/sub/new");
        assert_eq!((said.as_str(), ended), ("1\n2\nn\n", Ended::Code(0)));
        // What ralph writes meanwhile is seen by the next program.
        ground.write("logs/two", "two\n");
        assert_eq!(run("ls logs; rm logs/two").0, "one\ntwo\n");
        let (said, _) = run("head -c 70000000 /dev/zero >logs/big || echo full");
        assert!(said.contains("No space left on device") && said.ends_with("full\n"), "{said}");
        assert_eq!(ground.read("logs/one"), "1\n");
        assert_eq!(ground.read("logs/two"), "two\n");
        assert_eq!(written(&layer), Vec::<String>::new());
    };

    a_hard_link_of_the_base_is_broken_and_one_of_the_program_holds: plain => |ground| {
        let one = ground.write("one", "1\n");
        fs::hard_link(&one, ground.repo.join("two")).unwrap();
        let layer = ground.layer();
        let said = ground.run(&layer, "echo x >>one; cat two; echo n >new; ln new again; echo m >>again; cat new");
        assert_eq!(said, "1\nn\nm\n");
        assert_eq!(ground.read("two"), "1\n");
        assert_eq!(written(&layer), [
            "file again 644 4", "file new 644 4", "file one 644 4",
        ]);
    };

    a_link_that_leaves_the_repository_is_followed_to_where_it_leads: plain => |ground| {
        let outside = ground.dir.join("outside");
        fs::write(&outside, "before\n").unwrap();
        std::os::unix::fs::symlink(&outside, ground.repo.join("link")).unwrap();
        let layer = ground.layer();
        ground.run(&layer, "echo after >link");
        // Not an overlay's business: the file is not in the repository.
        assert_eq!(fs::read_to_string(outside).unwrap(), "after\n");
        assert_eq!(scan(&layer), []);
    };

    paths_with_odd_bytes_and_long_ones_work: plain => |ground| {
        let odd = ground.repo.join(odd_name());
        let repo = odd.join("x".repeat(200)).join("y".repeat(200));
        let git = odd.join("git");
        fs::create_dir_all(&repo).unwrap();
        fs::create_dir(&git).unwrap();
        fs::write(repo.join("a:b,c\\d"), "a\n").unwrap();
        fs::write(git.join("file"), "g\n").unwrap();
        let odd_data = ground.dir.join(odd_name());
        let place = LayerPlace::find(&PlaceRequest { repository: &repo, ..ground.request(&odd_data) });
        let targets = [LayerTarget::new(&git), LayerTarget::new(&repo)];
        let layer = Layer::create(&place.unwrap(), &targets).unwrap();
        let script = "for file in a*d; do echo b >>\"$file\"; done; rm ../../git/file; echo n >../../git/new";
        let mut spec = ground.spec("sh").args(["-c", script]);
        spec.cwd = repo.clone();
        let spec = spec.mounts(layer.mount_plan().unwrap());
        assert_eq!(run_spec(&spec, ground.containment()).unwrap(), (String::new(), Ended::Code(0)));
        assert_eq!(written(&layer), ["gone file", "file new 644 2"]);
        let entries = super::support::scan_upper(&layer.upper(&layer.folders()[1]).unwrap());
        assert_eq!(lines(&entries), ["file a:b,c\\d 644 4"]);
        assert_eq!(fs::read_to_string(git.join("file")).unwrap(), "g\n");
    };

    a_mount_in_the_repository_gets_a_layer_of_its_own_or_is_a_reason: |dir| {
        let sub = dir.join("repo/sub");
        fs::create_dir(&sub).unwrap();
        must("mount", ["-t", "tmpfs", "tmpfs", sub.to_str().unwrap()]);
        fs::write(sub.join("file"), "s\n").unwrap();
        fs::create_dir(sub.join("proc")).unwrap();
        must("mount", ["-t", "proc", "proc", sub.join("proc").to_str().unwrap()]);
        fs::write(dir.join("repo/one"), "").unwrap();
        must("mount", ["--bind", "/etc/hostname", dir.join("repo/one").to_str().unwrap()]);
    } => |ground| {
        let check = || check_repository(&CheckRequest {
            root: &ground.repo,
            tracked: &[],
            containment: ground.containment(),
            socket_budget: 100,
        }).unwrap();
        let found = check();
        let reasons: Vec<&Path> = found.reasons.iter().map(|reason| match reason {
            InPlaceReason::SubMount { path, .. } => path.strip_prefix(&ground.repo).unwrap(),
            other => panic!("{other}"),
        }).collect();
        if !ground.is_root {
            // A user namespace may not lay bare what a mount hides, so the kernel refuses the overlay.
            assert_eq!(reasons, [Path::new("one"), Path::new("sub"), Path::new("sub/proc")]);
            assert_eq!(found.sub_mounts, Vec::<PathBuf>::new());
            let reason = LayerPlace::find(&ground.request(&ground.dir.join("data"))).unwrap_err();
            assert_eq!(reason, found.reasons[0]);
            return;
        }
        assert_eq!(reasons, [Path::new("one"), Path::new("sub/proc")]);
        assert_eq!(found.sub_mounts, [ground.repo.join("sub")]);
        assert_eq!(ground.run(&ground.layer(), "ls sub"), "");
        let targets = [LayerTarget::new(&ground.repo), LayerTarget::new(ground.repo.join("sub"))];
        let layer = Layer::create(&ground.place(), &targets).unwrap();
        assert_eq!(ground.run(&layer, "cat sub/file; echo x >sub/file; echo y >sub/new"), "s\n");
        assert_eq!(ground.read("sub/file"), "s\n");
        let entries = super::support::scan_upper(&layer.upper(&layer.folders()[1]).unwrap());
        assert_eq!(lines(&entries), ["file file 644 2", "file new 644 2"]);
        assert_eq!(scan(&layer), []);
    };

    folders_that_git_writes_are_layers_at_their_own_paths: plain => |ground| {
        let common = ground.dir.join("main/.git");
        fs::create_dir_all(common.join("objects")).unwrap();
        fs::write(common.join("HEAD"), "ref\n").unwrap();
        let targets = [&ground.repo, &common, &common.join("objects")].map(LayerTarget::new);
        let layer = Layer::create(&ground.place(), &targets).unwrap();
        let covered: Vec<&Path> = layer.folders().iter().map(|f| f.target.as_path()).collect();
        assert_eq!(covered, [common.as_path(), &ground.repo]);
        ground.run(&layer, r#"echo other >"$DIR/main/.git/HEAD"; echo o >"$DIR/main/.git/objects/o""#);
        assert_eq!(fs::read_to_string(common.join("HEAD")).unwrap(), "ref\n");
        assert!(!common.join("objects/o").exists());
        assert_eq!(written(&layer), ["file HEAD 644 6", "dir objects <objects", "file objects/o 644 2"]);
    };

    a_bound_folder_inside_the_layer_is_the_real_one: plain => |ground| {
        ground.write(".ralph/old", "o\n");
        let layer = ground.layer();
        let own = ground.repo.join(".ralph");
        let plan = layer.mount_plan().unwrap().bind(&own, &own, BindAccess::ReadWrite);
        ground.run_plan(plan, "cat .ralph/old; echo n >.ralph/new; echo x >x").unwrap();
        assert_eq!(ground.read(".ralph/new"), "n\n");
        assert_eq!(written(&layer), ["file x 644 2"]);
        let plan = layer.mount_plan().unwrap().bind(&own, &own, BindAccess::ReadOnly);
        let (said, _) = ground.run_plan(plan, "echo y >.ralph/old && echo written").unwrap();
        assert!(said.contains("Read-only file system"), "{said}");
        // A link that an agent left in the layer does not lead the mount elsewhere.
        ground.run(&layer, "mv .ralph .ralph-before; ln -s / .ralph");
        let plan = layer.mount_plan().unwrap().bind(&own, &own, BindAccess::ReadWrite);
        let error = ground.run_plan(plan, "true").unwrap_err().to_string();
        let shown = own.display();
        assert!(error.contains(&format!("showing {shown} at {shown} failed")), "{error}");
    };

    an_earlier_layer_can_lie_below_a_later_one: plain => |ground| {
        ground.write("a", "a\n");
        ground.write("b", "b\n");
        let first = ground.layer();
        ground.run(&first, "echo x >a; rm b; mkdir d; echo d >d/d");
        let target = LayerTarget {
            path: ground.repo.clone(),
            lowers: vec![first.folders()[0].upper.clone()],
        };
        let second = Layer::create(&ground.place(), &[target]).unwrap();
        assert_eq!(ground.run(&second, "cat a; ls; echo y >a; rm -r d"), "x\na\nd\n");
        assert_eq!(written(&second), ["file a 644 2", "gone d"]);
        assert_eq!(ground.run(&first, "cat a d/d"), "x\nd\n");
    };

    a_plan_needs_a_mount_namespace_and_a_failing_step_has_its_name: plain => |ground| {
        let spec = ground.spec("true").mounts(MountPlan::default());
        for containment in [Containment::Subreaper, Containment::ProcessGroup] {
            let error = run_spec(&spec, containment).unwrap_err();
            assert!(matches!(error, SpawnError::NoMountNamespace { .. }), "{error}");
            assert_eq!(
                error.to_string(),
                format!("cannot mount for true: {containment} has no mount namespace")
            );
        }
        let missing = ground.dir.join("missing");
        let plan = MountPlan::default().cover(&ground.dir.join("repo")).cover(&missing);
        let error = ground.run_plan(plan, "true").unwrap_err().to_string();
        let expected = format!(
            "cannot mount for sh: covering {} failed: No such file or directory (os error 2)",
            missing.display()
        );
        assert_eq!(error, expected);
        let layer = ground.layer();
        let mut plan = layer.mount_plan().unwrap();
        if let Some(MountStep::Overlay(overlay)) = plan.steps.first_mut() {
            overlay.upper = missing;
        }
        let error = ground.run_plan(plan, "true").unwrap_err().to_string();
        let expected = format!("mounting an overlay on {} failed", ground.repo.display());
        assert!(error.contains(&expected), "{error}");
        // The folder of the program is looked up inside the layer.
        ground.write("folder/file", "");
        ground.run(&layer, "rm -r folder");
        let mut spec = ground.spec("true").mounts(layer.mount_plan().unwrap());
        spec.cwd = ground.repo.join("folder");
        let error = run_spec(&spec, ground.containment()).unwrap_err().to_string();
        assert!(error.contains("entering the working folder failed: No such file"), "{error}");
        let mut plan = MountPlan::default().cover(&layer.path().join(".."));
        plan.steps = vec![MountStep::Cover { path: layer.path().to_owned() }];
        plan.steps.extend(layer.mount_plan().unwrap().steps);
        let error = ground.run_plan(plan, "true").unwrap_err();
        let SpawnError::Plan { source: MountPlanError::Hidden { by, .. }, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(by, layer.path());
    };

    sockets_are_found_refuse_connections_and_can_be_bound: plain => |ground| {
        ground.write("sub/file", "");
        let path = ground.repo.join("sub/socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let look = |socket_budget| check_repository(&CheckRequest {
            root: &ground.repo,
            tracked: &[],
            containment: ground.containment(),
            socket_budget,
        }).unwrap().sockets;
        assert_eq!(look(100).found, [path.clone()].into());
        assert_eq!(look(100).extent, SearchExtent::Whole);
        // A listening one is known without a search.
        assert_eq!(look(1).found, [path.clone()].into());
        assert_eq!(look(1).extent, SearchExtent::Partial);
        let layer = ground.layer();
        let plan = layer.mount_plan().unwrap();
        let socket = path.to_str().unwrap();
        let refused = format!("failed {}", libc::ECONNREFUSED);
        assert_eq!(ground.act(plan.clone(), "connect", &[socket]), refused);
        let plan = layer.mount_plan().unwrap().bind(&path, &path, BindAccess::ReadWrite);
        assert_eq!(ground.act(plan, "connect", &[socket]), "done");
        drop(listener);
    };

    files_of_another_user_are_a_reason_where_the_kernel_refuses_them: |dir| {
        fs::write(dir.join("repo").join(super::support::FOREIGN), "f\n").unwrap();
        fs::set_permissions(
            dir.join("repo").join(super::support::FOREIGN),
            std::os::unix::fs::PermissionsExt::from_mode(0o666),
        ).unwrap();
    } => |ground| {
        ground.write("own", "o\n");
        let tracked = [PathBuf::from("own"), PathBuf::from("foreign")];
        let found = check_repository(&CheckRequest {
            root: &ground.repo,
            tracked: &tracked,
            containment: ground.containment(),
            socket_budget: 100,
        }).unwrap();
        let layer = ground.layer();
        let (said, _) = ground.try_run(&layer, "echo x >>foreign && echo written");
        if ground.is_root {
            assert_eq!(found.reasons, []);
            assert_eq!(said, "written\n");
        } else {
            assert_eq!(found.reasons, [InPlaceReason::ForeignOwner {
                first: ground.repo.join("foreign"), uid: 1000, gid: 1000, count: 1,
            }]);
            assert!(said.contains("Value too large for defined data type"), "{said}");
        }
    };
}

fn odd_name() -> PathBuf {
    use std::os::unix::ffi::OsStrExt;

    std::ffi::OsStr::from_bytes(b"a:b,c\\d e\"f\n\xff=").into()
}
