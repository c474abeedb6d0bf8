//! The machine: signs of an agent go in, what is to be done about it comes out.
//!
//! Healthy → degraded → stuck or failing by what is seen; only progress makes it healthy again. Reads
//! no clock, and does none of what it asks for.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use jiff::Timestamp;

use super::{Choice, HealthState, InterventionLevel};
use crate::{
    agent::{CallResult, Ending, Mark, NudgeState, ToolCall, ToolKind},
    config::HealthConfig,
    time::{between, later},
};

/// Describes what was seen of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// Its stream said something. That it lives is no progress.
    Heartbeat,
    /// The tree is not as it was.
    Progress,
    /// The tree was looked at, and is as it was at the look before.
    Unchanged,
    /// Its stream says nothing, for longer than is usual.
    Silent,
    /// A tool call ended.
    Called(ToolCall),
    /// Tells what became of a reminder.
    Nudged(NudgeState),
    /// A person decided.
    Chosen(Choice),
    /// Time has passed.
    Tick,
    /// Its run is over, and ended like this.
    Ended(Ending),
}

/// Describes what is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Reaction {
    Changed {
        before: HealthState,
        state: HealthState,
        sentence: String,
    },
    /// The tree is to be looked at before the same call again is held against it. Answered by
    /// [`Sign::Progress`] or [`Sign::Unchanged`].
    Look,
    /// `text` goes to the agent.
    Nudge {
        nth: u32,
        text: String,
        sentence: String,
        /// When more is done.
        until: Timestamp,
    },
    /// A person is asked.
    Escalate {
        sentence: String,
        hint: String,
        until: Timestamp,
    },
    /// A fresh agent is to go on.
    Handoff,
    /// The agent is ended.
    Terminate { reason: String },
}

/// The state of one run of an agent.
#[derive(Debug, Clone)]
pub struct Health {
    policy: HealthConfig,
    state: HealthState,
    since: Timestamp,
    began: Timestamp,
    last_heartbeat: Option<Timestamp>,
    last_progress: Option<Timestamp>,
    /// From here on the time without progress counts against it.
    patience_from: Timestamp,
    /// The last steps, and which of them failed.
    steps: VecDeque<CallResult>,
    memory: Memory,
    /// Calls that came again, as of the last look at a tree that had not changed.
    fruitless_repeats: u32,
    silence: Silence,
    trust: Trust,
    ladder: Ladder,
    intervention: Option<InterventionLevel>,
    reach: Reach,
    over: Over,
}

/// Describes what only progress restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Whole,
    /// A person gave it more time.
    OnTrial,
    /// It was stuck or failing, and nothing came of it since.
    Lost,
}

/// Tells whether its stream says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    Unnoticed,
    Noticed,
}

/// Tells whether it can be told anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Unknown,
    Told,
    Deaf,
}

/// Tells how an agent does, and by what that is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HealthFinding {
    AllFail,
    /// The same call again and again, so often that this is its state.
    SameAgain(HealthState),
    NoProgress,
    ManyFail,
    SaysNothing,
    OnTrial,
    GetsOn,
}

