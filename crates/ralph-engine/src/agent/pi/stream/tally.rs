//! What a run of Pi has used: tokens, money, and how full its context is.
//!
//! Counts each answer once, where it ends: the copies in `turn_end` and `agent_end` are never read.

use ralph_core::{
    agent::{AgentEvent, ContextUse, Usage},
    dollars::Dollars,
    economics::{Caller, ModelCall, Tokens},
};

use super::super::wire;

#[derive(Default)]
pub(super) struct Tally {
    usage: Usage,
    calls: Vec<ModelCall>,
    /// How many of them somebody has asked for.
    taken: usize,
    context: ContextUse,
    turns: u32,
    /// Of the message in the making, which counts only if it never ends.
    in_flight: Option<wire::Usage>,
}

impl Tally {
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    pub(super) fn take_fresh(&mut self) -> Vec<ModelCall> {
        let from = std::mem::replace(&mut self.taken, self.calls.len());
        self.calls[from..].to_vec()
    }

    pub(super) fn expect_window(&mut self, tokens: u64) {
        if tokens > 0 {
            self.context.window = Some(tokens);
        }
    }

    /// A message is being made; its figures grow.
    pub(super) fn partial(&mut self, usage: Option<wire::Usage>) {
        self.in_flight = usage.or(self.in_flight);
    }

    /// An answer ended, also one that failed.
    pub(super) fn ended(
        &mut self,
        usage: wire::Usage,
        model: Option<String>,
        events: &mut Vec<AgentEvent>,
    ) {
        self.in_flight = None;
        let used = usage.input + usage.cache_read + usage.cache_write;
        // A request that was refused had no turn.
        if used > 0 || usage.output > 0 {
            self.turns += 1;
            self.usage.context_tokens = used;
            self.context.push(used);
            events.push(AgentEvent::Turn {
                model: model.clone(),
                context_tokens: used,
                window: self.context.window,
            });
        }
        self.beside(usage, (model, Caller::Agent), events);
    }

    /// What was used beside the answers: by a compaction, by a tool.
    pub(super) fn beside(
        &mut self,
        usage: wire::Usage,
        by: (Option<String>, Caller),
        events: &mut Vec<AgentEvent>,
    ) {
        self.add(usage, by);
        events.push(AgentEvent::Usage(self.usage));
    }

    pub(super) fn sum_up(mut self, model: Option<&str>) -> (Usage, ContextUse, Vec<ModelCall>) {
        if let Some(cut_off) = self.in_flight.take() {
            self.add(cut_off, (model.map(str::to_owned), Caller::Agent));
        }
        (self.usage, self.context, self.calls)
    }

    fn add(&mut self, more: wire::Usage, (model, caller): (Option<String>, Caller)) {
        let tokens = Tokens {
            input: more.input,
            output: more.output,
            cache_read: more.cache_read,
            cache_write: more.cache_write,
        };
        // Pi says 0 where it knows no price, which is not the same as costing nothing.
        let cost = more.cost.and_then(|cost| cost.total).filter(|c| *c > 0.0);
        let sum = &mut self.usage;
        sum.input_tokens += tokens.input;
        sum.output_tokens += tokens.output;
        sum.cache_read_tokens += tokens.cache_read;
        sum.cache_write_tokens += tokens.cache_write;
        if let Some(cost) = cost {
            sum.cost_usd = Some(sum.cost_usd.unwrap_or(0.0) + cost);
        }
        // A request that was refused is no call.
        if !tokens.is_none() {
            self.calls.push(ModelCall {
                model,
                caller,
                tokens,
                told: cost.map(Dollars::told),
            });
        }
    }
}
