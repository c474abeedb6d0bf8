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

/// A project that a command verifies, and an agent that works and does one more thing.
fn verified_by(mode: &str, command: &str, files: &[(&str, &str)], shell: &str) -> Project {
    let project = patient(Project::with_stories(&[story("A")]), mode)
        .script(&json!({"default": [deed(&format!("work; {shell}"))]}))
        .config(&format!(
            "verification:\n  commands: {}\n",
            json!([command])
        ));
    for (path, text) in files {
        project.repo.script(path, text);
    }
    project
        .repo
        .file(".gitignore", "__pycache__/\n")
        .commit("files");
    project
}

const TESTS: &str = "import unittest\n\n\nclass It(unittest.TestCase):\n    def test_1(self):\n        pass\n\n    def test_2(self):\n        pass\n\n    def test_3(self):\n        pass\n";

fn g11_a_forged_summary_is_flagged(mode: &str) {
    // Two tests go, and what is left says that three more ran.
    let cut = "sed -i 's/def test_[23]/def old/' test_it.py";
    for shell in [
        "printf '%s\\n' 'print(\"Ran 3 tests in 0.001s\\n\\nOK\")' >> test_it.py",
        "echo 'print(\"test result: ok. 500 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\")' > helper.py; echo 'import helper' >> test_it.py",
        "printf '%s\\n' 'import os' 'os.write(2, b\"=== 9 passed in 0.1s ===\")' >> test_it.py",
    ] {
        let how = format!("{mode}, {shell}");
        let files = [("test_it.py", TESTS)];
        let command = "python3 -B -m unittest";
        let project = verified_by(mode, command, &files, &format!("{cut}; {shell}"));
        let ran = project.run(&[]).expect(0);
        assert_flagged(&ran, &["holds what a test runner prints"], &how);
        assert_flagged(&ran, &["test_it.py", "has lost the test"], &how);
        let body = project.repo.git(["log", "-1", "--format=%b"]);
        assert!(
            body.contains("holds what a test runner prints"),
            "{how}: {body}"
        );
    }
}
modes!(g11_a_forged_summary_is_flagged);

fn g11_a_wrapper_that_swallows_the_exit_code_is_flagged(mode: &str) {
    let make = ("Makefile", "test:\n\t./check\n");
    let check = (
        "check",
        "#!/bin/sh\n[ -f ./local.sh ] && . ./local.sh\ntest ! -e broken\n",
    );
    let package = ("package.json", "{\"scripts\": {\"test\": \"./check\"}}\n");
    for (command, files, shell, path) in [
        (
            "make test",
            [make, check],
            "printf 'test:\\n\\t./check || true\\n' > Makefile",
            "Makefile",
        ),
        (
            "make test",
            [make, check],
            "printf 'test:\\n\\ttrue\\n' > GNUmakefile",
            "GNUmakefile",
        ),
        ("make test", [make, check], "echo done > test", "test"),
        (
            "make test",
            [make, check],
            "mkdir test; echo x > test/notes.md",
            "test/notes.md",
        ),
        (
            "make test",
            [make, check],
            "echo 'exit 0' > local.sh",
            "local.sh",
        ),
        (
            "npm test",
            [package, check],
            "sed -i 's/check\"/check || exit 0\"/' package.json",
            "package.json",
        ),
        (
            "npm test",
            [package, check],
            "echo 'script-shell=/bin/true' > .npmrc",
            ".npmrc",
        ),
        (
            "./check",
            [check, make],
            "printf '#!/bin/sh\\nexit 0\\n' > check",
            "check",
        ),
    ] {
        let how = format!("{mode}, {command}, {shell}");
        let project = verified_by(mode, command, &files, &format!("touch broken; {shell}"));
        let ran = project.run(&[]);
        assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
        assert_flagged(&ran, &[&format!("{path} "), "decides"], &how);
        // Where that is asked for, none of it lands.
        let project = verified_by(mode, command, &files, &format!("touch broken; {shell}"))
            .env("RALPH_SAFETY_PROTECT_TESTS", "block");
        project.run(&["--once"]);
        assert!(project.landed().is_empty(), "{how}");
    }
}
modes!(g11_a_wrapper_that_swallows_the_exit_code_is_flagged);

fn g11_a_module_that_takes_the_runners_place_is_flagged(mode: &str) {
    for shell in [
        "echo 'print(\"ok\")' > checker.py",
        "mkdir checker; touch checker/__init__.py; echo 'print(\"ok\")' > checker/__main__.py",
    ] {
        let project = verified_by(
            mode,
            "python3 -B -m checker || test ! -e broken",
            &[],
            &format!("touch broken; {shell}"),
        );
        let ran = project.run(&[]).expect(0);
        assert_flagged(&ran, &["checker", "decides"], &format!("{mode}, {shell}"));
    }
}
modes!(g11_a_module_that_takes_the_runners_place_is_flagged);

fn g11_a_test_that_becomes_a_link_is_a_deleted_test(mode: &str) {
    let files = [("tests/test_it.py", TESTS), ("empty.py", "")];
    let project = verified_by(mode, "true", &files, "ln -sf ../empty.py tests/test_it.py");
    let ran = project.run(&[]).expect(0);
    assert_flagged(&ran, &["tests/test_it.py", "deleted"], mode);
}
modes!(g11_a_test_that_becomes_a_link_is_a_deleted_test);