impl HealthFinding {
    fn state(self) -> HealthState {
        match self {
            Self::AllFail => HealthState::Failing,
            Self::SameAgain(state) => state,
            Self::NoProgress => HealthState::Stuck,
            Self::ManyFail | Self::SaysNothing | Self::OnTrial => HealthState::Degraded,
            Self::GetsOn => HealthState::Healthy,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    NotYet,
    Yes,
}

impl Health {
    /// Of an agent that starts now.
    pub fn new(policy: HealthConfig, now: Timestamp) -> Self {
        Self {
            policy,
            state: HealthState::Healthy,
            since: now,
            began: now,
            last_heartbeat: None,
            last_progress: None,
            patience_from: now,
            steps: VecDeque::new(),
            memory: Memory::default(),
            fruitless_repeats: 0,
            silence: Silence::Unnoticed,
            trust: Trust::Whole,
            ladder: Ladder::Ground,
            intervention: None,
            reach: Reach::Unknown,
            over: Over::NotYet,
        }
    }

    /// Takes in what was seen, and says what is to be done about it.
    pub fn observe(&mut self, sign: &Sign, now: Timestamp) -> Vec<Reaction> {
        let mut reactions = Vec::new();
        if self.over == Over::Yes {
            return reactions;
        }
        match sign {
            Sign::Heartbeat => {
                self.last_heartbeat = Some(now);
                self.silence = Silence::Unnoticed;
            }
            Sign::Progress => self.progress(now),
            Sign::Unchanged => self.fruitless_repeats = self.repeats(),
            Sign::Silent => self.silence = Silence::Noticed,
            Sign::Called(call) => {
                self.called(call, now);
                if self.needs_look() {
                    reactions.push(Reaction::Look);
                }
            }
            Sign::Nudged(NudgeState::Sent | NudgeState::Delivered) => self.reach = Reach::Told,
            Sign::Nudged(NudgeState::Impossible) => self.reach = Reach::Deaf,
            Sign::Chosen(Choice::MoreTime) => self.start_over(Trust::OnTrial, now),
            Sign::Chosen(Choice::Handoff) => {
                self.start_over(Trust::OnTrial, now);
                reactions.push(Reaction::Handoff);
            }
            Sign::Chosen(Choice::Terminate) => {
                self.terminate("a person ended it".to_owned(), now, &mut reactions);
                return reactions;
            }
            Sign::Tick => {}
            Sign::Ended(ending) => {
                self.over = Over::Yes;
                if let Some((state, sentence)) = self.finding_at_end(ending, now) {
                    self.enter(state, sentence, now, &mut reactions);
                }
                return reactions;
            }
        }
        self.judge(now, &mut reactions);
        match self.state {
            HealthState::Stuck | HealthState::Failing => self.act(now, &mut reactions),
            HealthState::Healthy | HealthState::Degraded | HealthState::Terminated => {}
        }
        reactions
    }

    /// When it wants to be asked again though nothing happens; nothing where that changes nothing.
    pub fn wakes_at(&self) -> Option<Timestamp> {
        match (self.over, self.policy.enabled, self.trust) {
            (Over::Yes, _, _) | (_, false, _) => None,
            (Over::NotYet, true, Trust::Lost) => {
                Some(self.ladder.due_at(&self.policy).unwrap_or(self.since))
            }
            (Over::NotYet, true, Trust::Whole | Trust::OnTrial) => Some(later(
                self.patience_from,
                self.policy.stuck_minutes.duration(),
            )),
        }
    }

    pub fn state(&self) -> HealthState {
        self.state
    }

    pub fn since(&self) -> Timestamp {
        self.since
    }

    pub fn last_heartbeat(&self) -> Option<Timestamp> {
        self.last_heartbeat
    }

    pub fn last_progress(&self) -> Option<Timestamp> {
        self.last_progress
    }

    /// Returns how many of the last steps failed.
    pub fn errors(&self) -> u32 {
        let failed = self.steps.iter().filter(|s| **s == CallResult::Failed);
        u32::try_from(failed.count()).unwrap_or(u32::MAX)
    }

    pub fn steps(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// Returns how often the same call came again since the last progress.
    pub fn repeats(&self) -> u32 {
        self.memory.repeats()
    }

    pub fn nudges(&self) -> u32 {
        self.ladder.nudges(&self.policy)
    }

    pub fn intervention(&self) -> Option<InterventionLevel> {
        self.intervention
    }

    /// While a person is asked.
    pub fn answer_until(&self) -> Option<Timestamp> {
        match self.over {
            Over::NotYet => self.ladder.answer_until(),
            Over::Yes => None,
        }
    }

    fn progress(&mut self, now: Timestamp) {
        self.last_progress = Some(now);
        self.intervention = None;
        self.start_over(Trust::Whole, now);
    }

    fn start_over(&mut self, trust: Trust, now: Timestamp) {
        self.patience_from = now;
        self.steps.clear();
        self.memory.progress();
        self.fruitless_repeats = 0;
        self.ladder = Ladder::Ground;
        self.trust = trust;
    }

    fn called(&mut self, call: &ToolCall, now: Timestamp) {
        let most = self
            .policy
            .failing_steps
            .max(self.policy.degraded_steps)
            .get();
        if self.steps() >= most {
            self.steps.pop_front();
        }
        self.steps.push_back(call.result);
        match self.memory.note(call) {
            Worth::Progress => self.progress(now),
            Worth::Nothing => {}
        }
    }

    /// Returns whether so many calls came again that the tree has to say whether anything comes of them.
    fn needs_look(&self) -> bool {
        let limits = [self.policy.degraded_repeats, self.policy.stuck_repeats];
        // Once before, so that the next look has something to compare with.
        let crosses = |limit: u32| self.repeats() + 1 >= limit && self.fruitless_repeats < limit;
        self.policy.enabled && limits.into_iter().any(|limit| crosses(limit.get()))
    }

    /// Finds out how it did, by how its run ended: one that crashed or fell silent was not healthy.
    fn finding_at_end(&self, ending: &Ending, now: Timestamp) -> Option<(HealthState, String)> {
        let state = match (self.state, ending) {
            (HealthState::Terminated, _) => return None,
            (
                _,
                Ending::NoResult { .. }
                | Ending::Error { .. }
                | Ending::Api { .. }
                | Ending::Rejected { .. }
                | Ending::Auth { .. }
                | Ending::Unavailable { .. }
                | Ending::Interrupted { .. },
            ) => HealthState::Failing,
            (HealthState::Failing, _) => return None,
            (_, Ending::Silent { .. }) => HealthState::Stuck,
            (
                _,
                Ending::Finished
                | Ending::Overloaded { .. }
                | Ending::Limit { .. }
                | Ending::MaxTurns { .. }
                | Ending::Budget { .. }
                | Ending::Refused { .. }
                | Ending::TimedOut { .. }
                | Ending::OverBudget { .. }
                | Ending::HandedOff { .. }
                | Ending::Terminated { .. }
                | Ending::Stopped,
            ) => return None,
        };
        let sentence = match ending.message() {
            Some(_) => RUN_FAILED.to_owned(),
            None => format!("it said nothing for {}", for_people(self.quiet(now))),
        };
        Some((state, sentence))
    }

    /// Finds out how it does, by all that was seen.
    fn judge(&mut self, now: Timestamp, reactions: &mut Vec<Reaction>) {
        let finding = self.finding(now);
        let state = finding.state();
        match state {
            HealthState::Stuck | HealthState::Failing => self.trust = Trust::Lost,
            HealthState::Healthy | HealthState::Degraded | HealthState::Terminated => {}
        }
        // The sentence is made only for a change: this is asked at every call of a tool.
        if state != self.state {
            self.enter(state, self.sentence(finding, now), now, reactions);
        }
    }

    fn finding(&self, now: Timestamp) -> HealthFinding {
        let policy = &self.policy;
        if !policy.enabled {
            return HealthFinding::GetsOn;
        }
        let (errors, steps, repeats) = (self.errors(), self.steps(), self.fruitless_repeats);
        if errors == steps && steps >= policy.failing_steps.get() {
            return HealthFinding::AllFail;
        }
        if repeats >= policy.stuck_repeats.get() {
            return HealthFinding::SameAgain(HealthState::Stuck);
        }
        let idle = between(self.patience_from, now);
        if self.trust == Trust::Lost || idle >= policy.stuck_minutes.duration() {
            return HealthFinding::NoProgress;
        }
        let share = u64::from(errors) * 100;
        let limit = u64::from(steps) * u64::from(policy.degraded_error_percent);
        if steps >= policy.degraded_steps.get() && share >= limit {
            return HealthFinding::ManyFail;
        }
        if repeats >= policy.degraded_repeats.get() {
            return HealthFinding::SameAgain(HealthState::Degraded);
        }
        match (self.silence, self.trust) {
            (Silence::Noticed, _) => HealthFinding::SaysNothing,
            (Silence::Unnoticed, Trust::OnTrial) => HealthFinding::OnTrial,
            (Silence::Unnoticed, Trust::Whole | Trust::Lost) => HealthFinding::GetsOn,
        }
    }

    fn sentence(&self, finding: HealthFinding, now: Timestamp) -> String {
        let (errors, steps, repeats) = (self.errors(), self.steps(), self.fruitless_repeats);
        match finding {
            HealthFinding::AllFail => format!("its last {steps} steps all failed"),
            HealthFinding::SameAgain(_) => {
                format!("the same tool call {repeats} times, and nothing comes of it")
            }
            HealthFinding::NoProgress => {
                format!("no progress for {}", for_people(self.fruitless(now)))
            }
            HealthFinding::ManyFail => format!("{errors} of its last {steps} steps failed"),
            HealthFinding::SaysNothing => {
                format!("it has said nothing for {}", for_people(self.quiet(now)))
            }
            HealthFinding::OnTrial => "it was given more time".to_owned(),
            HealthFinding::GetsOn => "it gets on".to_owned(),
        }
    }

    /// Returns how long nothing came of it, whatever patience a person had.
    fn fruitless(&self, now: Timestamp) -> Duration {
        between(self.last_progress.unwrap_or(self.began), now)
    }

    /// Returns how long its stream has said nothing.
    fn quiet(&self, now: Timestamp) -> Duration {
        between(self.last_heartbeat.unwrap_or(self.began), now)
    }

    fn act(&mut self, now: Timestamp, reactions: &mut Vec<Reaction>) {
        let Some((ladder, rung)) = self.ladder.climb(&self.policy, now) else {
            return;
        };
        let fruitless = self.fruitless(now);
        let spell = for_people(fruitless);
        match rung {
            Rung::Nudge { nth } => {
                self.intervention = Some(InterventionLevel::Nudge);
                reactions.push(Reaction::Nudge {
                    nth,
                    text: reminder(fruitless),
                    sentence: format!(
                        "no progress for {spell}: it is reminded ({nth} of {})",
                        self.policy.max_nudges
                    ),
                    until: later(now, self.policy.nudge_wait_minutes.duration()),
                });
            }
            Rung::Escalate { until } => {
                self.intervention = Some(InterventionLevel::Escalate);
                let wait = for_people(self.policy.escalation_wait_minutes.duration());
                reactions.push(Reaction::Escalate {
                    sentence: format!(
                        "no progress for {spell}{}: without an answer it is ended in {wait}",
                        self.reminded()
                    ),
                    hint: OPTIONS.to_owned(),
                    until,
                });
            }
            Rung::Terminate => {
                let reason = format!("no progress for {spell}{}, and no answer", self.reminded());
                self.terminate(reason, now, reactions);
            }
        }
        self.ladder = ladder;
    }

    fn reminded(&self) -> String {
        match (self.reach, self.policy.max_nudges) {
            (_, 0) => String::new(),
            (Reach::Deaf, _) => ", and it can't be told anything while it runs".to_owned(),
            (Reach::Unknown | Reach::Told, 1) => ", one reminder".to_owned(),
            (Reach::Unknown | Reach::Told, n) => format!(", {n} reminders"),
        }
    }

    fn terminate(&mut self, reason: String, now: Timestamp, reactions: &mut Vec<Reaction>) {
        self.intervention = Some(InterventionLevel::Terminate);
        self.over = Over::Yes;
        self.enter(HealthState::Terminated, reason.clone(), now, reactions);
        reactions.push(Reaction::Terminate { reason });
    }

    fn enter(
        &mut self,
        state: HealthState,
        sentence: String,
        now: Timestamp,
        reactions: &mut Vec<Reaction>,
    ) {
        if state == self.state {
            return;
        }
        let before = std::mem::replace(&mut self.state, state);
        self.since = now;
        reactions.push(Reaction::Changed {
            before,
            state,
            sentence,
        });
    }
}

/// Different calls that are kept in mind at most.
const MOST: usize = 4_096;

/// Describes what a call is to the run it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// A command that passes, and has not passed before in this run.
    Progress,
    Nothing,
}

/// Calls of one run.
///
/// Bounded whatever the agent does.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    passed: HashSet<u64>,
    since_progress: HashMap<(u64, CallResult, Mark), u32>,
    /// The number of times that the call that came most often did.
    most: u32,
}

impl Memory {
    pub(super) fn note(&mut self, call: &ToolCall) -> Worth {
        match (call.kind, call.result) {
            (ToolKind::Command, CallResult::Ok) => {
                if self.passed.len() >= MOST {
                    // Forgetting is the gentle side: an old command counts as a new one.
                    self.passed.clear();
                }
                if self.passed.insert(call.what) {
                    return Worth::Progress;
                }
            }
            (ToolKind::Command, CallResult::Failed) | (ToolKind::Other, _) => {}
        }
        if self.since_progress.len() >= MOST {
            self.since_progress.clear();
        }
        let times = self
            .since_progress
            .entry((call.what, call.result, call.answer))
            .or_default();
        *times = times.saturating_add(1);
        self.most = self.most.max(*times);
        Worth::Nothing
    }

