//! The order of selection case by case, what counts as met, and why a task is not ready.

mod going_on;
mod journal;
mod properties;

use super::*;
use crate::task::Task;
use crate::task::graph::tests::sample::{SampleTask, build, id, sound, task};

/// The board with an open question about each of these tasks.
fn asking(board: &Board, names: &[&str]) -> Board {
    let mut board = board.clone();
    for name in names {
        let history = TaskHistory {
            question: Some("What now?".into()),
            ..TaskHistory::default()
        };
        board.set_history(&id(name), history);
    }
    board
}

/// The order in which tasks are given out when each is completed and the last area stays the same.
fn given_out(board: &mut Board, last_area: Option<&str>) -> Vec<String> {
    let mut order = Vec::new();
    board.last_area = last_area.map(str::to_owned);
    while let Some(next) = board.next().cloned() {
        order.push(next.to_string());
        board.set_status(&next, Status::Completed).unwrap();
        board.last_area = last_area.map(str::to_owned);
    }
    order
}

fn order_of(tasks: Vec<Task>, last_area: Option<&str>) -> Vec<String> {
    given_out(&mut Board::of_all(sound(tasks)), last_area)
}

fn next_of(board: &Board) -> Option<&str> {
    board.next().map(TaskId::as_str)
}

fn explained(blockers: Vec<Blocker>) -> Vec<String> {
    blockers.iter().map(ToString::to_string).collect()
}

#[test]
fn selection_follows_priority_then_area_then_age_then_place_then_id() {
    let cases: Vec<(&str, Vec<Task>, &[&str])> = vec![
        (
            "lower priority first, none last, and below zero is lower still",
            vec![
                task("none"),
                task("two").priority(2),
                task("one").priority(1),
                task("minus").priority(-1),
                task("zero").priority(0),
            ],
            &["minus", "zero", "one", "two", "none"],
        ),
        (
            "the last area goes before age, but not before priority",
            vec![
                task("urgent").priority(1).area("db").created(50),
                task("old").priority(2).area("db").created(1),
                task("near").priority(2).area("ui").created(99),
                task("late").priority(3).area("ui").created(1),
            ],
            &["urgent", "near", "old", "late"],
        ),
        (
            "among tasks without a priority the area counts too",
            vec![task("a").area("db"), task("b"), task("c").area("ui")],
            &["c", "a", "b"],
        ),
        (
            "older first, and tasks that don't say come last",
            vec![
                task("unknown"),
                task("young").created(20),
                task("old").created(10),
            ],
            &["old", "young", "unknown"],
        ),
        (
            "place in the file, not the id, decides between equals",
            vec![task("z"), task("a"), task("m")],
            &["z", "a", "m"],
        ),
        (
            "a dependency goes before its dependant whatever their priority",
            vec![
                task("first").priority(1).after(&["last"]),
                task("last").priority(9),
                task("middle").priority(5),
            ],
            &["middle", "last", "first"],
        ),
        (
            "a task left in progress is as good as an open one",
            vec![task("a"), task("b").priority(1).is(Status::InProgress)],
            &["b", "a"],
        ),
    ];
    for (why, tasks, order) in cases {
        assert_eq!(order_of(tasks, Some("ui")), order, "{why}");
    }
}

#[test]
fn of_two_tasks_in_one_place_the_lower_id_goes_first() {
    let (graph, _) = Graph::build(vec![task("b"), task("a"), task("c")]);
    assert_eq!(
        given_out(&mut Board::of_all(graph.clone()), None),
        ["a", "b", "c"]
    );
}

#[test]
fn what_is_not_workable_is_never_chosen() {
    let board = Board::of_all(sound(vec![
        task("done").is(Status::Completed),
        task("blocked").is(Status::Blocked),
        task("failed").is(Status::Failed),
        task("skipped").is(Status::Skipped),
    ]));
    assert_eq!(next_of(&board), None);
    assert!(!board.all_complete());
}

#[test]
fn a_skipped_failed_or_blocked_dependency_is_not_met() {
    for status in [Status::Skipped, Status::Failed, Status::Blocked] {
        let board = Board::of_all(sound(vec![task("a").is(status), task("b").after(&["a"])]));
        assert_eq!(next_of(&board), None, "{status}");
        assert_eq!(
            board.blockers(&id("b")),
            [Blocker {
                id: id("a"),
                why: Why::NotCompleted(status),
                through: None,
            }]
        );
    }
}

