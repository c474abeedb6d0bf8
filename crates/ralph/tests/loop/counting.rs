//! Tests that a change takes away: counted in what the runner prints, and looked for in the files.

use serde_json::{Value, json};

use crate::support::{Project, Ran, story};

const CARGO: [&str; 3] = [
    "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
];
const PYTEST: [&str; 3] = [
    "============================== 3 passed in 0.02s ===============================",
    "============================== 2 passed in 0.02s ===============================",
    "============================ no tests ran in 0.01s =============================",
];
const JEST: [&str; 3] = [
    "Tests:       3 passed, 3 total",
    "Tests:       2 passed, 2 total",
    "No tests found, exiting with code 0",
];
const GO: [&str; 3] = [
    "--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\n--- PASS: TestC (0.00s)\nok  \texample.com/a\t0.002s",
    "--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\nok  \texample.com/a\t0.002s",
    "?   \texample.com/a\t[no test files]",
];
const UNKNOWN: [&str; 3] = ["all 3 good", "all 2 good", "all good"];

/// A project whose verify command prints a file, much output around it, and an agent that rewrites that file.
fn project(before: &str, after: &str, more: &str) -> Project {
    let script = json!({"default": [{"do": [
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"write": {"path": "summary.txt", "text": format!("{after}\n")}},
        {"say": "Task A complete"},
    ]}]});
    let config = format!(
        "loop:\n  max_verify_retries: 0\nverification:\n  commands:\n    - cat summary.txt; seq 100000\n{more}"
    );
    let project = Project::with_stories(&[story("A")])
        .config(&config)
        .script(&script);
    project.repo.file("summary.txt", format!("{before}\n"));
    project.repo.commit("summary");
    project
}

fn record(project: &Project) -> Value {
    serde_json::from_str(&project.repo.read(".ralph/logs/iteration-1.json")).unwrap()
}

/// The flags of the record that are about what a command ran.
fn flags(project: &Project) -> Vec<String> {
    let record = record(project);
    let flags = record["flags"].as_array().unwrap().iter();
    let flags = flags.map(|flag| flag.as_str().unwrap().to_owned());
    flags.filter(|flag| flag.starts_with('`')).collect()
}

fn tail(ran: &Ran) -> String {
    let ended = ran.one("iteration_ended");
    ended["tail"].as_str().unwrap().to_owned()
}

#[test]
fn fewer_tests_than_at_the_base_are_flagged_in_record_and_commit() {
    for runner in [CARGO, PYTEST, JEST, GO] {
        for mode in ["overlay", "in_place"] {
            let project = project(runner[0], runner[1], "").env("RALPH_WORKSPACE_MODE", mode);
            let ran = project.run(&[]).expect(0);
            let flag = "`cat summary.txt; seq 100000` has 2 tests, 3 before";
            assert_eq!(flags(&project), [flag], "{runner:?}");
            let body = project.repo.git(["log", "-1", "--format=%b"]);
            assert!(body.contains(&format!("Flagged:\n- {flag}\n")), "{body}");
            assert!(ran.all().contains("has 2 tests"), "it is said");
            assert_eq!(record(&project)["verification"][0]["tests"]["passed"], 2);
        }
    }
}

#[test]
fn no_test_where_there_were_some_fails() {
    for runner in [CARGO, PYTEST, JEST, GO] {
        let project = project(runner[0], runner[2], "");
        let ran = project.run(&["--once"]).expect(3);
        assert_eq!(ran.verdicts(), ["A failed"], "{runner:?}");
        assert!(
            tail(&ran).contains("ran no test, 3 before"),
            "{}",
            tail(&ran)
        );
        assert_eq!(record(&project)["verification"][0]["passed"], false);
        assert!(project.landed().is_empty());
    }
    // A runner that is gone has run none.
    let project = project(CARGO[0], "all is well", "");
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
}

#[test]
fn as_many_tests_or_more_or_an_unknown_runner_are_nothing_to_tell() {
    for (before, after) in [
        (CARGO[0], CARGO[0]),
        (CARGO[1], CARGO[0]),
        (CARGO[2], CARGO[0]),
        (CARGO[2], CARGO[2]),
        (UNKNOWN[0], UNKNOWN[1]),
        (UNKNOWN[0], UNKNOWN[2]),
        (UNKNOWN[0], PYTEST[1]),
    ] {
        let project = project(before, after, "");
        project.run(&[]).expect(0);
        assert_eq!(flags(&project), [""; 0], "{before} {after}");
        let body = project.repo.git(["log", "-1", "--format=%b"]);
        assert!(!body.contains("Flagged"), "{body}");
    }
}

