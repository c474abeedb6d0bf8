//! Runs one agent to its end: reads its events, asks the watchers, obeys the outside, and acts.
//!
//! Everything that happens to a run comes into one `select!`; watchers answer with steps, and only the
//! supervisor acts on them. It knows no queue of commands and no journal: what the outside asks comes
//! through [`AgentControl`], what is to be told goes to an [`AgentTap`]. The whole process tree is dead
//! when it returns.

mod agent_run;
mod control;
mod cost;
mod handoff;
mod health;
mod input;
mod meter;
mod space;
mod tap;
mod watcher;

pub(crate) use agent_run::report as agent_report;
pub use control::{AgentControl, ControlReply, ControlRequest, StopOnly};
pub use cost::CostWatcher;
pub use handoff::HandoffWatcher;
pub use health::{HealthWatcher, QuietLimits, WatchedRun};
pub use meter::MeterWatcher;
pub use space::SpaceWatcher;
pub use tap::AgentTap;
pub use watcher::{Followed, Observation, TreeProbe, Watcher, WatcherStep};

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use ralph_core::{
    agent::{AgentEvent, AgentReport, Beat, Ending, NudgeState, RunMoment, ToolCalls, mark},
    dollars::Dollars,
    secret::Redaction,
};

use self::agent_run::{AgentRun, RunHeard, RunningAgent};
use crate::{
    agent::{Agent, DoneFile, RunContext},
    process::{
        CappedLog, Containment, KeeperName, MountPlan, SpawnError, limit_writes_of_children,
    },
    sandbox::Sandbox,
};

/// The limits of a run: its time, and its time without output.
#[derive(Debug, Clone)]
pub struct RunLimits {
    pub deadline: Option<RunDeadline>,
    pub idle: Duration,
    /// Agents say nothing while a command of theirs runs.
    pub idle_with_tool: Duration,
    /// Between the polite signal and the next one, and between the done file and the first.
    pub grace: Duration,
}

/// The moment at which a run must be over, and the length of the limit for its report.
#[derive(Debug, Clone, Copy)]
pub struct RunDeadline {
    pub at: Instant,
    pub minutes: u64,
}

/// Which agent is run, on what, and within which limits.
pub struct AgentRunSpec<'a> {
    pub agent: &'a dyn Agent,
    pub context: &'a RunContext,
    pub containment: Containment,
    /// The name of its keeper.
    pub keeper: KeeperName,
    /// The view of the file system that it gets, where that is not ralph's own.
    pub mounts: Option<MountPlan>,
    /// The walls around it.
    pub sandbox: Option<&'a Sandbox>,
    pub limits: &'a RunLimits,
    /// Takes secrets out of what it writes before that is read or logged, and of what it is told.
    pub redaction: &'a Redaction,
    /// The file by which the agent may say that it is done.
    pub done_file: Option<&'a DoneFile>,
}

/// Everything outside of a run that it meets while it goes on.
pub struct RunPorts<'a> {
    /// Asked in this order; the first that follows a person's choice has followed it.
    pub watchers: Vec<&'a mut dyn Watcher>,
    pub control: &'a mut dyn AgentControl,
    pub tap: &'a mut dyn AgentTap,
    /// The working tree, where watchers may ask to look at it.
    pub tree: Option<&'a dyn TreeProbe>,
    /// The raw output of the agent.
    pub log: &'a mut CappedLog,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct SupervisedRun {
    pub report: AgentReport,
    /// The last tool calls that failed, newest first.
    pub failed_calls: Vec<String>,
}

/// The interval at which a tap that wants it is told that time passes.
const TICK: Duration = Duration::from_millis(250);
/// The time that an agent may take to exit after its last word.
const LINGER: Duration = Duration::from_secs(30);
/// The time that is taken to hear what an agent has said already, before a limit ends it.
const MOMENT: Duration = Duration::from_millis(50);
/// Between two wakings of the watchers, at least: one that asks for too many must not take all the time.
const REST: Duration = Duration::from_millis(50);

