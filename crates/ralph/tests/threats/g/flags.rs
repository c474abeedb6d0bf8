//! Class 11: a change to what a verify command reads to decide is flagged, whatever its name.

use serde_json::json;

use crate::scene::{assert_flagged, deed, patient, said_by};
use crate::support::{Project, story, write_program};

/// Runners that are not installed here: each is a program outside of the repository that passes.
const RUNNERS: [&str; 12] = [
    "pytest", "tox", "vitest", "jest", "cargo", "go", "just", "rspec", "phpunit", "mocha",
    "gradle", "task",
];

/// Verify commands, and for each the files that decide what it does.
const DECIDING: [(&str, &[&str]); 16] = [
    (
        "pytest -q",
        &[
            "conftest.py",
            "pytest.ini",
            "tests/conftest.py",
            "pyproject.toml",
        ],
    ),
    ("tox", &["tox.ini"]),
    ("vitest run", &["vitest.config.ts"]),
    ("jest", &["jest.config.js"]),
    ("cargo test", &[".cargo/config.toml", "build.rs"]),
    ("go test ./...", &["go.mod"]),
    ("just check", &["justfile"]),
    ("rspec", &[".rspec", "spec/spec_helper.rb"]),
    ("phpunit", &["phpunit.xml"]),
    ("mocha", &[".mocharc.json"]),
    (
        "bash -c 'tools/outer.sh'",
        &["tools/outer.sh", "tools/inner.sh"],
    ),
    ("env X=1 sh ./ci/run", &["ci/run"]),
    ("python3 checks/all.py", &["checks/all.py"]),
    ("cd deep && sh here.sh", &["deep/here.sh"]),
    ("make -f build/rules.mk check", &["build/rules.mk"]),
    ("sh a.sh && sh b.sh || sh c.sh", &["a.sh", "b.sh", "c.sh"]),
];

/// Files that decide nothing.
const OTHERS: [&str; 5] = [
    "src/lib.rs",
    "docs/tools.md",
    "data/outer.sh.txt",
    "notes.txt",
    "lib/helper.py",
];

fn g11_what_decides_is_flagged_and_nothing_else(mode: &str) {
    let files: Vec<&str> = DECIDING
        .iter()
        .flat_map(|(_, files)| *files)
        .copied()
        .collect();
    let change: String = files
        .iter()
        .chain(&OTHERS)
        .map(|path| format!("printf '\\naddopts=\"x\"\\n' >> {path}; "))
        .collect();
    let project = patient(Project::with_stories(&[story("A")]), mode)
        .script(&json!({"default": [deed(&format!("work; {change}"))]}));
    let bin = project.outside("bin");
    std::fs::create_dir(&bin).unwrap();
    for runner in RUNNERS {
        write_program(&bin.join(runner), "exit 0");
    }
    for path in files.iter().chain(&OTHERS) {
        let text = match *path {
            "tools/outer.sh" => "#!/bin/sh\nsh tools/inner.sh\n",
            "build/rules.mk" => "check:\n\ttrue\n",
            "pyproject.toml" => "[tool.pytest.ini_options]\n",
            _ => "\n",
        };
        project.repo.script(path, text);
    }
    let commands: Vec<&str> = DECIDING.iter().map(|(command, _)| *command).collect();
    let config = format!("verification:\n  commands: {}\n", json!(commands));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let project = project.config(&config).env("PATH", path);
    let ran = project.run(&[]).expect(0);
    let flags = ran.flags();
    let missing: Vec<&&str> = files
        .iter()
        .filter(|path| {
            !flags
                .iter()
                .any(|flag| flag.starts_with(&format!("{path} ")))
        })
        .collect();
    assert!(
        missing.is_empty(),
        "{mode}: not flagged: {missing:?} in {flags:?}"
    );
    for path in OTHERS {
        let is_flagged = flags
            .iter()
            .any(|flag| flag.starts_with(&format!("{path} ")));
        assert!(!is_flagged, "{mode}: {path}: {flags:?}");
    }
}
modes!(g11_what_decides_is_flagged_and_nothing_else);

fn g11_a_flag_is_in_the_record_the_report_and_the_commit(mode: &str) {
    let project = patient(Project::with_stories(&[story("A")]), mode)
        .script(&json!({"default": [deed("work; echo true > check.sh")]}))
        .config("verification:\n  commands:\n    - sh check.sh\n");
    project.repo.file("check.sh", "exit 0\n").commit("check");
    let ran = project.run(&[]).expect(0);
    assert_flagged(&ran, &["check.sh"], mode);
    let record = project.repo.read(".ralph/logs/iteration-1.json");
    assert!(record.contains("check.sh decides"), "{record}");
    let report = said_by(&project, &["report"]);
    assert!(report.contains("check.sh"), "{report}");
    let body = project.repo.git(["log", "-1", "--format=%b"]);
    assert!(body.contains("check.sh"), "{body}");
}
modes!(g11_a_flag_is_in_the_record_the_report_and_the_commit);
