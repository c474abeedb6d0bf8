//! Pi without a person (print and JSON), and the package when it is installed.

use std::process::{Output, Stdio};

use ralph_testkit::agents;
use serde_json::Value;

use super::scene::LIMIT;
use super::{PiRpc, PiScene};

const THREE_FRESH: &str = r#"
conversations:
  - times: 2
    turns: [{say: more}]
  - turns: [{say: "Made it. <promise>DONE</promise>"}]
"#;
const THREE_SAME: &str = "conversations: [{turns: [{say: more}, {say: more}, {say: 'Made it. <promise>DONE</promise>'}]}]";

#[track_caller]
fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert!(output.status.success(), "{output:?}");
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn print_mode_waits_for_the_end_of_the_loop() {
    for (scenario, flag, lengths) in [
        (THREE_FRESH, "", [1, 1, 1]),
        (THREE_SAME, " --same-context", [1, 3, 5]),
    ] {
        let scene = PiScene::new(scenario);
        let line = format!("/ralph-loop Build --completion-promise DONE{flag}");
        let (out, err) = said(&scene.run(&["-p", &line]));
        assert_eq!(out, "Made it. <promise>DONE</promise>\n", "{flag}");
        assert_eq!(
            err,
            "Ralph: The loop is not recorded: there is no ralph on the PATH\n\
             Ralph: Completion detected: <promise>DONE</promise>\n",
            "{flag}"
        );
        assert_eq!(scene.lengths(), lengths, "{flag}");
        assert!(!scene.state_file().exists());
    }
}

#[test]
fn json_mode_waits_for_the_end_of_the_loop() {
    for (scenario, flag, lengths) in [
        (THREE_FRESH, "", [1, 1, 1]),
        (THREE_SAME, " --same-context", [1, 3, 5]),
    ] {
        let scene = PiScene::new(scenario);
        let line = format!("/ralph-loop Build --completion-promise DONE{flag}");
        let (out, err) = said(&scene.run(&["--mode", "json", &line]));
        let events = out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let settled = events
            .filter(|event| event["type"] == "agent_settled")
            .count();
        assert_eq!(settled, 3, "{flag}");
        assert!(
            err.contains("Ralph: Completion detected: <promise>DONE</promise>\n"),
            "{err}"
        );
        assert_eq!(scene.lengths(), lengths, "{flag}");
    }
}

