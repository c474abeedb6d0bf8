//! Watches what a run costs: lets the other watchers know, and ends it at its limit.
//!
//! Knows no prices: the value of a call is the core's [`Meter`] to say.

use std::collections::HashSet;

use ralph_core::{
    agent::{Beat, RunMoment},
    dollars::Dollars,
    economics::{Meter, Metered, ModelCall, PriceGap},
    event::Event,
};

use super::{Observation, Watcher, WatcherStep};
use crate::agent::{CostLimit, RunCost};

#[derive(Debug)]
pub struct CostWatcher {
    limit: CostLimit,
    meter: Meter,
    /// Models of which it was said already that they have no price of their own.
    unpriced: HashSet<String>,
}

impl CostWatcher {
    /// `unpriced` are the models that were warned of already.
    pub fn new(cost: RunCost, unpriced: HashSet<String>) -> Self {
        Self {
            limit: cost.limit,
            meter: cost.meter,
            unpriced,
        }
    }

    /// The models that were warned of by now.
    pub fn into_unpriced(self) -> HashSet<String> {
        self.unpriced
    }

    fn steps(&self) -> Vec<WatcherStep> {
        let spent = self.meter.spent();
        let cut = self.limit.reached(spent).map(WatcherStep::Cut);
        [WatcherStep::Spent(spent)].into_iter().chain(cut).collect()
    }
}

impl Watcher for CostWatcher {
    fn observe(&mut self, seen: &Observation, _now: RunMoment) -> Vec<WatcherStep> {
        if let Beat::Usage(usage) = seen.beat
            && let Some(told) = usage.cost_usd
        {
            // What the agent says of the whole run up to now.
            self.meter.tell(Dollars::told(told));
        }
        self.steps()
    }

    fn used(&mut self, calls: &[ModelCall], _now: RunMoment) -> Vec<WatcherStep> {
        let mut steps = Vec::new();
        for call in calls {
            match self.meter.add(call) {
                Metered::NewUnpriced => {
                    let model = call.model.as_deref();
                    let name = model.unwrap_or("a model that is not named");
                    if self.unpriced.insert(name.to_owned()) {
                        let message = format!(
                            "there is no price for {name}: what may be spent can't be kept to while \
                             it works; `economics.prices` sets one"
                        );
                        steps.push(WatcherStep::Tell(Box::new(Event::Warning { message })));
                    }
                }
                Metered::NewEstimated => {
                    let name = call.model.clone().unwrap_or_default();
                    let message = PriceGap::Estimated(name.clone()).sentence();
                    if self.unpriced.insert(name) {
                        steps.push(WatcherStep::Tell(Box::new(Event::Notice { message })));
                    }
                }
                Metered::Priced | Metered::Unpriced => {}
            }
        }
        steps.extend(self.steps());
        steps
    }
}
