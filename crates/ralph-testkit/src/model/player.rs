//! Which turn of which conversation a request gets. Never looks at a connection: a client that asks
//! again asks for the same turn, wherever from.

use std::collections::BTreeMap;

use super::fault::{Fault, FaultKind, Place, Repeat};
use super::request::{Answered, AnsweredWith};
use super::scenario::{Conversation, Hold, Scenario, Stop, Turn, Usage, Warning};
use super::tools::tool_call;
use super::wire::{Answer, Block, ParsedRequest};

/// Defines what a request past the script gets.
const UNSCRIPTED: &str = "done";
/// Defines what a request for a title or a summary gets.
const SIDE: &str = "<analysis>It is short.</analysis>\n<summary>A short summary.</summary>";
/// Defines what Claude Code ends its request for a summary with. It offers all its tools along.
const WANTS_A_SUMMARY: &str = "Tool calls will be rejected and you will fail the task";

pub(super) struct ScenarioPlayer {
    scenario: Scenario,
    /// The number of conversations that each was used for.
    used: Vec<usize>,
    begun: Vec<StartedConversation>,
}

/// A conversation that a client began.
struct StartedConversation {
    key: ConversationKey,
    conversation: usize,
    /// The requests so far went wrong, so that its first turn may be asked for again.
    only_faults: bool,
    /// The number of faults of a turn that were played.
    faults: BTreeMap<usize, usize>,
}

/// Describes what requests of one conversation have in common.
#[derive(Clone, PartialEq, Eq)]
struct ConversationKey {
    session: Option<String>,
    first_text: String,
}

pub(super) struct Decision {
    pub(super) answered: Answered,
    pub(super) reply: Reply,
}

pub(super) enum Reply {
    Answer {
        answer: Answer,
        hold: Option<Hold>,
        warning: Option<Warning>,
    },
    Fault {
        kind: FaultKind,
        /// Tells what the fault cuts short.
        answer: Answer,
    },
    /// The scenario can't be played to this client.
    Mistake(String),
}

impl ScenarioPlayer {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self {
            used: vec![0; scenario.conversations.len()],
            scenario,
            begun: Vec::new(),
        }
    }

    /// Returns what a request gets; `number` is unique to it.
    pub(super) fn decide(&mut self, number: usize, asked: &ParsedRequest) -> Decision {
        let turn = asked.assistant_messages();
        if wants_a_summary(asked) {
            return plain(None, turn, AnsweredWith::Side, said(number, asked, SIDE));
        }
        let Some(run) = self.conversation_of(asked, turn) else {
            let (with, text) = if asked.tools.is_empty() {
                (AnsweredWith::Side, SIDE)
            } else {
                (AnsweredWith::Unscripted, UNSCRIPTED)
            };
            return plain(None, turn, with, said(number, asked, text));
        };
        let begun = &mut self.begun[run];
        let place = Some((begun.conversation, run + 1));
        let turns = &self.scenario.conversations[begun.conversation].turns;
        let Some(script) = turns.get(turn) else {
            begun.only_faults = false;
            let answer = said(number, asked, UNSCRIPTED);
            return plain(place, turn, AnsweredWith::Unscripted, answer);
        };
        let answer = match answer(number, asked, script) {
            Ok(answer) => answer,
            Err(mistake) => {
                return Decision {
                    answered: answered(place, turn, 400, AnsweredWith::Mistake),
                    reply: Reply::Mistake(mistake),
                };
            }
        };
        let played = begun.faults.entry(turn).or_default();
        if let Some(kind) = fault_at(&script.faults, *played).cloned() {
            *played += 1;
            let status = status_of(&kind, asked.streaming);
            return Decision {
                answered: answered(place, turn, status, AnsweredWith::Fault),
                reply: Reply::Fault { kind, answer },
            };
        }
        begun.only_faults = false;
        Decision {
            answered: answered(place, turn, 200, AnsweredWith::Turn),
            reply: Reply::Answer {
                answer,
                hold: script.hold.clone(),
                warning: script.warning.clone(),
            },
        }
    }

    /// The conversation that a request belongs to, begun now if it is a first one.
    fn conversation_of(&mut self, asked: &ParsedRequest, turn: usize) -> Option<usize> {
        let key = ConversationKey {
            session: asked.session.clone(),
            first_text: asked.first_user_text(),
        };
        let without_tools = asked.tools.is_empty();
        let conversations = &self.scenario.conversations;
        let same = |begun: &StartedConversation| {
            begun.key == key && conversations[begun.conversation].without_tools == without_tools
        };
        if let Some(run) = self.begun.iter().rposition(same) {
            // A session that is named can't begin twice. For one that is not, a first request behind
            // an answer is a new one, and behind a fault the same again.
            let goes_on = key.session.is_some() || turn > 0 || self.begun[run].only_faults;
            if goes_on {
                return Some(run);
            }
        }
        let is_left = |at: usize, conversation: &Conversation| {
            conversation.without_tools == without_tools
                && conversation.times.is_none_or(|times| self.used[at] < times)
                && conversation
                    .when
                    .as_ref()
                    .is_none_or(|when| key.first_text.contains(when))
        };
        let mut all = conversations.iter().enumerate();
        let (conversation, _) = all.find(|(at, conversation)| is_left(*at, conversation))?;
        self.used[conversation] += 1;
        self.begun.push(StartedConversation {
            key,
            conversation,
            only_faults: true,
            faults: BTreeMap::new(),
        });
        Some(self.begun.len() - 1)
    }
}

