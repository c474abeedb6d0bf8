//! A commit that is verified outside of an iteration: by hand with `ralph verify`, or at the end of a loop in a
//! fresh clone.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Live, Project, Ran, good_attempt, good_script, story, wait_until};

const MODES: [&str; 2] = ["overlay", "in_place"];

fn project(config: &str) -> Project {
    let project = Project::with_stories(&[story("A")])
        .script(&good_script())
        .config(config);
    project
        .repo
        .file(".gitignore", "node_modules/\nlocal.txt\n.ralph/\n")
        .file("src.txt", "good\n")
        .commit("sources");
    project
}

fn verify(project: &Project, args: &[&str]) -> Ran {
    let args: Vec<&str> = ["verify"].iter().chain(args).copied().collect();
    Live::start(project.ralph(&args)).wait()
}

fn as_json(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.all()))
}

fn clean_checked(ran: &Ran) -> (String, String) {
    let event = ran.one("clean_checked");
    let text = |name: &str| event[name].as_str().unwrap().to_owned();
    (text("outcome"), text("message"))
}

/// A loop whose clean check is not turned off, as the rest of the tests have it.
fn checked(project: Project, when: &str, mode: &str) -> Project {
    project
        .env("RALPH_VERIFICATION_CLEAN_CHECK", when)
        .env("RALPH_WORKSPACE_MODE", mode)
}

fn report(project: &Project, args: &[&str]) -> String {
    let args: Vec<&str> = ["report"].iter().chain(args).copied().collect();
    Live::start(project.ralph(&args)).wait().expect(0).all()
}

/// The clean check that `ralph report` shows, after it was looked for in the text and the page.
fn reported(project: &Project) -> Value {
    let output = project.ralph(&["report", "--json"]).output().unwrap();
    let facts: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = facts["loops"][0]["cleanCheck"].clone();
    let sentence = found["sentence"].as_str().unwrap();
    let text = report(project, &[]);
    assert!(
        text.contains(&format!("The last commit: {sentence}.")),
        "{text}"
    );
    let markdown = report(project, &["--format", "markdown"]);
    assert!(markdown.contains("The last commit: "), "{markdown}");
    let page = report(project, &["--format", "html"]);
    assert!(
        page.contains("<p class=\"ended\">The last commit: "),
        "{page}"
    );
    found
}

const GREP: &str = "verification:\n  commands:\n    - grep -q good src.txt && echo x > src.txt && echo made > left.txt\n    - [test, -d, .]\n";

#[test]
fn a_commit_is_verified_by_hand_and_nothing_is_changed() {
    for mode in MODES {
        let project = project(GREP).env("RALPH_WORKSPACE_MODE", mode);
        project.repo.file("src.txt", "bad\n").commit("bad");
        project.repo.file("src.txt", "of a person\n");
        let before = project.repo.git(["status", "--porcelain"]);
        let head = project.repo.git(["rev-parse", "HEAD"]);
        let ran = verify(&project, &["--json"]).expect(4);
        let report = as_json(&ran);
        assert_eq!(report["commit"], head.as_str(), "{mode}");
        assert_eq!(report["passed"], false);
        assert_eq!(report["commands"][0]["outcome"], "failed with exit code 1");
        assert_eq!(report["commands"][1]["passed"], true);
        let place = if mode == "overlay" { "layer" } else { "clone" };
        assert_eq!(report["place"], place);
        let ran = verify(&project, &["HEAD~1"]).expect(0);
        assert!(ran.all().contains("passes in a"), "{}", ran.all());
        let ran = verify(&project, &["main~1", "--clean"]).expect(0);
        assert!(
            ran.all().contains("passes in a clean clone"),
            "{}",
            ran.all()
        );
        assert_eq!(
            project.repo.git(["status", "--porcelain"]),
            before,
            "{mode}"
        );
        assert_eq!(project.repo.read("src.txt"), "of a person\n");
        assert!(!project.repo.exists("left.txt"));
    }
}

#[test]
fn a_commit_that_is_not_there_and_nothing_to_verify_with_are_refused_by_name() {
    let project = project(GREP);
    let ran = verify(&project, &["nonsense"]).expect(2);
    assert!(
        ran.all().contains("there is no commit nonsense"),
        "{}",
        ran.all()
    );
    let ran = verify(&project, &["--", "--upload-pack=x"]).expect(2);
    assert!(ran.all().contains("there is no commit"), "{}", ran.all());
    let project = self::project("verification:\n  prepare:\n    - touch x\n");
    let ran = verify(&project, &[]).expect(2);
    assert!(
        ran.all().contains("no verify command is configured"),
        "{}",
        ran.all()
    );
}

#[test]
fn a_person_verifies_while_a_loop_works() {
    let hang = json!({"do": [
        {"run": "echo x > A.txt; touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done"},
        {"say": "Task A complete"},
    ]});
    for mode in MODES {
        let project = project("verification:\n  commands:\n    - grep -q good src.txt\n")
            .script(&json!({"default": [hang.clone()]}))
            .env("RALPH_WORKSPACE_MODE", mode);
        let live = project.start(&[]);
        wait_until("the agent has begun", || {
            project.repo.home().join("begun").exists()
        });
        verify(&project, &[]).expect(0);
        verify(&project, &["--clean"]).expect(0);
        std::fs::write(project.repo.home().join("go"), "").unwrap();
        live.wait().expect(0);
        assert_eq!(project.landed(), ["A"], "{mode}");
    }
}

