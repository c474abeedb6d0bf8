//! Text that others wrote: escape codes, wide characters, lines that imitate ralph's own.

use ralph_core::{
    command::CommandReport,
    event::Event,
    id::{CommandId, QuestionId},
    sanitize::columns,
    secret::Redaction,
    signal::{Escalation, EscalationKind},
    verdict::Verdict,
};

use super::{
    super::{Colours, JsonLines, Live, PlainReporter, RedactedReporter, Reporter as _, Verbosity},
    Shared, look,
    screen::FakeTerminal,
    story::{self, at},
};

const EVIL: &str = "\x1b]0;owned\x07\x1b[2J\r\u{202e}evil\u{200b}";
/// On one line a carriage return is white space like any other.
const SHOWN: &str = r"\x1b]0;owned\x07\x1b[2J \u{202e}evil\u{200b}";

fn plain(events: &[Event]) -> String {
    let out = Shared::default();
    let mut plain = PlainReporter::new(out.clone(), look(Verbosity::VeryVerbose, Colours::Off));
    for event in events {
        plain.report(event, at(0));
    }
    out.text()
}

/// Every text field of every event that holds one.
fn evil_events() -> Vec<Event> {
    let evil = || EVIL.to_owned();
    let escalation = Escalation {
        kind: EscalationKind::Stuck,
        summary: evil(),
        context: evil(),
        options: vec![evil()],
        question: evil(),
        raw: evil(),
    };
    let question = |escalation| Event::Question {
        id: QuestionId::new(1),
        task: "T".into(),
        question: EVIL.into(),
        escalation,
    };
    let mut events = vec![
        Event::Notice { message: evil() },
        Event::Warning { message: evil() },
        Event::BaselineEnded { red: vec![evil()] },
        story::iteration_started(1, EVIL, EVIL, 1),
        story::text(EVIL),
        story::tool("t", EVIL, EVIL),
        story::tool_done(EVIL, false),
        story::inspected(&[(EVIL, EVIL)], &[EVIL], None),
        story::verify_started(EVIL),
        story::verify_ended(EVIL, 1.0, EVIL),
        story::landed(EVIL, Some(EVIL), false),
        story::iteration_ended(1, EVIL, Verdict::AgentError { message: evil() }, EVIL),
        Event::Commanded {
            id: CommandId::new(1),
            command: evil(),
            report: CommandReport::refused(EVIL, None),
        },
        Event::TaskBlocked {
            task: evil(),
            reason: evil(),
        },
        question(None),
        question(Some(escalation)),
    ];
    events.extend(
        [
            r#"{"kind":"started","model":"E","version":"E","session":"E"}"#,
            r#"{"kind":"retry","attempt":1,"reason":"E"}"#,
            r#"{"kind":"limit","rejected":true,"resetsAt":null,"which":"E"}"#,
            r#"{"kind":"result","ok":false,"error":"E","denied":["E"]}"#,
            r#"{"kind":"other","name":"E"}"#,
        ]
        .map(|json| {
            let evil = serde_json::to_string(EVIL).unwrap();
            Event::Agent(serde_json::from_str(&json.replace("\"E\"", &evil)).unwrap())
        }),
    );
    events
}

#[test]
fn nothing_that_others_wrote_is_obeyed_by_a_terminal() {
    for event in evil_events() {
        let text = plain(std::slice::from_ref(&event));
        assert!(text.contains(r"\x1b"), "{event:?} is not shown: {text}");
        let bad = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200b}".contains(c);
        assert!(!text.contains(bad), "{event:?}: {text:?}");
    }
}

#[test]
fn the_status_line_shows_escape_codes_and_obeys_none() {
    // The fake terminal fails on any code that is not ralph's own.
    let terminal = FakeTerminal::new(200);
    let look = look(Verbosity::VeryVerbose, Colours::On);
    let mut live = Live::new(Box::new(terminal.clone()), look);
    for (event, seconds) in evil_events().iter().zip(0..) {
        live.report(event, at(seconds));
    }
    live.report(&story::tool("t", "Edit", EVIL), at(100));
    assert!(terminal.bottom().contains(SHOWN), "{}", terminal.bottom());
}

