//! The board of the core together with the source that its tasks come from: what the loop chooses from
//! and where it writes what became of a task.

use std::{collections::HashSet, path::PathBuf};

use ralph_core::{
    board,
    config::Config,
    event::{Blocked, Tally},
    id::QuestionId,
    task::{
        Status, Task, TaskId,
        format::{Change, Edit, Format, has_derived_id},
        graph::{Graph, Problem},
        retitled::Retitled,
    },
    verdict::IDLE,
};

use crate::{
    error::LoopError,
    source::{Source, SourceError},
    store::TaskHistory,
};

/// Which part of the source a loop works on.
#[derive(Debug, Clone, Default)]
pub struct TaskScope {
    /// The feature: its descendants are the work, its title names the branch.
    pub parent: Option<TaskId>,
    /// Of that, only this task, or what is below it.
    pub only: Option<TaskId>,
}

impl TaskScope {
    fn narrowest(&self) -> Option<&TaskId> {
        self.only.as_ref().or(self.parent.as_ref())
    }
}

pub struct Board {
    pub(crate) source: Source,
    tasks: board::Board,
    scope: TaskScope,
    list: ListChange,
}

/// Describes what changed in the list of ids since the journal last heard of it.
#[derive(Debug, Default)]
pub(crate) struct ListChange {
    /// The ids now; `None` where the journal has them, or has no need to.
    pub(crate) ids: Option<Vec<TaskId>>,
    /// Tasks whose title was edited: the old id and the new one.
    pub(crate) moved: Vec<(TaskId, TaskId)>,
    pub(crate) notices: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl Board {
    /// Puts the tasks of a source on the board. A graph that is wrong is refused.
    pub fn new(
        source: Source,
        tasks: Vec<Task>,
        scope: TaskScope,
        states: Vec<(String, TaskHistory)>,
    ) -> Result<Self, LoopError> {
        let graph = sound_graph(&source, tasks)?;
        let states = states
            .into_iter()
            .filter_map(|(id, state)| Some((TaskId::parse(&id).ok()?, state)));
        let tasks = board::Board::new(graph, scope.narrowest())?.with_histories(states);
        Ok(Self {
            source,
            tasks,
            scope,
            list: ListChange::default(),
        })
    }

    /// Compares the list with the ids that the journal has of it: where a title was edited that an id is made
    /// of, the task keeps its history.
    pub(crate) fn recall_list(&mut self, known: Option<Vec<TaskId>>) {
        self.note_list(known.as_deref());
    }

    /// Returns what the journal has to be told about the list; each is told once.
    pub(crate) fn take_list_change(&mut self) -> ListChange {
        std::mem::take(&mut self.list)
    }

    fn ids(&self) -> Vec<TaskId> {
        let tasks = self.graph().tasks().iter();
        tasks.map(|task| task.id.clone()).collect()
    }

    fn note_list(&mut self, before: Option<&[TaskId]>) {
        let now = self.ids();
        if before == Some(&now) || !self.graph().tasks().iter().any(has_derived_id) {
            return;
        }
        let before = before.unwrap_or_default();
        let lost: Vec<TaskId> = match self.tasks.follow_titles(before) {
            Retitled::Nothing => Vec::new(),
            Retitled::One(moved) => {
                if let Some((was, is)) = moved.first() {
                    let message =
                        format!("task {was} has another title and is now {is}; its history stays");
                    self.list.notices.push(message);
                }
                self.list.moved.extend(moved);
                Vec::new()
            }
            Retitled::Several { gone, .. } => {
                let has_history =
                    |id: &TaskId| self.state(id).is_some_and(|s| *s != TaskHistory::default());
                gone.into_iter().filter(has_history).collect()
            }
        };
        if !lost.is_empty() {
            let lost: Vec<&str> = lost.iter().map(TaskId::as_str).collect();
            let mut files = self.source.files().iter();
            let fix = if files.any(|file| file.format == Format::Markdown) {
                "`<!-- id: NAME -->` at the end of its line gives a task an id"
            } else {
                "`ralph lint --fix` writes ids"
            };
            self.list.warnings.push(format!(
                "more than one title changed in {}, where titles are the ids: the tasks are new, and the history of {} stays behind; {fix}",
                self.source.name(),
                lost.join(", ")
            ));
        }
        self.list.ids = Some(now);
    }

    /// Takes over the source as it is on disk now: between iterations the file wins.
    pub(crate) fn replace_tasks(
        &mut self,
        source: Source,
        tasks: Vec<Task>,
    ) -> Result<(), LoopError> {
        let graph = sound_graph(&source, tasks)?;
        let before = self.ids();
        self.tasks.replace_graph(graph)?;
        self.source = source;
        self.note_list(Some(&before));
        Ok(())
    }

    pub(crate) fn graph(&self) -> &Graph {
        self.tasks.graph()
    }

    /// Tasks whose question was answered by an edit, with what that makes of them; each is named once.
    pub(crate) fn take_answered(&mut self) -> Vec<(TaskId, TaskHistory)> {
        let answered = self.tasks.take_answered().into_iter();
        let states = answered.map(|id| {
            let state = self.state(&id).cloned().unwrap_or_default();
            (id, state)
        });
        states.collect()
    }

    /// The number of questions that keep tasks from being taken.
    pub(crate) fn open_questions(&self) -> usize {
        self.tasks.asking().count()
    }

    /// The numbers of these questions.
    pub(crate) fn asked(&self) -> HashSet<QuestionId> {
        let asking = self.tasks.asking();
        asking.filter_map(|(_, state)| state.asked).collect()
    }

    /// Returns what a person skipped that this task depends on, and why.
    pub(crate) fn skipped_before(&self, id: &TaskId) -> Vec<(TaskId, String)> {
        self.tasks.skipped_before(id)
    }

    /// The task to work on now.
    pub fn next(&self) -> Option<TaskId> {
        self.tasks.next().cloned()
    }

    /// True if everything in scope is complete or skipped. Nothing at all in scope is complete too.
    pub(crate) fn all_complete(&self) -> bool {
        self.tasks.all_complete()
    }

    pub(crate) fn is_ready(&self, task: &TaskId) -> bool {
        self.tasks.is_ready(task)
    }

    /// The tasks that can be taken, in their order.
    pub(crate) fn ready_ids(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.ready()
    }

    /// The tasks that wait for an answer, and the questions.
    pub(crate) fn open_question_texts(&self) -> impl Iterator<Item = (&TaskId, &str)> {
        let questions = self.tasks.questions();
        questions.filter_map(|(id, state)| Some((id, state.question.as_deref()?)))
    }

    /// Attempts at a task in a row that came to nothing.
    pub(crate) fn idle_in_a_row(&self, task: &TaskId) -> u32 {
        let state = self.state(task);
        let idle = state.filter(|state| state.last_signature.as_deref() == Some(IDLE));
        idle.map_or(0, |state| state.same_failure)
    }

    /// The leaves in scope that are open, also those that wait.
    pub(crate) fn open_tasks(&self) -> impl Iterator<Item = &Task> {
        let open = self.tasks.counted_as(Status::Open);
        open.chain(self.tasks.counted_as(Status::InProgress))
    }

    /// Tasks for a person that wait to be done.
    pub(crate) fn for_person(&self) -> impl Iterator<Item = &Task> {
        self.tasks.for_person()
    }

    /// True if another task than this one can be taken.
    pub(crate) fn ready_besides(&self, task: Option<&TaskId>) -> bool {
        self.tasks.ready().any(|ready| Some(ready) != task)
    }

    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.task(id)
    }

