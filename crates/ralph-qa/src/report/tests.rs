//! The three reports of the same flows, and what others put into them.

use std::{fs, path::Path};

use ralph_core::{
    secret::Redaction,
    task::VerifyCommand,
    verify::{CommandOutcome, Signature},
};

use super::{
    samples::{compared_page, failure, flow, full, message, report, request, step},
    *,
};
use crate::result::{ConsoleLevel, FailureKind, QaReport, StepOutcome};

#[test]
fn the_text_says_where_what_was_expected_and_what_was_there() {
    insta::assert_snapshot!(text(&full()), @r#"
    FAILED greet (.ralph/flows/greet.yaml)
      .ralph/flows/greet.yaml:5: step 3: click button "Greet"
        expected: a button "Greet" that can be clicked
        actual: no button of that name at http://localhost:$PORT/ after 10s
        nearest: button "Green", link "Greetings"
        picture: .ralph/qa/greet/failed.png
      console:
        uncaught: TypeError: greet is not a function (http://localhost:$PORT/app.js:12)
      requests that failed:
        POST http://localhost:$PORT/api/greet: 500
        GET http://127.0.0.1:$PORT/logo.png: net::ERR_CONNECTION_REFUSED
    FAILED shop (.ralph/flows/shop.yaml)
      .ralph/flows/shop.yaml:4: step 2: screenshot orders
        expected: orders looks as it was approved
        actual: the area at 20,225 (354x69) moved by 8 px down (1.23 % of the pixels differ, 0.00 % may)
        picture: .ralph/qa/shop/2-orders.png
        baseline: .ralph/flows/__baselines__/shop/orders-linux-1280x720.png
        difference: .ralph/qa/shop/2-orders-difference.png
    the application under test:
      … Error: no table "greetings" (request …)
    no baseline yet (`ralph qa approve`): home/top
    passed: home
    2 of 3 flows failed
    report: .ralph/qa/report.html
    "#);
}

#[test]
fn the_text_of_what_passed_is_short() {
    let passed = flow(
        "home",
        vec![step(1, "navigate", "navigate /", StepOutcome::Passed)],
    );
    assert_eq!(text(&report(vec![passed])), "1 flow passed, 1 step\n");
    assert_eq!(text(&report(Vec::new())), "0 flows passed, 0 steps\n");
}

/// The same failure in another run: other times, another port, other ids.
fn in_another_run(mut report: QaReport) -> QaReport {
    let json = serde_json::to_string(&report).unwrap();
    let json = json
        .replace("41234", "39990")
        .replace("20:12:3", "23:59:0")
        .replace("7c1d2b90-1111", "00000000-2222")
        .replace("0b8f6a52", "99999999");
    report = serde_json::from_str(&json).unwrap();
    report.seconds = 99.5;
    for flow in &mut report.flows {
        flow.seconds *= 3.0;
        for step in &mut flow.steps {
            step.seconds += 7.0;
        }
    }
    report
}

#[test]
fn the_same_failure_reads_the_same_in_the_next_run() {
    let first = full();
    let again = in_another_run(full());
    assert_ne!(first, again);
    assert_eq!(text(&first), text(&again));
    assert!(!text(&first).contains("41234"));
    // So it is the same failure for a loop, and another one is not.
    let signature = |text: &str| {
        let outcome = CommandOutcome::Failed { code: 4 };
        Signature::of(&VerifyCommand::flow("greet"), &outcome, text)
    };
    let mut other = full();
    other.flows[0].steps[2].failure = Some(failure(
        FailureKind::NotActionable,
        "a button \"Greet\" that can be clicked",
        "it is covered by <div class=\"modal\">",
        &[],
    ));
    assert_eq!(signature(&text(&first)), signature(&text(&again)));
    assert_ne!(signature(&text(&first)), signature(&text(&other)));
}

#[test]
fn the_text_has_a_cap_and_says_what_it_leaves_out() {
    let long = "x".repeat(5_000);
    let many = |count: usize| {
        let flows = (0..count).map(|nth| {
            let mut failed = step(1, "click", &long, StepOutcome::Failed);
            failed.failure = Some(failure(
                FailureKind::NotFound,
                &long,
                &long,
                &[long.as_str(); 50],
            ));
            let mut flow = flow(&format!("flow-{nth}"), vec![failed]);
            flow.console = (0..100)
                .map(|nth| message(ConsoleLevel::Error, &format!("{nth} {long}")))
                .collect();
            flow
        });
        text(&report(flows.collect()))
    };
    let one = many(1);
    assert!(one.contains("… 92 more\n"), "{one}");
    assert!(one.lines().all(|line| line.chars().count() <= 410));
    let all = many(200);
    assert!(all.len() < 25_000, "{}", all.len());
    assert!(all.ends_with("… the rest is in .ralph/qa/report.json\n"));
    let short = (0..30).map(|nth| {
        let failed = step(1, "click", "click", StepOutcome::Failed);
        flow(&format!("flow-{nth}"), vec![failed])
    });
    let short = text(&report(short.collect()));
    assert!(
        short.contains("also failed: flow-20, flow-21, flow-22, flow-23, flow-24, flow-25, flow-26, flow-27, flow-28, flow-29\n"),
        "{short}"
    );
    assert!(short.contains("30 of 30 flows failed\n"));
}

#[test]
fn text_of_a_page_does_not_reach_the_terminal_as_it_is() {
    let mut failed = step(1, "click", "click \u{1b}[2J", StepOutcome::Failed);
    failed.failure = Some(failure(
        FailureKind::NotFound,
        "a\nFAILED b",
        "\u{202e}txet",
        &[],
    ));
    let told = text(&report(vec![flow("a", vec![failed])]));
    insta::assert_snapshot!(told, @r"
    FAILED a (.ralph/flows/a.yaml)
      .ralph/flows/a.yaml:3: step 1: click \x1b[2J
        expected: a FAILED b
        actual: \u{202e}txet
    1 of 1 flow failed
    report: .ralph/qa/report.html
    ");
}

#[test]
fn junit_has_a_suite_for_each_flow_and_a_case_for_each_step() {
    let mut two = full();
    two.flows.truncate(2);
    two.server_log.truncate(1);
    insta::assert_snapshot!(junit(&two), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="ralph qa" tests="6" failures="2" errors="0" skipped="1" time="4.250">
      <testsuite name="greet" file=".ralph/flows/greet.yaml" tests="4" failures="1" errors="0" skipped="1" time="1.500">
        <testcase classname="greet" name="01 navigate /" file=".ralph/flows/greet.yaml" line="3" time="0.250"/>
        <testcase classname="greet" name="02 type &quot;Ada&quot; into label &quot;Name&quot;" file=".ralph/flows/greet.yaml" line="4" time="0.250"/>
        <testcase classname="greet" name="03 click button &quot;Greet&quot;" file=".ralph/flows/greet.yaml" line="5" time="0.250">
          <failure type="not_found" message="expected: a button &quot;Greet&quot; that can be clicked; actual: no button of that name at http://localhost:41234/ after 10s">.ralph/flows/greet.yaml:5: click button "Greet"
    expected: a button "Greet" that can be clicked
    actual: no button of that name at http://localhost:41234/ after 10s
    nearest: button "Green", link "Greetings"
    picture: .ralph/qa/greet/failed.png
    </failure>
        </testcase>
        <testcase classname="greet" name="04 verify text &quot;Hello Ada&quot;" file=".ralph/flows/greet.yaml" line="6" time="0.000">
          <skipped/>
        </testcase>
        <system-out>uncaught: TypeError: greet is not a function
    uncaught: TypeError: greet is not a function</system-out>
        <system-err>2026-11-19T20:12:31.123Z GET / 200 in 3 ms</system-err>
      </testsuite>
      <testsuite name="shop" file=".ralph/flows/shop.yaml" tests="2" failures="1" errors="0" skipped="0" time="1.500">
        <testcase classname="shop" name="01 navigate /orders" file=".ralph/flows/shop.yaml" line="3" time="0.250"/>
        <testcase classname="shop" name="02 screenshot orders" file=".ralph/flows/shop.yaml" line="4" time="0.250">
          <failure type="picture" message="expected: orders looks as it was approved; actual: the area at 20,225 (354x69) moved by 8 px down (1.23 % of the pixels differ, 0.00 % may)">.ralph/flows/shop.yaml:4: screenshot orders
    expected: orders looks as it was approved
    actual: the area at 20,225 (354x69) moved by 8 px down (1.23 % of the pixels differ, 0.00 % may)
    picture: .ralph/qa/shop/2-orders.png
    </failure>
        </testcase>
        <system-err>2026-11-19T20:12:31.123Z GET / 200 in 3 ms</system-err>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn junit_holds_only_characters_that_xml_has() {
    let bad = "a\u{0}b\u{1b}c\u{fffe}d\u{ffff}<![CDATA[ & ]]> \"'\r\n\tü\u{1f600}";
    let mut failed = step(1, "click", bad, StepOutcome::Failed);
    failed.failure = Some(failure(FailureKind::NotFound, bad, bad, &[bad]));
    let mut one = flow("a", vec![failed]);
    one.flow = bad.to_owned();
    one.console = vec![message(ConsoleLevel::Error, bad)];
    let xml = junit(&report(vec![one]));
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(is_allowed));
    assert!(xml.contains(
        "<testsuite name=\"a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}&lt;![CDATA[ &amp; ]]&gt; &quot;'&#13;&#10;&#9;ü\u{1f600}\""
    ));
    assert!(!xml.contains("<![CDATA["));
}

/// A folder with the pictures of the full report.
fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (page, moved) = (fixture("page.png"), fixture("shifted_right.png"));
    for (name, bytes) in [
        ("greet/failed.png", &page),
        ("shop/2-orders.png", &moved),
        ("shop/2-orders-baseline.png", &page),
        ("shop/2-orders-difference.png", &moved),
        ("home/2-top.png", &page),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/picture");
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn the_page_needs_nothing_else_and_can_run_nothing() {
    let folder = results();
    let page = html(&full(), folder.path());
    assert!(page.contains(
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\""
    ));
    // Five pictures, and nothing that is loaded from elsewhere.
    assert_eq!(
        page.matches("<img src=\"data:image/png;base64,iVBOR")
            .count(),
        5
    );
    assert_eq!(page.matches("<img").count(), 5);
    for loaded in [
        "<script",
        "<link",
        "@import",
        "url(",
        "href=\"http",
        "src=\"http",
    ] {
        assert!(!page.contains(loaded), "{loaded}");
    }
    for said in [
        "2 of 3 flows failed",
        "6 steps",
        "Chromium 140.0.1",
        "no button of that name",
        "<code>link &quot;Greetings&quot;</code>",
        "the area at 20,225 (354x69) moved by 8 px down",
        "1.23 % of the pixels differ",
        "There is no baseline yet",
        "TypeError: greet is not a function",
        "net::ERR_CONNECTION_REFUSED",
        "no table &quot;greetings&quot;",
    ] {
        let said = said.replace("6 steps", "8 steps");
        assert!(page.contains(&said), "{said}");
    }
}

#[test]
fn the_filter_for_secrets_leaves_the_pictures_in_a_page_as_they_are() {
    let folder = results();
    let page = html(&full(), folder.path());
    let kept = Redaction::new(Vec::new())
        .hide_bytes(page.as_bytes())
        .into_owned();
    assert!(kept == page.as_bytes());
}

#[test]
fn whatever_is_said_is_text() {
    let bad = "<script>alert(1)</script>\"' onload='x' \u{202e}{{ 1 }}";
    let escaped =
        "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; onload=&#39;x&#39; \\u{202e}{{ 1 }}";
    let mut failed = step(1, "click", bad, StepOutcome::Failed);
    failed.failure = Some(failure(FailureKind::NotFound, bad, bad, &[bad]));
    failed.note = Some(bad.to_owned());
    failed.picture = Some(bad.to_owned());
    let mut one = flow("a", vec![failed]);
    one.flow = bad.to_owned();
    one.file = bad.to_owned();
    one.description = Some(bad.to_owned());
    one.console = vec![message(ConsoleLevel::Error, bad)];
    one.console[0].from = Some(bad.to_owned());
    one.network = vec![request(bad, bad, None, Some(bad))];
    one.network[0].kind = bad.to_owned();
    let mut page = compared_page(bad, bad);
    page.url = bad.to_owned();
    page.title = bad.to_owned();
    page.compared.as_mut().unwrap().summary = bad.to_owned();
    one.pages = vec![page];
    let mut all = report(vec![one.clone(), one]);
    all.browser = Some(bad.to_owned());
    all.server_log = vec![bad.to_owned()];
    let made = html(&all, Path::new("/nowhere"));
    assert!(!made.contains("<script") && !made.contains("onload='"));
    // The step, its note, what was expected, was there and is nearest; of both flows.
    assert!(
        made.matches(escaped).count() > 30,
        "{}",
        made.matches(escaped).count()
    );
    assert!(!made.contains('\u{202e}'));
    assert!(made.contains("is not there"));
}

#[test]
fn pictures_that_are_too_large_are_linked_and_those_elsewhere_are_not_shown() {
    let folder = results();
    // A picture with much behind it is as good as a large one.
    let mut large = fixture("page.png");
    large.resize(7 * 1024 * 1024, 0);
    fs::create_dir_all(folder.path().join("a b")).unwrap();
    fs::write(folder.path().join("a b/1#x.png"), &large).unwrap();
    let secret = folder.path().parent().unwrap().join("ralph-qa-secret.png");
    fs::write(&secret, fixture("page.png")).unwrap();
    let of = |picture: &str| {
        let mut failed = step(1, "click", "click", StepOutcome::Failed);
        failed.picture = Some(picture.to_owned());
        html(&report(vec![flow("a", vec![failed])]), folder.path())
    };
    let linked = of("a b/1#x.png");
    assert!(
        linked.contains("<img src=\"a%20b/1%23x.png\""),
        "{}",
        &linked[linked.len() - 3000..]
    );
    assert!(linked.contains("img-src data: 'self' file:;"));
    let elsewhere = of("../ralph-qa-secret.png");
    fs::remove_file(&secret).unwrap();
    assert!(!elsewhere.contains("<img") && elsewhere.contains("is not there"));
}

#[test]
fn a_report_of_nothing_is_a_page() {
    let page = html(&report(Vec::new()), Path::new("/nowhere"));
    assert!(page.contains("0 flows passed") && page.ends_with("</html>\n"));
}

/// For looking at: `RALPH_QA_PAGE=/tmp/page.html cargo nextest run -p ralph-qa written_for_looking_at`.
#[test]
fn the_page_is_written_for_looking_at() {
    if let Some(path) = std::env::var_os("RALPH_QA_PAGE") {
        fs::write(path, html(&full(), results().path())).unwrap();
    }
}
