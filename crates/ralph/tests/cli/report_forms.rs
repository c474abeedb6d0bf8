//! `ralph report` in its other forms: Markdown, HTML, files; and its figures, worked out by hand.

use ralph_core::{
    economics::{Caller, ModelCall, Prices, Tokens, account},
    gutter::{Diagnosis, Gutter},
    record::IterationRecord,
    termination::Stop,
    verdict::{Halt, Verdict},
};
use ralph_engine::store::TokenUsage;
use ralph_testkit::TestRepo;
use serde_json::json;

use crate::support::{Written, at, failed, ralph, shop, suggesting};

/// A title that would do harm wherever it is not taken for text.
const EVIL: &str = "<script>alert(1)</script> \"q\" & [x](http://x.test) **b**";

fn during(from: &'static str, to: &'static str) -> impl Fn(&mut IterationRecord) {
    move |record| {
        record.started_at = at(from);
        record.ended_at = at(to);
    }
}

/// Two tasks complete, one of them at its third attempt; a third fails.
fn busy() -> TestRepo {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    let mut iteration = |task: (&str, &str, u32), verdict, when: &dyn Fn(&mut IterationRecord)| {
        past.iteration(task, verdict, |record, _| when(record));
    };
    iteration(
        ("US-001", EVIL, 1),
        failed(),
        &during("03:00:00", "03:10:00"),
    );
    iteration(
        ("US-001", EVIL, 2),
        failed(),
        &during("03:10:00", "03:20:00"),
    );
    iteration(("US-001", EVIL, 3), Verdict::Verified, &|record| {
        during("03:20:00", "03:30:00")(record);
        record.said.block.summary = Some(EVIL.into());
        record.said.block.learnings = vec![EVIL.into()];
        record.verification[0].command = "test `x` = '<y>'".into();
    });
    iteration(
        ("US-002", "Show", 1),
        Verdict::Verified,
        &during("03:30:00", "03:35:00"),
    );
    iteration(
        ("US-003", "Empty", 1),
        failed(),
        &during("03:35:00", "03:40:00"),
    );
    past.end(&Stop::NothingReady);
    repo
}

#[test]
fn the_success_metrics_are_as_worked_out_by_hand() {
    let metrics = ralph(&busy(), &["report", "--json"]).json(0)["metrics"].clone();
    // 5 iterations, 2 verified commits: 0.4. 5 iterations for 2 tasks: 2.5. 5 × $0.25 for 2: 0.625.
    // US-001 failed first at 03:10 and was verified at 03:30: 1200 s. US-003 is not recovered.
    assert_eq!(
        metrics,
        json!({
            "verifiedCommits": 2, "verifiedShare": 0.4, "completedTasks": 2, "verifiedTasks": 2,
            "iterationsPerTask": 2.5, "recoveries": 1, "meanSecondsToRecovery": 1200.0,
            "notRecovered": 1, "costPerVerifiedTaskUsd": 0.625, "iterationsPerFeature": null
        })
    );
    let text = ralph(&busy(), &["report"]).text(0).to_owned();
    let figures = "## Figures

- 2 of 5 iterations ended with a verified commit (40 %)
- 2.5 iterations per completed task
- 20m 00s from a failure to a verified attempt on average, over 1; 1 task has not recovered
- $0.62 per verified task
- time spent by agents: 10m 00s, by verification: 23s
";
    assert!(text.contains(figures), "{text}");
}

#[test]
fn a_complete_feature_has_its_iterations_unless_loops_are_left_out() {
    let repo = shop();
    let text = repo
        .read("prd.json")
        .replace("\"passes\": false", "\"passes\": true");
    repo.file("prd.json", text);
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-002", "Show", 1), failed(), |_, _| {});
    past.iteration(("US-002", "Show", 2), Verdict::Verified, |_, _| {});
    past.end(&Stop::Iterations { max: 2 });
    let feature = |args: &[&str]| {
        let report = ralph(&repo, args).json(0);
        report["metrics"]["iterationsPerFeature"].clone()
    };
    assert_eq!(feature(&["report", "--json"]), 2);
    let mut past = Written::begin(&repo, "prd.json", "L2");
    past.iteration(("US-003", "Empty", 1), Verdict::Verified, |_, _| {});
    assert_eq!(feature(&["report", "--json", "--loop", "L1"]), json!(null));
    assert_eq!(feature(&["report", "--json", "--all"]), 3);
}

