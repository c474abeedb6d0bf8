//! The person at the terminal, if there is one: asked when the loop has nothing else to do.
//!
//! Only asks. What an answer does goes through the same queue as one from another terminal.

use async_trait::async_trait;
use ralph_core::{command::Answer, escalation::Question};

/// The reply of a person who was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonReply {
    Answer(Answer),
    /// Not now: the question stays open.
    Later,
    /// The terminal is closed.
    Gone,
}

/// A person who can be asked.
#[async_trait(?Send)]
pub trait Human: Send {
    /// Asks a question. Dropped halfway, it is taken back.
    async fn ask(&mut self, question: &Question) -> PersonReply;

    /// Takes note of the questions that are open now, for a person who wants to answer by themselves.
    fn set_open_questions(&mut self, _open: &[Question]) {}
}
