//! Starts an agent, reads its stream, watches its limits, and ends it with all that it started.
//!
//! Memory stays bounded whatever the agent writes. The whole tree is dead when this returns.

use std::time::{Duration, Instant};

use ralph_core::{
    agent::{AgentEvent, AgentReport, Ending, NudgeState},
    dollars::Dollars,
    economics::complete,
    health::HealthState,
};
use tokio::sync::{mpsc, watch};

use super::{
    Agent, Conclusion, Dialect, RunContext, RunCost, describe_end,
    voice::{Voice, next_nudge},
};
use crate::agent::output::{log_stderr, next_batch, stderr_tail, take_batch};
use crate::process::{
    self, CappedLog, Containment, Ended, LineReader, OutputPipe, Running, SpawnError, StopPlan,
    Tail,
};

/// How long a run may take, and how long it may say nothing.
#[derive(Debug, Clone)]
pub struct RunLimits {
    pub deadline: Option<(Instant, u64)>,
    pub idle: Duration,
    /// Agents say nothing while a command of theirs runs.
    pub idle_with_tool: Duration,
    /// Between the polite signal and the next one.
    pub grace: Duration,
    pub cost: Option<RunCost>,
}

/// Becomes `Some(signal)` when a person or a signal asks for an end.
pub type StopRequest = watch::Receiver<Option<i32>>;

/// Messages for the running agent, as they come.
pub type Nudges = mpsc::UnboundedReceiver<String>;

/// How often a watcher that wants it is told that time passes.
const TICK: Duration = Duration::from_millis(250);
/// How long an agent that said its last word may take to exit, at most.
const LINGER: Duration = Duration::from_secs(30);
/// How long an agent that was asked to stop by a message may take, before signals follow.
const ASKED: Duration = Duration::from_secs(3);
/// Runs one agent to its end. `Err` only where it could not be started at all.
pub async fn run_agent(
    agent: &dyn Agent,
    context: &RunContext,
    containment: Containment,
    limits: &RunLimits,
    watch: Watch<'_>,
) -> Result<AgentReport, SpawnError> {
    let began = Instant::now();
    let mut running = process::spawn(&agent.command(context), containment)?;
    crate::failpoint::failpoint("agent-running");
    let mut reader = Reader::new(&mut running, agent.dialect(), &context.prompt);
    reader.cost.clone_from(&limits.cost);
    let plan = StopPlan {
        first: agent.polite_signal(),
        grace: limits.grace,
        term_grace: limits.grace,
    };
    let cut = reader.read(&mut running, limits, plan, watch).await;
    let ended = running.wait().await.map_err(|source| SpawnError::Contain {
        program: agent.name(),
        step: "waiting for it",
        source,
    })?;
    let stderr = reader.stderr.text();
    let began_to_speak = reader.heard_events;
    let mut conclusion = reader.dialect.conclude(ended, &stderr);
    if agent.announces_itself() && !began_to_speak && never_began(&conclusion.ending, ended) {
        let message = match conclusion.ending {
            // In its own words, where its dialect knows them.
            Ending::Error { message } => message,
            _ => format!("it did not start ({})", describe_end(ended, &stderr)),
        };
        conclusion.ending = Ending::Unavailable { message };
    }
    if let Some(cut) = cut {
        conclusion.ending = cut;
    }
    Ok(report(conclusion, reader.tool_calls, began.elapsed()))
}

/// Not a word of its own, and an exit code: its program refused to start as it was asked to. That says
/// nothing of the task.
fn never_began(ending: &Ending, ended: Ended) -> bool {
    matches!(ended, Ended::Code(1..=127))
        && matches!(ending, Ending::NoResult { .. } | Ending::Error { .. })
}

fn report(conclusion: Conclusion, tool_calls: u64, took: Duration) -> AgentReport {
    let model = conclusion.model.as_deref();
    AgentReport {
        calls: complete(conclusion.calls, conclusion.usage.into(), model),
        tool_calls,
        ending: conclusion.ending,
        final_message: conclusion.final_message,
        model: conclusion.model,
        version: conclusion.version,
        usage: conclusion.usage,
        context: conclusion.context,
        turns: conclusion.turns,
        denied: conclusion.denied,
        seconds: took.as_secs_f64(),
        // Who minds it knows better.
        health: HealthState::Healthy,
    }
}

/// Who looks on while an agent runs.
pub struct Watch<'a> {
    pub stop: &'a mut StopRequest,
    pub watcher: &'a mut dyn Watcher,
    /// Its raw output, for the iteration's log.
    pub log: &'a mut CappedLog,
    pub nudges: Option<&'a mut Nudges>,
}

