//! A repository with the plugin in its home, and Claude Code in it, without a terminal.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
};

use ralph_testkit::{
    TestRepo, agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::{Value, json};

/// Claude Code at the pin and at the second pin; at the first alone in a bounded round of `scripts/test`.
pub(crate) fn both_pins() -> Vec<PathBuf> {
    let mut pins = vec![agents::claude()];
    if std::env::var("RALPH_TEST_PINS").as_deref() != Ok("first") {
        pins.push(agents::second_claude().0);
    }
    pins
}

pub(crate) const STATE: &str = ".claude/ralph-loop.local.md";

pub(crate) struct ClaudeHome {
    pub(crate) repo: TestRepo,
    pub(crate) model: ScriptedModel,
    program: PathBuf,
}

impl ClaudeHome {
    /// With the plugin installed for the user.
    pub(crate) fn new(program: PathBuf, scenario: &str) -> Self {
        let home = Self::without_plugin(program, scenario);
        let output = home.ralph(&["install", "claude"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        home
    }

    pub(crate) fn without_plugin(program: PathBuf, scenario: &str) -> Self {
        Self {
            repo: TestRepo::new(),
            model: ScriptedModel::start(Scenario::parse(scenario).unwrap()),
            program,
        }
    }

    pub(crate) fn ralph(&self, args: &[&str]) -> Command {
        let mut command = self.repo.command(ralph());
        command.args(args);
        command
    }

    /// Claude Code with an environment of its own and nothing else.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().current_dir(self.repo.root());
        command.envs(agents::claude_env(&self.repo.home(), &self.model.url()));
        command.env("RALPH_DATA_DIR", self.repo.data_dir());
        command
    }

    fn printing(&self) -> Command {
        let mut command = self.command();
        command.args(["-p", "--output-format", "stream-json", "--verbose"]);
        command.args(["--include-hook-events", "--dangerously-skip-permissions"]);
        command
    }

    /// Says one thing and waits for the end.
    pub(crate) fn say(&self, prompt: &str) -> Said {
        self.say_with(prompt, &[], &[])
    }

    pub(crate) fn say_with(&self, prompt: &str, args: &[&str], env: &[(&str, &str)]) -> Said {
        let mut command = self.printing();
        command.args(args).arg(prompt).envs(env.iter().copied());
        let output = command.stdin(Stdio::null()).output().unwrap();
        Said::read(&output.stdout)
    }

    /// Starts a session that goes on, and takes more messages.
    pub(crate) fn talk(&self, first: &str) -> Talk {
        let mut command = self.printing();
        command.args(["--input-format", "stream-json"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut talk = Talk {
            child,
            input: Some(input),
            lines,
            events: Vec::new(),
        };
        talk.message(first);
        talk
    }

    /// The one loop in the journal.
    pub(crate) fn recorded(&self) -> Value {
        let output = self.ralph(&["loops", "--json"]).output().unwrap();
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
        let sessions = listed["sessions"].as_array().expect("a loop in a session");
        assert_eq!(sessions.len(), 1, "{listed}");
        sessions[0].clone()
    }

    /// The answers of the model to the agent itself.
    pub(crate) fn answers(&self) -> usize {
        self.model.requests().len()
    }

    pub(crate) fn state(&self) -> Option<String> {
        std::fs::read_to_string(self.repo.path(STATE)).ok()
    }
}

pub(crate) fn ralph() -> &'static str {
    env!("CARGO_BIN_EXE_ralph")
}

/// A session that is under way.
pub(crate) struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    lines: BufReader<std::process::ChildStdout>,
    events: Vec<Value>,
}

impl Talk {
    fn line(&mut self, value: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{value}").unwrap();
    }

    pub(crate) fn message(&mut self, text: &str) {
        self.line(&json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    pub(crate) fn interrupt(&mut self) {
        self.line(&json!({"type": "control_request", "request_id": "r1", "request": {"subtype": "interrupt"}}));
    }

    /// Waits for the end of a turn.
    pub(crate) fn result(&mut self) {
        loop {
            let event = self.next().expect("a result");
            if event["type"] == "result" {
                return;
            }
        }
    }

    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.lines.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        let event: Value = serde_json::from_str(&line).unwrap();
        self.events.push(event.clone());
        Some(event)
    }

    /// Kills it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Says nothing more, and waits for the end.
    pub(crate) fn end(mut self) -> Said {
        self.input = None;
        while self.next().is_some() {}
        self.child.wait().unwrap();
        Said {
            events: std::mem::take(&mut self.events),
        }
    }
}

/// All that a session printed.
#[derive(Debug)]
pub(crate) struct Said {
    events: Vec<Value>,
}

impl Said {
    fn read(output: &[u8]) -> Self {
        let text = String::from_utf8_lossy(output);
        let events = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")));
        Self {
            events: events.collect(),
        }
    }

    /// The answers that hooks of one kind gave, in their order.
    pub(crate) fn hooks(&self, kind: &str) -> Vec<Value> {
        let of_kind = |event: &&Value| {
            event["subtype"] == "hook_response"
                && event["hook_event"] == kind
                && event["hook_name"]
                    .as_str()
                    .is_some_and(|name| name.starts_with(kind))
        };
        let read = |event: &Value| {
            assert_eq!(event["exit_code"], 0, "{event}");
            let text = event["stdout"].as_str().unwrap();
            serde_json::from_str(text).unwrap_or(Value::Null)
        };
        self.events.iter().filter(of_kind).map(read).collect()
    }

    /// The messages that the hook of a stop had for the person.
    pub(crate) fn notices(&self) -> Vec<String> {
        let said = self.hooks("Stop");
        let text = |value: &Value| value["systemMessage"].as_str().map(str::to_owned);
        said.iter().filter_map(text).collect()
    }

    pub(crate) fn result(&self) -> &str {
        let result = self.events.iter().rfind(|event| event["type"] == "result");
        result.unwrap()["result"].as_str().unwrap_or_default()
    }

    pub(crate) fn session(&self) -> String {
        let known = self
            .events
            .iter()
            .find_map(|event| event["session_id"].as_str());
        known.unwrap().to_owned()
    }
}
