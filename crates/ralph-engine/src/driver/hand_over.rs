//! Handing over: watches a run for the moment, says what its end comes to, and finds what a fresh
//! agent is told.
//!
//! When to hand over is decided in the core; what follows from it, by the machine of the iteration.

use std::time::Instant;

use ralph_core::{
    agent::{AgentReport, Beat, Ending, NudgeState},
    checkpoint::{Trigger, continuation, valid},
    dollars::Dollars,
    event::Event,
    handoff::{
        HandoffStep, HandoffTrigger, HandoffWatch, Handover, Next, Room, Start, Thresholds,
        from_block, wrap_up,
    },
    health::Choice,
    iteration::{Handoffs, Lands, Purpose},
    sanitize::one_line,
    signal::Signals,
};

use super::{
    Driver, LoopError,
    bundle::TEMPLATE,
    iterate::{Deadline, Whose},
    mind::{Heeded, Minder, Now, Part, Step},
    notes::Turn,
};
use crate::store::Of;

/// Checkpoints that are looked through for the newest of a task.
const LOOKED_AT: u32 = 100;
/// Most characters of a call that failed, where it is named.
const CALL: usize = 120;

/// What minds the run of an agent for the moment to hand over.
pub(super) struct Handing {
    watch: HandoffWatch,
    iteration: u64,
    task: String,
}

impl Handing {
    /// Why the agent was asked to wrap up, if it was.
    pub(super) fn asked(&self) -> Option<&Handover> {
        self.watch.asked()
    }

    fn steps(&self, step: Option<HandoffStep>) -> Vec<Step> {
        match step {
            None => Vec::new(),
            Some(HandoffStep::Ask(why)) => vec![
                Step::Tell(Box::new(Event::HandoffAsked {
                    iteration: self.iteration,
                    task: self.task.clone(),
                    trigger: why.trigger,
                    sentence: why.sentence.clone(),
                })),
                Step::Nudge(wrap_up(&why)),
            ],
            Some(HandoffStep::Cut { trigger }) => vec![Step::Cut(Ending::HandedOff { trigger })],
        }
    }
}

impl Part for Handing {
    fn hear(&mut self, beat: Beat, now: Now) -> Vec<Step> {
        let step = self.watch.observe(beat, now.run);
        self.steps(step)
    }

    fn spent(&mut self, so_far: Dollars, now: Now) -> Vec<Step> {
        let step = self.watch.spent(so_far, now.run);
        self.steps(step)
    }

    fn nudged(&mut self, state: NudgeState, _now: Now) -> Vec<Step> {
        let step = self.watch.nudged(state);
        self.steps(step)
    }

    fn wakes_at(&self) -> Option<std::time::Duration> {
        self.watch.wakes_at()
    }

    fn wake(&mut self, now: Now) -> Vec<Step> {
        let step = self.watch.wake(now.run);
        self.steps(step)
    }

    fn told(&mut self, choice: Choice, _now: Now) -> Option<Heeded> {
        match choice {
            Choice::Handoff => {}
            Choice::MoreTime | Choice::Terminate => return None,
        }
        let who = format!(
            "the agent that works at {} (iteration {})",
            self.task, self.iteration
        );
        let step = self.watch.request();
        let sentence = match step {
            Some(_) => format!("{who} is asked to wrap up, and a fresh one goes on"),
            None => format!("{who} was asked to wrap up already"),
        };
        let steps = self.steps(step);
        Some(Heeded { sentence, steps })
    }
}

impl Driver {
    /// Who minds the run of an agent that begins now.
    pub(super) fn minder(&self, turn: &Turn, deadline: Option<Deadline>) -> Minder {
        // Nobody goes on with a diagnosis.
        let handoff = match turn.purpose() {
            Purpose::Attempt => Some(self.handing(turn, deadline)),
            Purpose::Diagnosis => None,
        };
        Minder {
            health: Some(self.health_part(turn)),
            handoff,
        }
    }

    fn handing(&self, turn: &Turn, deadline: Option<Deadline>) -> Handing {
        let time = deadline.and_then(|deadline| match deadline.whose {
            Whose::Iteration => Some(deadline.at.saturating_duration_since(Instant::now())),
            // The command ends with it: nobody would go on.
            Whose::Run => None,
        });
        let room = self.cost_limit(turn).map(|limit| Room {
            spent: limit.spent,
            max: limit.max,
        });
        let config = &self.config.handoff;
        let thresholds = config.enabled.then(|| Thresholds {
            context: config.context_threshold,
            errors: config.max_errors.get(),
            budget: config.budget_threshold,
            wrap_up: config.wrap_up_minutes.duration(),
        });
        Handing {
            watch: HandoffWatch::new(thresholds, &Start { time, room }),
            iteration: turn.n,
            task: turn.task_id().to_string(),
        }
    }