/// Hears what an agent does as it does it.
pub trait Watcher {
    fn event(&mut self, event: &AgentEvent);

    /// What it has cost so far, where there is a limit of that.
    fn spent(&mut self, _so_far: Dollars) {}

    /// There is a limit of its cost, and this model of its has no price: it can't be kept. Once a run.
    fn unpriced(&mut self, _model: Option<&str>) {}

    /// Called now and then while nothing happens, if it is wanted at all.
    fn tick(&mut self) {}

    fn wants_ticks(&self) -> bool {
        false
    }
}

struct Reader {
    stdout: Option<LineReader<OutputPipe>>,
    stderr_pipe: Option<LineReader<OutputPipe>>,
    stderr: Tail,
    dialect: Box<dyn Dialect>,
    /// The agent's open input, until it has concluded.
    voice: Option<Voice>,
    events: Vec<AgentEvent>,
    heard_events: bool,
    tools_running: usize,
    tool_calls: u64,
    /// What the run costs so far, where there is a limit of it.
    cost: Option<RunCost>,
}

impl Reader {
    fn new(running: &mut Running, mut dialect: Box<dyn Dialect>, prompt: &str) -> Self {
        let voice = running.take_stdin().map(Voice::new);
        if let Some(voice) = &voice {
            voice.say(dialect.opening(prompt));
        }
        Self {
            voice,
            stdout: running.take_stdout().map(LineReader::new),
            stderr_pipe: running.take_stderr().map(LineReader::new),
            stderr: stderr_tail(),
            dialect,
            events: Vec::new(),
            heard_events: false,
            tools_running: 0,
            tool_calls: 0,
            cost: None,
        }
    }

    /// Reads until the tree is dead and both pipes are empty. `Some` is how the run was cut short.
    async fn read(
        &mut self,
        running: &mut Running,
        limits: &RunLimits,
        plan: StopPlan,
        watch: Watch<'_>,
    ) -> Option<Ending> {
        let Watch {
            stop,
            watcher,
            log,
            mut nudges,
        } = watch;
        let wants_ticks = watcher.wants_ticks();
        let mut ticks = tokio::time::interval(TICK);
        let mut cut: Option<Ending> = None;
        let mut heard = Instant::now();
        let mut exited = false;
        loop {
            let until = if cut.is_some() {
                None
            } else {
                self.next_alarm(limits, heard)
            };
            tokio::select! {
                batch = next_batch(&mut self.stdout), if self.stdout.is_some() => {
                    heard = Instant::now();
                    match batch {
                        Some(batch) => take_batch(batch, &mut *self.dialect, &mut self.events, log),
                        None => self.stdout = None,
                    }
                    self.answer();
                    self.report_events(watcher);
                }
                Some(text) = next_nudge(&mut nudges), if cut.is_none() => {
                    self.nudge(text);
                    self.report_events(watcher);
                }
                batch = next_batch(&mut self.stderr_pipe), if self.stderr_pipe.is_some() => match batch {
                    Some(batch) => {
                        log_stderr(batch, log);
                        self.stderr.push(batch);
                    }
                    None => self.stderr_pipe = None,
                },
                _ = running.wait(), if !exited => exited = true,
                _ = ticks.tick(), if wants_ticks => watcher.tick(),
                // A closed channel means that nobody can ask any more: never a reason to stop.
                Ok(()) = stop_asked(stop), if cut.is_none() => {
                    cut = Some(Ending::Stopped);
                    self.drain_while_stopping(running, plan, log).await;
                    exited = true;
                }
                () = alarm(until.as_ref()), if until.is_some() => {
                    let reason = until.map_or(Alarm::Linger, |(_, reason)| reason);
                    match reason {
                        Alarm::Linger => {}
                        Alarm::Deadline(minutes) => cut = Some(Ending::TimedOut { minutes }),
                        Alarm::Idle(minutes) => cut = Some(Ending::Silent { minutes }),
                    }
                    self.drain_while_stopping(running, plan, log).await;
                    exited = true;
                }
            }
            if cut.is_none()
                && !exited
                && let Some(over) = self.over_budget()
            {
                cut = Some(over);
                self.drain_while_stopping(running, plan, log).await;
                exited = true;
            }
            if cut.is_none() && !exited && self.dialect.is_hopeless() {
                self.drain_while_stopping(running, plan, log).await;
                exited = true;
            }
            if exited && self.stdout.is_none() && self.stderr_pipe.is_none() {
                self.report_events(watcher);
                return cut;
            }
        }
    }

