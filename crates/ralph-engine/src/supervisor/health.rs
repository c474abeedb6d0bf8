//! Watches the health of a running agent: feeds the machine, and makes steps of its reactions.
//!
//! Looks at the working tree only as often as needed, and not while nothing happens.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ralph_core::{
    agent::{Ending, NudgeState, RunMoment},
    config::HealthConfig,
    event::Event,
    health::{
        Choice, Health, HealthReport, HealthState, InterventionLevel, Reaction, Sign, for_people,
    },
};

use super::{Followed, Observation, Watcher, WatcherStep};
use crate::heartbeat::HeartbeatWriter;

/// A look at the tree is a look by git: not more often than this, and not less.
const MOST_OFTEN: Duration = Duration::from_secs(1);
const LEAST_OFTEN: Duration = Duration::from_secs(60);

pub struct HealthWatcher {
    health: Health,
    run: WatchedRun,
    policy: HealthConfig,
    began: Timestamp,
    looks: Looks,
    /// When it last gave a sign of life.
    heard: Option<Duration>,
    silence: SilenceWatch,
    heartbeat: Option<HeartbeatWriter>,
    /// Steps that follow from a choice that another watcher followed.
    left: Vec<WatcherStep>,
}

/// Which run is watched.
#[derive(Debug, Clone)]
pub struct WatchedRun {
    pub iteration: u64,
    pub task: String,
    pub agent: String,
}

/// The times of silence that end a run; half of one is a sign of trouble.
#[derive(Debug, Clone, Copy)]
pub struct QuietLimits {
    pub idle: Duration,
    /// While one of its tools runs.
    pub idle_with_tool: Duration,
}

/// Notices that a stream says nothing.
struct SilenceWatch {
    limits: QuietLimits,
    heard: Duration,
    is_noticed: bool,
}

impl SilenceWatch {
    /// When it is noticed; nothing where it was.
    fn due(&self, now: RunMoment) -> Option<Duration> {
        let patience = if now.tools > 0 {
            self.limits.idle_with_tool
        } else {
            self.limits.idle
        };
        (!self.is_noticed).then(|| self.heard + patience / 2)
    }
}

/// Looks at the working tree.
struct Looks {
    every: Duration,
    last: Option<Duration>,
    /// True when the agent did anything since.
    active: bool,
    tree: Option<u64>,
}

impl HealthWatcher {
    pub(crate) fn new(
        policy: HealthConfig,
        run: WatchedRun,
        quiet: QuietLimits,
        heartbeat: Option<HeartbeatWriter>,
        now: Timestamp,
    ) -> Self {
        let watcher = Self {
            silence: SilenceWatch {
                limits: quiet,
                heard: Duration::ZERO,
                is_noticed: false,
            },
            looks: Looks {
                every: (policy.stuck_minutes.duration() / 10).clamp(MOST_OFTEN, LEAST_OFTEN),
                last: None,
                active: false,
                tree: None,
            },
            health: Health::new(policy.clone(), now),
            run,
            policy,
            began: now,
            heard: None,
            heartbeat,
            left: Vec::new(),
        };
        if let Some(heartbeat) = &watcher.heartbeat {
            heartbeat.update_later(|report| {
                report.iteration = Some(watcher.run.iteration);
                report.task_id = Some(watcher.run.task.clone());
                report.agent = Some(watcher.run.agent.clone());
            });
        }
        watcher.update_heartbeat(News::No);
        watcher
    }

    /// The health of the agent at the end of its run, and what is to be told of that.
    pub(crate) fn ended(mut self, ending: &Ending, elapsed: Duration) -> EndedHealth {
        let now = RunMoment {
            elapsed,
            ..RunMoment::default()
        };
        let steps = self.react(&Sign::Ended(ending.clone()), now);
        let told = steps.into_iter().filter_map(|step| match step {
            WatcherStep::Tell(event) => Some(*event),
            WatcherStep::Nudge(_)
            | WatcherStep::Cut(_)
            | WatcherStep::Spent(_)
            | WatcherStep::Writes(_)
            | WatcherStep::Look => None,
        });
        EndedHealth {
            told: told.collect(),
            state: self.health.state(),
        }
    }

    /// By the time of the run: a clock that is set while it runs changes nothing.
    fn moment(&self, now: RunMoment) -> Timestamp {
        let run = SignedDuration::try_from(now.elapsed).unwrap_or(SignedDuration::MAX);
        self.began.checked_add(run).unwrap_or(Timestamp::MAX)
    }

