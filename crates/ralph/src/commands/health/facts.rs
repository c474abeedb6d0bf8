//! The facts about loops that have not ended.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    breaker::BreakerState, event::KeptEvent, health::HealthReport, monitor::ProcessState,
};
use ralph_engine::{
    loop_runner::breaker_of_worktree,
    monitor::{Looked, look_at_all},
    store::{Journal, LoopNote, LoopRow, RepositoryId},
};
use serde::Serialize;

use super::Reach;
use crate::{error::CommandError, project::Project};

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct HealthFacts {
    pub(super) loops: Vec<LoopHealth>,
    /// This working tree, whether a loop runs in it or not; none where ralph never ran, and for all.
    pub(super) here: Option<WorktreeHealth>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct WorktreeHealth {
    pub(super) breaker: BreakerFacts,
    /// The newest events of its last loop that are kept, oldest of them first.
    pub(super) events: Vec<KeptEvent>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct BreakerFacts {
    pub(super) state: BreakerState,
    /// When it lets an iteration through, while it is open.
    pub(super) until: Option<Timestamp>,
    pub(super) failures: u32,
    /// The number of iterations that the failures are counted among.
    pub(super) of: u32,
}

/// Events that are shown.
const MOST_EVENTS: u32 = 5;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoopHealth {
    #[serde(flatten)]
    pub(super) row: LoopRow,
    pub(super) process: ProcessState,
    /// Its number, where the process that wrote `health` is still that one.
    pub(super) pid: Option<u32>,
    /// A signal has stopped it.
    pub(super) stopped: bool,
    /// The health as the loop reports it.
    pub(super) health: Option<HealthReport>,
    /// The last note of `ralph monitor`.
    pub(super) note: Option<LoopNote>,
}

impl LoopHealth {
    fn new(looked: Looked, note: Option<LoopNote>) -> Self {
        Self {
            stopped: looked.is_stopped(),
            row: looked.row,
            process: looked.process,
            pid: looked.target.map(|target| target.pid),
            health: looked.report,
            note,
        }
    }

    /// The same without what changes as long as a loop lives at all.
    pub(super) fn without_pulse(&self) -> Self {
        let mut same = self.clone();
        // Not shown.
        same.row.baseline = None;
        if let Some(health) = &mut same.health {
            health.written_at = Timestamp::UNIX_EPOCH;
            health.last_heartbeat = None;
            health.last_progress = None;
            health.quiet_until = None;
            health.steps = 0;
            health.errors = 0;
        }
        same
    }
}

/// The journal, opened once for as long as it is watched.
pub(super) struct Sources<'a> {
    project: &'a Project,
    reach: Reach,
    /// With the repository whose loops are shown; none for all. Where ralph never ran there is none.
    journal: Option<(Box<dyn Journal>, Option<String>)>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(project: &'a Project, reach: Reach) -> Self {
        Self {
            project,
            reach,
            journal: None,
        }
    }

    pub(super) async fn gather(&mut self) -> Result<HealthFacts, CommandError> {
        if self.journal.is_none() {
            self.journal = self.open().await?;
        }
        let Some((journal, repository)) = &mut self.journal else {
            return Ok(HealthFacts {
                loops: Vec::new(),
                here: None,
            });
        };
        let data_dir = self.project.data_dir()?;
        let hang_after = u64::from(self.project.config().monitor.hang_seconds.get());
        let hang_after = Duration::from_secs(hang_after);
        let (repository, now) = (repository.clone(), Project::now());
        let repository = repository.as_deref();
        let found = look_at_all(&mut **journal, &data_dir, repository, hang_after, now).await;
        let mut loops = Vec::new();
        for one in found? {
            let note = journal.last_note(&one.row.id).await;
            loops.push(LoopHealth::new(one, note?));
        }
        let here = match repository {
            Some(id) => Some(self.here(&RepositoryId(id.to_owned())).await?),
            None => None,
        };
        Ok(HealthFacts { loops, here })
    }

    async fn here(&mut self, repository: &RepositoryId) -> Result<WorktreeHealth, CommandError> {
        let (worktree, config) = (self.project.worktree(), self.project.config());
        let mut events = Vec::new();
        let Some((journal, _)) = &mut self.journal else {
            return Err(CommandError::internal("the journal is closed"));
        };
        let now = Project::now();
        let breaker =
            breaker_of_worktree(&mut **journal, repository, &worktree, config, now).await?;
        if let Some(last) = journal.last_loop(repository, &worktree).await? {
            events = journal.kept_events(&last.id, MOST_EVENTS).await?;
        }
        Ok(WorktreeHealth {
            breaker: BreakerFacts {
                state: breaker.state(),
                until: breaker.until(),
                failures: breaker.failures(),
                of: breaker.samples(),
            },
            events,
        })
    }

    async fn open(&self) -> Result<Option<(Box<dyn Journal>, Option<String>)>, CommandError> {
        Ok(match self.reach {
            Reach::Here => {
                let known = self.project.journal().await?;
                known.map(|(journal, id)| (journal, Some(id.0)))
            }
            Reach::Everywhere => {
                let journal = self.project.journal_of_all().await?;
                journal.map(|journal| (journal, None))
            }
        })
    }
}
