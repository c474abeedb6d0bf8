//! Every kind of problem with the sentence it is told in, and graphs too large to recurse through.

pub(crate) mod sample;

use super::*;
use crate::task::Place;
use sample::{SampleTask, build, id, sound, task};

fn names<'a>(tasks: impl Iterator<Item = &'a Task>) -> Vec<&'a str> {
    tasks.map(|task| task.id.as_str()).collect()
}

/// Returns what is said about the tasks, and about which one it is said.
fn said(tasks: Vec<Task>) -> Vec<(String, String)> {
    let (_, problems) = build(tasks);
    problems
        .iter()
        .map(|problem| (problem.task().to_string(), problem.to_string()))
        .collect()
}

fn one(task: &str, sentence: &str) -> Vec<(String, String)> {
    vec![(task.to_owned(), sentence.to_owned())]
}

#[test]
fn links_can_be_followed_in_every_direction() {
    let graph = sound(vec![
        task("root"),
        task("b").within("root").after(&["a2", "a"]),
        task("a").within("root"),
        task("a1").within("a"),
        task("a2").within("a").after(&["a1"]),
        task("alone"),
    ]);
    assert_eq!(
        names(graph.tasks().iter()),
        ["root", "b", "a", "a1", "a2", "alone"]
    );
    assert_eq!(names(graph.roots()), ["root", "alone"]);
    assert_eq!(names(graph.children(&id("root"))), ["b", "a"]);
    assert_eq!(
        names(graph.descendants(&id("root"))),
        ["b", "a", "a1", "a2"]
    );
    assert_eq!(names(graph.descendants(&id("a1"))), [""; 0]);
    assert_eq!(names(graph.ancestors(&id("a2"))), ["a", "root"]);
    assert_eq!(names(graph.dependencies(&id("b"))), ["a2", "a"]);
    assert_eq!(names(graph.dependants(&id("a1"))), ["a2"]);
    assert!(graph.is_leaf(&id("b")));
    assert!(!graph.is_leaf(&id("a")));
    assert!(!graph.is_leaf(&id("missing")));
    assert_eq!(graph.get(&id("missing")), None);
    assert_eq!(graph.did_you_mean("Alone").unwrap().as_str(), "alone");
}

#[test]
fn a_dependency_that_is_named_twice_is_one() {
    let graph = sound(vec![task("a"), task("b").after(&["a", "a"])]);
    assert_eq!(names(graph.dependencies(&id("b"))), ["a"]);
    assert_eq!(names(graph.dependants(&id("a"))), ["b"]);
}

#[test]
fn an_id_used_again_is_reported_with_all_its_places_and_links_mean_the_first() {
    let mut again = task("a").within("p");
    again.text.title = "The second".to_owned();
    let (graph, problems) = build(vec![
        task("p"),
        task("a"),
        again,
        task("b").after(&["a"]),
        task("a"),
    ]);
    let place = |position| Place {
        position,
        ..Place::default()
    };
    assert_eq!(
        problems,
        [Problem::DuplicateId {
            id: id("a"),
            places: vec![place(1), place(2), place(4)],
        }]
    );
    assert_eq!(problems[0].to_string(), "3 tasks have the id a");
    assert_eq!(problems[0].place(), place(2));
    assert_eq!(graph.get(&id("a")).unwrap().text.title, "Task a");
    assert_eq!(names(graph.children(&id("p"))), [""; 0]);
    assert_eq!(graph.tasks().len(), 5);
}

#[test]
fn an_unknown_dependency_or_parent_is_named_with_what_was_probably_meant() {
    assert_eq!(
        said(vec![
            task("US-001"),
            task("US-002").after(&["us-1", "other", "other"]),
            task("US-003").within("US_001x"),
        ]),
        [
            (
                "US-002",
                "task US-002 depends on us-1, which does not exist; did you mean US-001?"
            ),
            (
                "US-002",
                "task US-002 depends on other, which does not exist"
            ),
            (
                "US-003",
                "task US-003 has the parent US_001x, which does not exist; did you mean US-001?"
            ),
        ]
        .map(|(task, sentence)| (task.to_owned(), sentence.to_owned()))
    );
}

#[test]
fn a_task_that_depends_on_itself_is_reported() {
    assert_eq!(
        said(vec![task("a").after(&["a"])]),
        one("a", "task a depends on itself")
    );
}

#[test]
fn a_circle_is_printed_whole_from_its_first_task_to_the_same() {
    assert_eq!(
        said(vec![
            task("x").after(&["b"]),
            task("b").after(&["c"]),
            task("c").after(&["d"]),
            task("d").after(&["b", "e"]),
            task("e"),
        ]),
        one("b", "tasks wait for each other: b → c → d → b")
    );
}

#[test]
fn a_group_of_many_circles_is_reported_once_and_separate_groups_each() {
    assert_eq!(
        said(vec![
            task("a").after(&["b", "c"]),
            task("b").after(&["a"]),
            task("c").after(&["a", "b"]),
            task("y").after(&["z", "a"]),
            task("z").after(&["y", "z"]),
        ]),
        [
            ("a", "tasks wait for each other: a → b → a"),
            ("y", "tasks wait for each other: y → z → y"),
            ("z", "task z depends on itself"),
        ]
        .map(|(task, sentence)| (task.to_owned(), sentence.to_owned()))
    );
}

