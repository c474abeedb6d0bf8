//! `ralph hook` asked directly: what no session can be made to ask.

use std::{io::Write as _, process::Stdio};

use ralph_testkit::{TestRepo, agents};
use serde_json::{Value, json};

use super::support::{ClaudeHome, STATE, both_pins, ralph};

/// Asks a hook as Claude Code would; its exit code, its answer and its complaint.
fn ask(repo: &TestRepo, hook: &str, question: &str) -> (i32, String, String) {
    let mut command = repo.command(ralph());
    command.args(["hook", hook]).stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(question.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn stop(repo: &TestRepo, session: &str) -> Value {
    json!({"session_id": session, "cwd": repo.root(), "hook_event_name": "Stop", "last_assistant_message": "I go on."})
}

fn state(session: &str) -> String {
    format!(
        "---\nactive: true\niteration: 1\nmax_iterations: 0\ncompletion_promise: null\n\
         started_at: \"2026-01-02T17:35:07Z\"\nsession_id: \"{session}\"\n---\n\nBuild it\n"
    )
}

#[test]
fn only_the_session_that_the_input_names_owns_a_loop() {
    let repo = TestRepo::new();
    repo.file(STATE, state("mine"));
    for (session, goes_on) in [("", false), ("other", false), ("mine", true)] {
        let (code, out, err) = ask(&repo, "stop", &stop(&repo, session).to_string());
        assert_eq!(
            (code, out.is_empty()),
            (0, !goes_on),
            "{session}: {out}{err}"
        );
    }
    let mut of_subagent = stop(&repo, "mine");
    of_subagent["agent_id"] = "a1".into();
    let (code, out, _) = ask(&repo, "stop", &of_subagent.to_string());
    assert_eq!((code, out.as_str()), (0, ""));
    // A state without a session is of nobody.
    repo.file(STATE, state("").replace("session_id: \"\"\n", ""));
    let (code, out, _) = ask(&repo, "stop", &stop(&repo, "").to_string());
    assert_eq!((code, out.as_str()), (0, ""));
}

#[test]
fn a_state_file_that_is_broken_inactive_or_gone_is_no_loop_and_is_left() {
    let repo = TestRepo::new();
    for text in [
        "",
        "---\nactive: tr",
        &state("mine").replace("active: true", "active: false"),
        "no front matter",
    ] {
        repo.file(STATE, text);
        let (code, out, _) = ask(&repo, "stop", &stop(&repo, "mine").to_string());
        assert_eq!((code, out.as_str()), (0, ""), "{text}");
        assert_eq!(repo.read(STATE), text);
    }
    repo.remove(STATE);
    let (code, out, _) = ask(&repo, "stop", &stop(&repo, "mine").to_string());
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(!repo.exists(STATE));
}

#[test]
fn a_loop_works_outside_of_a_repository_and_is_not_recorded() {
    let repo = TestRepo::bare_folder();
    let asked = json!({
        "session_id": "s", "cwd": repo.root(), "command_name": "ralph:ralph-loop", "command_args": "Build it",
    });
    let (code, out, err) = ask(&repo, "prompt", &asked.to_string());
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("It is not recorded: ") && out.contains("is not in a git repository"),
        "{out}"
    );
    let (_, out, _) = ask(&repo, "stop", &stop(&repo, "s").to_string());
    assert!(out.contains("\"decision\":\"block\""), "{out}");
}

#[test]
fn a_question_that_can_not_be_read_is_a_clear_error() {
    let repo = TestRepo::new();
    let table = [
        // With 2, Claude Code would send the agent back to work.
        ("stop", 1),
        ("session-start", 1),
        ("session-end", 1),
        ("prompt", 2),
        ("start", 2),
        ("iteration", 2),
        ("verify", 2),
        ("end", 2),
    ];
    for (hook, expected) in table {
        let (code, out, err) = ask(&repo, hook, "{nonsense");
        assert_eq!((code, out.as_str()), (expected, ""), "{hook}");
        assert!(
            err.contains("the question on standard input can't be read"),
            "{err}"
        );
    }
    let unknown = json!({"loop": "019a", "reason": "promise"}).to_string();
    let (code, _, err) = ask(&repo, "end", &unknown);
    assert_eq!(code, 2);
    assert!(err.contains("there is no loop 019a in a session"), "{err}");
}

#[test]
fn what_an_agent_tells_is_recorded_once() {
    let repo = TestRepo::new();
    let start = json!({"agent": "pi", "session": "s1", "prompt": "Build it", "maxIterations": 3, "completionPromise": "DONE"});
    let (code, out, err) = ask(&repo, "start", &start.to_string());
    assert_eq!(code, 0, "{err}");
    let id = serde_json::from_str::<Value>(&out).unwrap()["loop"].clone();
    let iteration = json!({
        "loop": id, "iteration": 1, "startedAt": "2026-01-02T03:04:05Z", "endedAt": "2026-01-02T03:05:05Z",
        "outcome": "error", "error": "429", "toolCalls": 2,
        "calls": [{"model": "m", "input": 10, "output": 5, "costUsd": 0.25}],
    });
    for expected in [json!({"recorded": true}), json!({"recorded": false})] {
        let (_, out, err) = ask(&repo, "iteration", &iteration.to_string());
        assert_eq!(
            serde_json::from_str::<Value>(&out).unwrap_or_default(),
            expected,
            "{err}"
        );
    }
    let end = json!({"loop": id, "reason": "cancelled"}).to_string();
    assert_eq!(ask(&repo, "end", &end).1, "{\"recorded\":true}\n");
    assert_eq!(ask(&repo, "end", &end).1, "{\"recorded\":false}\n");
    let listed = repo
        .command(ralph())
        .args(["loops", "--json"])
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let row = &listed["sessions"][0];
    assert_eq!(
        (
            &row["iterations"],
            &row["errors"],
            &row["tokens"],
            &row["costUsd"]
        ),
        (&1.into(), &1.into(), &15.into(), &0.25.into()),
        "{row}"
    );
    let cost = repo
        .command(ralph())
        .args(["cost", "--json"])
        .output()
        .unwrap();
    let cost = String::from_utf8(cost.stdout).unwrap();
    assert!(cost.contains("session loop"), "{cost}");
}

#[test]
fn loops_that_begin_at_once_where_ralph_never_ran_are_all_recorded() {
    let repo = TestRepo::new();
    let ask_one = |n: u32| {
        let start = json!({"agent": "pi", "session": format!("s{n}"), "prompt": "Build it"});
        ask(&repo, "start", &start.to_string())
    };
    let answers: Vec<(i32, String, String)> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8).map(|n| scope.spawn(move || ask_one(n))).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for (code, out, err) in answers {
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.starts_with("{\"loop\":\""), "{out}{err}");
    }
    let listed = repo.command(ralph()).args(["loops", "--json"]).output();
    let listed: Value = serde_json::from_slice(&listed.unwrap().stdout).unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 8, "{listed}");
}