fn wants_a_summary(asked: &ParsedRequest) -> bool {
    let last = asked.messages.last();
    last.is_some_and(|last| last.texts.iter().any(|text| text.contains(WANTS_A_SUMMARY)))
}

fn answered(
    place: Option<(usize, usize)>,
    turn: usize,
    status: u16,
    with: AnsweredWith,
) -> Answered {
    Answered {
        conversation: place.map(|(conversation, _)| conversation),
        run: place.map(|(_, run)| run),
        turn,
        status,
        with,
    }
}

fn plain(
    place: Option<(usize, usize)>,
    turn: usize,
    with: AnsweredWith,
    answer: Answer,
) -> Decision {
    Decision {
        answered: answered(place, turn, 200, with),
        reply: Reply::Answer {
            answer,
            hold: None,
            warning: None,
        },
    }
}

/// The fault to be played after so many, if one is left.
fn fault_at(faults: &[Fault], played: usize) -> Option<&FaultKind> {
    let mut before = 0;
    for fault in faults {
        match fault.repeat {
            Repeat::Forever => return Some(&fault.kind),
            Repeat::Times(times) => before += times,
        }
        if played < before {
            return Some(&fault.kind);
        }
    }
    None
}

/// The status that a client sees; 0 for none.
fn status_of(kind: &FaultKind, is_streaming: bool) -> u16 {
    match kind {
        FaultKind::Status { status, .. } => *status,
        FaultKind::UsageLimit(_) => 429,
        FaultKind::Overflow => 400,
        FaultKind::RefuseConnection
        | FaultKind::Stall(Place::BeforeHeaders)
        | FaultKind::Cut(Place::BeforeHeaders) => 0,
        // An answer in one piece goes wrong before it begins.
        FaultKind::Stall(Place::MidStream | Place::AfterBlock)
        | FaultKind::Cut(Place::MidStream | Place::AfterBlock)
        | FaultKind::SseError(_) => {
            if is_streaming {
                200
            } else {
                0
            }
        }
    }
}

fn said(number: usize, asked: &ParsedRequest, text: &str) -> Answer {
    Answer {
        id: format!("msg_{number:04}"),
        model: asked.model.clone(),
        blocks: vec![Block::Text(text.to_owned())],
        stop: Stop::EndTurn,
        usage: Usage::default(),
    }
}

/// A turn in the words of the client that asked.
fn answer(number: usize, asked: &ParsedRequest, turn: &Turn) -> Result<Answer, String> {
    let mut blocks = Vec::new();
    blocks.extend(turn.thinking.clone().map(Block::Thinking));
    blocks.extend(turn.say.clone().map(Block::Text));
    blocks.extend(turn.fill.map(|bytes| Block::Text(filling(bytes))));
    for (index, tool) in turn.tools.iter().enumerate() {
        let (name, input) = tool_call(tool, asked)?;
        let id = format!("toolu_{number:04}_{index}");
        blocks.push(Block::Tool { id, name, input });
    }
    let by_itself = if turn.tools.is_empty() {
        Stop::EndTurn
    } else {
        Stop::ToolUse
    };
    Ok(Answer {
        id: format!("msg_{number:04}"),
        model: asked.model.clone(),
        blocks,
        stop: turn.stop.unwrap_or(by_itself),
        usage: turn.usage,
    })
}

/// So many bytes of lines.
fn filling(bytes: usize) -> String {
    const LINE: &str = "The model has much to say and says it at length, line after line.\n";
    let mut text = LINE.repeat(bytes / LINE.len() + 1);
    text.truncate(bytes);
    text
}