#[test]
fn a_commit_that_passes_only_beside_ignored_files_ends_the_loop_for_a_person_to_look_at() {
    for mode in MODES {
        let config = "verification:\n  commands:\n    - test -f local.txt\n";
        let project = checked(project(config), "end", mode);
        project.repo.file("local.txt", "mine\n");
        let ran = project.run(&[]).expect(4);
        assert_eq!(project.landed(), ["A"], "{mode}");
        let (outcome, message) = clean_checked(&ran);
        assert_eq!(outcome, "failed", "{mode}");
        assert!(
            message.contains("fails `test -f local.txt` in a clean clone"),
            "{message}"
        );
        let stop = ran.stop();
        assert_eq!(stop["why"], "halted");
        let reason = stop["reason"].as_str().unwrap();
        assert!(reason.contains("all tasks are complete, but"), "{reason}");
        let found = reported(&project);
        assert_eq!(found["outcome"], "failed", "{mode}");
        assert_eq!(found["command"], "test -f local.txt");
        assert_eq!(found["commit"], project.repo.git(["rev-parse", "HEAD"]));
    }
}

#[test]
fn the_end_says_that_the_last_commit_passes_in_a_clean_clone() {
    for mode in MODES {
        let config = "verification:\n  prepare:\n    - mkdir -p node_modules && echo run >> \"$HOME/prepared\"\n  commands:\n    - test -d node_modules && test ! -e local.txt\n";
        let project = checked(project(config), "end", mode);
        project.repo.file("local.txt", "mine\n");
        // In place and in a layer the ignored file is there.
        let config = config.replace("&& test ! -e local.txt", "");
        project.repo.file("ralph.yaml", &config).commit("config");
        let ran = project.run(&[]).expect(0);
        let (outcome, message) = clean_checked(&ran);
        assert_eq!(outcome, "passed", "{mode}: {message}");
        assert_eq!(reported(&project)["outcome"], "passed", "{mode}");
        let prepared = std::fs::read_to_string(project.repo.home().join("prepared")).unwrap();
        assert_eq!(prepared.lines().count(), 3, "baseline, iteration, clone");
        let clones = project.data_dir().join("clones");
        let left = std::fs::read_dir(clones).unwrap().count();
        assert_eq!(left, 0, "nothing is left of the clone");
    }
}

#[test]
fn where_something_has_to_be_installed_and_nothing_says_how_the_end_says_so() {
    let config = "verification:\n  commands:\n    - test -f node_modules/dep/index.js\n";
    let project = checked(project(config), "end", "overlay");
    project
        .repo
        .file("package.json", "{\"dependencies\": {\"dep\": \"1\"}}\n")
        .commit("package");
    project.repo.file("node_modules/dep/index.js", "1\n");
    let ran = project.run(&[]).expect(0);
    let (outcome, message) = clean_checked(&ran);
    assert_eq!(outcome, "not_checked");
    assert_eq!(
        message,
        "not checked in a clean clone: set verification.prepare"
    );
    let found = reported(&project);
    assert_eq!(found["outcome"], "not_checked");
    assert_eq!(found["reason"], "set verification.prepare");
}

#[test]
fn where_preparing_fails_or_takes_too_long_nothing_is_said_against_the_commit() {
    let prepare = "test -f local.txt";
    let config = format!(
        "verification:\n  prepare:\n    - {prepare}\n  commands:\n    - test -f local.txt\n"
    );
    let project = checked(project(&config), "end", "overlay");
    project.repo.file("local.txt", "mine\n");
    let ran = project.run(&[]).expect(0);
    let (outcome, message) = clean_checked(&ran);
    assert_eq!(outcome, "not_checked");
    assert!(message.contains("`test -f local.txt` failed"), "{message}");
    let config = "verification:\n  clean_timeout_minutes: 0.005\n  commands:\n    - test -f local.txt || sleep 100\n";
    let project = checked(self::project(config), "end", "overlay");
    project.repo.file("local.txt", "mine\n");
    let ran = project.run(&[]).expect(0);
    let (_, message) = clean_checked(&ran);
    assert!(message.contains("clean_timeout_minutes"), "{message}");
    project.assert_nothing_alive();
}

#[test]
fn a_known_failure_of_the_baseline_does_not_count_in_the_clone() {
    let config =
        "verification:\n  known_failures: allow\n  commands:\n    - exit 1\n    - [test, -d, .]\n";
    let project = checked(project(config), "end", "overlay");
    let ran = project.run(&[]).expect(0);
    assert_eq!(clean_checked(&ran).0, "passed");
}

