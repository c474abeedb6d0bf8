//! A diagnosis on its way: what its agent is told, what it may write, and what is kept of it.
//!
//! Nothing of it is ever landed. What an agent changed beyond its one file is put aside under the
//! iteration's ref, and the working tree is put back.

use std::{io::Read as _, path::PathBuf};

use ralph_core::{
    change::shown,
    event::Event,
    gutter::{Diagnosis, Gutter, MOST_CHARS, Made},
    iteration::{Change, ChangedFile, Purpose, StepDone},
    prompt::Diagnose,
    record::IterationRecord,
    task::TaskId,
    termination,
    verdict::Verdict,
};

use super::super::{
    Driver, LoopError, files::file_error, inspect::Findings, logs::Logs, notes::Turn,
};
use crate::{
    git::{FileStat, Oid},
    plain_file,
    store::TaskState,
};

/// Where diagnoses are written: ralph's own, never staged.
pub(in crate::driver) const FOLDER: &str = ".ralph/diagnosis";
/// Attempts that a diagnosis is told of, and files of each.
const MOST_TOLD: usize = 4;
const MOST_FILES: usize = 20;

impl Turn {
    pub(in crate::driver) fn purpose(&self) -> Purpose {
        match self.start.diagnose {
            Some(_) => Purpose::Diagnosis,
            None => Purpose::Attempt,
        }
    }
}

/// The file that a diagnosis of the task is written to, below the root.
fn file_of(task: &TaskId) -> PathBuf {
    PathBuf::from(FOLDER).join(format!("{task}.md"))
}

impl Driver {
    /// What the task's next iteration has to find out, if it is to be a diagnosis. A person may not want
    /// one any more.
    pub(in crate::driver) fn due_diagnosis(&self, task: &TaskId) -> Option<Gutter> {
        match self.machine.limits().gutter.diagnose {
            termination::Diagnose::Yes => self.board.state(task)?.gutter.due.clone(),
            termination::Diagnose::No => None,
        }
    }

