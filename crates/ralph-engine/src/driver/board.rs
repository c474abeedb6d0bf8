//! The tasks as the loop sees them: the source, the graph, the plan, and what the journal remembers.

use std::collections::{HashMap, HashSet};

use ralph_core::{
    config::Config,
    event::{Blocked, Tally},
    id::QuestionId,
    select::{History, Plan},
    task::{
        Status, Task, TaskId,
        format::{Change, Edit},
        graph::{Graph, Problem},
    },
};

use super::{LoopError, blocked_lines};
use crate::{
    source::{Source, SourceError},
    store::TaskState,
};

/// Which part of the source a loop works on.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// The feature: its descendants are the work, its title names the branch.
    pub parent: Option<TaskId>,
    /// Of that, only this task, or what is below it.
    pub only: Option<TaskId>,
}

impl Scope {
    fn narrowest(&self) -> Option<&TaskId> {
        self.only.as_ref().or(self.parent.as_ref())
    }
}

pub struct Board {
    pub(crate) source: Source,
    pub(super) graph: Graph,
    plan: Plan,
    scope: Scope,
    states: HashMap<TaskId, TaskState>,
    set_aside: HashSet<TaskId>,
    /// Half done: a fresh agent is to go on with them before anything else.
    handed_over: HashSet<TaskId>,
    last_area: Option<String>,
    /// Tasks that a person changed after a question about them, and so answered it.
    answered: Vec<TaskId>,
}

impl Board {
    /// Puts the tasks of a source on the board. A graph that is wrong is refused.
    pub fn new(
        source: Source,
        tasks: Vec<Task>,
        scope: Scope,
        states: Vec<(String, TaskState)>,
    ) -> Result<Self, LoopError> {
        let (graph, problems) = Graph::build(tasks);
        if !problems.is_empty() {
            return Err(LoopError::graph(&problems, |p| {
                place_of(&source, &graph, p)
            }));
        }
        let plan = Plan::new(&graph, scope.narrowest())?;
        let states = states
            .into_iter()
            .filter_map(|(id, state)| Some((TaskId::parse(&id).ok()?, state)))
            .collect();
        let mut board = Self {
            source,
            graph,
            plan,
            scope,
            states,
            set_aside: HashSet::new(),
            handed_over: HashSet::new(),
            last_area: None,
            answered: Vec::new(),
        };
        board.forget_what_a_person_reopened();
        board.set_aside = board.questions();
        let under_way = board.states.iter();
        let under_way = under_way.filter(|(_, state)| state.handoff.is_under_way());
        board.handed_over = under_way.map(|(id, _)| id.clone()).collect();
        Ok(board)
    }

    /// Takes over the source as it is on disk now: between iterations the file wins.
    pub(super) fn replace_tasks(
        &mut self,
        source: Source,
        tasks: Vec<Task>,
    ) -> Result<(), LoopError> {
        let (graph, problems) = Graph::build(tasks);
        if !problems.is_empty() {
            return Err(LoopError::graph(&problems, |p| {
                place_of(&source, &graph, p)
            }));
        }
        self.plan = Plan::new(&graph, self.scope.narrowest())?;
        (self.source, self.graph) = (source, graph);
        self.forget_what_a_person_reopened();
        self.set_aside = self.questions();
        Ok(())
    }

    /// A task that the journal says is blocked and the file says is open was opened by a person: it
    /// starts afresh. So does one whose text was changed since a question was asked about it: that is
    /// the answer.
    fn forget_what_a_person_reopened(&mut self) {
        for (id, state) in &mut self.states {
            let Some(task) = self.graph.get(id).filter(|t| t.status.is_workable()) else {
                continue;
            };
            if state.blocked.is_some() {
                *state = TaskState {
                    kept_ref: state.kept_ref.take(),
                    goes_on: state.goes_on,
                    gutter: std::mem::take(&mut state.gutter).opened(),
                    ..TaskState::default()
                };
            }
            if state.question.is_some() && state.asked_of.as_deref() != Some(&wording(task)) {
                *state = TaskState {
                    kept_ref: state.kept_ref.take(),
                    goes_on: state.goes_on,
                    feedback: state.feedback.take(),
                    last_verdict: state.last_verdict.take(),
                    gutter: std::mem::take(&mut state.gutter).opened(),
                    ..TaskState::default()
                };
                self.answered.push(id.clone());
            }
        }
    }

