//! Where agents work: said at the start, by `--dry-run` and by `doctor`; and how much they may write there.

use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Live, Project, good_attempt, good_script, prd, story};

fn layered() -> Project {
    Project::with_stories(&[story("A")])
        .script(&good_script())
        .env("RALPH_WORKSPACE_MODE", "overlay")
}

fn doctor(project: &Project) -> Value {
    let ran = Live::start(project.ralph(&["doctor", "--json"])).wait();
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "workspace");
    found.unwrap_or_else(|| panic!("{report}")).clone()
}

#[test]
fn layers_are_said_wherever_a_person_looks() {
    let project = layered();
    let place = format!("layers in {}/layers", project.data_dir().display());
    let before = std::fs::read_dir(project.data_dir()).into_iter().flatten();
    let before = before.count();
    let check = doctor(&project);
    assert_eq!(check["state"], "ok", "{check}");
    assert_eq!(check["message"], place.as_str(), "{check}");
    let agent = project.agent_word();
    let dry = Live::start(project.ralph(&["run", "--agent", &agent, "--dry-run"])).wait();
    assert!(
        dry.all().contains(&format!("workspace: {place}")),
        "{}",
        dry.all()
    );
    let after = std::fs::read_dir(project.data_dir()).into_iter().flatten();
    assert_eq!(after.count(), before, "to look leaves nothing behind");
    let ran = project.run(&["--once"]).expect(0);
    assert_eq!(ran.one("loop_started")["workspace"], place.as_str());
}

#[test]
fn a_run_in_place_says_why() {
    let project = layered().in_place();
    let ran = project.run_for_people(&["--once"]).expect(0);
    assert!(
        ran.all()
            .contains("where   in place: `workspace.mode` says so"),
        "{}",
        ran.all()
    );
    assert_eq!(doctor(&project)["state"], "note");
    // A machine that has no mount namespace.
    let project = layered()
        .env("RALPH_WORKSPACE_MODE", "auto")
        .env("RALPH_CONTAINMENT", "subreaper");
    let check = doctor(&project);
    assert_eq!(check["state"], "warning", "{check}");
    let message = check["message"].as_str().unwrap();
    assert!(message.contains("in place: programs run in a"), "{message}");
    let ran = project.run(&["--once"]).expect(0);
    let said = ran.one("loop_started")["workspace"].clone();
    assert!(
        said.as_str()
            .unwrap()
            .starts_with("in place: programs run in a"),
        "{said}"
    );
}

#[test]
fn sockets_in_the_repository_are_named_at_the_start() {
    let project = layered();
    project.repo.file(".gitignore", "*.sock\n").commit("ignore");
    let _listens = UnixListener::bind(project.repo.root().join("app.sock")).unwrap();
    let ran = project.run(&["--once"]).expect(0);
    assert!(
        ran.all().contains("sockets in the repository: app.sock"),
        "{}",
        ran.all()
    );
    let check = doctor(&project);
    assert!(
        check["hint"].as_str().unwrap().contains("app.sock"),
        "{check}"
    );
}

#[test]
fn an_agent_that_writes_more_than_it_may_is_stopped_by_name_and_ralph_goes_on() {
    // Without the end that ralph brings, it would write and wait for very long.
    let floods = "dd if=/dev/zero of=big.bin bs=1M count=64 2> /dev/null; sleep 80";
    let script = json!({"default": [
        {"do": [{"run": floods}, {"say": "Task A complete"}]},
        good_attempt(),
    ]});
    let project = layered()
        .script(&script)
        .env("RALPH_WORKSPACE_MAX_GB", "0.02");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A agent_error", "A verified"]);
    let ended = ran.named("iteration_ended");
    let message = ended[0]["message"].as_str().unwrap();
    assert!(message.contains("workspace.max_gb"), "{message}");
    assert_eq!(project.landed(), ["A"]);
    assert!(!project.repo.exists("big.bin"));
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_command_that_writes_more_than_it_may_is_stopped_by_name_too() {
    // Without the end that ralph brings, it would write and wait for very long.
    let floods = "dd if=/dev/zero of=big.bin bs=1M count=64 2> /dev/null; sleep 80";
    let said = "stopped: it wrote 64";
    for (kind, code, verdict) in [
        ("prepare", 3, "A failed"),
        ("commands", 3, "A failed"),
        // What a formatter does wrong is said, and does not stand in the way of a change that is right.
        ("format", 0, "A verified"),
    ] {
        // Where there is no file of a change yet, the baseline runs it, which is to pass.
        let line = format!("test ! -f A.txt || {{ {floods}; }}");
        let project = layered()
            .config(&format!("verification:\n  {kind}:\n    - '{line}'\n"))
            .env("RALPH_WORKSPACE_MAX_GB", "0.02");
        project.repo.file(".gitignore", "*.bin\n").commit("ignore");
        let ran = project.run(&["--once"]).expect(code);
        assert_eq!(ran.verdicts(), [verdict], "{kind}");
        let record = project.repo.read(".ralph/logs/iteration-1.json");
        assert!(record.contains(said), "{kind}: {record}");
        assert!(record.contains("workspace.max_gb"), "{kind}: {record}");
        assert!(!project.repo.exists("big.bin"), "{kind}");
        assert_eq!(project.leftovers(), [""; 0], "{kind}");
    }
}

/// A data folder on another disk than the repository's, if there is one.
fn data_in_memory(project: &Project) -> Option<tempfile::TempDir> {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|meta| meta.dev()).ok();
    let memory = Path::new("/dev/shm");
    let other = device(memory).filter(|found| Some(*found) != device(project.repo.root()));
    other.and_then(|_| tempfile::tempdir_in(memory).ok())
}

