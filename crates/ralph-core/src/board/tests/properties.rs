//! Describes what must hold for every graph, tried on random trees of containers with random dependencies.

use proptest::prelude::*;

use super::*;
use crate::task::Task;
use crate::task::graph::Problem;
use crate::task::graph::tests::sample::{SampleTask, build, id, task};

const STATUSES: [Status; 6] = Status::ALL;

/// Describes what a random task is made of. Parents and dependencies are numbers of earlier tasks.
#[derive(Debug, Clone)]
struct Seed {
    parent: Option<usize>,
    depends: Vec<usize>,
    priority: Option<i64>,
    area: Option<usize>,
    status: usize,
}

fn seeds() -> impl Strategy<Value = Vec<Seed>> {
    let seed = (
        prop::option::weighted(0.4, 0_usize..100),
        prop::collection::vec(0_usize..100, 0..3),
        prop::option::of(0_i64..3),
        prop::option::of(0_usize..2),
        0_usize..6,
    );
    let seed = seed.prop_map(|(parent, depends, priority, area, status)| Seed {
        parent,
        depends,
        priority,
        area,
        status,
    });
    prop::collection::vec(seed, 1..24)
}

fn name(n: usize) -> String {
    format!("t{n}")
}

/// Tasks that link to earlier ones only. With containers that alone doesn't rule out circles.
fn tasks(seeds: &[Seed]) -> Vec<Task> {
    seeds
        .iter()
        .enumerate()
        .map(|(n, seed)| {
            let mut made = task(&name(n));
            if n > 0 {
                let names: Vec<String> = seed.depends.iter().map(|on| name(on % n)).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                made = made.after(&names);
                if let Some(parent) = seed.parent {
                    made = made.within(&name(parent % n));
                }
            }
            made.priority = seed.priority;
            made.area = seed.area.map(|area| format!("area{area}"));
            made
        })
        .collect()
}

/// The same tasks with dependencies that may point anywhere.
fn tangled(seeds: &[Seed]) -> Vec<Task> {
    let mut tasks = tasks(seeds);
    for (task, seed) in tasks.iter_mut().zip(seeds) {
        let anywhere = seed.depends.iter().take(1).map(|on| on % seeds.len());
        task.links.depends_on = anywhere.map(|on| id(&name(on))).collect();
    }
    tasks
}

/// Takes dependencies away until nothing is wrong.
fn repaired(mut tasks: Vec<Task>) -> (Vec<Task>, Graph) {
    loop {
        let (graph, problems) = build(tasks.clone());
        if problems.is_empty() {
            return (tasks, graph);
        }
        for problem in problems {
            let guilty = match &problem {
                Problem::DependencyCycle { path, .. } => path.clone(),
                other => vec![other.task().clone()],
            };
            for task in tasks.iter_mut().filter(|task| guilty.contains(&task.id)) {
                task.links.depends_on.clear();
            }
        }
    }
}

/// Everything a board can be asked, so that two can be compared.
fn answers(board: &Board) -> Vec<String> {
    let mut answers = vec![format!("{:?}", board.counts())];
    for last_area in [None, Some("area0"), Some("area1")] {
        let mut board = board.clone();
        board.last_area = last_area.map(str::to_owned);
        answers.push(format!("{:?}", board.next()));
        answers.push(format!("{:?}", board.stuck()));
    }
    for task in board.graph().tasks() {
        answers.push(format!(
            "{} {:?} {:?} {} {:?}",
            task.id,
            board.status(&task.id),
            board.state(&task.id),
            board.is_ready(&task.id),
            board.blockers(&task.id)
        ));
    }
    answers
}

