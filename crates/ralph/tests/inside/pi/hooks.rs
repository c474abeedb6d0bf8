//! What Pi asks of the program ralph, answered by a script: recording, verification, refusals.

use serde_json::{Value, json};

use super::PiScene;
use super::scene::LIMIT;

/// Notes each question, and answers as a ralph that records does; verification passes the second time.
const RECORDS: &str = r#"
read -r asked
printf '{"verb":"%s","asked":%s}\n' "$2" "$asked" >> "$NOTES/asked.jsonl"
case "$2" in
  start) echo '{"loop":"loop-1"}' ;;
  verify)
    if [ -e "$NOTES/once" ]; then echo '{"passed":true,"text":""}'
    else touch "$NOTES/once"; echo '{"passed":false,"text":"\u001b[31mcargo test failed:\u001b[0m\n1 test of 2 fails"}'; fi ;;
  *) echo '{"recorded":true}' ;;
esac
"#;

fn asked(scene: &PiScene) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(scene.path("asked.jsonl")).unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| {
            (
                line["verb"].as_str().unwrap().to_owned(),
                line["asked"].clone(),
            )
        })
        .collect()
}

/// Waits until so many questions were asked: the last one comes after the words that a test waits for.
fn wait_for_questions(scene: &PiScene, count: usize) -> Vec<(String, Value)> {
    let until = std::time::Instant::now() + LIMIT;
    loop {
        let all = asked(scene);
        if all.len() >= count {
            return all;
        }
        assert!(std::time::Instant::now() < until, "{all:?}");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_loop_is_recorded_iteration_by_iteration() {
    let mut scene = PiScene::new(
        r#"
conversations:
  - times: 1
    turns:
      - say: one
        tools: [{bash: "true"}, {bash: "true"}]
        usage: {input: 1000, output: 50, cache_read: 10, cache_write: 20}
      - say: more
  - times: 1
    turns: [{say: later, faults: [{status: 401, message: bad key}]}]
  - turns: [{say: "<promise>DONE</promise>"}]
"#,
    );
    scene.with_ralph(RECORDS);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build --completion-promise DONE --max-iterations 9");
    pi.wait_to_hear("Completion detected");
    let all = wait_for_questions(&scene, 6);
    let verbs: Vec<&str> = all.iter().map(|(verb, _)| verb.as_str()).collect();
    assert_eq!(
        verbs,
        [
            "start",
            "iteration",
            "iteration",
            "iteration",
            "iteration",
            "end"
        ]
    );
    let (_, start) = &all[0];
    assert!(start["session"].as_str().is_some_and(|id| !id.is_empty()));
    let mut rest = start.clone();
    rest.as_object_mut().unwrap().remove("session");
    let expected = json!({"agent": "pi", "prompt": "Build", "maxIterations": 9, "completionPromise": "DONE", "verify": false});
    assert_eq!(rest, expected);
    let (_, first) = &all[1];
    for name in ["startedAt", "endedAt"] {
        first[name]
            .as_str()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .unwrap();
    }
    assert_eq!(
        (&first["loop"], &first["iteration"], &first["outcome"]),
        (&json!("loop-1"), &json!(1), &json!("ok"))
    );
    assert_eq!(
        (&first["error"], &first["toolCalls"]),
        (&Value::Null, &json!(2))
    );
    let call = |input: u64, output: u64, read: u64, write: u64, cost: f64| json!({"model": "loop-anthropic/scripted-1", "input": input, "output": output, "cacheRead": read, "cacheWrite": write, "costUsd": cost});
    assert_eq!(
        first["calls"],
        json!([
            call(1000, 50, 10, 20, 0.003_828),
            call(100, 20, 0, 0, 0.000_6)
        ])
    );
    assert_eq!(all[2].1["outcome"], "error");
    assert!(all[2].1["error"].as_str().unwrap().contains("bad key"));
    assert_eq!(all[5].1, json!({"loop": "loop-1", "reason": "promise"}));
    let heard = pi.heard();
    assert!(
        !heard.iter().any(|text| text.contains("not recorded")),
        "{heard:?}"
    );
}

#[test]
fn every_end_is_recorded_with_its_reason() {
    let held = "conversations: [{turns: [{say: one, hold: {name: first, at: mid_stream}}]}]";
    for (stop, reason) in [("/cancel-ralph now", "cancelled"), ("abort", "aborted")] {
        let mut scene = PiScene::new(held);
        scene.with_ralph(RECORDS);
        let mut pi = scene.rpc();
        pi.prompt("/ralph-loop x");
        scene.model.wait_until_held("first", LIMIT);
        if stop == "abort" {
            pi.command("abort");
        } else {
            pi.prompt(stop);
        }
        let all = wait_for_questions(&scene, 3);
        assert_eq!(all[1].1["outcome"], "aborted", "{stop}");
        assert_eq!(
            all[2],
            (
                "end".to_owned(),
                json!({"loop": "loop-1", "reason": reason})
            ),
            "{stop}"
        );
    }
    let mut scene = PiScene::new("conversations: [{turns: [{say: one}]}]");
    scene.with_ralph(RECORDS);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --max-iterations 1");
    let all = wait_for_questions(&scene, 3);
    assert_eq!(all[2].1["reason"], "max_iterations");
}

#[test]
fn a_promise_counts_once_it_is_verified() {
    let mut scene = PiScene::new("conversations: [{turns: [{say: '<promise>DONE</promise>'}]}]");
    scene.with_ralph(RECORDS);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build --completion-promise DONE --verify");
    pi.wait_to_hear("The promise was made in iteration 1, but verification failed");
    pi.wait_to_hear("Completion detected");
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].text().contains("Build\n\nThe promise was made, but verification failed:\n\ncargo test failed:\n1 test of 2 fails"));
    let all = wait_for_questions(&scene, 6);
    let verbs: Vec<&str> = all.iter().map(|(verb, _)| verb.as_str()).collect();
    assert_eq!(
        verbs,
        ["start", "iteration", "verify", "iteration", "verify", "end"]
    );
    assert_eq!(all[0].1["verify"], true);
    assert_eq!(all[2].1, json!({"loop": "loop-1"}));
}

