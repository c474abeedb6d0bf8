//! Tests of reading a recorded stream.

use ralph_core::agent::Ending;

use super::*;
use crate::agent::find_kind;

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-x"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"done","session_id":"s","terminal_reason":"completed"}"#;

async fn read(text: &str, ended: Ended, stderr: &[u8]) -> (Vec<String>, Conclusion) {
    read_as("claude", text, ended, stderr).await
}

async fn read_as(
    agent: &str,
    text: &str,
    ended: Ended,
    stderr: &[u8],
) -> (Vec<String>, Conclusion) {
    let mut lines = Vec::new();
    let dialect = find_kind(agent).unwrap().dialect;
    let end = RecordedEnd { ended, stderr };
    let conclusion = read_stream(dialect, text.as_bytes(), end, |event| {
        lines.push(event.line());
        Ok(())
    });
    let conclusion = conclusion.await.unwrap();
    (lines, conclusion)
}

#[tokio::test]
async fn what_ralphs_log_marks_as_stderr_is_the_agents_last_words_and_not_its_stream() {
    let log = format!("{INIT}\n[stderr] first\n[stderr] {RESULT}\n[stderr] no such flag\n");
    let (lines, conclusion) = read(&log, Ended::Code(1), b"").await;
    assert_eq!(lines, ["[started] model claude-x session s"]);
    let message = "it ended without a result (exit code 1: no such flag)".into();
    assert_eq!(conclusion.ending, Ending::NoResult { message });
}

#[tokio::test]
async fn stderr_that_was_kept_apart_counts_too_and_a_cut_stream_is_read() {
    let (_, conclusion) = read(INIT, Ended::Signal(11), b"a\ncrashed\n").await;
    let message = "it ended without a result (killed by signal 11: crashed)".into();
    assert_eq!(conclusion.ending, Ending::NoResult { message });
    let (_, conclusion) = read(&format!("{INIT}\n{RESULT}"), Ended::Code(0), b"").await;
    assert_eq!(conclusion.ending, Ending::Finished);
    assert_eq!(conclusion.final_message, "done");
}

#[tokio::test]
async fn whoever_takes_the_events_can_end_the_reading() {
    let dialect = find_kind("claude").unwrap().dialect;
    let end = RecordedEnd {
        ended: Ended::Code(0),
        stderr: b"",
    };
    let endless = std::io::repeat(b'\n');
    let stream = Read::chain(INIT.as_bytes(), endless);
    let read = read_stream(dialect, stream, end, |_| {
        Err(io::ErrorKind::BrokenPipe.into())
    });
    assert_eq!(read.await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn each_run_of_an_iteration_is_read_by_itself_and_the_last_one_concluded() {
    let (first, second) = (run_line(1, "claude"), run_line(2, "claude"));
    let again = |line: &str| line.replace(r#""session_id":"s""#, r#""session_id":"t""#);
    let failed = again(RESULT)
        .replace("false", "true")
        .replace("done", "broke");
    let log = format!(
        "{first}{INIT}\n{RESULT}\n[stderr] of the first\n{second}{}\n{failed}\n",
        again(INIT)
    );
    let (lines, conclusion) = read(&log, Ended::Code(1), b"").await;
    assert_eq!(lines[0], "[notice] [run 1] claude");
    assert!(lines.contains(&"[started] model claude-x session t".to_owned()));
    assert_eq!(conclusion.final_message, "broke");
}

#[tokio::test]
async fn an_agent_that_prints_lines_like_ralphs_own_is_read_as_it_is() {
    let text = "[stderr] a heading\n[run 1] first\n[run 2] second\nTask T1 complete";
    for begin in ["some words\n", "[run 2] of mine\n", ""] {
        let text = format!("{begin}{text}");
        let (lines, conclusion) = read_as("text", &text, Ended::Code(0), b"").await;
        assert_eq!(conclusion.final_message.trim_end(), text);
        assert_eq!(lines.len(), text.lines().count(), "{lines:?}");
    }
    // What it prints in ralph's own log is its own too, unless it is the very mark of the next run.
    let log = format!("{}[run 7] mine\n[run 1] mine\nend\n", run_line(1, "text"));
    let (_, conclusion) = read_as("text", &log, Ended::Code(0), b"").await;
    assert_eq!(
        conclusion.final_message.trim_end(),
        "[run 7] mine\n[run 1] mine\nend"
    );
}

#[tokio::test]
async fn a_run_is_not_begun_by_a_line_of_a_stream_that_has_no_marks() {
    let log = format!("{INIT}\n[run 1] claude\n{RESULT}\n");
    let (_, conclusion) = read(&log, Ended::Code(0), b"").await;
    assert_eq!(conclusion.ending, Ending::Finished);
    assert_eq!(conclusion.model.as_deref(), Some("claude-x"));
}
