//! What a run of Claude Code has used: tokens, money, and how full its context is.
//!
//! Each message counts once, however often the stream repeats it; the sums of a `result` are final,
//! hold subagents too, and replace what was counted on the way.

use std::collections::{BTreeMap, HashMap};

use ralph_core::{
    agent::{AgentEvent, ContextUse, Usage},
    economics::{Caller, ModelCall, Tokens},
};

use super::super::wire::{self, Message, PartialEvent};

/// The window of a model whose name does not say more; a result says it exactly.
const WINDOW: u64 = 200_000;
const LONG_WINDOW: u64 = 1_000_000;
/// Of English and of code, about.
const LETTERS_A_TOKEN: u64 = 4;

#[derive(Default)]
pub(super) struct Tally {
    usage: Usage,
    context: ContextUse,
    model: Option<String>,
    /// Where the call of each message is among `calls`.
    counted: HashMap<String, usize>,
    /// What each message brought so far.
    calls: Vec<ModelCall>,
    /// What they brought since somebody asked.
    fresh: Vec<ModelCall>,
    /// About how many tokens each message of a subagent has written, by its length.
    guessed: HashMap<String, u64>,
    /// By the sums of the last result.
    models: BTreeMap<String, Tokens>,
    /// The messages that are being streamed: the agent's own, and one of each subagent.
    current: HashMap<Option<String>, String>,
}

impl Tally {
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    pub(super) fn take_fresh(&mut self) -> Vec<ModelCall> {
        std::mem::take(&mut self.fresh)
    }

    pub(super) fn into_parts(mut self) -> (ContextUse, Vec<ModelCall>) {
        self.add_the_unseen();
        (self.context, self.calls)
    }

    /// A result sums up by model. What the calls that were seen do not come to is that model's too:
    /// answers that were cut off, and calls that the stream does not show.
    fn add_the_unseen(&mut self) {
        let of = |call: &ModelCall| call.model.as_deref().map(plain_name).map(str::to_owned);
        let is_known = |call: &ModelCall| of(call).is_some_and(|m| self.models.contains_key(&m));
        // Named otherwise in the result: nobody can say which are which.
        if !self.calls.iter().all(is_known) {
            return;
        }
        for (model, sum) in &self.models {
            let seen = self
                .calls
                .iter()
                .filter(|call| of(call).as_deref() == Some(model))
                .fold(Tokens::default(), |sum, call| sum.plus(call.tokens));
            let rest = sum.without(seen);
            if !rest.is_none() {
                self.calls.push(ModelCall {
                    model: Some(model.clone()),
                    caller: Caller::Rest,
                    tokens: rest,
                    told: None,
                });
            }
        }
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
        let is_new = !self.counted.contains_key(id);
        if is_new {
            self.counted.insert(id.clone(), self.calls.len());
            self.calls.push(ModelCall {
                model: message.model.clone(),
                caller: if own { Caller::Agent } else { Caller::Subagent },
                ..ModelCall::default()
            });
        }
        let before = self.written(id);
        self.add(id, usage);
        if !own {
            self.guess(id, message, before);
        }
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

    /// The stream never says how long an answer of a subagent became, and shows of it only what goes
    /// to its tools: the length of that says how many tokens it took at least, until the result does.
    /// For whoever asks meanwhile; not for the record.
    fn guess(&mut self, id: &str, message: &Message, before: u64) {
        let letters = message.content.written() as u64;
        *self.guessed.entry(id.to_owned()).or_default() += letters.div_ceil(LETTERS_A_TOKEN);
        let more = self.written(id).saturating_sub(before);
        // What the message itself says is among the fresh already.
        let told = self.fresh.last().map_or(0, |call| call.tokens.output);
        if let Some(call) = self.counted.get(id).and_then(|at| self.calls.get(*at)) {
            self.fresh.push(ModelCall {
                tokens: Tokens {
                    output: more.saturating_sub(told),
                    ..Tokens::default()
                },
                ..call.clone()
            });
        }
    }

    /// How many tokens a message has written, by its own word or by its length.
    fn written(&self, id: &str) -> u64 {
        let at = self.counted.get(id);
        let told = at.and_then(|at| self.calls.get(*at));
        let guessed = self.guessed.get(id).copied().unwrap_or(0);
        told.map_or(0, |call| call.tokens.output).max(guessed)
    }

    /// The end of a streamed message says how long it became.
    pub(super) fn partial(
        &mut self,
        event: PartialEvent,
        whose: Option<String>,
        events: &mut Vec<AgentEvent>,
    ) {
        match (event.kind.as_str(), event.message.and_then(|m| m.id)) {
            ("message_start", Some(id)) => {
                self.current.insert(whose, id);
            }
            ("message_start", None) | ("message_stop", _) => {
                self.current.remove(&whose);
            }
            ("message_delta", _) => {
                if let (Some(id), Some(usage)) = (self.current.get(&whose).cloned(), event.usage)
                    && self.add(&id, usage) == Known::Yes
                {
                    events.push(AgentEvent::Usage(self.usage));
                }
            }
            _ => {}
        }
    }

    /// Takes what a message came to, if it is one that was seen.
    fn add(&mut self, id: &str, usage: wire::Usage) -> Known {
        let at = self.counted.get(id).copied();
        let Some(call) = at.and_then(|at| self.calls.get_mut(at)) else {
            return Known::No;
        };
        // A message's figures only grow.
        let grown = tokens(usage).without(call.tokens);
        call.tokens = call.tokens.plus(grown);
        self.fresh.push(ModelCall {
            tokens: grown,
            ..call.clone()
        });
        let sum = &mut self.usage;
        sum.input_tokens += grown.input;
        sum.output_tokens += grown.output;
        sum.cache_read_tokens += grown.cache_read;
        sum.cache_write_tokens += grown.cache_write;
        Known::Yes
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
            self.models.clear();
            for (name, usage) in models {
                let sum = self.models.entry(plain_name(name).to_owned()).or_default();
                *sum = sum.plus(tokens_of_model(usage));
            }
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

/// Whether a message was seen as a whole.
#[derive(PartialEq, Eq)]
enum Known {
    Yes,
    No,
}

/// The name without how large its window is: `claude-x[1m]` is `claude-x`.
fn plain_name(model: &str) -> &str {
    model.split('[').next().unwrap_or(model)
}

fn tokens(usage: wire::Usage) -> Tokens {
    Tokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_read: usage.cache_read_input_tokens,
        cache_write: usage.cache_creation_input_tokens,
    }
}

fn tokens_of_model(usage: &wire::ModelUsage) -> Tokens {
    Tokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_read: usage.cache_read_input_tokens,
        cache_write: usage.cache_creation_input_tokens,
    }
}
