//! Tests what a person does in the task file to tasks that the journal remembers.

use super::*;

fn board_with(tasks: Vec<Task>, history: TaskHistory) -> Board {
    Board::of_all(sound(tasks)).with_histories([(id("a"), history)])
}

fn asked(task: &Task) -> TaskHistory {
    TaskHistory {
        attempts: 2,
        question: Some("Which colour?".into()),
        asked: Some(crate::id::QuestionId::new(7)),
        asked_of: Some(wording(task)),
        kept_ref: Some("refs/ralph/attempts/1".into()),
        last_verdict: Some("escalated".into()),
        ..TaskHistory::default()
    }
}

#[test]
fn a_task_with_an_open_question_is_not_taken_and_says_why() {
    let board = board_with(vec![task("a"), task("b")], asked(&task("a")));
    assert_eq!(next_of(&board), Some("b"));
    assert_eq!(board.state(&id("a")), Some(TaskState::Asking));
    assert_eq!(
        explained(board.blockers(&id("a"))),
        ["it is set aside: a question is open"]
    );
    let open: Vec<u64> = board
        .questions()
        .filter_map(|(_, h)| Some(h.asked?.get()))
        .collect();
    assert_eq!(open, [7]);
}

#[test]
fn an_edit_of_the_task_answers_its_question_and_it_is_taken() {
    let mut edited = task("a");
    edited.text.description = "In red.".into();
    let mut board = board_with(vec![edited], asked(&task("a")));
    assert_eq!(next_of(&board), Some("a"));
    assert_eq!(board.state(&id("a")), Some(TaskState::Ready));
    assert_eq!(board.questions().count(), 0);
    assert_eq!((board.attempts(&id("a")), board.counts().asking), (0, 0));
    let left = board.history(&id("a")).unwrap();
    assert_eq!(left.kept_ref.as_deref(), Some("refs/ralph/attempts/1"));
    assert_eq!(left.last_verdict.as_deref(), Some("escalated"));
    assert_eq!(board.take_answered(), [id("a")]);
    assert_eq!(board.take_answered(), []);
}

#[test]
fn the_same_holds_for_an_edit_while_the_board_is_up() {
    let mut board = board_with(vec![task("a")], asked(&task("a")));
    assert_eq!(next_of(&board), None);
    let mut edited = task("a");
    edited.text.acceptance.push("It is red.".into());
    board.replace_graph(sound(vec![edited])).unwrap();
    assert_eq!(next_of(&board), Some("a"));
    assert_eq!(board.take_answered(), [id("a")]);
}

#[test]
fn a_question_about_a_task_that_is_over_or_gone_is_not_open() {
    let done = task("a").is(Status::Completed);
    let board = board_with(vec![done, task("b")], asked(&task("a")));
    assert_eq!(board.questions().count(), 0);
    let board = board_with(vec![task("b")], asked(&task("a")));
    assert_eq!(board.questions().count(), 0);
}

#[test]
fn a_blocked_task_that_is_open_in_its_file_starts_afresh_with_its_work() {
    let history = TaskHistory {
        blocked: Some("out of attempts".into()),
        ..asked(&task("a"))
    };
    let blocked = board_with(vec![task("a").is(Status::Blocked)], history.clone());
    assert_eq!(blocked.attempts(&id("a")), 2);
    assert_eq!(
        blocked.reasons(&id("a"), 5),
        ["it is blocked: out of attempts"]
    );
    let mut opened = board_with(vec![task("a")], history);
    assert_eq!(
        (next_of(&opened), opened.attempts(&id("a"))),
        (Some("a"), 0)
    );
    let left = opened.history(&id("a")).unwrap();
    assert_eq!(left.kept_ref.as_deref(), Some("refs/ralph/attempts/1"));
    assert_eq!(opened.take_answered(), [], "its question was not answered");
}

#[test]
fn the_file_counts_attempts_where_it_has_a_field_for_them() {
    let history = TaskHistory {
        attempts: 2,
        ..TaskHistory::default()
    };
    let mut filed = task("a");
    filed.attempts.made = Some(3);
    filed.attempts.max = Some(3);
    let board = board_with(vec![filed.clone()], history.clone());
    assert_eq!(board.attempts(&id("a")), 3);
    let spent = board.spent(9).unwrap();
    assert_eq!((spent.attempts, spent.max_attempts), (3, 3));
    // One of the three was cut off: it is counted, and not charged.
    let cut_off = TaskHistory {
        uncharged: 1,
        ..history.clone()
    };
    let board = board_with(vec![filed], cut_off);
    assert_eq!((board.attempts(&id("a")), board.spent(9)), (2, None));
    let board = board_with(vec![task("a")], history);
    assert_eq!(board.attempts(&id("a")), 2);
    assert_eq!(board.spent(9), None);
    assert_eq!(board.spent(2).map(|spent| spent.id), Some(id("a")));
}
