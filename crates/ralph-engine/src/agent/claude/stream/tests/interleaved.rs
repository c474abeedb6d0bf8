//! Lines that another event was printed into: both are read, in whichever way they are torn.

use super::*;

const LIMIT: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1794733640},"uuid":"u","session_id":"s"}"#;
const TOOL_RESULT: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"said {\"type\":\"x\"} ü","is_error":true}]},"parent_tool_use_id":null,"session_id":"s"}"#;

fn is_limit(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Limit { .. })
}

/// The line torn at a byte: the events that come of it, with the inner one on the same line, and with a
/// newline behind it.
fn torn(outer: &str, inner: &str, at: usize) -> [Vec<AgentEvent>; 2] {
    let (head, rest) = outer.as_bytes().split_at(at);
    let same = [&[head, inner.as_bytes(), rest].concat()[..]].map(<[u8]>::to_vec);
    let next = [[head, inner.as_bytes()].concat(), rest.to_vec()];
    let all = |lines: &[Vec<u8>]| {
        let mut stream = ClaudeStream::default();
        let mut events = Vec::new();
        stream.read_line(INIT.as_bytes(), &mut Vec::new());
        for line in lines {
            stream.read_line(line, &mut events);
        }
        events
    };
    [all(&same), all(&next)]
}

/// At every byte.
fn each_tear(outer: &str, is_outer: fn(&AgentEvent) -> bool) {
    for at in 1..outer.len() {
        for (form, events) in ["same line", "next line"]
            .iter()
            .zip(torn(outer, LIMIT, at))
        {
            let count = |is: fn(&AgentEvent) -> bool| events.iter().filter(|e| is(e)).count();
            // Between the brackets of an empty list, it makes a line that is whole.
            let (head, rest) = outer.as_bytes().split_at(at);
            let in_list = head.ends_with(b"[") && rest.starts_with(b"]") && *form == "same line";
            let inner = if in_list { 0 } else { 1 };
            assert_eq!(count(is_limit), inner, "{form}, torn at {at}: {events:?}");
            assert_eq!(count(is_outer), 1, "{form}, torn at {at}: {events:?}");
        }
    }
}

#[test]
fn a_result_survives_wherever_it_is_torn() {
    each_tear(OK, |e| match e {
        AgentEvent::Result(result) => result.ok && result.text == "Task T1 complete",
        _ => false,
    });
}

#[test]
fn the_result_of_a_tool_survives_wherever_it_is_torn() {
    each_tear(TOOL_RESULT, |e| match e {
        AgentEvent::ToolDone { id, ok, .. } => id == "t1" && !ok,
        _ => false,
    });
}

#[test]
fn an_answer_survives_wherever_it_is_torn_with_its_text_as_it_was() {
    each_tear(
        TEXT,
        |e| matches!(e, AgentEvent::Text { text } if text == "hello"),
    );
}

#[test]
fn a_torn_result_ends_the_run_as_if_it_were_whole() {
    let at = OK.find("Task").unwrap() + 6;
    let (head, rest) = OK.split_at(at);
    let same = format!("{head}{LIMIT}{rest}");
    let next = format!("{head}{LIMIT}");
    for lines in [vec![INIT, TEXT, &same], vec![INIT, TEXT, &next, rest]] {
        let (_, stream) = read(&lines);
        assert!(stream.has_concluded());
        let end = stream.conclude(Ended::Code(0), "");
        assert_eq!(end.ending, Ending::Finished);
        assert_eq!(end.final_message, "Task T1 complete");
        assert_eq!(end.usage.cost_usd, Some(0.5));
    }
}

#[test]
fn a_space_at_the_tear_is_kept() {
    let outer = TEXT.replace("hello", "a b");
    let at = outer.find("a b").unwrap();
    for at in [at + 1, at + 2] {
        for events in torn(&outer, LIMIT, at) {
            assert!(
                events
                    .iter()
                    .any(|e| matches!(e, AgentEvent::Text { text } if text == "a b")),
                "{events:?}"
            );
        }
    }
}

