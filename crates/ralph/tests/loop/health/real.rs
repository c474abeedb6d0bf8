//! The real Claude Code and the real Pi, whose model does the same again and again: the reminder must
//! reach the model in the middle of its work.

use ralph_testkit::model::{Request, Scenario, ScriptedModel};

use crate::support::{Project, assert_all_dead, nudge_is_sent, story, with_real};

/// The third time that it reads the same file it waits there, until it was reminded.
const GOES_ROUND: &str = r#"
conversations:
- when: "Id: A"
  turns:
  - tools: [{bash: "cat missing.txt"}]
  - tools: [{bash: "cat missing.txt"}]
  - tools: [{bash: "cat missing.txt"}]
  - tools: [{bash: "until [ -e ../go ]; do sleep 0.02; done"}]
  - tools: [{bash: "echo A > A.txt"}]
  - say: "Task A complete"
"#;

fn is_reminded(agent: &str) {
    let model = ScriptedModel::start(Scenario::parse(GOES_ROUND).unwrap());
    let project = Project::with_stories(&[story("A")]);
    let health = "health: {degraded_repeats: 2, stuck_repeats: 3}\nhandoff: {max_errors: 9}\n";
    let project = with_real(project, agent, &model.url(), health);
    let mut live = project.start(&["--agent", agent]);
    let intervention = live.wait_for("intervention");
    assert_eq!(intervention["level"], "nudge");
    nudge_is_sent(&mut live);
    std::fs::write(project.outside("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified"], "{}", ran.all());
    let changes = ran.named("health");
    let states: Vec<&str> = changes
        .iter()
        .map(|event| event["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["degraded", "stuck", "healthy"], "{}", ran.all());
    assert_all_dead(&project.repo.home());
    let mut requests = model.requests();
    requests.retain(|request| !request.tools().is_empty());
    let reminded = |request: &Request| request.text().contains("REMINDER: You have been working");
    let reminded: Vec<bool> = requests.iter().map(reminded).collect();
    // It is stuck once the third one is done; the request that is made just then may know or not.
    assert_eq!(reminded.len(), 6);
    assert_eq!(reminded[..3], [false; 3]);
    assert_eq!(reminded[4..], [true; 2], "told in the middle of its work");
}

#[test]
fn claude_code_is_reminded_in_the_middle_of_its_work() {
    is_reminded("claude");
}

#[test]
fn pi_is_reminded_in_the_middle_of_its_work() {
    is_reminded("pi");
}