/// An agent that asks each hook while it is in a run of ralph's, and keeps the answers.
#[test]
fn inside_a_run_hooks_do_nothing_and_a_loop_is_refused() {
    let repo = TestRepo::new();
    let program = ralph();
    let own = state("s").replace('\n', "\\n").replace('"', "\\\"");
    let stop = r#"{\"session_id\": \"s\", \"cwd\": \".\", \"last_assistant_message\": \"x\"}"#;
    let begin = r#"{\"session_id\": \"s2\", \"cwd\": \".\", \"command_name\": \"ralph:ralph-loop\", \"command_args\": \"Build\"}"#;
    let start = r#"{\"agent\": \"pi\", \"session\": \"s\", \"prompt\": \"Build\"}"#;
    let script = format!(
        "tasks:\n  A:\n    - do:\n        - run: \"mkdir -p .claude; printf '{own}' > .claude/ralph-loop.local.md\"\n        \
         - run: \"printf '%s' '{stop}' | {program} hook stop > stop.txt 2>&1; printf '%s' '{begin}' | {program} hook prompt > begin.txt 2>&1; \
           rm .claude/ralph-loop.local.md; printf '%s' '{begin}' | {program} hook prompt > again.txt 2>&1; \
           printf '%s' '{start}' | {program} hook start > start.txt 2>&1; rm -rf .claude; echo done > A.txt\"\n        \
         - say: Task A complete\n"
    );
    repo.file("agent.yaml", script);
    repo.prd(&json!({"userStories": [{"id": "A", "title": "A", "verify": ["test -f A.txt"], "passes": false}]}));
    repo.commit("tasks");
    let run = repo
        .command(program)
        .args(["run", "--agent", "script:agent.yaml", "--json"])
        .output()
        .unwrap();
    let all = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    assert_eq!(run.status.code(), Some(0), "{all}");
    assert_eq!(repo.read("stop.txt"), "");
    let refusal = "can't be started inside a run of ralph's";
    for name in ["again.txt", "start.txt"] {
        assert!(
            repo.read(name).contains(refusal),
            "{name}: {}",
            repo.read(name)
        );
    }
    // The owner of the first state is no process: it would have been replaced outside of a run.
    assert!(
        repo.read("begin.txt").contains("Ralph: "),
        "{}",
        repo.read("begin.txt")
    );
}