#[test]
fn a_circle_through_containers_is_found_though_no_two_tasks_name_each_other() {
    assert_eq!(
        said(vec![
            task("a"),
            task("a1").within("a").after(&["b"]),
            task("b"),
            task("b1").within("b").after(&["a"]),
        ]),
        one("a", "tasks wait for each other: a → a1 → b → b1 → a")
    );
    assert_eq!(
        said(vec![
            task("a").after(&["b"]),
            task("a1").within("a"),
            task("b"),
            task("b1").within("b").after(&["a1"]),
        ]),
        one("a", "tasks wait for each other: a → b → b1 → a1 → a")
    );
}

#[test]
fn containers_that_name_each_other_are_a_circle_without_their_tasks_in_it() {
    assert_eq!(
        said(vec![
            task("a").after(&["b"]),
            task("a1").within("a"),
            task("a2").within("a").after(&["a1"]),
            task("b").after(&["a"]),
            task("b1").within("b"),
        ]),
        one("a", "tasks wait for each other: a → b → a")
    );
}

#[test]
fn brothers_may_depend_on_each_other_and_containers_too() {
    sound(vec![
        task("a"),
        task("a1").within("a"),
        task("a2").within("a").after(&["a1"]),
        task("b").after(&["a"]),
        task("b1").within("b").after(&["a2"]),
        task("b2").within("b").after(&["b1", "a"]),
    ]);
}

#[test]
fn a_task_that_waits_for_its_own_container_is_reported_and_the_other_way_round() {
    assert_eq!(
        said(vec![
            task("a"),
            task("a1").within("a"),
            task("a11").within("a1").after(&["a"]),
        ]),
        one(
            "a11",
            "task a11 depends on a, which contains it and can't be complete before it"
        )
    );
    assert_eq!(
        said(vec![
            task("a").after(&["a11"]),
            task("a1").within("a"),
            task("a11").within("a1"),
        ]),
        one(
            "a",
            "task a depends on a11, which is part of it and can't start before it"
        )
    );
}

#[test]
fn parents_in_a_circle_are_reported_once_and_cut() {
    let tasks = vec![
        task("below").within("c"),
        task("b").within("c"),
        task("c").within("d"),
        task("d").within("b"),
        task("own").within("own"),
    ];
    let (graph, problems) = build(tasks.clone());
    assert_eq!(
        said(tasks),
        [
            ("b", "tasks are each other's parents: b → c → d → b"),
            ("own", "tasks are each other's parents: own → own"),
        ]
        .map(|(task, sentence)| (task.to_owned(), sentence.to_owned()))
    );
    assert_eq!(
        problems[0],
        Problem::ParentCycle {
            path: vec![id("b"), id("c"), id("d"), id("b")],
            place: Place {
                position: 1,
                ..Place::default()
            },
        }
    );
    assert_eq!(names(graph.roots()), ["b", "c", "d", "own"]);
    assert_eq!(names(graph.children(&id("c"))), ["below"]);
}

#[test]
fn a_long_circle_is_printed_whole() {
    let (_, problems) = build(circle(30));
    let [Problem::DependencyCycle { path, .. }] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    assert_eq!(path.len(), 31);
    assert_eq!(
        problems[0].to_string(),
        "tasks wait for each other: t0 → t1 → t2 → t3 → t4 → t5 → t6 → t7 → t8 → t9 → t10 → t11 \
         → t12 → t13 → t14 → t15 → t16 → t17 → t18 → t19 → t20 → t21 → t22 → t23 → t24 → t25 → t26 \
         → t27 → t28 → t29 → t0"
    );
}

#[test]
fn only_an_absurdly_long_circle_is_printed_in_part() {
    let (_, problems) = build(circle(1_200));
    let text = problems[0].to_string();
    assert!(text.contains("t499 → … 201 more … → t701 →"), "{text}");
    assert!(text.ends_with("→ t1199 → t0"), "{text}");
}

fn circle(length: usize) -> Vec<Task> {
    (0..length)
        .map(|n| task(&format!("t{n}")).after(&[&format!("t{}", (n + 1) % length)]))
        .collect()
}

#[test]
fn nothing_is_wrong_with_no_tasks() {
    let (graph, problems) = build(Vec::new());
    assert_eq!(problems, []);
    assert!(graph.tasks().is_empty());
}

const MANY: usize = 100_000;

#[test]
fn a_circle_of_a_hundred_thousand_tasks_is_found() {
    let tasks = (0..MANY)
        .map(|n| task(&format!("t{n}")).after(&[&format!("t{}", (n + 1) % MANY)]))
        .collect();
    let (_, problems) = build(tasks);
    let [Problem::DependencyCycle { path, .. }] = problems.as_slice() else {
        panic!("{} problems", problems.len());
    };
    assert_eq!(path.len(), MANY + 1);
    assert_eq!(path[0], path[MANY]);
}

#[test]
fn parents_a_hundred_thousand_deep_are_a_tree_like_any_other() {
    let tasks = (0..MANY)
        .map(|n| match n {
            0 => task("t0"),
            n => task(&format!("t{n}")).within(&format!("t{}", n - 1)),
        })
        .collect();
    let graph = sound(tasks);
    assert_eq!(graph.descendants(&id("t0")).count(), MANY - 1);
    assert_eq!(graph.ancestors(&id("t99999")).count(), MANY - 1);
    assert!(graph.is_leaf(&id("t99999")));
}
