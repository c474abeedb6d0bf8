//! Where agents work: said at the start, by `--dry-run` and by `doctor`; and how much they may write there.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::other_user::ORDINARY;
use crate::support::{Live, Project, Ran, good_attempt, good_script, prd, story};

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

/// Waits until files can be written again, and then writes what was said.
const SAY: &str = "until echo \"$said\" > said.txt; do sleep 0.05; done 2> /dev/null";

/// An agent that fills its workspace, makes room, and goes on.
fn filling(shell: &str) -> Project {
    let work = format!("{shell}; {SAY}; echo x > A.txt");
    layered()
        .script(&json!({"default": [{"do": [{"run": work}, {"say": "Task A complete"}]}]}))
        .env("RALPH_WORKSPACE_MAX_GB", "0.02")
}

fn went_on(project: &Project, ran: &Ran) {
    assert_eq!(ran.verdicts(), ["A verified"], "{}", ran.all());
    assert_eq!(project.repo.read("said.txt"), "File too large\n");
    let record = project.repo.read(".ralph/logs/iteration-1.json");
    let flag = "the workspace was full while the agent ran, and writes failed: it wrote ";
    assert!(record.contains(flag), "{record}");
    assert!(
        record.contains("`workspace.max_gb` allows 20 MB"),
        "{record}"
    );
    assert!(ran.all().contains("the workspace is full"), "{}", ran.all());
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json", "said.txt"]);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn an_agent_gets_an_error_for_a_file_that_is_too_large_and_goes_on() {
    // It waits for what the watch does, which shows that it was full.
    let fill = "said=$(LC_ALL=C dd if=/dev/zero of=big.bin bs=1M count=64 2>&1 | grep -o 'File too large'); \
        size=$(stat -c %s big.bin); test $size -gt 15000000 && test $size -le 21474836 || exit 1; \
        while echo x > small; do sleep 0.05; done 2> /dev/null; rm -f big.bin small";
    let project = filling(fill);
    went_on(&project, &project.run(&[]).expect(0));
}

/// Fills the workspace with small files, until none can be written.
const MANY: &str = "i=0; mkdir many; \
    while said=$(LC_ALL=C dd if=/dev/zero of=many/$i bs=1M count=1 2>&1); do i=$((i+1)); done; \
    said=$(echo \"$said\" | grep -o 'File too large'); test $i -lt 3000 || exit 1; rm -r many";

#[test]
fn an_agent_whose_workspace_is_full_of_small_files_gets_errors_and_goes_on() {
    let project = filling(MANY);
    went_on(&project, &project.run(&[]).expect(0));
}

#[test]
fn an_ordinary_user_has_the_same_limit_with_and_without_a_sandbox() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for sandbox in ["auto", "off"] {
        let project = filling(MANY).env("RALPH_SAFETY_SANDBOX", sandbox);
        project
            .repo
            .git(["config", "--global", "safe.directory", "*"]);
        project.give_to(ORDINARY);
        went_on(&project, &project.run_as(Some(ORDINARY)).expect(0));
    }
}

