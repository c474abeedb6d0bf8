//! The order of a person who starts a loop: which tasks, how many iterations, the rest.

use std::{num::NonZeroU32, path::PathBuf};

use ralph_core::{
    config::{Config, FlagValue, OnMaxAttempts, Origin},
    goal::Goal,
    termination::Span,
};
use ralph_engine::{
    loop_runner::{
        AllowanceStart, BranchRequest, BranchStart, Execution, Iterations, LoopBounds, LoopRequest,
        Mode, TaskScope, write_goal,
    },
    source::{FoundBy, FoundSource},
};

use super::Options;
use crate::{artefacts::ArtefactsProject, error::CommandError, project::Project, queue};

pub(crate) struct Order {
    pub(crate) target: RunTarget,
    pub(crate) iterations: Option<u32>,
    pub(crate) options: Options,
    /// Since when its limits count, where it is the rest of an earlier loop's.
    pub(crate) allowance: AllowanceStart,
}

/// Whose tasks are worked on.
pub(crate) enum RunTarget {
    /// `ralph run`: a task file or folder.
    Source(SourceArg),
    /// `ralph execute`: an artefacts project.
    Project(String),
    /// `ralph loop`: a goal.
    Goal(Goal),
}

/// The task file or folder of a run.
pub(crate) enum SourceArg {
    /// A person left it to ralph to find it.
    Unnamed,
    /// A person named it.
    Named(PathBuf),
    /// It is that of an earlier loop.
    Again(PathBuf),
}

const MAX_ITERATIONS: &str = "loop.max_iterations";
const MAX_ATTEMPTS: &str = "loop.max_attempts";

impl Order {
    /// A loop whose limits count from now.
    pub(crate) fn new(target: RunTarget, iterations: Option<u32>, options: Options) -> Self {
        Self {
            target,
            iterations,
            options,
            allowance: AllowanceStart::default(),
        }
    }

    /// Builds the loop's settings. An execution has its own defaults. `found` is the source of a run.
    pub(super) fn request(
        &self,
        project: &Project,
        config: &mut Config,
        found: Option<&FoundSource>,
    ) -> Result<LoopRequest, CommandError> {
        let options = &self.options;
        let is_default = |key: &str| *project.settings.resolved.origin(key) == Origin::Default;
        let (source, parent, mode) = match &self.target {
            RunTarget::Source(_) => {
                let found = found.cloned().ok_or_else(|| {
                    CommandError::internal("the tasks of a run were not looked for")
                })?;
                (found, project.parent_task()?, Mode::Run)
            }
            RunTarget::Project(name) => {
                let named = ArtefactsProject::named(project, name)?;
                let source = tasks_of(&named, project)?;
                if is_default("loop.on_max_attempts") {
                    config.loop_.on_max_attempts = OnMaxAttempts::Halt;
                }
                let iterations = if is_default(MAX_ITERATIONS) {
                    Iterations::ByTasks
                } else {
                    Iterations::Configured
                };
                let execution = Execution {
                    project: named.name,
                    iterations,
                };
                (given(source), None, Mode::Execute(execution))
            }
            RunTarget::Goal(goal) => {
                if options.task.is_some() {
                    return Err(CommandError::user("--task: a goal has no task list")
                        .hint("`ralph run --task ID` works on one task of a list"));
                }
                // A goal has as many attempts as there are iterations.
                if is_default(MAX_ATTEMPTS) {
                    let most = NonZeroU32::new(config.loop_.max_iterations);
                    config.loop_.max_attempts = most.unwrap_or(NonZeroU32::MAX);
                }
                let source = write_goal(&project.git_root()?, goal).map_err(super::explain)?;
                (given(source), None, Mode::Goal(goal.clone()))
            }
        };
        let only = options.task.as_deref().map(queue::task).transpose()?;
        Ok(LoopRequest {
            source,
            scope: TaskScope { parent, only },
            span: if options.once { Span::Once } else { Span::All },
            stash: options.stash,
            mode,
            branch: self.branch(),
            bounds: self.bounds(),
            allowance: self.allowance,
        })
    }

    /// Returns true if a flag names a branch, or a commit for it.
    pub(crate) fn names_branch(&self) -> bool {
        self.branch() != BranchRequest::default()
    }

    /// The branch from the flags.
    fn branch(&self) -> BranchRequest {
        let start = match (&self.options.from, &self.options.onto) {
            (Some(from), _) => BranchStart::From(from.clone()),
            (None, Some(onto)) => BranchStart::Onto(onto.clone()),
            (None, None) => BranchStart::Usual,
        };
        BranchRequest {
            name: self.options.branch.clone(),
            start,
        }
    }

    /// The limits of the loop from the flags.
    fn bounds(&self) -> LoopBounds {
        LoopBounds {
            max_iterations: self.iterations,
            max_minutes: self.options.max_minutes,
            max_cost_usd: self.options.max_cost,
            task: self.options.task.clone(),
        }
    }

    /// The configuration overrides from the flags.
    pub(super) fn flags(&self) -> Vec<FlagValue> {
        let options = &self.options;
        let iterations = match &self.target {
            RunTarget::Source(_) | RunTarget::Goal(_) => "--max-iterations",
            RunTarget::Project(_) => "--iterations",
        };
        let number = |value: Option<f64>| value.map(serde_json::Value::from);
        let said = [
            (MAX_ITERATIONS, iterations, self.iterations.map(Into::into)),
            (
                "loop.max_minutes",
                "--max-minutes",
                number(options.max_minutes),
            ),
            ("loop.max_cost_usd", "--max-cost", number(options.max_cost)),
            ("agent", "--agent", options.agent.clone().map(Into::into)),
        ];
        let set = said.into_iter().filter_map(|(key, flag, value)| {
            Some(FlagValue {
                key: key.into(),
                value: value?,
                flag: flag.into(),
            })
        });
        set.collect()
    }
}

fn given(path: PathBuf) -> FoundSource {
    FoundSource {
        path,
        by: FoundBy::Given,
    }
}

/// The task file of a project, which an interview makes.
fn tasks_of(named: &ArtefactsProject, project: &Project) -> Result<PathBuf, CommandError> {
    if !named.folder.path().is_dir() {
        return Err(named.missing(&project.shown(named.folder.path())));
    }
    let tasks = named.folder.tasks();
    match tasks.canonicalize() {
        Ok(path) => Ok(path),
        Err(_) => {
            let shown = project.shown(&tasks);
            let hint = format!("`ralph interview {}` creates it from the brief", named.name);
            Err(CommandError::user(format!("there is no {shown}")).hint(hint))
        }
    }
}