    /// Makes room for the diagnosis: one of another time must not pass for it.
    pub(in crate::driver) fn prepare_diagnosis(&self, task: &TaskId) -> Result<(), LoopError> {
        let folder = self.root.join(FOLDER);
        let path = self.root.join(file_of(task));
        let prepare = || {
            // A link in its place would have ralph write and read elsewhere.
            if std::fs::symlink_metadata(&folder).is_ok_and(|found| !found.is_dir()) {
                std::fs::remove_file(&folder)?;
            }
            std::fs::create_dir_all(&folder)?;
            plain_file::make_room(&path)?;
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
                _ => Ok(()),
            }
        };
        prepare().map_err(|e| file_error("make room for", &path, e))
    }

    /// What the prompt of a diagnosis says of what happened.
    pub(in crate::driver) async fn what_to_find_out(
        &mut self,
        turn: &Turn,
    ) -> Result<Option<Diagnose>, LoopError> {
        let Some(gutter) = &turn.start.diagnose else {
            return Ok(None);
        };
        let records = self.task_records(turn.task_id(), MOST_TOLD).await?;
        let mut attempts: Vec<(String, String)> = Vec::new();
        for record in records.iter().rev() {
            let Some(trace) = &record.trace else {
                continue;
            };
            let files: Vec<&str> = trace
                .files
                .iter()
                .take(MOST_FILES)
                .map(String::as_str)
                .collect();
            attempts.push((
                format!(
                    "iteration {}: {}",
                    record.iteration,
                    record.verdict.sentence()
                ),
                format!("it changed: {}", files.join(", ")),
            ));
        }
        attempts.extend(self.two_states(gutter).await);
        Ok(Some(Diagnose {
            sentence: gutter.sentence(),
            file: file_of(turn.task_id()).display().to_string(),
            attempts,
        }))
    }

    /// How the two states differ that the work goes back and forth between. Git may have cleared one away.
    async fn two_states(&self, gutter: &Gutter) -> Option<(String, String)> {
        let Gutter::Oscillation { trees, .. } = gutter else {
            return None;
        };
        let [one, other] = trees.each_ref().map(|tree| Oid::parse(tree).ok());
        let (one, other) = (one?, other?);
        let (stats, _) = self.repo.diff_stat(&one, &other, MOST_FILES).await.ok()?;
        let lines: Vec<String> = stats.iter().map(stat_line).collect();
        let states = format!(
            "from one state, {}, to the other, {}:",
            one.short(),
            other.short()
        );
        Some((states, lines.join("\n")))
    }

    /// Looks at what the agent of a diagnosis changed; its own file is none of it.
    pub(in crate::driver) async fn inspect_diagnosis(
        &mut self,
        turn: &mut Turn,
    ) -> Result<StepDone, LoopError> {
        let mut found = Findings::default();
        self.put_own_files_back(turn, &mut found)?;
        self.check_history(turn, &mut found).await?;
        self.check_git_folder(&mut found)?;
        let parts = self.stage_spec(turn);
        let staged = self
            .repo
            .stage(&parts.as_spec(&self.branch, &self.policy))
            .await?;
        let beyond = self.beyond(turn, &staged.tree).await?;
        let (refusal, mut flags) = found.into_parts();
        if !beyond.is_empty() {
            let names: Vec<&str> = beyond
                .iter()
                .take(MOST_FILES)
                .map(|f| f.path.as_str())
                .collect();
            flags.push(format!(
                "a diagnosis changes nothing: what it did to {} is put aside",
                names.join(", ")
            ));
        }
        let change = Change {
            tree: staged.tree.to_string(),
            files: beyond,
            refusal,
            flags,
        };
        if !change.files.is_empty() || change.refusal.is_some() {
            self.tell(&Event::Inspected {
                files: change.files.clone(),
                flags: change.flags.clone(),
                refusal: change.refusal.as_ref().map(|r| r.reason.clone()),
            });
        }
        Ok(StepDone::Inspected { change })
    }

    /// The files in which a tree differs from what the iteration began with.
    async fn beyond(&self, turn: &Turn, tree: &Oid) -> Result<Vec<ChangedFile>, LoopError> {
        let from = self.started_from(turn)?;
        let (stats, _) = self.repo.diff_stat(&from, tree, usize::MAX).await?;
        let changed = |stat: FileStat| ChangedFile {
            path: shown(&stat.path),
            kind: "modified".into(),
        };
        Ok(stats.into_iter().map(changed).collect())
    }

    /// Puts aside what a diagnosis changed, and the working tree back.
    pub(in crate::driver) async fn put_aside(
        &mut self,
        turn: &Turn,
        tree: &Oid,
    ) -> Result<StepDone, LoopError> {
        let beyond = self.beyond(turn, tree).await?;
        let reference = if beyond.is_empty() {
            None
        } else {
            Some(self.repo.save_attempt(turn.id(), &turn.base, tree).await?)
        };
        self.reset(turn).await?;
        Ok(StepDone::Kept { reference })
    }

    /// What came of a diagnosis.
    pub(in crate::driver) fn diagnosis(&self, turn: &Turn, verdict: &Verdict) -> Option<Diagnosis> {
        let gutter = turn.start.diagnose.clone()?;
        if *verdict != Verdict::Diagnosed {
            return None;
        }
        let file = self.read_diagnosis(turn.task_id());
        Some(Diagnosis {
            iteration: turn.n,
            gutter,
            text: Diagnosis::text_of(file.as_deref(), &turn.notes.said.final_message),
            escalation: turn.notes.said.escalation.clone(),
        })
    }

    fn read_diagnosis(&self, task: &TaskId) -> Option<String> {
        let folder = std::fs::symlink_metadata(self.root.join(FOLDER)).ok()?;
        let path = self.root.join(file_of(task));
        let found = std::fs::symlink_metadata(&path).ok()?;
        if !folder.is_dir() || !found.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        let most = (MOST_CHARS * 4) as u64;
        plain_file::open(&path)
            .ok()?
            .take(most)
            .read_to_end(&mut bytes)
            .ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What a diagnosis comes to for its task: it is no attempt, so that all but the diagnosis stays.
    pub(in crate::driver) fn state_after_diagnosis(
        &self,
        turn: &Turn,
        verdict: &Verdict,
        diagnosis: Option<Diagnosis>,
    ) -> TaskState {
        let mut state = self
            .board
            .state(turn.task_id())
            .cloned()
            .unwrap_or_default();
        // One that was cut off, or that nobody could make, is still to be made.
        let is_over = *verdict == Verdict::Diagnosed || verdict.is_charged();
        if is_over {
            state.gutter.due = None;
            state.gutter.made = Made::Once;
        }
        if diagnosis.is_some() {
            state.gutter.diagnosis = diagnosis;
        }
        state
    }
}

impl Driver {
    /// Says what was found out.
    pub(in crate::driver) fn tell_diagnosis(&mut self, record: &IterationRecord, logs: &mut Logs) {
        let Some(diagnosis) = &record.diagnosis else {
            return;
        };
        logs.heading("diagnosis");
        logs.line(&diagnosis.text);
        let put_aside = record.git.files_changed.iter();
        self.tell(&Event::Diagnosis {
            iteration: record.iteration,
            task: record.task_id.clone(),
            text: diagnosis.text.clone(),
            put_aside: put_aside.map(|f| f.path.clone()).collect(),
        });
    }
}

fn stat_line(stat: &FileStat) -> String {
    let path = shown(&stat.path);
    match stat.lines {
        Some((added, removed)) => format!("{path} +{added} -{removed}"),
        None => format!("{path} (binary)"),
    }
}
