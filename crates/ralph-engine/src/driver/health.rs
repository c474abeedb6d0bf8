//! Health in the driver: how the running agent does, what others can read of it, and the circuit
//! breaker before each iteration.
//!
//! Decides nothing: the machine and the breaker are the core's.

mod gate;
mod part;
mod pulse;

pub(super) use part::HealthPart;
pub(super) use pulse::{Doing, Pulse};

use part::About;

use super::{Driver, notes::Turn, policies};

impl Driver {
    /// Who minds the health of the agent that is about to start.
    pub(super) fn health_part(&self, turn: &Turn) -> HealthPart {
        let about = About {
            iteration: turn.n,
            task: turn.task_id().to_string(),
            agent: self.hands.name(),
        };
        let beating = self.pulse.as_ref().map(Pulse::beating);
        let policy = policies::health(&self.config);
        let part = HealthPart::new(policy, about, beating, self.now());
        // Written once, with all that is new.
        self.does(Doing::Agent, None);
        part
    }
}
