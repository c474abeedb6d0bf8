//! Budgets, and whether another iteration may be begun.
//!
//! A budget that is spent, or that could not fund one more iteration, denies it; one that only alerts
//! never does. From 80 % on it is said, and a budget that throttles makes each iteration wait longer.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dollars::Dollars;

/// The share of a budget from which it is told, and throttled.
pub const THROTTLE_FROM: f64 = 0.8;
/// The delay doubles with each of these shares beyond.
const DOUBLES_EACH: f64 = 0.04;
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// What may be spent by whom in which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Whose spending counts: the `organisation` is all that this journal knows of, the `project` is
    /// this repository.
    pub scope: Scope,
    /// In which time: a `day` or a `month` (UTC), or in `total`.
    pub per: Per,
    /// How much, in dollars.
    pub usd: Dollars,
    /// What follows: `deny` ends the loop when it is spent, `throttle` also slows it down from 80 %
    /// on, `alert_only` only says so.
    #[serde(default)]
    pub action: BudgetPolicy,
}

named! {
    #[derive(JsonSchema)]
    pub enum Scope {
        Organisation = "organisation",
        Project = "project",
        Task = "task",
        Loop = "loop",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    Day,
    Month,
    Total,
}

impl Per {
    pub const ALL: [Self; 3] = [Self::Day, Self::Month, Self::Total];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Total => "total",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|per| per.as_str() == word)
    }

    /// `a day`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Day => "a day",
            Self::Month => "a month",
            Self::Total => "in total",
        }
    }
}

/// What a budget does when it is used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetPolicy {
    #[default]
    Deny,
    Throttle,
    AlertOnly,
}

impl Budget {
    pub fn is_of_task(self) -> bool {
        self.scope == Scope::Task
    }

    /// `the project's budget of $5.00 a day`.
    pub fn describe(&self) -> String {
        let per = self.per.describe();
        format!("the {}'s budget of {} {per}", self.scope.as_str(), self.usd)
    }
}

/// A budget with what is spent of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    pub budget: Budget,
    pub spent: Dollars,
    /// Where it is what one machine was granted of a team's budget, and no more can be asked for: that budget.
    pub share_of: Option<Dollars>,
}

impl Spending {
    fn share(&self) -> f64 {
        match self.budget.usd.millionths() {
            0 => 1.0,
            max => self.spent.millionths() as f64 / max as f64,
        }
    }

    pub fn left(&self) -> Dollars {
        self.budget.usd.without(self.spent)
    }

    /// The alert that is due where at least `percent` of it is spent.
    pub fn alert(&self, percent: u8) -> Option<(AlertLevel, Alert)> {
        let alert = Alert {
            budget: self.budget,
            spent_usd: self.spent,
            reserve_usd: None,
            share_of_usd: self.share_of,
        };
        if self.spent >= self.budget.usd {
            return Some((AlertLevel::UsedUp, alert));
        }
        let is_near = self.share() >= f64::from(percent) / 100.0;
        is_near.then_some((AlertLevel::Near, alert))
    }
}

/// Tells how much of a budget is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertLevel {
    Near,
    UsedUp,
}

/// What an iteration costs at least four times out of five; nothing where too little is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reserve(pub Dollars);

/// Iterations that have to be known before any is held back for want of money.
const ENOUGH: usize = 3;

/// Returns what must be left to begin another iteration: the 80th percentile of past ones.
pub fn reserve(costs: &[Dollars]) -> Option<Reserve> {
    if costs.len() < ENOUGH {
        return None;
    }
    let mut sorted = costs.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * 80).div_ceil(100);
    sorted.get(rank - 1).copied().map(Reserve)
}

/// Which budget speaks, and with what figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    pub budget: Budget,
    pub spent_usd: Dollars,
    /// What another iteration may cost, where the rest of the budget can't fund that.
    pub reserve_usd: Option<Reserve>,
    /// The budget of a team that it is one machine's share of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_of_usd: Option<Dollars>,
}

