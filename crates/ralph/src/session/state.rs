//! The state file of a loop in Claude Code: read, written as a whole, kept out of git.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ralph_core::session_loop::{BadState, SessionOwner, SessionState};
use ralph_engine::{
    plain_file,
    process::{ProcessIdentity, ancestors},
};

use crate::error::CommandError;

pub(super) const CLAUDE_STATE: &str = ".claude/ralph-loop.local.md";
pub(super) const PI_STATE: &str = ".pi/ralph-loop.local.md";

/// The shells that an agent starts a hook by.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "env"];

/// The place of a state file.
pub(super) struct StateFile {
    path: PathBuf,
}

/// The content of a state file.
pub(super) enum StateFound {
    Nothing,
    State(Box<SessionState>),
    Broken(BadState),
}

impl StateFile {
    pub(super) fn of_claude(root: &Path) -> Self {
        Self {
            path: root.join(CLAUDE_STATE),
        }
    }

    pub(super) fn read(&self) -> Result<StateFound, CommandError> {
        let bytes = plain_file::read_if_there(&self.path).map_err(|e| self.error("read", &e))?;
        Ok(
            match bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) {
                None => StateFound::Nothing,
                Some(text) => match SessionState::parse(&text) {
                    Ok(state) => StateFound::State(Box::new(state)),
                    Err(why) => StateFound::Broken(why),
                },
            },
        )
    }

    pub(super) fn write(&self, state: &SessionState) -> Result<(), CommandError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|e| self.error("write", &e))?;
        let written = plain_file::replace(&self.path, state.render().as_bytes());
        written.map_err(|e| self.error("write", &e))
    }

    pub(super) fn remove(&self) -> Result<(), CommandError> {
        plain_file::remove(&self.path).map_err(|e| self.error("remove", &e))
    }

    /// Has git pass by the file, by a line in a file of the repository that is never committed.
    pub(super) fn hide_from_git(&self, common_dir: &Path) -> Result<(), CommandError> {
        let exclude = common_dir.join("info/exclude");
        let text = fs::read_to_string(&exclude).unwrap_or_default();
        // The session may be in a folder of the repository.
        let line = format!("**/{CLAUDE_STATE}");
        if text.lines().any(|known| known.trim() == line) {
            return Ok(());
        }
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        fs::create_dir_all(common_dir.join("info"))
            .and_then(|()| fs::write(&exclude, format!("{text}{end}{line}\n")))
            .map_err(|e| CommandError::user(format!("can't write {}: {e}", exclude.display())))
    }

    fn error(&self, what: &str, error: &std::io::Error) -> CommandError {
        CommandError::user(format!("can't {what} {}: {error}", self.path.display()))
    }
}

/// The process of the agent that has started this hook.
pub(super) fn owner() -> SessionOwner {
    let above = ancestors().unwrap_or_default();
    let agent = above
        .iter()
        .find(|one| !SHELLS.contains(&one.name.as_str()));
    let agent = agent.and_then(|one| ProcessIdentity::of(one.pid));
    agent.map_or_else(SessionOwner::default, |agent| SessionOwner {
        pid: agent.pid,
        started: agent.started,
    })
}

/// Tells if the process of a loop's session still runs. One that was not found counts as gone.
pub(super) fn is_alive(owner: &SessionOwner) -> bool {
    let identity = ProcessIdentity {
        pid: owner.pid,
        started: owner.started,
    };
    owner.pid != 0 && identity.is_alive()
}
