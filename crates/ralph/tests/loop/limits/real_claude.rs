//! The real Claude Code at the usage limit of a subscription, against the scripted model.

use ralph_testkit::{
    agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::json;

use super::{attempts, one_story, seconds};

/// Longer than Claude Code takes to start on a busy machine, so that there is something to wait for.
const AHEAD: i64 = 20;

#[allow(
    clippy::disallowed_methods,
    reason = "the test is about the real clock"
)]
fn soon() -> i64 {
    jiff::Timestamp::now().as_second() + AHEAD
}

#[test]
fn claude_code_at_its_limit_goes_on_by_itself_after_the_reset() {
    let reset = soon();
    let scenario = format!(
        r#"
conversations:
  - when: "Write A"
    times: 1
    turns:
      - faults: [{{usage_limit: {{resets_at: {reset}, type: five_hour}}, repeat: forever}}]
  - when: "Write A"
    turns:
      - tools: [{{bash: "echo x > A.txt"}}]
      - say: Task A complete
"#
    );
    let model = ScriptedModel::start(Scenario::parse(&scenario).unwrap());
    let mut project = one_story().agent("claude");
    let home = project.repo.home();
    for (name, value) in agents::claude_env(&home, &model.url()) {
        // A subscription, not a key: only then is there a usage limit.
        if name != "ANTHROPIC_API_KEY" {
            project = project.env(&name, value);
        }
    }
    let command = json!([agents::claude()]).to_string();
    let project = project
        .env("CLAUDE_CODE_OAUTH_TOKEN", "dummy-token")
        .env("RALPH_CLAUDE_COMMAND", command);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A limit_hit", "A verified"]);
    assert_eq!(attempts(&ran), [1, 1]);
    let hit = &ran.named("iteration_ended")[0];
    assert_eq!(seconds(&hit["resetsAt"]), reset);
    let waiting = ran.one("waiting");
    assert!(seconds(&waiting["until"]) >= reset, "{waiting}");
    let again = &ran.named("iteration_started")[1];
    assert!(seconds(&again["at"]) >= reset, "{again}");
    assert!(model.unscripted().is_empty());
}