#[test]
fn a_task_with_a_question_is_stepped_over_also_in_the_last_area() {
    let board = Board::of_all(sound(vec![
        task("a").area("ui"),
        task("b"),
        task("c").area("ui"),
    ]));
    let next = |names: &[&str]| {
        let mut board = asking(&board, names);
        board.last_area = Some("ui".to_owned());
        board.next().map(ToString::to_string)
    };
    assert_eq!(next(&[]).as_deref(), Some("a"));
    assert_eq!(next(&["a"]).as_deref(), Some("c"));
    assert_eq!(next(&["a", "c"]).as_deref(), Some("b"));
    assert_eq!(next(&["a", "b", "c"]), None);
}

#[test]
fn only_leaves_are_chosen_and_only_below_the_scope() {
    let graph = sound(vec![
        task("feature"),
        task("part").within("feature"),
        task("inner").within("part"),
        task("leaf").within("feature"),
        task("elsewhere").priority(1),
    ]);
    let mut all = Board::of_all(graph.clone());
    assert_eq!(given_out(&mut all, None), ["elsewhere", "inner", "leaf"]);
    assert!(all.all_complete());
    let mut below = Board::new(graph.clone(), Some(&id("feature"))).unwrap();
    assert_eq!(below.counts().total, 2);
    assert_eq!(given_out(&mut below, None), ["inner", "leaf"]);
    assert!(below.all_complete());
    let mut one = Board::new(graph.clone(), Some(&id("leaf"))).unwrap();
    assert_eq!(given_out(&mut one, None), ["leaf"]);
}

