//! One run of an agent within an iteration: its context and limits, who looks on, what came of it.

use std::time::Duration;

use ralph_core::{
    agent::{AgentEvent, AgentReport, ContextUse, Ending, Usage},
    event::Event,
    iteration::{AgentEnded, RanBy, StepDone},
    signal::parse_signals,
};

use super::{
    Driver, LoopError,
    attend::{Attendant, Ears, wires},
    iterate::{Deadline, Whose},
    logs::Logs,
    notes::{AgentSeen, Turn},
};
use crate::{
    agent::{RunContext, RunLimits, Watch, Watcher, run_agent, run_line},
    failpoint::failpoint,
    process::SpawnError,
    report::Reporter,
};

impl Driver {
    pub(super) async fn start_agent(
        &mut self,
        turn: &mut Turn,
        logs: &mut Logs,
        run: u32,
        prompt: &str,
        deadline: Option<Deadline>,
    ) -> Result<StepDone, LoopError> {
        turn.agent = AgentSeen::Started;
        self.snapshots
            .take(&self.board.source, &self.state_dir, turn.id())?;
        self.tell(&Event::RunStarted {
            run,
            fix_only: turn.notes.failure.is_some(),
            tail: turn
                .notes
                .failure
                .as_ref()
                .map(|f| f.tail.clone())
                .unwrap_or_default(),
        });
        logs.heading(&format!("agent {} run {run}", self.hands.name()));
        logs.stream
            .push(run_line(run, &self.hands.name()).as_bytes());
        let context = RunContext {
            cwd: self.root.clone(),
            env: self.environment.with(&[
                ("RALPH_TASK_ID", turn.task_id().to_string()),
                ("RALPH_ITERATION", turn.n.to_string()),
                ("RALPH_ATTEMPT", turn.start.attempt.to_string()),
                ("RALPH_RUN", run.to_string()),
                ("RALPH_RUN_ID", format!("{}-{run}", turn.id())),
            ]),
            prompt: prompt.to_owned(),
            labels: turn.task.labels.clone(),
        };
        let limits = RunLimits {
            deadline: deadline.map(|d| (d.at, d.minutes)),
            idle: self.config.loop_.idle_minutes.duration(),
            idle_with_tool: self.config.loop_.idle_minutes_tool.duration(),
            grace: Duration::from_secs(u64::from(self.config.loop_.stop_grace_seconds.get())),
        };
        let report = self.run_attended(turn, logs, (&context, &limits)).await;
        failpoint("agent-ended");
        // An agent that can't be started is an outcome like any other: the record says so.
        let mut report = report.unwrap_or_else(|error| unavailable(&error.to_string()));
        if let (Ending::TimedOut { .. }, Some(Whose::Run)) =
            (&report.ending, deadline.map(|d| d.whose))
        {
            // The end of the run's own time is a stop, not a failure of this task.
            report.ending = Ending::Stopped;
        }
        let signals = parse_signals(&report.final_message, turn.task_id());
        let by = RanBy {
            agent: self.hands.name(),
            command: self.agent_command(),
        };
        Ok(StepDone::AgentEnded(Box::new(AgentEnded {
            by,
            report,
            signals,
        })))
    }

    /// Runs the agent with somebody who looks on, and somebody who listens to the person meanwhile.
    async fn run_attended(
        &mut self,
        turn: &mut Turn,
        logs: &mut Logs,
        (context, limits): (&RunContext, &RunLimits),
    ) -> Result<AgentReport, SpawnError> {
        let source = self.board.source.name().to_owned();
        let worktree = self.root.to_string_lossy().into_owned();
        let (ears, wires, mut inputs) = wires();
        let mut watcher = Onlooker {
            text: &mut logs.text,
            reporter: &mut *self.reporter,
            clock: &*self.clock,
            ears: &ears,
        };
        let watch = Watch {
            stop: &mut inputs.stop,
            watcher: &mut watcher,
            log: &mut logs.stream,
            nudges: Some(&mut inputs.nudges),
        };
        let running = run_agent(self.hands.agent(), context, self.containment, limits, watch);
        let attendant = Attendant {
            journal: &mut self.journal,
            repository: &self.repository,
            worktree: &worktree,
            source: &source,
            stop: &mut self.stop,
            line: &mut self.line,
            clock: &*self.clock,
            turn,
            ears: &ears,
        };
        let report = attendant.attend(running, wires).await;
        for event in ears.take() {
            self.tell(&event);
        }
        report
    }

    /// How the agent's program is started, for the record: never its prompt or its environment.
    fn agent_command(&self) -> Vec<String> {
        let context = RunContext {
            cwd: self.root.clone(),
            env: Vec::new(),
            prompt: String::new(),
            labels: Vec::new(),
        };
        let spec = self.hands.agent().command(&context);
        std::iter::once(spec.program)
            .chain(spec.args)
            .map(|a| a.to_string_lossy().into_owned())
            .collect()
    }
}

fn unavailable(message: &str) -> AgentReport {
    AgentReport {
        ending: Ending::Unavailable {
            message: message.to_owned(),
        },
        final_message: String::new(),
        model: None,
        version: None,
        usage: Usage::default(),
        context: ContextUse::default(),
        turns: None,
        denied: Vec::new(),
        seconds: 0.0,
    }
}

/// Passes an agent's events on to the log and to whoever watches.
pub(super) struct Onlooker<'a> {
    /// What the attendant has to tell, and wants to know.
    pub(super) ears: &'a Ears,
    pub(super) text: &'a mut crate::process::CappedLog,
    pub(super) reporter: &'a mut dyn Reporter,
    pub(super) clock: &'a dyn crate::clock::Clock,
}

impl Onlooker<'_> {
    fn pass_on(&mut self) {
        for event in self.ears.take() {
            self.reporter.report(&event, self.clock.now());
        }
    }
}

impl Watcher for Onlooker<'_> {
    fn event(&mut self, event: &AgentEvent) {
        self.ears.hear(event);
        self.pass_on();
        super::logs::write_event(self.text, event);
        self.reporter
            .report(&Event::Agent(event.clone()), self.clock.now());
    }

    fn tick(&mut self) {
        self.pass_on();
        self.reporter.tick(self.clock.now());
    }

    fn wants_ticks(&self) -> bool {
        self.reporter.wants_ticks()
    }
}
