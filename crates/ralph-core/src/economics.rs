//! Describes what work costs: tokens of each call to a model, prices, budgets, and what is still to come.
//!
//! Pure figures. Never asks a provider anything, and never makes a price up: a model that the table
//! does not know has none, and that is said.

mod budget;
mod forecast;
mod prices;
mod tokens;

#[cfg(test)]
mod tests;

pub use budget::{
    Alert, Budget, BudgetAction, BudgetPolicy, Per, Reserve, Scope, Spending, THROTTLE_FROM,
    check_budget, reserve,
};
pub use forecast::{
    ComparedForecast, Forecast, ForecastBasis, ForecastResult, KeptForecast, MULTI_AGENT_FACTOR,
    forecast,
};
pub use prices::{
    BadPriceList, Meter, Metered, Price, PriceFile, PriceList, PriceRow, PriceSource, PriceTable,
    Prices, Rate,
};
pub use tokens::{
    Caller, CostByKind, MAX_CALLS, ModelCall, ModelCalls, TokenRecord, Tokens, Totals, account,
    complete,
};