#[test]
fn verification_that_cannot_be_had_counts_as_failed() {
    let mut scene = PiScene::new("conversations: [{turns: [{say: '<promise>DONE</promise>'}]}]");
    scene.with_ralph(r#"case "$2" in start) echo '{"loop":"l"}' ;; verify) echo broken >&2; exit 2 ;; *) echo '{"recorded":true}' ;; esac"#);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build --completion-promise DONE --verify --max-iterations 2");
    pi.wait_to_hear("verification failed");
    pi.wait_to_hear("Max iterations (2) reached");
    assert!(
        scene.model.requests()[1]
            .text()
            .contains("ralph hook verify: broken")
    );
}

#[test]
fn a_verification_that_runs_can_be_cancelled() {
    let mut scene = PiScene::new("conversations: [{turns: [{say: '<promise>DONE</promise>'}]}]");
    scene.with_ralph(r#"case "$2" in start) echo '{"loop":"l"}' ;; verify) touch "$NOTES/verifying"; sleep 300 ;; *) echo '{"recorded":true}' ;; esac"#);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build --completion-promise DONE --verify");
    pi.wait(|line| line["method"] == "setWidget" && line.to_string().contains("verifying"));
    pi.prompt("/cancel-ralph");
    pi.wait_to_hear("Ralph: Cancelled in iteration 1");
    pi.prompt("/ralph-loop again --max-iterations 1");
    pi.wait_to_hear("Max iterations (1) reached");
    assert_eq!(scene.model.requests().len(), 2);
}

#[test]
fn verification_without_ralph_is_refused() {
    let scene = PiScene::new("conversations: []");
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build --completion-promise DONE --verify");
    pi.wait_to_hear("Ralph: --verify needs the program ralph: there is no ralph on the PATH");
    assert!(scene.model.requests().is_empty());
    assert!(!scene.state_file().exists());
}

#[test]
fn what_ralph_refuses_is_not_started() {
    let mut scene = PiScene::new("conversations: []");
    scene.with_ralph("echo '{\"refused\":\"no verify command is configured\"}'");
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build --verify --completion-promise DONE");
    pi.wait_to_hear("Ralph: no verify command is configured");
    assert!(!scene.state_file().exists());
    assert!(scene.model.requests().is_empty());
}

#[test]
fn inside_a_run_of_ralph_no_loop_is_started() {
    let mut scene = PiScene::new("conversations: []");
    scene.set("RALPH_RUN", "1");
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build");
    pi.wait_to_hear("Ralph: this Pi is run by ralph");
    pi.prompt("/ralph-run");
    pi.wait_to_hear("Ralph: this Pi is itself run by ralph");
    assert!(scene.model.requests().is_empty());
    assert!(!scene.state_file().exists());
}

#[test]
fn a_loop_that_is_not_recorded_says_so_once_and_goes_on() {
    let scenario = "conversations: [{turns: [{say: one}]}]";
    for (script, said) in [
        (
            "echo '{\"loop\":null,\"note\":\"not a git repository\"}'",
            "not recorded: not a git repository",
        ),
        (
            "exit 3",
            "not recorded: ralph hook start: ended with code 3",
        ),
        (
            "case \"$2\" in start) echo '{\"loop\":\"l\"}' ;; *) echo full >&2; exit 1 ;; esac",
            "Not recorded: ralph hook iteration: full",
        ),
    ] {
        let mut scene = PiScene::new(scenario);
        scene.with_ralph(script);
        let mut pi = scene.rpc();
        pi.prompt("/ralph-loop Build --max-iterations 3");
        pi.wait_to_hear("Max iterations (3) reached");
        let heard = pi.heard();
        let told = heard.iter().filter(|text| text.contains("ot recorded"));
        let told: Vec<&String> = told.collect();
        assert!(
            told.len() == 1 && told[0].contains(said),
            "{script}: {heard:?}"
        );
    }
}
