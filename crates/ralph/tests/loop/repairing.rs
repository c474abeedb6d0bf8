//! A journal that is damaged, newer, emptied or gone, a repository on another device, leftovers of kills: said by
//! `run`, found by `doctor`, and repaired or explained. Nothing is lost.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Live, Project, good_script, prd, story};

fn project() -> Project {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let agent = project.agent_word();
    // Not by an option, so that `doctor` has it too.
    project.env("RALPH_AGENT", agent)
}

fn add_story(project: &Project, id: &str) {
    let mut tasks: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    let stories = tasks["userStories"].as_array_mut().unwrap();
    stories.push(story(id));
    let tasks = prd(stories);
    project.repo.prd(&tasks).commit("one more");
}

/// The journal and what belongs to it.
fn journal(project: &Project) -> [PathBuf; 3] {
    ["ralph.db", "ralph.db-wal", "ralph.db-shm"].map(|name| project.data_dir().join(name))
}

fn delete_journal(project: &Project) {
    for path in journal(project) {
        let _ = std::fs::remove_file(path);
    }
}

/// The checks of `doctor` by this name, with its exit code.
fn doctor(project: &Project, args: &[&str], name: &str) -> (i32, Vec<Value>) {
    let ran = Live::start(project.ralph(&[&["doctor", "--json"], args].concat())).wait();
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().filter(|check| check["name"] == name);
    (ran.code(), found.cloned().collect())
}

/// The only check of `doctor` by this name says this.
#[track_caller]
fn assert_doctor(project: &Project, name: &str, state: &str, says: &[&str]) {
    let (code, found) = doctor(project, &[], name);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["state"], state, "{found:?}");
    assert_eq!(code, if state == "problem" { 2 } else { 0 }, "{found:?}");
    let said = format!("{} {}", found[0]["message"], found[0]["hint"]);
    for words in says {
        assert!(said.contains(words), "{words:?} in {said}");
    }
}

fn warnings(ran: &crate::support::Ran) -> String {
    let warnings = ran.named("warning").into_iter();
    let messages = warnings.map(|e| e["message"].as_str().unwrap().to_owned());
    messages.collect::<Vec<_>>().join("\n")
}

fn iteration_id(project: &Project, path: &str) -> String {
    let record: Value = serde_json::from_str(&project.repo.read(path)).unwrap();
    record["iterationId"].as_str().unwrap().to_owned()
}

#[test]
fn a_journal_that_is_gone_or_emptied_is_not_replaced_without_a_word() {
    type Lose = fn(&Project);
    let cases: [(&str, Lose); 2] = [
        ("deleted", delete_journal),
        ("emptied", |project| {
            delete_journal(project);
            std::fs::write(&journal(project)[0], "").unwrap();
        }),
    ];
    for (how, lose) in cases {
        let project = project();
        project.run(&[]).expect(0);
        assert_doctor(&project, "journal", "ok", &["whole"]);
        let before = iteration_id(&project, ".ralph/logs/iteration-1.json");
        lose(&project);
        assert_doctor(
            &project,
            "journal",
            "warning",
            &[
                "files of earlier loops (1)",
                "deleted or emptied",
                "keeps the logs",
            ],
        );
        // Other commands say nothing new, and do not hide it.
        project.ralph(&["status"]).output().unwrap();
        add_story(&project, "B");
        let ran = project.run(&[]).expect(0);
        let said = warnings(&ran);
        assert!(
            said.contains("is new, but there are files of earlier loops"),
            "{how}: {said}"
        );
        assert!(
            said.contains("knows nothing of iterations 1 to 1"),
            "{how}: {said}"
        );
        assert_eq!(project.landed(), ["A", "B"], "{how}");
        let kept = iteration_id(&project, ".ralph/logs/earlier/iteration-1.json");
        assert_eq!(kept, before, "{how}: the logs of before are kept");
        assert_ne!(
            iteration_id(&project, ".ralph/logs/iteration-1.json"),
            before
        );
        // It is said once.
        add_story(&project, "C");
        let said = warnings(&project.run(&[]).expect(0));
        assert!(!said.contains("journal"), "{how}: {said}");
        assert_doctor(&project, "journal", "ok", &["whole"]);
    }
}

