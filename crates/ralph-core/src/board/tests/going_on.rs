//! Tasks that are half done, and that a fresh agent is to go on with.

use super::*;

#[test]
fn a_task_that_is_handed_over_goes_before_all_that_are_ready() {
    let board = Board::of_all(sound(vec![
        task("urgent").priority(1),
        task("later").priority(9),
        task("last"),
        task("waits").after(&["urgent"]),
    ]));
    let handing_over = |handed_over: &[&str], asked: &[&str]| {
        let mut board = board.clone();
        for name in handed_over.iter().chain(asked) {
            let mut history = TaskHistory::default();
            if handed_over.contains(name) {
                history.handoff.in_a_row = 1;
            }
            if asked.contains(name) {
                history.question = Some("What now?".into());
            }
            board.set_history(&id(name), history);
        }
        board
    };
    let table: [(&[&str], &[&str], &str); 6] = [
        (&[], &[], "urgent"),
        (&["last"], &[], "last"),
        (&["last", "later"], &[], "later"),
        // A question is open, it waits for another, no task has the id: the usual order holds.
        (&["last"], &["last"], "urgent"),
        (&["waits"], &[], "urgent"),
        (&["unknown"], &[], "urgent"),
    ];
    for (handed_over, asked, expected) in table {
        let board = handing_over(handed_over, asked);
        assert_eq!(next_of(&board), Some(expected), "{handed_over:?}");
    }
    let mut board = handing_over(&["last"], &[]);
    board.set_status(&id("last"), Status::Completed).unwrap();
    assert_eq!(next_of(&board), Some("urgent"));
}
