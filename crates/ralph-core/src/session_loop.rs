//! A loop inside the session of an agent: each time the agent stops it is given the same prompt again, until it makes
//! its promise or a maximum is reached.
//!
//! Only says what follows. The state is a file in the project that people and agents can read, and change; hooks of
//! the agent write it. A promise is a claim here, too: with `verify`, it counts only once the commands pass.

mod arguments;
mod state_file;

pub use arguments::{ArgumentError, LoopArguments, LoopFlag};
pub use state_file::{BadState, SessionOwner, SessionState};

use crate::{goal::Promise, signal::promise_in};

/// The most that the next prompt repeats of what a verification said.
pub const MOST_FAILURE_BYTES: usize = 16 * 1024;

named! {
    /// The way an iteration in a session ended, as its agent tells it.
    pub enum SessionOutcome {
        Ok = "ok",
        Error = "error",
        Aborted = "aborted",
    }
}

named! {
    /// The reason why a loop in a session ended.
    pub enum SessionEndReason {
        Promise = "promise",
        MaxIterations = "max_iterations",
        Cancelled = "cancelled",
        Aborted = "aborted",
        Errors = "errors",
        Failed = "failed",
        /// Its session ended, or was resumed by another process: nothing goes on by itself.
        SessionEnded = "session_ended",
        /// The agent ends its turn whatever a hook says.
        BlockCap = "block_cap",
    }
}

/// The step that follows when the agent has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterTurn {
    /// As many iterations as are allowed are over.
    MaxReached,
    /// It made the promise of this loop.
    Promised,
    /// It is to go on.
    Again,
}

impl SessionState {
    /// Decides by the agent's last message. The maximum comes first: a promise beyond it is none.
    pub fn after_turn(&self, last_message: &str) -> AfterTurn {
        let wanted = self.completion_promise.as_ref().map(Promise::as_str);
        if self.max_iterations > 0 && self.iteration >= self.max_iterations {
            AfterTurn::MaxReached
        } else if wanted.is_some() && promise_in(last_message).as_deref() == wanted {
            AfterTurn::Promised
        } else {
            AfterTurn::Again
        }
    }

    /// `2/5`, or `2` where there is no maximum.
    pub fn progress(&self) -> String {
        match self.max_iterations {
            0 => self.iteration.to_string(),
            max => format!("{}/{max}", self.iteration),
        }
    }

    /// The prompt of the next iteration: the task, how it ends, and what the last verification said.
    pub fn next_prompt(&self, failure: Option<&str>) -> String {
        let mut text = self.prompt.clone();
        text.push_str("\n\n");
        text.push_str(&self.rules());
        if let Some(failure) = failure {
            let from = failure.len().saturating_sub(MOST_FAILURE_BYTES);
            let shown = &failure[failure.ceil_char_boundary(from)..];
            text.push_str(
                "\n\nYou made the promise, and ralph has verified the working tree: it fails. Repair this first:\n\n",
            );
            text.push_str(shown);
        }
        text
    }

    /// The rules of the loop, for the agent in it.
    pub fn rules(&self) -> String {
        let progress = self.progress();
        let mut text = format!(
            "(Ralph iteration {progress}. You get this prompt again each time you stop: look at the files and at git \
             for what is done already, and go on from there."
        );
        match &self.completion_promise {
            Some(promise) => {
                let promise = promise.as_str();
                text.push_str(&format!(
                    " When everything is done, and only then, end your answer with this line: \
                     <promise>{promise}</promise> Do not write it to get out of the loop."
                ));
                if self.verify {
                    text.push_str(
                        " ralph then runs the project's verify commands; the promise counts only if they pass.",
                    );
                }
            }
            None => text.push_str(" A person ends the loop with /cancel-ralph."),
        }
        text.push(')');
        text
    }
}

#[cfg(test)]
mod tests;