/// Runs one agent to its end. `Err` only where it could not be started at all.
pub async fn run_agent<'a>(
    spec: AgentRunSpec<'a>,
    ports: RunPorts<'a>,
) -> Result<SupervisedRun, SpawnError> {
    let run = AgentRun::start(&spec, ports.log)?;
    let mut supervisor = Supervisor {
        run,
        limits: spec.limits,
        watchers: ports.watchers,
        control: ports.control,
        tap: ports.tap,
        tree: ports.tree,
        began: Instant::now(),
        heard: Instant::now(),
        rested: Duration::ZERO,
        tools: ToolCalls::default(),
        spent: Dollars::NOTHING,
        nudges: Vec::new(),
        overdue_at: None,
        state: RunState::Going,
    };
    supervisor.supervise(spec.done_file).await;
    let Supervisor {
        run, tools, state, ..
    } = supervisor;
    let cut = match state {
        RunState::Going => None,
        RunState::Ending(cut) => cut,
    };
    Ok(SupervisedRun {
        report: run.conclude(spec.agent, cut, tools.total()).await?,
        failed_calls: tools.last_failed(),
    })
}

struct Supervisor<'a, R> {
    run: R,
    limits: &'a RunLimits,
    watchers: Vec<&'a mut dyn Watcher>,
    control: &'a mut dyn AgentControl,
    tap: &'a mut dyn AgentTap,
    tree: Option<&'a dyn TreeProbe>,
    began: Instant,
    /// When its stream last said anything.
    heard: Instant,
    /// Before this the watchers are not woken again.
    rested: Duration,
    tools: ToolCalls,
    spent: Dollars,
    /// Messages of watchers that the agent has taken and may yet say to have read.
    nudges: Vec<SentNudge>,
    /// When an agent that has made its done file is stopped.
    overdue_at: Option<Instant>,
    state: RunState,
}

struct SentNudge {
    mark: u64,
    watcher: usize,
}

