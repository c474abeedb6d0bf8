//! Calls to models, in the order in which they were seen.

use ralph_core::economics::ModelCall;

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
