//! A project to run the real `ralph` in, with an environment of its own.
//!
//! Everything lies in one scratch folder. What a run says and does is in [`Ran`]; one that has to be
//! watched or signalled while it lasts is a [`Live`].

mod live;
mod ran;
mod real;
mod survivors;

pub(crate) use live::Live;
pub(crate) use ran::Ran;
pub(crate) use real::{nudge_is_sent, with_real};
pub(crate) use survivors::{assert_all_dead, processes_at, wait_until};

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_testkit::{TestRepo, fake_agent::fake_agent};
use serde_json::{Value, json};

/// Returns whether `scripts/storm` runs the tests: they go through all their rounds then.
pub(crate) fn is_storm() -> bool {
    std::env::var_os("RALPH_STORM_ROUNDS").is_some()
}

/// Every second of these from that index on; in a storm all of them. `crash` kills ralph at each place, and
/// what else a kill could harm is tried at half of them.
pub(crate) fn every_second<T: Clone>(all: &[T], first: usize) -> Vec<T> {
    if is_storm() {
        return all.to_vec();
    }
    all.iter().skip(first).step_by(2).cloned().collect()
}

/// A repository, and the agent that works in it.
pub(crate) struct Project {
    pub(crate) repo: TestRepo,
    agent: Option<String>,
    env: Vec<(OsString, OsString)>,
    /// Where `ralph` is started; the top of the repository unless a test says otherwise.
    start_in: PathBuf,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::of(TestRepo::new())
    }

    pub(crate) fn of(repo: TestRepo) -> Self {
        Self {
            agent: None,
            // It is one more run of every command; tests of it ask for it.
            env: vec![("RALPH_VERIFICATION_CLEAN_CHECK".into(), "off".into())],
            start_in: repo.root().to_owned(),
            repo,
        }
    }

    /// A `prd.json` with these stories, committed, on branch `ralph/work`.
    pub(crate) fn with_stories(stories: &[Value]) -> Self {
        let project = Self::new();
        project.repo.prd(&prd(stories)).commit("tasks");
        project
    }

    /// The same, with a `prd.json` that git does not know.
    pub(crate) fn with_untracked_stories(stories: &[Value]) -> Self {
        let project = Self::new();
        project
            .repo
            .file(".gitignore", "prd.json\n")
            .commit("ignore");
        project.repo.prd(&prd(stories));
        project
    }

    /// `ralph.yaml`, committed.
    pub(crate) fn config(self, text: &str) -> Self {
        self.repo.file("ralph.yaml", text).commit("config");
        self
    }

    /// Works with the embedded agent.
    pub(crate) fn script(mut self, script: &Value) -> Self {
        let path = self.repo.outside().join("script.json");
        std::fs::write(&path, script.to_string()).unwrap();
        self.agent = Some(format!("script:{}", path.display()));
        self
    }

    /// Works with a program of the test's: a shell script outside of the repository.
    pub(crate) fn command(mut self, shell: &str) -> Self {
        let path = self.repo.outside().join("agent.sh");
        write_program(&path, shell);
        self.agent = Some(format!("command:{}", path.display()));
        self
    }

    /// Works with `claude`, which is the fake agent with this scenario.
    pub(crate) fn claude(mut self, scenario: &Value) -> Self {
        let path = self.repo.outside().join("scenario.json");
        std::fs::write(&path, scenario.to_string()).unwrap();
        self.agent = Some("claude".into());
        let command = json!([fake_agent()]).to_string();
        self.env("RALPH_CLAUDE_COMMAND", command)
            .env("FAKE_AGENT_SCENARIO", path)
    }

    /// Works with what `--agent` is given here.
    pub(crate) fn agent(mut self, agent: &str) -> Self {
        self.agent = Some(agent.to_owned());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        let value = value.into();
        // In place a sandbox keeps the git folder and settings as they are: nothing would be put back.
        if name == "RALPH_WORKSPACE_MODE" && value == "in_place" {
            self = self.env("RALPH_SAFETY_SANDBOX", "off");
        }
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value));
        self
    }

    /// Has agents work in the project's own folder, not in a layer over it.
    pub(crate) fn in_place(self) -> Self {
        self.env("RALPH_WORKSPACE_MODE", "in_place")
    }

    pub(crate) fn start_in(mut self, folder: impl AsRef<Path>) -> Self {
        self.start_in = self.repo.root().join(folder);
        self
    }

    /// `ralph` with any arguments.
    pub(crate) fn ralph(&self, args: &[&str]) -> Command {
        let mut command = self.repo.command(env!("CARGO_BIN_EXE_ralph"));
        command
            .args(args)
            .envs(self.env.iter().cloned())
            .current_dir(&self.start_in)
            .stdin(Stdio::null());
        command
    }

    /// `ralph run --json` with the project's agent.
    pub(crate) fn run_command(&self, args: &[&str]) -> Command {
        let mut command = self.ralph(&["run", "--json"]);
        if let Some(agent) = &self.agent {
            command.args(["--agent", agent]);
        }
        command.args(args);
        command
    }

    /// `ralph execute NAME --json` with the project's agent.
    pub(crate) fn execute_command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = self.ralph(&["execute", name, "--json"]);
        if let Some(agent) = &self.agent {
            command.args(["--agent", agent]);
        }
        command.args(args);
        command
    }

    /// Runs the loop to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Live::start(self.run_command(args)).wait()
    }

    /// Runs the loop with one more variable, a failpoint say.
    pub(crate) fn run_with(&self, name: &str, value: &str) -> Ran {
        let mut command = self.run_command(&[]);
        command.env(name, value);
        Live::start(command).wait()
    }

    /// Runs the loop as a person sees it, not as JSON.
    pub(crate) fn run_for_people(&self, args: &[&str]) -> Ran {
        let mut command = self.ralph(&["run"]);
        if let Some(agent) = &self.agent {
            command.args(["--agent", agent]);
        }
        command.args(args);
        Live::start(command).wait()
    }

    /// Starts the loop, to be watched.
    pub(crate) fn start(&self, args: &[&str]) -> Live {
        Live::start(self.run_command(args))
    }

    /// A path outside of the repository that a test and an agent can meet at.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.repo.outside().join(name)
    }

    /// The tasks of ralph's commits, oldest first.
    pub(crate) fn landed(&self) -> Vec<String> {
        let log = self.repo.git([
            "log",
            "--reverse",
            "--format=%(trailers:key=Ralph-Task,valueonly,separator=%x2C)",
        ]);
        let tasks = log.lines().filter(|line| !line.is_empty());
        tasks.map(str::to_owned).collect()
    }

    /// Lines that a commit adds to and removes from a file.
    pub(crate) fn diff_lines(&self, commit: &str, path: &str) -> Vec<String> {
        let diff = self
            .repo
            .git(["show", "--format=", "--unified=0", commit, "--", path]);
        let changed = diff.split('\n').filter(|line| {
            let is_header = line.starts_with("+++") || line.starts_with("---");
            !is_header && (line.starts_with('+') || line.starts_with('-'))
        });
        changed.map(str::to_owned).collect()
    }

    /// Paths that a commit changes.
    pub(crate) fn files_of(&self, commit: &str) -> Vec<String> {
        let names = self
            .repo
            .git(["show", "--format=", "--name-only", "--no-renames", commit]);
        names.lines().map(str::to_owned).collect()
    }

    /// What `git status` lists, without the one file that ralph makes and a person may track.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut status = self.repo.status();
        status.retain(|line| line != "?? .ralph/.gitignore");
        status
    }

    /// Names of refs that hold work which did not land.
    pub(crate) fn attempts(&self) -> Vec<String> {
        let refs = self
            .repo
            .git(["for-each-ref", "--format=%(refname)", "refs/ralph/attempts"]);
        refs.lines().map(str::to_owned).collect()
    }

    /// Whether a story of `prd.json` passes.
    pub(crate) fn passes(&self, id: &str) -> bool {
        let prd: Value = serde_json::from_str(&self.repo.read("prd.json")).unwrap();
        let stories = prd["userStories"].as_array().unwrap();
        let story = stories.iter().find(|s| s["id"] == id);
        story.unwrap_or_else(|| panic!("no story {id}"))["passes"] == true
    }

    /// What `--agent` is given.
    pub(crate) fn agent_word(&self) -> String {
        self.agent.clone().unwrap()
    }

    /// The data folder in force, which may be that of another project.
    pub(crate) fn data_dir(&self) -> PathBuf {
        let own = self.env.iter().find(|(name, _)| name == "RALPH_DATA_DIR");
        own.map_or_else(|| self.repo.data_dir(), |(_, value)| value.into())
    }

    /// Fails if anything that was started for this project is alive.
    pub(crate) fn assert_nothing_alive(&self) {
        assert_all_dead(&self.repo.home());
    }
}

/// A file that can be run; a line that names the shell is put first.
pub(crate) fn write_program(path: &Path, shell: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, format!("#!/bin/sh\n{shell}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn prd(stories: &[Value]) -> Value {
    json!({"project": "Sample", "branchName": "ralph/work", "userStories": stories})
}

/// A story that is verified by the file `<id>.txt` being there.
pub(crate) fn story(id: &str) -> Value {
    json!({
        "id": id,
        "title": format!("Write {id}"),
        "acceptanceCriteria": [format!("{id}.txt is there")],
        "verify": [format!("test -f {id}.txt")],
        "passes": false,
    })
}

/// A story that waits for others.
pub(crate) fn story_after(id: &str, others: &[&str]) -> Value {
    let mut story = story(id);
    story["dependsOn"] = json!(others);
    story
}

/// An agent that does each story as it is asked.
pub(crate) fn good_script() -> Value {
    json!({"default": [good_attempt()]})
}

pub(crate) fn good_attempt() -> Value {
    json!({"do": [{"write": {"path": "{id}.txt", "text": "{id}\n"}}, {"say": "Task {id} complete"}]})
}
