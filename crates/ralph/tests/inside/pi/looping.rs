//! The loop: iterations, contexts, promises, the limit, the state file, what is shown.

use serde_json::{Value, json};

use super::PiScene;

/// Three iterations: the first uses a tool, the second only mentions the promise.
const THREE: &str = r#"
conversations:
  - times: 1
    turns:
      - say: I begin.
        tools: [{bash: "echo one > one.txt"}]
        usage: {input: 1000, output: 50}
      - say: More to do.
  - times: 1
    turns: [{say: "I will say `<promise>DONE</promise>` later. <promise>OTHER</promise>"}]
  - turns: [{say: "All of it.\n\n<promise> DONE\n </promise>"}]
"#;

/// An answer that is held until the test lets it go, and never a promise.
const HELD: &str = r#"
conversations:
  - times: 1
    turns: [{say: one, hold: first, usage: {input: 900, output: 100}}]
  - turns: [{say: two}]
"#;

#[test]
fn a_loop_runs_in_fresh_contexts_until_its_promise_is_made() {
    let scene = PiScene::new(THREE);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop \"Build the thing\" --completion-promise DONE --max-iterations 10");
    let told = pi.wait_to_hear("Completion detected");
    assert_eq!(
        told["message"],
        "Ralph: Completion detected: <promise>DONE</promise>"
    );
    assert_eq!(told["notifyType"], "info");
    // The second request of the first iteration has the tool's result in it.
    assert_eq!(scene.lengths(), [1, 3, 1, 1]);
    for request in scene.model.requests() {
        let first = &request.body["messages"][0];
        assert_eq!(first["role"], "user");
        let text = first["content"]
            .as_str()
            .or(first["content"][0]["text"].as_str());
        assert_eq!(text, Some("Build the thing"));
        assert!(
            request.body["system"]
                .to_string()
                .contains("<promise>DONE</promise>")
        );
    }
    assert!(scene.model.unscripted().is_empty());
    assert!(!scene.state_file().exists());
    assert_eq!(scene.git(&["status", "--porcelain"]), "?? one.txt\n");
    let statuses = pi.statuses();
    assert_eq!(statuses[0], "Ralph iteration: 1/10 · 0 tokens · $0.00");
    assert!(
        statuses.contains(&"Ralph iteration: 2/10 · 1.2k tokens · $0.0043".to_owned()),
        "{statuses:?}"
    );
    assert_eq!(statuses.last().unwrap(), "");
    assert_eq!(pi.widget("ralph"), None);
    let messages = pi.seen("message_end");
    let sent: Vec<&&Value> = messages
        .iter()
        .filter(|line| line["message"]["customType"] == "ralph-loop")
        .collect();
    let numbers: Vec<u64> = sent
        .iter()
        .map(|line| line["message"]["details"]["iteration"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert!(sent.iter().all(|line| line["message"]["display"] == true));
    pi.quit();
}

#[test]
fn a_loop_in_one_context_grows_it() {
    let scene = PiScene::new(
        "conversations: [{turns: [{say: one}, {say: two}, {say: '<promise>DONE</promise>'}]}]",
    );
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop --same-context --completion-promise DONE Build the thing");
    pi.wait_to_hear("Completion detected: <promise>DONE</promise>");
    assert_eq!(scene.lengths(), [1, 3, 5]);
    assert!(scene.model.unscripted().is_empty());
}

#[test]
fn the_limit_ends_a_loop() {
    let scene = PiScene::new("conversations: [{turns: [{say: more}]}]");
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build the thing --completion-promise DONE --max-iterations=2");
    let told = pi.wait_to_hear("Ralph: Max iterations (2) reached");
    assert_eq!(told["notifyType"], "info");
    pi.catch_up();
    assert_eq!(scene.lengths(), [1, 1]);
    assert!(!scene.state_file().exists());
}

#[test]
fn of_several_promises_the_first_that_is_made_counts() {
    let scene = PiScene::new(
        r#"
conversations:
  - times: 1
    turns: [{say: "<promise>OTHER</promise>\n<promise>DONE</promise>"}]
  - turns: [{say: "Not \"<promise>OTHER</promise>\".\n<promise>DONE</promise>\n<promise>OTHER</promise>"}]
"#,
    );
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --completion-promise DONE --max-iterations 5");
    pi.wait_to_hear("Completion detected: <promise>DONE</promise>");
    assert_eq!(scene.lengths(), [1, 1]);
}

#[test]
fn a_loop_without_promise_and_limit_goes_on_until_it_is_cancelled() {
    let scene = PiScene::new("conversations: [{turns: [{say: '<promise>DONE</promise>'}]}]");
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --max-iterations 0");
    let requests = scene.model.wait_for_requests(7, super::scene::LIMIT);
    assert!(!requests[0].body["system"].to_string().contains("<promise>"));
    pi.prompt("/cancel-ralph");
    pi.wait_to_hear("Ralph: Cancelled");
    assert!(!scene.state_file().exists());
}

#[test]
fn the_state_file_says_everything_while_a_loop_runs() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop 'Say \"hi\"\n---\nand go on' --completion-promise 'ALL DONE' --max-iterations 2");
    scene.model.wait_until_held("first", super::scene::LIMIT);
    let state = scene.state();
    let (front, prompt) = state
        .strip_prefix("---\n")
        .unwrap()
        .split_once("\n---\n\n")
        .unwrap();
    assert_eq!(prompt, "Say \"hi\"\n---\nand go on\n");
    let fields: Vec<(&str, &str)> = front
        .lines()
        .map(|line| line.split_once(": ").unwrap())
        .collect();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names[..5],
        [
            "active",
            "iteration",
            "max_iterations",
            "completion_promise",
            "started_at"
        ]
    );
    let value = |wanted: &str| fields.iter().find(|(name, _)| *name == wanted).unwrap().1;
    assert_eq!(value("active"), "true");
    assert_eq!(value("iteration"), "1");
    assert_eq!(value("max_iterations"), "2");
    assert_eq!(value("completion_promise"), "\"ALL DONE\"");
    let started: String = serde_json::from_str(value("started_at")).unwrap();
    started.parse::<jiff::Timestamp>().unwrap();
    assert_eq!(value("owner_pid"), pi.pid().to_string());
    let session: String = serde_json::from_str(value("session_id")).unwrap();
    assert_eq!(pi.command("get_state")["data"]["sessionId"], session);
    let widget = pi.widget("ralph").unwrap();
    assert!(
        widget[0].starts_with("Ralph loop · iteration 1/2 · "),
        "{widget:?}"
    );
    assert!(
        widget[1].contains("until <promise>ALL DONE</promise>"),
        "{widget:?}"
    );
    assert!(widget[2].contains("/cancel-ralph now"), "{widget:?}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    scene.model.release("first");
    pi.wait_to_hear("Max iterations (2) reached");
    assert!(!scene.state_file().exists());
}

