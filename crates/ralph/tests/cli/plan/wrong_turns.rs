//! Every way in which an agent gives no plan that would do.

use serde_json::{Value, json};

use super::support::{Scene, plan};

/// The plan with one member of a task changed.
fn with(task: usize, member: &str, value: Value) -> String {
    let mut plan = plan();
    plan["tasks"][task][member] = value;
    plan.to_string()
}

#[test]
fn an_answer_that_would_not_do_is_sent_back_with_what_is_wrong() {
    for (first, fault) in [
        (
            "I have thought about it.".to_owned(),
            "there is no JSON object in the final message",
        ),
        (
            "```json\n{\"feature\": \n```".to_owned(),
            "the JSON can't be read: EOF while parsing a value",
        ),
        (
            json!({"tasks": []}).to_string(),
            "`feature` is missing\nexpected 1 to 60 tasks, found 0",
        ),
        (
            with(0, "title", json!(7)),
            "tasks[0] (shop-1): invalid type: integer `7`, expected a string",
        ),
        (
            with(1, "owner", json!("me")),
            "tasks[1] (shop-2): unknown field `owner`",
        ),
        (
            with(1, "id", json!("shop-1")),
            "id \"shop-1\": the feature or another task has it too",
        ),
        (
            with(1, "id", json!("-x")),
            "id \"-x\": a task id can't start with '-'",
        ),
        (
            with(0, "dependsOn", json!(["shop-2"])),
            "tasks wait for each other: shop-1 → shop-2 → shop-1",
        ),
        (
            with(0, "dependsOn", json!(["shop-9"])),
            "task shop-1 depends on shop-9, which does not exist",
        ),
    ] {
        let scene = Scene::answering_in_turn(&[first.clone(), plan().to_string()]);
        let ran = scene.plan(&["brief.txt", "--yes"]);
        assert_eq!(ran.code, 0, "{first}: {ran:?}");
        assert!(ran.out.contains("\n2 rounds of claude"), "{ran:?}");
        assert!(scene.repo.exists(".ralph/tasks/shop.yaml"));
        let prompts = scene.prompts();
        let heading = "## Your last answer would not do";
        let (before, second) = prompts.split_once(heading).unwrap();
        assert!(!before.contains(fault), "{prompts}");
        assert!(second.contains(fault), "{fault}\n{second}");
    }
}

#[test]
fn json_among_other_words_is_found() {
    let answer = format!("Here it is.\n\n```json\n{:#}\n```\n", plan());
    let scene = Scene::answering(&answer);
    assert_eq!(scene.plan(&["brief.txt", "--yes"]).code, 0);
}

#[test]
fn an_answer_that_stays_wrong_is_kept_and_named() {
    let wrong = with(0, "dependsOn", json!(["nobody"]));
    let scene = Scene::answering(&wrong);
    let ran = scene.plan(&["brief.txt", "--yes"]);
    let error = ran.error(4);
    assert!(
        error.contains("error: claude gave no plan that would do, in 3 rounds:\n  task shop-1 depends on nobody"),
        "{error}"
    );
    assert!(
        error.ends_with(
            "hint: nothing was written; its last answer is in .ralph/logs/plan-answer.txt\n"
        ),
        "{error}"
    );
    assert_eq!(scene.repo.read(".ralph/logs/plan-answer.txt"), wrong);
    scene.assert_nothing_written();
}