    /// The task whose descendants are the feature.
    pub(crate) fn parent(&self) -> Option<&Task> {
        self.scope.parent.as_ref().and_then(|id| self.task(id))
    }

    /// The one task that the loop was told to work on.
    pub(crate) fn only_task(&self) -> Option<&TaskId> {
        self.scope.only.as_ref()
    }

    /// Returns what all tasks are below, or the one task that there is.
    pub(crate) fn only_root(&self) -> Option<&TaskId> {
        let mut roots = self.graph().roots();
        let first = roots.next()?;
        roots.next().is_none().then_some(&first.id)
    }

    /// Returns what the journal remembers of a task.
    pub(crate) fn state(&self, id: &TaskId) -> Option<&TaskHistory> {
        self.tasks.history(id)
    }

    pub(crate) fn set_state(&mut self, id: &TaskId, state: TaskHistory) {
        self.tasks.set_history(id, state);
    }

    /// Charged attempts: the file's count where it has one, else the journal's.
    pub(crate) fn attempts(&self, id: &TaskId) -> u32 {
        self.tasks.attempts(id)
    }

    pub(crate) fn max_attempts(&self, id: &TaskId, config: &Config) -> u32 {
        self.tasks.max_attempts(id, config.loop_.max_attempts.get())
    }

    /// The attempts that the open tasks may have, all together.
    pub(crate) fn attempts_of_open(&self, config: &Config) -> u32 {
        self.tasks.attempts_of_open(config.loop_.max_attempts.get())
    }

    /// A task whose turn it is and that has had all its attempts.
    pub(crate) fn spent(&self, config: &Config) -> Option<board::SpentTask> {
        self.tasks.spent(config.loop_.max_attempts.get())
    }

