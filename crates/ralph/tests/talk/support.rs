//! A scratch home and folder, and a shell in a tmux of its own where the test types.

mod inside;
mod pane;
mod processes;
mod running;

pub(crate) use inside::{is_inside, session_inside};
pub(crate) use pane::Pane;
pub(crate) use processes::{Process, marked};

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_testkit::agents;
use ralph_testkit::model::{Scenario, ScriptedModel};

/// Longer than anything takes, for what must happen at all.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

pub(crate) fn ralph() -> PathBuf {
    env!("CARGO_BIN_EXE_ralph").into()
}

/// Looks until something is found; fails with what there is instead.
#[track_caller]
pub(crate) fn wait<T>(mut look: impl FnMut() -> Option<T>, instead: impl Fn() -> String) -> T {
    let until = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited too long: {}", instead());
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Folders of one test, and what its shell is started with.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Scene {
    /// Without a model, for agents that are small programs.
    pub(crate) fn new() -> Self {
        Self::at("http://127.0.0.1:9")
    }

    /// With Claude Code at its first screen: everything that it would ask at its very first start was
    /// answered.
    pub(crate) fn with_claude(scenario: &str) -> (Self, ScriptedModel) {
        let model = ScriptedModel::start(Scenario::parse(scenario).unwrap());
        let scene = Self::at(&model.url());
        let claude = agents::claude();
        scene.write(
            "repo/ralph.yaml",
            &format!("claude: {{command: [{claude:?}]}}\n"),
        );
        let answers = serde_json::json!({
            "hasCompletedOnboarding": true,
            "customApiKeyResponses": {"approved": ["dummy-key"], "rejected": []},
            "projects": {scene.folder.path().to_str().unwrap(): {"hasTrustDialogAccepted": true}},
        });
        scene.write("home/.claude.json", &answers.to_string());
        scene.write(
            "home/.claude/settings.json",
            r#"{"skipDangerousModePermissionPrompt": true}"#,
        );
        (scene, model)
    }

    /// With an agent that is a shell script, started as Claude Code would be.
    pub(crate) fn with_script(script: &str) -> Self {
        let scene = Self::new();
        scene.write("agent.sh", script);
        let path = scene.folder.path().join("agent.sh");
        scene.write(
            "repo/ralph.yaml",
            &format!("agent: {{name: script, command: [bash, {path:?}], dialect: claude}}\n"),
        );
        scene
    }

    pub(crate) fn with_pi(scenario: &str) -> (Self, ScriptedModel) {
        let model = ScriptedModel::start(Scenario::parse(scenario).unwrap());
        let mut scene = Self::at(&model.url());
        scene.env = agents::pi_env(&scene.folder.path().join("home"), &model.url());
        let (pi, name) = (agents::pi(), agents::PI_MODEL);
        scene.write(
            "repo/ralph.yaml",
            &format!("pi: {{command: [{pi:?}], model: {name}}}\n"),
        );
        (scene, model)
    }

    /// The variable by which agents of tests can leave notes beside the repository.
    pub(crate) fn notes(&self) -> (String, String) {
        let folder = self.folder.path();
        let paths = format!("[{folder:?},{:?}]", folder.join("home"));
        ("RALPH_SAFETY_ALLOW_WRITE".to_owned(), paths)
    }

    fn at(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "repo"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let env = agents::claude_env(&folder.path().join("home"), url);
        Self { folder, env }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    pub(crate) fn env(&self) -> Vec<(String, String)> {
        let own = self.env.iter().cloned();
        own.chain([self.notes()]).collect()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// In the environment of what this test starts, and of nothing else.
    pub(crate) fn mark(&self) -> String {
        let name = self.folder.path().file_name().unwrap();
        format!("TALK_MARK={}", name.to_str().unwrap())
    }

    /// A shell in the folder that the agent is to work in.
    pub(crate) fn shell(&self) -> Pane {
        self.shell_of(160, 45)
    }

    /// The same in a terminal of this size.
    pub(crate) fn shell_of(&self, columns: usize, rows: usize) -> Pane {
        let bash = ["bash", "--norc", "--noprofile", "-i"].map(str::to_owned);
        let pane = Pane::start_of(self, &bash, (columns, rows));
        pane.wait_for("ready>");
        pane
    }

    /// The line that starts a conversation, and says its exit code.
    pub(crate) fn talk(&self, rest: &str) -> String {
        let ralph = ralph();
        let mark = self.mark();
        format!("{mark} {} agent talk {rest}; echo code=$?", ralph.display())
    }

    /// Waits until nothing that the conversation started is alive.
    #[track_caller]
    pub(crate) fn assert_all_dead(&self) {
        let mark = self.mark();
        wait(
            || marked(&mark).is_empty().then_some(()),
            || format!("still alive: {:?}", marked(&mark)),
        );
    }
}
