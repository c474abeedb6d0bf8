//! Tests what a checkpoint takes over from the one before, and what it takes from the moment.

use super::*;
use crate::agent::Usage;

fn ids(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item.task_id.as_str()).collect()
}

#[test]
fn sums_lists_and_words_go_on_from_one_to_the_next() {
    let spent = |cost, tool_calls| {
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 2,
            cache_read_tokens: 300,
            cache_write_tokens: 40,
            cost_usd: cost,
            context_tokens: 99,
        };
        Some(Spent { usage, tool_calls })
    };
    let said = |decision: &str| ClosingBlock {
        decisions: vec![decision.into()],
        assumptions: vec!["UTF-8".into()],
        ..ClosingBlock::default()
    };
    let (mut one, mut two, mut stop) = (moment(1), moment(2), moment(3));
    one.work = Some(Box::new(IterationWork {
        spent: spent(Some(0.1), 3),
        said: said("a"),
        ..work(7, "A", Found::Complete)
    }));
    one.pending = Some(vec![item("B")]);
    two.work = Some(Box::new(IterationWork {
        spent: spent(Some(0.2), 4),
        said: said("b"),
        verification: vec![CommandResult {
            command: "cargo test".into(),
            outcome: "exit 1".into(),
            passed: false,
        }],
        ..work(8, "B", Found::Checked)
    }));
    two.pending = Some(vec![item("B")]);
    stop.trigger = Trigger::Stop;
    stop.stopped = Some(Stopped {
        sentence: "the limit of 2 iterations is reached".into(),
        left: Left::Work,
    });
    let last = chain(&[one, two, stop]).remove(2).checkpoint;
    assert_eq!(last.metadata.n, 3);
    assert_eq!(last.metadata.iteration, Some(8));
    assert_eq!(last.metadata.task_id.as_deref(), Some("B"));
    assert_eq!(last.execution.phase, ExecutionPhase::Testing);
    assert_eq!(ids(&last.execution.completed), ["A"]);
    assert_eq!(ids(&last.execution.pending), ["B"]);
    assert_eq!(last.context.decisions, ["a", "b"]);
    assert_eq!(last.context.assumptions, ["UTF-8"]);
    let metrics = &last.metrics;
    assert_eq!((metrics.iterations, metrics.tool_calls), (2, 7));
    assert_eq!((metrics.input_tokens, metrics.output_tokens), (20, 4));
    assert_eq!(
        (metrics.cache_read_tokens, metrics.cache_write_tokens),
        (600, 80)
    );
    assert_eq!(
        metrics.cost_micro_usd, 300_000,
        "exact, where floats are not"
    );
    assert_eq!(metrics.verification[0].command, "cargo test");
    assert_eq!(
        last.recovery.continuation_prompt,
        "The loop stopped: the limit of 2 iterations is reached.\nNext is task B Write B."
    );
}

#[test]
fn a_task_that_was_taken_back_is_not_completed_any_more() {
    let mut one = moment(1);
    one.work = Some(Box::new(work(1, "A", Found::Complete)));
    let sealed = chain(&[one]).remove(0);
    let before = Before {
        n: 1,
        hash: Some(sealed.hash),
        checkpoint: Some(sealed.checkpoint),
        taken_back: ["A".to_owned()].into(),
    };
    let next = moment(2).after(&before);
    assert!(next.execution.completed.is_empty());
}

#[test]
fn a_claim_completes_nothing() {
    let mut one = moment(1);
    one.work = Some(Box::new(IterationWork {
        said: ClosingBlock {
            phase: Some("complete".into()),
            ..ClosingBlock::default()
        },
        ..work(1, "A", Found::Changed)
    }));
    let made = one.after(&Before::default());
    assert!(made.execution.completed.is_empty());
    assert_eq!(made.execution.phase, ExecutionPhase::Reviewing);
}

#[test]
fn a_loop_that_has_done_everything_is_complete() {
    let mut stop = moment(1);
    stop.stopped = Some(Stopped {
        sentence: "all tasks are complete".into(),
        left: Left::Nothing,
    });
    let made = stop.after(&Before::default());
    assert_eq!(made.execution.phase, ExecutionPhase::Complete);
}

