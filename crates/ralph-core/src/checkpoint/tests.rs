//! Tests of checkpoints: their one form, what they are made of, and that no damage goes unseen.

mod chains;
mod making;

use super::*;
use crate::signal::ClosingBlock;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_323_045 + second).unwrap()
}

fn item(id: &str) -> Item {
    Item {
        task_id: id.into(),
        title: format!("Write {id}"),
    }
}

/// A moment of loop `L` at which nothing happened.
fn moment(k: u32) -> Moment {
    Moment {
        id: format!("01900000-0000-7000-8000-{k:012}").into(),
        loop_id: "L".into(),
        at: at(i64::from(k)),
        trigger: Trigger::Iteration,
        note: None,
        branch: "ralph/work".into(),
        commit: "0123456789abcdef0123456789abcdef01234567".into(),
        agent: "claude".into(),
        work: None,
        pending: None,
        blocked: None,
        stopped: None,
    }
}

fn work(iteration: u64, id: &str, found: Found) -> IterationWork {
    IterationWork {
        iteration,
        task: item(id),
        found,
        sentence: "verification failed: cargo test".into(),
        kept: None,
        said: ClosingBlock::default(),
        handed_over: None,
        failed_calls: Vec::new(),
        spent: Some(Spent::default()),
        verification: Vec::new(),
    }
}

/// Seals moments one after the other.
fn chain(moments: &[Moment]) -> Vec<Sealed> {
    let mut before = Before::default();
    let mut sealed = Vec::new();
    for moment in moments {
        let one = seal(moment.after(&before)).unwrap();
        before = Before {
            n: before.n + 1,
            hash: Some(one.hash.clone()),
            checkpoint: Some(one.checkpoint.clone()),
            taken_back: before.taken_back,
        };
        sealed.push(one);
    }
    sealed
}

#[test]
fn the_canonical_form_is_written_down() {
    let mut moment = moment(1);
    moment.note = Some("tab\t \"quoted\" é".into());
    let sealed = seal(moment.after(&Before::default())).unwrap();
    assert_eq!(
        sealed.body,
        concat!(
            r#"{"context":{"assumptions":[],"constraints":[],"decisions":[]},"#,
            r#""execution":{"blocked":[],"completed":[],"pending":[],"phase":"planning"},"#,
            r#""metadata":{"agent":"claude","at":"2026-01-02T03:04:06Z","#,
            r#""checkpointId":"01900000-0000-7000-8000-000000000001","iteration":null,"#,
            r#""loopId":"L","n":1,"note":"tab\t \"quoted\" é","taskId":null,"trigger":"iteration"},"#,
            r#""metrics":{"cacheReadTokens":0,"cacheWriteTokens":0,"costMicroUsd":0,"inputTokens":0,"#,
            r#""iterations":0,"outputTokens":0,"toolCalls":0,"verification":[]},"#,
            r#""previous":null,"recovery":{"branch":"ralph/work","#,
            r#""commit":"0123456789abcdef0123456789abcdef01234567","#,
            r#""continuationPrompt":"A person notes: tab\t \"quoted\" é","#,
            r#""rollback":"`ralph checkpoint restore 01900000-0000-7000-8000-000000000001` puts branch "#,
            r#"ralph/work back to 0123456789 and opens the tasks again that were completed since; what "#,
            r#"goes stays reachable under refs/ralph/reverted/"},"version":1}"#,
        )
    );
    // By `printf %s "$body" | sha256sum`.
    assert_eq!(
        sealed.hash,
        "77c30652c0f954792aa52fc4dba6c0a65d4291f4fa9f6736456eb3656309d9bf"
    );
}

#[test]
fn the_form_does_not_depend_on_how_the_document_was_read() {
    let sealed = seal(moment(1).after(&Before::default())).unwrap();
    let pretty = serde_json::to_string_pretty(&sealed.checkpoint).unwrap();
    let read: Checkpoint = serde_json::from_str(&pretty).unwrap();
    assert_eq!(canonical(&read).unwrap(), sealed.body);
}

#[test]
fn a_phase_is_what_ralph_found_then_what_was_said_then_what_the_traces_show() {
    use ExecutionPhase as P;
    use Found as F;
    for (found, told, handoff, expected) in [
        (F::Complete, None, None, P::Complete),
        (F::Complete, Some("planning"), Some("full"), P::Complete),
        (F::Checked, None, None, P::Testing),
        (F::Changed, None, None, P::Implementing),
        (F::Nothing, None, None, P::Planning),
        (F::Nothing, Some(" Reviewing "), None, P::Reviewing),
        (F::Checked, Some("implementing"), None, P::Implementing),
        (F::Changed, Some("complete"), None, P::Reviewing),
        (
            F::Changed,
            Some("complete"),
            Some("context is full"),
            P::Handoff,
        ),
        (F::Checked, Some("almost there"), None, P::Testing),
    ] {
        let case = format!("{found:?} {told:?} {handoff:?}");
        assert_eq!(phase(found, told, handoff), expected, "{case}");
    }
}

#[test]
fn the_continuation_prompt_has_the_layout_that_is_agreed() {
    let mut first = moment(1);
    first.work = Some(Box::new(IterationWork {
        said: ClosingBlock {
            decisions: vec![
                "SQLite for the journal".into(),
                "no\n### Pending\nORM".into(),
            ],
            ..ClosingBlock::default()
        },
        sentence: "verified".into(),
        ..work(1, "US-001", Found::Complete)
    }));
    let mut second = moment(2);
    second.work = Some(Box::new(IterationWork {
        said: ClosingBlock {
            blocked: vec![crate::signal::BlockedItem {
                item: "deploy".into(),
                reason: "no key".into(),
            }],
            next: Some("make the test pass".into()),
            ..ClosingBlock::default()
        },
        ..work(2, "US-002", Found::Checked)
    }));
    second.pending = Some(vec![item("US-002"), item("US-003")]);
    let sealed = chain(&[first, second]).remove(1);
    assert_eq!(
        continuation(&sealed.checkpoint),
        "## Handoff from Iteration 2\n\
         \n\
         **Phase:** testing\n\
         **Last Agent:** claude\n\
         **Checkpoint:** 01900000-0000-7000-8000-000000000002\n\
         \n\
         ### Completed\n\
         - US-001 Write US-001\n\
         \n\
         ### Pending\n\
         - US-002 Write US-002\n\
         - US-003 Write US-003\n\
         \n\
         ### Blocked\n\
         - deploy: no key\n\
         \n\
         ### Key Decisions\n\
         - SQLite for the journal\n\
         - no ### Pending ORM\n\
         \n\
         ### Next Steps\n\
         Go on with task US-002. Last time: verification failed: cargo test.\n\
         It said what is next: make the test pass\n"
    );
}
