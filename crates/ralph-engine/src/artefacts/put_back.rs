//! After a run: what its agent wrote into the files of the project, as far as it is an agent's to write.
//!
//! What can't be read is set aside and named to the next agent. Never writes to where an agent points.

use std::path::{Path, PathBuf};

use ralph_core::{
    artefacts::{BadFile, Folder, ProjectName, obstacles, shape_problems, state},
    job::Job,
    secret::{Redaction, hidden_flag},
    signal::Claim,
    task::{Status, format, graph::Graph},
};

use super::{Artefacts, read_bytes, read_text};
use crate::{
    agent::DoneFile,
    error::{LoopError, file_error},
    iteration::LOGS,
    plain_file,
    source::{Source, write_atomically},
};

/// Whether the folders that a path goes through are links, and where to.
pub(super) struct Links(Vec<(PathBuf, Option<PathBuf>)>);

impl Links {
    pub(super) fn of(root: &Path, project: &ProjectName) -> Self {
        let folder = Folder::new(root, project);
        let above = folder.path().parent().map(Path::to_owned);
        let paths = above.into_iter().chain([folder.path().to_owned()]);
        Self(
            paths
                .map(|path| (path.clone(), std::fs::read_link(&path).ok()))
                .collect(),
        )
    }

    /// Makes the folders what they were, without what is in them.
    fn put_back(&self) -> Result<(), LoopError> {
        for (path, was) in &self.0 {
            let now = std::fs::read_link(path).ok();
            if now == *was && path.is_dir() {
                continue;
            }
            let put = || {
                if now.is_some() || path.is_file() {
                    std::fs::remove_file(path)?;
                }
                match was {
                    Some(link) if !path.is_dir() => std::os::unix::fs::symlink(link, path),
                    _ => std::fs::create_dir_all(path),
                }
            };
            put().map_err(|error| file_error("put back", path, error))?;
        }
        Ok(())
    }
}

impl Artefacts {
    /// Returns whether the files claim that the task is done. An agent that wrote down that it only attempted
    /// the task claims nothing, however it signals its end.
    pub(crate) fn claim(&self, job: &Job, source: &Source, done_file: &DoneFile) -> Option<Claim> {
        let before = state::Log::parse(self.before.state.as_bytes()).unwrap_or_default();
        let now = self.read_state().ok();
        let said = now.and_then(|now| now.said_since(&before, self.at(job)));
        let claims = match said {
            Some(state::EntryStatus::Attempted) => false,
            Some(state::EntryStatus::Completed) => true,
            None => done_file.is_there() || says_completed(job, source),
        };
        claims.then_some(Claim::ByFile)
    }

    /// Before the task file is looked at: one that lost its shape is back as it was.
    pub(crate) fn restore_tasks(
        &mut self,
        job: &Job,
        source: &Source,
    ) -> Result<Vec<String>, LoopError> {
        self.links.put_back()?;
        let [file] = source.files() else {
            return Ok(Vec::new());
        };
        if !source.is_written(&file.path) {
            return Ok(Vec::new());
        }
        let Ok(now) = read_bytes(&file.path) else {
            return Ok(Vec::new());
        };
        let problems = |bytes: &[u8]| {
            let mut all = shape_problems(bytes, &self.project);
            all.extend(graph_problems(&file.name, bytes));
            all
        };
        let known = problems(file.bytes());
        let mut new = problems(&now).into_iter();
        let Some(problem) = new.find(|problem| !known.contains(problem)) else {
            return Ok(Vec::new());
        };
        let said = self.set_aside(job, &file.path, &problem)?;
        write_atomically(&file.path, file.bytes())?;
        Ok(vec![said])
    }

    /// The other files.
    pub(crate) fn put_back(
        &mut self,
        job: &Job,
        redaction: &Redaction,
    ) -> Result<Vec<String>, LoopError> {
        self.links.put_back()?;
        let mut said = Vec::new();
        let at = self.at(job);
        let path = self.folder.state();
        let before = state::Log::parse(self.before.state.as_bytes()).unwrap_or_default();
        let should = match self.left_in(job, &path, state::Log::parse)? {
            FoundFileState::Read(after) => {
                let (log, found) = state::reconcile(&before, &after, at);
                said.extend(found);
                log.render_after(&self.before.state)
            }
            FoundFileState::SetAside(why) => {
                said.push(why);
                self.before.state.clone()
            }
        };
        let (before, path) = (&self.before.state, self.folder.state());
        let should = without_new_secrets(&path, before, should, redaction, &mut said);
        // What stood there before stays as it was written, not only what it says.
        if read_text(&path).as_ref() != Some(&should) {
            write_atomically(&path, should.as_bytes())?;
        }
        let path = self.folder.obstacles();
        let parse = obstacles::Obstacles::parse;
        let before = parse(self.before.obstacles.as_bytes()).unwrap_or_default();
        let should = match self.left_in(job, &path, parse)? {
            FoundFileState::Read(after) => {
                let (list, found) = obstacles::reconcile(&before, &after, at);
                said.extend(found);
                list.render()
            }
            FoundFileState::SetAside(why) => {
                said.push(why);
                self.before.obstacles.clone()
            }
        };
        let (before, path) = (&self.before.obstacles, self.folder.obstacles());
        let should = without_new_secrets(&path, before, should, redaction, &mut said);
        write_if_it_differs(&path, &should)?;
        said.extend(self.put_spec_back()?);
        self.remove_done()?;
        if !self.before.set_aside.is_empty() {
            self.before.save(&self.state_dir)?;
        }
        Ok(said)
    }

