//! The usage of a run of Pi: tokens, money, and how full its context is.
//!
//! Counts each answer once, where it ends: the copies in `turn_end` and `agent_end` are never read.

use ralph_core::{
    agent::{AgentEvent, ContextUse, Usage},
    dollars::Dollars,
    economics::{Caller, ModelCall, Tokens},
};

use crate::agent::{
    cost::{CallLog, add_tokens},
    fields::amount,
    json::Json,
    jsonl::tokens,
};

/// Tokens and money of one message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MessageUsage {
    tokens: Tokens,
    cost: Option<f64>,
}

impl MessageUsage {
    /// Reads what a message says; its input is without what came from the cache or went into it.
    pub(super) fn read(usage: &Json<'_>) -> Option<Self> {
        usage.is_object().then(|| Self {
            tokens: tokens(usage, ["input", "output", "cacheRead", "cacheWrite"]),
            // Pi says 0 where it knows no price, which is not the same as costing nothing.
            cost: amount(&usage["cost"]["total"]).filter(|cost| *cost > 0.0),
        })
    }
}

#[derive(Default)]
pub(super) struct PiUsage {
    usage: Usage,
    calls: CallLog,
    context: ContextUse,
    turns: u32,
    /// Of the message in the making, which counts only if it never ends.
    in_flight: Option<MessageUsage>,
}

impl PiUsage {
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    pub(super) fn take_new_calls(&mut self) -> Vec<ModelCall> {
        self.calls.take_new()
    }

    pub(super) fn expect_window(&mut self, tokens: u64) {
        if tokens > 0 {
            self.context.window = Some(tokens);
        }
    }

    /// Takes the figures of a message that is being made; they grow.
    pub(super) fn partial(&mut self, usage: Option<MessageUsage>) {
        self.in_flight = usage.or(self.in_flight);
    }

    /// Counts an answer that ended, also one that failed.
    pub(super) fn add_answer(
        &mut self,
        used: MessageUsage,
        model: Option<String>,
        events: &mut Vec<AgentEvent>,
    ) {
        self.in_flight = None;
        // A request that was refused had no turn.
        if !used.tokens.is_none() {
            let context_tokens = used.tokens.context();
            self.turns += 1;
            self.usage.context_tokens = context_tokens;
            self.context.push(context_tokens);
            events.push(AgentEvent::Turn {
                model: model.clone(),
                context_tokens,
                window: self.context.window,
            });
        }
        self.add(used, model, Caller::Agent, events);
    }

    /// Counts what was used, also beside the answers: by a compaction, by a tool.
    pub(super) fn add(
        &mut self,
        used: MessageUsage,
        model: Option<String>,
        caller: Caller,
        events: &mut Vec<AgentEvent>,
    ) {
        self.sum(used, model, caller);
        events.push(AgentEvent::Usage(self.usage));
    }

    pub(super) fn sum_up(mut self, model: Option<&str>) -> (Usage, ContextUse, Vec<ModelCall>) {
        if let Some(cut_off) = self.in_flight.take() {
            self.sum(cut_off, model.map(str::to_owned), Caller::Agent);
        }
        (self.usage, self.context, self.calls.into_all())
    }

    fn sum(&mut self, used: MessageUsage, model: Option<String>, caller: Caller) {
        let MessageUsage { tokens, cost } = used;
        add_tokens(&mut self.usage, tokens);
        if let Some(cost) = cost {
            self.usage.cost_usd = Some(self.usage.cost_usd.unwrap_or(0.0) + cost);
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
