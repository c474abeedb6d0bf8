//! Looks at loops from outside their processes, and acts where one can't act for itself.
//!
//! What is to be done is `ralph_core::monitor`'s; this looks, asks, signals, starts again and notes it
//! in the journal. Signals go to the very process that was seen, held by its number and its start,
//! and to no other. Never looks at what an agent does, and never ends a loop that shows signs of life.

mod change;
mod looked;
mod reactions;
mod restart;
mod sentences;

pub use change::{Change, ChangeKind};
pub use looked::{Looked, look_at, look_at_all};
pub use restart::{LOG_NAME, Starter};

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use jiff::{SignedDuration, Timestamp};
use ralph_core::{
    config::MonitorConfig,
    id::LoopId,
    monitor::{Act, MonitorPolicy, Restarting, Seen, Sight, Watch, Wish},
};

use crate::{
    process::ProcessIdentity,
    store::{Journal, JournalError},
};

/// A loop that a person left so long ago is not started by itself.
const RESTART_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);
/// Looks that are at most this far apart are made one after the other.
const LEAST_TOUCH: Duration = Duration::from_secs(60);
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Returns what is allowed, by the configuration.
pub fn policy(config: &MonitorConfig, interval: Duration, restarting: Restarting) -> MonitorPolicy {
    let seconds = |n: std::num::NonZeroU32| Duration::from_secs(n.get().into());
    MonitorPolicy {
        ask_wait: seconds(config.ask_wait_seconds),
        escalate_wait: config.escalate_wait_minutes.duration(),
        grace: seconds(config.grace_seconds),
        start_wait: seconds(config.hang_seconds),
        lost_touch: (interval * 3).max(LEAST_TOUCH),
        restarting,
        max_restarts: config.max_restarts,
        restart_within: RESTART_WITHIN,
    }
}

/// All loops of a data folder, watched.
pub struct Monitor {
    journal: Box<dyn Journal>,
    data_dir: PathBuf,
    policy: MonitorPolicy,
    starter: Starter,
    watched: BTreeMap<LoopId, Watched>,
}

/// One of them, with what has to be remembered from look to look.
#[derive(Default)]
struct Watched {
    watch: Watch,
    /// The process that was told to end, and all below it: none of them may be left.
    target: Option<ProcessIdentity>,
    tree: Vec<ProcessIdentity>,
}

impl Monitor {
    pub fn new(
        journal: Box<dyn Journal>,
        data_dir: PathBuf,
        policy: MonitorPolicy,
        starter: Starter,
    ) -> Self {
        Self {
            journal,
            data_dir,
            policy,
            starter,
            watched: BTreeMap::new(),
        }
    }

    pub fn journal(&mut self) -> &mut dyn Journal {
        &mut *self.journal
    }

    /// Looks at every loop once, and does what is to be done.
    pub async fn look(&mut self, now: Timestamp) -> Result<Vec<Change>, JournalError> {
        self.starter.reap();
        let mut rows = self.journal.open_loops().await?;
        let known: Vec<LoopId> = self.watched.keys().cloned().collect();
        for id in known {
            if rows.iter().any(|row| row.id == id) {
                continue;
            }
            let row = self.journal.any_loop(&id).await?;
            match row.filter(|row| row.ended_at.is_some()) {
                Some(row) => rows.push(row),
                // A newer loop of the same working tree has taken its place.
                None => drop(self.watched.remove(&id)),
            }
        }
        let mut changes = Vec::new();
        for row in rows {
            let looked = look_at(&self.data_dir, row, self.policy.start_wait, now);
            if looked.is_abandoned() {
                self.watched.remove(&looked.row.id);
                continue;
            }
            self.take(&looked, now, &mut changes).await?;
        }
        Ok(changes)
    }

    async fn take(
        &mut self,
        looked: &Looked,
        now: Timestamp,
        changes: &mut Vec<Change>,
    ) -> Result<(), JournalError> {
        let id = &looked.row.id;
        let is_new = !self.watched.contains_key(id);
        let mut watched = self.watched.remove(id).unwrap_or_default();
        let sight = match looked.sight() {
            // It has written its end, and is not gone: what it had may still be in use.
            Sight::Ended | Sight::Gone if watched.target.is_some_and(ProcessIdentity::is_alive) => {
                Sight::Hangs
            }
            sight => sight,
        };
        if is_new && matches!(sight, Sight::Well | Sight::Asking) {
            let sentence = sentences::watching(looked);
            changes.push(looked.change(ChangeKind::Watching, sentence, now));
        }
        let worktree = &looked.row.worktree;
        let since = now.saturating_sub(HOUR).unwrap_or(now);
        let seen = Seen {
            sight,
            wish: match looked.row.paused_at {
                Some(_) => Wish::Rest,
                None => Wish::Work,
            },
            restarts: self.journal.restarts(worktree, since).await?,
            silent: looked.silent(now),
        };
        let act = watched.watch.observe(&seen, &self.policy, now);
        self.act(act, looked, &mut watched, changes, now).await;
        if act != Act::Over {
            self.watched.insert(id.clone(), watched);
        }
        Ok(())
    }
}