#[test]
fn a_conversation_before_the_loop_is_not_in_it_and_stays_its_parent() {
    let scene = PiScene::new(
        "conversations: [{when: hello, turns: [{say: hi}]}, {turns: [{say: '<promise>DONE</promise>'}]}]",
    );
    let mut pi = scene.rpc();
    pi.prompt("hello");
    pi.wait(|line| line["type"] == "agent_settled");
    let before = pi.command("get_state")["data"]["sessionFile"].clone();
    pi.prompt("/ralph-loop Build --completion-promise DONE");
    pi.wait_to_hear("Completion detected");
    assert_eq!(scene.lengths(), [1, 1]);
    let file = pi.command("get_state")["data"]["sessionFile"].clone();
    let header = std::fs::read_to_string(file.as_str().unwrap()).unwrap();
    let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    assert_eq!(header["parentSession"], before);
}

#[test]
fn a_loop_is_not_started_over_a_person_s_own_work() {
    let scene = PiScene::new("conversations: [{turns: [{say: one, hold: first}]}]");
    let mut pi = scene.rpc();
    pi.prompt("hello");
    scene.model.wait_until_held("first", super::scene::LIMIT);
    pi.prompt("/ralph-loop x");
    pi.wait_to_hear("Ralph: Pi is working: wait for it, or stop it with Esc");
    assert!(!scene.state_file().exists());
}

