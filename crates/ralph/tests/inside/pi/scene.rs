//! A scratch home and repository, a scripted model, and the real Pi with the package.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::agents;
use ralph_testkit::model::{Request, Scenario, ScriptedModel};

use super::PiRpc;

/// Longer than anything takes, for what must happen at all.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

pub(super) struct PiScene {
    folder: tempfile::TempDir,
    env: Vec<(String, String)>,
    pub(super) model: ScriptedModel,
}

impl PiScene {
    pub(super) fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().join("repo");
        std::fs::create_dir(&repo).unwrap();
        let model = ScriptedModel::start(Scenario::parse(scenario).unwrap());
        let home = folder.path().join("home");
        let env = agents::pi_env(&home, &model.url());
        // Pi waits two seconds and more before it asks again.
        let settings = r#"{"retry": {"baseDelayMs": 20}}"#;
        std::fs::write(home.join("pi-agent/settings.json"), settings).unwrap();
        let scene = Self { folder, env, model };
        scene.git(&["init", "-q", "-b", "main"]);
        scene
    }

    /// The extension, as the repository has it.
    pub(super) fn package() -> PathBuf {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        crates.parent().unwrap().join("integrations/pi")
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    pub(super) fn state_file(&self) -> PathBuf {
        self.repo().join(".pi/ralph-loop.local.md")
    }

    pub(super) fn state(&self) -> String {
        std::fs::read_to_string(self.state_file()).unwrap()
    }

    #[track_caller]
    pub(super) fn wait_for_file(&self, name: &str) {
        let until = Instant::now() + LIMIT;
        while !self.path(name).exists() {
            assert!(Instant::now() < until, "there is no {name}");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Writes a program `ralph`, which Pi is told of.
    pub(super) fn with_ralph(&mut self, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let program = self.path("ralph");
        std::fs::write(&program, format!("#!/bin/bash\n{script}\n")).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        self.set("RALPH_BIN", program.to_str().unwrap());
        let notes = self.folder.path().to_str().unwrap().to_owned();
        self.set("NOTES", &notes);
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        let output = self.clean(&mut command).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The real ralph in the repository.
    pub(super) fn ralph(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
        self.clean(&mut command).args(args).output().unwrap()
    }

    /// A first commit: ralph verifies a change, and that is one of something.
    pub(super) fn first_commit(&self) {
        let who = ["-c", "user.name=Test", "-c", "user.email=test@test.invalid"];
        self.git(&[&who[..], &["commit", "-q", "--allow-empty", "-m", "start"]].concat());
    }

    /// Pi in the repository, with the clean environment and no package yet.
    pub(super) fn bare_pi(&self, args: &[&str]) -> Command {
        let mut command = Command::new(agents::pi());
        self.clean(&mut command).args(args).stdin(Stdio::null());
        command
    }

    /// The same with the package and the scripted model.
    pub(super) fn pi(&self, args: &[&str]) -> Command {
        let extension = Self::package().join("extensions/ralph.ts");
        let mut command = self.bare_pi(&["--model", agents::PI_MODEL, "-e"]);
        command.arg(extension).args(args);
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Output {
        self.pi(args).output().unwrap()
    }

    pub(super) fn rpc(&self) -> PiRpc {
        PiRpc::start(self.pi(&["--mode", "rpc"]))
    }

    fn clean<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let env = self.env.iter().map(|(name, value)| (name, value));
        command.env_clear().envs(env).current_dir(self.repo())
    }

    /// The number of messages in each request.
    pub(super) fn lengths(&self) -> Vec<usize> {
        let requests = self.model.requests();
        requests.iter().map(message_count).collect()
    }
}

/// Messages of people and of the model; what Pi says of itself is not one.
pub(super) fn message_count(request: &Request) -> usize {
    request.body["messages"].as_array().unwrap().len()
}
