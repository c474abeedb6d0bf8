//! A repository with a brief, and the fake agent that plans in it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use ralph_testkit::{TestRepo, fake_agent::fake_agent};
use serde_json::{Value, json};

use crate::support::Ran;

pub(super) struct Scene {
    pub(super) repo: TestRepo,
    env: Vec<(String, String)>,
}

/// A plan that will do.
pub(super) fn plan() -> Value {
    json!({
        "feature": {"id": "shop", "title": "A shop", "description": "People buy things in it."},
        "tasks": [
            {
                "id": "shop-1", "title": "Add a cart",
                "description": "Add cart.txt at the top of the repository with one line per item.",
                "acceptance": ["cart.txt has the line `apple`"],
                "verify": ["grep -q apple cart.txt"], "files": ["cart.txt"]
            },
            {
                "id": "shop-2", "title": "Pay at a till",
                "description": "Add till.txt at the top of the repository with the sum of cart.txt.",
                "acceptance": ["till.txt has the sum"],
                "verify": ["test -s till.txt"], "dependsOn": ["shop-1"], "files": ["till.txt"]
            }
        ]
    })
}

impl Scene {
    /// With what the fake agent does, as Claude Code.
    pub(super) fn playing(scenario: &Value) -> Self {
        let repo = TestRepo::new();
        repo.file("brief.txt", "A small shop: a cart and a till.\n")
            .commit("brief");
        let file = repo.outside().join("scenario.json");
        std::fs::write(&file, scenario.to_string()).unwrap();
        let env = vec![
            (
                "RALPH_CLAUDE_COMMAND".to_owned(),
                json!([fake_agent()]).to_string(),
            ),
            ("FAKE_AGENT_SCENARIO".to_owned(), file.display().to_string()),
        ];
        Self { repo, env }
    }

    /// With an agent that says this as its last word, in every round.
    pub(super) fn answering(text: &str) -> Self {
        let usage = json!({"do": "usage", "input": 2000, "output": 100, "cacheRead": 500});
        let result = json!({"do": "result", "text": text, "cost": 0.0125});
        Self::playing(&json!({"default": [usage, {"do": "say", "text": text}, result]}))
    }

    /// With an agent that says one thing after the other, a round each.
    pub(super) fn answering_in_turn(texts: &[String]) -> Self {
        let case = |(n, text): (usize, &String)| {
            let prompt = json!({"do": "recordPrompt", "file": "{{HOME}}/prompts"});
            json!({"run": n + 1, "actions": [prompt, {"do": "say", "text": text}]})
        };
        let cases: Vec<Value> = texts.iter().enumerate().map(case).collect();
        Self::playing(&json!({ "cases": cases }))
    }

    pub(super) fn with_env(repo: TestRepo, env: Vec<(String, String)>) -> Self {
        Self { repo, env }
    }

    pub(super) fn prompts(&self) -> String {
        std::fs::read_to_string(self.repo.home().join("prompts")).unwrap()
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.repo.command(env!("CARGO_BIN_EXE_ralph"));
        command
            .args(args)
            .envs(self.env.iter().filter(|(name, _)| name != "PATH").cloned());
        command
    }

    pub(super) fn plan(&self, args: &[&str]) -> Ran {
        self.ralph(&[&["plan"], args].concat())
    }

    pub(super) fn ralph(&self, args: &[&str]) -> Ran {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Who does not read it closes it.
        let _ = child
            .stdin
            .take()
            .unwrap()
            .write_all(b"A shop from stdin\n");
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Nothing came of it: no task file, no parent, and the repository as it was.
    #[track_caller]
    pub(super) fn assert_nothing_written(&self) {
        assert!(!self.repo.exists(".ralph/tasks"));
        assert!(!self.repo.exists(".ralph/parent-task-id"));
        let status = self.repo.status();
        assert_eq!(status, Vec::<String>::new());
    }
}
