//! Minds how a running agent does: feeds the machine, and makes steps of what it asks for.
//!
//! Looks at the working tree only as often as needed, and not while nothing happens.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ralph_core::{
    agent::{Beat, Ending, NudgeState},
    event::Event,
    health::{
        Calls, Choice, Health, HealthPolicy, HealthState, InterventionLevel, Reaction, Sign,
        for_people,
    },
};

use super::pulse::Beating;
use crate::driver::mind::{Heeded, Now, Part, Sight, Step};

/// A look at the tree is a look by git: not more often than this, and not less.
const MOST_OFTEN: Duration = Duration::from_secs(1);
const LEAST_OFTEN: Duration = Duration::from_secs(60);

pub(in crate::driver) struct HealthPart {
    health: Health,
    calls: Calls,
    about: About,
    policy: HealthPolicy,
    began: Timestamp,
    looks: Looks,
    beating: Option<Beating>,
    /// Steps of a choice that another part followed.
    left: Vec<Step>,
}

/// What the agent works at.
#[derive(Debug, Clone)]
pub(in crate::driver) struct About {
    pub(in crate::driver) iteration: u64,
    pub(in crate::driver) task: String,
    pub(in crate::driver) agent: String,
}

/// Looks at the working tree.
struct Looks {
    every: Duration,
    last: Option<Duration>,
    /// Whether the agent did anything since.
    stirred: bool,
    tree: Option<u64>,
}

impl HealthPart {
    pub(in crate::driver) fn new(
        policy: HealthPolicy,
        about: About,
        beating: Option<Beating>,
        now: Timestamp,
    ) -> Self {
        let part = Self {
            health: Health::new(policy, now),
            calls: Calls::default(),
            about,
            policy,
            began: now,
            looks: Looks {
                every: (policy.stuck_after / 10).clamp(MOST_OFTEN, LEAST_OFTEN),
                last: None,
                stirred: false,
                tree: None,
            },
            beating,
            left: Vec::new(),
        };
        if let Some(beating) = &part.beating {
            beating.note(|report| {
                report.iteration = Some(part.about.iteration);
                report.task_id = Some(part.about.task.clone());
                report.agent = Some(part.about.agent.clone());
            });
        }
        part.tell_pulse(News::No);
        part
    }

    /// The run is over: nothing is done about it any more. How it did at its end.
    pub(in crate::driver) fn ended(mut self) -> HealthState {
        // A run that is over reacts to nothing, so that the time does not matter.
        let _ = self.health.observe(&Sign::Ended, self.began);
        self.tell_pulse(News::No);
        self.health.state()
    }

    /// By the time of the run: a clock that is set while it runs changes nothing.
    fn moment(&self, now: Now) -> Timestamp {
        let run = SignedDuration::try_from(now.run).unwrap_or(SignedDuration::MAX);
        self.began.checked_add(run).unwrap_or(Timestamp::MAX)
    }

    fn observe(&mut self, sign: &Sign, now: Now) -> Vec<Step> {
        let reactions = self.health.observe(sign, self.moment(now));
        self.tell_pulse(if reactions.is_empty() {
            News::No
        } else {
            News::Yes
        });
        let mut steps = std::mem::take(&mut self.left);
        for reaction in reactions {
            self.steps_of(reaction, &mut steps);
        }
        steps
    }

    fn steps_of(&self, reaction: Reaction, steps: &mut Vec<Step>) {
        match reaction {
            Reaction::Changed {
                before,
                state,
                sentence,
            } => steps.push(Step::Tell(Box::new(Event::Health {
                iteration: self.about.iteration,
                task: self.about.task.clone(),
                before,
                state,
                sentence,
            }))),
            Reaction::Nudge {
                nth,
                text,
                sentence,
                until,
            } => {
                let level = InterventionLevel::Nudge;
                steps.push(self.intervention(level, nth, sentence, (None, Some(until))));
                steps.push(Step::Nudge(text));
            }
            Reaction::Escalate {
                sentence,
                hint,
                until,
            } => {
                let level = InterventionLevel::Escalate;
                steps.push(self.intervention(level, 1, sentence, (Some(hint), Some(until))));
            }
            // Handing over is another part's, which hears of the choice itself.
            Reaction::HandOver => {}
            Reaction::Terminate { reason } => {
                let level = InterventionLevel::Terminate;
                steps.push(self.intervention(level, 1, reason.clone(), (None, None)));
                steps.push(Step::Cut(Ending::Terminated { reason }));
            }
        }
    }

