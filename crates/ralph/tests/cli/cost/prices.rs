//! Prices of a file: used, named, and their mistakes found.

use serde_json::json;

use crate::support::{ralph, shop};

#[test]
fn prices_of_a_file_stand_between_the_users_own_and_the_shipped_ones() {
    let repo = shop();
    repo.file(
        "prices.yaml",
        "as_of: 2026-02-01\nmodels:\n  gpt-5: {input: 2, output: 20}\n  mine: {input: 9, output: 9}\n",
    );
    repo.file(
        "ralph.yaml",
        "economics: {prices_file: prices.yaml, prices: {mine: {input: 1, output: 4}}}\n",
    );
    let listed = ralph(&repo, &["cost", "prices", "--json"]).json(0);
    assert_eq!(
        listed["file"],
        json!({"path": "prices.yaml", "asOf": "2026-02-01"})
    );
    let prices = listed["prices"].as_array().unwrap();
    assert_eq!(
        prices[0],
        json!({"model": "mine", "own": true, "source": "config", "basis": "listed", "input": 1, "output": 4,
               "cacheRead": 1, "cacheWrite": 1})
    );
    assert_eq!(
        prices[1],
        json!({"model": "gpt-5", "own": true, "source": "file", "basis": "listed", "input": 2, "output": 20,
               "cacheRead": 2, "cacheWrite": 2})
    );
    let named = |model: &str| prices.iter().filter(|row| row["model"] == model).count();
    assert_eq!(
        (named("gpt-5"), named("mine"), named("gpt-5-nano*")),
        (1, 1, 1)
    );
    let text = ralph(&repo, &["cost", "prices"]).text(0).to_owned();
    assert!(
        text.ends_with(
            "dollars per million tokens; built-in prices as of 2026-11-16, those of prices.yaml as of 2026-02-01. `economics.prices` in ralph.yaml sets others\n"
        ),
        "{text}"
    );
}

#[test]
fn a_file_of_prices_that_is_wrong_is_named_with_its_line() {
    let repo = shop();
    repo.file("ralph.yaml", "economics: {prices_file: prices.yaml}\n");
    let said = |args: &[&str]| ralph(&repo, args).error(2).to_owned();
    let missing = said(&["cost", "prices"]);
    assert!(
        missing.contains("can't read the prices in prices.yaml (`economics.prices_file`)"),
        "{missing}"
    );
    repo.file(
        "prices.yaml",
        "as_of: 2026-02-01\nmodels:\n  gpt-5: {input: 2, outputs: 20}\n",
    );
    for args in [
        &["cost", "prices"][..],
        &["cost"],
        &["run", "--agent", "command:true"],
    ] {
        let wrong = said(args);
        assert!(wrong.contains("error: prices.yaml:3:"), "{args:?}: {wrong}");
        assert!(wrong.contains("outputs"), "{args:?}: {wrong}");
    }
    repo.file(
        "prices.yaml",
        "as_of: 2026-02-01\nmodels:\n  gpt-5: {input: -2, output: 20}\n",
    );
    let wrong = said(&["cost", "prices"]);
    assert!(
        wrong.contains("prices.yaml:3:")
            && wrong.contains("expected an amount of dollars, found -2"),
        "{wrong}"
    );
}
