//! A running agent: its process, the dialect that reads its stream, and its open input.
//!
//! Memory stays bounded whatever the agent writes. Ends it step by step while its output is read on;
//! decides nothing.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use ralph_core::{
    agent::{AgentEvent, AgentReport, Ending, NudgeState},
    economics::{ModelCall, complete},
    health::HealthState,
    secret::Redaction,
};

use super::{
    AgentRunSpec,
    input::{AgentInput, InputRoom},
    until,
};
use crate::{
    agent::{
        Agent, Conclusion, Dialect, describe_end,
        output::{log_stderr, next_batch, stderr_tail, take_batch},
    },
    process::{
        self, CappedLog, Ended, LineReader, OutputPipe, Running, Signal, SpawnError, StopPlan, Tail,
    },
    sandbox::{Enclosure, SandboxUser},
};

/// The time that an agent that was asked to stop by a message may take, before signals follow.
const ASKED: Duration = Duration::from_secs(3);

/// What came of waiting for a running agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunHeard {
    /// Its stream said something, or closed.
    Output,
    Other,
    /// Its tree is dead, and all that it wrote is read.
    Ended,
}

/// An agent that runs, as the supervisor sees it.
pub(super) trait RunningAgent {
    /// Waits for what comes next. May be dropped at any time and called again.
    async fn next(&mut self) -> RunHeard;

    /// The events since this was last asked, in their order.
    fn take_events(&mut self) -> Vec<AgentEvent>;

    /// Returns what calls to models were seen to use since this was last asked.
    fn used(&mut self) -> Vec<ModelCall>;

    /// Says something to it.
    fn say(&mut self, text: &str) -> NudgeState;

    /// Begins to end it with all that it started; [`Self::next`] goes on with that.
    fn stop(&mut self);

    /// True once it has said its last word and only has to exit.
    fn has_concluded(&self) -> bool;

    fn has_exited(&self) -> bool;

    /// True once it can only fail, though its program goes on trying.
    fn is_hopeless(&self) -> bool;
}

pub(super) struct AgentRun<'a> {
    began: Instant,
    running: Running,
    /// The needs of its sandbox, where it is in one.
    enclosure: Option<Enclosure>,
    dialect: Box<dyn Dialect>,
    /// Its open input, until it has concluded.
    input: Option<AgentInput>,
    stdout: Option<LineReader<OutputPipe>>,
    stderr: Option<LineReader<OutputPipe>>,
    stderr_tail: Tail,
    log: &'a mut CappedLog,
    redaction: Redaction,
    events: Vec<AgentEvent>,
    has_spoken: bool,
    has_exited: bool,
    plan: StopPlan,
    stopping: Option<StopSteps>,
}

/// The signals that are still to be sent, and when the next one is.
struct StopSteps {
    signals: VecDeque<(Signal, Duration)>,
    next_at: Option<Instant>,
}

impl<'a> AgentRun<'a> {
    pub(super) fn start(
        spec: &AgentRunSpec<'_>,
        log: &'a mut CappedLog,
    ) -> Result<Self, SpawnError> {
        let began = Instant::now();
        let mut command = spec.agent.command(spec.context);
        command.mounts.clone_from(&spec.mounts);
        command.keeper = spec.keeper;
        let home = |source| SpawnError::Home {
            program: spec.agent.name(),
            source,
        };
        let user = SandboxUser::Agent {
            folders: spec.agent.facts().folders,
            hosts: spec.agent.facts().hosts,
        };
        let enclosure = spec
            .sandbox
            .map(|sandbox| sandbox.enclose(&mut command, user));
        let mut enclosure = enclosure.transpose().map_err(home)?;
        let mut running = process::spawn(&command, spec.containment)?;
        if let Some(enclosure) = &mut enclosure {
            enclosure.attend(&mut running).map_err(home)?;
        }
        crate::failpoint::failpoint("agent-running");
        let mut dialect = spec.agent.dialect();
        let input = running.take_stdin().map(AgentInput::new);
        let opening = dialect.opening(&spec.context.prompt);
        let grace = spec.limits.grace;
        let mut run = Self {
            began,
            input,
            stdout: running.take_stdout().map(LineReader::new),
            stderr: running.take_stderr().map(LineReader::new),
            stderr_tail: stderr_tail(),
            running,
            enclosure,
            dialect,
            log,
            redaction: spec.redaction.clone(),
            events: Vec::new(),
            has_spoken: false,
            has_exited: false,
            plan: StopPlan {
                first: spec.agent.facts().polite_signal,
                grace,
                term_grace: grace,
            },
            stopping: None,
        };
        run.write(opening);
        Ok(run)
    }

    /// Writes to its input, where that is open. One that never reads gets no more, and that is said.
    fn write(&mut self, bytes: Vec<u8>) {
        let room = self.input.as_ref().map(|input| input.write(bytes));
        if room == Some(InputRoom::Exhausted) {
            self.input = None;
            let text = "it does not read its input: nothing more is written to it".to_owned();
            self.events.push(AgentEvent::Notice { text });
        }
    }