    fn react(&mut self, sign: &Sign, now: RunMoment) -> Vec<WatcherStep> {
        let reactions = self.health.observe(sign, self.moment(now));
        self.update_heartbeat(if reactions.is_empty() {
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

    fn steps_of(&self, reaction: Reaction, steps: &mut Vec<WatcherStep>) {
        match reaction {
            Reaction::Changed {
                before,
                state,
                sentence,
            } => steps.push(WatcherStep::Tell(Box::new(Event::Health {
                iteration: self.run.iteration,
                task: self.run.task.clone(),
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
                steps.push(self.tell(Intervention {
                    nth,
                    until: Some(until),
                    ..Intervention::of(InterventionLevel::Nudge, sentence)
                }));
                steps.push(WatcherStep::Nudge(text));
            }
            Reaction::Escalate {
                sentence,
                hint,
                until,
            } => steps.push(self.tell(Intervention {
                hint: Some(hint),
                until: Some(until),
                ..Intervention::of(InterventionLevel::Escalate, sentence)
            })),
            Reaction::Look => steps.push(WatcherStep::Look),
            // Handing over is another watcher's, which hears of the choice itself.
            Reaction::Handoff => {}
            Reaction::Terminate { reason } => {
                let told = Intervention::of(InterventionLevel::Terminate, reason.clone());
                steps.push(self.tell(told));
                steps.push(WatcherStep::Cut(Ending::Terminated { reason }));
            }
        }
    }

    fn tell(&self, intervention: Intervention) -> WatcherStep {
        let Intervention {
            level,
            nth,
            sentence,
            hint,
            until,
        } = intervention;
        WatcherStep::Tell(Box::new(Event::Intervention {
            iteration: self.run.iteration,
            task: self.run.task.clone(),
            level,
            nth,
            sentence,
            hint,
            until,
        }))
    }

    fn update_heartbeat(&self, news: News) {
        let Some(heartbeat) = &self.heartbeat else {
            return;
        };
        let health = &self.health;
        let change = |report: &mut HealthReport| {
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
            News::Yes => heartbeat.update(change),
            News::No => heartbeat.update_later(change),
        }
    }

    fn machine_wakes(&self) -> Option<Duration> {
        let at = self.health.wakes_at()?;
        Some(Duration::try_from(at.duration_since(self.began)).unwrap_or_default())
    }

    /// When the tree is looked at next: not while nothing happens, and a tool that runs is something.
    fn next_look(&self, now: RunMoment) -> Option<Duration> {
        // Where nothing follows from it, there is no need to know.
        self.health.wakes_at()?;
        let something = self.looks.active || now.tools > 0;
        let last = self.looks.last.unwrap_or_default();
        something.then(|| last + self.looks.every)
    }
}

/// What is done about an agent that makes no progress.
struct Intervention {
    level: InterventionLevel,
    nth: u32,
    sentence: String,
    hint: Option<String>,
    /// When more is done.
    until: Option<Timestamp>,
}

impl Intervention {
    fn of(level: InterventionLevel, sentence: String) -> Self {
        Self {
            level,
            nth: 1,
            sentence,
            hint: None,
            until: None,
        }
    }
}

/// The health of an agent whose run is over.
pub(crate) struct EndedHealth {
    pub(crate) state: HealthState,
    pub(crate) told: Vec<Event>,
}

#[derive(Clone, Copy)]
enum News {
    Yes,
    No,
}

impl Watcher for HealthWatcher {
    fn observe(&mut self, seen: &Observation, now: RunMoment) -> Vec<WatcherStep> {
        self.looks.active = true;
        self.silence.heard = now.elapsed;
        self.silence.is_noticed = false;
        let mut steps = Vec::new();
        // Of what came at once, one is a sign of life enough.
        if self.heard.replace(now.elapsed) != Some(now.elapsed) {
            steps = self.react(&Sign::Heartbeat, now);
        }
        if let Some(call) = seen.ended_call {
            steps.extend(self.react(&Sign::Called(call), now));
        }
        steps
    }

    fn nudged(&mut self, state: NudgeState, now: RunMoment) -> Vec<WatcherStep> {
        self.react(&Sign::Nudged(state), now)
    }

    fn wakes_at(&self, now: RunMoment) -> Option<Duration> {
        if !self.left.is_empty() {
            return Some(Duration::ZERO);
        }
        let silence = self.health.wakes_at().and(self.silence.due(now));
        let times = [self.machine_wakes(), self.next_look(now), silence];
        times.into_iter().flatten().min()
    }

    fn wake(&mut self, now: RunMoment) -> Vec<WatcherStep> {
        let due = |at: Option<Duration>| at.is_some_and(|at| at <= now.elapsed);
        // No agent is called stuck before it is seen whether the tree changed.
        let last_look = due(self.machine_wakes()) && self.looks.active;
        if due(self.next_look(now)) || last_look {
            self.looks.last = Some(now.elapsed);
            self.looks.active = false;
            return vec![WatcherStep::Look];
        }
        if due(self.silence.due(now)) {
            self.silence.is_noticed = true;
            return self.react(&Sign::Silent, now);
        }
        self.react(&Sign::Tick, now)
    }

    fn saw(&mut self, tree: Option<u64>, now: RunMoment) -> Vec<WatcherStep> {
        let before = self.looks.tree;
        self.looks.tree = tree.or(before);
        match (before, tree) {
            (Some(before), Some(tree)) if before != tree => self.react(&Sign::Progress, now),
            // The first look only says how the tree is: whether it changes is seen by the next.
            (None, Some(_)) => self.react(&Sign::Tick, now),
            // Where it can't be looked at, the calls alone have to do.
            (_, None) | (Some(_), Some(_)) => self.react(&Sign::Unchanged, now),
        }
    }

    fn chosen(&mut self, choice: Choice, now: RunMoment) -> Option<Followed> {
        let steps = self.react(&Sign::Chosen(choice), now);
        let at = format!("iteration {} at {}", self.run.iteration, self.run.task);
        let sentence = match choice {
            Choice::MoreTime => format!(
                "the agent of {at} gets another {} without progress",
                for_people(self.policy.stuck_minutes.duration())
            ),
            Choice::Terminate => {
                format!("the agent of {at} is ended; what it has done is kept")
            }
            Choice::Handoff => {
                self.left = steps;
                return None;
            }
        };
        Some(Followed { sentence, steps })
    }
}

#[cfg(test)]
mod tests;
