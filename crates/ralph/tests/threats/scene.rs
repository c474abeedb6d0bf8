//! One loop in which each task has an agent of its own, told as a line for the shell, and what came of it.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::support::{Project, Ran, good_script, is_storm, story, write_program};

/// The kinds of workspace. With `overlay` a machine without layers fails the test.
pub(crate) const MODES: [&str; 2] = ["overlay", "in_place"];

/// Put before every line: `work` does what the task is verified by.
const WORDS: &str = "work() { echo \"$RALPH_TASK_ID\" > \"$RALPH_TASK_ID.txt\"; }; ";

/// Actions of an attempt that does this in a shell and claims that its task is done.
pub(crate) fn deed(shell: &str) -> Value {
    json!({"do": [{"run": format!("{WORDS}{shell}")}, {"say": "Task {id} complete"}]})
}

/// A script in which each task has its own deed, and any other is done as it should be.
pub(crate) fn script(deeds: &[(&str, &str)]) -> Value {
    let tasks: Map<String, Value> = deeds
        .iter()
        .map(|(id, shell)| ((*id).to_owned(), json!([deed(shell)])))
        .collect();
    json!({"tasks": tasks, "default": [deed("work")]})
}

/// A project with a story for each deed: an id, and what its agent does in a shell.
pub(crate) fn scene(mode: &str, deeds: &[(&str, &str)]) -> Project {
    let stories: Vec<Value> = deeds.iter().map(|(id, _)| story(id)).collect();
    patient(Project::with_stories(&stories), mode).script(&script(deeds))
}

/// One deed, for the story `A`.
pub(crate) fn alone(mode: &str, shell: &str) -> Project {
    scene(mode, &[("A", shell)])
}

/// A folder outside of the repository with a program `checker` that fails, for the path.
pub(crate) fn failing_checker(project: &Project) -> String {
    let folder = project.outside("programs");
    std::fs::create_dir_all(&folder).unwrap();
    write_program(&folder.join("checker"), "exit 1");
    folder.to_str().unwrap().to_owned()
}

/// Gives every task one attempt, without a repair, and lets a loop go on however many of them fail.
pub(crate) fn patient(project: Project, mode: &str) -> Project {
    let vars = [
        ("RALPH_WORKSPACE_MODE", mode),
        ("RALPH_LOOP_MAX_VERIFY_RETRIES", "0"),
        ("RALPH_LOOP_MAX_ATTEMPTS", "1"),
        ("RALPH_LOOP_MAX_NO_PROGRESS", "1000"),
        ("RALPH_LOOP_MAX_ITERATIONS", "1000"),
        ("RALPH_LOOP_MAX_ERRORS", "1000"),
        ("RALPH_BREAKER_FAILURES", "1000"),
        ("RALPH_BREAKER_WINDOW", "1000"),
    ];
    vars.into_iter()
        .fold(project, |project, (name, value)| project.env(name, value))
}

/// Gives every task its usual attempts, for a case in which a second run has to do better.
pub(crate) fn with_attempts(project: Project) -> Project {
    project.env("RALPH_LOOP_MAX_ATTEMPTS", "5")
}

/// A story that these commands verify.
pub(crate) fn story_by(id: &str, commands: &[&str]) -> Value {
    let mut story = story(id);
    story["verify"] = json!(commands);
    story
}

