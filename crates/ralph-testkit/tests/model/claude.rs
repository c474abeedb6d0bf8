//! The real Claude Code against the scripted model.

use crate::agent::{Ran, Stage};

const WORK: &str = r#"
conversations:
  - when: build the thing
    turns:
      - say: I begin.
        tools: [{write: {path: notes/hello.txt, content: "one\ntwo\n"}}]
        usage: {input: 1000, output: 50, cache_read: 12000, cache_write: 3000}
      - tools: [{read: notes/hello.txt}]
      - tools: [{edit: {path: notes/hello.txt, old: two, new: TWO}}]
      - tools: [{bash: "cat notes/hello.txt > copy.txt; echo from the shell"}]
      - say: All done.
"#;

#[test]
fn claude_code_writes_edits_and_runs_by_its_own_tools() {
    let stage = Stage::new(WORK);
    let ran = Ran::of(stage.claude("Please build the thing"));
    let result = ran.last("result");
    assert_eq!(ran.code(), Some(0), "{result:#}");
    assert_eq!(result["is_error"], false, "{result:#}");
    assert_eq!(result["result"], "All done.");
    assert_eq!(stage.file("notes/hello.txt"), "one\nTWO\n");
    assert_eq!(stage.file("copy.txt"), "one\nTWO\n");
    assert_eq!(result["usage"]["cache_read_input_tokens"], 12000);
    assert_eq!(result["usage"]["input_tokens"], 1400);

    let requests = stage.model.requests();
    assert_eq!(requests.len(), 5);
    assert!(stage.model.unscripted().is_empty());
    assert!(requests[0].is_fresh());
    assert!(!requests[1].is_fresh());
    assert!(requests[0].text().contains("Please build the thing"));
    assert!(requests[4].tool_results()[3].contains("from the shell"));
}