    /// Tasks whose question was answered by an edit, with what that makes of them; each is named once.
    pub(super) fn take_answered(&mut self) -> Vec<(TaskId, TaskState)> {
        let answered = std::mem::take(&mut self.answered);
        let states = answered.into_iter().map(|id| {
            let state = self.state(&id).cloned().unwrap_or_default();
            (id, state)
        });
        states.collect()
    }

    /// Questions that keep tasks from being taken.
    pub(super) fn open_questions(&self) -> usize {
        let held = self.set_aside.iter().filter(|id| self.plan.is_ready(id));
        held.count()
    }

    /// The numbers of these questions.
    pub(super) fn asked(&self) -> HashSet<QuestionId> {
        let held = self.set_aside.iter().filter(|id| self.plan.is_ready(id));
        held.filter_map(|id| self.state(id)?.asked).collect()
    }

    /// What a person skipped that this task depends on, and why.
    pub(super) fn skipped_before(&self, id: &TaskId) -> Vec<(TaskId, String)> {
        let mut skipped = Vec::new();
        for dependency in self.graph.dependencies(id) {
            let below = self.graph.descendants(&dependency.id);
            let all = std::iter::once(dependency).chain(below);
            for task in all.filter(|t| t.status == Status::Skipped) {
                let reason = self.state(&task.id).and_then(|s| s.skipped.clone());
                skipped.push((task.id.clone(), reason.unwrap_or_default()));
            }
        }
        skipped
    }

    fn questions(&self) -> HashSet<TaskId> {
        let open = self.states.iter().filter(|(_, s)| s.question.is_some());
        open.map(|(id, _)| id.clone()).collect()
    }