    pub(super) fn repeats(&self) -> u32 {
        self.most
    }

    /// Notes progress. The tests that passed before stay known: the same again is no progress.
    pub(super) fn progress(&mut self) {
        self.since_progress.clear();
        self.most = 0;
    }
}

/// The ladder of interventions. One rung at a time, however late it is asked: after a machine
/// slept, no agent is ended without having been reminded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ladder {
    /// Nothing was done yet.
    #[default]
    Ground,
    /// Reminded so often, the last time at `at`.
    Nudged { times: u32, at: Timestamp },
    /// A person is asked, until then.
    Asked { until: Timestamp },
}

/// The next thing to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    Nudge { nth: u32 },
    Escalate { until: Timestamp },
    Terminate,
}

impl Ladder {
    /// Returns what is due for a sick agent, if anything is; and the ladder after it.
    pub(super) fn climb(self, policy: &HealthConfig, now: Timestamp) -> Option<(Self, Rung)> {
        if self.due_at(policy).is_some_and(|at| at > now) {
            return None;
        }
        Some(match self {
            Self::Ground if policy.max_nudges > 0 => self.nudge(1, now),
            Self::Nudged { times, .. } if times < policy.max_nudges => self.nudge(times + 1, now),
            Self::Ground | Self::Nudged { .. } => {
                let until = later(now, policy.escalation_wait_minutes.duration());
                (Self::Asked { until }, Rung::Escalate { until })
            }
            Self::Asked { .. } => (self, Rung::Terminate),
        })
    }

