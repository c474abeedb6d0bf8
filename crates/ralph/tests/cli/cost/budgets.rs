//! `ralph cost budgets`: each budget with what is spent, reserved and left, and by whom.

use ralph_testkit::TestRepo;

use super::{accounts, documented};
use crate::support::{Written, ralph, shop};

/// Two budgets, and three iterations at two tasks, 2.5 cents each.
fn budgeted(budgets: &str) -> (TestRepo, Written) {
    let repo = shop();
    repo.file("ralph.yaml", format!("budgets:\n{budgets}"));
    let mut written = Written::begin(&repo, "prd.json", "0190c1f2");
    for (task, attempt) in [("US-001", 1), ("US-001", 2), ("US-002", 1)] {
        written.accounted((task, "Add a cart", attempt), &accounts());
    }
    (repo, written)
}

const BOTH: &str = "  - {scope: project, per: total, usd: 1}
  - {scope: task, per: total, usd: 0.05, action: alert_only}
";

#[test]
fn each_budget_shows_what_is_spent_reserved_and_left_and_by_whom() {
    let (repo, _written) = budgeted(BOTH);
    let shown = ralph(&repo, &["cost", "budgets", "--json"]).json(0);
    assert_eq!(shown, documented("ralph cost budgets"));
    let text = ralph(&repo, &["cost", "budgets"]).text(0).to_owned();
    let words = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("no {start:?} in:\n{text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        words("project"),
        "project $1.00 in total deny $0.0750 $0.0250 $0.9250"
    );
    assert_eq!(
        words("task US-001"),
        "task US-001 $0.05 in total alert only $0.05 – $0.00"
    );
    assert_eq!(
        words("task US-002"),
        "task US-002 $0.05 in total alert only $0.0250 – $0.0250"
    );
    assert!(
        text.ends_with("\nspent by\n  project  US-001 $0.05, US-002 $0.0250\n"),
        "{text}"
    );
}

#[test]
fn all_spenders_are_shown_on_request_and_repositories_for_the_organisation() {
    let repo = shop();
    repo.file(
        "ralph.yaml",
        "budgets:\n  - {scope: organisation, per: total, usd: 9}\n  - {scope: loop, per: total, usd: 3}\n  - {scope: project, per: total, usd: 4}\n",
    );
    let mut written = Written::begin(&repo, "prd.json", "0190c1f2");
    for n in 1..=7 {
        let task = format!("US-00{n}");
        written.accounted((&task, "Add a cart", 1), &accounts());
    }
    let short = ralph(&repo, &["cost", "budgets", "--json"]).json(0);
    assert_eq!(short["more"], true);
    let by = |shown: &serde_json::Value| shown["budgets"][2]["by"].as_array().unwrap().len();
    assert_eq!(by(&short), 5);
    let all = ralph(&repo, &["cost", "budgets", "--all", "--json"]).json(0);
    assert_eq!((by(&all), &all["more"]), (7, &serde_json::json!(false)));
    let organisation = &all["budgets"][0];
    assert_eq!(organisation["spentUsd"], 0.175);
    let spender = &organisation["by"][0];
    assert_eq!(
        (&spender["kind"], &spender["spentUsd"]),
        (&serde_json::json!("repository"), &serde_json::json!(0.175))
    );
    assert_eq!(spender["name"], serde_json::json!(repo.root()));
    assert_eq!(all["budgets"][1]["whose"], "0190c1f2");
}

#[test]
fn without_budgets_and_without_spending_that_is_said() {
    let repo = shop();
    assert_eq!(
        ralph(&repo, &["cost", "budgets"]).text(0),
        "no budgets are set; `budgets` in ralph.yaml sets them\n"
    );
    repo.file("ralph.yaml", format!("budgets:\n{BOTH}"));
    let shown = ralph(&repo, &["cost", "budgets", "--json"]).json(0);
    let left = |nth: usize| shown["budgets"][nth]["leftUsd"].clone();
    assert_eq!((left(0), left(1)), (1.into(), 0.05.into()));
}