    pub fn tally(&self) -> Tally {
        self.tasks.counts().into()
    }

    pub(crate) fn blocked(&self) -> Vec<Blocked> {
        let stuck = self.tasks.stuck().into_iter();
        let blocked = stuck.map(|stuck| Blocked {
            task: stuck.id.to_string(),
            by: stuck.by,
        });
        blocked.collect()
    }

    /// Writes a task's new status, and its count of attempts where the file keeps one.
    ///
    /// Gives the files that were written.
    pub(crate) fn write_status(
        &mut self,
        id: &TaskId,
        status: Status,
        attempts: Option<u32>,
    ) -> Result<Vec<PathBuf>, SourceError> {
        let counted = self.task(id).and_then(|task| task.attempts.made);
        let attempts = attempts.filter(|_| counted.is_some());
        let attempts = attempts.map(Change::Attempts);
        let changes = std::iter::once(Change::Status(status)).chain(attempts);
        self.edit(id, changes.collect())
    }

    /// Makes changes to one task in its file.
    ///
    /// Gives the files that were written.
    pub(crate) fn edit(
        &mut self,
        id: &TaskId,
        changes: Vec<Change>,
    ) -> Result<Vec<PathBuf>, SourceError> {
        let place = self.task(id).map(|task| task.place);
        let edits: Vec<Edit> = changes
            .into_iter()
            .map(|change| Edit {
                task: id.clone(),
                change,
            })
            .collect();
        self.source.write(&edits, &|_| place)
    }

    pub(crate) fn set_last_area(&mut self, id: &str) {
        if let Ok(id) = TaskId::parse(id) {
            self.tasks.set_last_completed(&id);
        }
    }

    /// The file that holds a task.
    pub(crate) fn file_of(&self, id: &TaskId) -> Option<PathBuf> {
        let file = usize::try_from(self.task(id)?.place.file).ok()?;
        self.source.files().get(file).map(|f| f.path.clone())
    }

    /// Notes in memory what became of a task; its dependants follow.
    pub(crate) fn mark(&mut self, id: &TaskId, status: Status) -> Result<(), LoopError> {
        Ok(self.tasks.set_status(id, status)?)
    }
}

/// Links the tasks of a source, or refuses them with all that is wrong.
fn sound_graph(source: &Source, tasks: Vec<Task>) -> Result<Graph, LoopError> {
    let (graph, problems) = Graph::build(tasks);
    if problems.is_empty() {
        Ok(graph)
    } else {
        Err(LoopError::graph(&problems, |problem| {
            place_of(source, &graph, problem)
        }))
    }
}

fn place_of(source: &Source, graph: &Graph, problem: &Problem) -> String {
    let place = problem.place();
    let task = graph.tasks().iter().find(|t| t.place == place);
    task.map_or_else(|| source.name().to_owned(), |t| source.place(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_is_edited_between_iterations_takes_its_history_along() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prd.json");
        let write = |titles: [&str; 2]| {
            let [one, two] = titles;
            let text = format!(
                r#"[{{"title": "{one}", "done": false}}, {{"title": "{two}", "done": false}}]"#
            );
            std::fs::write(&path, text).unwrap();
            Source::read(&path, dir.path()).unwrap()
        };
        let (source, tasks) = write(["Tow", "Three"]);
        let tried = TaskHistory {
            attempts: 2,
            ..TaskHistory::default()
        };
        let states = vec![("tow".to_owned(), tried.clone())];
        let mut board = Board::new(source, tasks, TaskScope::default(), states).unwrap();
        board.recall_list(None);
        let ids = |list: [&str; 2]| list.map(|id| TaskId::parse(id).unwrap()).to_vec();
        assert_eq!(board.take_list_change().ids, Some(ids(["tow", "three"])));
        let (source, tasks) = write(["Two", "Three"]);
        board.replace_tasks(source, tasks).unwrap();
        let [two, tow] = ["two", "tow"].map(|id| TaskId::parse(id).unwrap());
        assert_eq!(board.state(&two), Some(&tried));
        assert_eq!(board.state(&tow), None);
        let change = board.take_list_change();
        assert_eq!(change.ids, Some(ids(["two", "three"])));
        assert_eq!(change.moved, [(tow, two.clone())]);
        let (source, tasks) = write(["Four", "Five"]);
        board.replace_tasks(source, tasks).unwrap();
        let change = board.take_list_change();
        assert_eq!(change.moved, []);
        assert_eq!(change.warnings.len(), 1, "{:?}", change.warnings);
        assert_eq!(board.state(&two), Some(&tried));
    }
}
