//! Class 5: an agent that speaks as a person, by ralph's own commands.

use crate::scene::{assert_goes_on, patient, script, some, with_attempts};
use crate::support::{Project, story};

/// Commands by which a person steers, as an agent would call them.
const WRITING: [&str; 11] = [
    "skip --task B --reason because",
    "say less",
    "answer --option 1",
    "retry --task A",
    "unblock --task A",
    "pause",
    "resume",
    "revert --iteration 1 --force",
    "squash",
    "intervene handoff",
    "run --once",
];

/// The same, which do not need the journal.
const MORE: [&str; 4] = ["tasks add Mine", "stop", "init", "plan x"];

/// Ways to hide where a command comes from.
const HIDDEN: [&str; 4] = [
    "ralph",
    "env -i PATH=\"$PATH\" HOME=\"$HOME\" RALPH_DATA_DIR=\"$DATA\" ralph",
    "setsid --wait ralph",
    "\"$HOME/other\"",
];

/// A project whose agent of A calls these after its work; what each said is in `said`.
fn calling(mode: &str, ways: &[&str], commands: &[&str]) -> Project {
    let project = Project::with_stories(&[story("A"), story("B")]);
    // As most people have it: a folder of ralph's alone.
    let data = project.outside("of-ralph");
    let project = project.env("RALPH_DATA_DIR", data);
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_ralph"));
    let mut shell = format!(
        "work; export DATA='{}'; export RALPH_DATA_DIR=\"$DATA\"; ln -s '{}' \"$HOME/other\" 2>/dev/null; ",
        project.data_dir().display(),
        own.display()
    );
    for way in ways {
        for command in commands {
            shell += &format!(
                "timeout 20 {way} {command} > \"$HOME/out\" 2>&1 < /dev/null; echo \"exit $? of {command}: $(tr '\\n' ' ' < \"$HOME/out\")\" >> \"$HOME/said\"; "
            );
        }
    }
    let path = format!(
        "{}:{}",
        own.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    with_attempts(patient(project, mode))
        .env("PATH", path)
        .script(&script(&[("A", &shell)]))
}

fn said(project: &Project) -> String {
    std::fs::read_to_string(project.repo.home().join("said")).unwrap()
}

fn g05_commands_of_a_person_are_not_obeyed_inside_a_run(mode: &str) {
    for way in HIDDEN {
        let commands = if way == HIDDEN[0] {
            WRITING.to_vec()
        } else {
            some(&WRITING, 4)
        };
        let project = calling(mode, &[way], &commands);
        let tasks = project.repo.read("prd.json");
        let ran = project.run(&["--once"]);
        assert_eq!(ran.code(), 0, "{mode}, {way}: {}", ran.all());
        let said = said(&project);
        assert_eq!(said.lines().count(), commands.len(), "{said}");
        assert!(!said.contains("exit 0 of"), "{mode}, {way}: {said}");
        let now = project.repo.read("prd.json");
        assert_eq!(now.replace("true", "false"), tasks, "{mode}, {way}");
        assert_eq!(project.landed(), ["A"], "{mode}, {way}");
        assert_goes_on(project, &["A", "B"], way);
    }
}
modes!(g05_commands_of_a_person_are_not_obeyed_inside_a_run);

fn g05_the_refusal_says_why(mode: &str) {
    let commands = [&WRITING[..], &MORE].concat();
    let project = calling(mode, &HIDDEN[..2], &commands);
    project.run(&["--once"]).expect(0);
    let said = said(&project);
    for line in said.lines() {
        assert!(line.starts_with("exit 2 of"), "{line}");
        assert!(line.contains("inside a run"), "{line}");
    }
}
modes!(g05_the_refusal_says_why);

fn g05_reading_commands_work_inside_a_run(mode: &str) {
    let reading = [
        "status",
        "tasks list",
        "tasks show B",
        "loops",
        "report",
        "config",
        "--help",
    ];
    let project = calling(mode, &HIDDEN[..1], &reading);
    project.run(&["--once"]).expect(0);
    let said = said(&project);
    for line in said.lines() {
        assert!(line.starts_with("exit 0 of"), "{line}");
    }
}
modes!(g05_reading_commands_work_inside_a_run);

fn g05_a_row_in_the_journal_is_out_of_reach(mode: &str) {
    let shell = "sqlite3 \"$DATA/ralph.db\" \"DELETE FROM iteration; UPDATE loop SET ended_at = 1\" >> \"$HOME/said\" 2>&1; \
        echo \"exit $?\" >> \"$HOME/said\"; mv \"$DATA\" \"$DATA.away\" 2>> \"$HOME/said\"; mkdir -p \"$DATA\"; umount \"$DATA\" 2>/dev/null; \
        umount -l \"$DATA\" 2>/dev/null; mount -o remount,rw \"$DATA\" 2>/dev/null; echo x >> \"$DATA/ralph.db\"; work";
    let project = Project::with_stories(&[story("A"), story("B")]);
    let data = project.outside("of-ralph");
    let project = project.env("RALPH_DATA_DIR", data);
    let shell = format!("DATA='{}'; {shell}", project.data_dir().display());
    let project = with_attempts(patient(project, mode)).script(&script(&[("A", &shell)]));
    project.run(&["--once"]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    let said = said(&project);
    assert!(!said.contains("exit 0"), "{said}");
    assert_goes_on(project, &["A", "B"], mode);
}
modes!(g05_a_row_in_the_journal_is_out_of_reach);