/// The rule for readiness, said once more and as plainly as can be: nothing is kept between calls.
fn may_start(tasks: &[Task], statuses: &[Status], task: usize) -> bool {
    let at = |id: &TaskId| tasks.iter().position(|task| task.id == *id).unwrap();
    let parent = |n: usize| tasks[n].links.parent_id.as_ref().map(at);
    let line = |n: usize| std::iter::successors(Some(n), move |n| parent(*n));
    let is_container = |n: usize| (0..tasks.len()).any(|child| parent(child) == Some(n));
    let leaves = |n: usize| {
        (0..tasks.len()).filter(move |leaf| !is_container(*leaf) && line(*leaf).any(|on| on == n))
    };
    let dropped = |leaf: usize| {
        statuses[leaf] != Status::Completed && line(leaf).any(|n| statuses[n] == Status::Skipped)
    };
    let met = |n: usize| {
        leaves(n).all(|leaf| statuses[leaf] == Status::Completed || dropped(leaf))
            && leaves(n).any(|leaf| statuses[leaf] == Status::Completed)
    };
    let held = |n: usize| {
        matches!(
            statuses[n],
            Status::Blocked | Status::Failed | Status::Skipped
        )
    };
    !is_container(task)
        && statuses[task] != Status::Completed
        && !line(task).any(held)
        && line(task).all(|n| tasks[n].links.depends_on.iter().all(|on| met(at(on))))
}

proptest! {
    #[test]
    fn completing_what_is_next_completes_everything_once_and_in_order(seeds in seeds()) {
        let (tasks, graph) = repaired(tasks(&seeds));
        let mut statuses = vec![Status::Open; tasks.len()];
        let mut board = Board::of_all(graph.clone());
        while let Some(next) = board.next().cloned() {
            let at = tasks.iter().position(|task| task.id == next).unwrap();
            prop_assert!(may_start(&tasks, &statuses, at), "{next} is not ready");
            board.set_status(&next, Status::Completed).unwrap();
            statuses[at] = Status::Completed;
        }
        prop_assert!(board.all_complete());
        for (at, task) in tasks.iter().enumerate() {
            prop_assert_eq!(statuses[at] == Status::Completed, graph.is_leaf(&task.id));
        }
    }

    #[test]
    fn a_graph_is_called_sound_exactly_if_it_can_be_worked_off(seeds in seeds()) {
        let (graph, problems) = build(tangled(&seeds));
        let mut board = Board::of_all(graph.clone());
        while let Some(next) = board.next().cloned() {
            board.set_status(&next, Status::Completed).unwrap();
        }
        prop_assert_eq!(board.all_complete(), problems.is_empty(), "{:?}", problems);
    }

    #[test]
    fn a_board_that_took_changes_equals_one_that_was_read_with_them(
        seeds in seeds(),
        scope in prop::option::of(0_usize..24),
        changes in prop::collection::vec((0_usize..100, 0_usize..6), 0..40),
    ) {
        // Whatever is wrong with the graph stays in: a board has to stand that too.
        let mut tasks = tasks(&seeds);
        for (task, seed) in tasks.iter_mut().zip(&seeds) {
            task.status = STATUSES[seed.status];
        }
        let scope = scope.map(|n| id(&name(n % seeds.len())));
        let (graph, _) = build(tasks.clone());
        let mut board = Board::new(graph.clone(), scope.as_ref()).unwrap();
        for (which, status) in changes {
            let at = which % tasks.len();
            tasks[at].status = STATUSES[status];
            board.set_status(&tasks[at].id, STATUSES[status]).unwrap();
            let (graph, _) = build(tasks.clone());
            let read = Board::new(graph, scope.as_ref()).unwrap();
            prop_assert_eq!(answers(&board), answers(&read));
        }
    }

    #[test]
    fn readiness_is_what_the_rule_says_whatever_the_statuses(seeds in seeds()) {
        let mut tasks = tasks(&seeds);
        for (task, seed) in tasks.iter_mut().zip(&seeds) {
            task.status = STATUSES[seed.status];
        }
        let statuses: Vec<Status> = tasks.iter().map(|task| task.status).collect();
        let (graph, _) = build(tasks.clone());
        let board = Board::of_all(graph.clone());
        for (at, task) in tasks.iter().enumerate() {
            prop_assert_eq!(
                board.is_ready(&task.id),
                may_start(&tasks, &statuses, at),
                "{}", task.id
            );
        }
    }
}
