//! Sends a command to the loop of this worktree: into the journal, with a poke to who works here. Where
//! there is none, this process carries it out itself.
//!
//! Says what was done, or that it waits and for what. A command that is in the queue is never lost.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use ralph_core::{
    command::{Command, CommandReport, CommandState},
    id::CommandId,
    task::TaskId,
};
use ralph_engine::{
    lock::{Lock, LockError},
    loop_runner::{IdleWorktree, LoopError, QueueRemainder, register, run_waiting_commands},
    process::{Signal, signal_if},
    store::{CommandEffects, CommandEnd, Journal, RepositoryId},
};
use serde::Serialize;

use crate::{
    cli::Global,
    commands::run::explain,
    error::CommandError,
    output,
    project::{Project, SourceUse, block_on},
};

/// The longest wait for the answer of a loop, or for the one who makes the journal.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(30);

/// The form of the answer.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AnswerForm {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl AnswerForm {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }
}

/// The result of a command; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
pub(crate) struct Sent {
    id: CommandId,
    command: &'static str,
    state: SentState,
    sentence: String,
    hint: Option<String>,
    /// All there is to know, where a sentence is too little.
    #[serde(skip)]
    pub(crate) detail: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum SentState {
    Done,
    /// It is in the queue, and is obeyed later.
    Queued,
}

/// Sends a command, and prints what became of it.
pub(crate) fn send(
    global: &Global,
    command: &Command,
    said: &AnswerForm,
    patience: Duration,
) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let sent = block_on(deliver(&project, command, patience))?;
    sent.print(said)?;
    Ok(ExitCode::SUCCESS)
}

impl Sent {
    pub(crate) fn print(&self, said: &AnswerForm) -> Result<(), CommandError> {
        if said.json {
            return output::print_json(self);
        }
        let sentence = ralph_core::sanitize::terminal_safe(&self.sentence);
        output::print(&format!("{sentence}\n"));
        if let Some(hint) = &self.hint {
            let hint = ralph_core::sanitize::terminal_safe(hint);
            output::print(&format!("  {hint}\n"));
        }
        Ok(())
    }
}

/// Puts a command into the queue, and waits for what becomes of it.
pub(crate) async fn deliver(
    project: &Project,
    command: &Command,
    patience: Duration,
) -> Result<Sent, CommandError> {
    let root = project.git_root()?;
    let (mut journal, repository) = open(project, &root).await?;
    let command = output::without_secrets_in(command.clone());
    let id = journal
        .submit_command(
            &repository,
            &project.worktree(),
            &command,
            &project.who(),
            Project::now(),
        )
        .await?;
    let waiting = Waiting {
        project,
        root,
        id,
        repository,
        until: Instant::now() + patience,
    };
    let outcome = waiting.wait(&mut *journal).await?;
    let sent = |state, sentence, hint| Sent {
        id,
        command: command.word(),
        state,
        sentence,
        hint,
        detail: None,
    };
    match outcome {
        Outcome::Report(CommandReport {
            state: CommandState::Done,
            sentence,
            hint,
            detail,
        }) => Ok(Sent {
            detail,
            ..sent(SentState::Done, sentence, hint)
        }),
        Outcome::Report(report) => Err(CommandError::user(report.sentence).hint_opt(report.hint)),
        Outcome::LoopIsBusy => Ok(sent(
            SentState::Queued,
            "queued: the loop handles it after the current iteration".into(),
            None,
        )),
        Outcome::OtherCommand => Ok(sent(
            SentState::Queued,
            "queued: another ralph command is at work here".into(),
            Some("whatever is run next, `ralph run` for example, does it".into()),
        )),
        Outcome::NextRun => Ok(sent(
            SentState::Queued,
            "queued: an interrupted iteration has to be finished first".into(),
            Some("`ralph run` does both".into()),
        )),
    }
}

enum Outcome {
    Report(CommandReport),
    LoopIsBusy,
    /// A command that is no loop holds the lock for long.
    OtherCommand,
    NextRun,
}

struct Waiting<'a> {
    project: &'a Project,
    root: PathBuf,
    id: CommandId,
    repository: RepositoryId,
    until: Instant,
}

