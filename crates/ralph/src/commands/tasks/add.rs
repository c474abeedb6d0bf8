//! `ralph tasks add`: a new task at the end of its file, written the way its siblings are.
//!
//! Everything is checked before anything is written. Nothing that is added is started by it.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::{
    sanitize::one_line,
    task::{
        Attempts, Place, Status, Task, TaskId, TaskLinks, TaskText, VerifyCommand,
        format::NewTask,
        graph::{Graph, Problem},
        suggested::SuggestedTask,
    },
};
use ralph_engine::{dot_ralph, source::Source};
use serde::Serialize;

use super::{new_id, suggested};
use crate::{
    commands::CommandAccess,
    error::CommandError,
    output,
    project::{Project, Scope},
    view::{Tone, paint},
};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// What will be different when it is done: it becomes the commit's subject
    #[arg(required_unless_present = "from_suggestions")]
    pub(crate) title: Option<String>,

    /// The id; without it, the next one in the style of the file
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// What is to be done and where: the agent knows nothing else
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Something that must be true when it is done; can be given several times
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) acceptance: Vec<String>,

    /// A line for the shell that proves it; can be given several times
    #[arg(long, value_name = "COMMAND")]
    pub(crate) verify: Vec<String>,

    /// A task that must be completed first; can be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) depends_on: Vec<String>,

    /// A label; can be given several times
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Vec<String>,

    /// Lower goes first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i64>,

    /// The task file or folder to add it to; without it, the one chosen before, or found
    #[arg(long, value_name = "SOURCE")]
    pub(crate) to: Option<PathBuf>,

    /// Take over tasks that agents suggested, by their numbers; without a number, list them
    #[arg(long, value_name = "N", num_args = 0.., conflicts_with_all = ["title", "id", "description"])]
    pub(crate) from_suggestions: Option<Vec<usize>>,
}

impl Args {
    /// Without a number, suggestions are only listed.
    pub(crate) fn access(&self) -> CommandAccess {
        let numbers = self.from_suggestions.as_ref();
        CommandAccess::writes_unless(numbers.is_some_and(Vec::is_empty))
    }

    pub(super) fn to(&self) -> Option<&Path> {
        self.to.as_deref()
    }
}