    /// The report of a run that is over. `cut` is how it was ended, where that is not its own to say.
    pub(super) async fn conclude(
        mut self,
        agent: &dyn Agent,
        cut: Option<Ending>,
        tool_calls: u64,
    ) -> Result<AgentReport, SpawnError> {
        let ended = self.running.wait().await;
        let ended = ended.map_err(|source| SpawnError::Contain {
            program: agent.name(),
            step: "waiting for it",
            source,
        })?;
        if let Some(home) = &self.enclosure {
            // A key that could not be kept is fetched again by the next agent.
            let _ = home.keep_logins();
        }
        let stderr = self.stderr_tail.text();
        let mut conclusion = self.dialect.conclude(ended, &stderr);
        if agent.facts().announces_itself
            && !self.has_spoken
            && never_began(&conclusion.ending, ended)
        {
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
        let connections = self.enclosure.as_ref().map(Enclosure::connections);
        Ok(AgentReport {
            connections: connections.unwrap_or_default(),
            ..report(conclusion, tool_calls, self.began.elapsed())
        })
    }

    /// Gives the stream what it asked for, and closes the input of an agent that is done.
    fn reply(&mut self) {
        let replies = self.dialect.replies();
        self.write(replies);
        if self.dialect.has_concluded() {
            self.input = None;
        }
    }

    /// Sends the next signal.
    fn escalate(&mut self) {
        if let Some(stopping) = &mut self.stopping {
            let (signal, grace) = match stopping.signals.pop_front() {
                Some((signal, grace)) => (signal, Some(grace)),
                None => (Signal::KILL, None),
            };
            stopping.next_at = grace.map(|grace| Instant::now() + grace);
            self.running.signal(signal);
        }
    }
}

impl RunningAgent for AgentRun<'_> {
    async fn next(&mut self) -> RunHeard {
        if self.has_exited && self.stdout.is_none() && self.stderr.is_none() {
            return RunHeard::Ended;
        }
        let signal_at = self.stopping.as_ref().and_then(|s| s.next_at);
        tokio::select! {
            batch = next_batch(&mut self.stdout), if self.stdout.is_some() => {
                match batch {
                    Some(batch) => {
                        let (dialect, events) = (&mut *self.dialect, &mut self.events);
                        take_batch(batch, &self.redaction, dialect, events, self.log);
                    }
                    None => self.stdout = None,
                }
                self.has_spoken |= !self.events.is_empty();
                self.reply();
                RunHeard::Output
            }
            batch = next_batch(&mut self.stderr), if self.stderr.is_some() => {
                match batch {
                    Some(batch) => {
                        let batch = &*self.redaction.hide_bytes(batch);
                        log_stderr(batch, self.log);
                        self.stderr_tail.push(batch);
                    }
                    None => self.stderr = None,
                }
                RunHeard::Other
            }
            _ = self.running.wait(), if !self.has_exited => {
                self.has_exited = true;
                RunHeard::Other
            }
            () = until(signal_at), if !self.has_exited => {
                self.escalate();
                RunHeard::Other
            }
        }
    }

    fn take_events(&mut self) -> Vec<AgentEvent> {
        // As many will come at once again.
        let room = Vec::with_capacity(self.events.len());
        std::mem::replace(&mut self.events, room)
    }

    fn used(&mut self) -> Vec<ModelCall> {
        self.dialect.used()
    }

    fn say(&mut self, text: &str) -> NudgeState {
        if self.input.is_none() {
            return NudgeState::Impossible;
        }
        match self.dialect.nudge(&self.redaction.hide(text)) {
            Some(bytes) => {
                self.write(bytes);
                NudgeState::Sent
            }
            None => NudgeState::Impossible,
        }
    }

    fn stop(&mut self) {
        if self.has_exited || self.stopping.is_some() {
            return;
        }
        let StopPlan {
            first,
            grace,
            term_grace,
        } = self.plan;
        let signals = [(first, grace), (Signal::TERM, term_grace)].into_iter();
        // Asked in its own words, an agent sums up what it used; a signal may cut that off.
        let asked = match self.dialect.interrupt() {
            Some(bytes) if self.input.is_some() => {
                self.write(bytes);
                grace.min(ASKED)
            }
            Some(_) | None => Duration::ZERO,
        };
        self.stopping = Some(StopSteps {
            signals: signals.filter(|(_, grace)| !grace.is_zero()).collect(),
            next_at: Some(Instant::now() + asked),
        });
        if asked.is_zero() {
            self.escalate();
        }
    }

    fn has_concluded(&self) -> bool {
        self.dialect.has_concluded()
    }

    fn has_exited(&self) -> bool {
        self.has_exited
    }

    fn is_hopeless(&self) -> bool {
        self.dialect.is_hopeless()
    }
}

/// Not a word of its own, and an exit code: its program refused to start as it was asked to. That says
/// nothing of the task.
fn never_began(ending: &Ending, ended: Ended) -> bool {
    matches!(ended, Ended::Code(1..=127))
        && matches!(ending, Ending::NoResult { .. } | Ending::Error { .. })
}

/// The report of a run that came to this conclusion.
pub(crate) fn report(conclusion: Conclusion, tool_calls: u64, took: Duration) -> AgentReport {
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
        // Its health watcher knows better, where there is one.
        health: HealthState::Healthy,
        connections: Vec::new(),
    }
}
