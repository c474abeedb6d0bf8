//! The person at the terminal, if there is one: asked where the loop stands, answered at once.
//!
//! Only asks. What an answer does goes through the same queue as one from another terminal.

use std::{future::Future, pin::Pin};

use ralph_core::{command::Answer, escalation::Question};

/// Somebody who can be asked. `None` means that nobody is there any more.
pub trait Human: Send {
    fn ask<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Answer>> + 'a>>;
}