#[test]
fn what_an_agent_changes_is_put_back_and_said() {
    let scene = Scene::playing(&json!({"default": [
        {"do": "write", "path": "brief.txt", "text": "mine now\n"},
        {"do": "write", "path": "new/file.txt", "text": "x\n"},
        {"do": "run", "command": "git add -A && git commit -qm mine"},
        {"do": "write", "path": "later.txt", "text": "x\n"},
        {"do": "say", "text": plan().to_string()},
    ]}));
    scene.repo.file("notes.txt", "a person's, untracked\n");
    scene.repo.file(".git/info/exclude", "notes.txt\n");
    let head = scene.repo.head();
    let ran = scene.plan(&["brief.txt", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let warning = format!(
        "warning: claude was to read only and changed commits on top of {}, later.txt; it is put back\n",
        &head[..10]
    );
    assert!(ran.err.contains(&warning), "{ran:?}");
    assert_eq!(scene.repo.read("notes.txt"), "a person's, untracked\n");
    assert_eq!(scene.repo.head(), head);
    assert_eq!(
        scene.repo.read("brief.txt"),
        "A small shop: a cart and a till.\n"
    );
    assert!(!scene.repo.exists("new"));
    assert!(!scene.repo.exists("later.txt"));
    assert!(scene.repo.exists(".ralph/tasks/shop.yaml"));
}

#[test]
fn work_of_a_person_is_never_put_at_stake_to_undo_an_agent() {
    let scene = Scene::playing(&json!({"default": [
        {"do": "write", "path": "brief.txt", "text": "mine now\n"},
        {"do": "append", "path": "notes.txt", "text": "and mine\n"},
        {"do": "say", "text": plan().to_string()},
    ]}));
    scene.repo.file("kept.txt", "one\n").commit("kept");
    scene.repo.file("kept.txt", "a person's\n");
    scene.repo.file("notes.txt", "a person's\n");
    let ran = scene.plan(&["brief.txt", "--yes"]);
    let error = ran.error(4);
    assert!(
        error.contains("error: claude was to read only and changed brief.txt, notes.txt\n"),
        "{error}"
    );
    assert!(
        error.contains("nothing was put back and nothing was written"),
        "{error}"
    );
    assert_eq!(scene.repo.read("kept.txt"), "a person's\n");
    assert_eq!(scene.repo.read("notes.txt"), "a person's\nand mine\n");
    assert!(!scene.repo.exists(".ralph/tasks"));
}

#[test]
fn uncommitted_work_that_nobody_touches_is_no_obstacle() {
    let scene = Scene::answering(&plan().to_string());
    scene.repo.file("brief.txt", "changed\n");
    scene.repo.file("notes.txt", "untracked\n");
    let ran = scene.plan(&["brief.txt", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(scene.repo.read("brief.txt"), "changed\n");
}

#[test]
fn an_agent_that_fails_is_told_by_its_exit_code() {
    for (actions, code, words) in [
        (
            json!([{"do": "apiError", "status": 401, "error": "authentication_failed", "text": "Invalid API key"}]),
            6,
            "claude gave no answer: ",
        ),
        (
            json!([{"do": "rateLimited", "resetsAt": 4_000_000_000_u64}]),
            6,
            "claude gave no answer: a usage limit",
        ),
        (
            json!([{"do": "exit", "code": 3}]),
            7,
            "claude gave no answer: ",
        ),
    ] {
        let scene = Scene::playing(&json!({ "default": actions }));
        let ran = scene.plan(&["brief.txt", "--yes"]);
        assert!(ran.error(code).contains(words), "{ran:?}");
        scene.assert_nothing_written();
    }
}

#[test]
fn an_agent_that_is_not_there_is_unavailable() {
    let scene = Scene::answering("");
    let ran = scene.plan(&["brief.txt", "--yes", "--agent", "command:no-such-program"]);
    assert_eq!(
        ran.error(6),
        "error: the agent is not available: program not found: no-such-program\n\
         hint: `ralph doctor` shows how to install it; `--agent` selects another one\n"
    );
    scene.assert_nothing_written();
}

#[test]
fn an_agent_that_says_nothing_for_too_long_is_ended() {
    let scene = Scene::playing(&json!({"default": [{"do": "hang"}]}));
    scene
        .repo
        .file("ralph.yaml", "loop: {idle_minutes: 0.01}\n")
        .commit("config");
    let ran = scene.plan(&["brief.txt", "--yes"]);
    assert!(
        ran.error(3)
            .contains("claude gave no answer: it said nothing for"),
        "{ran:?}"
    );
    scene.assert_nothing_written();
}

#[test]
fn a_program_of_the_users_can_plan() {
    let scene = Scene::answering("");
    let answer = scene.repo.outside().join("answer");
    std::fs::write(&answer, format!("```json\n{}\n```\n", plan())).unwrap();
    let program = scene.repo.outside().join("agent.sh");
    scene.repo.script(
        &program,
        &format!("grep -q 'JSON Schema' && cat {}\n", answer.display()),
    );
    let agent = format!("command:{}", program.display());
    let ran = scene.plan(&["brief.txt", "--yes", "--agent", &agent]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(scene.repo.exists(".ralph/tasks/shop.yaml"));
}

#[test]
fn an_agent_that_can_not_be_kept_from_writing_is_refused_by_its_name() {
    let scene = Scene::answering("");
    let marker = scene.repo.outside().join("started");
    let program = scene.repo.outside().join("agent.sh");
    scene
        .repo
        .script(&program, &format!("touch {}\n", marker.display()));
    let custom = format!(
        "agent: {{name: mine, command: [{:?}], dialect: opencode}}\n",
        program
    );
    for (config, args, name) in [
        ("", &["--agent", "gemini"][..], "gemini"),
        ("", &["--agent", "opencode", "--dry-run"][..], "opencode"),
        (custom.as_str(), &[][..], "mine"),
    ] {
        scene.repo.file("ralph.yaml", config);
        let ran = scene.plan(&[&["brief.txt", "--yes"], args].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert_eq!(
            ran.err,
            format!(
                "error: {name} can't make a plan: ralph has no way to keep it from changing files\n\
                 hint: choose an agent that can only read with `--agent`: claude, pi, codex\n"
            )
        );
        assert!(!marker.exists(), "{name} was started");
    }
}
