//! Tasks that are half done, and that a fresh agent is to go on with.

use super::*;

#[test]
fn a_task_that_is_handed_over_goes_before_all_that_are_ready() {
    let mut plan = Plan::of_all(&sound(vec![
        task("urgent").priority(1),
        task("later").priority(9),
        task("last"),
        task("waits").after(&["urgent"]),
    ]));
    let next = |plan: &Plan, handed_over: &[&str], set_aside: &[&str]| {
        let set_aside = aside(set_aside);
        let history = History {
            last_area: None,
            set_aside: &set_aside,
        };
        let next = plan.next_going_on(&aside(handed_over), &history);
        next.map(ToString::to_string)
    };
    let table: [(&[&str], &[&str], &str); 6] = [
        (&[], &[], "urgent"),
        (&["last"], &[], "last"),
        (&["last", "later"], &[], "later"),
        // A question is open, it waits for another, nobody knows it: then the usual order holds.
        (&["last"], &["last"], "urgent"),
        (&["waits"], &[], "urgent"),
        (&["unknown"], &[], "urgent"),
    ];
    for (handed_over, set_aside, expected) in table {
        let found = next(&plan, handed_over, set_aside);
        assert_eq!(found.as_deref(), Some(expected), "{handed_over:?}");
    }
    plan.set_status(&id("last"), Status::Completed).unwrap();
    assert_eq!(next(&plan, &["last"], &[]).as_deref(), Some("urgent"));
}