#[test]
fn several_events_in_one_line_and_events_before_its_rest_are_all_read() {
    let (head, rest) = OK.split_at(150);
    let (middle, end) = rest.split_at(40);
    let hello = |e: &AgentEvent| matches!(e, AgentEvent::Text { text } if text == "hello");
    for lines in [
        vec![format!("{head}{LIMIT}{middle}{TEXT}{end}")],
        vec![format!("{head}{LIMIT}{TEXT}{rest}")],
        vec![format!("{head}{LIMIT}{TEXT}"), rest.to_owned()],
        vec![format!("{head}{LIMIT}"), TEXT.to_owned(), rest.to_owned()],
        vec![
            format!("{head}{LIMIT}"),
            format!("{middle}{TEXT}"),
            end.to_owned(),
        ],
        vec![format!("{head}{LIMIT}"), format!("{middle}{TEXT}{end}")],
        vec![
            format!("{head}{LIMIT}"),
            TEXT.to_owned(),
            "a stray word".into(),
            rest.to_owned(),
        ],
        // No newline between them.
        vec![format!("{LIMIT}{TEXT}{OK}")],
        vec![
            format!("a stray word {LIMIT}"),
            TEXT.to_owned(),
            OK.to_owned(),
        ],
    ] {
        let mut all = vec![INIT];
        all.extend(lines.iter().map(String::as_str));
        let (events, stream) = read(&all);
        assert!(events.iter().any(is_limit), "{lines:?}");
        assert!(events.iter().any(hello), "{lines:?}");
        let end = stream.conclude(Ended::Code(0), "");
        assert_eq!(end.ending, Ending::Finished, "{lines:?}");
        assert_eq!(end.final_message, "Task T1 complete");
    }
}

#[test]
fn an_object_of_the_line_itself_is_not_taken_for_an_event_of_its_own() {
    let tool = r#"{"type":"assistant","message":{"id":"m2","model":"claude-x","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"x":{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"forged","session_id":"s"},"file_path":"a.txt"}}]},"session_id":"s"}"#;
    let at = tool.find("a.txt").unwrap();
    for events in torn(tool, LIMIT, at) {
        assert!(events.iter().any(is_limit), "{events:?}");
        assert!(
            events
                .iter()
                .any(|e| matches!(e, AgentEvent::Tool { target, .. } if target == "a.txt"))
        );
        assert!(
            !events.iter().any(|e| matches!(e, AgentEvent::Result(_))),
            "{events:?}"
        );
    }
}

#[test]
fn what_another_session_or_program_printed_is_not_taken_out_of_a_line() {
    let forged = OK.replace(r#""session_id":"s""#, r#""session_id":"forged""#);
    let anonymous = OK.replace(r#""session_id":"s","#, "");
    let (head, rest) = TEXT.split_at(60);
    for inner in [&forged, &anonymous] {
        for lines in [
            vec![format!("{head}{inner}{rest}")],
            vec![format!("{head}{inner}"), rest.to_owned()],
            vec![format!("a stray word {inner}")],
        ] {
            let mut all = vec![INIT];
            all.extend(lines.iter().map(String::as_str));
            let (_, stream) = read(&all);
            assert!(!stream.has_concluded(), "{lines:?}");
        }
    }
}

#[test]
fn a_beginning_whose_rest_never_comes_is_given_up() {
    let (head, rest) = TEXT.split_at(60);
    let torn = format!("{head}{LIMIT}");
    let mut lines = vec![INIT, &torn];
    lines.extend(["not the rest"; 8]);
    lines.push(rest);
    let (events, _) = read(&lines);
    assert!(!events.iter().any(|e| matches!(e, AgentEvent::Text { .. })));
    let huge = format!("{}{}", head, "x".repeat(9_000_000));
    let torn = format!("{huge}{LIMIT}");
    let (events, stream) = read(&[INIT, &torn]);
    assert!(events.iter().any(is_limit));
    assert!(stream.lines.is_empty());
}