#[test]
fn a_note_stands_before_what_was_next() {
    let (mut one, mut two) = (moment(1), moment(2));
    one.work = Some(Box::new(work(1, "A", Found::Checked)));
    two.trigger = Trigger::Manual;
    two.note = Some("before the demo".into());
    let made = chain(&[one, two]).remove(1).checkpoint;
    assert_eq!(made.metadata.note.as_deref(), Some("before the demo"));
    assert_eq!(
        made.recovery.continuation_prompt,
        "A person notes: before the demo\n\
         Go on with task A. Last time: verification failed: cargo test."
    );
}

#[test]
fn everything_has_a_cap_and_the_newest_is_kept() {
    let mut moments = Vec::new();
    for k in 1..=30 {
        let mut one = moment(k);
        one.work = Some(Box::new(IterationWork {
            said: ClosingBlock {
                decisions: vec![format!("{k} {}", "x".repeat(2_000))],
                next: Some("y".repeat(9_000)),
                ..ClosingBlock::default()
            },
            ..work(u64::from(k), &format!("T{k}"), Found::Complete)
        }));
        one.pending = Some((0..500).map(|k| item(&format!("P{k}"))).collect());
        moments.push(one);
    }
    let last = chain(&moments).remove(29);
    let made = &last.checkpoint;
    assert_eq!(made.execution.completed.len(), 20);
    assert_eq!(made.execution.completed[0].task_id, "T11");
    assert_eq!(made.execution.pending.len(), 20);
    assert_eq!(made.context.decisions.len(), 20);
    assert!(made.context.decisions[19].starts_with("30 x"));
    assert!(made.context.decisions[19].chars().count() <= 301);
    assert!(last.body.len() < 20_000, "{}", last.body.len());
}

fn block(decision: &str, obstacle: &str) -> ClosingBlock {
    ClosingBlock {
        decisions: vec![decision.into()],
        constraints: vec!["no network".into()],
        blocked: vec![BlockedItem {
            item: obstacle.into(),
            reason: "no key".into(),
        }],
        ..ClosingBlock::default()
    }
}

#[test]
fn a_continuation_recalls_what_was_said_at_the_task_before() {
    let mut last = moment(3);
    last.work = Some(Box::new(IterationWork {
        said: block("third", "the server"),
        failed_calls: vec!["Bash make\nbrowser-test".into(), "Read a.rs".into()],
        ..work(3, "A", Found::Checked)
    }));
    let last = chain(&[last]).remove(0).checkpoint;
    let earlier = [block("second", "the disk"), block("first", "the server")];
    let text = continuation(&last.recalling(earlier.iter()));
    for part in [
        "\n### Blocked\n- the server: no key\n- the disk: no key\n\n",
        "\n### Key Decisions\n- first\n- second\n- third\n\n### Constraints\n- no network\n\n### Next",
        "\nCalls that failed last: Bash make browser-test; Read a.rs\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn failed_calls_are_not_named_twice() {
    let mut last = moment(1);
    last.work = Some(Box::new(IterationWork {
        handed_over: Some("3 of its steps in a row failed, the last of them: Bash make".into()),
        failed_calls: vec!["Bash make".into()],
        ..work(1, "A", Found::Changed)
    }));
    let last = chain(&[last]).remove(0).checkpoint;
    assert_eq!(continuation(&last).matches("Bash make").count(), 1);
}

#[test]
fn the_next_task_is_told_what_became_of_this_one_and_what_holds_on() {
    let mut done = moment(1);
    done.work = Some(Box::new(IterationWork {
        sentence: "verified".into(),
        said: ClosingBlock {
            summary: Some("it is written".into()),
            ..block("text files", "the server")
        },
        ..work(4, "A", Found::Complete)
    }));
    done.pending = Some(vec![item("B")]);
    let done = chain(&[done]).remove(0).checkpoint;
    assert_eq!(
        summary(&done),
        "Iteration 4:\nTask A is done: verified.\nIts summary: it is written\n\n\
         ### Decisions so far\n- text files\n\n### Constraints so far\n- no network\n"
    );
}

#[test]
fn a_run_that_repairs_is_told_what_the_one_before_it_said() {
    assert_eq!(run_before(&ClosingBlock::default(), &[]), "");
    let said = ClosingBlock {
        next: Some("look at the port".into()),
        ..block("text files", "the server")
    };
    assert_eq!(
        run_before(&said, &["Bash make".into()]),
        "## From the run before yours in this iteration\n\n\
         It said what is next: look at the port\nCalls that failed last: Bash make\n\n\
         ### Decisions of that run\n- text files\n\n### Constraints of that run\n- no network\n\n\
         ### Blocked\n- the server: no key\n"
    );
}
