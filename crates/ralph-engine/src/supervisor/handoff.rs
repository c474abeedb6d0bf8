//! Watches a run for the moment to hand over to a fresh agent. When that is, is decided in the core.

use std::time::Duration;

use ralph_core::{
    agent::{Ending, NudgeState, RunMoment},
    dollars::Dollars,
    event::Event,
    handoff::{HandoffStep, HandoffWatch, Handover, wrap_up},
    health::Choice,
};

use super::{Followed, Observation, Watcher, WatcherStep};

pub struct HandoffWatcher {
    watch: HandoffWatch,
    iteration: u64,
    task: String,
}

impl HandoffWatcher {
    pub fn new(watch: HandoffWatch, iteration: u64, task: String) -> Self {
        Self {
            watch,
            iteration,
            task,
        }
    }

    /// Why the agent was asked to wrap up, if it was.
    pub fn asked(&self) -> Option<&Handover> {
        self.watch.asked()
    }

    fn steps(&self, step: Option<HandoffStep>) -> Vec<WatcherStep> {
        match step {
            None => Vec::new(),
            Some(HandoffStep::Ask(why)) => vec![
                WatcherStep::Tell(Box::new(Event::HandoffAsked {
                    iteration: self.iteration,
                    task: self.task.clone(),
                    trigger: why.trigger,
                    sentence: why.sentence.clone(),
                })),
                WatcherStep::Nudge(wrap_up(&why)),
            ],
            Some(HandoffStep::Cut { trigger }) => {
                vec![WatcherStep::Cut(Ending::HandedOff { trigger })]
            }
        }
    }
}

impl Watcher for HandoffWatcher {
    fn observe(&mut self, seen: &Observation, now: RunMoment) -> Vec<WatcherStep> {
        let step = self.watch.observe(seen.beat, now);
        self.steps(step)
    }

    fn spent(&mut self, so_far: Dollars, now: RunMoment) -> Vec<WatcherStep> {
        let step = self.watch.spent(so_far, now);
        self.steps(step)
    }

    fn nudged(&mut self, state: NudgeState, now: RunMoment) -> Vec<WatcherStep> {
        let step = self.watch.nudged(state, now);
        self.steps(step)
    }

    fn wakes_at(&self, _now: RunMoment) -> Option<Duration> {
        self.watch.wakes_at()
    }

    fn wake(&mut self, now: RunMoment) -> Vec<WatcherStep> {
        let step = self.watch.wake(now);
        self.steps(step)
    }

    fn chosen(&mut self, choice: Choice, _now: RunMoment) -> Option<Followed> {
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
        Some(Followed { sentence, steps })
    }
}