    /// Whether the task may be handed over once more.
    pub(super) fn handoffs_left(&self, task: &ralph_core::task::TaskId) -> Handoffs {
        let in_a_row = self.board.state(task).map_or(0, |s| s.handoff.in_a_row);
        match in_a_row < self.config.handoff.max_in_a_row.get() {
            true => Handoffs::Allowed,
            false => Handoffs::UsedUp { in_a_row },
        }
    }

    /// Why a run hands over, if it does: it was asked to, or its last words ask for it.
    pub(super) fn handed_over(
        &self,
        turn: &Turn,
        asked: Option<Handover>,
        (report, signals): (&AgentReport, &Signals),
    ) -> Option<Handover> {
        if turn.purpose() == Purpose::Diagnosis {
            return None;
        }
        let own = || {
            let state = self.board.state(turn.task_id());
            let before = state.and_then(|s| s.handoff.phase);
            let own = from_block(&signals.block, before)?;
            // Each step towards a goal lands with its phase, and a fresh agent follows anyway.
            let lands = turn.start.lands == Lands::Each;
            let is_step = lands && own.trigger == HandoffTrigger::PhaseComplete;
            (self.config.handoff.enabled && !is_step).then_some(own)
        };
        let mut handover = asked.or_else(own)?;
        match handover.trigger {
            HandoffTrigger::ErrorThreshold if !turn.failed_calls.is_empty() => {
                let calls: Vec<String> = turn
                    .failed_calls
                    .iter()
                    .map(|c| one_line(c, CALL))
                    .collect();
                handover.sentence += &format!(", the last of them: {}", calls.join("; "));
            }
            HandoffTrigger::TokenBudget => {
                if let Some(limit) = self.cost_limit(turn) {
                    let own = report
                        .usage
                        .cost_usd
                        .map_or(Dollars::NOTHING, Dollars::told);
                    let left = limit.max.without(limit.spent.plus(own));
                    handover.sentence += &format!("; {left} of {} are left now", limit.max);
                }
            }
            HandoffTrigger::ContextThreshold
            | HandoffTrigger::PhaseComplete
            | HandoffTrigger::ErrorThreshold
            | HandoffTrigger::ExplicitRequest
            | HandoffTrigger::Timeout => {}
        }
        Some(handover)
    }

    /// What a fresh agent is told of the one before it, where it goes on from work that was cut off.
    pub(super) async fn continuation(&mut self, turn: &Turn) -> Result<Option<String>, LoopError> {
        let state = self.board.state(turn.task_id());
        let goes_on = state.is_some_and(|s| s.handoff.next == Next::GoesOn && s.goes_on);
        if !goes_on || turn.purpose() == Purpose::Diagnosis {
            return Ok(None);
        }
        let id = turn.task_id().as_str();
        // A new loop may go on with what an earlier one left.
        let loop_id = self.loop_id.clone();
        for of in [Of::Loop(&loop_id), Of::Repository] {
            let links = self.journal.checkpoints(&self.repository, of, LOOKED_AT);
            let (found, damage) = valid(&links.await?);
            if let Some(damage) = damage {
                let message = format!(
                    "{damage}; it is not gone on from, `ralph checkpoint verify` says more"
                );
                self.tell(&Event::Warning { message });
            }
            let mut ours = found.into_iter().filter(|one| {
                let is_work = match one.metadata.trigger {
                    Trigger::Iteration | Trigger::Phase | Trigger::Handoff => true,
                    Trigger::Stop | Trigger::Manual => false,
                };
                is_work && one.metadata.task_id.as_deref() == Some(id)
            });
            if let Some(newest) = ours.next() {
                return Ok(Some(continuation(&newest)));
            }
        }
        Ok(None)
    }

    /// What to say of an own template that has no place for it.
    pub(super) fn unused_continuation(&self) -> Option<String> {
        let template = self.config_files.text(&self.root.join(TEMPLATE))?;
        let uses_it = self.goal.is_some() || self.artefacts.is_some();
        (!uses_it && !template.contains("continuation")).then(|| {
            format!(
                "{TEMPLATE} has no place for `continuation`: an agent that goes on for another is \
                 not told where that one stopped"
            )
        })
    }
}
