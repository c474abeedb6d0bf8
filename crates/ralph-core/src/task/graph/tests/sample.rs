//! Tasks for tests, in one line each. Has no checks of its own.

use crate::task::graph::{Graph, Problem};
use crate::task::{Attempts, Place, Status, Task, TaskId, TaskLinks, TaskText};

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

pub(crate) fn task(name: &str) -> Task {
    Task {
        id: id(name),
        text: TaskText {
            title: format!("Task {name}"),
            expects_change: true,
            ..TaskText::default()
        },
        links: TaskLinks::default(),
        status: Status::Open,
        verify: Vec::new(),
        labels: Vec::new(),
        area: None,
        priority: None,
        attempts: Attempts::default(),
        created_at: None,
        updated_at: None,
        place: Place::default(),
    }
}

/// Describes what a test says about a task beside its id.
pub(crate) trait SampleTask: Sized {
    fn after(self, dependencies: &[&str]) -> Self;
    fn within(self, parent: &str) -> Self;
    fn is(self, status: Status) -> Self;
    fn priority(self, priority: i64) -> Self;
    fn area(self, area: &str) -> Self;
    fn created(self, seconds: i64) -> Self;
}

impl SampleTask for Task {
    fn after(mut self, dependencies: &[&str]) -> Self {
        self.links.depends_on = dependencies.iter().map(|name| id(name)).collect();
        self
    }

    fn within(mut self, parent: &str) -> Self {
        self.links.parent_id = Some(id(parent));
        self
    }

    fn is(mut self, status: Status) -> Self {
        self.status = status;
        self
    }

    fn priority(mut self, priority: i64) -> Self {
        self.priority = Some(priority);
        self
    }

    fn area(mut self, area: &str) -> Self {
        self.area = Some(area.to_owned());
        self
    }

    fn created(mut self, seconds: i64) -> Self {
        self.created_at = Some(jiff::Timestamp::from_second(seconds).unwrap());
        self
    }
}

/// A graph of tasks that stand in one file in this order.
pub(crate) fn build(mut tasks: Vec<Task>) -> (Graph, Vec<Problem>) {
    for (position, task) in (0..).zip(&mut tasks) {
        task.place.position = position;
    }
    Graph::build(tasks)
}

/// The same, for tasks that nothing is wrong with.
pub(crate) fn sound(tasks: Vec<Task>) -> Graph {
    let (graph, problems) = build(tasks);
    assert_eq!(problems, []);
    graph
}