    fn history(&self) -> History<'_> {
        History {
            last_area: self.last_area.as_deref(),
            set_aside: &self.set_aside,
        }
    }

    /// The task to work on now.
    pub fn next(&self) -> Option<TaskId> {
        let next = self.plan.next_going_on(&self.handed_over, &self.history());
        next.cloned()
    }

    pub(super) fn has_work(&self) -> bool {
        self.next().is_some()
    }

    /// Everything in scope is complete or skipped. Nothing at all in scope is complete too.
    pub(super) fn all_complete(&self) -> bool {
        self.plan.all_complete()
    }

    pub(super) fn is_ready(&self, task: &TaskId) -> bool {
        self.plan.is_ready(task) && !self.set_aside.contains(task)
    }

    /// The tasks that can be taken, in their order.
    pub(super) fn ready_ids(&self) -> impl Iterator<Item = &TaskId> {
        let ready = self.plan.ready();
        ready.filter(|id| !self.set_aside.contains(id))
    }

    /// The tasks that wait for an answer, and the questions.
    pub(super) fn open_question_texts(&self) -> impl Iterator<Item = (&TaskId, &str)> {
        let held = self.set_aside.iter();
        held.filter_map(|id| Some((id, self.state(id)?.question.as_deref()?)))
    }

    pub(super) fn ready_besides(&self, task: Option<&TaskId>) -> bool {
        let Some(task) = task else {
            return self.has_work();
        };
        let mut set_aside = self.set_aside.clone();
        set_aside.insert(task.clone());
        let history = History {
            last_area: None,
            set_aside: &set_aside,
        };
        self.plan.next(&history).is_some()
    }

    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.graph.get(id)
    }

    /// The task whose descendants are the feature.
    pub(super) fn parent(&self) -> Option<&Task> {
        self.scope.parent.as_ref().and_then(|id| self.graph.get(id))
    }

    /// The one task that the loop was told to work on.
    pub(super) fn only_task(&self) -> Option<&TaskId> {
        self.scope.only.as_ref()
    }

    /// What all tasks are below, or the one task that there is.
    pub(super) fn only_root(&self) -> Option<&TaskId> {
        let mut roots = self.graph.roots();
        let first = roots.next()?;
        roots.next().is_none().then_some(&first.id)
    }

    pub(super) fn state(&self, id: &TaskId) -> Option<&TaskState> {
        self.states.get(id)
    }

    pub(super) fn set_state(&mut self, id: &TaskId, state: TaskState) {
        if state.question.is_some() {
            self.set_aside.insert(id.clone());
        } else {
            self.set_aside.remove(id);
        }
        match state.handoff.is_under_way() {
            true => self.handed_over.insert(id.clone()),
            false => self.handed_over.remove(id),
        };
        self.states.insert(id.clone(), state);
    }

    /// Charged attempts: the file's count where it has one, else the journal's.
    pub(super) fn attempts(&self, id: &TaskId) -> u32 {
        let filed = self.graph.get(id).and_then(|t| t.attempts.made);
        let counted = self.state(id).map_or(0, |s| s.attempts);
        filed.map_or(counted, |filed| filed.max(counted))
    }

    pub(super) fn max_attempts(&self, id: &TaskId, config: &Config) -> u32 {
        let own = self.graph.get(id).and_then(|t| t.attempts.max);
        own.unwrap_or(config.loop_.max_attempts.get())
    }

    /// The attempts that the open tasks may have, all together.
    pub(super) fn attempts_of_open(&self, config: &Config) -> u32 {
        let open = self
            .graph
            .tasks()
            .iter()
            .filter(|task| task.status.is_workable() && self.graph.is_leaf(&task.id));
        let attempts = open.map(|task| self.max_attempts(&task.id, config));
        attempts.fold(0, u32::saturating_add)
    }

    /// A task whose turn it is and that has had all its attempts, also where a question waits about it;
    /// with how many it has had and may have.
    pub(super) fn spent(&self, config: &Config) -> Option<(TaskId, u32, u32)> {
        let ready = self
            .graph
            .tasks()
            .iter()
            .filter(|task| self.plan.is_ready(&task.id));
        let mut attempts = ready.map(|task| {
            let (made, max) = (self.attempts(&task.id), self.max_attempts(&task.id, config));
            (task.id.clone(), made, max)
        });
        attempts.find(|(_, made, max)| made >= max)
    }

    pub fn tally(&self) -> Tally {
        let asking = self.set_aside.iter().filter(|id| self.plan.is_ready(id));
        let asking = asking.count();
        let tally = Tally::from(self.plan.counts());
        Tally {
            ready: tally.ready.saturating_sub(asking),
            asking,
            ..tally
        }
    }

    pub(super) fn blocked(&self) -> Vec<Blocked> {
        blocked_lines(self.plan.stuck(&self.history()))
    }

    /// Writes a task's new status, and its count of attempts where the file keeps one.
    ///
    /// Gives the files that were written.
    pub(crate) fn write_status(
        &mut self,
        id: &TaskId,
        status: Status,
        attempts: Option<u32>,
    ) -> Result<Vec<std::path::PathBuf>, SourceError> {
        let Some(task) = self.graph.get(id) else {
            return Err(SourceError::NoSuchTask {
                task: id.clone(),
                name: self.source.name().to_owned(),
            });
        };
        let file = task.place.file;
        let mut edits = vec![Edit {
            task: id.clone(),
            change: Change::Status(status),
        }];
        if let (Some(attempts), Some(_)) = (attempts, task.attempts.made) {
            edits.push(Edit {
                task: id.clone(),
                change: Change::Attempts(attempts),
            });
        }
        self.source.write(&edits, &|_| Some(file))
    }

    /// Makes changes to one task in its file.
    pub(super) fn edit(&mut self, id: &TaskId, changes: Vec<Change>) -> Result<(), SourceError> {
        let file = self.graph.get(id).map(|task| task.place.file);
        let edits: Vec<Edit> = changes
            .into_iter()
            .map(|change| Edit {
                task: id.clone(),
                change,
            })
            .collect();
        self.source.write(&edits, &|_| file).map(drop)
    }

    pub(super) fn set_last_area(&mut self, id: &str) {
        let task = TaskId::parse(id).ok();
        self.last_area = task.and_then(|id| self.graph.get(&id)?.area.clone());
    }

    /// The file that holds a task.
    pub(crate) fn file_of(&self, id: &TaskId) -> Option<std::path::PathBuf> {
        let file = usize::try_from(self.graph.get(id)?.place.file).ok()?;
        self.source.files().get(file).map(|f| f.path.clone())
    }

    /// Notes in memory what became of a task; its dependants follow.
    pub(super) fn mark(&mut self, id: &TaskId, status: Status) -> Result<(), LoopError> {
        if status == Status::Completed {
            self.last_area = self.graph.get(id).and_then(|t| t.area.clone());
        }
        Ok(self.plan.set_status(id, status)?)
    }
}

/// What a task says to its reader, in short: a person who changes it changes this.
pub(super) fn wording(task: &Task) -> String {
    use sha2::Digest as _;
    let text = serde_json::to_string(&task.text).unwrap_or_default();
    let hash = sha2::Sha256::digest(text.as_bytes());
    hash[..8].iter().map(|b| format!("{b:02x}")).collect()
}

fn place_of(source: &Source, graph: &Graph, problem: &Problem) -> String {
    let place = problem.place();
    let task = graph.tasks().iter().find(|t| t.place == place);
    task.map_or_else(|| source.name().to_owned(), |t| source.place(t))
}
