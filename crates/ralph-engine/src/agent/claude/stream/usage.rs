//! The usage of a run of Claude Code: tokens, money, and how full its context is.
//!
//! Each message counts once, however often the stream repeats it; the sums of a `result` are final,
//! hold subagents too, and replace what was counted on the way.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ralph_core::{
    agent::{AgentEvent, ContextUse, Usage},
    economics::{Caller, ModelCall, ModelCalls, Tokens},
};

use crate::agent::{
    cost::add_tokens,
    fields::{amount, count, objects, word},
    json::Json,
    jsonl::tokens,
};

/// The window of a model whose name does not say more; a result says it exactly.
const WINDOW: u64 = 200_000;
const LONG_WINDOW: u64 = 1_000_000;
/// Of English and of code, about.
const LETTERS_A_TOKEN: u64 = 4;
/// Messages that may still grow: the stream repeats one of the last ones, its own or a subagent's, and never
/// an old one.
const MAX_OPEN: usize = 24;
/// Subagents whose messages are followed at once.
const MAX_STREAMS: usize = 1_000;

#[derive(Default)]
pub(super) struct ClaudeUsage {
    usage: Usage,
    context: ContextUse,
    model: Option<String>,
    /// The last messages, oldest first.
    open: VecDeque<OpenMessage>,
    /// The calls of the messages before them.
    calls: ModelCalls,
    /// The growth of all figures since this was last asked for.
    fresh: Vec<ModelCall>,
    /// By the sums of the last result.
    models: BTreeMap<String, Tokens>,
    /// The messages that are being streamed: the agent's own, and one of each subagent.
    current: HashMap<Option<String>, String>,
}

/// A message whose figures may grow.
struct OpenMessage {
    id: String,
    call: ModelCall,
    /// About how many tokens it has written, by its length; for a message of a subagent.
    guessed: u64,
}

impl OpenMessage {
    /// The number of tokens that it has written, by its own word or by its length.
    fn written(&self) -> u64 {
        self.call.tokens.output.max(self.guessed)
    }
}

impl ClaudeUsage {
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    pub(super) fn take_fresh(&mut self) -> Vec<ModelCall> {
        std::mem::take(&mut self.fresh)
    }

