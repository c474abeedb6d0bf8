//! Tasks that are half done, and that a fresh agent is to go on with; tasks that no agent is given.

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

#[test]
fn a_task_for_a_person_is_never_given_to_an_agent_and_says_how_it_is_marked_done() {
    let tasks = vec![
        task("HUMAN-7").priority(1),
        task("key").priority(5).after(&["HUMAN-7"]),
        task("HUMANE").priority(9),
    ];
    let mut board = Board::of_all(sound(tasks));
    assert_eq!(next_of(&board), Some("HUMANE"));
    assert_eq!(board.state(&id("HUMAN-7")), Some(TaskState::Blocked));
    assert_eq!((board.counts().blocked, board.counts().waiting), (1, 1));
    let how = "is for a person: `ralph tasks done HUMAN-7` when it is done";
    assert_eq!(board.reasons(&id("HUMAN-7"), 9), [format!("it {how}")]);
    assert_eq!(board.reasons(&id("key"), 9), [format!("HUMAN-7 {how}")]);
    let left: Vec<&str> = board.for_person().map(|task| task.id.as_str()).collect();
    assert_eq!(left, ["HUMAN-7"]);
    board.set_status(&id("HUMAN-7"), Status::Completed).unwrap();
    assert_eq!(next_of(&board), Some("key"));
    assert_eq!(board.for_person().count(), 0);
    board.set_status(&id("HUMAN-7"), Status::Failed).unwrap();
    assert_eq!(board.reasons(&id("HUMAN-7"), 9), [format!("it {how}")]);
}
