//! Commands that start programs outside of a loop: these see as little of the machine as those of one.

use ralph_testkit::{TestRepo, fake_agent::fake_agent};
use serde_json::json;

use crate::support::{Ran, ralph_with};

/// A text in the home that nothing but the user's own programs has to do with.
const CANARY: &str = "canary-5d1c08";

fn repo() -> TestRepo {
    let repo = TestRepo::new();
    let folder = repo.home().join(".ssh");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("key"), CANARY).unwrap();
    repo
}

/// Runs a command with nothing shown besides, once in a sandbox and once in none.
fn both(run: impl Fn(&[(&str, &str)]) -> String) -> [String; 2] {
    ["auto", "off"].map(|sandbox| {
        run(&[
            ("RALPH_SAFETY_SANDBOX", sandbox),
            ("RALPH_SAFETY_ALLOW_WRITE", "[]"),
        ])
    })
}

/// In a sandbox the text is not found, and without one it is: the probe can find it.
#[track_caller]
fn assert_hidden([inside, outside]: &[String; 2]) {
    assert!(!inside.contains(CANARY), "{inside}");
    assert!(outside.contains(CANARY), "{outside}");
}

#[test]
fn what_is_verified_by_hand_runs_in_the_sandbox() {
    let config = "verification: {commands: ['cat ~/.ssh/key && echo x > ../written']}\n";
    for args in [&["verify"][..], &["verify", "--clean"]] {
        let repo = repo();
        repo.file("ralph.yaml", config).commit("config");
        let run = |vars: &[(&str, &str)]| {
            let ran: Ran = ralph_with(&repo, args, vars);
            format!("{} {}", ran.code, ran.out)
        };
        let [inside, outside] = both(run);
        assert!(inside.starts_with("4 "), "{args:?}: {inside}");
        assert!(outside.starts_with("0 "), "{args:?}: {outside}");
    }
}

#[test]
fn verify_commands_by_hand_have_the_network_that_is_configured() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let repo = repo();
    let command = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    let config = json!({"verification": {"commands": [command]}}).to_string();
    repo.file("ralph.yaml", config).commit("config");
    let code = |network: &str| {
        let vars = [("RALPH_VERIFICATION_NETWORK", network)];
        ralph_with(&repo, &["verify"], &vars).code
    };
    assert_eq!(
        ["auto", "open", "off"].map(code),
        [0, 0, 4],
        "no baseline tells what they need"
    );
}

#[test]
fn an_agent_that_plans_runs_in_the_sandbox() {
    let repo = repo();
    repo.file("brief.txt", "A shop.\n").commit("brief");
    let file = repo.path("scenario.json");
    let probe = json!({"do": "run", "command": "cat ~/.ssh/key"});
    let scenario = json!({"default": [probe, {"do": "say", "text": "no plan"}]});
    std::fs::write(&file, scenario.to_string()).unwrap();
    let agent = json!([fake_agent()]).to_string();
    let ran = both(|vars| {
        let own = [
            ("RALPH_CLAUDE_COMMAND", &*agent),
            ("FAKE_AGENT_SCENARIO", file.to_str().unwrap()),
        ];
        ralph_with(
            &repo,
            &["plan", "brief.txt", "--yes"],
            &[vars, &own].concat(),
        );
        repo.read(".ralph/logs/plan.stream")
    });
    assert!(ran[0].contains("no plan"), "{}", ran[0]);
    assert_hidden(&ran);
}

#[test]
fn an_agent_that_is_interviewed_without_a_person_runs_in_the_sandbox() {
    let ran = both(|vars| {
        let repo = repo();
        ralph_with(&repo, &["init", "shop"], &[]);
        let shell = "cat > /dev/null; { cat ~/.ssh/key; echo asked; } >> seen.txt";
        let config =
            json!({"agent": {"name": "fake", "command": ["bash", "-c", shell], "dialect": "text"}});
        repo.file("ralph.yaml", config.to_string());
        let args = ["interview", "shop", "--headless", "--rounds", "1"];
        let ran = ralph_with(&repo, &args, vars);
        let seen = repo.read("seen.txt");
        assert!(seen.contains("asked"), "{ran:?}");
        seen
    });
    assert_hidden(&ran);
}

#[test]
fn a_sandbox_that_is_required_and_not_there_is_refused_before_anything_is_started() {
    let repo = repo();
    repo.file("brief.txt", "A shop.\n");
    let config = "verification: {commands: ['echo x > ../started']}\nagent: {name: fake, command: [bash, -c, 'echo x > ../started'], dialect: text}\n";
    repo.file("ralph.yaml", config).commit("config");
    // No containment that a sandbox could be made in.
    let vars = [
        ("RALPH_SAFETY_SANDBOX", "required"),
        ("RALPH_CONTAINMENT", "process-group"),
    ];
    let ran = ralph_with(&repo, &["verify"], &vars);
    assert_eq!(ran.code, 2, "{ran:?}");
    let says = "there is no sandbox here as the configuration asks for";
    assert!(ran.err.contains(says), "{ran:?}");
    assert!(!repo.outside().join("started").exists());
}
