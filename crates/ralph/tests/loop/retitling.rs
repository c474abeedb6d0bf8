//! Titles that are edited in a task file without ids: one edited title is the same task, two are new ones.

use serde_json::{Value, json};

use crate::support::Project;

fn item(title: &str) -> Value {
    json!({"title": title, "verify": ["test -f done.txt"], "passes": false})
}

/// A project whose agent never does the work, and that has tried the first task once.
fn tried(titles: &[&str]) -> Project {
    let items: Vec<Value> = titles.iter().map(|title| item(title)).collect();
    tried_in("prd.json", &json!(items).to_string())
}

/// The same with any task file.
fn tried_in(file: &str, text: &str) -> Project {
    let script = json!({"default": [
        {"do": [{"write": {"path": "wrong.txt", "text": "x"}}, {"say": "Task {id} complete"}]},
    ]});
    let project = Project::new().config("loop:\n  max_attempts: 2\n  max_verify_retries: 0\n");
    project.repo.file(file, text).commit("tasks");
    let project = project.script(&script);
    project.run(&[file, "--once"]).expect(3);
    project
}

fn attempts(project: &Project, task: &str) -> Value {
    let shown = project.ralph(&["tasks", "show", task, "--json"]).output();
    let shown = shown.unwrap().stdout;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    shown["history"]["attempts"].clone()
}

fn retitle(project: &Project, titles: &[(&str, &str)]) {
    retitle_in(project, "prd.json", titles);
}

fn retitle_in(project: &Project, file: &str, titles: &[(&str, &str)]) {
    let mut text = project.repo.read(file);
    for (was, is) in titles {
        text = text.replace(was, is);
    }
    project.repo.file(file, text).commit("titles");
}

#[test]
fn a_task_keeps_its_attempts_when_a_typo_in_its_title_is_corrected() {
    let project = tried(&["Wirte the file", "Read the file"]);
    assert_eq!(attempts(&project, "wirte-the-file"), 1);
    retitle(&project, &[("Wirte", "Write")]);
    assert_eq!(attempts(&project, "write-the-file"), 1);
    let ran = project.run(&["--once"]);
    let told = ran.named("notice");
    let said = "task wirte-the-file has another title and is now write-the-file; its history stays";
    assert!(told.iter().any(|one| one["message"] == said), "{told:?}");
    assert_eq!(attempts(&project, "write-the-file"), 2);
    // Told once, and the list is known from then on.
    retitle(&project, &[("Read the", "Read a")]);
    let ran = project.run(&["--once"]);
    let told = ran.named("notice");
    let said = "task read-the-file has another title and is now read-a-file; its history stays";
    assert!(told.iter().any(|one| one["message"] == said), "{told:?}");
    assert_eq!(attempts(&project, "write-the-file"), 2);
}

#[test]
fn two_titles_that_change_at_once_are_two_new_tasks() {
    let project = tried(&["Wirte the file", "Raed the file", "Close the file"]);
    retitle(&project, &[("Wirte", "Write"), ("Raed", "Read")]);
    let ran = project.run(&["--once"]).expect(3);
    let told = ran.named("warning");
    let said = "more than one title changed in prd.json, where titles are the ids: the tasks are new, and the history of wirte-the-file stays behind; `ralph lint --fix` writes ids";
    assert!(told.iter().any(|one| one["message"] == said), "{told:?}");
    assert_eq!(attempts(&project, "write-the-file"), 1);
}

const TODO: &str = "# TODO\n\n## Fiels\n\n- [ ] Wirte the file\n  - Verify: `test -f done.txt`\n- [ ] **Raed** the file\n  - Verify: `test -f done.txt`\n- [x] Close the file\n";

#[test]
fn a_task_of_a_checklist_keeps_its_attempts_when_its_title_is_corrected() {
    let project = tried_in("TODO.md", TODO);
    assert_eq!(attempts(&project, "wirte-the-file"), 1);
    retitle_in(&project, "TODO.md", &[("Wirte", "Write")]);
    let ran = project.run(&["TODO.md", "--once"]);
    let told = ran.named("notice");
    let said = "task wirte-the-file has another title and is now write-the-file; its history stays";
    assert!(told.iter().any(|one| one["message"] == said), "{told:?}");
    assert_eq!(attempts(&project, "write-the-file"), 2);
    // Two attempts are all that it gets.
    let written = project.repo.read("TODO.md");
    assert!(written.contains("- [!] Write the file\n"), "{written}");
    // A heading is a task that holds others: they keep theirs too.
    retitle_in(&project, "TODO.md", &[("Fiels", "Files")]);
    project.run(&["TODO.md", "--once"]);
    assert_eq!(attempts(&project, "write-the-file"), 2);
    assert_eq!(attempts(&project, "raed-the-file"), 1);
    retitle_in(&project, "TODO.md", &[("**Raed**", "Read")]);
    assert_eq!(attempts(&project, "read-the-file"), 1);
}

#[test]
fn two_titles_of_a_checklist_that_change_at_once_are_two_new_tasks() {
    let project = tried_in("TODO.md", TODO);
    retitle_in(&project, "TODO.md", &[("Wirte", "Write"), ("Raed", "Read")]);
    let ran = project.run(&["TODO.md", "--once"]).expect(3);
    let told = ran.named("warning");
    let said = "more than one title changed in TODO.md, where titles are the ids: the tasks are new, and the history of wirte-the-file stays behind; `<!-- id: NAME -->` at the end of its line gives a task an id";
    assert!(told.iter().any(|one| one["message"] == said), "{told:?}");
    assert_eq!(attempts(&project, "write-the-file"), 1);
}
