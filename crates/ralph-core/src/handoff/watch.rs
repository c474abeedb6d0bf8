//! Watches a run for the moment to hand over: asks the agent to wrap up once, and ends it when it was
//! given a turn to answer and would ask its model once more.
//!
//! Asks only while a tool of the agent's runs: its model is asked again then anyway. One that is about
//! to end by itself is not disturbed, lest its claim be followed by other last words. The time, and
//! which tools are under way, are arguments.

use std::time::Duration;

use super::{HandoffTrigger, Handover, Share};
use crate::{
    agent::{Beat, NudgeState, RunMoment},
    config::HandoffConfig,
    dollars::Dollars,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoffStep {
    /// Ask the agent to wrap up.
    Ask(Handover),
    /// End it.
    Cut { trigger: HandoffTrigger },
}

#[derive(Debug, Clone)]
pub struct HandoffWatch {
    /// None where only a person asks for it.
    thresholds: Option<HandoffConfig>,
    wraps_up_at: Option<Duration>,
    /// Tells what may be spent, where most of it was not spent yet when the run began.
    room: Option<Room>,
    time: Option<Duration>,
    seen: RunSeen,
    state: State,
}

/// Describes what was seen of the run.
#[derive(Debug, Clone, Default)]
struct RunSeen {
    /// Tokens in use at the last turn, and the window.
    context: Option<(u64, Option<u64>)>,
    cost: Dollars,
    /// The way the tools of this turn ended.
    worked: u32,
    failed: u32,
    /// Turns in a row whose tools all failed.
    errors: u32,
    /// The timer has rung.
    woken: bool,
}

#[derive(Debug, Clone)]
enum State {
    Watching,
    Asked { why: Handover, answer: WrapUpAnswer },
    Cut { why: Handover },
}

/// The state of the agent's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WrapUpAnswer {
    /// It was not heard to have got the request. The turns since: the one under way when it was sent
    /// may not know of it.
    Waiting { turns: u32 },
    /// The request is on its way to the model: the next turn is the answer.
    Next,
    /// Its model has answered.
    Given,
    /// It can't be asked while it runs.
    Deaf,
}

impl HandoffWatch {
    /// Without thresholds it waits for a person's request alone.
    pub fn new(thresholds: Option<&HandoffConfig>, start: &Start) -> Self {
        Self {
            wraps_up_at: thresholds.and_then(|t| t.wraps_up_at(start)),
            room: thresholds.and_then(|t| t.room(start)),
            time: start.time,
            thresholds: thresholds.cloned(),
            seen: RunSeen::default(),
            state: State::Watching,
        }
    }

    /// Why the agent was asked to hand over, if it was.
    pub fn asked(&self) -> Option<&Handover> {
        match &self.state {
            State::Watching => None,
            State::Asked { why, .. } | State::Cut { why } => Some(why),
        }
    }

    /// When it is to be woken.
    pub fn wakes_at(&self) -> Option<Duration> {
        match (&self.state, self.seen.woken) {
            (State::Watching, false) => self.wraps_up_at,
            (State::Watching, true) | (State::Asked { .. } | State::Cut { .. }, _) => None,
        }
    }

    pub fn wake(&mut self, now: RunMoment) -> Option<HandoffStep> {
        self.seen.woken |= self.wraps_up_at.is_some_and(|at| now.elapsed >= at);
        self.decide(now)
    }

    pub fn observe(&mut self, beat: Beat, now: RunMoment) -> Option<HandoffStep> {
        self.seen.take(beat);
        match &mut self.state {
            State::Watching => self.decide(now),
            State::Asked { why, answer } => {
                let is_over = answer.after(beat, now);
                is_over.then(|| why.clone()).map(|why| self.cut(why))
            }
            State::Cut { .. } => None,
        }
    }

    /// The run has cost so much, by what its calls come to or by what it says itself.
    pub fn spent(&mut self, so_far: Dollars, now: RunMoment) -> Option<HandoffStep> {
        self.seen.cost = self.seen.cost.max(so_far);
        self.decide(now)
    }

    /// Returns what became of the request to wrap up.
    pub fn nudged(&mut self, nudged: NudgeState, now: RunMoment) -> Option<HandoffStep> {
        let State::Asked { why, answer } = &mut self.state else {
            return None;
        };
        match (nudged, *answer) {
            (NudgeState::Delivered, WrapUpAnswer::Waiting { .. }) => *answer = WrapUpAnswer::Next,
            (NudgeState::Impossible, _) => {
                *answer = WrapUpAnswer::Deaf;
                // Of one that tells nothing of its turns, no boundary will ever be heard.
                if self.seen.context.is_none() && now.tools_this_turn == 0 {
                    let why = why.clone();
                    return Some(self.cut(why));
                }
            }
            (NudgeState::Sent, _) | (NudgeState::Delivered, _) => {}
        }
        None
    }

    /// A person asks for it; nothing if the agent was asked already.
    pub fn request(&mut self) -> Option<HandoffStep> {
        match self.state {
            State::Watching => Some(self.ask(Handover {
                trigger: HandoffTrigger::ExplicitRequest,
                sentence: "a person asked for it".to_owned(),
            })),
            State::Asked { .. } | State::Cut { .. } => None,
        }
    }

