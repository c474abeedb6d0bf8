//! The work of an agent that was cut off, as a patch beside the logs: a person can look at it and
//! apply it without knowing about refs.
//!
//! Never what counts: the ref is. A patch that would be too long is left out.

use ralph_core::{iteration::Action, verdict::Verdict};

use super::{
    Driver, LoopError,
    files::{LOGS, file_error},
    notes::Turn,
};
use crate::{git::Oid, plain_file};

impl Driver {
    pub(super) async fn write_patch(&self, turn: &Turn, tree: &Oid) -> Result<(), LoopError> {
        let Action::Keep { verdict } = turn.machine.next() else {
            return Ok(());
        };
        if !is_cut_off(&verdict) {
            return Ok(());
        }
        let folder = self.root.join(LOGS);
        let path = folder.join(format!("iteration-{}.patch", turn.n));
        std::fs::create_dir_all(&folder)
            .and_then(|()| plain_file::make_room(&path))
            .map_err(|e| file_error("write", &path, e))?;
        let most = u64::from(self.config.logs.max_mb.get()) * 1024 * 1024;
        self.repo.write_patch(&turn.base, tree, &path).await?;
        match std::fs::metadata(&path) {
            Ok(found) if found.len() > most => {
                std::fs::remove_file(&path).map_err(|e| file_error("remove", &path, e))
            }
            Ok(_) => Ok(()),
            Err(e) => Err(file_error("read", &path, e)),
        }
    }
}

/// Whether the agent was still at work, so that nobody has looked at what it made.
fn is_cut_off(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Budget { .. }
        | Verdict::Handoff { .. }
        | Verdict::TimedOut { .. }
        | Verdict::Terminated { .. }
        | Verdict::Interrupted => true,
        Verdict::Verified
        | Verdict::Progress
        | Verdict::Unclaimed
        | Verdict::Failed { .. }
        | Verdict::NoChange { .. }
        | Verdict::Refused { .. }
        | Verdict::Escalated
        | Verdict::Diagnosed
        | Verdict::LimitHit { .. }
        | Verdict::AgentError { .. }
        | Verdict::Overloaded { .. }
        | Verdict::AgentUnavailable { .. } => false,
    }
}