/// The first reason to end a run holds.
#[derive(Debug, Clone, PartialEq)]
enum RunState {
    Going,
    /// It is being ended; with the ending that this makes of it, where that is not its own to say.
    Ending(Option<Ending>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alarm {
    /// It said that it was done, and did not exit.
    Linger,
    /// It made its done file, and did not exit.
    Overdue,
    Deadline {
        minutes: u64,
    },
    Idle {
        minutes: u64,
    },
}

impl<R: RunningAgent> Supervisor<'_, R> {
    /// Attends to the run until its tree is dead and its output is read.
    async fn supervise(&mut self, done_file: Option<&DoneFile>) {
        let done = made(done_file);
        tokio::pin!(done);
        let mut is_done = false;
        let wants_ticks = self.tap.wants_ticks();
        let mut ticks = tokio::time::interval(TICK);
        loop {
            let alarm = self.next_alarm();
            let wake = self.next_wake();
            tokio::select! {
                heard = self.run.next() => match heard {
                    RunHeard::Output => {
                        self.heard = Instant::now();
                        self.take_events().await;
                    }
                    RunHeard::Other => {}
                    RunHeard::Ended => {
                        self.take_events().await;
                        return;
                    }
                },
                () = self.control.ready() => self.obey().await,
                () = until(alarm.map(|(at, _)| at)) => {
                    self.hear_what_is_there().await;
                    // It may have ended, or spoken, while ralph itself was stopped.
                    if let Some((at, alarm)) = self.next_alarm()
                        && at <= Instant::now()
                    {
                        self.ring(alarm);
                    }
                }
                () = until(wake) => {
                    let now = self.now();
                    self.rested = now.elapsed + REST;
                    let steps = self.ask(|watcher| watcher.wake(now));
                    self.act(steps).await;
                }
                () = &mut done, if !is_done => {
                    is_done = true;
                    self.overdue_at = Some(Instant::now() + self.limits.grace);
                }
                _ = ticks.tick(), if wants_ticks => self.tap.tick(),
            }
            if self.run.is_hopeless() {
                self.end(None);
            }
        }
    }

    /// Reads what the agent has said and done already.
    async fn hear_what_is_there(&mut self) {
        // An agent that never stops to speak does not put its limits off.
        let until = Instant::now() + MOMENT;
        while Instant::now() < until {
            match tokio::time::timeout_at(until.into(), self.run.next()).await {
                Ok(RunHeard::Output) => {
                    self.heard = Instant::now();
                    self.take_events().await;
                }
                Ok(RunHeard::Other) => {}
                Ok(RunHeard::Ended) | Err(_) => return,
            }
        }
    }

    fn now(&self) -> RunMoment {
        self.tools.moment(self.began.elapsed())
    }

    /// The next moment at which patience ends, and what that means.
    fn next_alarm(&self) -> Option<(Instant, Alarm)> {
        if self.state != RunState::Going || self.run.has_exited() {
            return None;
        }
        let limits = self.limits;
        let overdue = self.overdue_at.map(|at| (at, Alarm::Overdue));
        if self.run.has_concluded() {
            // How it went is known: no limit may make something else of it.
            let linger = (self.heard + LINGER.min(limits.idle), Alarm::Linger);
            return Some(overdue.map_or(linger, |overdue| earlier(overdue, linger)));
        }
        let patience = if self.tools.under_way() > 0 {
            limits.idle_with_tool
        } else {
            limits.idle
        };
        let minutes = patience.as_secs() / 60;
        let idle = (self.heard + patience, Alarm::Idle { minutes });
        let deadline = limits
            .deadline
            .map(|RunDeadline { at, minutes }| (at, Alarm::Deadline { minutes }));
        let alarms = [overdue, deadline, Some(idle)];
        alarms.into_iter().flatten().reduce(earlier)
    }

    fn ring(&mut self, alarm: Alarm) {
        self.end(match alarm {
            Alarm::Linger => None,
            Alarm::Overdue => Some(Ending::Finished),
            Alarm::Deadline { minutes } => Some(Ending::TimedOut { minutes }),
            Alarm::Idle { minutes } => Some(Ending::Silent { minutes }),
        });
    }

    fn next_wake(&self) -> Option<Instant> {
        if self.state != RunState::Going {
            return None;
        }
        let now = self.now();
        let wakes = self.watchers.iter().filter_map(|w| w.wakes_at(now));
        Some(self.began + wakes.min()?.max(self.rested))
    }

    /// Begins to end the run. It goes on being read: an agent that floods must be able to obey.
    fn end(&mut self, cut: Option<Ending>) {
        if self.state == RunState::Going {
            self.state = RunState::Ending(cut);
            self.run.stop();
        }
    }

    /// Reports what the agent said, in its order, and asks the watchers about it.
    async fn take_events(&mut self) {
        // One moment for all that came at once.
        let elapsed = self.began.elapsed();
        let used = self.run.used();
        if !used.is_empty() {
            let now = self.tools.moment(elapsed);
            let steps = self.ask(|watcher| watcher.used(&used, now));
            self.act(steps).await;
        }
        for event in self.run.take_events() {
            let beat = Beat::of(&event);
            let ended_call = beat.and_then(|beat| self.tools.observe(beat, &event));
            let answered = match &event {
                AgentEvent::Nudge { text, state } => Some((mark(&[text]), *state)),
                _ => None,
            };
            self.tap.agent_event(event);
            let now = self.tools.moment(elapsed);
            let steps = match (answered, beat) {
                (Some((mark, state)), _) => self.nudge_answered(mark, state),
                (None, Some(beat)) => {
                    let seen = Observation { beat, ended_call };
                    self.ask(|watcher| watcher.observe(&seen, now))
                }
                (None, None) => VecDeque::new(),
            };
            if !steps.is_empty() {
                self.act(steps).await;
            }
        }
        self.tap.catch_up();
    }

    /// Returns what the agent itself says of a message: its watcher hears of it.
    fn nudge_answered(&mut self, mark: u64, state: NudgeState) -> VecDeque<(usize, WatcherStep)> {
        let Some(at) = self.nudges.iter().position(|sent| sent.mark == mark) else {
            return VecDeque::new();
        };
        let SentNudge { watcher, .. } = self.nudges.remove(at);
        let now = self.now();
        let steps = self.watchers[watcher].nudged(state, now);
        steps.into_iter().map(|step| (watcher, step)).collect()
    }

    /// Asks each watcher; none once the run is being ended, as nothing would follow from it.
    fn ask(
        &mut self,
        mut question: impl FnMut(&mut dyn Watcher) -> Vec<WatcherStep>,
    ) -> VecDeque<(usize, WatcherStep)> {
        let mut steps = VecDeque::new();
        if self.state == RunState::Going {
            for (index, watcher) in self.watchers.iter_mut().enumerate() {
                steps.extend(question(&mut **watcher).into_iter().map(|s| (index, s)));
            }
        }
        steps
    }

    /// Does what watchers ask for, and what they ask for after that; looks at the tree once.
    async fn act(&mut self, mut steps: VecDeque<(usize, WatcherStep)>) {
        let mut looked = false;
        while let Some((watcher, step)) = steps.pop_front() {
            if self.state != RunState::Going {
                return;
            }
            match step {
                WatcherStep::Tell(event) => self.tap.event(&event),
                WatcherStep::Writes(writes) => limit_writes_of_children(writes),
                WatcherStep::Nudge(text) => {
                    let state = self.nudge(&text);
                    if state == NudgeState::Sent {
                        let mark = mark(&[&text]);
                        self.nudges.push(SentNudge { mark, watcher });
                    }
                    let now = self.now();
                    let answer = self.watchers[watcher].nudged(state, now);
                    steps.extend(answer.into_iter().map(|step| (watcher, step)));
                }
                WatcherStep::Spent(so_far) => {
                    if so_far != self.spent {
                        self.spent = so_far;
                        let now = self.now();
                        steps.extend(self.ask(|watcher| watcher.spent(so_far, now)));
                    }
                }
                WatcherStep::Look => {
                    if !std::mem::replace(&mut looked, true) {
                        let tree = match self.tree {
                            Some(tree) => tree.fingerprint().await,
                            None => None,
                        };
                        let now = self.now();
                        steps.extend(self.ask(|watcher| watcher.saw(tree, now)));
                    }
                }
                // One that has said its last word is left to exit: how it went is known.
                WatcherStep::Cut(ending) => {
                    if !self.run.has_concluded() && !self.run.has_exited() {
                        self.end(Some(ending));
                    }
                }
            }
        }
    }

    /// Says something to the agent, and reports what became of it.
    fn nudge(&mut self, text: &str) -> NudgeState {
        let state = self.run.say(text);
        let text = text.to_owned();
        self.tap.agent_event(AgentEvent::Nudge { text, state });
        self.tap.catch_up();
        state
    }

    /// Does what the outside asks for.
    async fn obey(&mut self) {
        for request in self.control.read(self.tap).await {
            match request {
                ControlRequest::Stop => self.end(Some(Ending::Stopped)),
                ControlRequest::Say { id, text } => {
                    let reply = if self.state != RunState::Going {
                        ControlReply::NotFollowed
                    } else if self.nudge(&text) == NudgeState::Impossible {
                        ControlReply::CannotBeTold
                    } else {
                        ControlReply::Told
                    };
                    self.control.answer(id, reply, self.tap).await;
                }
                ControlRequest::Choose { id, choice } => {
                    let now = self.now();
                    let mut followed = None;
                    if self.state == RunState::Going {
                        let mut watchers = self.watchers.iter_mut().enumerate();
                        followed = watchers.find_map(|(index, watcher)| {
                            Some((index, watcher.chosen(choice, now)?))
                        });
                    }
                    let reply = match followed {
                        Some((watcher, Followed { sentence, steps })) => {
                            self.act(steps.into_iter().map(|s| (watcher, s)).collect())
                                .await;
                            ControlReply::Followed { sentence }
                        }
                        None => ControlReply::NotFollowed,
                    };
                    self.control.answer(id, reply, self.tap).await;
                }
            }
        }
    }
}

fn earlier(one: (Instant, Alarm), other: (Instant, Alarm)) -> (Instant, Alarm) {
    if other.0 < one.0 { other } else { one }
}

/// Waits until then, or for ever.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

async fn made(done_file: Option<&DoneFile>) {
    match done_file {
        Some(file) => file.appeared().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
