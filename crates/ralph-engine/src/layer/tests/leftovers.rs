//! Nothing is left of a layer, however it ended.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::support::{as_root_and_as_user, own_program, plain};
use crate::layer::{Layer, LayerTarget, SweepReport, sweep};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Holds a layer with a program in it until it is killed. The program keeps standard error open.
#[test]
#[ignore = "started by another test, which kills it"]
fn hold_a_layer() {
    use crate::process::{CommandSpec, Output, spawn};

    let repo = PathBuf::from(std::env::var_os("RALPH_LAYER_REPO").unwrap());
    let dir = repo.parent().unwrap().to_owned();
    let containment = crate::process::Containment::detect(None).containment;
    let place = crate::layer::LayerPlace::find(&crate::layer::PlaceRequest {
        repository: &repo,
        data_dir: &dir.join("data"),
        temp_dir: &dir,
        memory_dir: None,
        memory_limit: 0,
        containment,
    })
    .unwrap();
    let layer = Layer::create(&place, &[LayerTarget::new(&repo)]).unwrap();
    let spec = CommandSpec::new("sh", &repo)
        .args([
            "-c",
            "exec 9>\"$LEASH\"; echo x >written; echo up >&9; exec sleep 1000",
        ])
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("LEASH", dir.join("leash"))
        .output(Output::Merged)
        .mounts(layer.mount_plan().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut running = spawn(&spec, containment).unwrap();
        running.wait().await.unwrap();
    });
}

as_root_and_as_user! {
    a_killed_owner_leaves_no_mount_and_its_folders_are_swept: plain => |ground| {
        let place = ground.place().folder;
        let leash = ground.dir.join("leash");
        rustix::fs::mkfifoat(rustix::fs::CWD, &leash, 0o600.into()).unwrap();
        let mut holder = Command::new(own_program())
            .args(["layer::tests::leftovers::hold_a_layer", "--exact", "--ignored", "--nocapture"])
            .env("RALPH_LAYER_REPO", &ground.repo)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Opening waits for the program, and the end of the file for its death.
        let mut reader = BufReader::new(fs::File::open(&leash).unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let own = Layer::create(&ground.place(), &[LayerTarget::new(&ground.repo)]).unwrap();
        assert_eq!(sweep(&place, &|_| false).unwrap(), SweepReport { in_use: 2, ..SweepReport::default() });
        holder.kill().unwrap();
        holder.wait().unwrap();
        reader.read_to_end(&mut Vec::new()).unwrap();
        for mounts in fs::read_dir("/proc").unwrap().flatten() {
            let mounts = fs::read_to_string(mounts.path().join("mountinfo")).unwrap_or_default();
            assert!(!mounts.contains(place.to_str().unwrap()), "{mounts}");
        }
        let swept = sweep(&place, &|_| false).unwrap();
        assert_eq!(swept, SweepReport { removed: 1, in_use: 1, failed: Vec::new() });
        assert!(own.path().exists());
        drop(own);
        assert_eq!(names(&place), Vec::<String>::new());
        assert!(!ground.repo.join("written").exists());
        assert_eq!(sweep(&ground.dir.join("nowhere"), &|_| false).unwrap(), SweepReport::default());
    };

    dropping_a_layer_deletes_all_of_it_and_nothing_else: plain => |ground| {
        let outside = ground.dir.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "stays\n").unwrap();
        ground.write("a", "a\n");
        let layer = ground.layer();
        let place = ground.place().folder;
        ground.run(&layer, r#"
            rm a; ln -s "$DIR/outside" link; ln "$DIR/outside/file" hard 2>/dev/null; mkdir -m 000 closed
            mkdir -p fixed/in .removed-1/x; echo f >fixed/in/f; : >.removed-2; chmod 555 fixed/in fixed
        "#);
        assert_eq!(ground.act(layer.mount_plan().unwrap(), "dig", &["3000"]), "done");
        let work = layer.folders()[0].upper.with_file_name("work").join("work");
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(work).unwrap()) & 0o777, 0);
        drop(layer);
        assert_eq!(names(&place), Vec::<String>::new());
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "stays\n");
        assert_eq!(ground.read("a"), "a\n");
    };

    a_sweep_takes_folders_without_owner_and_follows_no_link: plain => |ground| {
        let place = ground.place().folder;
        let outside = ground.dir.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "stays\n").unwrap();
        let named = |kind: &str, nth: u32| place.join(format!("{kind}-1-{nth:032x}"));
        let link = named("layer", 1);
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        fs::create_dir_all(named("layer", 2).join("0/upper")).unwrap();
        fs::create_dir_all(named("trial", 3).join("lower")).unwrap();
        fs::write(format!("{}.lock", named("layer", 4).display()), "").unwrap();
        // The user names this folder, and may have their own there.
        let persons = ["a-persons", "clone-of-mine", "layer-1-norm", "layer-norm", "trial-2"];
        for name in persons {
            fs::create_dir(place.join(name)).unwrap();
            fs::write(place.join(name).join("precious"), "mine\n").unwrap();
        }
        let swept = sweep(&place, &|_| false).unwrap();
        assert_eq!((swept.removed, swept.failed.len()), (3, 1), "{swept:?}");
        assert_eq!(swept.failed[0].0, link);
        assert!(outside.join("file").exists());
        fs::remove_file(link).unwrap();
        let mut left = names(&place);
        left.sort();
        assert_eq!(left, persons);
        for name in persons {
            assert_eq!(fs::read_to_string(place.join(name).join("precious")).unwrap(), "mine\n");
        }
    };
}
