//! Tests of the task source: found, read, written back, and changed by another program meanwhile.

use ralph_core::task::{Status, format::Change};

use super::*;

const PRD: &str = "{\n  \"userStories\": [\n    {\"id\": \"A\", \"title\": \"a\", \"passes\": false},\n    {\"id\": \"B\", \"title\": \"b\", \"passes\": false}\n  ]\n}\n";

fn scratch(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    (dir, root)
}

fn done(task: &str) -> Edit {
    Edit {
        task: TaskId::parse(task).unwrap(),
        change: Change::Status(Status::Completed),
    }
}

#[test]
fn a_change_made_by_somebody_else_since_reading_is_kept() {
    let (_dir, root) = scratch(&[("prd.json", PRD)]);
    let path = root.join("prd.json");
    let (mut source, _) = Source::read(&path, &root).unwrap();
    let theirs = PRD.replace("\"title\": \"b\"", "\"title\": \"better\"");
    std::fs::write(&path, &theirs).unwrap();
    assert!(source.has_changed());
    source
        .write(&[done("A")], &|_| Some(Place::default()))
        .unwrap();
    let expected = theirs.replacen("\"passes\": false", "\"passes\": true", 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    assert!(!source.has_changed());
}

#[test]
fn tasks_are_written_one_after_the_other_where_they_stand_by_then() {
    let (_dir, root) = scratch(&[("prd.json", PRD)]);
    let path = root.join("prd.json");
    let (mut source, tasks) = Source::read(&path, &root).unwrap();
    let place = |id: &TaskId| Some(tasks.iter().find(|task| task.id == *id)?.place);
    source.write(&[done("A")], &place).unwrap();
    assert_eq!(source.place(&tasks[1]), "prd.json:4:5");
    let edits = source.files()[0].edits.as_ref().map(Vec::len);
    assert_eq!(edits, Some(1), "the rest of the file was not read");
    source.write(&[done("B")], &place).unwrap();
    let expected = PRD.replace("false", "true");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(source.files()[0].bytes(), expected.as_bytes());
    assert!(!source.has_changed());
    assert!(source.write(&[done("B")], &place).unwrap().is_empty());
}

#[test]
fn a_change_that_can_not_be_written_is_taken_back() {
    let (_dir, root) = scratch(&[("folder/prd.json", PRD)]);
    let path = root.join("folder/prd.json");
    let (mut source, tasks) = Source::read(&path, &root).unwrap();
    // Where the new text is written first, something stands that can't be moved aside.
    std::fs::remove_dir_all(root.join("folder")).unwrap();
    source.files[0].stamp = stamp(&path);
    let written = source.files[0].edit(tasks[0].place, &[done("A")]);
    assert!(matches!(written, Err(SourceError::Write { .. })));
    assert_eq!(source.files()[0].bytes(), PRD.as_bytes());
}

#[test]
fn a_file_that_became_unreadable_is_never_overwritten() {
    let (_dir, root) = scratch(&[("prd.json", PRD)]);
    let path = root.join("prd.json");
    let (mut source, _) = Source::read(&path, &root).unwrap();
    std::fs::write(&path, "{ broken").unwrap();
    let error = source
        .write(&[done("A")], &|_| Some(Place::default()))
        .unwrap_err();
    assert!(error.to_string().starts_with("prd.json:1:"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ broken");
}

#[test]
fn an_agents_claim_in_the_file_is_put_back() {
    let (_dir, root) = scratch(&[("prd.json", PRD)]);
    let path = root.join("prd.json");
    let (mut source, _) = Source::read(&path, &root).unwrap();
    std::fs::write(&path, PRD.replace("false", "true")).unwrap();
    let written = source.written();
    let own = TaskId::parse("A").unwrap();
    let tampering = source
        .put_back(&written, &own, &Redaction::default())
        .unwrap();
    assert_eq!(tampering.len(), 2);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), PRD);
}

#[test]
fn a_link_to_a_task_file_stays_a_link() {
    let (_dir, root) = scratch(&[("real/prd.json", PRD)]);
    let link = root.join("prd.json");
    std::os::unix::fs::symlink(root.join("real/prd.json"), &link).unwrap();
    let (mut source, _) = Source::read(&link, &root).unwrap();
    source
        .write(&[done("A")], &|_| Some(Place::default()))
        .unwrap();
    assert!(link.is_symlink());
    assert!(
        std::fs::read_to_string(root.join("real/prd.json"))
            .unwrap()
            .contains("true")
    );
}

#[test]
fn a_folder_of_files_is_one_source_and_a_new_task_is_a_new_file() {
    let (_dir, root) = scratch(&[
        (".ralph/tasks/b.json", "[{\"id\":\"B\",\"title\":\"b\"}]"),
        (
            ".ralph/tasks/a.yaml",
            "id: A\ntitle: a\nstatus: open # mine\n",
        ),
        (".ralph/tasks/notes.md", "not a task"),
    ]);
    let folder = root.join(".ralph/tasks");
    let (mut source, tasks) = Source::read(&folder, &root).unwrap();
    let ids: Vec<_> = tasks.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(ids, ["A", "B"]);
    assert_eq!(source.place(&tasks[1]), ".ralph/tasks/b.json:1:2");
    source
        .write(&[done("A")], &|_| Some(Place::default()))
        .unwrap();
    let text = std::fs::read_to_string(folder.join("a.yaml")).unwrap();
    assert_eq!(text, "id: A\ntitle: a\nstatus: completed # mine\n");
    let new = NewTask {
        id: TaskId::parse("C").unwrap(),
        title: "c".into(),
        description: String::new(),
        acceptance: Vec::new(),
        verify: Vec::new(),
        depends_on: Vec::new(),
        labels: Vec::new(),
        priority: None,
    };
    source.add(&new).unwrap();
    assert!(source.has_changed(), "a file was added");
    assert!(matches!(source.add(&new), Err(SourceError::Exists { .. })));
}

#[test]
fn every_change_in_a_folder_of_many_files_is_found() {
    let count = FEWEST_SHARED + 500;
    let name = |n: usize| format!("t{n:05}.json");
    let text = |n: usize| format!("{{\"id\": \"t{n}\", \"title\": \"t\"}}\n");
    let (_dir, root) = scratch(&[]);
    let folder = root.join("tasks");
    std::fs::create_dir(&folder).unwrap();
    for n in 0..count {
        std::fs::write(folder.join(name(n)), text(n)).unwrap();
    }
    let (source, _) = Source::read(&folder, &root).unwrap();
    assert!(!source.has_changed());
    let changed = [0, 7, FEWEST_SHARED / 2, FEWEST_SHARED, count - 1];
    for n in changed {
        std::fs::write(folder.join(name(n)), text(n).replace("\"t\"", "\"more\"")).unwrap();
    }
    assert!(source.has_changed());
    let written = source.written();
    let written: Vec<&Path> = source.paths_of(&written).collect();
    assert_eq!(written, changed.map(|n| folder.join(name(n))));
    for n in changed {
        std::fs::remove_file(folder.join(name(n))).unwrap();
    }
    assert!(source.has_changed(), "files are gone");
    assert_eq!(source.written().0, changed);
}
