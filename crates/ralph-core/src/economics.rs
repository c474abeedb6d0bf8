//! Describes what work costs: tokens of each call to a model, prices, budgets, and what is still to come.
//!
//! Pure figures. Never asks a provider anything, and never makes a price up: a model that the table
//! does not know is estimated by its family or has no price, and that is said.

mod budget;
mod forecast;
mod prices;
mod tokens;

#[cfg(test)]
mod tests;

pub use budget::{
    Alert, AlertLevel, Budget, BudgetAction, BudgetPolicy, Per, Reserve, Scope, Spending,
    THROTTLE_FROM, check_budget, reserve,
};
pub use forecast::{
    ComparedForecast, Forecast, ForecastBasis, ForecastResult, KeptForecast, MULTI_AGENT_FACTOR,
    forecast,
};
pub use prices::{
    BadPriceList, FoundPrice, Meter, Metered, Price, PriceBasis, PriceFile, PriceGap, PriceList,
    PriceRow, PriceSource, PriceTable, PricedTokens, Prices, Rate,
};
pub use tokens::{
    Caller, CostByKind, KnownCost, MAX_CALLS, ModelCall, ModelCalls, TokenRecord, Tokens, Totals,
    account, complete,
};
