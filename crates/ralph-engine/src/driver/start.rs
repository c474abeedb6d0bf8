//! One run of an agent within an iteration: its context and limits, who looks on, what came of it.

use std::{
    cell::RefCell,
    ffi::OsString,
    time::{Duration, Instant},
};

use ralph_core::{
    agent::{AgentReport, Ending},
    event::Event,
    health::HealthState,
    iteration::{AgentEnded, RanBy, StepDone},
    signal::parse_signals,
};

use super::{
    Driver, LoopError,
    artefacts::Signalled,
    attend::{Attendant, Attended, wires},
    hands::unavailable,
    health::HealthPart,
    iterate::{Deadline, Whose},
    logs::Logs,
    mind::Minder,
    notes::{AgentSeen, Turn},
    onlooker::Onlooker,
};
use crate::{
    agent::{RunContext, RunLimits, Watch, run_agent, run_line},
    failpoint::failpoint,
    process::{CommandSpec, SpawnError},
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
            .take(&self.board.source, &self.state_dir, turn.id().as_str())?;
        let signalled = self.await_signal(turn)?;
        self.tell(&Event::RunStarted {
            run,
            agent: self.hands.name(),
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
            env: self.environment.for_agent(
                self.hands.agent().credentials(),
                &[
                    ("RALPH_TASK_ID", turn.task_id().to_string()),
                    ("RALPH_ITERATION", turn.n.to_string()),
                    ("RALPH_ATTEMPT", turn.start.attempt.to_string()),
                    ("RALPH_RUN", run.to_string()),
                    ("RALPH_RUN_ID", format!("{}-{run}", turn.id())),
                    ("RALPH_PURPOSE", turn.purpose().word().to_owned()),
                ],
            ),
            prompt: prompt.to_owned(),
            labels: turn.task.labels.clone(),
            budget: self.budget_left(turn),
        };
        let limits = self.run_limits(turn, deadline);
        let mut minder = self.minder(turn, deadline);
        let report = self
            .run_attended(turn, logs, (&context, &limits), (&signalled, &mut minder))
            .await;
        failpoint("agent-ended");
        // An agent that can't be started is an outcome like any other: the record says so.
        let mut report = report.unwrap_or_else(|error| unavailable(&error.to_string()));
        report.health = minder
            .health
            .map_or(HealthState::Healthy, HealthPart::ended);
        if let (Ending::TimedOut { .. }, Some(Whose::Run)) =
            (&report.ending, deadline.map(|d| d.whose))
        {
            // The end of the run's own time is a stop, not a failure of this task.
            report.ending = Ending::Stopped;
        }
        if report.ending == Ending::Stopped && signalled.was_overdue() {
            report.ending = Ending::Finished;
        }
        self.name_withheld_keys(&mut report.ending);
        self.stopped_by_its_cost(turn, &mut report);
        let mut signals = parse_signals(&report.final_message, turn.task_id());
        if let Some(goal) = &self.goal {
            signals = goal.heed(signals);
        }
        if let (None, Some(artefacts)) = (signals.claim, &self.artefacts) {
            signals.claim = artefacts.claim(turn, &self.board.source, &signalled);
        }
        let asked = minder.handoff.as_ref().and_then(|h| h.asked().cloned());
        let handoff = self.handed_over(turn, asked, (&report, &signals));
        let by = RanBy {
            agent: self.hands.name(),
            command: shown_command(&self.hands.agent().command(&context)),
        };
        Ok(StepDone::AgentEnded(Box::new(AgentEnded {
            by,
            report,
            signals,
            handoff,
        })))
    }

    /// Runs the agent with somebody who looks on, and somebody who listens to the person meanwhile.
    async fn run_attended(
        &mut self,
        turn: &mut Turn,
        logs: &mut Logs,
        (context, limits): (&RunContext, &RunLimits),
        (signalled, minder): (&Signalled, &mut Minder),
    ) -> Result<AgentReport, SpawnError> {
        let source = self.board.source.name().to_owned();
        let worktree = self.root.to_string_lossy().into_owned();
        let (ears, wires, mut inputs) = wires();
        let reporter: RefCell<&mut dyn Reporter> = RefCell::new(&mut *self.reporter);
        let mut watcher = Onlooker {
            text: &mut logs.text,
            reporter: &reporter,
            clock: &*self.clock,
            ears: &ears,
            unpriced: &mut self.costs.unpriced,
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
            signalled,
            minder,
            began: Instant::now(),
            repo: &self.repo,
            reporter: &reporter,
        };
        let Attended { mut report, cut } = attendant.attend(running, wires).await;
        if let (Ok(report), Some(cut)) = (&mut report, cut)
            && report.ending == Ending::Stopped
        {
            report.ending = cut;
        }
        turn.tool_calls += ears.tools();
        turn.failed_calls = ears.failed_calls();
        for event in ears.take() {
            self.tell(&event);
        }
        report
    }

    fn run_limits(&self, turn: &Turn, deadline: Option<Deadline>) -> RunLimits {
        let config = &self.config.loop_;
        RunLimits {
            deadline: deadline.map(|d| (d.at, d.minutes)),
            idle: config.idle_minutes.duration(),
            idle_with_tool: config.idle_minutes_tool.duration(),
            grace: Duration::from_secs(u64::from(config.stop_grace_seconds.get())),
            cost: self.run_cost(turn),
        }
    }

    /// Makes the files of an executed project ready for a run, and its signal file heard.
    fn await_signal(&mut self, turn: &Turn) -> Result<Signalled, LoopError> {
        let grace = Duration::from_secs(u64::from(self.config.loop_.stop_grace_seconds.get()));
        let path = match &mut self.artefacts {
            Some(artefacts) => {
                artefacts.before_run(turn)?;
                Some(artefacts.done_file())
            }
            None => None,
        };
        Ok(Signalled::new(path, grace))
    }

    /// A key that ralph withholds is the likeliest reason why an agent is not let in.
    fn name_withheld_keys(&self, ending: &mut Ending) {
        let Ending::Auth { message } = ending else {
            return;
        };
        let credentials = self.hands.agent().credentials();
        let keys = self.environment.keys_withheld_from(credentials);
        if !keys.is_empty() {
            let some = keys[..keys.len().min(5)].join(", ");
            message.push_str(&format!(
                " (withheld from agents: {some}; `safety.pass_env` lets a variable through)"
            ));
        }
    }
}

/// How an agent's program was started, for the record: never its prompt or its environment, and not
/// what is written inline, where a secret may stand.
fn shown_command(spec: &CommandSpec) -> Vec<String> {
    let text = |word: &OsString| match word.to_string_lossy() {
        word if word.trim_start().starts_with('{') => "(inline JSON)".to_owned(),
        word => word.into_owned(),
    };
    std::iter::once(&spec.program)
        .chain(&spec.args)
        .map(text)
        .collect()
}
