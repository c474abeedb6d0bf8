//! Runs of real agents: started in an environment of their own, ended at a limit.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use ralph_testkit::agents;
use ralph_testkit::model::{Scenario, ScriptedModel};
use serde_json::Value;
use tempfile::TempDir;

/// Long enough for an agent on a busy machine; none of the runs waits by itself.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A model, a home and a folder to work in.
pub(crate) struct AgentSetup {
    pub(crate) model: ScriptedModel,
    pub(crate) env: Vec<(String, String)>,
    dir: TempDir,
}

impl AgentSetup {
    pub(crate) fn new(scenario: &str) -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        Self {
            model: ScriptedModel::start(Scenario::parse(scenario).unwrap()),
            env: Vec::new(),
            dir,
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn file(&self, name: &str) -> String {
        let path = self.work().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub(crate) fn claude(&self, prompt: &str) -> Command {
        let env = agents::claude_env(&self.home(), &self.model.url());
        let mut command = self.command(&agents::claude(), env);
        let flags = "-p --output-format stream-json --verbose --dangerously-skip-permissions";
        command
            .args(flags.split(' '))
            .args(["--model", "claude-sonnet-4-5", prompt]);
        command
    }

    pub(crate) fn pi(&self, prompt: &str) -> Command {
        let env = agents::pi_env(&self.home(), &self.model.url());
        let mut command = self.command(&agents::pi(), env);
        command
            .args(["--mode", "json", "--no-session", "--model"])
            .args([agents::PI_MODEL, "--", prompt]);
        command
    }

    fn command(&self, program: &Path, env: Vec<(String, String)>) -> Command {
        // The limit is another program's, so that a hung agent can't hang the test.
        let mut command = Command::new("timeout");
        command
            .args(["--signal=KILL", &LIMIT.as_secs().to_string()])
            .arg(program)
            .current_dir(self.work())
            .env_clear()
            .envs(env)
            .envs(self.env.clone())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// What an agent printed and ended with.
pub(crate) struct AgentRun {
    pub(crate) output: Output,
}

impl AgentRun {
    pub(crate) fn of(mut command: Command) -> Self {
        Self::end_of(command.spawn().unwrap())
    }

    pub(crate) fn end_of(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        Self { output }
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let text = String::from_utf8_lossy(&self.output.stdout);
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        text.lines().map(parse).collect()
    }

    /// The last event of a type.
    #[track_caller]
    pub(crate) fn last(&self, kind: &str) -> Value {
        let found = self.events().into_iter().rfind(|e| e["type"] == kind);
        found.unwrap_or_else(|| {
            let errors = String::from_utf8_lossy(&self.output.stderr).into_owned();
            panic!("no {kind} in {:#?}\n{errors}", self.events())
        })
    }
}
