//! The real Claude Code is stopped by what its calls come to while it runs, those of its subagents too.
//! It is told the amount as well, and would stop by itself.

use ralph_testkit::{
    agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::json;

use super::{record, stories};
use crate::support::Project;

fn claude_against(model: &ScriptedModel, project: Project) -> Project {
    let mut project = project.agent("claude");
    let home = project.repo.home();
    for (name, value) in agents::claude_env(&home, &model.url()) {
        project = project.env(&name, value);
    }
    let command = json!([agents::claude()]).to_string();
    project.env("RALPH_CLAUDE_COMMAND", command)
}

/// A dollar for each thousand tokens that any model writes: what it reads costs nothing.
const DEAR: &str = "economics:\n  prices:\n    '*': {input: 0, output: 1000}\n";

#[test]
fn claude_code_is_stopped_by_its_calls_and_its_work_is_kept() {
    let scenario = r#"
conversations:
  - when: "Write A"
    turns:
      - tools: [{bash: "echo half > A.txt"}]
        usage: {input: 1, output: 300}
      - tools: [{bash: "echo more >> A.txt"}]
        usage: {input: 1, output: 300}
      - tools: [{bash: "echo more >> A.txt"}]
        usage: {input: 1, output: 300}
      - tools: [{bash: "echo more >> A.txt"}]
      - tools: [{bash: "echo more >> A.txt"}]
      - say: Task A complete
"#;
    let model = ScriptedModel::start(Scenario::parse(scenario).unwrap());
    let project = claude_against(&model, stories(&["A"]).config(DEAR));
    // By its own prices it is far from this.
    let ran = project.run(&["--max-cost=0.55"]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    assert_eq!(
        record(&project, 1)["runs"][0]["ending"],
        json!({"how": "over_budget", "spentUsd": 0.6, "maxUsd": 0.55})
    );
    let asked = model.requests().len();
    assert!(
        (2..=3).contains(&asked),
        "two calls, and one on its way: {asked}"
    );
    assert!(project.landed().is_empty());
    let patch = project.repo.read(".ralph/logs/iteration-1.patch");
    assert!(patch.contains("\n+half\n"), "{patch}");
    assert!(model.unscripted().is_empty());
    project.assert_nothing_alive();
}

/// Claude Code never says how long an answer of a subagent became: what it gives to its tools is
/// reckoned by its length.
#[test]
fn what_a_subagent_of_claude_code_writes_counts_before_it_has_ended() {
    let scenario = r#"
conversations:
  - when: "look around in the attic"
    turns:
      - tools: [{write: {path: one.txt, content: "LONG"}}]
      - tools: [{write: {path: two.txt, content: "LONG"}}]
      - tools: [{write: {path: three.txt, content: "LONG"}}]
      - tools: [{write: {path: four.txt, content: "LONG"}}]
      - say: Nothing there.
  - when: "Write A"
    turns:
      - tools: [{call: {name: Agent, input: {description: look, prompt: look around in the attic, subagent_type: general-purpose}}}]
        usage: {input: 1, output: 100}
      - say: Task A complete
"#;
    let scenario = scenario.replace("LONG", &"word ".repeat(320));
    let model = ScriptedModel::start(Scenario::parse(&scenario).unwrap());
    let project = claude_against(&model, stories(&["A"]).config(DEAR));
    let ran = project.run(&["--max-cost=0.85"]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    let ending = record(&project, 1)["runs"][0]["ending"].clone();
    assert_eq!(ending["how"], "over_budget");
    // 100 tokens of the agent, twice about 400 and a tool's of its subagent.
    let spent = ending["spentUsd"].as_f64().unwrap();
    assert!((0.9..1.0).contains(&spent), "{ending}");
    // One of the agent, two of its subagent, and one more that may be on its way.
    let asked = model.requests().len();
    assert!((3..=4).contains(&asked), "{asked}");
    project.assert_nothing_alive();
}

/// A subagent that looks around in a place, and thinks for 60 cents each time: no tool gets to see that,
/// and its stream does not tell it.
fn thinks(place: &str) -> String {
    let turn = "      - tools: [{bash: \"true\"}]\n        usage: {input: 1, output: 40000}\n";
    let turns = turn.repeat(6);
    format!("  - when: \"look around in the {place}\"\n    turns:\n{turns}      - say: Nothing.\n")
}

/// What was spent of $1.50 until Claude Code ended, which sends subagents to these places at once.
fn spent_by_subagents(places: &[&str]) -> (f64, usize) {
    let call = |place: &&str| {
        format!(
            "{{call: {{name: Agent, input: {{description: look, prompt: look around in the {place}, \
             subagent_type: general-purpose}}}}}}"
        )
    };
    let calls: Vec<String> = places.iter().map(call).collect();
    let subagents: String = places.iter().map(|place| thinks(place)).collect();
    let scenario = format!(
        "conversations:\n{subagents}  - when: \"Write A\"\n    turns:\n      - tools: [{}]\n        \
         usage: {{input: 1, output: 0}}\n      - say: Task A complete\n",
        calls.join(", ")
    );
    let model = ScriptedModel::start(Scenario::parse(&scenario).unwrap());
    let project = claude_against(&model, stories(&["A"]));
    let ran = project.run(&["--max-cost=1.5"]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    project.assert_nothing_alive();
    let ending = record(&project, 1)["runs"][0]["ending"].clone();
    assert_eq!(ending["how"], "over_budget");
    let asked = model.requests().len();
    (ending["spentUsd"].as_f64().unwrap(), asked)
}

#[test]
fn what_a_subagent_only_thinks_ends_claude_code_with_the_call_that_crosses_the_limit() {
    let (spent, asked) = spent_by_subagents(&["attic"]);
    assert!((1.8..1.81).contains(&spent), "three calls: {spent}");
    assert!((4..=5).contains(&asked), "and one on its way: {asked}");
}

#[test]
fn two_subagents_at_once_go_over_the_limit_by_one_call_each_at_most() {
    let (spent, asked) = spent_by_subagents(&["attic", "cellar"]);
    assert!((1.8..2.71).contains(&spent), "{spent}");
    assert!((4..=6).contains(&asked), "{asked}");
}