    fn nudge(self, times: u32, at: Timestamp) -> (Self, Rung) {
        (Self::Nudged { times, at }, Rung::Nudge { nth: times })
    }

    /// When the next rung is due for an agent that is sick; nothing is at once.
    pub(super) fn due_at(self, policy: &HealthConfig) -> Option<Timestamp> {
        match self {
            Self::Ground => None,
            Self::Nudged { at, .. } => Some(later(at, policy.nudge_wait_minutes.duration())),
            Self::Asked { until } => Some(until),
        }
    }

    pub(super) fn nudges(self, policy: &HealthConfig) -> u32 {
        match self {
            Self::Ground => 0,
            Self::Nudged { times, .. } => times,
            Self::Asked { .. } => policy.max_nudges,
        }
    }

    pub(super) fn answer_until(self) -> Option<Timestamp> {
        match self {
            Self::Asked { until } => Some(until),
            Self::Ground | Self::Nudged { .. } => None,
        }
    }
}

/// Defines what an agent is told. The duration goes in the place of `{duration}`.
pub const REMINDER: &str = "REMINDER: You have been working for {duration} without checkpoint update. \
     Please either update progress, request handoff, or report blockers.";

/// Says of an agent that its run failed. The verdict, which follows, says how.
pub const RUN_FAILED: &str = "its run failed";

/// Defines what a person can do about an agent that does not get on.
pub(super) const OPTIONS: &str = "`ralph intervene more-time` lets it go on, `ralph intervene handoff` has a \
     fresh agent go on, `ralph intervene terminate` ends it now";

pub(super) fn reminder(without_progress: Duration) -> String {
    REMINDER.replace("{duration}", &for_people(without_progress))
}

/// A length of time in the one or two units that matter.
pub fn for_people(time: Duration) -> String {
    let count = |n: u64, unit: &str| match n {
        1 => format!("1 {unit}"),
        n => format!("{n} {unit}s"),
    };
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => count(seconds, "second"),
        (0, minutes) => count(minutes, "minute"),
        (hours, 0) => count(hours, "hour"),
        (hours, minutes) => format!("{} {}", count(hours, "hour"), count(minutes, "minute")),
    }
}
