//! `ralph execute`: the same loop over an artefacts project, whose files its agents write too.
//!
//! Keeps what the files said before a run, and puts right afterwards what is not an agent's to say. Has
//! no loop of its own, and never takes a file for evidence.

mod put_back;
mod snapshot;

use std::path::{Path, PathBuf};

use ralph_core::{
    artefacts::{
        BadFile, Folder, FromFiles, IterationRef, ProjectName,
        obstacles::Obstacles,
        parse_verify_commands, render_task_part,
        state::{EntryStatus, Log, LogEntry},
        template::{Params, PickedTask, render},
    },
    config::Config,
    id::IterationId,
    job::{IterationLog, Job},
    memory::first_words,
    prompt::{Bundle, PromptCaps, Template},
    task::VerifyCommand,
};

use self::{put_back::Links, snapshot::Snapshot};
use crate::{
    error::{LoopError, file_error},
    git::Repo,
    plain_file,
    source::write_atomically,
};

/// The project's own template, where it has one.
pub(crate) const EXECUTE_TEMPLATE: &str = ".ralph/prompts/execute.md";

/// The files of the project that is executed.
pub(crate) struct Artefacts {
    project: ProjectName,
    folder: Folder,
    /// From the root of the repository.
    relative: PathBuf,
    links: Links,
    /// Lines of the brief that are no commands, as far as can be told; what to say of them.
    pub(crate) unclear: Vec<String>,
    /// As it all stood before the last run of an agent.
    before: Snapshot,
    state_dir: PathBuf,
}

impl Artefacts {
    /// Opens the files. Where a loop was killed in the midst of this iteration, what they said before it
    /// is still known, and a brief that was edited meanwhile is put back at once: commands are read
    /// from it.
    pub(crate) fn open(
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

    /// Remembers what the next prompt has to say of files that could not be read.
    pub(crate) fn tell_next(&mut self, said: Vec<String>) -> Result<(), LoopError> {
        if said.is_empty() {
            return Ok(());
        }
        self.before.set_aside.extend(said);
        self.before.save(&self.state_dir)
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn project(&self) -> &ProjectName {
        &self.project
    }

    /// Everything in the folder is the project's: never an agent's work, never a reason to refuse.
    pub(crate) fn own_path(&self) -> &Path {
        &self.relative
    }

    pub(crate) fn done_file(&self) -> PathBuf {
        self.folder.done()
    }

    pub(crate) fn name(&self) -> &str {
        self.project.as_str()
    }

    /// The number of an iteration in `state.json`.
    fn number(&self, job: &Job) -> u64 {
        // A look ahead has an iteration without an id.
        if job.iteration != IterationId::default() && self.before.iteration_id == job.iteration {
            return self.before.number;
        }
        let log = self.read_state().unwrap_or_default();
        log.number_for(job.number)
    }

    fn at<'t>(&self, job: &'t Job) -> IterationRef<'t> {
        IterationRef {
            iteration: self.number(job),
            task: job.task.id.as_str(),
        }
    }

    /// Makes the files ready for a run of an agent, and notes how they are. What is wrong with them now
    /// only a person may change, and is said.
    pub(crate) fn before_run(&mut self, job: &Job) -> Result<(), LoopError> {
        let number = self.number(job);
        let (log, obstacles) = self.read_both()?;
        let known = if self.before.iteration_id == job.iteration {
            std::mem::take(&mut self.before.known)
        } else {
            obstacles.ids()
        };
        self.write_if_missing(&self.folder.state(), &log.render())?;
        self.write_if_missing(&self.folder.obstacles(), &obstacles.render())?;
        self.remove_done()?;
        self.before = Snapshot {
            project: self.project.as_str().to_owned(),
            iteration_id: job.iteration.clone(),
            number,
            state: read_text(&self.folder.state()).unwrap_or_else(|| log.render()),
            obstacles: read_text(&self.folder.obstacles()).unwrap_or_else(|| obstacles.render()),
            spec: read_text(&self.folder.spec()),
            // The prompt has told them.
            set_aside: Vec::new(),
            known,
        };
        self.before.save(&self.state_dir)
    }

    /// A signal from before says nothing about the run that comes.
    fn remove_done(&self) -> Result<(), LoopError> {
        let path = self.folder.done();
        plain_file::remove(&path).map_err(|error| file_error("remove", &path, error))
    }

