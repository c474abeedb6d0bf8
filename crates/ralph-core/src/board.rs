//! The board: which state each task is in, and which one is next. `ralph run`, `status`, `tasks`,
//! `report` and `lint` all ask it, so that they can't disagree.
//!
//! It is made of the tasks with their links, of what the journal remembers of each of them, and of
//! the scope that is worked on. What counts as what:
//!
//! - Only leaves are given to an agent. A container is complete when each of its leaves is completed
//!   or skipped and at least one is completed; with all of them skipped it counts as skipped. Its
//!   leaves decide: a container whose own status says completed is not complete for that.
//! - A container whose own status is skipped, blocked or failed takes its open leaves out: they count
//!   as what it is. What is completed stays completed, and skipped is stronger than the other two.
//! - A dependency is met by a completed leaf or a complete container, never by a skipped one. What a
//!   container depends on, all its leaves depend on.
//! - A task for a person (`HUMAN-…`) counts as blocked until a person has completed or skipped it.
//! - A task in progress can be chosen: the run that left it so is gone.
//! - A task with an open question is not chosen. A person who changes what the task says has answered;
//!   one who opens a blocked task again starts it again.
//!
//! A task that an agent handed over half done goes first. The order of all others is: priority (lower
//! first, none last), the area of the last completed task, creation time (none last), place in the
//! file, id. Everything is worked out again after each change of a status, in one pass over the
//! tasks. Reads no files and no journal, knows no clock.

mod blockers;
#[cfg(test)]
mod tests;

pub use blockers::{Blocker, StuckTask, Why};

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{
    gutter::GutterState,
    handoff::HandoffState,
    id::QuestionId,
    iteration::Failure,
    signal::Escalation,
    task::{
        Status, Task, TaskId,
        graph::{Flaw, Graph, Node, suggestion},
        retitled::{Retitled, retitled},
    },
};

/// The tasks of a source with their states.
#[derive(Debug, Clone)]
pub struct Board {
    graph: Graph,
    histories: BTreeMap<TaskId, TaskHistory>,
    scope: Option<TaskId>,
    /// The area of the task that was completed last.
    last_area: Option<String>,
    /// Tasks whose question was answered by an edit.
    answered: Vec<TaskId>,
    /// The leaves in scope, in the order they are to be worked on.
    order: Vec<Node>,
    resolved: ResolvedStatuses,
    /// By status and links alone, questions aside.
    counts: Counts,
}

/// An id that no task has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no task {id}{}", suggestion(.did_you_mean.as_ref()))]
pub struct UnknownTask {
    pub id: TaskId,
    pub did_you_mean: Option<TaskId>,
}

/// A task that has had all its attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpentTask {
    pub id: TaskId,
    pub attempts: u32,
    pub max_attempts: u32,
}

impl Board {
    /// Puts up all tasks, without a history.
    pub fn of_all(graph: Graph) -> Self {
        let mut board = Self {
            resolved: ResolvedStatuses::of(&graph),
            graph,
            histories: BTreeMap::new(),
            scope: None,
            last_area: None,
            answered: Vec::new(),
            order: Vec::new(),
            counts: Counts::default(),
        };
        board.arrange();
        board
    }

    /// Puts up what is below `scope`, or `scope` itself if it is a leaf; all tasks without one.
    pub fn new(graph: Graph, scope: Option<&TaskId>) -> Result<Self, UnknownTask> {
        if let Some(id) = scope {
            known(&graph, id)?;
        }
        let mut board = Self::of_all(graph);
        board.scope = scope.cloned();
        board.arrange();
        Ok(board)
    }

    /// Adds what the journal remembers of the tasks.
    #[must_use]
    pub fn with_histories(
        mut self,
        histories: impl IntoIterator<Item = (TaskId, TaskHistory)>,
    ) -> Self {
        self.histories.extend(histories);
        self.forget_reopened();
        self
    }

    /// Takes over the tasks as their file has them now.
    pub fn replace_graph(&mut self, graph: Graph) -> Result<(), UnknownTask> {
        if let Some(id) = &self.scope {
            known(&graph, id)?;
        }
        self.graph = graph;
        self.resolved = ResolvedStatuses::of(&self.graph);
        self.arrange();
        self.forget_reopened();
        Ok(())
    }