#[test]
fn a_loop_that_lands_nothing_checks_nothing_and_always_checks_each_landing() {
    let config = "verification:\n  commands:\n    - grep -q good src.txt\n";
    let idle = checked(project(config), "end", "overlay").script(&json!({
        "default": [{"do": [{"say": "nothing done"}]}]
    }));
    let ran = idle.run(&["--once"]).expect(3);
    assert_eq!(ran.named("clean_checked").len(), 0);
    assert!(!report(&idle, &[]).contains("clean clone"));
    let off = checked(self::project(config), "off", "overlay");
    let ran = off.run(&[]).expect(0);
    assert_eq!(ran.named("clean_checked").len(), 0);
    assert_eq!(
        reported(&off)["reason"],
        "`verification.clean_check` is off"
    );
    let project = Project::with_stories(&[story("A"), story("B")])
        .script(&json!({"default": [good_attempt()]}))
        .config("verification:\n  commands:\n    - test -d .\n");
    let project = checked(project, "always", "overlay");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.named("clean_checked").len(), 2);
}

#[test]
fn ctrl_c_ends_a_check() {
    let config = "verification:\n  commands:\n    - test -f local.txt || { touch \"$HOME/hangs\"; sleep 100; }\n";
    let project = checked(project(config), "end", "overlay");
    project.repo.file("local.txt", "mine\n");
    let live = project.start(&[]);
    wait_until("the check has begun", || {
        project.repo.home().join("hangs").exists()
    });
    live.signal(Signal::INT);
    let ran = live.wait();
    assert_eq!(clean_checked(&ran).0, "not_checked");
    assert_eq!(reported(&project)["reason"], "it was stopped");
    assert_eq!(project.landed(), ["A"]);
    project.assert_nothing_alive();
}

#[test]
fn what_a_killed_loop_landed_is_checked_at_the_end_of_the_one_that_goes_on() {
    for point in ["landed", "recorded", "files-written"] {
        let config = "verification:\n  commands:\n    - test -f local.txt\n";
        let project = checked(project(config), "end", "overlay");
        project.repo.file("local.txt", "mine\n");
        project.run_with("RALPH_FAILPOINT", point);
        assert_eq!(project.landed(), ["A"], "{point}");
        let ran = project.run(&[]).expect(4);
        assert_eq!(clean_checked(&ran).0, "failed", "{point}");
        assert_eq!(reported(&project)["outcome"], "failed", "{point}");
    }
}

/// A project with a submodule that has a submodule of its own.
fn with_submodules(config: &str) -> Project {
    let project = project(config);
    let home = project.repo.home().to_owned();
    for name in ["inner", "outer"] {
        let path = home.join(name);
        std::fs::create_dir(&path).unwrap();
        let git = |args: &[&str]| {
            let mut all = vec!["-C", path.to_str().unwrap()];
            all.extend(["-c", "protocol.file.allow=always"]);
            all.extend(args);
            project.repo.git(all);
        };
        git(&["init", "--quiet"]);
        std::fs::write(path.join("file.txt"), format!("{name}\n")).unwrap();
        git(&["add", "."]);
        if name == "outer" {
            let inner = home.join("inner");
            git(&[
                "submodule",
                "--quiet",
                "add",
                inner.to_str().unwrap(),
                "deep",
            ]);
        }
        git(&["commit", "--quiet", "-m", name]);
    }
    let outer = home.join("outer");
    let allow = "protocol.file.allow=always";
    let add = [
        "submodule",
        "--quiet",
        "add",
        outer.to_str().unwrap(),
        "lib",
    ];
    project.repo.git(["-c", allow].iter().chain(&add));
    let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
    project.repo.git(["-c", allow].iter().chain(&update));
    project.repo.commit("submodule");
    project
}

#[test]
fn a_commit_with_submodules_is_checked_where_they_are_stored_here() {
    for mode in MODES {
        let config = "verification:\n  commands:\n    - grep -q outer lib/file.txt && grep -q inner lib/deep/file.txt\n    - git -C lib/deep log -1\n";
        let project = checked(with_submodules(config), "end", mode);
        // What they were cloned from is gone: nothing may be fetched.
        for name in ["inner", "outer"] {
            std::fs::remove_dir_all(project.repo.home().join(name)).unwrap();
        }
        let ran = project.run(&[]).expect(0);
        assert_eq!(clean_checked(&ran).0, "passed", "{mode}: {}", ran.all());
        verify(&project, &["--clean"]).expect(0);
    }
}

#[test]
fn a_commit_whose_submodules_are_not_here_is_not_checked_and_the_end_says_which() {
    let project = with_submodules("verification:\n  commands:\n    - test -d .\n");
    project
        .repo
        .git(["submodule", "--quiet", "deinit", "--force", "--all"]);
    std::fs::remove_dir_all(project.repo.root().join(".git/modules")).unwrap();
    let project = checked(project, "end", "overlay");
    let ran = project.run(&[]).expect(0);
    let (outcome, message) = clean_checked(&ran);
    assert_eq!(outcome, "not_checked", "{message}");
    assert_eq!(
        message,
        "not checked in a clean clone: its submodule lib is not stored in this repository as the commit records it"
    );
}