/// A stand-in for the official plugin, by its name and with a hook on the same state file.
fn rival_marketplace(folder: &std::path::Path) {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let plugin = r#"{"name": "ralph-loop", "version": "1.0.0", "description": "a loop"}"#;
    write(".claude-plugin/plugin.json", plugin);
    let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "cat .claude/ralph-loop.local.md || true"}]}]}}"#;
    write("hooks/hooks.json", hooks);
    let marketplace = r#"{"name": "stand-in", "owner": {"name": "x"}, "plugins": [{"name": "ralph-loop", "source": "./", "description": "a loop"}]}"#;
    write(".claude-plugin/marketplace.json", marketplace);
}

#[test]
fn a_plugin_that_claude_code_itself_enabled_is_refused_until_it_is_disabled() {
    for program in both_pins() {
        let home = ClaudeHome::without_plugin(program, "conversations: []\n");
        let folder = home.repo.outside().join("rival");
        rival_marketplace(&folder);
        let claude = |args: &[&str]| {
            let output = home.command().args(args).stdin(Stdio::null()).output();
            let output = output.unwrap();
            assert!(output.status.success(), "{args:?}: {output:?}");
        };
        claude(&["plugin", "marketplace", "add", folder.to_str().unwrap()]);
        claude(&["plugin", "install", "ralph-loop@stand-in"]);
        let refused = home.ralph(&["install", "claude"]).output().unwrap();
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(
            error.contains("the plugin ralph-loop@stand-in is enabled"),
            "{error}"
        );
        assert!(!home.repo.home().join(".claude/skills").exists());
        claude(&["plugin", "disable", "ralph-loop@stand-in"]);
        let installed = home.ralph(&["install", "claude"]).output().unwrap();
        assert!(installed.status.success(), "{installed:?}");
    }
}

#[test]
fn the_official_plugin_is_refused_by_name_by_install_and_by_the_command() {
    for name in [
        "ralph-loop@claude-plugins-official",
        "ralph-wiggum@some-marketplace",
    ] {
        let home = ClaudeHome::new(agents::claude(), "conversations: []\n");
        let settings = json!({"enabledPlugins": {name: true}}).to_string();
        let path = home.repo.home().join(".claude/settings.json");
        std::fs::write(&path, &settings).unwrap();
        let output = home.ralph(&["install", "claude"]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains(&format!("the plugin {name} is enabled in Claude Code")),
            "{error}"
        );
        assert!(
            error.contains(&format!("claude plugin disable {name}")),
            "{error}"
        );
        let said = home.say("/ralph-loop Build it");
        assert!(
            said.result()
                .contains(&format!("Ralph: the plugin {name} is enabled")),
            "{said:?}"
        );
        assert_eq!(home.answers(), 0);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), settings);
    }
}
