//! Tools in the words of each client, by schemas as the clients send them.

use super::*;

/// A client with one tool of these parameters.
fn client(name: &str, properties: Value, system: &str) -> ParsedRequest {
    ParsedRequest {
        session: None,
        model: "m".to_owned(),
        streaming: true,
        system: system.to_owned(),
        messages: Vec::new(),
        tools: vec![Tool {
            name: name.to_owned(),
            schema: json!({"type": "object", "properties": properties}),
        }],
    }
}

fn edit() -> ToolUse {
    ToolUse::Edit {
        path: "src/a.rs".to_owned(),
        old: "x".to_owned(),
        new: "y".to_owned(),
    }
}

#[test]
fn claude_code_gets_absolute_paths_in_the_folder_that_it_named() {
    let properties = json!({"file_path": {}, "old_string": {}, "new_string": {}});
    let system = "# Environment\n - Primary working directory: /repo\n - Platform: linux\n";
    let asked = client("Edit", properties, system);
    let input = json!({"file_path": "/repo/src/a.rs", "old_string": "x", "new_string": "y"});
    assert_eq!(tool_call(&edit(), &asked), Ok(("Edit".to_owned(), input)));
}

#[test]
fn pi_gets_a_list_of_edits_and_relative_paths() {
    let asked = client(
        "edit",
        json!({"path": {}, "edits": {}}),
        "<cwd>\n/repo\n</cwd>",
    );
    let input = json!({"path": "src/a.rs", "edits": [{"oldText": "x", "newText": "y"}]});
    assert_eq!(tool_call(&edit(), &asked), Ok(("edit".to_owned(), input)));
}

#[test]
fn gemini_cli_gets_its_reason_and_codex_its_command() {
    let properties =
        json!({"file_path": {}, "instruction": {}, "old_string": {}, "new_string": {}});
    let asked = client("replace", properties, "");
    let input = json!({
        "file_path": "src/a.rs", "instruction": "Change it", "old_string": "x", "new_string": "y",
    });
    assert_eq!(
        tool_call(&edit(), &asked),
        Ok(("replace".to_owned(), input))
    );
    let asked = client("exec_command", json!({"cmd": {"type": "string"}}), "");
    let bash = ToolUse::Bash(Bash::Plain("make".to_owned()));
    let input = json!({"cmd": "make"});
    assert_eq!(
        tool_call(&bash, &asked),
        Ok(("exec_command".to_owned(), input))
    );
}

#[test]
fn a_timeout_is_counted_as_the_client_counts() {
    let bash = ToolUse::Bash(Bash::Limited {
        command: "make".to_owned(),
        timeout: Some(3),
    });
    for (unit, counted) in [
        ("Optional timeout in milliseconds (max 600000)", 3000),
        ("Timeout in seconds (optional)", 3),
    ] {
        let properties = json!({"command": {"type": "string"}, "timeout": {"description": unit}});
        let asked = client("bash", properties, "");
        let (_, input) = tool_call(&bash, &asked).unwrap();
        assert_eq!(input, json!({"command": "make", "timeout": counted}));
    }
}

#[test]
fn a_shell_that_takes_words_gets_words() {
    let bash = ToolUse::Bash(Bash::Plain("a | b".to_owned()));
    let asked = client("shell", json!({"command": {"type": "array"}}), "");
    let (name, input) = tool_call(&bash, &asked).unwrap();
    assert_eq!(name, "shell");
    assert_eq!(input, json!({"command": ["bash", "-lc", "a | b"]}));
}

#[test]
fn a_tool_with_other_parameters_is_a_mistake() {
    let asked = client("read", json!({"where": {}}), "");
    let said = tool_call(&ToolUse::Read("a".to_owned()), &asked).unwrap_err();
    assert_eq!(said, "the client's tool read takes no path");
}
