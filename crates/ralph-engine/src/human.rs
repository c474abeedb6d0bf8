//! The person at the terminal, if there is one: asked where the loop stands, answered at once.
//!
//! Only asks. What an answer does goes through the same queue as one from another terminal.

use std::{future::Future, pin::Pin};

use ralph_core::{command::Answer, escalation::Question};

/// A person who can be asked. `None` means that the person is gone.
pub trait Human: Send {
    fn ask<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Answer>> + 'a>>;
}