#[test]
fn without_a_baseline_there_is_nothing_to_compare_with() {
    let project = project(CARGO[0], CARGO[2], "  baseline: false\n");
    project.run(&[]).expect(0);
    assert_eq!(flags(&project), [""; 0]);
}

#[test]
fn what_landed_is_what_the_next_change_is_compared_with() {
    let attempt = |summary: &str| {
        json!({"do": [
            {"write": {"path": "{id}.txt", "text": "x\n"}},
            {"write": {"path": "summary.txt", "text": format!("{summary}\n")}},
            {"say": "Task {id} complete"},
        ]})
    };
    let script = json!({
        "A": [attempt(CARGO[1])],
        "B": [attempt(CARGO[1])],
        "C": [attempt(CARGO[0])],
        "D": [attempt(CARGO[1])],
    });
    let stories: Vec<Value> = ["A", "B", "C", "D"].map(story).to_vec();
    let project = Project::with_stories(&stories)
        .config("verification:\n  commands:\n    - cat summary.txt\n")
        .script(&json!({"tasks": script}));
    project.repo.file("summary.txt", format!("{}\n", CARGO[0]));
    project.repo.commit("summary");
    project.run(&[]).expect(0);
    let bodies = project.repo.git(["log", "--format=%s%n%b"]);
    let flagged: Vec<&str> = bodies
        .lines()
        .filter(|line| line.contains("before") || line.starts_with("feat"))
        .collect();
    let flag = "- `cat summary.txt` has 2 tests, 3 before";
    assert_eq!(
        flagged,
        [
            "feat: Write D",
            flag,
            "feat: Write C",
            "feat: Write B",
            "feat: Write A",
            flag
        ]
    );
}

/// A task that deletes a test and empties the target that runs the tests.
fn gaming(protect: &str) -> Project {
    let script = json!({"default": [{"do": [
        {"run": "rm tests/b_test.py; printf 'test:\\n\\ttrue\\n' > Makefile; echo x > A.txt"},
        {"say": "Task A complete"},
    ]}]});
    let config = format!(
        "loop:\n  max_attempts: 1\nsafety:\n  protect_tests: {protect}\nverification:\n  commands:\n    - make test\n"
    );
    let project = Project::with_stories(&[story("A")])
        .config(&config)
        .script(&script);
    for (path, text) in [
        ("tests/a_test.py", "def test_a(): pass\n"),
        ("tests/b_test.py", "def test_b(): pass\n"),
        ("Makefile", "test:\n\tls tests\n"),
    ] {
        project.repo.file(path, text);
    }
    project.repo.commit("tests");
    project
}

#[test]
fn a_change_of_what_verification_stands_on_is_flagged_blocked_or_left_alone_as_configured() {
    let both = [
        "Makefile decides what verification runs and was changed",
        "tests/b_test.py is a test and was deleted",
    ];
    for mode in ["overlay", "in_place"] {
        let flag = gaming("flag").env("RALPH_WORKSPACE_MODE", mode);
        let ran = flag.run(&[]).expect(0);
        let mut said = ran.flags();
        said.sort();
        assert_eq!(said, both, "{mode}");
        let body = flag.repo.git(["log", "-1", "--format=%b"]);
        for what in both {
            assert!(body.contains(&format!("- {what}\n")), "{body}");
        }
        let report = flag.ralph(&["report", "--json"]).output().unwrap();
        let report = String::from_utf8(report.stdout).unwrap();
        assert!(
            report.contains(both[0]) && report.contains(both[1]),
            "{report}"
        );

        let block = gaming("block").env("RALPH_WORKSPACE_MODE", mode);
        let ran = block.run(&[]).expect(4);
        assert_eq!(ran.verdicts(), ["A refused"], "{mode}");
        let refusal = ran.one("inspected")["refusal"].as_str().unwrap().to_owned();
        assert!(both.iter().all(|what| refusal.contains(what)), "{refusal}");
        assert!(block.landed().is_empty());
        assert!(block.repo.exists("tests/b_test.py"));

        let off = gaming("off").env("RALPH_WORKSPACE_MODE", mode);
        assert_eq!(off.run(&[]).expect(0).flags(), [""; 0], "{mode}");
        let body = off.repo.git(["log", "-1", "--format=%b"]);
        assert!(!body.contains("Flagged"), "{body}");
    }
}