    /// Gives the history of a task to the id that an edit of its title made of its old one. `before` are the
    /// ids that the list had.
    pub fn follow_titles(&mut self, before: &[TaskId]) -> Retitled {
        let retitled = retitled(before, self.graph.tasks());
        if let Retitled::One(moved) = &retitled {
            let taken = moved.iter().map(|(was, _)| self.histories.remove(was));
            let taken: Vec<Option<TaskHistory>> = taken.collect();
            for ((_, is), history) in moved.iter().zip(taken) {
                self.histories
                    .extend(history.map(|history| (is.clone(), history)));
            }
            self.forget_reopened();
        }
        retitled
    }

    /// Takes note of a task's own status. The area of a completed task is preferred from then on.
    pub fn set_status(&mut self, id: &TaskId, status: Status) -> Result<(), UnknownTask> {
        let node = known(&self.graph, id)?;
        self.graph.set_status(node, status);
        if status == Status::Completed {
            self.last_area.clone_from(&self.graph.task(node).area);
        }
        self.resolved = ResolvedStatuses::of(&self.graph);
        self.count();
        Ok(())
    }

    pub fn set_history(&mut self, id: &TaskId, history: TaskHistory) {
        self.histories.insert(id.clone(), history);
    }

    /// Remembers which task was completed last, for its area.
    pub fn set_last_completed(&mut self, id: &TaskId) {
        self.last_area = self.graph.get(id).and_then(|task| task.area.clone());
    }

    pub fn scope(&self) -> Option<&TaskId> {
        self.scope.as_ref()
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.graph.get(id)
    }

    pub fn history(&self, id: &TaskId) -> Option<&TaskHistory> {
        self.histories.get(id)
    }

    /// The tasks that the journal remembers and that are still there, by id.
    pub fn histories(&self) -> impl Iterator<Item = (&Task, &TaskHistory)> {
        let all = self.histories.iter();
        all.filter_map(|(id, history)| Some((self.graph.get(id)?, history)))
    }

    /// Tasks whose question was answered by an edit since this was last called.
    pub fn take_answered(&mut self) -> Vec<TaskId> {
        std::mem::take(&mut self.answered)
    }

    /// The task to work on now.
    pub fn next(&self) -> Option<&TaskId> {
        let next = self.handed_over().or_else(|| self.first_ready());
        next.map(|node| &self.graph.task(node).id)
    }

    /// True if a fresh agent is to go on with a task before anything else.
    pub fn is_handed_over(&self, id: &TaskId) -> bool {
        let history = self.history(id);
        history.is_some_and(|history| history.handoff.is_under_way())
    }

    /// The leaves that can be taken now, in their order, the area of the last completed task aside.
    pub fn ready(&self) -> impl Iterator<Item = &TaskId> {
        self.takeable().map(|node| &self.graph.task(node).id)
    }

    /// True if a task is in scope and can be taken now.
    pub fn is_ready(&self, id: &TaskId) -> bool {
        self.could_start(id) && !self.is_asking(id)
    }

    /// Tasks that would be ready but for an open question, by id.
    pub fn asking(&self) -> impl Iterator<Item = (&TaskId, &TaskHistory)> {
        let open = self.histories.iter();
        open.filter(|(id, history)| history.question.is_some() && self.could_start(id))
    }

    /// All questions that wait for a person, about tasks that are not over, by id of the task.
    pub fn questions(&self) -> impl Iterator<Item = (&TaskId, &TaskHistory)> {
        self.histories()
            .filter(|(task, history)| {
                history.question.is_some()
                    && !matches!(task.status, Status::Completed | Status::Skipped)
            })
            .map(|(task, history)| (&task.id, history))
    }

    /// The status that a task counts as: for a leaf its own unless a container takes it out; for a
    /// container what its leaves make of it.
    pub fn status(&self, id: &TaskId) -> Option<Status> {
        let node = self.graph.node(id)?;
        Some(self.resolved.status(node))
    }

    /// The state of a task: of a leaf its own, of a container what its leaves make of it.
    pub fn state(&self, id: &TaskId) -> Option<TaskState> {
        let node = self.graph.node(id)?;
        let status = self.resolved.status(node);
        Some(match status {
            Status::Completed => TaskState::Completed,
            Status::Blocked => TaskState::Blocked,
            Status::Failed => TaskState::Failed,
            Status::Skipped => TaskState::Skipped,
            Status::Open | Status::InProgress if self.graph.shape().is_leaf(node) => {
                if !self.resolved.could_start(node) {
                    TaskState::Waiting
                } else if self.is_asking(id) {
                    TaskState::Asking
                } else {
                    TaskState::Ready
                }
            }
            Status::Open | Status::InProgress => {
                let below = self.counts_below(id);
                if below.ready > 0 {
                    TaskState::Ready
                } else if below.asking > 0 {
                    TaskState::Asking
                } else {
                    TaskState::Waiting
                }
            }
        })
    }

