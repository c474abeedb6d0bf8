//! One call to a model, as an agent's stream tells of it.
//!
//! Together the calls of a run come to what the run used: what the stream shows only as a sum is kept
//! as one more, and said to be that.

use serde::{Deserialize, Serialize};

use super::Tokens;
use crate::dollars::Dollars;

/// Calls of one run that are kept one by one; those beyond are summed up by model and caller.
pub const MAX_CALLS: usize = 2_000;

named! {
    /// The one who asked the model.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Caller {
        #[default]
        Agent = "agent",
        Subagent = "subagent",
        /// No agent that the stream names: the agent told it only as part of a sum.
        Rest = "rest",
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelCall {
    pub model: Option<String>,
    pub caller: Caller,
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Tells what the agent says that this call cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Dollars>,
}

/// The calls of a run, bounded, with what is missing to the run's own sum as one more.
pub fn complete(calls: Vec<ModelCall>, sum: Tokens, model: Option<&str>) -> Vec<ModelCall> {
    let seen = calls
        .iter()
        .fold(Tokens::default(), |sum, call| sum.plus(call.tokens));
    let mut calls = bounded(calls);
    let rest = sum.without(seen);
    if !rest.is_none() {
        calls.push(ModelCall {
            model: model.map(str::to_owned),
            caller: Caller::Rest,
            tokens: rest,
            told: None,
        });
    }
    calls
}

fn bounded(mut calls: Vec<ModelCall>) -> Vec<ModelCall> {
    if calls.len() <= MAX_CALLS {
        return calls;
    }
    let mut sums: Vec<ModelCall> = Vec::new();
    for call in calls.split_off(MAX_CALLS) {
        let of_same = |sum: &&mut ModelCall| sum.model == call.model && sum.caller == call.caller;
        match sums.iter_mut().find(of_same) {
            Some(sum) => {
                sum.tokens = sum.tokens.plus(call.tokens);
                sum.told = match (sum.told, call.told) {
                    (None, None) => None,
                    (a, b) => Some(a.unwrap_or_default().plus(b.unwrap_or_default())),
                };
            }
            None => sums.push(call),
        }
    }
    calls.append(&mut sums);
    calls
}