#[test]
fn skipped_tasks_are_in_every_report_with_what_skipped_them() {
    let repo = shop();
    let text = repo.read("prd.json");
    let text = text.replacen(
        "\"passes\": false",
        "\"passes\": false, \"skipped\": true",
        1,
    );
    repo.file("prd.json", text);
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    let text = ralph(&repo, &["report"]).text(0).to_owned();
    assert!(
        text.contains("## Skipped\n\n- US-002 Show the cart: its own status says so\n"),
        "{text}"
    );
    assert!(
        text.contains("## Blocked\n\n- US-003: US-002 is skipped\n"),
        "{text}"
    );
    let page = ralph(&repo, &["report", "--format", "html"])
        .text(0)
        .to_owned();
    assert!(
        page.contains("<li><b>US-002</b> Show the cart: its own status says so</li>"),
        "{page}"
    );
}

#[test]
fn markdown_takes_what_agents_say_for_text() {
    let text = ralph(&busy(), &["report", "--format", "markdown"])
        .text(0)
        .to_owned();
    assert!(text.starts_with("# prd.json on ralph/shop\n"), "{text}");
    let said = r#"&lt;script&gt;alert(1)&lt;/script&gt; "q" &amp; \[x\](http://x.test) \*\*b\*\*"#;
    let completed = format!(
        "- US-001 {said}, at attempt 3\n  verified by `` test `x` = '<y>' `` (4.5s)\n  \
         the agent says: {said}\n"
    );
    assert!(text.contains(&completed), "{text}");
    assert!(!text.contains("<script"), "{text}");
}

#[test]
fn the_page_is_whole_by_itself_and_takes_what_agents_say_for_text() {
    let page = ralph(&busy(), &["report", "--format", "html"])
        .text(0)
        .to_owned();
    assert_well_formed(&page);
    let said = "&lt;script&gt;alert(1)&lt;/script&gt; &quot;q&quot; &amp; [x](http://x.test) **b**";
    for expected in [
        format!("<b>US-001</b> {said} <span class=\"faint\">at attempt 3</span>"),
        format!("<q class=\"faint\">{said}</q>"),
        format!("learnt: <q>{said}</q>"),
        "<code>test `x` = &#39;&lt;y&gt;&#39;</code>".to_owned(),
        "<b>40 %</b><small>2 of 5 iterations</small>".to_owned(),
        "<b>20m 00s</b><small>of 1 recovery; 1 task has not recovered</small>".to_owned(),
        "<b>$0.62</b><small>of 2 tasks</small>".to_owned(),
        "iteration 2, US-001, attempt 2: did not land, 10m 00s".to_owned(),
        "US-002 landed in iteration 4, $1.00 spent".to_owned(),
    ] {
        assert!(page.contains(&expected), "no {expected} in {page}");
    }
    // Five bars, five squares, two dots.
    assert_eq!(page.matches("<g class=\"bar ").count(), 5);
    assert_eq!(page.matches("title=\"iteration ").count(), 5);
    assert_eq!(page.matches("<circle class=\"landed\"").count(), 2);
    for forbidden in [
        "<script", "<link", "<img", "src=", "href=", "url(", "@import", "onload=",
    ] {
        assert!(!page.contains(forbidden), "{forbidden} in {page}");
    }
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
}

/// Every element that is opened is closed, in order.
#[track_caller]
fn assert_well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let (_, mut rest) = page.split_once("<!doctype html>").unwrap();
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap();
        rest = after;
        let name = tag.split([' ', '\n']).next().unwrap();
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "before {:.200}", after);
        } else if !tag.ends_with('/') && !["meta", "br"].contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0]);
}

#[test]
fn a_page_without_any_iteration_is_a_page_too() {
    let repo = shop();
    Written::begin(&repo, "prd.json", "L1").end(&Stop::NothingReady);
    let page = ralph(&repo, &["report", "--format", "html"])
        .text(0)
        .to_owned();
    assert_well_formed(&page);
    assert!(!page.contains("<svg"), "{page}");
}

