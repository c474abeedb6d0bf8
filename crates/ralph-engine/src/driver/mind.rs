//! Minds an agent while it runs: hears its signs of life and the time, and says what is to be done.
//!
//! Made of parts that know nothing of each other. Does nothing by itself: the attendant, who has the
//! wires to the agent, follows the steps. The time is an argument.

use std::time::Duration;

use ralph_core::{
    agent::{Beat, Ending, NudgeState},
    dollars::Dollars,
    event::Event,
    health::Choice,
};

use super::{hand_over::Handing, health::HealthPart};

/// What time it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    /// Since the run began: what is measured is measured by this.
    pub(super) run: Duration,
}

/// What is to be done about the running agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Say this to it. What becomes of that is heard by [`Part::nudged`].
    Nudge(String),
    /// End it with all that it started; its run has ended like this then.
    Cut(Ending),
    Tell(Box<Event>),
    /// Look at what can't be heard: the working tree, the journal. Answered by [`Part::saw`].
    #[allow(dead_code, reason = "handing over goes by what is heard alone")]
    Look,
}

/// What was seen on a look around. Filled by the attendant, in `look_about`.
#[derive(Debug, Clone, Default)]
pub(super) struct Sight {
    /// The working tree's fingerprint; none where it can't be looked at.
    pub(super) tree: Option<u64>,
}

/// What a part makes of a person's choice.
pub(super) struct Heeded {
    /// What is done about it, for who typed it.
    pub(super) sentence: String,
    pub(super) steps: Vec<Step>,
}

/// One thing that an agent is watched for.
pub(super) trait Part {
    fn hear(&mut self, beat: Beat, now: Now) -> Vec<Step>;

    /// What the run has cost so far, where there is a limit of that.
    fn spent(&mut self, _so_far: Dollars, _now: Now) -> Vec<Step> {
        Vec::new()
    }

    /// What became of the oldest of its own words that this was not said of yet.
    fn nudged(&mut self, _state: NudgeState, _now: Now) -> Vec<Step> {
        Vec::new()
    }

    /// When it is to be woken though nothing is heard. After that it must be later, or never.
    fn wakes_at(&self) -> Option<Duration> {
        None
    }

    fn wake(&mut self, _now: Now) -> Vec<Step> {
        Vec::new()
    }

    fn saw(&mut self, _sight: &Sight, _now: Now) -> Vec<Step> {
        Vec::new()
    }

    /// A person has chosen; `None`: that is another part's to follow.
    fn told(&mut self, _choice: Choice, _now: Now) -> Option<Heeded> {
        None
    }
}

/// Which part it is: words to the agent are heard of by who said them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Minds {
    Health,
    Handoff,
}

/// All that an agent is watched for.
pub(super) struct Minder {
    pub(super) health: Option<HealthPart>,
    pub(super) handoff: Option<Handing>,
}

impl Minder {
    /// The parts that are there, each with its name.
    fn parts(&mut self) -> impl Iterator<Item = (Minds, &mut dyn Part)> {
        let handoff = self.handoff.as_mut().map(|part| part as &mut dyn Part);
        let health = self.health.as_mut().map(|part| part as &mut dyn Part);
        // Health first: it must hear of a choice that another part follows.
        [(Minds::Health, health), (Minds::Handoff, handoff)]
            .into_iter()
            .filter_map(|(name, part)| Some((name, part?)))
    }

    fn each(&mut self, ask: impl Fn(&mut dyn Part) -> Vec<Step>) -> Vec<(Minds, Step)> {
        let asked = self.parts().map(|(name, part)| (name, ask(part)));
        asked
            .flat_map(|(name, steps)| steps.into_iter().map(move |step| (name, step)))
            .collect()
    }

    pub(super) fn hear(&mut self, beat: Beat, now: Now) -> Vec<(Minds, Step)> {
        self.each(|part| part.hear(beat, now))
    }

    pub(super) fn spent(&mut self, so_far: Dollars, now: Now) -> Vec<(Minds, Step)> {
        self.each(|part| part.spent(so_far, now))
    }

    pub(super) fn nudged(
        &mut self,
        whose: Minds,
        state: NudgeState,
        now: Now,
    ) -> Vec<(Minds, Step)> {
        let its = self.parts().find(|(name, _)| *name == whose);
        let steps = its.map_or_else(Vec::new, |(_, part)| part.nudged(state, now));
        steps.into_iter().map(|step| (whose, step)).collect()
    }

    pub(super) fn wakes_at(&mut self) -> Option<Duration> {
        self.parts().filter_map(|(_, part)| part.wakes_at()).min()
    }

    pub(super) fn wake(&mut self, now: Now) -> Vec<(Minds, Step)> {
        self.each(|part| part.wake(now))
    }

    pub(super) fn saw(&mut self, sight: &Sight, now: Now) -> Vec<(Minds, Step)> {
        self.each(|part| part.saw(sight, now))
    }

    /// What a person chose; the first part that it is for follows it.
    pub(super) fn told(&mut self, choice: Choice, now: Now) -> Option<(Minds, Heeded)> {
        let mut parts = self.parts();
        parts.find_map(|(name, part)| Some((name, part.told(choice, now)?)))
    }
}