    fn read_both(&self) -> Result<(Log, Obstacles), LoopError> {
        let obstacles = read(&self.folder.obstacles(), Obstacles::parse)?;
        Ok((self.read_state()?, obstacles.unwrap_or_default()))
    }

    fn read_state(&self) -> Result<Log, LoopError> {
        Ok(read(&self.folder.state(), Log::parse)?.unwrap_or_default())
    }

    fn write_if_missing(&self, path: &Path, text: &str) -> Result<(), LoopError> {
        if path.exists() {
            Ok(())
        } else {
            Ok(write_atomically(path, text.as_bytes())?)
        }
    }

    /// The prompt of a run: the template of the execution around what every prompt says of its task.
    pub(crate) fn prompt(
        &self,
        job: &Job,
        bundle: &Bundle<'_>,
        caps: &PromptCaps,
    ) -> Result<String, LoopError> {
        let obstacles = read(&self.folder.obstacles(), Obstacles::parse)?;
        let files = FromFiles {
            open: obstacles.map_or_else(Vec::new, |all| all.open()),
            set_aside: self.before.set_aside.clone(),
        };
        let task = render_task_part(bundle, caps, &files)?;
        let own = job.prompt.template.clone();
        let own = own.map(|(name, text)| Template { name, text });
        let number = u32::try_from(self.number(job)).unwrap_or(u32::MAX);
        let params = Params::Execute {
            project: &self.project,
            iteration: number,
            // Counted on from what the project has had before this run of the command.
            iterations: number.saturating_add(job.prompt.iterations_left),
            task: Some(PickedTask {
                id: job.task.id.as_str(),
                part: &task,
            }),
        };
        Ok(render(own.as_ref(), &params)?)
    }

    /// Writes down what the iteration came to, once: the entry is looked up by its number.
    pub(crate) fn write_entry(
        &self,
        job: &Job,
        log: &IterationLog,
        status: EntryStatus,
        verdict: &str,
    ) -> Result<(), LoopError> {
        let number = self.number(job);
        let mut entries = self.read_state()?;
        let was = entries.clone();
        let obstacles = read(&self.folder.obstacles(), Obstacles::parse)?;
        entries.put(&LogEntry {
            iteration: number,
            task_id: job.task.id.to_string(),
            status,
            summary: summary(log, status, verdict),
            files_modified: files(log),
            obstacles: obstacles
                .map_or_else(Vec::new, |all| all.met_in(number, &self.before.known)),
        });
        if entries != was {
            let path = self.folder.state();
            let text = entries.render_after(&read_text(&path).unwrap_or_default());
            write_atomically(&path, text.as_bytes())?;
        }
        Ok(())
    }

    /// Returns the files of the project that belong into a commit with its task file: those that git
    /// tracks, and new ones that it does not ignore.
    pub(crate) async fn committed(&self, repo: &Repo) -> Result<Vec<PathBuf>, LoopError> {
        let mut found = Vec::new();
        for path in [self.folder.state(), self.folder.obstacles()] {
            let Some(name) = path.file_name().filter(|_| path.is_file()) else {
                continue;
            };
            let path = self.relative.join(name);
            if repo.is_tracked(&path).await? || !repo.is_ignored(&path).await? {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Adds the commands that the brief names to those of the configuration.
    pub(crate) fn adding_commands_to(mut self, config: &mut Config) -> Self {
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

/// In the agent's own words where it found some, with what ralph made of it where that is not all.
fn summary(log: &IterationLog, status: EntryStatus, verdict: &str) -> String {
    let said = &log.said;
    let words = said.block.summary.clone();
    let words = words.unwrap_or_else(|| first_words(&said.final_message));
    let words = words.trim();
    match (status, words.is_empty()) {
        (EntryStatus::Completed, false) => words.to_owned(),
        (EntryStatus::Attempted, false) => format!("{words} ({verdict})"),
        (EntryStatus::Completed | EntryStatus::Attempted, true) => verdict.to_owned(),
    }
}

fn files(log: &IterationLog) -> Vec<String> {
    let change = log.change.as_ref();
    let files = change
        .map(|change| change.files.as_slice())
        .unwrap_or_default();
    files.iter().map(|file| file.path.clone()).collect()
}

/// Of a file of the project this much is read at most; what is larger was not written by hand.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

pub(crate) fn read<T>(
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
    if bytes.len() as u64 > MOST_BYTES {
        Err(std::io::Error::other("it is larger than 16 MB"))
    } else {
        Ok(bytes)
    }
}

/// A file that is there and is a text.
fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path).ok()?).ok()
}
