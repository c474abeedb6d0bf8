//! Health in the driver: how the running agent does, what others can read of it, and the circuit
//! breaker before each iteration.
//!
//! Decides nothing: the machine and the breaker are the core's.

mod gate;
mod part;
mod pulse;

pub(super) use gate::Gate;
pub(super) use part::{About, HealthPart};
pub(super) use pulse::{Doing, Pulse};
