//! The usage of a run of Claude Code: tokens, money, and how full its context is.
//!
//! Each message counts once, however often the stream repeats it; the sums of a `result` are final,
//! hold subagents too, and replace what was counted on the way.

use std::collections::{BTreeMap, HashMap};

use ralph_core::{
    agent::{AgentEvent, ContextUse, Usage},
    economics::{Caller, ModelCall, Tokens},
};

use serde_json::Value;

use crate::agent::{
    cost::add_tokens,
    fields::{amount, count, objects, word},
    jsonl::tokens,
};

/// The window of a model whose name does not say more; a result says it exactly.
const WINDOW: u64 = 200_000;
const LONG_WINDOW: u64 = 1_000_000;
/// Of English and of code, about.
const LETTERS_A_TOKEN: u64 = 4;

#[derive(Default)]
pub(super) struct ClaudeUsage {
    usage: Usage,
    context: ContextUse,
    model: Option<String>,
    /// The place of each message's call among `calls`.
    counted: HashMap<String, usize>,
    /// The figures of each message so far.
    calls: Vec<ModelCall>,
    /// The growth of these figures since this was last asked for.
    fresh: Vec<ModelCall>,
    /// About how many tokens each message of a subagent has written, by its length.
    guessed: HashMap<String, u64>,
    /// By the sums of the last result.
    models: BTreeMap<String, Tokens>,
    /// The messages that are being streamed: the agent's own, and one of each subagent.
    current: HashMap<Option<String>, String>,
}

impl ClaudeUsage {
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
        // Named otherwise in the result: it can't be said which are which.
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

    /// Counts a whole message, of the agent itself or of a subagent.
    pub(super) fn add_message(&mut self, message: &Value, own: bool, events: &mut Vec<AgentEvent>) {
        let (Some(id), Some(tokens)) = (message["id"].as_str(), message_tokens(&message["usage"]))
        else {
            return;
        };
        let model = word(&message["model"]);
        let is_new = !self.counted.contains_key(id);
        if is_new {
            self.counted.insert(id.to_owned(), self.calls.len());
            self.calls.push(ModelCall {
                model: model.clone(),
                caller: if own { Caller::Agent } else { Caller::Subagent },
                ..ModelCall::default()
            });
        }
        let before = self.written(id);
        self.add(id, tokens);
        if !own {
            self.guess(id, &message["content"], before);
        }
        if is_new && own {
            let used = tokens.context();
            self.usage.context_tokens = used;
            self.context.push(used);
            events.push(AgentEvent::Turn {
                model,
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
    /// For questions meanwhile; not for the record.
    fn guess(&mut self, id: &str, content: &Value, before: u64) {
        let letters = written_bytes(content) as u64;
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

    /// The number of tokens that a message has written, by its own word or by its length.
    fn written(&self, id: &str) -> u64 {
        let at = self.counted.get(id);
        let told = at.and_then(|at| self.calls.get(*at));
        let guessed = self.guessed.get(id).copied().unwrap_or(0);
        told.map_or(0, |call| call.tokens.output).max(guessed)
    }

    /// The end of a streamed message says how long it became.
    pub(super) fn partial(
        &mut self,
        event: &Value,
        whose: Option<String>,
        events: &mut Vec<AgentEvent>,
    ) {
        let kind = event["type"].as_str().unwrap_or_default();
        match (kind, word(&event["message"]["id"])) {
            ("message_start", Some(id)) => {
                self.current.insert(whose, id);
            }
            ("message_start", None) | ("message_stop", _) => {
                self.current.remove(&whose);
            }
            ("message_delta", _) => {
                let tokens = message_tokens(&event["usage"]);
                if let (Some(id), Some(tokens)) = (self.current.get(&whose).cloned(), tokens)
                    && self.add(&id, tokens)
                {
                    events.push(AgentEvent::Usage(self.usage));
                }
            }
            _ => {}
        }
    }

    /// Takes what a message came to, if it is one that was seen; returns whether it is.
    fn add(&mut self, id: &str, tokens: Tokens) -> bool {
        let at = self.counted.get(id).copied();
        let Some(call) = at.and_then(|at| self.calls.get_mut(at)) else {
            return false;
        };
        // A message's figures only grow.
        let grown = tokens.without(call.tokens);
        call.tokens = call.tokens.plus(grown);
        self.fresh.push(ModelCall {
            tokens: grown,
            ..call.clone()
        });
        add_tokens(&mut self.usage, grown);
        true
    }

    /// Takes the sums of a result.
    pub(super) fn sum_up(&mut self, result: &Value) {
        let models = result["modelUsage"].as_object().into_iter().flatten();
        let models: BTreeMap<&String, &Value> = models.filter(|(_, m)| m.is_object()).collect();
        let context_tokens = self.usage.context_tokens;
        if !models.is_empty() {
            self.usage = Usage::default();
            self.models.clear();
            for (name, model) in &models {
                let tokens = model_tokens(model);
                add_tokens(&mut self.usage, tokens);
                let sum = self.models.entry(plain_name(name).to_owned()).or_default();
                *sum = sum.plus(tokens);
            }
        } else if result["usage"].is_object() {
            let output = count(&result["usage"]["output_tokens"]);
            self.usage.output_tokens = self.usage.output_tokens.max(output);
        }
        self.usage.context_tokens = context_tokens;
        self.usage.cost_usd = amount(&result["total_cost_usd"]);
        let own = self.model.as_ref().and_then(|model| models.get(model));
        let model = own.or_else(|| models.values().next());
        let window = model.map_or(0, |model| count(&model["contextWindow"]));
        if window > 0 {
            self.context.window = Some(window);
        }
    }
}

/// The name without how large its window is: `claude-x[1m]` is `claude-x`.
fn plain_name(model: &str) -> &str {
    model.split('[').next().unwrap_or(model)
}

/// The tokens of a message; nothing where it does not say.
fn message_tokens(usage: &Value) -> Option<Tokens> {
    let names = [
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ];
    usage.is_object().then(|| tokens(usage, names))
}

/// The tokens of a model, in the sums of a result.
fn model_tokens(usage: &Value) -> Tokens {
    let names = [
        "inputTokens",
        "outputTokens",
        "cacheReadInputTokens",
        "cacheCreationInputTokens",
    ];
    tokens(usage, names)
}

/// The number of bytes that the model wrote for the content of a message.
fn written_bytes(content: &Value) -> usize {
    let of_block = |block: &Value| {
        let texts = ["text", "thinking", "name"].map(|key| block[key].as_str().map_or(0, str::len));
        let input = Some(&block["input"]).filter(|input| input.is_object());
        texts.iter().sum::<usize>() + input.map_or(0, |input| input.to_string().len())
    };
    content.as_str().map_or(0, str::len) + objects(content).map(of_block).sum::<usize>()
}
