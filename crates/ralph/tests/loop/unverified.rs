//! Work that no command verified: every place that tells of it says so, and none says that it is verified.

use serde_json::{Value, json};

use crate::support::{Live, Project, Ran, good_script, story};

/// A story without a verify command.
fn bare(id: &str) -> Value {
    let mut story = story(id);
    story.as_object_mut().unwrap().remove("verify");
    story
}

/// All that tells of a loop: each place with its text.
fn surfaces(project: &Project, ran: &Ran) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let commands: [&[&str]; 8] = [
        &["status"],
        &["status", "--json"],
        &["loops"],
        &["loops", "--json"],
        &["report"],
        &["report", "--json"],
        &["report", "--format", "markdown"],
        &["tasks", "show", "A"],
    ];
    for args in commands {
        let output = project.ralph(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        all.push((args.join(" "), String::from_utf8(output.stdout).unwrap()));
    }
    let page = project.outside("report.html");
    let shown = page.to_str().unwrap();
    assert!(
        project
            .ralph(&["report", "--output", shown])
            .status()
            .unwrap()
            .success()
    );
    all.push(("the page".into(), std::fs::read_to_string(page).unwrap()));
    let log = project.repo.read(".ralph/logs/iteration-1.txt");
    let verdict = log.split("== verdict").nth(1).unwrap().to_owned();
    all.push(("the log".into(), verdict));
    for path in [".ralph/progress.md", ".ralph/logs/iteration-1.json"] {
        all.push((path.into(), project.repo.read(path)));
    }
    all.push((
        "the commit".into(),
        project.repo.git(["log", "-1", "--format=%B"]),
    ));
    for name in ["landed", "iteration_ended", "loop_ended"] {
        let events = ran.named(name);
        all.push((name.into(), events.first().unwrap().to_string()));
    }
    let notified = std::fs::read_to_string(project.outside("notified")).unwrap();
    all.push(("the notification".into(), notified));
    let loops = project.data_dir().join("ralph-loops");
    for folder in std::fs::read_dir(loops).unwrap() {
        let path = folder.unwrap().path().join("report.json");
        all.push(("report.json".into(), std::fs::read_to_string(path).unwrap()));
    }
    all
}

fn notifying(project: Project) -> Project {
    let notified = project.outside("notified");
    let config = format!(
        "notify: {{command: [sh, -c, \"cat >> {}\"], on: [complete, limit, halt]}}\n",
        notified.display()
    );
    project.config(&config)
}

#[test]
fn without_a_verify_command_every_place_says_unverified() {
    for mode in ["overlay", "in_place"] {
        let project = Project::with_stories(&[bare("A")])
            .script(&good_script())
            .env("RALPH_WORKSPACE_MODE", mode);
        let project = notifying(project);
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.verdicts(), ["A unverified"]);
        for (place, text) in surfaces(&project, &ran) {
            let lower = text.to_lowercase();
            assert!(lower.contains("unverified"), "{mode}, {place}: {text}");
            // Names of figures aside, nothing is said to be verified.
            let claims = [
                "\"verdict\": \"verified\"",
                "verified by ralph",
                ": verified",
                "— verified",
                "1 verified",
            ];
            for claim in claims {
                assert!(
                    !lower.contains(claim),
                    "{mode}, {place}: {claim:?} in {text}"
                );
            }
        }
        let tasks = &ran.one("loop_ended")["tasks"];
        assert_eq!(
            (&tasks["completed"], &tasks["unverified"]),
            (&json!(1), &json!(1))
        );
    }
}

#[test]
fn with_a_verify_command_no_place_says_unverified() {
    let project = notifying(Project::with_stories(&[story("A")]).script(&good_script()));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    for (place, text) in surfaces(&project, &ran) {
        // A name with the value that it is not so.
        let text = text
            .replace("\"unverified\": false", "")
            .replace("\"unverified\":false", "")
            .replace("\"unverified\": 0", "");
        if place == "the page" {
            continue;
        }
        assert!(
            !text.to_lowercase().contains("unverified"),
            "{place}: {text}"
        );
    }
}

#[test]
fn once_ends_well_and_says_so_in_its_last_line() {
    let project = Project::with_stories(&[bare("A"), bare("B")]).script(&good_script());
    let ran = project.run_for_people(&["--once"]).expect(0);
    let out = String::from_utf8_lossy(&ran.stdout).trim_end().to_owned();
    let last = out.lines().last().unwrap();
    assert!(last.contains("unverified"), "{out}");
    assert!(
        out.contains("one iteration, as asked: complete, but unverified"),
        "{out}"
    );
    let quiet = project.run_for_people(&["--once", "-q"]).expect(0);
    let out = String::from_utf8_lossy(&quiet.stdout).trim_end().to_owned();
    assert!(out.lines().last().unwrap().contains("unverified"), "{out}");
}

#[test]
fn a_loop_of_both_counts_both() {
    let project = Project::with_stories(&[story("A"), bare("B")]).script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B unverified"]);
    let said =
        |args: &[&str]| String::from_utf8(project.ralph(args).output().unwrap().stdout).unwrap();
    assert!(
        said(&["loops"]).contains("1 verified, 1 unverified of 2"),
        "{}",
        said(&["loops"])
    );
    assert!(
        said(&["status"]).contains("2 of 2 completed, 1 unverified"),
        "{}",
        said(&["status"])
    );
    let ended = ran.one("loop_ended");
    assert_eq!(
        ended["sentence"],
        "all tasks are complete, 1 of them unverified"
    );
    let last: Value = serde_json::from_str(&said(&["loops", "--json"])).unwrap();
    assert_eq!(
        (
            &last["loops"][0]["verified"],
            &last["loops"][0]["unverified"]
        ),
        (&json!(1), &json!(1))
    );
}

#[test]
fn an_executed_project_says_it_in_its_files() {
    let project = Project::new().script(&good_script());
    let tasks = json!({"project_name": "shop", "tasks": [{"id": "A", "title": "Write A", "description": "Write A.txt",
        "status": "pending", "dependencies": [], "attempts": 0, "max_attempts": 3}]});
    project.repo.file(".artefacts/shop/spec.md", "# Shop\n");
    project
        .repo
        .file(".artefacts/shop/tasks.json", tasks.to_string())
        .commit("project");
    Live::start(project.execute_command("shop", &[]))
        .wait()
        .expect(0);
    let results = project.repo.read(".artefacts/shop/results.md");
    assert!(
        results.contains("unverified") && !results.contains("verified by"),
        "{results}"
    );
}