    /// The number of leaves in scope by state.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        counts.unverified = self.unverified().count();
        counts.asking = self.asking().count();
        counts.ready -= counts.asking;
        counts
    }

    /// The completed leaves in scope that no command verified.
    fn unverified(&self) -> impl Iterator<Item = Node> {
        let found = self
            .histories
            .iter()
            .filter(|(_, history)| history.unverified);
        found.filter_map(|(id, _)| {
            let node = self.graph.node(id)?;
            let is_completed = self.resolved.status(node) == Status::Completed;
            (is_completed && self.is_leaf_in_scope(node)).then_some(node)
        })
    }

    /// The same for the leaves in scope below a task; for a leaf itself.
    pub fn counts_below(&self, id: &TaskId) -> Counts {
        let mut counts = Counts::default();
        let Some(top) = self.graph.node(id) else {
            return counts;
        };
        let below = self.graph.shape().descendants(top).iter().copied();
        for node in std::iter::once(top).chain(below) {
            if self.is_leaf_in_scope(node) {
                let id = &self.graph.task(node).id;
                counts.add(self.resolved.of_node(node), self.is_asking(id));
                counts.unverified += usize::from(self.unverified().any(|one| one == node));
            }
        }
        counts
    }

    /// The leaves in scope that count as `status`, in their order.
    pub fn counted_as(&self, status: Status) -> impl Iterator<Item = &Task> {
        let same = move |node: &&Node| self.resolved.status(**node) == status;
        let nodes = self.order.iter().filter(same);
        nodes.map(|node| self.graph.task(*node))
    }

    /// True if each leaf in scope is completed or was skipped, also where there is none at all:
    /// `counts().total` says whether there is anything to do.
    pub fn all_complete(&self) -> bool {
        self.counts.completed + self.counts.skipped == self.counts.total
    }

    /// Charged attempts: the file's count where it has one, else the journal's.
    pub fn attempts(&self, id: &TaskId) -> u32 {
        let filed = self.graph.get(id).and_then(|task| task.attempts.made);
        let history = self.history(id);
        let counted = history.map_or(0, |history| history.attempts);
        let free = history.map_or(0, |history| history.uncharged);
        filed.map_or(counted, |filed| filed.saturating_sub(free).max(counted))
    }

    /// The attempts that a task may have; `usual` is for those that don't say.
    pub fn max_attempts(&self, id: &TaskId, usual: u32) -> u32 {
        let own = self.graph.get(id).and_then(|task| task.attempts.max);
        own.unwrap_or(usual)
    }

    /// The attempts that the open tasks may have, all together.
    pub fn attempts_of_open(&self, usual: u32) -> u32 {
        let tasks = self.graph.tasks().iter();
        tasks
            .filter(|task| task.status.is_workable() && !task.id.is_for_person())
            .filter(|task| self.graph.is_leaf(&task.id))
            .map(|task| self.max_attempts(&task.id, usual))
            .fold(0, u32::saturating_add)
    }

    /// A task whose turn it is and that has had all its attempts, also where a question waits about
    /// it.
    pub fn spent(&self, usual: u32) -> Option<SpentTask> {
        let tasks = self.graph.tasks().iter();
        let mut spent = tasks.filter(|task| self.could_start(&task.id)).map(|task| {
            let (attempts, max_attempts) =
                (self.attempts(&task.id), self.max_attempts(&task.id, usual));
            SpentTask {
                id: task.id.clone(),
                attempts,
                max_attempts,
            }
        });
        spent.find(|task| task.attempts >= task.max_attempts)
    }

    /// Returns what a person skipped that a task depends on, and why.
    pub fn skipped_before(&self, id: &TaskId) -> Vec<(TaskId, String)> {
        let mut skipped = Vec::new();
        for dependency in self.graph.dependencies(id) {
            let below = self.graph.descendants(&dependency.id);
            let all = std::iter::once(dependency).chain(below);
            for task in all.filter(|task| task.status == Status::Skipped) {
                let reason = self.history(&task.id).and_then(|h| h.skipped.clone());
                skipped.push((task.id.clone(), reason.unwrap_or_default()));
            }
        }
        skipped
    }

    fn handed_over(&self) -> Option<Node> {
        let under_way: HashSet<Node> = self
            .histories
            .iter()
            .filter(|(_, history)| history.handoff.is_under_way() && history.question.is_none())
            .filter_map(|(id, _)| self.graph.node(id))
            .collect();
        if under_way.is_empty() {
            return None;
        }
        let mut takeable = self.takeable();
        takeable.find(|node| under_way.contains(node))
    }

    /// The first that can be taken; among those of its priority one of the last area, if there is
    /// one.
    fn first_ready(&self) -> Option<Node> {
        let mut takeable = self.takeable();
        let best = takeable.next()?;
        let Some(area) = self.last_area.as_deref() else {
            return Some(best);
        };
        let is_near = |node: &Node| self.graph.task(*node).area.as_deref() == Some(area);
        let tier = urgency(self.graph.task(best));
        let mut near = std::iter::once(best)
            .chain(takeable)
            .take_while(|node| urgency(self.graph.task(*node)) == tier);
        Some(near.find(is_near).unwrap_or(best))
    }

    fn takeable(&self) -> impl Iterator<Item = Node> {
        let nodes = self.order.iter().copied();
        nodes.filter(|node| {
            self.resolved.could_start(*node) && !self.is_asking(&self.graph.task(*node).id)
        })
    }

    fn is_asking(&self, id: &TaskId) -> bool {
        let history = self.histories.get(id);
        history.is_some_and(|history| history.question.is_some())
    }

    /// In scope and ready but perhaps for a question.
    fn could_start(&self, id: &TaskId) -> bool {
        let node = self.graph.node(id);
        node.is_some_and(|node| self.is_leaf_in_scope(node) && self.resolved.could_start(node))
    }

    fn is_leaf_in_scope(&self, node: Node) -> bool {
        let shape = self.graph.shape();
        let top = self.scope.as_ref().and_then(|id| shape.node(id));
        shape.is_leaf(node)
            && shape.flaw(node) != Some(Flaw::Shadowed)
            && top.is_none_or(|top| shape.is_within(node, top))
    }

    fn arrange(&mut self) {
        let leaves = self.graph.shape().nodes();
        let leaves = leaves.filter(|node| self.is_leaf_in_scope(*node)).collect();
        self.order = ordered(leaves, self.graph.tasks());
        self.count();
    }

    fn count(&mut self) {
        self.counts = Counts::default();
        for node in &self.order {
            self.counts.add(self.resolved.of_node(*node), false);
        }
    }

    /// Drops from the histories what a person has settled in the task file.
    fn forget_reopened(&mut self) {
        for (id, history) in &mut self.histories {
            let Some(task) = self.graph.get(id).filter(|task| task.status.is_workable()) else {
                continue;
            };
            if history.blocked.is_some() {
                *history = history.reopened();
            }
            if history.question.is_some() && history.asked_of.as_deref() != Some(&wording(task)) {
                *history = history.answered_by_edit();
                self.answered.push(id.clone());
            }
        }
    }
}

