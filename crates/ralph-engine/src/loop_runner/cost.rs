//! The rest of the cost that a run of the command may have.
//!
//! What agents tell counts, else what the table of prices makes of their calls. Whether the loop stops is
//! decided in the core.

use ralph_core::{economics::PriceGap, event::Event};

use super::LoopRunner;
use crate::agent::{CostLimit, Costs};

impl LoopRunner {
    /// The limit of cost that is reached first.
    pub(super) fn nearest_cost_limit(&self) -> Option<CostLimit> {
        let of_run = self.machine.limits().max_cost.map(|max| CostLimit {
            spent: self.machine.tally().spent,
            max,
            budget: None,
        });
        of_run
            .into_iter()
            .chain(self.costs.nearest)
            .min_by_key(|limit| limit.max.without(limit.spent))
    }

    /// Returns what to say of the models that agents are told to use, where their price is not known.
    pub(super) fn models_without_price(&self) -> Vec<Event> {
        let models = self.runtime.pool.models();
        let models = models.iter().map(String::as_str);
        let event = |gap: PriceGap| {
            let message = gap.sentence();
            match gap {
                PriceGap::Unpriced(_) => Event::Warning { message },
                PriceGap::Estimated(_) => Event::Notice { message },
            }
        };
        let gaps = self.settings.prices.gaps(models).into_iter();
        gaps.map(event).collect()
    }

    /// Returns what to say of a limit that this agent makes hard to keep.
    pub(super) fn untold_cost(&self) -> Option<String> {
        let max = self.machine.limits().max_cost?;
        let name = self.runtime.pool.main_name();
        match self.runtime.pool.agent().facts().costs {
            Costs::AsItGoes => None,
            Costs::AtTheEnd => Some(format!(
                "{name} says what it used only when it ends: the limit of {max} is looked at between its runs"
            )),
            Costs::Untold => Some(format!(
                "{name} does not say what it costs: the limit of {max} can't be kept"
            )),
        }
    }
}
