//! `ralph execute`: the same loop over an artefacts project, whose files its agents write too.
//!
//! Keeps what the files said before a run, and puts right afterwards what is not an agent's to say. Has
//! no loop of its own, and never takes a file for evidence.

mod entry;
mod prompt;
mod put_back;
mod results;
mod signalled;
mod snapshot;

pub(super) use signalled::Signalled;

use std::path::{Path, PathBuf};

use ralph_core::{
    artefacts::{
        At, BadFile, Folder, ProjectName, obstacles::Obstacles, parse_verify_commands, state::Log,
    },
    config::Config,
    goal::Goal,
    id::IterationId,
    task::VerifyCommand,
};

use self::{put_back::Links, snapshot::Snapshot};
use super::{Board, LoopError, bundle::instructions_path, files::file_error, notes::Turn};
use crate::{
    plain_file,
    source::{Source, write_atomically},
    store::{Journal, RepositoryId},
};

/// What a loop does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    /// `ralph run`: the task file is all there is.
    #[default]
    Run,
    /// `ralph execute`.
    Execute(Execution),
    /// `ralph loop`: one goal, step by step.
    Goal(Goal),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub project: ProjectName,
    pub iterations: Iterations,
}

/// How many iterations there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iterations {
    /// As many as the open tasks have attempts.
    ByTasks,
    /// As the configuration says.
    Configured,
}

impl Mode {
    /// The file of a person's own words that every prompt has, which no agent may change.
    pub(super) fn prompt_path(&self, root: &Path, source: &Source) -> Option<PathBuf> {
        match self {
            Self::Run => instructions_path(source),
            Self::Goal(_) => None,
            Self::Execute(_) => Some(root.join(prompt::TEMPLATE)),
        }
    }

    /// How many iterations there may be in this run of the command.
    pub(super) fn max_iterations(&self, config: &Config, board: &Board) -> u32 {
        match self {
            Self::Execute(execution) if execution.iterations == Iterations::ByTasks => {
                board.attempts_of_open(config).max(1)
            }
            Self::Run | Self::Execute(_) | Self::Goal(_) => config.loop_.max_iterations.get(),
        }
    }
}

/// The files of the project that is executed.
pub(super) struct Artefacts {
    project: ProjectName,
    folder: Folder,
    /// From the root of the repository.
    relative: PathBuf,
    links: Links,
    /// Lines of the brief that are no commands, as far as can be told; what to say of them.
    pub(super) unclear: Vec<String>,
    /// As it all stood before the last run of an agent.
    before: Snapshot,
    state_dir: PathBuf,
}

impl Artefacts {
    /// Those of the project that a loop is to execute, if it is to execute one.
    pub(super) async fn of_loop(
        mode: &Mode,
        (root, state_dir): (&Path, &Path),
        journal: &mut Journal,
        repository: &RepositoryId,
    ) -> Result<Option<Self>, LoopError> {
        let Mode::Execute(execution) = mode else {
            return Ok(None);
        };
        let worktree = root.to_string_lossy();
        let unfinished = match journal.interrupted_loop(repository, &worktree).await? {
            Some(row) => journal.unfinished_iteration(&row.id).await?,
            None => None,
        };
        let unfinished = unfinished.map(|iteration| iteration.start.id);
        Self::open(&execution.project, root, state_dir, unfinished.as_ref()).map(Some)
    }

    /// Opens the files. Where a loop was killed in the midst of this iteration, what they said before it
    /// is still known, and a brief that was edited meanwhile is put back at once: commands are read
    /// from it.
    pub(super) fn open(
        project: &ProjectName,
        root: &Path,
        state_dir: &Path,
        unfinished: Option<&IterationId>,
    ) -> Result<Self, LoopError> {
        let folder = Folder::new(root, project);
        let mut opened = Self {
            project: project.clone(),
            relative: Folder::relative(project).path().to_owned(),
            links: Links::of(root, project),
            unclear: Vec::new(),
            before: Snapshot::load(state_dir, project).unwrap_or_default(),
            state_dir: state_dir.to_owned(),
            folder,
        };
        if unfinished.is_some_and(|id| opened.before.iteration_id == *id) {
            opened.put_spec_back()?;
        } else {
            opened.before.iteration_id = IterationId::default();
            opened.read_both()?;
        }
        Ok(opened)
    }

    /// Everything in the folder is the project's: never an agent's work, never a reason to refuse.
    pub(super) fn own_path(&self) -> &Path {
        &self.relative
    }