fn known(graph: &Graph, id: &TaskId) -> Result<Node, UnknownTask> {
    graph.node(id).ok_or_else(|| UnknownTask {
        id: id.clone(),
        did_you_mean: graph.did_you_mean(id.as_str()).cloned(),
    })
}

/// Sorts by priority, age, place and id.
fn ordered(mut leaves: Vec<Node>, tasks: &[Task]) -> Vec<Node> {
    leaves.sort_by(|a, b| {
        let (a, b) = (&tasks[a.at()], &tasks[b.at()]);
        urgency(a)
            .cmp(&urgency(b))
            .then_with(|| age(a).cmp(&age(b)))
            .then_with(|| a.place.cmp(&b.place))
            .then_with(|| a.id.cmp(&b.id))
    });
    leaves
}

/// Lower first; tasks without a priority after all that have one, and equal to each other.
fn urgency(task: &Task) -> (bool, i64) {
    (task.priority.is_none(), task.priority.unwrap_or_default())
}

/// Older first; tasks that don't say come last.
fn age(task: &Task) -> (bool, jiff::Timestamp) {
    let created = task.created_at;
    (created.is_none(), created.unwrap_or_default())
}

named! {
    /// The state of a task among the others, in the words of people and of JSON.
    pub enum TaskState {
        /// It can be taken now.
        Ready = "ready",
        /// It could be, but a person has to answer a question first.
        Asking = "question",
        /// Something that it depends on is not complete.
        Waiting = "waiting",
        Blocked = "blocked",
        Failed = "failed",
        Completed = "completed",
        Skipped = "skipped",
    }
}