#[test]
fn fewer_tests_are_a_failure_where_tests_are_blocked_and_nothing_where_that_is_off() {
    let block = project(CARGO[0], CARGO[1], "safety:\n  protect_tests: block\n");
    let ran = block.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
    assert!(
        tail(&ran).contains("has 2 tests, 3 before"),
        "{}",
        tail(&ran)
    );
    let off = project(CARGO[0], CARGO[2], "safety:\n  protect_tests: off\n");
    off.run(&[]).expect(0);
    assert_eq!(flags(&off), [""; 0]);
}

/// A project whose verify command prints nothing, and writes a report with as many cases as `cases` has lines.
fn reporting(line: &str, cases: &str, after: &str, mode: &str) -> Project {
    let script = json!({"default": [{"do": [
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"run": after},
        {"say": "Task A complete"},
    ]}]});
    let config = format!(
        "loop:\n  max_verify_retries: 0\nverification:\n  commands:\n    - {}\n    - test -d .\n",
        json!(line)
    );
    let project = Project::with_stories(&[story("A")])
        .config(&config)
        .script(&script)
        .env("RALPH_WORKSPACE_MODE", mode);
    let report = "mkdir -p $(dirname $1)\n{ echo '<?xml version=\"1.0\"?>'\necho '<testsuite name=\"a\">'\n\
                  while read name; do echo \"<testcase name=\\\"$name\\\"/>\"; done < cases\necho '</testsuite>'; } > $1\n";
    project
        .repo
        .file(
            ".gitignore",
            ".ralph/\nbuild/\ntarget/\n/junit.xml\n/out/\n",
        )
        .file("report.sh", report)
        .file("cases", cases)
        .commit("tests");
    project
}

const REPORTS: [&str; 5] = [
    "sh report.sh target/surefire-reports/TEST-a.xml",
    "sh report.sh build/test-results/test/TEST-a.xml",
    "sh report.sh junit.xml",
    "sh report.sh out/result",
    "sh report.sh made/by/tests.xml",
];

#[test]
fn tests_are_counted_by_the_report_files_that_a_command_writes() {
    for (at, line) in REPORTS.into_iter().enumerate() {
        let mode = ["overlay", "in_place"][at % 2];
        let fewer = reporting(line, "a\nb\nc\n", "printf 'a\\nb\\n' > cases", mode);
        fewer.run(&[]).expect(0);
        let flag = format!("`{line}` has 2 tests, 3 before");
        assert_eq!(flags(&fewer), [flag.as_str()], "{mode}");
        let record = record(&fewer);
        assert_eq!(record["verification"][0]["tests"]["passed"], 2);
        assert!(record["verification"][1]["tests"].is_null(), "{record}");
        let none = reporting(line, "a\nb\nc\n", ": > cases", mode);
        let ran = none.run(&["--once"]).expect(3);
        assert!(
            tail(&ran).contains("ran no test, 3 before"),
            "{mode}: {}",
            tail(&ran)
        );
    }
}

#[test]
fn a_report_that_was_there_before_counts_nothing() {
    let old =
        "<testsuite><testcase name=\"a\"/><testcase name=\"b\"/><testcase name=\"c\"/></testsuite>";
    for mode in ["overlay", "in_place"] {
        // The tests are gone, and old reports lie about: one that git ignores, one that the agent made, one that is
        // part of the change.
        let write = format!(
            "echo true > report.sh; mkdir -p build out; echo '{old}' | tee build/old.xml report.xml > out/junit.xml"
        );
        let project = reporting("sh report.sh junit.xml", "a\nb\nc\n", &write, mode);
        project
            .repo
            .file("target/surefire-reports/TEST-old.xml", old);
        project.repo.file("junit.xml", old);
        let ran = project.run(&["--once"]).expect(3);
        assert!(
            tail(&ran).contains("ran no test, 3 before"),
            "{mode}: {}",
            tail(&ran)
        );
        assert!(project.landed().is_empty());
    }
}

#[test]
fn a_report_file_is_not_counted_beside_what_the_runner_prints() {
    for mode in ["overlay", "in_place"] {
        let line = format!("sh report.sh junit.xml && echo '{}'", CARGO[0]);
        let project = reporting(&line, "a\n", "echo b >> cases", mode);
        project.run(&[]).expect(0);
        let record = record(&project);
        assert_eq!(record["verification"][0]["tests"]["passed"], 3, "{mode}");
        assert!(record["verification"][1]["tests"].is_null(), "{mode}");
    }
}