impl Alert {
    /// The alert of a limit that was reached. Where a budget allows more than the limit, that is what one machine was
    /// granted of it, and no more could be asked for.
    pub fn of_limit(budget: Budget, spent: Dollars, max: Dollars) -> Self {
        Self {
            budget: Budget { usd: max, ..budget },
            spent_usd: spent,
            reserve_usd: None,
            share_of_usd: (max < budget.usd).then_some(budget.usd),
        }
    }

    pub fn sentence(&self) -> String {
        let spent = self.spent_usd;
        let (budget, end) = match self.share_of_usd {
            None => (self.budget.describe(), ""),
            Some(of) => (
                format!(
                    "this machine's share, {}, of the {}'s budget of {of} {}",
                    self.budget.usd,
                    self.budget.scope.as_str(),
                    self.budget.per.describe()
                ),
                ", and the server can't be reached for more",
            ),
        };
        let sentence = match self.reserve_usd {
            Some(Reserve(reserve)) => format!(
                "{budget} can't fund another iteration: {} are left, and one may cost {reserve}",
                self.budget.usd.without(spent)
            ),
            None if spent >= self.budget.usd => format!("{budget} is used up: {spent} are spent"),
            None => format!("{budget} is nearly used up: {spent} are spent"),
        };
        sentence + end
    }
}

/// What follows for the next iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum BudgetAction {
    Allow,
    /// It may begin behind a delay.
    Throttle {
        delay: Duration,
        alert: Alert,
    },
    Deny {
        alert: Alert,
    },
    /// It may begin, and a person should know.
    AlertOnly {
        alert: Alert,
    },
}

/// Returns whether another iteration may be begun. The strictest budget speaks; `first_delay` is what is waited
/// at 80 %.
pub fn check_budget(
    spendings: &[Spending],
    reserve: Option<Reserve>,
    first_delay: Duration,
) -> BudgetAction {
    let of_one = |one: &Spending| check_one(one, reserve, first_delay);
    spendings
        .iter()
        .map(|one| (of_one(one), one.share()))
        .max_by(|(a, a_share), (b, b_share)| {
            let (a, b) = (strictness(a), strictness(b));
            a.cmp(&b).then(a_share.total_cmp(b_share))
        })
        .map_or(BudgetAction::Allow, |(action, _)| action)
}

fn check_one(one: &Spending, reserve: Option<Reserve>, first_delay: Duration) -> BudgetAction {
    let alert = |reserve_usd| Alert {
        budget: one.budget,
        spent_usd: one.spent,
        reserve_usd,
        share_of_usd: one.share_of,
    };
    let is_spent = one.spent >= one.budget.usd;
    let unfunded = reserve.filter(|Reserve(reserve)| *reserve > one.left());
    match one.budget.action {
        BudgetPolicy::Deny | BudgetPolicy::Throttle if is_spent => {
            BudgetAction::Deny { alert: alert(None) }
        }
        BudgetPolicy::Deny | BudgetPolicy::Throttle if unfunded.is_some() => BudgetAction::Deny {
            alert: alert(unfunded),
        },
        _ if one.share() < THROTTLE_FROM => BudgetAction::Allow,
        BudgetPolicy::Throttle => BudgetAction::Throttle {
            delay: delay(one.share(), first_delay),
            alert: alert(None),
        },
        BudgetPolicy::Deny | BudgetPolicy::AlertOnly => {
            BudgetAction::AlertOnly { alert: alert(None) }
        }
    }
}

/// Twice as long with each 4 % beyond 80 %.
fn delay(share: f64, first: Duration) -> Duration {
    // A share that is on a border by its figures must not fall below it by rounding.
    let steps = ((share - THROTTLE_FROM) / DOUBLES_EACH + 1e-9).floor();
    let factor = 2_u32.saturating_pow(steps.clamp(0.0, 31.0) as u32);
    first.saturating_mul(factor).min(LONGEST)
}

fn strictness(action: &BudgetAction) -> (u8, Duration) {
    match action {
        BudgetAction::Allow => (0, Duration::ZERO),
        BudgetAction::AlertOnly { .. } => (1, Duration::ZERO),
        BudgetAction::Throttle { delay, .. } => (2, *delay),
        BudgetAction::Deny { .. } => (3, Duration::ZERO),
    }
}
