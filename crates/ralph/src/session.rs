//! Loops inside the session of an agent, kept going by hooks of that agent that ask this program.
//!
//! `journal` is what all agents share: what is written down, and how a promise is verified. `claude` answers the hooks
//! of Claude Code, whose state is in `state`. Inside a run of ralph's nothing here does anything.

pub(crate) mod claude;
pub(crate) mod journal;
mod state;
mod transcript;

use std::path::PathBuf;

/// The state files of all agents, relative to the top of the project: no part of what is verified.
pub(crate) fn session_files() -> Vec<PathBuf> {
    [state::CLAUDE_STATE, state::PI_STATE]
        .map(PathBuf::from)
        .to_vec()
}
