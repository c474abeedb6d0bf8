//! The other commands, the skills and the agent of the plugin, and the ways to get it.

use std::process::Stdio;

use ralph_testkit::model::Request;

use super::support::{ClaudeHome, both_pins, ralph};

fn plugin() -> String {
    format!("{}/../../integrations/claude", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_plugin_and_its_marketplace_are_valid() {
    for program in both_pins() {
        let home = ClaudeHome::without_plugin(program, "conversations: []\n");
        let folder = plugin();
        for path in [
            "",
            "/.claude-plugin/plugin.json",
            "/.claude-plugin/marketplace.json",
        ] {
            let mut command = home.command();
            command.args(["plugin", "validate", "--strict", &format!("{folder}{path}")]);
            let output = command.stdin(Stdio::null()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success() && said.contains("Validation passed"),
                "{path}: {output:?}"
            );
        }
    }
}

#[test]
fn commands_bring_what_ralph_reports_to_the_model() {
    let table = [
        ("/health-status", "no loop is running"),
        ("/token-status", "no budgets"),
        ("/cost-report", "nothing"),
        // Later versions have a command of their own by the short name.
        ("/ralph:checkpoint before the change", "before the change"),
        ("/ralph-help", "How it differs"),
    ];
    for program in both_pins() {
        let home = ClaudeHome::new(program, "conversations: [{turns: [{say: Shown.}]}]\n");
        for (command, told) in table {
            let said = home.say(command);
            assert_eq!(said.result(), "Shown.", "{command}: {said:?}");
            let requests = home.model.requests();
            let text = requests.last().unwrap().text();
            assert!(text.contains(told), "{command}: no {told:?} in {text}");
            assert!(!text.contains("command not found"), "{text}");
        }
    }
}

#[test]
fn skills_and_the_monitor_are_offered_to_the_model() {
    for program in both_pins() {
        let home = ClaudeHome::new(program, "conversations: [{turns: [{say: Hello.}]}]\n");
        home.say("hello");
        let requests = home.model.requests();
        let body = serde_json::to_string(&requests[0].body).unwrap();
        for name in [
            "ralph:ralph-wiggum-orchestration",
            "ralph:checkpoint-management",
            "ralph:health-monitoring-patterns",
            "ralph:token-economics-patterns",
            "ralph:ralph-loop-monitor",
        ] {
            assert!(body.contains(name), "{name}");
        }
        // Commands are for people.
        for name in [
            "ralph:ralph-loop:",
            "ralph:cancel-ralph",
            "ralph:cost-report",
        ] {
            assert!(!body.contains(name), "{name}");
        }
    }
}

#[test]
fn the_monitor_works_with_its_own_instructions_and_can_ask_ralph() {
    let health = format!("{} health --json", ralph());
    let scenario = format!(
        r#"
conversations:
  - when: Watch the loop
    turns:
      - tools: [{{bash: "{health}"}}]
      - say: No loop is running.
  - turns:
      - tools:
          - call: {{name: Agent, input: {{description: watch, prompt: Watch the loop, subagent_type: "ralph:ralph-loop-monitor"}}}}
      - say: Watched.
      - say: Watched.
"#
    );
    for program in both_pins() {
        let home = ClaudeHome::new(program, &scenario);
        // Later versions have it work beside the conversation, which hears of its end.
        let said = home.say("look after my loops");
        assert_eq!(said.result(), "Watched.", "{said:?}");
        let requests = home.model.requests();
        let own = |request: &&Request| {
            let system = request.system();
            system.contains("You watch loops that the `ralph` program runs outside of this session")
        };
        let asked: Vec<&Request> = requests.iter().filter(own).collect();
        assert_eq!(asked.len(), 2, "{requests:?}");
        let tools = asked[0].tools().iter().map(|tool| tool.name.as_str());
        assert_eq!(tools.collect::<Vec<_>>(), ["Bash", "Read"]);
        assert!(asked[1].text().contains("\"loops\""), "{}", asked[1].text());
    }
}

#[test]
fn a_plugin_of_the_project_is_loaded_where_the_folder_is_trusted() {
    for program in both_pins() {
        let scenario = "conversations: [{turns: [{say: '<promise>DONE</promise>'}]}]\n";
        let home = ClaudeHome::without_plugin(program, scenario);
        let installed = home.ralph(&["install", "claude", "--project"]).output();
        assert!(installed.unwrap().status.success());
        let trusted = serde_json::json!({
            "hasCompletedOnboarding": true,
            "projects": {home.repo.root().to_str().unwrap(): {"hasTrustDialogAccepted": true}},
        });
        std::fs::write(home.repo.home().join(".claude.json"), trusted.to_string()).unwrap();
        let said = home.say("/ralph-loop Build it --completion-promise DONE");
        let expected = ["Ralph: Completion detected: <promise>DONE</promise>"];
        assert_eq!(said.notices(), expected, "{said:?}");
    }
}

#[test]
fn the_marketplace_installs_the_same_plugin() {
    for program in both_pins() {
        let home = ClaudeHome::without_plugin(
            program,
            "conversations: [{turns: [{say: '<promise>DONE</promise>'}]}]\n",
        );
        let bin = home.repo.outside().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(ralph(), bin.join("ralph")).unwrap();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
        for args in [
            vec!["plugin", "marketplace", "add", &plugin()],
            vec!["plugin", "install", "ralph@ralph"],
        ] {
            let mut command = home.command();
            let output = command.args(&args).stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{args:?}: {output:?}");
        }
        let command = "/ralph-loop Build it --completion-promise DONE";
        let said = home.say_with(command, &[], &[("PATH", &path)]);
        assert_eq!(
            said.notices(),
            ["Ralph: Completion detected: <promise>DONE</promise>"],
            "{said:?}"
        );
    }
}