#[test]
fn a_journal_that_was_put_back_from_an_older_copy_keeps_the_logs_of_what_it_lost() {
    let project = project();
    project.run(&[]).expect(0);
    let [path, ..] = journal(&project);
    let copy = project.outside("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    add_story(&project, "B");
    project.run(&[]).expect(0);
    let lost = iteration_id(&project, ".ralph/logs/iteration-2.json");
    delete_journal(&project);
    std::fs::copy(&copy, &path).unwrap();
    add_story(&project, "C");
    let said = warnings(&project.run(&[]).expect(0));
    assert!(
        said.contains("knows nothing of iterations 2 to 2"),
        "{said}"
    );
    assert_eq!(project.landed(), ["A", "B", "C"]);
    assert_eq!(
        iteration_id(&project, ".ralph/logs/earlier/iteration-2.json"),
        lost
    );
    assert!(project.repo.exists(".ralph/logs/iteration-1.json"));
}

#[test]
fn what_was_only_in_the_log_of_a_lost_journal_is_kept() {
    let project = project();
    // Killed, so that the log is not folded in.
    project
        .run_with("RALPH_FAILPOINT", "files-written")
        .expect(-9);
    let [path, log, _] = journal(&project);
    let bytes = std::fs::read(&log).unwrap();
    assert!(!bytes.is_empty());
    std::fs::write(path, "").unwrap();
    project.run(&[]).expect(0);
    let kept = project.data_dir().join("ralph.db-wal.lost");
    assert_eq!(std::fs::read(kept).unwrap(), bytes);
}

#[test]
fn a_damaged_journal_is_refused_left_as_it_is_and_explained() {
    let project = project();
    project.run(&[]).expect(0);
    let [path, ..] = journal(&project);
    let whole = std::fs::read(&path).unwrap();
    // The head is not a database's; a page in the middle is not what it was.
    let mut headless = whole.clone();
    headless[..16].copy_from_slice(b"not a database!!");
    let mut holed = whole.clone();
    let pages = 4096..whole.len();
    holed[pages].fill(0xff);
    add_story(&project, "B");
    for damaged in [headless, holed] {
        std::fs::write(&path, &damaged).unwrap();
        assert_doctor(
            &project,
            "journal",
            "problem",
            &["is damaged", "put a copy back"],
        );
        let ran = project.run(&[]).expect(1).says("hint: `ralph doctor`");
        assert!(ran.named("loop_started").is_empty(), "{}", ran.all());
        assert_eq!(std::fs::read(&path).unwrap(), damaged);
    }
    std::fs::write(&path, &whole).unwrap();
    project.run(&[]).expect(0);
}

#[test]
fn a_journal_of_a_newer_ralph_is_explained() {
    let project = project();
    project.run(&[]).expect(0);
    let [path, ..] = journal(&project);
    let newer =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (9999, 'from the future', 1, x'00', 0)";
    let output = project
        .repo
        .command("sqlite3")
        .arg(path)
        .arg(newer)
        .output();
    assert!(output.unwrap().status.success());
    assert_doctor(
        &project,
        "journal",
        "problem",
        &["newer ralph (schema 9999", "install the newer ralph again"],
    );
    project.run(&[]).expect(1).says("newer ralph");
}

/// A project whose run in the user's own folder was killed: the snapshot of the git folder is in force.
fn killed_in_place() -> (Project, PathBuf) {
    let project = project().in_place();
    project
        .run_with("RALPH_FAILPOINT", "agent-running")
        .expect(-9);
    let mut worktrees = std::fs::read_dir(project.data_dir().join("worktrees")).unwrap();
    let state = worktrees.next().unwrap().unwrap().path();
    let guard = state.join("git-guard.json");
    assert!(guard.exists());
    (project, guard)
}

/// Writes other numbers of the git folders into the snapshot, as if they had been elsewhere before.
fn change_numbers(guard: &std::path::Path, device: u64, inode: u64) {
    let mut text: Value = serde_json::from_slice(&std::fs::read(guard).unwrap()).unwrap();
    for folder in text["folders"].as_array_mut().unwrap() {
        for (name, more) in [("device", device), ("inode", inode)] {
            folder[name] = (folder[name].as_u64().unwrap() + more).into();
        }
    }
    std::fs::write(guard, text.to_string()).unwrap();
}

#[test]
fn a_remount_and_a_restore_to_another_disk_do_not_block_the_repository() {
    for inode in [0, 1] {
        let (project, guard) = killed_in_place();
        change_numbers(&guard, 1, inode);
        assert_doctor(&project, "repository", "ok", &[]);
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"]);
        assert!(!guard.exists());
    }
}

#[test]
fn a_repository_that_was_copied_to_another_disk_is_gone_on_with() {
    let (project, guard) = killed_in_place();
    let (root, kept) = (project.repo.root().display(), project.outside("kept"));
    let script = format!(
        "set -e; cp -a {root} {kept}; mount -t tmpfs tmpfs {root}; cp -a {kept}/. {root}/\n\
         cd {root}; exec \"$@\"",
        kept = kept.display(),
    );
    let run = project.run_command(&[]);
    let mut command = project.repo.command("unshare");
    command
        .args(["-Urm", "sh", "-c", &script, "sh"])
        .arg(run.get_program())
        .args(run.get_args())
        .envs(
            run.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    let ran = Live::start(command).wait().expect(0);
    assert_eq!(ran.one("landed")["task"], "A");
    assert!(!guard.exists());
}

#[test]
fn a_git_folder_that_was_put_back_by_hand_is_refused_until_a_person_accepts_it() {
    type Spoil = fn(&std::path::Path);
    let cases: [(&str, Spoil); 2] = [
        ("was replaced", |guard| change_numbers(guard, 0, 1)),
        ("could not read", |guard| std::fs::write(guard, "").unwrap()),
    ];
    for (says, spoil) in cases {
        let (project, guard) = killed_in_place();
        spoil(&guard);
        project.run(&[]).expect(2).says(says);
        let (code, found) = doctor(&project, &[], "leftovers");
        assert_eq!(
            (code, &found[0]["state"]),
            (2, &"problem".into()),
            "{found:?}"
        );
        let said = found[0].to_string();
        assert!(
            said.contains(says) && said.contains("`ralph doctor --fix`"),
            "{said}"
        );
        let (code, fixed) = doctor(&project, &["--fix"], "fixed");
        assert_eq!((code, fixed.len()), (0, 1), "{fixed:?}");
        assert!(guard.with_file_name("git-guard.json.set-aside").exists());
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"]);
        assert_doctor(&project, "leftovers", "ok", &["nothing is left"]);
    }
}

#[test]
fn what_a_kill_left_is_named_with_who_brings_it_to_its_end() {
    let project = project();
    project
        .run_with("RALPH_FAILPOINT", "agent-ended")
        .expect(-9);
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let half = format!(".prd.json.ralph-{}.tmp", dead.id());
    project.repo.file(&half, "{").file(".git/index.lock", "");
    let (code, found) = doctor(&project, &[], "leftovers");
    let said: Vec<String> = found.iter().map(Value::to_string).collect();
    let says = [
        ("iteration 1 at A was interrupted", "the next `ralph run`"),
        (half.as_str(), "`ralph doctor --fix` removes it"),
        (".git/index.lock is there", "remove the file"),
    ];
    assert_eq!((code, said.len()), (0, says.len()), "{said:?}");
    for (said, (what, then)) in said.iter().zip(says) {
        assert!(said.contains(what) && said.contains(then), "{said}");
    }
    project.repo.remove(".git/index.lock");
    let (_, fixed) = doctor(&project, &["--fix"], "fixed");
    assert_eq!(fixed.len(), 1, "{fixed:?}");
    assert!(!project.repo.exists(&half));
    project.run(&[]).expect(0);
    assert_doctor(&project, "leftovers", "ok", &["nothing is left"]);
}