#[test]
fn fresh_contexts_keep_the_model_that_the_person_chose() {
    let scene = PiScene::new("conversations: [{turns: [{say: one}]}]");
    let models = scene.path("home/pi-agent/models.json");
    let mut known: Value = serde_json::from_slice(&std::fs::read(&models).unwrap()).unwrap();
    let list = &mut known["providers"]["loop-anthropic"]["models"];
    let mut second = list[0].clone();
    second["id"] = "scripted-2".into();
    list.as_array_mut().unwrap().push(second);
    std::fs::write(&models, known.to_string()).unwrap();
    let mut pi = scene.rpc();
    pi.write(&json!({"id": "m", "type": "set_model", "provider": "loop-anthropic", "modelId": "scripted-2"}));
    pi.wait(|line| line["id"] == "m" && line["success"] == true);
    pi.prompt("/ralph-loop x --max-iterations 2");
    pi.wait_to_hear("Max iterations (2) reached");
    let requests = scene.model.requests();
    let models: Vec<&str> = requests.iter().map(|request| request.model()).collect();
    assert_eq!(models, ["scripted-2", "scripted-2"]);
}

#[test]
fn help_and_status_are_there_without_a_loop() {
    let scene = PiScene::new("conversations: []");
    let mut pi = scene.rpc();
    let commands = pi.command("get_commands")["data"]["commands"].clone();
    let commands = commands.as_array().unwrap().clone();
    let find = |name: &str| {
        commands
            .iter()
            .find(|command| command["name"] == name)
            .unwrap()
    };
    assert_eq!(
        find("ralph-loop")["description"],
        "Start Ralph Wiggum iterative loop"
    );
    for name in [
        "cancel-ralph",
        "ralph-help",
        "ralph-status",
        "ralph-run",
        "ralph-next",
    ] {
        find(name);
    }
    pi.prompt("/ralph-help");
    let help = pi.wait_to_hear("/ralph-loop <prompt>");
    for flag in [
        "--max-iterations",
        "--completion-promise",
        "--same-context",
        "--subagent",
        "--verify",
    ] {
        assert!(help["message"].as_str().unwrap().contains(flag), "{flag}");
    }
    pi.prompt("/ralph-status");
    pi.wait_to_hear("Ralph: No loop is active");
    pi.prompt("/cancel-ralph");
    pi.wait_to_hear("Ralph: No loop is active");
    pi.prompt("/ralph-next");
    pi.wait_to_hear("/ralph-next is for the loop itself");
    assert!(scene.model.requests().is_empty());
}

#[test]
fn status_says_where_a_loop_is() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --max-iterations 2");
    scene.model.wait_until_held("first", super::scene::LIMIT);
    pi.prompt("/ralph-status");
    let said = pi.wait_to_hear("Ralph loop · iteration 1/2");
    assert!(
        said["message"].as_str().unwrap().contains("not recorded"),
        "{said}"
    );
    pi.prompt("/ralph-loop another one");
    pi.wait_to_hear("Ralph: a loop is active (iteration 1 of \"x\"): /cancel-ralph first");
    scene.model.release("first");
    pi.wait_to_hear("Max iterations (2) reached");
}

#[test]
fn arguments_that_are_wrong_start_nothing() {
    let scene = PiScene::new("conversations: []");
    let mut pi = scene.rpc();
    for (typed, said) in [
        (
            "Build --max-iteration 3",
            "--max-iteration is not a flag of /ralph-loop; did you mean --max-iterations?",
        ),
        ("Build --promise DONE", "did you mean --completion-promise?"),
        (
            "Build --max-iterations many",
            "needs a whole number, 0 for no limit",
        ),
        ("--max-iterations 3", "there is no prompt"),
        ("", "there is no prompt"),
        ("\"Build", "the quote \" is never closed"),
        ("Build --same-context --subagent", "exclude each other"),
    ] {
        pi.prompt(&format!("/ralph-loop {typed}"));
        let told = pi.wait_to_hear(said);
        assert_eq!(told["notifyType"], "error", "{typed}");
    }
    assert!(scene.model.requests().is_empty());
    assert!(!scene.repo().join(".pi").exists());
}
