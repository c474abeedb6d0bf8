//! The circuit breaker of a loop: what the journal says of it, and telling of it.

use jiff::Timestamp;
use ralph_core::{
    breaker::{Breaker, BreakerState},
    config::Config,
    event::Event,
    loop_machine::breaker_of,
    record::IterationRecord,
    time::to_the_second,
};

use super::{LoopRunner, policies};
use crate::store::{Journal, JournalError, RepositoryId};

/// The breaker of a working tree as it stands, also where no loop runs.
pub async fn breaker_of_worktree(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    worktree: &str,
    config: &Config,
    now: Timestamp,
) -> Result<Breaker, JournalError> {
    let records = journal.last_records(repository, worktree).await?;
    let mut breaker = breaker_of(policies::breaker(config), &records);
    breaker.look(now);
    Ok(breaker)
}

impl LoopRunner {
    /// Makes the breaker from what the journal has, newest first.
    pub(super) fn recall_breaker(&mut self, records: &[IterationRecord]) {
        let breaker = breaker_of(policies::breaker(&self.settings.config), records);
        let (failures, of) = (breaker.failures(), breaker.samples());
        let until = breaker.until();
        self.machine
            .recall_breaker(breaker, self.output.clock.now());
        if self.machine.breaker().state() == BreakerState::HalfOpen {
            let until = until.map(|at| format!(" until {}", to_the_second(at)));
            let sentence = format!(
                "the circuit breaker was open{}: {failures} of the last {of} iterations failed; now \
                 one is tried, and how it goes decides",
                until.unwrap_or_default()
            );
            self.tell_breaker(sentence);
        }
    }

    pub(super) fn tell_breaker(&mut self, sentence: String) {
        let state = self.machine.breaker().state();
        if let Some(heartbeat) = &self.output.heartbeat {
            heartbeat.set_breaker(state);
        }
        self.tell(&Event::Breaker { state, sentence });
    }
}