    fn intervention(
        &self,
        level: InterventionLevel,
        nth: u32,
        sentence: String,
        (hint, until): (Option<String>, Option<Timestamp>),
    ) -> Step {
        Step::Tell(Box::new(Event::Intervention {
            iteration: self.about.iteration,
            task: self.about.task.clone(),
            level,
            nth,
            sentence,
            hint,
            until,
        }))
    }

    fn tell_pulse(&self, news: News) {
        let Some(beating) = &self.beating else {
            return;
        };
        let health = &self.health;
        let change = |report: &mut ralph_core::health::HealthReport| {
            report.state = health.state();
            report.since = health.since();
            report.last_heartbeat = health.last_heartbeat();
            report.last_progress = health.last_progress();
            report.errors = health.errors();
            report.steps = health.steps();
            report.repeats = health.repeats();
            report.nudges = health.nudges();
            report.intervention = health.intervention();
            report.answer_until = health.answer_until();
        };
        match news {
            News::Yes => beating.say(change),
            News::No => beating.note(change),
        }
    }

    fn machine_wakes(&self) -> Option<Duration> {
        let at = self.health.wakes_at()?;
        Some(Duration::try_from(at.duration_since(self.began)).unwrap_or_default())
    }

    /// When the tree is looked at next: not while nothing happens, and a tool that runs is something.
    fn next_look(&self) -> Option<Duration> {
        // Where nobody acts on it, nobody needs to know.
        self.health.wakes_at()?;
        let something = self.looks.stirred || self.calls.under_way() > 0;
        let last = self.looks.last.unwrap_or_default();
        something.then(|| last + self.looks.every)
    }
}

#[derive(Clone, Copy)]
enum News {
    Yes,
    No,
}

impl Part for HealthPart {
    fn hear(&mut self, beat: Beat, now: Now) -> Vec<Step> {
        self.looks.stirred = true;
        let call = self.calls.observe(&beat);
        let mut steps = self.observe(&Sign::Heartbeat, now);
        if let Some(call) = call {
            steps.extend(self.observe(&Sign::Called(call), now));
        }
        steps
    }

    fn nudged(&mut self, state: NudgeState, now: Now) -> Vec<Step> {
        self.observe(&Sign::Nudged(state), now)
    }

    fn wakes_at(&self) -> Option<Duration> {
        if !self.left.is_empty() {
            return Some(Duration::ZERO);
        }
        let times = [self.machine_wakes(), self.next_look()];
        times.into_iter().flatten().min()
    }

    fn wake(&mut self, now: Now) -> Vec<Step> {
        let due = |at: Option<Duration>| at.is_some_and(|at| at <= now.run);
        // Nobody is called stuck before it is seen whether the tree changed.
        let last_look = due(self.machine_wakes()) && self.looks.stirred;
        if due(self.next_look()) || last_look {
            self.looks.last = Some(now.run);
            self.looks.stirred = false;
            return vec![Step::Look];
        }
        self.observe(&Sign::Tick, now)
    }

    fn saw(&mut self, sight: &Sight, now: Now) -> Vec<Step> {
        let before = self.looks.tree;
        self.looks.tree = sight.tree.or(before);
        match (before, sight.tree) {
            (Some(before), Some(tree)) if before != tree => self.observe(&Sign::Progress, now),
            (_, _) => self.observe(&Sign::Tick, now),
        }
    }

    fn told(&mut self, choice: Choice, now: Now) -> Option<Heeded> {
        let steps = self.observe(&Sign::Chosen(choice), now);
        let at = format!("iteration {} at {}", self.about.iteration, self.about.task);
        let sentence = match choice {
            Choice::MoreTime => format!(
                "the agent of {at} gets another {} without progress",
                for_people(self.policy.stuck_after)
            ),
            Choice::Terminate => {
                format!("the agent of {at} is ended; what it has done is kept")
            }
            Choice::Handoff => {
                self.left = steps;
                return None;
            }
        };
        Some(Heeded { sentence, steps })
    }
}

#[cfg(test)]
mod tests;