pub(super) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    match &args.from_suggestions {
        Some(numbers) if numbers.is_empty() => suggested::list(project)?,
        Some(numbers) => suggested::take(project, numbers, args)?,
        None => {
            let added = add(args, project)?;
            say_added(&added.id, &added.file);
            if let Some(warning) = &added.warning {
                output::print_warning(warning);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A task that was added; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
pub(crate) struct AddedTask {
    id: TaskId,
    file: String,
    warning: Option<String>,
}

/// Adds the task that the arguments describe, and prints nothing.
pub(crate) fn add(args: &Args, project: &Project) -> Result<AddedTask, CommandError> {
    let title = args.title.as_deref().unwrap_or_default();
    let description = args.description.as_deref().unwrap_or_default();
    let mut place = Destination::find(project, args.to())?;
    let task = place.checked(args, title, description, None)?;
    let file = place.add(project, &task)?;
    Ok(AddedTask {
        id: task.id,
        file,
        warning: place.scope_warning(project)?,
    })
}

/// Where new tasks go, and the tasks that are there.
#[derive(Default)]
pub(super) struct Destination {
    /// `None`: there is no source at all, and a folder is made for the first task.
    source: Option<Source>,
    tasks: Vec<Task>,
    problems: Vec<Problem>,
}

impl Destination {
    pub(super) fn find(project: &Project, named: Option<&Path>) -> Result<Self, CommandError> {
        let Some(path) = project.find_source_or_none(named, "ralph tasks add TITLE --to")? else {
            return Ok(Self::default());
        };
        let (source, graph, problems) = project.read_source(&path)?;
        Ok(Self {
            source: Some(source),
            tasks: graph.tasks().to_vec(),
            problems,
        })
    }

    /// The task as it would be added, checked against those that are there and remembered among
    /// them. What the arguments leave open is as an agent wrote it. Writes nothing.
    pub(super) fn checked(
        &mut self,
        args: &Args,
        title: &str,
        description: &str,
        written: Option<&SuggestedTask>,
    ) -> Result<NewTask, CommandError> {
        if title.trim().is_empty() || title.contains(['\n', '\r']) {
            return Err(CommandError::user("a title is one line, and not empty"));
        }
        let written = written.map(SuggestedTask::to_new);
        let is_free = |id: &TaskId| self.tasks.iter().all(|known| known.id != *id);
        let own_id = written.as_ref().map(|task| &task.id);
        let id = match (&args.id, own_id.filter(|id| is_free(id))) {
            (Some(id), _) => TaskId::parse(id).map_err(CommandError::user)?,
            (None, Some(id)) => id.clone(),
            (None, None) => new_id::new_id(&self.tasks, title).ok_or_else(|| {
                CommandError::user("the title has nothing to make an id from")
                    .hint("give it one: `--id ID`")
            })?,
        };
        let depends_on: Result<Vec<TaskId>, _> =
            args.depends_on.iter().map(|id| TaskId::parse(id)).collect();
        let mut task = NewTask {
            id,
            title: title.trim().to_owned(),
            description: description.to_owned(),
            acceptance: args.acceptance.clone(),
            verify: args
                .verify
                .iter()
                .cloned()
                .map(VerifyCommand::Shell)
                .collect(),
            depends_on: depends_on.map_err(CommandError::user)?,
            labels: args.label.clone(),
            priority: args.priority,
        };
        if let Some(written) = written {
            fill(&mut task.acceptance, written.acceptance);
            fill(&mut task.verify, written.verify);
            fill(&mut task.depends_on, written.depends_on);
            fill(&mut task.labels, written.labels);
            task.priority = task.priority.or(written.priority);
        }
        self.check(&task)?;
        self.tasks.push(as_task(&task));
        Ok(task)
    }

    fn check(&self, task: &NewTask) -> Result<(), CommandError> {
        if let Some(known) = self.tasks.iter().find(|known| known.id == task.id) {
            let title = one_line(&known.text.title, 72);
            let message = format!("there is a task {} already: {title}", task.id);
            return Err(CommandError::user(message).hint("leave out `--id` to get a new one"));
        }
        let mut tasks = self.tasks.clone();
        tasks.push(as_task(task));
        let (_, problems) = Graph::build(tasks);
        // What was wrong before is not the new task's doing.
        match problems.into_iter().find(|p| !self.problems.contains(p)) {
            Some(problem) => Err(CommandError::user(problem.to_string())
                .hint("nothing was written; `ralph tasks list` shows the ids there are")),
            None => Ok(()),
        }
    }

    /// Adds a task that was checked; returns the file that it is in, as a person would write it here.
    fn add(&mut self, project: &Project, task: &NewTask) -> Result<String, CommandError> {
        let added = self.writable(project)?.add(task);
        let path = added.map_err(CommandError::user)?;
        Ok(project.shown(&path))
    }

    /// The same, and says so.
    pub(super) fn add_and_say(
        &mut self,
        project: &Project,
        task: &NewTask,
    ) -> Result<(), CommandError> {
        let file = self.add(project, task)?;
        say_added(&task.id, &file);
        Ok(())
    }

    pub(super) fn warn_of_scope(&self, project: &Project) -> Result<(), CommandError> {
        if let Some(warning) = self.scope_warning(project)? {
            output::print_warning(&warning);
        }
        Ok(())
    }

    /// A parent is in force, and nothing that is added is below it.
    fn scope_warning(&self, project: &Project) -> Result<Option<String>, CommandError> {
        let (graph, _) = Graph::build(self.tasks.clone());
        Ok(match project.scope(&graph)? {
            Scope::Below(parent) => {
                let file = project.shown(&project.parent_file());
                Some(format!(
                    "{file} limits `ralph run` to what is below {parent}; a new task is not below it"
                ))
            }
            Scope::All | Scope::Lost { .. } => None,
        })
    }

    fn writable(&mut self, project: &Project) -> Result<&mut Source, CommandError> {
        let source = match self.source.take() {
            Some(source) => source,
            None => make_folder(project)?,
        };
        Ok(self.source.insert(source))
    }
}

fn say_added(id: &TaskId, file: &str) {
    let id = paint(Tone::Name, id.as_str());
    output::print(&format!("added {id} to {file}\n"));
}

/// The folder for tasks, where there was no source at all.
fn make_folder(project: &Project) -> Result<Source, CommandError> {
    let folder = project.root().join(&project.config().tasks.path);
    let failed = |error: std::io::Error| {
        CommandError::user(format!("can't make {}: {error}", project.shown(&folder)))
    };
    dot_ralph::ensure(project.root()).map_err(failed)?;
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let (source, _) = Source::read(&folder, project.root()).map_err(CommandError::user)?;
    Ok(source)
}

/// Takes over a list where there is none.
fn fill<T>(list: &mut Vec<T>, other: Vec<T>) {
    if list.is_empty() {
        *list = other;
    }
}

/// The new task as the graph will see it.
fn as_task(new: &NewTask) -> Task {
    Task {
        id: new.id.clone(),
        text: TaskText {
            title: new.title.clone(),
            ..TaskText::default()
        },
        links: TaskLinks {
            parent_id: None,
            depends_on: new.depends_on.clone(),
        },
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