#[test]
fn a_report_goes_to_a_file_in_the_form_that_its_name_says() {
    let repo = busy();
    for (file, begins) in [
        ("out.html", "<!doctype html>\n"),
        ("out.md", "# prd.json on ralph/shop\n"),
        ("out.json", "{\n  \"source\": \"prd.json\",\n"),
        ("out.txt", "# prd.json on ralph/shop\n"),
    ] {
        let ran = ralph(&repo, &["report", "--output", file]);
        assert_eq!(ran.text(0), "");
        assert_eq!(ran.err, format!("wrote {file}\n"));
        let written = repo.read(file);
        assert!(written.starts_with(begins), "{file}: {written:.80}");
    }
    let ran = ralph(&repo, &["report", "--format", "html", "-o", "out.txt"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(repo.read("out.txt").starts_with("<!doctype html>\n"));
}

#[test]
fn a_file_that_cant_be_written_is_told_by_its_name() {
    let ran = ralph(&busy(), &["report", "--output", "no/such/folder.md"]);
    assert!(ran.error(2).contains("no/such/folder.md: "), "{ran:?}");
}

#[test]
fn what_is_no_file_is_written_to_and_not_replaced() {
    let ran = ralph(&busy(), &["report", "--output", "/dev/stdout"]);
    assert!(
        ran.text(0).starts_with("# prd.json on ralph/shop\n"),
        "{ran:?}"
    );
}

/// Everything that agents, files and people can bring into a page, at every place where they can.
#[test]
fn every_part_of_the_page_takes_what_others_wrote_for_text() {
    let repo = shop();
    let tasks = repo.read("prd.json");
    let tasks = tasks.replacen(
        "\"title\": \"Show the cart\"",
        "\"status\": \"blocked\", \"title\": \"Show the cart\"",
        1,
    );
    let tasks = tasks.replacen(
        "\"title\": \"Empty the cart\"",
        &format!("\"skipped\": true, \"title\": {}", json!(EVIL)),
        1,
    );
    repo.file("prd.json", tasks);
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-001", EVIL, 2), Verdict::Verified, |record, _| {
        record.unverified = true;
        record.said.block = suggesting(&[(EVIL, EVIL)]);
        record.said.block.summary = Some(EVIL.into());
        record.said.block.learnings = vec![EVIL.into()];
        record.said.block.decisions = vec![EVIL.into()];
        record.said.foreign_claims = vec![EVIL.into()];
        record.runs[0].denied = vec![EVIL.into()];
        record.flags = vec![EVIL.into()];
    });
    past.iteration(("US-001", EVIL, 3), Verdict::Verified, |record, _| {
        record.verification[0].command = EVIL.into();
        record.verification[0].outcome = EVIL.into();
    });
    let refused = Verdict::Refused {
        reason: EVIL.into(),
        halt: Halt::Attempt,
    };
    past.iteration(("US-002", EVIL, 1), refused, |_, _| {});
    past.iteration(("US-002", EVIL, 2), Verdict::Diagnosed, |record, state| {
        state.blocked = Some(EVIL.into());
        record.diagnosis = Some(Diagnosis {
            iteration: record.iteration,
            gutter: Gutter::SameFailure {
                command: EVIL.into(),
                signature: "5168".into(),
                count: 3,
            },
            text: EVIL.into(),
            escalation: None,
        });
    });
    let call = ModelCall {
        model: Some(EVIL.into()),
        caller: Caller::Agent,
        tokens: Tokens {
            input: 1_000,
            ..Tokens::default()
        },
        told: None,
    };
    let accounts = TokenUsage {
        records: account((1, EVIL), &[call], None, &Prices::with(&Default::default())),
        tool_calls: 1,
    };
    past.accounted(("US-001", EVIL, 4), &accounts);
    past.end(&Stop::NothingReady);
    let page = ralph(&repo, &["report", "--format", "html"])
        .text(0)
        .to_owned();
    assert_well_formed(&page);
    for heading in [
        "Needs your attention",
        "Timeline",
        "Cost over time",
        "Tokens by model",
        "Cost by model and kind",
        "Outcome by task",
        "Completed",
        "Attempts that did not land",
        "Diagnoses by agents",
        "Verification",
        "Highlights from agents",
        "Skipped",
        "Flags",
        "Suggested by agents",
        "Remaining work",
    ] {
        let heading = format!("<h2>{heading}</h2>");
        assert!(page.contains(&heading), "no {heading} in {page}");
    }
    assert!(!page.contains("<script"), "{page}");
    // Needs attention 1, model bar 2, model table 2, outcomes 2, completed 6, refused 1, diagnosis 2,
    // verification 1, highlights 2, skipped 1, flags 3, suggestion 2.
    assert_eq!(page.matches("&lt;script&gt;alert(1)").count(), 25, "{page}");
}