#[test]
fn a_scope_or_a_task_that_does_not_exist_is_an_error_that_says_what_was_meant() {
    let graph = sound(vec![task("feature")]);
    let error = Board::new(graph.clone(), Some(&id("faeture"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no task faeture; did you mean feature?"
    );
    let error = Board::of_all(graph.clone())
        .set_status(&id("missing"), Status::Open)
        .unwrap_err();
    assert_eq!(error.to_string(), "there is no task missing");
}

#[test]
fn a_dependency_on_a_container_is_met_when_all_its_leaves_are_completed_or_skipped() {
    let graph = sound(vec![
        task("c"),
        task("c1").within("c"),
        task("inner").within("c"),
        task("c2").within("inner"),
        task("after").after(&["c"]),
    ]);
    let mut board = Board::of_all(graph.clone());
    board.set_status(&id("c1"), Status::Completed).unwrap();
    assert!(!board.is_ready(&id("after")));
    assert_eq!(
        explained(board.blockers(&id("after"))),
        ["c is open, not all of it is complete"]
    );
    board.set_status(&id("c2"), Status::Skipped).unwrap();
    assert!(board.is_ready(&id("after")));
    assert_eq!(board.status(&id("c")), Some(Status::Completed));
    assert_eq!(board.status(&id("inner")), Some(Status::Skipped));

    board.set_status(&id("c1"), Status::Skipped).unwrap();
    assert!(
        !board.is_ready(&id("after")),
        "all of it skipped is not done"
    );
    assert_eq!(
        explained(board.blockers(&id("after"))),
        ["all of c is skipped"]
    );
}

#[test]
fn a_container_that_calls_itself_completed_is_not_complete_for_that() {
    let board = Board::of_all(sound(vec![
        task("c").is(Status::Completed),
        task("c1").within("c"),
        task("after").after(&["c"]),
    ]));
    assert!(board.is_ready(&id("c1")));
    assert!(!board.is_ready(&id("after")));
    assert_eq!(board.status(&id("c")), Some(Status::Open));
}

#[test]
fn what_a_container_depends_on_all_its_leaves_depend_on() {
    let graph = sound(vec![
        task("first"),
        task("c").after(&["first"]),
        task("inner").within("c"),
        task("leaf").within("inner"),
    ]);
    let mut board = Board::of_all(graph.clone());
    assert_eq!(
        board.blockers(&id("leaf")),
        [Blocker {
            id: id("first"),
            why: Why::NotCompleted(Status::Open),
            through: Some(id("c")),
        }]
    );
    assert_eq!(
        explained(board.blockers(&id("leaf"))),
        ["first is open (needed by c, which contains it)"]
    );
    board.set_status(&id("first"), Status::Completed).unwrap();
    assert!(board.is_ready(&id("leaf")));
    board.set_status(&id("first"), Status::Open).unwrap();
    assert!(
        !board.is_ready(&id("leaf")),
        "a reverted task closes the gate again"
    );
}

#[test]
fn a_container_that_is_skipped_blocked_or_failed_takes_its_open_leaves_out() {
    for status in [Status::Skipped, Status::Blocked, Status::Failed] {
        let graph = sound(vec![
            task("c"),
            task("inner").within("c"),
            task("open").within("inner"),
            task("done").within("inner").is(Status::Completed),
            task("after").after(&["c"]),
        ]);
        let mut board = Board::of_all(graph.clone());
        board.set_status(&id("c"), status).unwrap();
        assert!(!board.is_ready(&id("open")), "{status}");
        assert_eq!(board.status(&id("open")), Some(status));
        assert_eq!(board.status(&id("done")), Some(Status::Completed));
        assert_eq!(
            board.blockers(&id("open")),
            [Blocker {
                id: id("c"),
                why: Why::Held(status),
                through: None,
            }]
        );
        // What is left of a skipped container is what was completed.
        assert_eq!(board.is_ready(&id("after")), status == Status::Skipped);

        board.set_status(&id("c"), Status::Open).unwrap();
        assert!(board.is_ready(&id("open")), "{status}");
        assert!(!board.is_ready(&id("after")), "{status}");
    }
}

#[test]
fn counts_put_each_leaf_in_one_place() {
    let board = Board::of_all(sound(vec![
        task("container"),
        task("ready").within("container"),
        task("begun").is(Status::InProgress),
        task("waiting").after(&["ready"]),
        task("waiting too").is(Status::InProgress).after(&["ready"]),
        task("done").is(Status::Completed),
        task("blocked").is(Status::Blocked),
        task("failed").is(Status::Failed),
        task("skipped").is(Status::Skipped),
    ]));
    assert_eq!(
        board.counts(),
        Counts {
            unverified: 0,
            total: 8,
            completed: 1,
            ready: 2,
            waiting: 2,
            blocked: 1,
            failed: 1,
            skipped: 1,
            asking: 0,
            in_progress: 2,
        }
    );
}

#[test]
fn skipping_the_rest_completes_the_plan() {
    let mut board = Board::of_all(sound(vec![task("a").is(Status::Completed), task("b")]));
    assert!(!board.all_complete());
    board.set_status(&id("b"), Status::Skipped).unwrap();
    assert!(board.all_complete());
}

#[test]
fn a_stuck_plan_names_roots_first_and_what_each_task_waits_for() {
    let (graph, _) = build(vec![
        task("waits").after(&["broken", "ghost"]),
        task("asked"),
        task("broken").is(Status::Failed),
        task("later").after(&["waits"]),
        task("done").is(Status::Completed).after(&["ghost"]),
    ]);
    let board = Board::of_all(graph.clone());
    let stuck = |names: &[&str]| -> Vec<(String, Vec<String>)> {
        asking(&board, names)
            .stuck()
            .into_iter()
            .map(|stuck| (stuck.id.to_string(), stuck.by))
            .collect()
    };
    assert_eq!(stuck(&[]), [], "there is a task to give out");
    let expected = [
        ("broken", vec!["it is failed"]),
        ("asked", vec!["it is set aside: a question is open"]),
        ("waits", vec!["ghost does not exist", "broken is failed"]),
        ("later", vec!["waits is open"]),
    ]
    .map(|(task, why)| {
        (
            task.to_owned(),
            why.into_iter().map(str::to_owned).collect(),
        )
    });
    assert_eq!(stuck(&["asked"]), expected);
}

#[test]
fn a_long_list_of_what_is_stuck_has_an_end() {
    let names: Vec<String> = (0..50).map(|n| format!("b{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut tasks: Vec<Task> = names
        .iter()
        .map(|name| task(name).is(Status::Blocked))
        .collect();
    tasks.insert(0, task("waits").after(&names));
    let board = Board::of_all(sound(tasks));
    assert_eq!(board.stuck().len(), 20);
    assert_eq!(board.blockers(&id("waits")).len(), 50);
}

#[test]
fn nothing_that_is_wrongly_linked_is_ever_chosen() {
    let (graph, _) = build(vec![
        task("self").after(&["self"]),
        task("ghost").after(&["missing"]),
        task("p").within("q"),
        task("q").within("p"),
        task("below").within("q"),
        task("x").after(&["y"]),
        task("y").after(&["x"]),
        task("good"),
        task("good").priority(-1),
    ]);
    let mut board = Board::of_all(graph.clone());
    assert_eq!(
        explained(board.blockers(&id("below"))),
        ["q is its own ancestor"]
    );
    assert_eq!(board.counts().total, 7, "the second good is not counted");
    assert_eq!(given_out(&mut board, None), ["good"]);
    assert_eq!(board.counts().waiting, 6);
}

const MANY: usize = 100_000;

/// The first tasks that are given out, each completed before the next.
fn first_three(board: &mut Board) -> Vec<String> {
    let mut order = Vec::new();
    for _ in 0..3 {
        let next = board.next().cloned().unwrap();
        board.set_status(&next, Status::Completed).unwrap();
        order.push(next.to_string());
    }
    order
}

#[test]
fn a_chain_of_a_hundred_thousand_tasks_opens_one_by_one() {
    let tasks = (0..MANY)
        .map(|n| match n {
            0 => task("t0"),
            n => task(&format!("t{n}")).after(&[&format!("t{}", n - 1)]),
        })
        .rev()
        .collect();
    let mut board = Board::of_all(sound(tasks));
    assert_eq!(first_three(&mut board), ["t0", "t1", "t2"]);
    assert_eq!(board.counts().waiting, MANY - 4);
}

#[test]
fn a_star_of_a_hundred_thousand_tasks_opens_with_its_centre() {
    let mut tasks: Vec<Task> = (1..MANY)
        .map(|n| task(&format!("t{n}")).after(&["centre"]))
        .collect();
    tasks.push(task("centre"));
    let mut board = Board::of_all(sound(tasks));
    assert_eq!(board.counts().ready, 1);
    assert_eq!(first_three(&mut board), ["centre", "t1", "t2"]);
    assert_eq!(board.counts().ready, MANY - 3);
}

#[test]
fn a_tree_of_a_hundred_thousand_tasks_completes_up_to_its_root() {
    // Containers in one long line, each with one leaf; something waits for the outermost.
    let mut tasks = vec![task("after").after(&["c0"]).priority(1), task("c0")];
    for n in 1..MANY / 2 {
        tasks.push(task(&format!("c{n}")).within(&format!("c{}", n - 1)));
    }
    for n in 0..MANY / 2 {
        let status = if n < 2 {
            Status::Open
        } else {
            Status::Completed
        };
        tasks.push(
            task(&format!("leaf{n}"))
                .within(&format!("c{n}"))
                .is(status),
        );
    }
    let mut board = Board::of_all(sound(tasks));
    assert_eq!(board.status(&id("c0")), Some(Status::Open));
    assert_eq!(first_three(&mut board), ["leaf0", "leaf1", "after"]);
    assert!(board.all_complete());
    assert_eq!(board.status(&id("c0")), Some(Status::Completed));
}

#[test]
fn ready_leaves_come_in_their_order_and_counts_are_those_below() {
    let mut board = Board::of_all(sound(vec![
        task("F"),
        task("A").within("F").priority(2),
        task("B").within("F").priority(1),
        task("C").within("F").is(Status::Completed),
        task("D").after(&["A"]),
    ]));
    let ready: Vec<&str> = board.ready().map(TaskId::as_str).collect();
    assert_eq!(ready, ["B", "A"]);
    let done: Vec<&str> = board
        .counted_as(Status::Completed)
        .map(|task| task.id.as_str())
        .collect();
    assert_eq!(done, ["C"]);
    let below = board.counts_below(&id("F"));
    assert_eq!((below.total, below.completed, below.ready), (3, 1, 2));
    let itself = board.counts_below(&id("D"));
    assert_eq!((itself.total, itself.waiting), (1, 1));
    assert_eq!(board.counts_below(&id("X")).total, 0);
    board = asking(&board, &["A", "D"]);
    let below = board.counts_below(&id("F"));
    assert_eq!((below.ready, below.asking), (1, 1));
    let all = board.counts();
    assert_eq!((all.ready, all.asking, all.waiting), (1, 1, 1));
    let states = ["A", "B", "C", "D", "F"].map(|name| board.state(&id(name)).unwrap());
    use TaskState::{Asking, Completed, Ready, Waiting};
    assert_eq!(states, [Asking, Ready, Completed, Waiting, Ready]);
}
