//! Verification that an agent works against, or that misbehaves by itself.

use serde_json::{Value, json};

use crate::support::{Project, good_attempt, good_script, story, wait_until};

const NO_RETRIES: &str = "loop:\n  max_verify_retries: 0\n";

fn story_verified_by(id: &str, command: &str) -> Value {
    let mut story = story(id);
    story["verify"] = json!([command]);
    story
}

#[test]
fn ralph_yaml_edited_by_the_agent_is_put_back_and_the_loop_halts() {
    let config = format!(
        "{NO_RETRIES}verification:\n  commands:\n    - [\"test\", \"!\", \"-f\", \"A.txt\"]\n"
    );
    let script = json!({"default": [{"do": [
        {"write": {"path": "ralph.yaml", "text": "verification:\n  commands:\n    - [\"true\"]\n"}},
        {"write": {"path": "A.txt", "text": "x"}},
        {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[story("A"), story("B")])
        .in_place()
        .config(&config)
        .script(&script);
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.stop()["why"], "halted");
    assert!(
        ran.stop()["reason"]
            .as_str()
            .unwrap()
            .contains("ralph.yaml"),
        "{}",
        ran.stop()
    );
    assert_eq!(project.repo.read("ralph.yaml"), config);
    assert!(project.landed().is_empty());
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn ralph_yaml_that_an_agent_deleted_or_made_is_put_right_as_well() {
    let config = "verification:\n  commands:\n    - [\"false\"]\n";
    let script =
        json!({"default": [{"do": [{"delete": "ralph.yaml"}, {"say": "Task A complete"}]}]});
    let project = Project::with_stories(&[story("A")])
        .in_place()
        .config(config)
        .script(&script);
    project.run(&[]).expect(4);
    assert_eq!(project.repo.read("ralph.yaml"), config);

    let made = json!({"default": [{"do": [
        {"write": {"path": "ralph.yaml", "text": "verification:\n  commands: [[\"true\"]]\n"}},
        {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[story("A")])
        .in_place()
        .script(&made);
    project.run(&["--once"]).expect(4);
    assert!(
        !project.repo.exists("ralph.yaml"),
        "a config that was not there is not adopted"
    );
    assert!(project.landed().is_empty());
}

#[test]
fn a_prompt_that_an_agent_wrote_for_those_after_it_is_taken_away() {
    let script = json!({"default": [{"do": [
        {"write": {"path": ".ralph/prompts/iteration.md", "text": "Task {{ task.id }} complete"}},
        {"write": {"path": "A.txt", "text": "x"}},
        {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[story("A")])
        .in_place()
        .script(&script);
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.stop()["why"], "halted");
    assert!(!project.repo.exists(".ralph/prompts/iteration.md"));
    assert!(project.landed().is_empty());
}

#[test]
fn an_edit_of_ralph_yaml_that_ralph_did_not_live_to_see_is_not_adopted() {
    let config = format!("{NO_RETRIES}verification:\n  commands:\n    - [\"false\"]\n");
    let script = json!({"default": [{"do": [
        {"write": {"path": "ralph.yaml", "text": "verification:\n  commands: [[\"true\"]]\n"}},
        {"write": {"path": "A.txt", "text": "x"}},
        {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[story("A")])
        .config(&config)
        .script(&script);
    assert_eq!(
        project.run_with("RALPH_FAILPOINT", "agent-ended").code(),
        -9
    );
    let ran = project.script(&good_script());
    let again = ran.run(&["--once"]);
    assert_eq!(ran.repo.read("ralph.yaml"), config, "{}", again.all());
    assert!(ran.landed().is_empty(), "{}", again.all());
}

#[test]
fn a_background_process_is_dead_before_verification_begins() {
    // It would undo the work as soon as verification has looked at it.
    let saboteur = "setsid sh -c 'while :; do [ -e \"$HOME/verifying\" ] && rm -f A.txt; done' >/dev/null 2>&1 &";
    let script = json!({"default": [{"do": [
        {"run": saboteur},
        {"write": {"path": "A.txt", "text": "x"}},
        {"say": "Task A complete"},
    ]}]});
    let check = "touch \"$HOME/verifying\"; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.01; test -f A.txt || exit 1; done";
    let project = Project::with_stories(&[story_verified_by("A", check)]).script(&script);
    project.run(&[]).expect(0);
    assert!(project.repo.exists("A.txt"));
    project.assert_nothing_alive();
}

#[test]
fn verification_that_hangs_is_ended_and_has_failed() {
    let config = format!("{NO_RETRIES}verification:\n  timeout_minutes: 0.005\n");
    let hang = "sleep 1000 & setsid sleep 1000 & echo waiting; wait";
    let project = Project::with_stories(&[story_verified_by("A", hang)])
        .config(&config)
        .script(&good_script());
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
    let record: Value =
        serde_json::from_str(&project.repo.read(".ralph/logs/iteration-1.json")).unwrap();
    let outcome = record["verification"][0]["outcome"].as_str().unwrap();
    assert!(outcome.contains("timed out"), "{outcome}");
    project.assert_nothing_alive();
}

#[test]
fn verification_that_floods_is_judged_by_its_exit_code_in_bounded_memory() {
    let flood = "yes 'all is well with the world today' | head -c 60000000; test -f A.txt";
    let project = Project::with_stories(&[story_verified_by("A", flood)])
        .config("logs:\n  max_mb: 1\n")
        .script(&good_script());
    let mut live = project.start(&[]);
    live.wait_for("landed");
    let peak = live.kilobytes("VmHWM");
    live.wait().expect(0);
    assert!(peak <= 64 * 1024, "{peak} kB");
    let log = std::fs::metadata(project.repo.path(".ralph/logs/iteration-1.txt")).unwrap();
    assert!(log.len() <= 1_200_000, "{} bytes", log.len());
}

#[test]
fn the_tail_of_a_flood_that_fails_is_bounded_in_the_record() {
    let flood = "yes 'nothing is well' | head -c 3000000; echo the last words; exit 1";
    let project = Project::with_stories(&[story_verified_by("A", flood)])
        .config(NO_RETRIES)
        .script(&good_script());
    let ran = project.run(&["--once"]).expect(3);
    let tail = ran.one("iteration_ended")["tail"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        tail.len() < 20_000 && tail.contains("the last words"),
        "{}",
        tail.len()
    );
}

#[test]
fn a_program_planted_in_the_workspace_is_not_what_verification_runs() {
    let script = json!({"default": [{"do": [
        {"write": {"path": "bin/test-runner", "text": "#!/bin/sh\nexit 0\n"}},
        {"run": "chmod +x bin/test-runner"},
        {"say": "Task A complete"},
    ]}]});
    let mut task = story("A");
    task["verify"] = json!([["test-runner"]]);
    let project = Project::with_stories(&[task])
        .config(NO_RETRIES)
        .script(&script);
    let tools = project.outside("tools");
    std::fs::create_dir_all(&tools).unwrap();
    crate::support::write_program(&tools.join("test-runner"), "exit 1");
    let path = format!(
        "{}:{}:{}",
        project.repo.path("bin").display(),
        tools.display(),
        std::env::var("PATH").unwrap()
    );
    let project = project.env("PATH", path);
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
}

#[test]
fn credentials_and_ralphs_own_places_are_not_in_an_agents_environment() {
    let project = Project::with_stories(&[story("A")])
        .env("GITHUB_TOKEN", "ghp_not_for_you")
        .env("SSH_AUTH_SOCK", "/nowhere")
        .env("ANTHROPIC_API_KEY", "its-own")
        .command("env > \"$HOME/env\"; echo x > A.txt; echo 'Task A complete'");
    project.run(&[]).expect(0);
    let env = std::fs::read_to_string(project.repo.home().join("env")).unwrap();
    for name in ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "RALPH_DATA_DIR"] {
        assert!(!env.contains(name), "{name} in {env}");
    }
    assert!(env.contains("ANTHROPIC_API_KEY=its-own"));
    assert!(env.contains("RALPH_TASK_ID=A"));
}

#[test]
fn a_server_that_one_command_leaves_does_not_reach_the_next() {
    let first = "setsid sh -c 'echo $$ > \"$HOME/server\"; exec sleep 1000' >/dev/null 2>&1 & while [ ! -s \"$HOME/server\" ]; do sleep 0.01; done; test -f A.txt";
    let mut task = story("A");
    task["verify"] = json!([first, "! pgrep -f 'sleep 1000' -s 0; test -f A.txt"]);
    let project = Project::with_stories(&[task]).script(&json!({"default": [good_attempt()]}));
    project.run(&[]).expect(0);
    project.assert_nothing_alive();
    wait_until("the server had begun", || {
        project.repo.home().join("server").exists()
    });
}

/// A folder for programs at the front of the PATH, outside of the repository.
fn with_tools(project: Project) -> Project {
    let tools = project.outside("tools");
    std::fs::create_dir_all(&tools).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    project.env("PATH", path)
}

#[test]
fn a_verify_program_that_is_not_there_is_named_before_any_agent_is_started() {
    let of_config = "verification:\n  commands: [\"CI=1 nosuch-tool --all\"]\n";
    let of_list = "verification:\n  commands: [[nosuch-tool, --all]]\n";
    let unclear = "verification:\n  commands: [\"(nosuch-tool)\"]\n";
    let table = [
        (
            of_config,
            "test -f A.txt",
            "`CI=1 nosuch-tool --all` can't be started",
        ),
        (
            of_list,
            "test -f A.txt",
            "`nosuch-tool --all` can't be started",
        ),
        (unclear, "test -f A.txt", "`(nosuch-tool)` can't be started"),
        (
            "",
            "cd . && nosuch-tool",
            "`cd . && nosuch-tool` of task A can't be started",
        ),
    ];
    for (config, own, said) in table {
        let project = Project::with_stories(&[story_verified_by("A", own)])
            .config(config)
            .script(&good_script());
        let ran = project.run(&[]).expect(2);
        let error = ran.all();
        assert!(error.contains(said), "{config}: {error}");
        assert!(
            error.contains("program not found: nosuch-tool"),
            "{config}: {error}"
        );
        assert!(ran.named("iteration_started").is_empty(), "{error}");
    }
}

#[test]
fn a_verify_program_that_the_work_brings_is_not_asked_for_at_the_start() {
    // The agent writes it into the repository.
    let writes = json!({"default": [{"do": [
        {"write": {"path": "check.sh", "text": "test -f A.txt\n"}},
        {"write": {"path": "A.txt", "text": "x"}},
        {"say": "Task A complete"},
    ]}]});
    let own = story_verified_by("A", "sh ./check.sh");
    Project::with_stories(&[own])
        .script(&writes)
        .run(&[])
        .expect(0);
    // The commands that make a checkout ready install it.
    let project = with_tools(Project::with_stories(&[story_verified_by(
        "A",
        "fresh-tool",
    )]));
    let tool = project.outside("tools").join("fresh-tool");
    let config = format!(
        "verification:\n  prepare: [\"printf '#!/bin/sh\\n' > {tool}; chmod +x {tool}\"]\n  commands: [[fresh-tool]]\n",
        tool = tool.display()
    );
    project
        .config(&config)
        .script(&good_script())
        .run(&[])
        .expect(0);
    // Another command makes up for it.
    let project = Project::with_stories(&[story_verified_by("A", "nosuch-tool || test -f A.txt")]);
    project.script(&good_script()).run(&[]).expect(0);
}

#[test]
fn a_program_that_goes_missing_ends_the_loop_after_one_run_and_charges_nothing() {
    let project = with_tools(Project::with_stories(&[story_verified_by(
        "A",
        "checker A.txt",
    )]));
    let tool = project.outside("tools").join("checker");
    crate::support::write_program(&tool, "test -f $1");
    let shell = format!(
        "cat > /dev/null; rm -f {}; echo x > A.txt; echo 'Task A complete'",
        tool.display()
    );
    let project = project.command(&shell);
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A failed"]);
    assert_eq!(
        ran.named("run_started").len(),
        1,
        "no agent is to repair it"
    );
    assert_eq!(
        ran.stop()["reason"],
        "the verify command `checker A.txt` can't be started on this machine"
    );
    crate::support::write_program(&tool, "test -f $1");
    let ran = project.script(&good_script()).run(&[]).expect(0);
    assert_eq!(
        ran.one("iteration_started")["attempt"],
        1,
        "it was not charged"
    );
}

#[test]
fn a_verify_program_that_the_change_removed_is_the_agents_failure() {
    let project = Project::with_stories(&[story_verified_by("A", "test -f A.txt")]);
    project.repo.file("check.sh", "#!/bin/sh\n");
    let project = project
        .config("loop:\n  max_verify_retries: 0\nverification:\n  commands: [\"sh ./check.sh\"]\n");
    let script = json!({"tasks": {"A": [{"do": [
        {"delete": "check.sh"}, {"write": {"path": "A.txt", "text": "x"}}, {"say": "Task A complete"},
    ]}]}, "default": [good_attempt()]});
    let ran = project
        .script(&script)
        .run(&["--max-iterations=1"])
        .expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
}

#[test]
fn a_verify_command_that_equals_a_tasks_own_runs_once() {
    let project = with_tools(Project::with_stories(&[story_verified_by(
        "A",
        "checker  A.txt",
    )]));
    let (tool, runs) = (
        project.outside("tools").join("checker"),
        project.outside("runs"),
    );
    let shell = format!("echo run >> {}; test -f $1", runs.display());
    crate::support::write_program(&tool, &shell);
    let project = project
        .config("verification:\n  baseline: false\n  commands: [[checker, A.txt]]\n")
        .script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n");
}
