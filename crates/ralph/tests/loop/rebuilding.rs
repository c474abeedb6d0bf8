//! Ralph dies after an iteration has ended in the journal and before its files are written: the next run writes them.

use serde_json::Value;

use ralph_engine::failpoint;

use crate::crash::tracked;
use crate::support::Project;

/// The progress file without its times: the headings, the verdicts, the files.
fn progress(project: &Project) -> Vec<String> {
    let text = project.repo.read(".ralph/progress.md");
    let lines = text.lines().filter(|line| !line.starts_with("Started: "));
    lines
        .map(|line| match line.split_once(" UTC — ") {
            Some((_, verdict)) => verdict.to_owned(),
            None => line.to_owned(),
        })
        .collect()
}

/// Fails unless every iteration has its files, each whole and as the journal has it.
#[track_caller]
fn assert_files(project: &Project, how: &str) {
    for n in 1..=6 {
        let shown = project.ralph(&["logs", "-i", &n.to_string(), "--json"]);
        let shown = { shown }.output().unwrap();
        let in_journal: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let text = project.repo.read(format!(".ralph/logs/iteration-{n}.json"));
        let on_disk: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(on_disk, in_journal, "{how}: iteration {n}");
        let log = project.repo.read(format!(".ralph/logs/iteration-{n}.txt"));
        assert_eq!(log.matches("\n== verdict\n").count(), 1, "{how}: {log}");
    }
    let logs = std::fs::read_dir(project.repo.path(".ralph/logs")).unwrap();
    for log in logs.flatten() {
        let is_empty = log.metadata().unwrap().len() == 0;
        assert!(!is_empty, "{how}: {} is empty", log.path().display());
    }
}

/// The last places before and between the files of an iteration.
fn between() -> &'static [&'static str] {
    let first = failpoint::ALL.iter().position(|point| *point == "recorded");
    let between = &failpoint::ALL[first.unwrap()..];
    assert_eq!(between, ["recorded", "progress-written", "files-written"]);
    between
}

#[test]
fn what_a_kill_left_out_is_written_by_the_next_run() {
    let undisturbed = tracked();
    undisturbed.run(&[]).expect(0);
    assert_files(&undisturbed, "undisturbed");
    for point in between() {
        // In the middle, and the very last one.
        for pass in [3, 6] {
            let how = format!("{point}:{pass}");
            let project = tracked();
            project.run_with("RALPH_FAILPOINT", &how).expect(-9);
            let record = format!(".ralph/logs/iteration-{pass}.json");
            assert_eq!(
                project.repo.exists(&record),
                *point == "files-written",
                "{how}"
            );
            if *point == "recorded" {
                // As a power cut leaves a file that was being written.
                project.repo.file(&record, "");
            }
            project.run(&[]).expect(0);
            assert_files(&project, &how);
            assert_eq!(progress(&project), progress(&undisturbed), "{how}");
        }
    }
}

#[test]
fn what_a_person_deleted_is_not_written_again() {
    let project = tracked();
    project.run(&[]).expect(0);
    std::fs::remove_dir_all(project.repo.path(".ralph/logs")).unwrap();
    project.repo.remove(".ralph/progress.md");
    project.run(&[]).expect(0);
    assert!(!project.repo.exists(".ralph/logs/iteration-6.json"));
    assert!(!project.repo.exists(".ralph/progress.md"));
}