/// What the inspections refused, in their order; an empty text where nothing was.
pub(crate) fn refusals(ran: &Ran) -> Vec<String> {
    let inspected = ran.named("inspected");
    inspected
        .iter()
        .map(|event| event["refusal"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Fails if no flag of any inspection holds all of these words.
#[track_caller]
pub(crate) fn assert_flagged(ran: &Ran, words: &[&str], how: &str) {
    let flags = ran.flags();
    let found = flags
        .iter()
        .any(|flag| words.iter().all(|word| flag.contains(word)));
    assert!(found, "{how}: no flag with {words:?}: {flags:?}");
}

/// Fails if a refusal does not name what it is about.
#[track_caller]
pub(crate) fn assert_refused(ran: &Ran, names: &[&str], how: &str) {
    let refusals = refusals(ran);
    assert_eq!(refusals.len(), names.len(), "{how}: {}", ran.all());
    for (refusal, name) in refusals.iter().zip(names) {
        let is_named = !refusal.is_empty() && refusal.contains(name);
        assert!(is_named, "{how}: {name:?} in {refusal:?}");
    }
}

/// Runs a check for every case, and fails with all that failed rather than with the first.
#[track_caller]
pub(crate) fn each<T>(cases: impl IntoIterator<Item = T>, check: impl Fn(T)) {
    let mut failed = Vec::new();
    for case in cases {
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(case)));
        if let Err(panic) = checked {
            let said = panic.downcast_ref::<String>().cloned();
            failed.push(said.unwrap_or_else(|| "a panic without words".into()));
        }
    }
    assert!(
        failed.is_empty(),
        "{} failed:\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}

/// Every so many of these; in a storm all of them.
pub(crate) fn some<T: Clone>(all: &[T], step: usize) -> Vec<T> {
    let step = if is_storm() { 1 } else { step };
    all.iter().step_by(step).cloned().collect()
}

/// The modes for a case in which they make little difference: the one or the other; in a storm both.
pub(crate) fn modes_of(index: usize) -> Vec<&'static str> {
    if is_storm() {
        return MODES.to_vec();
    }
    vec![MODES[index % MODES.len()]]
}

/// Names tasks after these deeds: `B01`, `B02`, …
pub(crate) fn numbered(deeds: &[&str]) -> Vec<(String, String)> {
    let numbers = 1..;
    numbers
        .zip(deeds)
        .map(|(n, shell): (u32, _)| (format!("B{n:02}"), (*shell).to_owned()))
        .collect()
}

/// One loop with a task for each of these deeds, and at last one that does as it should.
pub(crate) fn one_after_another(mode: &str, deeds: &[&str]) -> Project {
    let numbered = numbered(deeds);
    let mut all: Vec<(&str, &str)> = numbered
        .iter()
        .map(|(id, shell)| (id.as_str(), shell.as_str()))
        .collect();
    all.push(("Z", "work"));
    scene(mode, &all)
}

/// Every ref but ralph's own and its branch, with the object that it names; the stash with its depth.
pub(crate) fn refs(project: &Project) -> String {
    let all = project
        .repo
        .git(["for-each-ref", "--format=%(refname) %(objectname)"]);
    let kept = all
        .lines()
        .filter(|line| !line.contains("refs/ralph/") && !line.contains("heads/ralph/"));
    let stashes = project.repo.git(["stash", "list", "--format=%H %gs"]);
    kept.collect::<Vec<_>>().join("\n") + "\n" + &stashes
}

/// Fails if git finds a fault in the repository, or something to commit in its folder.
#[track_caller]
pub(crate) fn assert_whole(project: &Project, how: &str) {
    let mut left = project.leftovers();
    // A task that is out of attempts is blocked in its file, which the next commit takes along.
    let is_blocked =
        project.repo.exists("prd.json") && project.repo.read("prd.json").contains("blocked");
    left.retain(|line| !(is_blocked && line == " M prd.json"));
    assert_eq!(left, [""; 0], "{how}");
    let fsck = project
        .repo
        .try_git(["fsck", "--no-dangling", "--no-progress"]);
    let said = String::from_utf8_lossy(&fsck.stderr).into_owned();
    assert!(fsck.status.success(), "{how}: {said}");
    assert_eq!(project.repo.branch(), "refs/heads/ralph/work", "{how}");
    assert_eq!(layers_left(project), [""; 0], "{how}");
    project.assert_nothing_alive();
}

/// Runs again with an agent that does as it should: all that is left lands, and nothing of before is in
/// its way.
#[track_caller]
pub(crate) fn assert_goes_on(project: Project, landed: &[&str], how: &str) -> Project {
    let project = project.script(&good_script());
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{how}: the next run: {}", ran.all());
    assert_eq!(project.landed(), landed, "{how}: the next run");
    assert_whole(&project, how);
    project
}

/// What is left in the folder of layers.
pub(crate) fn layers_left(project: &Project) -> Vec<String> {
    let folder = project.data_dir().join("layers");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// A command that reads, beside a loop or after it; what it printed.
pub(crate) fn said_by(project: &Project, args: &[&str]) -> String {
    let output = project.ralph(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said + &String::from_utf8_lossy(&output.stderr)
}

/// Every regular file below a folder, with its bytes.
pub(crate) fn all_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(all_files(&path));
        } else if path.is_file() {
            found.push((
                path.display().to_string(),
                std::fs::read(&path).unwrap_or_default(),
            ));
        }
    }
    found
}

/// Says where a text is found below these folders.
pub(crate) fn holders(folders: &[&Path], text: &str) -> Vec<String> {
    let files = folders.iter().flat_map(|folder| all_files(folder));
    let holds = |bytes: &[u8]| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    files
        .filter(|(_, bytes)| holds(bytes))
        .map(|(path, _)| path)
        .collect()
}
