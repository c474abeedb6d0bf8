//! Tells people who are not there: by a command of theirs, a webhook, the desktop.
//!
//! A listener stands beside the real reporter and hands messages to the background, so that a
//! loop never waits for one; the [`Outbox`] waits for what is under way when the loop is over. What
//! fails is a warning and never an error of the loop. Does not choose what is told: that is
//! `ralph_core::notification`.

mod outbox;
mod program;
mod trace;
mod way;
#[cfg(feature = "webhook")]
mod webhook;

pub use outbox::{Outbox, Post, attach, dispatch};
pub use program::{DESKTOP_PROGRAM, desktop_is_reachable};
pub use trace::Trace;
pub use way::{HAS_WEBHOOKS, Means, SendError, Way, ways};
