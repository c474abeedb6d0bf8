//! Tests of budgets: who may begin another iteration, and behind which delay.

use std::time::Duration;

use super::{super::*, usd};
use crate::dollars::Dollars;

const FIRST: Duration = Duration::from_secs(30);

fn spending(action: BudgetPolicy, spent: f64, max: f64) -> Spending {
    Spending {
        budget: Budget {
            scope: Scope::Project,
            per: Per::Day,
            usd: usd(max),
            action,
        },
        spent: usd(spent),
        share_of: None,
    }
}

#[test]
fn the_share_of_a_machine_says_whose_it_is_and_that_no_more_can_be_had() {
    let mut share = spending(BudgetPolicy::Deny, 5.0, 5.0);
    share.budget.scope = Scope::Organisation;
    share.share_of = Some(usd(100.0));
    let (_, alert) = share.alert(80).unwrap();
    assert_eq!(
        alert.sentence(),
        "this machine's share, $5.00, of the organisation's budget of $100.00 a day is used up: \
         $5.00 are spent, and the server can't be reached for more"
    );
}

#[test]
fn a_limit_below_its_budget_is_the_share_of_a_machine() {
    let budget = Budget {
        scope: Scope::Organisation,
        per: Per::Total,
        usd: usd(1.0),
        action: BudgetPolicy::Deny,
    };
    let sentence = |max| Alert::of_limit(budget, usd(max), usd(max)).sentence();
    assert_eq!(
        sentence(1.0),
        "the organisation's budget of $1.00 in total is used up: $1.00 are spent"
    );
    assert_eq!(
        sentence(0.5),
        "this machine's share, $0.50, of the organisation's budget of $1.00 in total is used up: $0.50 are spent, and \
         the server can't be reached for more"
    );
}

fn word(action: &BudgetAction) -> String {
    match action {
        BudgetAction::Allow => "allow".into(),
        BudgetAction::Throttle { delay, .. } => format!("throttle {}", delay.as_secs()),
        BudgetAction::Deny { alert } if alert.reserve_usd.is_some() => "deny: reserve".into(),
        BudgetAction::Deny { .. } => "deny".into(),
        BudgetAction::AlertOnly { .. } => "alert_only".into(),
    }
}

#[test]
fn every_budget_alerts_once_it_is_near_its_end_and_once_it_is_there() {
    for scope in Scope::ALL {
        for per in [Per::Day, Per::Month, Per::Total] {
            for action in [
                BudgetPolicy::Deny,
                BudgetPolicy::Throttle,
                BudgetPolicy::AlertOnly,
            ] {
                let budget = Budget {
                    scope,
                    per,
                    usd: usd(10.0),
                    action,
                };
                let level = |spent: f64| {
                    let spending = Spending {
                        budget,
                        spent: usd(spent),
                        share_of: None,
                    };
                    spending.alert(80).map(|(level, _)| level)
                };
                assert_eq!(level(7.99), None, "{budget:?}");
                assert_eq!(level(8.0), Some(AlertLevel::Near), "{budget:?}");
                assert_eq!(level(10.0), Some(AlertLevel::UsedUp), "{budget:?}");
            }
        }
    }
}

#[test]
fn a_budget_speaks_by_what_is_spent_of_it() {
    use BudgetPolicy::{AlertOnly, Deny, Throttle};
    for (policy, spent, expected) in [
        (Deny, 0.0, "allow"),
        (Deny, 7.99, "allow"),
        (Deny, 8.0, "alert_only"),
        (Deny, 9.99, "alert_only"),
        (Deny, 10.0, "deny"),
        (Throttle, 7.99, "allow"),
        (Throttle, 8.0, "throttle 30"),
        (Throttle, 8.4, "throttle 60"),
        (Throttle, 8.8, "throttle 120"),
        (Throttle, 9.2, "throttle 240"),
        (Throttle, 9.6, "throttle 480"),
        (Throttle, 10.0, "deny"),
        (AlertOnly, 7.99, "allow"),
        (AlertOnly, 8.0, "alert_only"),
        (AlertOnly, 25.0, "alert_only"),
    ] {
        let action = check_budget(&[spending(policy, spent, 10.0)], None, FIRST);
        assert_eq!(word(&action), expected, "{policy:?} {spent}");
    }
}

#[test]
fn an_iteration_that_the_rest_can_not_fund_is_not_begun() {
    use BudgetPolicy::{AlertOnly, Deny, Throttle};
    for (policy, spent, expected) in [
        (Deny, 5.0, "allow"),
        (Deny, 5.01, "deny: reserve"),
        (Throttle, 9.0, "deny: reserve"),
        (Deny, 10.0, "deny"),
        (AlertOnly, 9.0, "alert_only"),
    ] {
        let five = Some(Reserve(usd(5.0)));
        let action = check_budget(&[spending(policy, spent, 10.0)], five, FIRST);
        assert_eq!(word(&action), expected, "{policy:?} {spent}");
    }
}

#[test]
fn the_strictest_of_several_budgets_speaks() {
    use BudgetPolicy::{AlertOnly, Deny, Throttle};
    let check = |all: &[Spending]| word(&check_budget(all, None, FIRST));
    let alerts = spending(AlertOnly, 20.0, 10.0);
    let throttles = spending(Throttle, 8.0, 10.0);
    let longer = spending(Throttle, 9.0, 10.0);
    let denies = spending(Deny, 1.0, 1.0);
    assert_eq!(check(&[]), "allow");
    assert_eq!(check(&[throttles, alerts]), "throttle 30");
    assert_eq!(check(&[longer, throttles]), "throttle 120");
    assert_eq!(check(&[throttles, denies, alerts]), "deny");
}

#[test]
fn the_delay_has_an_end() {
    let near = spending(BudgetPolicy::Throttle, 99.9, 100.0);
    let action = check_budget(&[near], None, Duration::from_secs(600));
    assert_eq!(word(&action), "throttle 900");
}

#[test]
fn the_reserve_is_what_four_of_five_iterations_stay_below() {
    let costs = |all: &[f64]| all.iter().map(|c| usd(*c)).collect::<Vec<Dollars>>();
    assert_eq!(reserve(&costs(&[])), None);
    assert_eq!(reserve(&costs(&[1.0, 9.0])), None, "two say nothing");
    assert_eq!(reserve(&costs(&[3.0, 1.0, 2.0])), Some(Reserve(usd(3.0))));
    let ten = [10.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    assert_eq!(reserve(&costs(&ten)), Some(Reserve(usd(8.0))));
}

#[test]
fn an_alert_says_which_budget_and_the_figures() {
    let say = |spent: f64, reserve: Option<f64>| {
        let one = spending(BudgetPolicy::Deny, spent, 10.0);
        let reserve = reserve.map(|amount| Reserve(usd(amount)));
        match check_budget(&[one], reserve, FIRST) {
            BudgetAction::Allow => String::new(),
            BudgetAction::Throttle { alert, .. }
            | BudgetAction::Deny { alert }
            | BudgetAction::AlertOnly { alert } => alert.sentence(),
        }
    };
    assert_eq!(
        say(10.5, None),
        "the project's budget of $10.00 a day is used up: $10.50 are spent"
    );
    assert_eq!(
        say(8.5, None),
        "the project's budget of $10.00 a day is nearly used up: $8.50 are spent"
    );
    assert_eq!(
        say(9.25, Some(1.0)),
        "the project's budget of $10.00 a day can't fund another iteration: $0.75 are left, and one may cost $1.00"
    );
}
