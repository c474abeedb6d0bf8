//! What a change may not contain, ids that may not be, and output that a terminal must not obey.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Project, good_script, story};

fn with_work(actions: Value) -> Value {
    let mut all = vec![json!({"write": {"path": "A.txt", "text": "x\n"}})];
    all.extend(actions.as_array().unwrap().iter().cloned());
    all.push(json!({"say": "Task A complete"}));
    json!({"default": [{"do": all}]})
}

/// Every file of a folder, with its bytes.
fn all_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(all_files(&path));
        } else if path.is_file() {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found
}

#[test]
fn a_secret_in_the_change_is_refused_and_its_value_is_written_nowhere() {
    // Put together by the agent, so that neither this file nor the script holds it whole.
    let half = "ghp_R4lphR4lphR4lph";
    let other = "R4lphR4lphR4lphR4l7Xy";
    let secret = format!("{half}{other}");
    let write = format!("printf 'token = \"%s%s\"\\n' {half} {other} > settings.toml");
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_attempts: 1\n")
        .script(&with_work(json!([{"run": write}])));
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A refused"]);
    assert!(
        ran.one("inspected")["refusal"]
            .as_str()
            .unwrap()
            .contains("settings.toml")
    );
    assert!(project.landed().is_empty());
    assert!(!ran.all().contains(&secret), "{}", ran.all());
    let written = all_files(&project.repo.path(".ralph"))
        .into_iter()
        .chain(all_files(&project.repo.data_dir()));
    for (path, bytes) in written {
        let holds = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!holds, "the secret is in {path}");
    }
    // The attempt itself is kept, under a ref that no push of branches takes along.
    let branches = project.repo.git(["log", "-p", "--branches", "--tags"]);
    assert!(!branches.contains(&secret));
}

#[test]
fn a_file_too_large_is_refused_by_name() {
    let big = "head -c 3000000 /dev/zero > big.bin";
    let project = Project::with_stories(&[story("A")])
        .config("safety:\n  max_file_mb: 2\nloop:\n  max_attempts: 1\n")
        .script(&with_work(json!([{"run": big}])));
    let ran = project.run(&[]).expect(4);
    assert!(
        ran.one("inspected")["refusal"]
            .as_str()
            .unwrap()
            .contains("big.bin")
    );
    assert!(project.landed().is_empty());
    assert!(!project.repo.exists("big.bin"));
}

#[test]
fn a_nested_repository_is_refused_by_name() {
    let nested = "git init -q nested; cd nested; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x";
    for (make, name) in [(nested, "nested"), ("git init -q empty", "empty")] {
        let project = Project::with_stories(&[story("A")])
            .config("loop:\n  max_attempts: 1\n")
            .script(&with_work(json!([{"run": make}])));
        let ran = project.run(&[]).expect(4);
        let refusal = ran.one("inspected")["refusal"].clone();
        assert!(
            refusal.as_str().is_some_and(|r| r.contains(name)),
            "{name}: {}",
            ran.all()
        );
        assert!(project.landed().is_empty());
        assert!(!project.repo.exists(name), "{name} is taken away");
    }
}

#[test]
fn a_link_out_of_the_tree_is_refused_by_name() {
    for link in [
        "ln -s /etc/passwd leak",
        "ln -s ../../outside leak",
        "mkdir -p d; ln -s ../../x d/leak",
    ] {
        let project = Project::with_stories(&[story("A")])
            .config("loop:\n  max_attempts: 1\n")
            .script(&with_work(json!([{"run": link}])));
        let ran = project.run(&[]).expect(4);
        assert!(
            ran.one("inspected")["refusal"]
                .as_str()
                .unwrap()
                .contains("leak"),
            "{link}"
        );
        assert!(project.landed().is_empty());
    }
}

#[test]
fn a_link_within_the_tree_lands() {
    let project = Project::with_stories(&[story("A")]).script(&with_work(
        json!([{"run": "mkdir d; ln -s ../A.txt d/link"}]),
    ));
    project.run(&[]).expect(0);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "d/link", "prd.json"]);
}

#[test]
fn a_protected_path_may_not_be_touched() {
    let project = Project::with_stories(&[story("A")])
        .config("safety:\n  protected_paths: [\"tests/**\"]\nloop:\n  max_attempts: 1\n")
        .script(&with_work(json!([{"delete": "tests/it.sh"}])));
    project.repo.file("tests/it.sh", "exit 1\n").commit("tests");
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A refused"]);
    assert!(
        ran.one("inspected")["refusal"]
            .as_str()
            .unwrap()
            .contains("tests/it.sh")
    );
    assert!(
        project.repo.exists("tests/it.sh"),
        "the next attempt starts from the base"
    );
}

#[test]
fn ids_that_could_be_taken_for_paths_or_options_are_refused_at_the_edge() {
    let long = "x".repeat(10_000);
    let ids = [
        "../../x",
        "a/../b",
        "/etc/x",
        "--upload-pack=x",
        "a/b",
        ".",
        "..",
        "a\nb",
        "a\u{0}b",
        "-x",
        long.as_str(),
        "",
        "a\u{1b}[2Jb",
    ];
    for id in ids {
        let project = Project::new().script(&good_script());
        let mut bad = story("A");
        bad["id"] = json!(id);
        project
            .repo
            .prd(&crate::support::prd(&[story("B"), bad]))
            .commit("tasks");
        let before = (project.repo.head(), project.repo.read("prd.json"));
        let ran = project.run(&[]);
        assert_eq!(ran.code(), 2, "{id:?}: {}", ran.all());
        assert!(ran.events().is_empty(), "{id:?}");
        assert!(
            ran.stderr().contains("prd.json"),
            "{id:?}: {}",
            ran.stderr()
        );
        assert!(!ran.stderr().contains('\u{1b}'), "{id:?}: {}", ran.stderr());
        assert!(ran.stderr().len() < 2_000, "{id:?} is not printed whole");
        assert_eq!(
            (project.repo.head(), project.repo.read("prd.json")),
            before,
            "{id:?}"
        );
        assert_eq!(project.repo.branch(), "refs/heads/main", "{id:?}");
        assert_eq!(project.repo.status(), [""; 0], "{id:?}");
    }
}

#[test]
fn terminal_escapes_of_an_agent_are_shown_and_not_obeyed() {
    let words = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31mred\u{202e} Task";
    let script = json!({"default": [{"do": [
        {"write": {"path": "A.txt", "text": "x"}},
        {"say": words},
        {"say": "Task A complete"},
    ]}]});
    let mut task = story("A");
    task["title"] = json!("a \u{1b}[31mred title");
    for args in [&[][..], &["-v"][..], &["-vv"][..], &["-q"][..]] {
        let project = Project::with_stories(&[task.clone()]).script(&script);
        let ran = project.run_for_people(args).expect(0);
        let all = String::from_utf8(ran.stdout.clone()).unwrap() + &ran.stderr();
        for c in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
            assert!(!all.contains(c), "{args:?}: {c:?} in {all:?}");
        }
    }
}

#[test]
fn terminal_escapes_in_names_of_files_are_shown_and_not_obeyed() {
    let script = with_work(json!([{"run": "printf x > \"$(printf 'a\\033[2Jb')\""}]));
    let project = Project::with_stories(&[story("A")]).script(&script);
    let ran = project.run_for_people(&["-vv"]).expect(0);
    assert!(!ran.all().contains('\u{1b}'), "{:?}", ran.all());
    assert_eq!(project.landed(), ["A"]);
}