/// Leaves in scope by state. Each is in exactly one of `completed`, `ready`, `asking`, `waiting`,
/// `blocked`, `failed` and `skipped`; `in_progress` says how many of the ready, asking and waiting
/// ones were begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub total: usize,
    pub completed: usize,
    /// Of the completed ones, those that no command verified.
    #[serde(skip_serializing_if = "is_zero")]
    pub unverified: usize,
    pub ready: usize,
    /// They would be ready but for a question that is open.
    pub asking: usize,
    pub waiting: usize,
    pub blocked: usize,
    pub failed: usize,
    pub skipped: usize,
    pub in_progress: usize,
}

impl Counts {
    /// Counts a task that is worked on right now as in progress, and not as ready.
    pub fn take_running(&mut self, is_ready: bool, task: Option<&Task>) {
        self.ready -= usize::from(is_ready);
        let is_marked = task.is_some_and(|task| task.status == Status::InProgress);
        self.in_progress += usize::from(!is_marked);
    }

    fn add(&mut self, leaf: Resolution, is_asking: bool) {
        self.total += 1;
        self.in_progress += usize::from(leaf.status == Status::InProgress);
        let slot = match leaf.status {
            Status::Completed => &mut self.completed,
            Status::Blocked => &mut self.blocked,
            Status::Failed => &mut self.failed,
            Status::Skipped => &mut self.skipped,
            Status::Open | Status::InProgress if leaf.waits => &mut self.waiting,
            Status::Open | Status::InProgress if is_asking => &mut self.asking,
            Status::Open | Status::InProgress => &mut self.ready,
        };
        *slot += 1;
    }
}

/// The history of a task, as far as the next attempt needs it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskHistory {
    /// Charged attempts since it was opened.
    pub attempts: u32,
    /// Attempts that its file counts beside them: work that was cut off or handed over.
    #[serde(skip_serializing_if = "is_none")]
    pub uncharged: u32,
    pub last_signature: Option<String>,
    /// The number of times in a row that signature came.
    pub same_failure: u32,
    /// The work of the last attempt, and whether the next one starts from it.
    pub kept_ref: Option<String>,
    pub goes_on: bool,
    /// Tells what the last attempt did wrong, for the next one.
    pub feedback: Option<Failure>,
    pub last_verdict: Option<String>,
    /// A person has to answer first.
    pub question: Option<String>,
    pub escalation: Option<Escalation>,
    /// The number of that question.
    pub asked: Option<QuestionId>,
    /// Tells what the task said when it was asked: a person who changes it has answered.
    pub asked_of: Option<String>,
    /// Out of attempts, and why.
    pub blocked: Option<String>,
    /// A person skipped it, and why.
    pub skipped: Option<String>,
    /// It is complete, and no command verified it.
    #[serde(skip_serializing_if = "is_false")]
    pub unverified: bool,
    /// Steps towards it that landed, where it is a goal.
    #[serde(skip_serializing_if = "is_none")]
    pub progress: u32,
    #[serde(skip_serializing_if = "GutterState::is_empty")]
    pub gutter: GutterState,
    #[serde(skip_serializing_if = "HandoffState::is_empty")]
    pub handoff: HandoffState,
}

fn is_false(is_so: &bool) -> bool {
    !*is_so
}

pub(crate) fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

impl TaskHistory {
    /// The history after a person opened a blocked task again: it starts again, with its work.
    fn reopened(&self) -> Self {
        Self {
            kept_ref: self.kept_ref.clone(),
            goes_on: self.goes_on,
            gutter: self.gutter.clone().opened(),
            uncharged: self.uncharged,
            ..Self::default()
        }
    }

    /// The history after a person changed a task that a question was open about: the change is the
    /// answer.
    fn answered_by_edit(&self) -> Self {
        Self {
            feedback: self.feedback.clone(),
            last_verdict: self.last_verdict.clone(),
            ..self.reopened()
        }
    }
}

