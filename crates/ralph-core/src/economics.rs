//! Describes what work costs: tokens of each call to a model, prices, budgets, and what is still to come.
//!
//! Pure figures. Never asks a provider anything, and never makes a price up: a model that the table
//! does not know has none, and that is said.

mod budget;
mod call;
mod forecast;
mod foresight;
mod meter;
mod prices;
mod record;
mod tokens;
mod totals;

#[cfg(test)]
mod tests;

pub use budget::{
    Alert, Budget, BudgetAction, BudgetPolicy, Per, Reserve, Scope, Spending, THROTTLE_FROM,
    check_budget, reserve,
};
pub use call::{Caller, MAX_CALLS, ModelCall, complete};
pub use forecast::{Forecast, ForecastBasis, MULTI_AGENT_FACTOR, forecast};
pub use foresight::{ComparedForecast, ForecastResult, KeptForecast};
pub use meter::{Meter, Metered};
pub use prices::{
    BadPriceList, Price, PriceFile, PriceList, PriceRow, PriceSource, PriceTable, Prices, Rate,
};
pub use record::{TokenRecord, account};
pub use tokens::{CostByKind, Tokens};
pub use totals::Totals;
