//! Starts a loop again, as `ralph resume LOOP` in its working tree, on its own: it lives on when the
//! monitor ends.
//!
//! What it says goes to a file in the loop's folder. Its environment is the monitor's.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::{Child, Command};

use crate::{loop_files, store::LoopRow};

/// The file in the loop's folder that a restarted loop writes to.
pub const LOG_NAME: &str = "restart.log";

/// Starts loops with this program, and fetches them when they end.
pub struct Starter {
    program: PathBuf,
    children: Vec<Child>,
}

impl Starter {
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            children: Vec::new(),
        }
    }

    /// Starts a loop again with the agent that it began with, where a word can name it.
    pub(super) fn start(&mut self, data_dir: &Path, row: &LoopRow) -> std::io::Result<u32> {
        let agent = agent_of(&row.config);
        let folder = loop_files::folder(data_dir, &row.id);
        std::fs::create_dir_all(&folder)?;
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.join(LOG_NAME))?;
        let child: Child = Command::new(&self.program)
            .args(["resume", row.id.as_str()])
            .args(agent.iter().flat_map(|agent| ["--agent", agent.as_str()]))
            .current_dir(&row.worktree)
            .env("RALPH_DATA_DIR", data_dir)
            // That of another project, if any.
            .env_remove("RALPH_CONFIG")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // A group of its own: what a person types at the monitor is not for the loop.
            .process_group(0)
            .kill_on_drop(false)
            .spawn()?;
        let pid = child.id().unwrap_or_default();
        self.children.push(child);
        Ok(pid)
    }

    /// Fetches those that have ended.
    pub(super) fn reap(&mut self) {
        self.children
            .retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}

/// The agent that a loop began with; a map is in a file that is read again.
fn agent_of(config: &str) -> Option<String> {
    let config: serde_json::Value = serde_json::from_str(config).ok()?;
    config["effective"]["agent"].as_str().map(str::to_owned)
}