#[test]
fn a_loop_in_print_mode_that_is_terminated_leaves_nothing() {
    let scene = PiScene::new("conversations: [{turns: [{say: one, hold: first}]}]");
    let mut command = scene.pi(&["-p", "/ralph-loop x"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    scene.model.wait_until_held("first", LIMIT);
    assert!(scene.state_file().exists());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(!scene.state_file().exists());
}

#[test]
fn a_folder_that_cannot_take_the_state_is_named() {
    let scene = PiScene::new("conversations: []");
    std::fs::write(scene.repo().join(".pi"), "a file").unwrap();
    let (_, err) = said(&scene.run(&["-p", "/ralph-loop x"]));
    assert!(
        err.contains("Ralph: .pi/ralph-loop.local.md can't be written: "),
        "{err}"
    );
    assert!(scene.model.requests().is_empty());
}

#[test]
fn print_mode_says_what_is_wrong_with_a_command() {
    let scene = PiScene::new("conversations: []");
    let (out, err) = said(&scene.run(&["-p", "/ralph-loop Build --max-iteration 3"]));
    assert_eq!(out, "");
    assert!(
        err.starts_with(
            "Ralph: --max-iteration is not a flag of /ralph-loop; did you mean --max-iterations?"
        ),
        "{err}"
    );
    assert!(scene.model.requests().is_empty());
}

#[test]
fn print_mode_counts_iterations_past_failed_calls_to_the_limit() {
    let scene = PiScene::new(
        r#"
conversations:
  - times: 1
    turns: [{say: one}]
  - times: 1
    turns: [{say: two, faults: [{status: 500, repeat: 2}]}]
  - turns: [{say: "<promise>OTHER</promise> <promise>DONE</promise>"}]
"#,
    );
    let line = "/ralph-loop Build --completion-promise DONE --max-iterations 3";
    let (out, err) = said(&scene.run(&["-p", line]));
    assert_eq!(out, "<promise>OTHER</promise> <promise>DONE</promise>\n");
    assert!(
        err.ends_with("Ralph: Max iterations (3) reached\n"),
        "{err}"
    );
    assert_eq!(scene.lengths(), [1; 5], "two of them failed");
    assert!(!scene.state_file().exists());
}

#[test]
fn print_mode_stops_after_three_failed_iterations() {
    let scene = PiScene::new(
        "conversations: [{turns: [{say: never, faults: [{status: 401, repeat: forever}]}]}]",
    );
    let output = scene.run(&["-p", "/ralph-loop x --completion-promise DONE"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("Ralph: Stopped after 3 failed iterations in a row: 401"),
        "{told}"
    );
    assert_eq!(scene.model.requests().len(), 3);
    assert!(!scene.state_file().exists());
}

#[test]
fn print_mode_says_what_became_of_the_state_file() {
    let file = ".pi/ralph-loop.local.md";
    for (change, told) in [
        (
            format!("rm {file}"),
            "ralph-loop.local.md was deleted: the loop has stopped after iteration 1",
        ),
        (
            format!("sed -i 's/^iteration: .*/iteration: one/' {file}"),
            "can't be read (iteration is not a number from 0)",
        ),
        (
            format!("sed -i 's/^active: true/active: false/' {file}"),
            "says that the loop is not active",
        ),
    ] {
        let scenario = format!(
            "conversations: [{{turns: [{{say: one, tools: [{{bash: \"{change}\"}}]}}, {{say: two}}]}}]"
        );
        let scene = PiScene::new(&scenario);
        let (_, err) = said(&scene.run(&["-p", "/ralph-loop x"]));
        assert!(err.contains(told), "{change}: {err}");
        assert_eq!(scene.model.requests().len(), 2, "{change}");
    }
}

#[test]
fn print_mode_answers_the_other_commands_too() {
    let scene = PiScene::new("conversations: []");
    for (command, told) in [
        (
            "/ralph-help",
            "/ralph-loop <prompt> [flags]    starts a loop\n",
        ),
        ("/ralph-status", "Ralph: No loop is active\n"),
        ("/cancel-ralph now", "Ralph: No loop is active\n"),
        (
            "/ralph-run --json",
            "Ralph: /ralph-run takes a task file or folder, not --json\n",
        ),
    ] {
        let (out, err) = said(&scene.run(&["-p", command]));
        assert_eq!(out, "", "{command}");
        assert!(err.contains(told), "{command}: {err}");
    }
    assert!(scene.model.requests().is_empty());
}

#[test]
fn print_mode_verifies_a_promise() {
    let mut scene = PiScene::new(
        r#"
conversations:
  - times: 1
    turns: [{say: "<promise>DONE</promise>"}]
  - turns:
      - tools: [{write: {path: made.txt, content: "made\n"}}]
      - say: "<promise>DONE</promise>"
"#,
    );
    scene.set("RALPH_BIN", env!("CARGO_BIN_EXE_ralph"));
    let config = "verification: {commands: [\"test -e made.txt\"]}\n";
    std::fs::write(scene.repo().join("ralph.yaml"), config).unwrap();
    scene.first_commit();
    let (_, err) = said(&scene.run(&["-p", "/ralph-loop x --completion-promise DONE --verify"]));
    assert!(
        err.contains("The promise was made in iteration 1, but verification failed"),
        "{err}"
    );
    assert!(
        err.ends_with("Ralph: Completion detected: <promise>DONE</promise>\n"),
        "{err}"
    );
    assert_eq!(scene.model.requests().len(), 3);
}

#[test]
fn a_message_after_the_command_comes_after_the_loop() {
    let scene = PiScene::new(
        "conversations: [{when: 'and now', turns: [{say: later}]}, {times: 1, turns: [{say: more}]}, {turns: [{say: '<promise>DONE</promise>'}, {say: later}]}]",
    );
    let (out, _) = said(&scene.run(&[
        "-p",
        "/ralph-loop Build --completion-promise DONE",
        "and now",
    ]));
    assert_eq!(out, "later\n");
    assert_eq!(scene.model.requests().len(), 3);
}

#[test]
fn the_package_works_when_it_is_installed_for_a_user_or_a_project() {
    for (flags, approve) in [(&[][..], &[][..]), (&["-l"][..], &["--approve"][..])] {
        let scene = PiScene::new(THREE_FRESH);
        let package = PiScene::package();
        let mut install = vec!["install", package.to_str().unwrap()];
        install.extend(flags);
        install.extend(approve);
        let (out, err) = said(&scene.bare_pi(&install).output().unwrap());
        assert!(
            format!("{out}{err}").to_lowercase().contains("installed"),
            "{out}{err}"
        );
        let mut args = vec!["--model", agents::PI_MODEL, "-p"];
        args.extend(approve);
        args.push("/ralph-loop Build --completion-promise DONE");
        let (_, err) = said(&scene.bare_pi(&args).output().unwrap());
        assert!(
            err.contains("Ralph: Completion detected"),
            "{flags:?}: {err}"
        );
        assert_eq!(scene.lengths(), [1, 1, 1], "{flags:?}");
    }
}

#[test]
fn a_package_that_is_loaded_twice_counts_once() {
    let scene = PiScene::new(THREE_FRESH);
    let package = PiScene::package();
    said(
        &scene
            .bare_pi(&["install", package.to_str().unwrap()])
            .output()
            .unwrap(),
    );
    let copy = scene.path("copy");
    for folder in ["extensions", "src"] {
        std::fs::create_dir_all(copy.join(folder)).unwrap();
        for file in std::fs::read_dir(package.join(folder)).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), copy.join(folder).join(file.file_name())).unwrap();
        }
    }
    let copy = copy.join("extensions/ralph.ts");
    let args = [
        "--model",
        agents::PI_MODEL,
        "--mode",
        "rpc",
        "-e",
        copy.to_str().unwrap(),
    ];
    let mut pi = PiRpc::start(scene.bare_pi(&args));
    let commands = pi.command("get_commands")["data"]["commands"].clone();
    let mut names = commands
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["name"].as_str().unwrap().to_owned());
    let name = names.find(|name| name.starts_with("ralph-loop")).unwrap();
    pi.prompt(&format!("/{name} Build --completion-promise DONE"));
    pi.wait_to_hear("Completion detected");
    assert_eq!(scene.lengths(), [1, 1, 1]);
}