#[test]
fn layers_are_kept_beside_the_repository_where_the_data_folder_cannot_hold_them_and_that_is_said() {
    let project = layered();
    let beside = project.repo.root().with_file_name(".ralph-layers");
    let place = format!("layers in {}", beside.display());
    let in_memory = data_in_memory(&project);
    let elsewhere = in_memory.as_ref().map(|folder| folder.path().join("data"));
    project.repo.file(".gitignore", "data/\n").commit("ignore");
    let inside = project.repo.root().join("data");
    let mut project = project;
    for data in elsewhere.into_iter().chain([inside]) {
        project = project.env("RALPH_DATA_DIR", &data);
        let check = doctor(&project);
        assert_eq!(check["message"], place.as_str(), "{check}");
        let hint = check["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("beside the repository"), "{check}");
        project.repo.prd(&prd(&[story("A")])).commit("again");
        let ran = project.run(&["--once"]).expect(0);
        assert_eq!(ran.one("loop_started")["workspace"], place.as_str());
        assert!(
            ran.all().contains("layers are kept beside the repository"),
            "{}",
            ran.all()
        );
        assert_eq!(ran.verdicts(), ["A verified"], "{}", data.display());
        let left = std::fs::read_dir(&beside).unwrap().flatten();
        let left: Vec<String> = left
            .map(|entry| entry.file_name().into_string().unwrap())
            .filter(|name| name.starts_with("layer"))
            .collect();
        assert_eq!(left, [""; 0]);
        assert!(!data.join("layers").exists(), "{}", data.display());
        project.repo.git(["rm", "-q", "A.txt"]);
        project.repo.commit("take back");
    }
}

#[test]
fn a_disk_that_is_full_is_an_error_for_an_agent_and_for_a_command_and_not_for_ralph() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // The disk is filled by another path to it, which is not counted: else the limit would come first.
    let fill = "dd if=/dev/zero of=\"$HOME/disk/big\" bs=1M count=400 2> \"$HOME/SAID\"";
    let agent = format!(
        "{}; head -c 100000 /dev/zero > in-layer 2> \"$HOME/layer\" && exit 1; rm in-layer \"$HOME/disk/big\"; echo x > A.txt",
        fill.replace("SAID", "agent")
    );
    let script = json!({"default": [{"do": [{"run": agent}, {"say": "Task A complete"}]}]});
    let mut own = story("A");
    let verify = format!("test -f A.txt && ! {}", fill.replace("SAID", "verify"));
    own["verify"] = json!([verify]);
    let project = Project::with_stories(&[own])
        .script(&script)
        .env("RALPH_WORKSPACE_MODE", "overlay");
    // No folder but that of the small disk can hold layers, and the journal is there too.
    let data = project.data_dir();
    std::fs::create_dir_all(&data).unwrap();
    let project = project.env("TMPDIR", &data);
    let beside = project.repo.root().with_file_name(".ralph-layers");
    std::fs::write(beside, "").unwrap();
    let run = project.run_command(&["--once"]);
    let mut command = project.repo.command("unshare");
    let mount = "mount -t tmpfs -o size=200m tmpfs \"$0\" && mkdir \"$HOME/disk\" && \
        mount --bind \"$0\" \"$HOME/disk\" && exec \"$@\"";
    command
        .args(["--mount", "sh", "-c", mount])
        .arg(&data)
        .arg(run.get_program())
        .args(run.get_args())
        .envs(
            run.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(run.get_current_dir().unwrap());
    let ran = Live::start(command).wait().expect(0);
    let place = format!("layers in {}/layers", data.display());
    assert_eq!(ran.one("loop_started")["workspace"], place.as_str());
    assert_eq!(ran.verdicts(), ["A verified"]);
    for name in ["agent", "layer", "verify"] {
        let said = std::fs::read_to_string(project.repo.home().join(name)).unwrap();
        assert!(said.contains("No space left on device"), "{name}: {said}");
    }
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.leftovers(), [""; 0]);
}
