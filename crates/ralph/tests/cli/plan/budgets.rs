//! What a plan costs is written down, counts for the budgets of all, and is refused where one is used up.

use serde_json::json;

use super::support::{Scene, plan};

#[test]
fn what_a_plan_costs_is_recorded_and_a_budget_that_it_used_up_refuses_the_next() {
    let scene = Scene::answering(&plan().to_string());
    scene.repo.file(
        "ralph.yaml",
        "budgets:\n  - {scope: task, per: total, usd: 0.001}\n  - {scope: organisation, per: day, usd: 0.0125}\n",
    );
    scene.plan(&["brief.txt", "--yes"]).text(0);
    for by in ["task", "loop"] {
        let cost = scene.ralph(&["cost", "--by", by, "--json"]).json(0);
        assert_eq!(cost["rows"][0]["key"], "ralph plan", "{by}");
        assert_eq!(cost["total"]["spentUsd"], 0.0125, "{by}");
    }
    let cost = scene.ralph(&["cost", "--by", "model", "--json"]).json(0);
    let tokens = &cost["rows"][0]["tokens"];
    assert_eq!(
        (&tokens["input"], &tokens["output"]),
        (&json!(2000), &json!(100))
    );

    let refused = scene
        .plan(&["brief.txt", "--yes", "--force"])
        .error(5)
        .to_owned();
    assert_eq!(
        refused,
        "error: the organisation's budget of $0.0125 a day is used up: $0.0125 are spent\n\
         hint: `ralph cost` shows the cost; raise `budgets` in ralph.yaml to allow more\n"
    );
    let cost = scene.ralph(&["cost", "--json"]).json(0);
    assert_eq!(cost["total"]["spentUsd"], 0.0125, "nobody was started");
}
