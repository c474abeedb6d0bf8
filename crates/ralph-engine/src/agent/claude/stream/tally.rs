//! What a run of Claude Code has used: tokens, money, and how full its context is.
//!
//! Each message counts once, however often the stream repeats it; the sums of a `result` are final,
//! hold subagents too, and replace what was counted on the way.

use std::collections::{BTreeMap, HashMap};

use ralph_core::agent::{AgentEvent, ContextUse, Usage};

use super::super::wire::{self, Message, PartialEvent};

/// The window of a model whose name does not say more; a result says it exactly.
const WINDOW: u64 = 200_000;
const LONG_WINDOW: u64 = 1_000_000;

#[derive(Default)]
pub(super) struct Tally {
    usage: Usage,
    context: ContextUse,
    model: Option<String>,
    /// What each message brought so far.
    counted: HashMap<String, wire::Usage>,
    /// The message that is being streamed.
    current: Option<String>,
}

impl Tally {
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    pub(super) fn into_context(self) -> ContextUse {
        self.context
    }

    /// Until a result says the window, the model's name does.
    pub(super) fn expect_model(&mut self, model: Option<&str>) {
        if self.model.is_none() {
            self.model = model.map(str::to_owned);
        }
        let long = model.is_some_and(|name| name.ends_with("[1m]"));
        self.context
            .window
            .get_or_insert(if long { LONG_WINDOW } else { WINDOW });
    }

    pub(super) fn count(&mut self, message: &Message, own: bool, events: &mut Vec<AgentEvent>) {
        let (Some(id), Some(usage)) = (&message.id, message.usage) else {
            return;
        };
        let is_new = self.add(id, usage);
        if is_new && own {
            let used = usage.input_tokens
                + usage.cache_read_input_tokens
                + usage.cache_creation_input_tokens;
            self.usage.context_tokens = used;
            self.context.push(used);
            events.push(AgentEvent::Turn {
                model: message.model.clone(),
                context_tokens: used,
                window: self.context.window,
            });
        }
        if is_new {
            events.push(AgentEvent::Usage(self.usage));
        }
    }

    /// The end of a streamed message says how long it became.
    pub(super) fn partial(&mut self, event: PartialEvent, events: &mut Vec<AgentEvent>) {
        match event.kind.as_str() {
            "message_start" => self.current = event.message.and_then(|m| m.id),
            "message_delta" => {
                if let (Some(id), Some(usage)) = (self.current.clone(), event.usage)
                    && self.counted.contains_key(&id)
                {
                    self.add(&id, usage);
                    events.push(AgentEvent::Usage(self.usage));
                }
            }
            _ => {}
        }
    }

    /// Takes what a message came to. True if it was not seen before.
    fn add(&mut self, id: &str, usage: wire::Usage) -> bool {
        let before = self.counted.get(id).copied();
        let old = before.unwrap_or_default();
        let grown = |new: u64, old: u64| new.saturating_sub(old);
        let sum = &mut self.usage;
        sum.input_tokens += grown(usage.input_tokens, old.input_tokens);
        sum.output_tokens += grown(usage.output_tokens, old.output_tokens);
        sum.cache_read_tokens += grown(usage.cache_read_input_tokens, old.cache_read_input_tokens);
        sum.cache_write_tokens += grown(
            usage.cache_creation_input_tokens,
            old.cache_creation_input_tokens,
        );
        self.counted.insert(id.to_owned(), old.max(usage));
        before.is_none()
    }

    pub(super) fn sum_up(
        &mut self,
        main: Option<wire::Usage>,
        models: &BTreeMap<String, wire::ModelUsage>,
        cost: Option<f64>,
    ) {
        let context_tokens = self.usage.context_tokens;
        if !models.is_empty() {
            self.usage = models.values().fold(Usage::default(), |mut sum, m| {
                sum.input_tokens += m.input_tokens;
                sum.output_tokens += m.output_tokens;
                sum.cache_read_tokens += m.cache_read_input_tokens;
                sum.cache_write_tokens += m.cache_creation_input_tokens;
                sum
            });
        } else if let Some(u) = main {
            self.usage.output_tokens = self.usage.output_tokens.max(u.output_tokens);
        }
        self.usage.context_tokens = context_tokens;
        self.usage.cost_usd = cost;
        let own = self.model.as_deref().and_then(|model| models.get(model));
        let window = own
            .or_else(|| models.values().next())
            .map(|m| m.context_window);
        if let Some(window) = window.filter(|window| *window > 0) {
            self.context.window = Some(window);
        }
    }
}