#[test]
fn a_loop_that_goes_on_after_a_kill_compares_with_what_landed_last() {
    let attempt = |summary: &str| {
        json!({"do": [
            {"write": {"path": "{id}.txt", "text": "x\n"}},
            {"write": {"path": "summary.txt", "text": format!("{summary}\n")}},
            {"say": "Task {id} complete"},
        ]})
    };
    let four = CARGO[0].replace("3 passed", "4 passed");
    for mode in ["overlay", "in_place"] {
        // Killed right after the commit, before anything else is written, and when all is.
        for point in ["landed", "files-written"] {
            let script = json!({"A": [attempt(&four)], "B": [attempt(CARGO[0])]});
            let project = Project::with_stories(&[story("A"), story("B")])
                .config("verification:\n  commands:\n    - cat summary.txt\n")
                .script(&json!({"tasks": script}))
                .env("RALPH_WORKSPACE_MODE", mode);
            project.repo.file("summary.txt", format!("{}\n", CARGO[1]));
            project.repo.commit("summary");
            project.run_with("RALPH_FAILPOINT", point);
            assert_eq!(project.landed(), ["A"], "{mode}, {point}");
            project.run(&[]).expect(0);
            let body = project.repo.git(["log", "-1", "--format=%s%n%b"]);
            assert!(body.starts_with("feat: Write B"), "{mode}, {point}: {body}");
            let flag = "- `cat summary.txt` has 3 tests, 4 before";
            assert!(body.contains(flag), "{mode}, {point}: {body}");
        }
    }
}

/// Tasks that are verified by a command of their own, which prints a file that their agents write.
fn with_own_command(summaries: &[(&str, &str)], more: &str) -> Project {
    let attempt = |summary: &str| {
        json!([{"do": [
            {"write": {"path": "{id}.txt", "text": "x\n"}},
            {"write": {"path": "summary.txt", "text": format!("{summary}\n")}},
            {"say": "Task {id} complete"},
        ]}])
    };
    let stories: Vec<Value> = summaries
        .iter()
        .map(|(id, _)| {
            let mut own = story(id);
            own["verify"] = json!(["cat summary.txt"]);
            own
        })
        .collect();
    let script: serde_json::Map<String, Value> = summaries
        .iter()
        .map(|(id, summary)| ((*id).to_owned(), attempt(summary)))
        .collect();
    Project::with_stories(&stories)
        .config(&format!(
            "loop:\n  max_verify_retries: 0\n  max_attempts: 1\n{more}"
        ))
        .script(&json!({"tasks": script}))
}

#[test]
fn tests_of_a_tasks_own_command_are_compared_with_what_landed_last() {
    let project = with_own_command(&[("A", CARGO[0]), ("B", CARGO[1]), ("C", CARGO[2])], "");
    let ran = project.run(&[]);
    assert_eq!(
        ran.verdicts(),
        ["A verified", "B verified", "C failed"],
        "{}",
        ran.all()
    );
    let body = project.repo.git(["log", "-1", "--format=%s%n%b"]);
    assert!(body.starts_with("feat: Write B"), "{body}");
    let flag = "- `cat summary.txt` has 2 tests, 3 before";
    assert!(body.contains(flag), "{body}");
    let last = project.repo.read(".ralph/logs/iteration-3.json");
    assert!(last.contains("ran no test, 2 before"), "{last}");
}

#[test]
fn a_tasks_own_command_that_runs_no_test_is_flagged_though_there_is_nothing_to_compare_with() {
    let project = with_own_command(&[("A", CARGO[2])], "");
    project.run(&[]).expect(0);
    assert_eq!(flags(&project), ["`cat summary.txt` ran no test"]);
    let project = with_own_command(&[("A", CARGO[2])], "safety:\n  protect_tests: off\n");
    project.run(&[]).expect(0);
    assert_eq!(flags(&project), [""; 0]);
}

#[test]
fn a_loop_that_goes_on_after_a_kill_knows_the_tests_of_a_tasks_own_command() {
    let project = with_own_command(&[("A", CARGO[0]), ("B", CARGO[1])], "");
    project.run_with("RALPH_FAILPOINT", "files-written");
    assert_eq!(project.landed(), ["A"]);
    project.run(&[]).expect(0);
    let body = project.repo.git(["log", "-1", "--format=%s%n%b"]);
    let flag = "- `cat summary.txt` has 2 tests, 3 before";
    assert!(body.contains(flag), "{body}");
}
