//! The real Claude Code, which stops by itself at the amount that ralph gives it.

use ralph_testkit::{
    agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::json;

use super::stories;

#[test]
fn claude_code_stops_at_what_is_left_and_its_work_is_kept() {
    let scenario = r#"
conversations:
  - when: "Write A"
    turns:
      - tools: [{bash: "echo half > A.txt"}]
        usage: {input: 1, output: 1}
      - tools: [{bash: "echo never > A.txt"}]
        usage: {input: 100000, output: 10000}
      - say: Task A complete
"#;
    let model = ScriptedModel::start(Scenario::parse(scenario).unwrap());
    let mut project = stories(&["A"]).agent("claude");
    let home = project.repo.home();
    for (name, value) in agents::claude_env(&home, &model.url()) {
        project = project.env(&name, value);
    }
    let command = json!([agents::claude()]).to_string();
    let project = project.env("RALPH_CLAUDE_COMMAND", command);
    let ran = project.run(&["--max-cost=0.01"]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    let stop = ran.stop();
    assert!(stop["spentUsd"].as_f64().unwrap() >= 0.01, "{stop}");
    assert!(project.landed().is_empty());
    let patch = project.repo.read(".ralph/logs/iteration-1.patch");
    // The call that came with the answer that was too dear is sometimes still made.
    let kept = ["\n+half\n", "\n+never\n"]
        .iter()
        .any(|line| patch.contains(line));
    assert!(kept, "{patch}");
    assert!(model.unscripted().is_empty());
}