/// A short hash of what a task says to its reader: a person who changes the task changes this.
pub fn wording(task: &Task) -> String {
    use sha2::Digest as _;
    let text = serde_json::to_string(&task.text).unwrap_or_default();
    let hash = sha2::Sha256::digest(text.as_bytes());
    hash[..8].iter().map(|b| format!("{b:02x}")).collect()
}

/// Three passes over the tree: down from containers to the leaves they take out, up from leaves to
/// the containers they complete, and down again for what waits. Knows nothing of scope, order or
/// questions; must not recurse.
#[derive(Debug, Clone)]
struct ResolvedStatuses {
    /// By node.
    of_nodes: Vec<Resolution>,
}

/// The state of a task as the tasks around it have it: a leaf's by its containers, a container's by
/// its leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Resolution {
    status: Status,
    /// Something that it depends on is not complete, or never can be.
    waits: bool,
}

impl ResolvedStatuses {
    fn of(graph: &Graph) -> Self {
        let shape = graph.shape();
        let own = |node: Node| match graph.task(node) {
            task if task.is_left_to_person() => Status::Blocked,
            task => task.status,
        };
        // For a container the status that takes its leaves out, its own or that of one around it.
        let mut hold: Vec<Option<Status>> = vec![None; shape.len()];
        let mut status: Vec<Status> = graph.tasks().iter().map(|task| task.status).collect();
        for node in shape.preorder().iter().copied() {
            let around = shape.parent(node).and_then(|parent| hold[parent.at()]);
            if shape.is_leaf(node) {
                status[node.at()] = leaf_status(own(node), around);
            } else {
                hold[node.at()] = held(own(node), around);
            }
        }
        // Of each container the children that are neither complete nor skipped, and the complete ones.
        let mut left = vec![0_u32; shape.len()];
        let mut complete = vec![0_u32; shape.len()];
        for node in shape.preorder().iter().rev().copied() {
            let at = node.at();
            if !shape.is_leaf(node) {
                status[at] = match (left[at], complete[at]) {
                    (0, 0) => Status::Skipped,
                    (0, _) => Status::Completed,
                    // With leaves left it is not skipped: the leaves have the last word.
                    (_, _) => hold[at]
                        .filter(|hold| *hold != Status::Skipped)
                        .unwrap_or(Status::Open),
                };
            }
            if let Some(parent) = shape.parent(node) {
                match status[at] {
                    Status::Completed => complete[parent.at()] += 1,
                    Status::Skipped => {}
                    Status::Open | Status::InProgress | Status::Blocked | Status::Failed => {
                        left[parent.at()] += 1;
                    }
                }
            }
        }
        let mut waits = vec![false; shape.len()];
        for node in shape.preorder().iter().copied() {
            let is_open = |on: &Node| status[on.at()] != Status::Completed;
            waits[node.at()] = shape.flaw(node).is_some()
                || !shape.missing(node).is_empty()
                || shape.parent(node).is_some_and(|parent| waits[parent.at()])
                || shape.depends(node).iter().any(is_open);
        }
        let of_nodes = status.into_iter().zip(waits);
        let of_nodes = of_nodes.map(|(status, waits)| Resolution { status, waits });
        Self {
            of_nodes: of_nodes.collect(),
        }
    }

    fn of_node(&self, node: Node) -> Resolution {
        self.of_nodes[node.at()]
    }

    /// The status that a task counts as.
    fn status(&self, node: Node) -> Status {
        self.of_node(node).status
    }

    fn could_start(&self, node: Node) -> bool {
        let Resolution { status, waits } = self.of_node(node);
        status.is_workable() && !waits
    }
}

/// Returns what a container with this status, in one that holds like `around`, does to its leaves.
fn held(own: Status, around: Option<Status>) -> Option<Status> {
    match own {
        Status::Skipped => Some(Status::Skipped),
        Status::Blocked | Status::Failed if around == Some(Status::Skipped) => around,
        Status::Blocked | Status::Failed => Some(own),
        Status::Open | Status::InProgress | Status::Completed => around,
    }
}

fn leaf_status(own: Status, around: Option<Status>) -> Status {
    match own {
        Status::Completed => Status::Completed,
        Status::Open | Status::InProgress | Status::Blocked | Status::Failed | Status::Skipped => {
            held(own, around).unwrap_or(own)
        }
    }
}