    /// A file as an agent left it; one that is gone says nothing.
    fn left_in<T: Default>(
        &mut self,
        job: &Job,
        path: &Path,
        parse: impl Fn(&[u8]) -> Result<T, BadFile>,
    ) -> Result<FoundFileState<T>, LoopError> {
        // A link is not followed: what it leads to is not the project's.
        if path.is_symlink() {
            plain_file::make_room(path).map_err(|e| file_error("put back", path, e))?;
        }
        let problem = match read_bytes(path) {
            Ok(bytes) => match parse(&bytes) {
                Ok(found) => return Ok(FoundFileState::Read(found)),
                Err(error) => error.message,
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(FoundFileState::Read(T::default()));
            }
            Err(error) => error.to_string(),
        };
        self.set_aside(job, path, &problem)
            .map(FoundFileState::SetAside)
    }

    /// The brief is a person's.
    pub(super) fn put_spec_back(&mut self) -> Result<Option<String>, LoopError> {
        let path = self.folder.spec();
        let Some(was) = &self.before.spec else {
            return Ok(None);
        };
        if !path.is_symlink() && read_text(&path).as_ref() == Some(was) {
            return Ok(None);
        }
        plain_file::make_room(&path).map_err(|e| file_error("put back", &path, e))?;
        write_atomically(&path, was.as_bytes())?;
        Ok(Some(
            "spec.md was edited while the agent ran; it is put back".into(),
        ))
    }

    /// Moves a file that can't be used to the logs, and remembers to tell the next agent.
    fn set_aside(&mut self, job: &Job, path: &Path, problem: &str) -> Result<String, LoopError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let logs = self.logs();
        let free = |nth: u32| {
            let run = if nth == 1 {
                String::new()
            } else {
                format!("-{nth}")
            };
            format!("iteration-{}{run}.{name}", job.number)
        };
        let kept = (1..).map(free).find(|kept| !logs.join(kept).exists());
        let kept = kept.unwrap_or_else(|| free(1));
        let to = logs.join(&kept);
        let was_file = path.is_file();
        let moved = || {
            std::fs::create_dir_all(&logs)?;
            plain_file::make_room(path)?;
            if was_file && std::fs::rename(path, &to).is_err() {
                std::fs::copy(path, &to)?;
                std::fs::remove_file(path)?;
            }
            Ok(())
        };
        moved().map_err(|error| file_error("set aside", path, error))?;
        let said = if was_file {
            format!(
                "{name} could not be used ({problem}); it is back as it was, what the agent wrote is in {}/{kept}",
                LOGS
            )
        } else {
            format!("{name} could not be used ({problem}); it is back as it was")
        };
        self.before.set_aside.push(said.clone());
        Ok(said)
    }

    fn logs(&self) -> PathBuf {
        // Three up from the project's folder is the root.
        let mut root = self.folder.path().to_owned();
        for _ in self.relative.components() {
            root.pop();
        }
        root.join(LOGS)
    }
}

/// What an agent left of a file.
enum FoundFileState<T> {
    Read(T),
    /// Nothing that can be read; what to say of it.
    SetAside(String),
}

/// The text without secrets that it had not before; adds what to say of them.
fn without_new_secrets(
    path: &Path,
    before: &str,
    text: String,
    redaction: &Redaction,
    said: &mut Vec<String>,
) -> String {
    let Some((hidden, rules)) = redaction.hide_added(before.as_bytes(), text.as_bytes()) else {
        return text;
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    said.push(hidden_flag(&name, &rules));
    String::from_utf8_lossy(&hidden).into_owned()
}

/// Leaves a file alone that says the same in another layout.
fn write_if_it_differs(path: &Path, should: &str) -> Result<(), LoopError> {
    let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    let now = read_bytes(path).ok().and_then(|bytes| value(&bytes));
    if now.is_some() && now == value(should.as_bytes()) {
        Ok(())
    } else {
        Ok(write_atomically(path, should.as_bytes())?)
    }
}

/// Links between tasks that lead nowhere or round in circles: no loop could go on with them.
fn graph_problems(name: &str, bytes: &[u8]) -> Vec<String> {
    match format::parse(name, 0, bytes) {
        Ok(document) => {
            let (_, problems) = Graph::build(document.tasks);
            problems.iter().map(ToString::to_string).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

/// Returns whether the task file says that the task is completed, which is for ralph to say.
fn says_completed(job: &Job, source: &Source) -> bool {
    source.files().iter().any(|file| {
        let now = read_bytes(&file.path).ok();
        let now = now.and_then(|bytes| format::parse(&file.name, 0, &bytes).ok());
        now.is_some_and(|document| {
            let own = document.tasks.iter().find(|task| task.id == job.task.id);
            own.is_some_and(|task| task.status == Status::Completed)
        })
    })
}
