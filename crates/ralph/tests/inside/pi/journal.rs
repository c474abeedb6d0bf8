//! The package with the real program ralph: what `ralph hook` records and verifies.

use std::time::{Duration, Instant};

use ralph_testkit::agents;
use serde_json::Value;

use super::PiScene;
use super::scene::LIMIT;

/// Waits until the one loop has an end in the journal: that comes after the words that a test waits for.
fn wait_for_end(scene: &PiScene) -> Value {
    let until = Instant::now() + LIMIT;
    loop {
        let listed = scene.ralph(&["loops", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        if !listed["sessions"][0]["reason"].is_null() {
            return listed;
        }
        assert!(Instant::now() < until, "{listed}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn the_real_ralph_records_a_loop() {
    let mut scene = PiScene::new(
        "conversations: [{times: 1, turns: [{say: more}]}, {turns: [{say: '<promise>DONE</promise>'}]}]",
    );
    scene.set("RALPH_BIN", env!("CARGO_BIN_EXE_ralph"));
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build --completion-promise DONE");
    pi.wait_to_hear("Completion detected");
    let heard = pi.heard();
    assert!(
        !heard.iter().any(|text| text.contains("ot recorded")),
        "{heard:?}"
    );
    let listed = wait_for_end(&scene);
    let row = &listed["sessions"][0];
    assert_eq!(row["reason"], "promise", "{listed}");
    assert_eq!(row["iterations"], 2, "{listed}");
    assert_eq!(row["tokens"], 240, "two answers of 120 tokens: {listed}");
    assert_eq!(row["agent"], "pi", "{listed}");
}

#[test]
fn an_installed_package_is_loaded_and_finds_the_program_that_installed_it() {
    for project in [false, true] {
        let scene = PiScene::new("conversations: [{turns: [{say: '<promise>DONE</promise>'}]}]");
        let (install, trust) = if project {
            (vec!["install", "pi", "--project"], vec!["--approve"])
        } else {
            (vec!["install", "pi"], vec![])
        };
        let installed = scene.ralph(&install);
        assert!(installed.status.success(), "{installed:?}");
        let mut pi = scene.bare_pi(&["--model", agents::PI_MODEL]);
        pi.args(trust);
        pi.args(["-p", "/ralph-loop Build --completion-promise DONE"]);
        let output = pi.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(scene.lengths(), [1], "{output:?}");
        let listed = scene.ralph(&["loops", "--json"]);
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed["sessions"][0]["reason"], "promise", "{listed}");
    }
}

#[test]
fn the_real_ralph_verifies_a_promise() {
    let mut scene = PiScene::new(
        r#"
conversations:
  - times: 1
    turns:
      - say: I weaken what verifies me.
        tools: [{bash: "echo 'verification: {commands: [\"true\"]}' > ralph.yaml; sed -i 's/^verify: true/verify: false/; s/^loop_id:.*/loop_id: null/' .pi/ralph-loop.local.md"}]
      - say: "<promise>DONE</promise>"
  - turns:
      - say: I write it.
        tools: [{write: {path: made.txt, content: "made\n"}}]
      - say: "<promise>DONE</promise>"
"#,
    );
    scene.set("RALPH_BIN", env!("CARGO_BIN_EXE_ralph"));
    let config = "verification: {commands: [\"test -e made.txt\"]}\n";
    std::fs::write(scene.repo().join("ralph.yaml"), config).unwrap();
    scene.first_commit();
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop Build --completion-promise DONE --verify --max-iterations 4");
    pi.wait_to_hear("but verification failed");
    pi.wait_to_hear("Completion detected");
}