impl Waiting<'_> {
    /// Waits for the loop that works here; where there is none, obeys what is in the queue.
    async fn wait(&self, journal: &mut dyn Journal) -> Result<Outcome, CommandError> {
        let data = self.project.data_dir()?;
        let mut poked = None;
        loop {
            if let Some(report) = journal.command_result(self.id).await? {
                return Ok(Outcome::Report(report));
            }
            if !Lock::is_held(&data, &self.root) {
                match self.obey(journal).await? {
                    Some(QueueRemainder::Nothing) => continue,
                    Some(QueueRemainder::ForTheNextRun) => {
                        let result = journal.command_result(self.id).await?;
                        return Ok(result.map_or(Outcome::NextRun, Outcome::Report));
                    }
                    // Another process was faster.
                    None => {}
                }
            }
            let owner = Lock::owner(&data, &self.root);
            if owner.is_some() && owner != poked {
                poked = signal_owner(Signal::USR1, || Lock::owner(&data, &self.root))?;
            }
            if Instant::now() > self.until {
                let is_loop = Lock::owner_loop(&data, &self.root).is_some();
                return Ok(if is_loop {
                    Outcome::LoopIsBusy
                } else {
                    Outcome::OtherCommand
                });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Obeys without a loop; `None` if another process has the lock. What can't be obeyed is taken out
    /// of the queue: who typed it hears that it failed.
    async fn obey(
        &self,
        journal: &mut dyn Journal,
    ) -> Result<Option<QueueRemainder>, CommandError> {
        let usage = SourceUse::Work(SourceUse::CHOOSE);
        let idle = match source_path(self.project, journal, &self.repository, usage).await {
            Ok(source) => idle(self.project, &self.root, source)?,
            Err(error) => return Err(self.withdraw(journal, error).await),
        };
        match run_waiting_commands(&idle, Project::now()).await {
            Ok(left) => Ok(Some(left)),
            Err(LoopError::Lock(LockError::Held { .. })) => Ok(None),
            Err(error) => Err(self.withdraw(journal, explain(error)).await),
        }
    }

    async fn withdraw(&self, journal: &mut dyn Journal, error: CommandError) -> CommandError {
        let report = CommandReport::refused(error.sentences().join(": "), None);
        let ended = CommandEnd {
            id: self.id,
            report: &report,
            at: Project::now(),
        };
        let effects = CommandEffects::default();
        let written = journal.finish_command(&self.repository, "", ended, &effects);
        match written.await {
            Ok(()) => error,
            Err(other) => CommandError::internal(other),
        }
    }
}

fn idle(project: &Project, root: &Path, source: PathBuf) -> Result<IdleWorktree, CommandError> {
    Ok(IdleWorktree {
        root: root.to_owned(),
        data_dir: project.data_dir()?,
        source,
        git_environment: project.git_environment(),
        config: project.config().clone(),
        config_file: project.config_bytes()?,
    })
}

/// The journal; where ralph never ran before, it and the repository's row are made. Where another process is about to
/// make them, they are waited for.
pub(crate) async fn open(
    project: &Project,
    root: &Path,
) -> Result<(Box<dyn Journal>, RepositoryId), CommandError> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(known) = project.journal().await? {
            return Ok(known);
        }
        let idle = idle(project, root, PathBuf::new())?;
        match register(&idle, Project::now()).await {
            Ok(repository) => {
                let journal = idle.data_dir.open_journal().await;
                return Ok((journal?, repository));
            }
            Err(LoopError::Lock(LockError::Held { .. })) if Instant::now() < until => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            Err(error) => return Err(explain(error)),
        }
    }
}

/// The tasks that the last loop here worked at, as long as they are there; else those that a run
/// would find.
pub(crate) async fn source_path(
    project: &Project,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    usage: SourceUse,
) -> Result<PathBuf, CommandError> {
    let last = journal.last_loop(repository, &project.worktree()).await?;
    let path = last.map(|row| project.root().join(row.source));
    match path.filter(|path| path.exists()) {
        Some(path) => Ok(path),
        None => project.source_path(None, usage),
    }
}

/// Sends a signal to the process that `owner` finds at the lock, if there is one.
pub(crate) fn signal_owner(
    signal: Signal,
    owner: impl Fn() -> Option<u32>,
) -> Result<Option<u32>, CommandError> {
    let Some(process) = owner() else {
        return Ok(None);
    };
    // Asked again once the process is held fast: another one can't have got its number since.
    let sent = signal_if(process, signal, || owner() == Some(process));
    let sent = sent.map_err(|error| {
        CommandError::user(format!("can't signal process {process}: {error}"))
            .hint("it may belong to another user")
    })?;
    Ok(sent.then_some(process))
}

/// A task that a flag names.
pub(crate) fn task(text: &str) -> Result<TaskId, CommandError> {
    TaskId::parse(text).map_err(|e| CommandError::user(format!("--task {text:?}: {e}")))
}

/// Returns the text of a person; an empty one is an error.
pub(crate) fn words(what: &str, text: &str) -> Result<String, CommandError> {
    if text.trim().is_empty() {
        Err(CommandError::user(format!("{what} is empty")))
    } else {
        Ok(text.to_owned())
    }
}