#[test]
fn an_agent_that_goes_on_writing_though_it_may_not_is_stopped_by_name_and_ralph_goes_on() {
    // Without the end that ralph brings, it would write for ever.
    let floods = "i=0; while :; do ulimit -S -f unlimited; \
        dd if=/dev/zero of=big$i.bin bs=1M count=700 2> /dev/null; i=$((i+1)); done";
    let script = json!({"default": [
        {"do": [{"run": floods}, {"say": "Task A complete"}]},
        good_attempt(),
    ]});
    let project = layered()
        .script(&script)
        .env("RALPH_WORKSPACE_MAX_GB", "0.02");
    project.repo.file(".gitignore", "*.bin\n").commit("ignore");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A agent_error", "A verified"]);
    let ended = ran.named("iteration_ended");
    let message = ended[0]["message"].as_str().unwrap();
    assert!(message.contains("workspace.max_gb"), "{message}");
    assert_eq!(project.landed(), ["A"]);
    assert!(!project.repo.exists("big0.bin"));
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn without_a_limit_of_a_persons_a_file_may_be_larger_than_the_disk_if_it_is_empty() {
    let work = "truncate -s 1T sparse.bin && rm sparse.bin && echo x > A.txt";
    let project = layered()
        .script(&json!({"default": [{"do": [{"run": work}, {"say": "Task A complete"}]}]}));
    assert_eq!(project.run(&[]).expect(0).verdicts(), ["A verified"]);
}

#[test]
fn a_command_that_writes_more_than_it_may_gets_an_error_and_fails_by_name() {
    let floods = "LC_ALL=C dd if=/dev/zero of=big.bin bs=1M count=64";
    for (kind, code, verdict) in [
        ("prepare", 3, "A failed"),
        ("commands", 3, "A failed"),
        // What a formatter does wrong is said, and does not stand in the way of a change that is right.
        ("format", 0, "A verified"),
    ] {
        // Where there is no file of a change yet, the baseline runs it, which is to pass.
        let line = format!("test ! -f A.txt || {floods}");
        let project = layered()
            .config(&format!("verification:\n  {kind}:\n    - '{line}'\n"))
            .env("RALPH_WORKSPACE_MAX_GB", "0.02");
        project.repo.file(".gitignore", "*.bin\n").commit("ignore");
        let ran = project.run(&["--once"]).expect(code);
        assert_eq!(ran.verdicts(), [verdict], "{kind}");
        let log = project.repo.read(".ralph/logs/iteration-1.txt");
        assert!(log.contains("File too large"), "{kind}: {log}");
        let said = "the workspace was full, and writes failed: it wrote ";
        assert!(log.contains(said), "{kind}: {log}");
        assert!(log.contains("`workspace.max_gb` allows 20 MB"), "{kind}");
        assert!(!project.repo.exists("big.bin"), "{kind}");
        assert_eq!(project.leftovers(), [""; 0], "{kind}");
    }
}

#[test]
fn a_command_that_goes_on_writing_though_it_may_not_is_stopped_by_name() {
    let floods = "i=0; while :; do ulimit -S -f unlimited; \
        dd if=/dev/zero of=big$i.bin bs=1M count=700 2> /dev/null; i=$((i+1)); done";
    let line = format!("test ! -f A.txt || {{ {floods}; }}");
    let project = layered()
        .config(&format!("verification:\n  commands:\n    - '{line}'\n"))
        .env("RALPH_WORKSPACE_MAX_GB", "0.02");
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
    let record = project.repo.read(".ralph/logs/iteration-1.json");
    assert!(record.contains("stopped: it wrote"), "{record}");
    assert!(record.contains("workspace.max_gb"), "{record}");
    assert_eq!(project.leftovers(), [""; 0]);
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

/// A project whose layers no disk can hold: the data folder and `TMPDIR` are in the repository.
fn without_a_disk() -> Project {
    let project = layered();
    project.repo.file(".gitignore", "data/\n").commit("ignore");
    let inside = project.repo.root().join("data");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(project.repo.root().with_file_name(".ralph-layers"), "").unwrap();
    project
        .env("RALPH_DATA_DIR", &inside)
        .env("TMPDIR", &inside)
}

fn layers_in_memory() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    PathBuf::from(format!("/dev/shm/ralph-layers-{user}"))
}

#[test]
fn layers_are_kept_in_memory_where_no_disk_can_hold_them_and_that_is_said() {
    let project = without_a_disk();
    let ran = project.run(&["--once"]).expect(0);
    let place = format!("layers in {}", layers_in_memory().display());
    assert_eq!(ran.one("loop_started")["workspace"], place.as_str());
    assert!(
        ran.all().contains("layers are kept in memory"),
        "{}",
        ran.all()
    );
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn layers_of_a_killed_ralph_are_swept_by_any_command_wherever_they_are() {
    let project = without_a_disk();
    let root = project.repo.root().to_str().unwrap().to_owned();
    let is_of_project = |folder: &Path| {
        let owner = std::fs::read_to_string(folder.join("iteration")).unwrap_or_default();
        owner.ends_with(&root)
    };
    let own = || {
        let entries = std::fs::read_dir(layers_in_memory()).into_iter().flatten();
        let folders = entries.flatten().map(|entry| entry.path());
        folders.filter(|folder| is_of_project(folder)).count()
    };
    project.run_with("RALPH_FAILPOINT", "agent-ended");
    assert_eq!(own(), 1, "the next run goes on with it");
    project.run(&["--once"]).expect(0);
    assert_eq!(own(), 0);
    // One that no run goes on with.
    let dead = format!("layer-4194305-{}", "0".repeat(32));
    let left = layers_in_memory().join(dead);
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("iteration"), format!("none\n{root}")).unwrap();
    let status = Live::start(project.ralph(&["status"])).wait().expect(0);
    assert_eq!(own(), 0, "{}", status.all());
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

/// A filter of system calls as Docker has it: no new namespace, no mount. The program that bwrap starts is below it.
#[cfg(target_arch = "x86_64")]
fn filter_of_docker() -> Vec<u8> {
    const ALLOW: u32 = 0x7fff_0000;
    const REFUSE: u32 = 0x0005_0000;
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    let error = |error: rustix::io::Errno| REFUSE | error.raw_os_error().unsigned_abs();
    let [refused, unknown] = [rustix::io::Errno::PERM, rustix::io::Errno::NOSYS].map(error);
    // Each: the operation, the jumps where it holds and where not, its operand.
    let program: [(u16, u8, u8, u32); 12] = [
        (LOAD, 0, 0, 4),
        (EQUAL, 0, 7, 0xC000_003E),
        (LOAD, 0, 0, 0),
        (EQUAL, 6, 0, 165), // mount
        (EQUAL, 5, 0, 272), // unshare
        (EQUAL, 5, 0, 435), // clone3
        (EQUAL, 0, 2, 56),  // clone, by its flags
        (LOAD, 0, 0, 16),
        (ANY_BIT, 1, 0, 0x7E02_0000),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, refused),
        (RETURN, 0, 0, unknown),
    ];
    let bytes = program.iter().flat_map(|(code, yes, no, value)| {
        let mut bytes = code.to_ne_bytes().to_vec();
        bytes.extend([*yes, *no]);
        bytes.extend(value.to_ne_bytes());
        bytes
    });
    bytes.collect()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn in_a_container_that_refuses_mounts_doctor_says_how_to_start_it_and_a_run_works_in_place() {
    let project = layered().env("RALPH_WORKSPACE_MODE", "auto");
    let filter = project.outside("filter");
    std::fs::write(&filter, filter_of_docker()).unwrap();
    let filtered = |made: std::process::Command| {
        let mut command = project.repo.command("sh");
        let start = "exec bwrap --dev-bind / / --seccomp 9 \"$@\" 9< \"$0\"";
        command
            .args(["-c", start])
            .arg(&filter)
            .arg(made.get_program())
            .args(made.get_args())
            .envs(
                made.get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(made.get_current_dir().unwrap());
        Live::start(command).wait()
    };
    let ran = filtered(project.ralph(&["doctor", "--json"]));
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "workspace");
    let said = check.unwrap().to_string();
    assert!(said.contains("in place"), "{said}");
    assert!(said.contains("a seccomp filter is in force"), "{said}");
    assert!(said.contains("--cap-add SYS_ADMIN"), "{said}");
    let ran = filtered(project.run_command(&["--once"])).expect(0);
    let place = ran.one("loop_started")["workspace"].clone();
    assert!(place.as_str().unwrap().starts_with("in place: "), "{place}");
    assert_eq!(ran.verdicts(), ["A verified"]);
}