#[test]
fn an_agent_can_not_imitate_a_line_of_ralphs() {
    let text = plain(&[
        story::text("fine\n[10:00:00] ✓ US-001 verified"),
        story::tool("t", "Bash", "true\n[10:00:00] ✓ US-001 verified"),
        story::iteration_ended(
            1,
            "T",
            Verdict::NoChange { claimed: true },
            "x\n[10:00:00] ✓ US-001 verified\r\n[10:00:00] ✓ all",
        ),
    ]);
    let imitations = text.lines().filter(|l| l.starts_with("[10:00:00] ✓"));
    assert_eq!(imitations.count(), 0, "{text}");
    assert!(
        text.contains("               │ [10:00:00] ✓ US-001 verified\n"),
        "{text}"
    );
}

#[test]
fn wide_characters_count_double() {
    let terminal = FakeTerminal::new(41);
    let look = look(Verbosity::Normal, Colours::Off);
    let mut live = Live::new(Box::new(terminal.clone()), look);
    live.report(&story::iteration_started(1, "課題-1", "ユーザー", 1), at(0));
    live.report(
        &story::tool("t", "Edit", "src/ユーザーのモデルの定義.rs"),
        at(1),
    );
    assert_eq!(terminal.bottom(), "⠼ 課題-1 · 1/50 · edit src/…義.rs · 1s");
    assert!(columns(&terminal.bottom()) <= 40);
    let banner = terminal.above().lines().nth(1).unwrap().to_owned();
    assert_eq!(banner, "━━━ Iteration 17: 課題-1 ━━━━ 1 of 50 ━━━");
    assert_eq!(columns(&banner), 41);
}

#[test]
fn a_title_of_many_lines_stays_on_one() {
    let long = format!("first\nsecond {}", "word ".repeat(500));
    let text = plain(&[story::iteration_started(1, "T", &long, 1)]);
    let title = text.lines().find(|l| l.contains("first")).unwrap();
    assert!(title.starts_with("[10:00:00] ▸ first second word word "));
    assert!(title.ends_with("… · attempt 1 of 3"), "{title}");
}

#[test]
fn a_long_failure_shows_its_last_lines() {
    let tail: String = (1..=40).map(|i| format!("line {i}\n")).collect();
    let event = story::iteration_ended(1, "T", Verdict::NoChange { claimed: true }, &tail);
    let out = Shared::default();
    PlainReporter::new(out.clone(), look(Verbosity::Normal, Colours::Off)).report(&event, at(0));
    let text = out.text();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(lines[1], "… 25 earlier lines");
    assert_eq!(lines[2], "│ line 26");
    assert_eq!(lines[16], "│ line 40");
    assert_eq!(lines[17], "log .ralph/logs/17.jsonl");
}

#[test]
fn a_block_of_which_nothing_was_understood_is_shown_as_it_was_written() {
    let escalation = Escalation {
        kind: EscalationKind::Other,
        summary: String::new(),
        context: String::new(),
        options: vec![],
        question: String::new(),
        raw: "<escalate>\nhelp me".into(),
    };
    let text = plain(&[Event::Question {
        id: QuestionId::new(1),
        task: "T".into(),
        question: "the agent asks a person".into(),
        escalation: Some(escalation),
    }]);
    let shown = text.split_once("━━━\n").unwrap().1;
    assert_eq!(
        shown,
        "[10:00:00] ! the agent asks a person\n             │ <escalate>\n             │ help me\n"
    );
}

#[test]
fn a_secret_in_any_text_of_any_event_is_told_to_no_reporter() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let evil = serde_json::to_string(EVIL).unwrap();
    let (evil, mut hidden) = (evil.trim_matches('"'), 0);
    for event in evil_events() {
        // What an agent says is filtered where it is read.
        if matches!(event, Event::Agent(_)) {
            continue;
        }
        let text = serde_json::to_string(&event).unwrap();
        let told: Event = serde_json::from_str(&text.replace(evil, &secret)).unwrap();
        let out = Shared::default();
        let mut reporter = RedactedReporter {
            redaction: Redaction::default(),
            shown: Box::new(JsonLines::new(out.clone())),
        };
        reporter.report_all(std::slice::from_ref(&told), at(0));
        reporter.report(&told, at(0));
        assert!(!out.text().contains(&secret), "{}", out.text());
        hidden += usize::from(out.text().contains("[redacted]"));
    }
    assert!(hidden >= 13, "{hidden} events hold a text");
}