    pub(super) fn done_file(&self) -> PathBuf {
        self.folder.done()
    }

    pub(super) fn name(&self) -> &str {
        self.project.as_str()
    }

    /// The number of an iteration in `state.json`.
    fn number(&self, turn: &Turn) -> u64 {
        // A look ahead has an iteration without an id.
        if *turn.id() != IterationId::default() && self.before.iteration_id == *turn.id() {
            return self.before.number;
        }
        let log = self.read_state().unwrap_or_default();
        log.number_for(turn.n)
    }

    fn at<'t>(&self, turn: &'t Turn) -> At<'t> {
        At {
            iteration: self.number(turn),
            task: turn.task_id().as_str(),
        }
    }

    /// Makes the files ready for a run of an agent, and notes how they are. What is wrong with them now
    /// is nobody's but a person's, and is said.
    pub(super) fn before_run(&mut self, turn: &Turn) -> Result<(), LoopError> {
        let number = self.number(turn);
        let (log, obstacles) = self.read_both()?;
        self.write_if_missing(&self.folder.state(), &log.render())?;
        self.write_if_missing(&self.folder.obstacles(), &obstacles.render())?;
        self.remove_done()?;
        self.before = Snapshot {
            project: self.project.as_str().to_owned(),
            iteration_id: turn.id().clone(),
            number,
            state: read_text(&self.folder.state()).unwrap_or_else(|| log.render()),
            obstacles: read_text(&self.folder.obstacles()).unwrap_or_else(|| obstacles.render()),
            spec: read_text(&self.folder.spec()),
            // The prompt has told them.
            set_aside: Vec::new(),
        };
        self.before.save(&self.state_dir)
    }

    /// A signal from before says nothing about the run that comes.
    fn remove_done(&self) -> Result<(), LoopError> {
        let path = self.folder.done();
        plain_file::make_room(&path)
            .and_then(|()| match std::fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                other => other,
            })
            .map_err(|error| file_error("remove", &path, error))
    }

    fn read_both(&self) -> Result<(Log, Obstacles), LoopError> {
        let obstacles = read(&self.folder.obstacles(), Obstacles::parse)?;
        Ok((self.read_state()?, obstacles.unwrap_or_default()))
    }

    fn read_state(&self) -> Result<Log, LoopError> {
        Ok(read(&self.folder.state(), Log::parse)?.unwrap_or_default())
    }

    fn write_if_missing(&self, path: &Path, text: &str) -> Result<(), LoopError> {
        match path.exists() {
            true => Ok(()),
            false => Ok(write_atomically(path, text.as_bytes())?),
        }
    }

    /// Adds the commands that the brief names to those of the configuration.
    pub(super) fn adding_commands_to(mut self, config: &mut Config) -> Self {
        let spec = read_text(&self.folder.spec()).unwrap_or_default();
        let found = parse_verify_commands(&spec);
        let shown = Folder::relative(&self.project).spec();
        let shown = shown.display();
        let commands = &mut config.verification.commands;
        for command in found.commands {
            // As the configuration would have it, it may be there as a list of words.
            if !commands.iter().any(|known| known.to_string() == command) {
                commands.push(VerifyCommand::Shell(command));
            }
        }
        let unclear = found.unclear.iter().map(|line| {
            format!(
                "{shown} says under \"Verify commands\": {line:?}; that is not run: a command stands \
                 in a code block, in a list or on a line of its own"
            )
        });
        self.unclear = unclear.collect();
        self
    }
}

/// The project that a loop in the journal executed, if it did.
pub fn project_of(config: &str) -> Option<ProjectName> {
    let kept: serde_json::Value = serde_json::from_str(config).ok()?;
    ProjectName::parse(kept["project"].as_str()?).ok()
}

/// Of a file of the project this much is read at most; what is larger is nothing that anybody wrote.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

fn read<T>(
    path: &Path,
    parse: impl Fn(&[u8]) -> Result<T, BadFile>,
) -> Result<Option<T>, LoopError> {
    match read_bytes(path) {
        Ok(bytes) => Ok(Some(parse(&bytes).map_err(|error| {
            LoopError::Artefact {
                path: path.to_owned(),
                source: error,
            }
        })?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error("read", path, error)),
    }
}

fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let file = plain_file::open(path)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(std::io::Error::other("it is larger than 16 MB")),
        false => Ok(bytes),
    }
}

/// A file that is there and is a text.
fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path).ok()?).ok()
}