    /// An agent that has said its last word costs no more: what it made is judged like any other.
    fn over_budget(&self) -> Option<Ending> {
        let reached = self.cost.as_ref()?.reached();
        reached.filter(|_| !self.dialect.has_concluded())
    }

    /// Gives the stream what it asked for, and closes the input of an agent that is done.
    fn answer(&mut self) {
        if let Some(voice) = &self.voice {
            voice.say(self.dialect.replies());
        }
        if self.dialect.has_concluded() {
            self.voice = None;
        }
    }

    fn nudge(&mut self, text: String) {
        let bytes = self.voice.as_ref().and_then(|_| self.dialect.nudge(&text));
        let state = match (&self.voice, bytes) {
            (Some(voice), Some(bytes)) => {
                voice.say(bytes);
                NudgeState::Sent
            }
            _ => NudgeState::Impossible,
        };
        self.events.push(AgentEvent::Nudge { text, state });
    }

    fn report_events(&mut self, watcher: &mut dyn Watcher) {
        self.heard_events |= !self.events.is_empty();
        let used = self.dialect.used();
        if let Some(cost) = &mut self.cost {
            cost.count(&used, watcher);
        }
        for event in self.events.drain(..) {
            match event {
                AgentEvent::Tool { .. } => {
                    self.tools_running += 1;
                    self.tool_calls += 1;
                }
                AgentEvent::ToolDone { .. } => {
                    self.tools_running = self.tools_running.saturating_sub(1);
                }
                AgentEvent::Usage(usage) => self.cost.iter_mut().for_each(|c| c.tell(usage)),
                _ => {}
            }
            watcher.event(&event);
        }
    }

    /// Ends the tree while its pipes are still read: an agent that floods must be able to obey.
    async fn drain_while_stopping(
        &mut self,
        running: &mut Running,
        plan: StopPlan,
        log: &mut CappedLog,
    ) {
        // Asked in its own words, an agent sums up what it used; a signal may cut that off.
        let asked = match (&self.voice, self.dialect.interrupt()) {
            (Some(voice), Some(bytes)) => {
                voice.say(bytes);
                plan.grace.min(ASKED)
            }
            _ => Duration::ZERO,
        };
        let stopping = async {
            if !asked.is_zero()
                && let Ok(ended) = tokio::time::timeout(asked, running.wait()).await
            {
                return ended;
            }
            running.stop(plan).await
        };
        tokio::pin!(stopping);
        loop {
            tokio::select! {
                _ = &mut stopping => return,
                batch = next_batch(&mut self.stdout), if self.stdout.is_some() => {
                    match batch {
                        Some(batch) => take_batch(batch, &mut *self.dialect, &mut self.events, log),
                        None => self.stdout = None,
                    }
                    self.answer();
                }
                batch = next_batch(&mut self.stderr_pipe), if self.stderr_pipe.is_some() => match batch {
                    Some(batch) => {
                        log_stderr(batch, log);
                        self.stderr.push(batch);
                    }
                    None => self.stderr_pipe = None,
                },
            }
        }
    }

    /// The next moment at which patience ends, and what it means.
    fn next_alarm(&self, limits: &RunLimits, heard: Instant) -> Option<(Instant, Alarm)> {
        if self.dialect.has_concluded() {
            // How it went is known: no other limit may make something else of it.
            return Some((heard + LINGER.min(limits.idle), Alarm::Linger));
        }
        let idle = if self.tools_running > 0 {
            (
                heard + limits.idle_with_tool,
                Alarm::Idle(limits.idle_with_tool.as_secs() / 60),
            )
        } else {
            (heard + limits.idle, Alarm::Idle(limits.idle.as_secs() / 60))
        };
        match limits.deadline {
            Some((at, minutes)) if at < idle.0 => Some((at, Alarm::Deadline(minutes))),
            _ => Some(idle),
        }
    }
}

#[derive(Clone, Copy)]
enum Alarm {
    /// It said that it was done, and did not exit.
    Linger,
    Deadline(u64),
    Idle(u64),
}

/// Waits for the request. What the channel lends is given back before anything else is done: whoever
/// asks a second time would wait for it, on this thread.
async fn stop_asked(stop: &mut StopRequest) -> Result<(), watch::error::RecvError> {
    stop.wait_for(Option::is_some).await.map(drop)
}

async fn alarm(until: Option<&(Instant, Alarm)>) {
    match until {
        Some((at, _)) => tokio::time::sleep_until((*at).into()).await,
        None => std::future::pending().await,
    }
}