    fn decide(&mut self, now: RunMoment) -> Option<HandoffStep> {
        let may_ask = matches!(self.state, State::Watching) && now.tools_this_turn > 0;
        let why = self.due(now.elapsed).filter(|_| may_ask)?;
        Some(self.ask(why))
    }

    fn ask(&mut self, why: Handover) -> HandoffStep {
        let answer = WrapUpAnswer::Waiting { turns: 0 };
        self.state = State::Asked {
            why: why.clone(),
            answer,
        };
        HandoffStep::Ask(why)
    }

    fn cut(&mut self, why: Handover) -> HandoffStep {
        let trigger = why.trigger;
        self.state = State::Cut { why };
        HandoffStep::Cut { trigger }
    }

    /// The first of the reasons that there are, in their order.
    fn due(&self, now: Duration) -> Option<Handover> {
        let thresholds = self.thresholds.as_ref()?;
        let why = |trigger, sentence| Handover { trigger, sentence };
        let context = self.context_used(thresholds.context_threshold);
        let context = context.map(|sentence| why(HandoffTrigger::ContextThreshold, sentence));
        let errors = self.seen.errors;
        let budget = || self.budget_used(thresholds.budget_threshold);
        context
            .or_else(|| {
                (errors >= thresholds.max_errors.get()).then(|| {
                    let sentence = format!("{errors} of its steps in a row failed");
                    why(HandoffTrigger::ErrorThreshold, sentence)
                })
            })
            .or_else(|| Some(why(HandoffTrigger::TokenBudget, budget()?)))
            .or_else(|| Some(why(HandoffTrigger::Timeout, self.time_used(now)?)))
    }

    fn context_used(&self, share: Share) -> Option<String> {
        let (used, window) = self.seen.context?;
        let window = window?;
        share.is_exceeded(used, window).then(|| {
            let percent = u128::from(used) * 100 / u128::from(window.max(1));
            format!("{percent} % of its context are in use ({used} of {window} tokens), more than {share}")
        })
    }

    fn budget_used(&self, share: Share) -> Option<String> {
        let Room { spent, max } = self.room?;
        let spent = spent.plus(self.seen.cost);
        share
            .is_exceeded(spent.millionths(), max.millionths())
            .then(|| format!("{spent} of {max} are spent, more than {share}"))
    }

    fn time_used(&self, now: Duration) -> Option<String> {
        let (at, time) = (self.wraps_up_at?, self.time?);
        (now >= at).then(|| {
            let left = time.saturating_sub(now);
            format!("{} of its {} are left", length(left), length(time))
        })
    }
}

impl WrapUpAnswer {
    /// Takes note of what the agent did; true when it has had its turn and would go on.
    fn after(&mut self, beat: Beat, now: RunMoment) -> bool {
        match (*self, beat) {
            (Self::Waiting { turns: 0 }, Beat::Turn { .. }) => {
                *self = Self::Waiting { turns: 1 };
                false
            }
            (Self::Waiting { .. } | Self::Next, Beat::Turn { .. }) => {
                *self = Self::Given;
                false
            }
            (Self::Given, Beat::Turn { .. } | Beat::Tool { .. }) => true,
            (Self::Deaf, Beat::ToolDone { .. }) => now.tools_this_turn == 0,
            (Self::Waiting { .. } | Self::Next | Self::Given | Self::Deaf, _) => false,
        }
    }
}

impl RunSeen {
    fn take(&mut self, beat: Beat) {
        match beat {
            Beat::Turn {
                context_tokens,
                window,
            } => {
                self.context = Some((context_tokens, window));
                self.end_of_turn();
            }
            Beat::ToolDone { ok, .. } => {
                if ok {
                    self.worked += 1;
                } else {
                    self.failed += 1;
                }
            }
            Beat::Usage(usage) => {
                let told = usage.told();
                self.cost = self.cost.max(told);
            }
            Beat::Tool { .. } | Beat::Text { .. } | Beat::Waits | Beat::Ended | Beat::Other => {}
        }
    }

    /// A turn without tools says nothing of whether steps fail.
    fn end_of_turn(&mut self) {
        match (self.worked, self.failed) {
            (0, 0) => {}
            (0, _) => self.errors += 1,
            (_, _) => self.errors = 0,
        }
        (self.worked, self.failed) = (0, 0);
    }
}

/// Minutes, or seconds where they are few.
fn length(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// Describes what a run begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Start {
    /// The time that the agent has; none where it is not the iteration's own that ends first.
    pub time: Option<Duration>,
    /// The limit of cost that is used up first.
    pub room: Option<Room>,
}

/// Describes what may be spent in all, and what is spent already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub spent: Dollars,
    pub max: Dollars,
}

impl HandoffConfig {
    /// When the agent is to wrap up. Of a short time it has at least the half.
    fn wraps_up_at(&self, start: &Start) -> Option<Duration> {
        let time = start.time?;
        Some(time - self.wrap_up_minutes.duration().min(time / 2))
    }

    /// Returns what may be spent, where using it up is a reason to hand over. Where most of it is spent already,
    /// a fresh agent would be asked to wrap up for what the one before has spent.
    fn room(&self, start: &Start) -> Option<Room> {
        let is_spent = |Room { spent, max }: &Room| {
            self.budget_threshold
                .is_exceeded(spent.millionths(), max.millionths())
        };
        start.room.filter(|room| !is_spent(room))
    }
}
