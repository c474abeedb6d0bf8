//! The real Claude Code: each of its calls is in the journal with the tokens that the model sent.

use ralph_core::economics::{Caller, Tokens};
use ralph_testkit::{
    agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::json;

use super::{calls, said, stories};

#[test]
fn each_call_of_claude_code_is_kept_with_what_the_model_sent() {
    let scenario = r#"
conversations:
  - when: "Write A"
    turns:
      - tools: [{bash: "echo one > A.txt"}]
        usage: {input: 1200, output: 35, cache_read: 0, cache_write: 900}
      - tools: [{bash: "echo two > A.txt"}]
        usage: {input: 40, output: 77, cache_read: 900, cache_write: 60}
      - say: Task A complete
        usage: {input: 25, output: 12, cache_read: 960, cache_write: 0}
"#;
    let model = ScriptedModel::start(Scenario::parse(scenario).unwrap());
    let mut project = stories(&["A"]).agent("claude");
    let home = project.repo.home();
    for (name, value) in agents::claude_env(&home, &model.url()) {
        project = project.env(&name, value);
    }
    let command = json!([agents::claude()]).to_string();
    let project = project.env("RALPH_CLAUDE_COMMAND", command);
    project.run(&[]).expect(0);
    let kept = calls(&project, 1);
    let tokens = |input, output, cache_read, cache_write| Tokens {
        input,
        output,
        cache_read,
        cache_write,
    };
    let seen: Vec<(Caller, Tokens)> = kept.iter().map(|c| (c.caller, c.tokens)).collect();
    assert_eq!(
        seen,
        [
            (Caller::Agent, tokens(1_200, 35, 0, 900)),
            (Caller::Agent, tokens(40, 77, 900, 60)),
            (Caller::Agent, tokens(25, 12, 960, 0)),
        ]
    );
    let used = said(&project, &["tokens", "--json"]);
    assert_eq!(used["toolCalls"], 2);
    assert_eq!(used["context"]["tokens"], 985);
    assert!(used["spentUsd"].as_f64().unwrap() > 0.0, "{used}");
    assert!(model.unscripted().is_empty());
    // Pieces of answers that come again as a whole are not in the log.
    let log = project.repo.read(".ralph/logs/iteration-1.stream");
    assert!(!log.contains("content_block_delta"), "the log has pieces");
}
