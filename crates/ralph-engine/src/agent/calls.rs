//! Calls to models, in the order in which they were seen.

use ralph_core::{
    agent::Usage,
    economics::{ModelCall, Tokens},
};

/// All calls of a run, of which each is handed out once while it goes on.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    calls: Vec<ModelCall>,
    handed_out: usize,
}

impl CallLog {
    pub(super) fn push(&mut self, call: ModelCall) {
        self.calls.push(call);
    }

    /// Returns those that were not handed out yet.
    pub(super) fn take_new(&mut self) -> Vec<ModelCall> {
        let from = std::mem::replace(&mut self.handed_out, self.calls.len());
        self.calls[from..].to_vec()
    }

    pub(super) fn into_all(self) -> Vec<ModelCall> {
        self.calls
    }
}

/// Adds the tokens of a call to the sums of a run.
pub(super) fn add_tokens(sum: &mut Usage, more: Tokens) {
    sum.input_tokens += more.input;
    sum.output_tokens += more.output;
    sum.cache_read_tokens += more.cache_read;
    sum.cache_write_tokens += more.cache_write;
}