    pub(super) fn into_parts(mut self) -> (ContextUse, Vec<ModelCall>) {
        for message in self.open {
            self.calls.push(message.call);
        }
        let mut calls = self.calls.into_all();
        add_the_unseen(&mut calls, &self.models);
        (self.context, calls)
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
    pub(super) fn add_message(
        &mut self,
        message: &Json<'_>,
        own: bool,
        events: &mut Vec<AgentEvent>,
    ) {
        let (Some(id), Some(tokens)) = (message["id"].as_str(), message_tokens(&message["usage"]))
        else {
            return;
        };
        let model = word(&message["model"]);
        let at = self.place(id);
        let is_new = at.is_none();
        let at = at.unwrap_or_else(|| {
            let caller = if own { Caller::Agent } else { Caller::Subagent };
            self.open(id, model.clone(), caller)
        });
        let before = self.open[at].written();
        self.add(at, tokens);
        if !own {
            self.guess(at, &message["content"], before);
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

    /// The place of a message among the open ones.
    fn place(&self, id: &str) -> Option<usize> {
        self.open.iter().rposition(|message| message.id == id)
    }

    /// Opens a message, and closes the oldest where there are too many; returns its place.
    fn open(&mut self, id: &str, model: Option<String>, caller: Caller) -> usize {
        if self.open.len() == MAX_OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            self.calls.push(oldest.call);
        }
        self.open.push_back(OpenMessage {
            id: id.to_owned(),
            call: ModelCall {
                model,
                caller,
                ..ModelCall::default()
            },
            guessed: 0,
        });
        self.open.len() - 1
    }

    /// The stream never says how long an answer of a subagent became, and shows of it only what goes
    /// to its tools: the length of that says how many tokens it took at least, until the result does.
    /// For questions meanwhile; not for the record.
    fn guess(&mut self, at: usize, content: &Json<'_>, before: u64) {
        let letters = written_bytes(content) as u64;
        let message = &mut self.open[at];
        message.guessed += letters.div_ceil(LETTERS_A_TOKEN);
        let more = message.written().saturating_sub(before);
        // What the message itself says is among the fresh already.
        let told = self.fresh.last().map_or(0, |call| call.tokens.output);
        self.fresh.push(ModelCall {
            tokens: Tokens {
                output: more.saturating_sub(told),
                ..Tokens::default()
            },
            ..message.call.clone()
        });
    }

    /// The end of a streamed message says how long it became.
    pub(super) fn partial(
        &mut self,
        event: &Json<'_>,
        whose: Option<String>,
        events: &mut Vec<AgentEvent>,
    ) {
        let kind = event["type"].as_str().unwrap_or_default();
        match (kind, word(&event["message"]["id"])) {
            ("message_start", Some(id)) => {
                if self.current.len() >= MAX_STREAMS {
                    self.current.clear();
                }
                self.current.insert(whose, id);
            }
            ("message_start", None) | ("message_stop", _) => {
                self.current.remove(&whose);
            }
            ("message_delta", _) => {
                let at = self.current.get(&whose).and_then(|id| self.place(id));
                if let (Some(at), Some(tokens)) = (at, message_tokens(&event["usage"])) {
                    self.add(at, tokens);
                    events.push(AgentEvent::Usage(self.usage));
                }
            }
            _ => {}
        }
    }

    /// Takes what an open message came to.
    fn add(&mut self, at: usize, tokens: Tokens) {
        let call = &mut self.open[at].call;
        // A message's figures only grow.
        let grown = tokens.without(call.tokens);
        call.tokens = call.tokens.plus(grown);
        self.fresh.push(ModelCall {
            tokens: grown,
            ..call.clone()
        });
        add_tokens(&mut self.usage, grown);
    }

    /// Takes the sums of a result.
    pub(super) fn sum_up(&mut self, result: &Json<'_>) {
        let models = result["modelUsage"].fields().iter();
        let models: BTreeMap<&str, &Json<'_>> = models
            .filter(|(_, model)| model.is_object())
            .map(|(name, model)| (name.as_ref(), model))
            .collect();
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
        let own = self.model.as_deref().and_then(|model| models.get(model));
        let model = own.or_else(|| models.values().next());
        let window = model.map_or(0, |model| count(&model["contextWindow"]));
        if window > 0 {
            self.context.window = Some(window);
        }
    }
}

/// A result sums up by model. What the calls that were seen do not come to is that model's too:
/// answers that were cut off, and calls that the stream does not show.
fn add_the_unseen(calls: &mut Vec<ModelCall>, models: &BTreeMap<String, Tokens>) {
    fn of(call: &ModelCall) -> Option<&str> {
        call.model.as_deref().map(plain_name)
    }
    let is_known = |call: &ModelCall| of(call).is_some_and(|model| models.contains_key(model));
    // Named otherwise in the result: it can't be said which are which.
    if !calls.iter().all(is_known) {
        return;
    }
    for (model, sum) in models {
        let seen = calls
            .iter()
            .filter(|call| of(call) == Some(model))
            .fold(Tokens::default(), |sum, call| sum.plus(call.tokens));
        let rest = sum.without(seen);
        if !rest.is_none() {
            calls.push(ModelCall {
                model: Some(model.clone()),
                caller: Caller::Rest,
                tokens: rest,
                told: None,
            });
        }
    }
}

/// The name without how large its window is: `claude-x[1m]` is `claude-x`.
fn plain_name(model: &str) -> &str {
    model.split('[').next().unwrap_or(model)
}

/// The tokens of a message; nothing where it does not say.
fn message_tokens(usage: &Json<'_>) -> Option<Tokens> {
    let names = [
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ];
    usage.is_object().then(|| tokens(usage, names))
}

/// The tokens of a model, in the sums of a result.
fn model_tokens(usage: &Json<'_>) -> Tokens {
    let names = [
        "inputTokens",
        "outputTokens",
        "cacheReadInputTokens",
        "cacheCreationInputTokens",
    ];
    tokens(usage, names)
}

/// The number of bytes that the model wrote for the content of a message.
fn written_bytes(content: &Json<'_>) -> usize {
    let of_block = |block: &Json<'_>| {
        let texts = ["text", "thinking", "name"].map(|key| block[key].as_str().map_or(0, str::len));
        let input = Some(&block["input"]).filter(|input| input.is_object());
        texts.iter().sum::<usize>() + input.map_or(0, |input| input.written_bytes())
    };
    content.as_str().map_or(0, str::len) + objects(content).map(of_block).sum::<usize>()
}
