//! Where layers can live, and the reasons why they can't.
#![allow(unsafe_code)]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::support::{Ground, as_root_and_as_user, must, own_program, plain};
use crate::layer::{
    FileSystemKind, InPlaceReason, LayerPlace, PlaceDisk, PlaceKind, PlaceProblem, PlaceRequest,
};
use crate::process::{
    Containment, FolderRename, MountPlan, MountTrial, OverlayMount, OverlaySync, OverlayXattrs,
    try_mounts,
};

fn mount(kind: &str, options: &str, on: &Path) {
    fs::create_dir_all(on).unwrap();
    must(
        "mount",
        [
            Path::new("-t"),
            Path::new(kind),
            Path::new("-o"),
            Path::new(options),
            Path::new(kind),
            on,
        ],
    );
}

fn problems(ground: &Ground, request: &PlaceRequest<'_>) -> Vec<(PathBuf, PlaceProblem)> {
    match LayerPlace::find(request) {
        Err(InPlaceReason::NoPlace { tried }) => tried
            .into_iter()
            .map(|place| {
                (
                    place.folder.strip_prefix(&ground.dir).unwrap().to_owned(),
                    place.problem,
                )
            })
            .collect(),
        other => panic!("{other:?}"),
    }
}

as_root_and_as_user! {
    the_data_folder_is_taken_first_and_nothing_is_left_of_the_trial: plain => |ground| {
        ground.write(".git/HEAD", "ref: refs/heads/main\n");
        let place = ground.place();
        assert_eq!(place.folder, ground.dir.join("data/layers"));
        assert_eq!((place.kind, place.disk, place.max_bytes), (PlaceKind::Data, PlaceDisk::Same, None));
        assert_eq!(fs::read_dir(&place.folder).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&ground.repo).unwrap().count(), 1);
        assert_eq!(place.options.sync, OverlaySync::Volatile);
        let expected = if ground.is_root {
            (OverlayXattrs::Trusted, FolderRename::Works)
        } else {
            (OverlayXattrs::User, FolderRename::CrossDevice)
        };
        assert_eq!((place.options.xattrs, place.folder_rename), expected);
    };

    the_repositorys_own_disk_is_preferred_and_memory_comes_last: |dir| {
        mount("tmpfs", "size=256m,mode=0777", &dir.join("memory"));
    } => |ground| {
        let memory = ground.dir.join("memory");
        let request = PlaceRequest { memory_dir: Some(&memory), ..ground.request(&memory) };
        let place = LayerPlace::find(&request).unwrap();
        assert_eq!((place.kind, place.disk), (PlaceKind::Sibling, PlaceDisk::Same));
        assert_eq!(place.folder, ground.dir.join(".ralph-layers"));
        // Only memory is left where the others are inside the repository or can't be made.
        let inside = ground.repo.join("inside");
        fs::write(ground.dir.join(".ralph-layers-file"), "").unwrap();
        fs::remove_dir(&place.folder).unwrap();
        fs::write(&place.folder, "").unwrap();
        let request = PlaceRequest { data_dir: &inside, temp_dir: &inside, memory_limit: 1 << 20, ..request };
        let place = LayerPlace::find(&request).unwrap();
        assert_eq!((place.kind, place.disk), (PlaceKind::Memory, PlaceDisk::Memory));
        assert_eq!(place.max_bytes, Some(1 << 20));
        assert_eq!(place.file_system, FileSystemKind::TMPFS);
        assert!(!inside.exists());
        let request = PlaceRequest { memory_dir: None, ..request };
        let tried = problems(ground, &request);
        assert_eq!(tried[0], ("repo/inside/layers".into(), PlaceProblem::InsideRepository));
        assert_eq!(tried.last().unwrap().0, Path::new(".ralph-layers"));
        let reason = LayerPlace::find(&request).unwrap_err();
        assert!(reason.to_string().contains("it is inside the repository"), "{reason}");
        assert!(reason.hint().unwrap().contains("XDG_DATA_HOME"));
    };

    an_overlay_and_a_folder_of_another_user_hold_no_layers: |dir| {
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| dir.join(name));
        for folder in [&lower, &upper, &work] {
            fs::create_dir(folder).unwrap();
        }
        let options = format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        mount("overlay", &options, &dir.join("overlay"));
        mount("tmpfs", "size=1m,mode=0777", &dir.join("small"));
        fs::create_dir(dir.join("overlay/tmp")).unwrap();
    } => |ground| {
        let overlay = ground.dir.join("overlay");
        fs::write(ground.dir.join(".ralph-layers"), "").unwrap();
        let small = ground.dir.join("small");
        let request = PlaceRequest {
            temp_dir: &overlay.join("tmp"),
            memory_dir: Some(&small),
            ..ground.request(&overlay)
        };
        let tried = problems(ground, &request);
        let on_overlay = PlaceProblem::FileSystem(FileSystemKind::of(&overlay).unwrap());
        assert_eq!(on_overlay.to_string(), "it is on overlayfs");
        assert_eq!(tried[0], ("overlay/layers".into(), on_overlay.clone()));
        assert_eq!(tried[1].1, on_overlay);
        assert!(matches!(tried[2].1, PlaceProblem::NoSpace { .. }), "{tried:?}");
        // Beside them a folder that is not the caller's own.
        let anothers = Path::new("/");
        let request = PlaceRequest { data_dir: anothers, ..request };
        if !ground.is_root {
            assert!(matches!(&problems_all(&request)[..], [.., PlaceProblem::Io { .. }, _] | [.., _, PlaceProblem::Io { .. }]));
        }
    };

    a_folder_that_another_user_made_first_is_not_taken: |dir| {
        let own = dir.join("tmp");
        fs::create_dir(&own).unwrap();
        for uid in [0, 65534] {
            let folder = own.join(format!("ralph-layers-{uid}"));
            fs::create_dir(&folder).unwrap();
        }
        fs::create_dir(dir.join("repo").join(super::support::FOREIGN)).unwrap();
    } => |ground| {
        // A link to a folder of another user stands for one that was made first.
        let tmp = ground.dir.join("tmp");
        let own = tmp.join(format!("ralph-layers-{}", rustix::process::geteuid().as_raw()));
        fs::remove_dir(&own).unwrap();
        let foreign = if ground.is_root {
            std::os::unix::fs::chown(ground.repo.join("foreign"), Some(1000), Some(1000)).unwrap();
            ground.repo.join("foreign")
        } else {
            PathBuf::from("/usr")
        };
        let elsewhere = ground.dir.join("elsewhere");
        if ground.is_root {
            fs::create_dir(&elsewhere).unwrap();
            std::os::unix::fs::chown(&elsewhere, Some(1000), Some(1000)).unwrap();
            std::os::unix::fs::symlink(&elsewhere, &own).unwrap();
        } else {
            std::os::unix::fs::symlink(&foreign, &own).unwrap();
        }
        fs::write(ground.dir.join(".ralph-layers"), "").unwrap();
        fs::write(ground.dir.join("data"), "").unwrap();
        let data = ground.dir.join("data");
        let request = PlaceRequest { temp_dir: &tmp, ..ground.request(&data) };
        let tried = problems_all(&request);
        assert!(tried.contains(&PlaceProblem::NotOurs), "{tried:?}");
    };

    a_work_folder_that_cannot_be_used_is_noticed: plain => |ground| {
        // The kernel then mounts read-only, without an error.
        let place = ground.place();
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| ground.dir.join(name));
        for folder in [&lower, &upper, &work] {
            fs::create_dir(folder).unwrap();
        }
        for name in ["changed", "renamed", "deleted"] {
            fs::write(lower.join(name), "").unwrap();
        }
        fs::create_dir(lower.join("folder")).unwrap();
        let plan = MountPlan::default().overlay(OverlayMount {
            target: ground.repo.clone(),
            lowers: vec![lower],
            upper,
            work: work.clone(),
            options: place.options,
        });
        let trial = MountTrial { folder: ground.repo.clone(), opened: None };
        if ground.is_root {
            fs::create_dir(work.join("work")).unwrap();
            must("chattr", [Path::new("+i"), &work.join("work")]);
            let failure = try_mounts(&plan, &trial, ground.containment());
            must("chattr", [Path::new("-i"), &work.join("work")]);
            let failure = failure.unwrap_err();
            assert_eq!(failure.step, "creating a file");
            assert_eq!(failure.source.raw_os_error(), Some(libc::EROFS));
            fs::remove_dir(work.join("work")).unwrap();
        }
        assert_eq!(try_mounts(&plan, &trial, ground.containment()).unwrap(), place.folder_rename);
    };

    no_namespace_and_refused_mounts_are_reasons_with_a_hint: plain => |ground| {
        for containment in [Containment::Subreaper, Containment::ProcessGroup] {
            let data = ground.dir.join("data");
            let request = PlaceRequest { containment, ..ground.request(&data) };
            let reason = LayerPlace::find(&request).unwrap_err();
            assert_eq!(
                reason.to_string(),
                format!("programs run in a {containment}, which has no mount namespace")
            );
        }
        // As Docker's filter refuses namespaces, and as AppArmor refuses mounts within one.
        let said = find_filtered(&ground.repo, Refused::Namespaces);
        assert!(said.contains("this machine refuses it: making the namespace failed: Operation not permitted"), "{said}");
        assert!(said.contains("hint: a seccomp filter is in force"), "{said}");
        let said = find_filtered(&ground.repo, Refused::Mounts);
        assert!(said.contains("this machine refuses it: "), "{said}");
        assert!(said.contains("failed: Permission denied"), "{said}");
        assert!(said.contains("hint: a seccomp filter is in force"), "{said}");
    };
}

fn problems_all(request: &PlaceRequest<'_>) -> Vec<PlaceProblem> {
    match LayerPlace::find(request) {
        Err(InPlaceReason::NoPlace { tried }) => tried.into_iter().map(|t| t.problem).collect(),
        other => panic!("{other:?}"),
    }
}

#[derive(Clone, Copy)]
enum Refused {
    Namespaces,
    Mounts,
}

/// Looks for a place under the filter that its parent has set.
#[test]
#[ignore = "started by another test under a seccomp filter"]
fn find_a_place() {
    let repo = PathBuf::from(std::env::var_os("RALPH_LAYER_REPO").unwrap());
    let dir = repo.parent().unwrap().to_owned();
    let containment = if rustix::process::geteuid().is_root() {
        Containment::PidNamespace
    } else {
        Containment::UserNamespace
    };
    let reason = LayerPlace::find(&PlaceRequest {
        repository: &repo,
        data_dir: &dir.join("data"),
        temp_dir: &dir,
        memory_dir: None,
        memory_limit: 0,
        containment,
    })
    .unwrap_err();
    println!("{reason}\nhint: {}", reason.hint().unwrap_or_default());
}

fn find_filtered(repo: &Path, refused: Refused) -> String {
    let mut child = Command::new(own_program());
    child
        .args([
            "layer::tests::places::find_a_place",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env("RALPH_LAYER_REPO", repo);
    // SAFETY: system calls alone.
    unsafe {
        child.pre_exec(move || set_filter(refused));
    }
    let output = child.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// Makes `clone` with namespaces fail with EPERM, or `mount` with EACCES.
fn set_filter(refused: Refused) -> std::io::Result<()> {
    let op = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let any_bit = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    let (call, bits, error) = match refused {
        Refused::Namespaces => (libc::SYS_clone, libc::CLONE_NEWNS, libc::EPERM),
        Refused::Mounts => (libc::SYS_mount, 0, libc::EACCES),
    };
    let deny = libc::SECCOMP_RET_ERRNO | error.cast_unsigned();
    let mut program = match refused {
        Refused::Namespaces => vec![
            op(load, 0, 0, 0),
            op(equal, 0, 3, call as u32),
            op(load, 0, 0, 16),
            op(any_bit, 0, 1, bits.cast_unsigned()),
            op(give, 0, 0, deny),
            op(give, 0, 0, libc::SECCOMP_RET_ALLOW),
        ],
        Refused::Mounts => vec![
            op(load, 0, 0, 0),
            op(equal, 0, 1, call as u32),
            op(give, 0, 0, deny),
            op(give, 0, 0, libc::SECCOMP_RET_ALLOW),
        ],
    };
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: a filter with its length.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const filter,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}
