//! Looks at what an agent changed, before anything of it is verified: puts back what was not its to
//! change, writes the tree that would be committed, and refuses what must not land.

use std::{
    collections::HashSet,
    io::Read as _,
    path::{Path, PathBuf},
};

use ralph_core::{
    change::{ChangeKind, CompiledPolicy, Contents, Inspection, inspect, shown},
    event::Event,
    iteration::{Change, ChangedFile, Purpose, Refusal, StepDone},
    verdict::Halt,
};

use super::{Driver, LoopError, logs::Logs, notes::Turn};
use crate::git::{History, Oid, StageSpec};

/// Of a changed file this much is looked at for secrets.
const SCAN_BYTES: u64 = 4 * 1024 * 1024;

/// The promise that a backlog is done.
const ALL_DONE: &str = "DONE";

/// What staging needs, owned: the spec itself only borrows.
pub(super) struct StageParts {
    base: Oid,
    untracked: HashSet<PathBuf>,
    own: Vec<PathBuf>,
}

impl StageParts {
    pub(super) fn as_spec<'a>(&'a self, branch: &'a str, policy: &CompiledPolicy) -> StageSpec<'a> {
        StageSpec {
            base: &self.base,
            branch,
            untracked_before: &self.untracked,
            own_paths: &self.own,
            max_file_bytes: policy.max_file_bytes,
        }
    }
}

impl Driver {
    pub(super) fn stage_spec(&self, turn: &Turn) -> StageParts {
        StageParts {
            base: turn.base.clone(),
            untracked: turn.untracked.clone(),
            own: self.own_paths(),
        }
    }

    pub(super) async fn inspect(
        &mut self,
        turn: &mut Turn,
        logs: &mut Logs,
    ) -> Result<StepDone, LoopError> {
        match turn.purpose() {
            Purpose::Attempt => {}
            Purpose::Diagnosis => return self.inspect_diagnosis(turn).await,
        }
        let mut found = Findings::default();
        self.put_own_files_back(turn, &mut found)?;
        self.check_history(turn, &mut found).await?;
        found.flags.extend(self.empty_promise(turn));
        self.check_git_folder(&mut found)?;
        self.run_formatters(logs, &mut found).await;
        let parts = self.stage_spec(turn);
        let staged = self
            .repo
            .stage(&parts.as_spec(&self.branch, &self.policy))
            .await?;
        turn.tip = staged.tip.clone();
        let root = self.root.clone();
        let now = |path: &Path| read_capped(&root.join(path));
        let before = |path: &Path| self.repo.read_at_blocking(&turn.base, path, SCAN_BYTES);
        let contents = Contents {
            now: &now,
            before: &before,
        };
        let Inspection { refusals, flags } = inspect(&staged.change, &self.policy, &contents);
        found.flags.extend(flags.iter().map(ToString::to_string));
        if let Some(first) = refusals.first() {
            let more = refusals.len() - 1;
            let more = if more > 0 {
                format!(" (and {more} more)")
            } else {
                String::new()
            };
            found.refuse(format!("{first}{more}"));
        }
        let change = Change {
            tree: staged.tree.to_string(),
            files: staged
                .change
                .changes
                .iter()
                .map(|c| ChangedFile {
                    path: shown(&c.path),
                    kind: kind_name(c.kind).into(),
                })
                .collect(),
            refusal: found.refusal,
            flags: found.flags,
        };
        self.tell(&Event::Inspected {
            files: change.files.clone(),
            flags: change.flags.clone(),
            refusal: change.refusal.as_ref().map(|r| r.reason.clone()),
        });
        Ok(StepDone::Inspected { change })
    }

    /// Whether the agent moved the branch. Before the git folder is put back: HEAD is part of it.
    pub(super) async fn check_history(
        &self,
        turn: &Turn,
        found: &mut Findings,
    ) -> Result<(), LoopError> {
        match &self.repo.history(&turn.base, &self.branch).await? {
            History::Unmoved => {}
            History::Ahead { .. } => found
                .flags
                .push("the agent committed by itself; its commits are squashed".into()),
            History::Rewritten { .. } | History::LeftBranch { .. } => {
                let kept = self
                    .repo
                    .undo_moved_history(&self.branch, &turn.base, turn.id())
                    .await?;
                let place = kept
                    .branch
                    .or(kept.head)
                    .map(|r| format!(", kept at {r}"))
                    .unwrap_or_default();
                found.halt(format!(
                    "the agent rewrote history or left the branch; it is put back{place}"
                ));
            }
        }
        Ok(())
    }

    /// The task file, `ralph.yaml` and the progress file: claims and edits that are not the agent's
    /// to make are put back.
    pub(super) fn put_own_files_back(
        &mut self,
        turn: &mut Turn,
        found: &mut Findings,
    ) -> Result<(), LoopError> {
        self.ensure_dot_ralph()?;
        if let Some(artefacts) = &mut self.artefacts {
            let set_aside = artefacts.check_tasks(turn, &self.board.source)?;
            found.flags.extend(set_aside);
        }
        let tampering = self.board.source.put_back(turn.task_id())?;
        found
            .flags
            .extend(tampering.iter().map(|t| format!("task file: {t}")));
        if let Some(artefacts) = &mut self.artefacts {
            found.flags.extend(artefacts.put_back(turn)?);
        }
        for path in self.config_files.put_back(&self.state_dir)? {
            let name = path.strip_prefix(&self.root).unwrap_or(&path).display();
            found.halt(format!(
                "{name} was edited while the agent ran; it is put back"
            ));
        }
        turn.progress_edited = self.check_progress(&turn.progress)?;
        Ok(())
    }

    /// What to say of an agent that claims the end of all work while there is some left.
    fn empty_promise(&self, turn: &Turn) -> Option<String> {
        let promise = turn.notes.said.promise.as_deref();
        promise.filter(|text| *text == ALL_DONE)?;
        let tasks = self.board.tally();
        let others = tasks
            .total
            .checked_sub(tasks.completed + tasks.skipped + 1)?;
        match others {
            0 => None,
            1 => Some("the agent claims that all is done, 1 task is open besides this one".into()),
            n => Some(format!(
                "the agent claims that all is done, {n} tasks are open besides this one"
            )),
        }
    }

    pub(super) fn check_git_folder(&self, found: &mut Findings) -> Result<(), LoopError> {
        let Some(guard) = &self.guard else {
            return Ok(());
        };
        for tampered in guard.restore_changed()? {
            let flag = format!("{} {}", shown(&tampered.path), tampered.how);
            found.flags.push(flag);
        }
        Ok(())
    }

    /// Formatters run before the tree is written, so that what is verified is what is committed.
    async fn run_formatters(&mut self, logs: &mut Logs, found: &mut Findings) {
        let commands = self.config.verification.format.clone();
        if commands.is_empty() {
            return;
        }
        logs.heading("format");
        let report = self.run_commands(&commands, logs).await;
        for failed in report.commands.iter().filter(|c| !c.passed()) {
            found
                .flags
                .push(format!("formatter `{}` {}", failed.command, failed.outcome));
        }
    }
}

/// What an inspection finds; the first refusal stands, and one that halts the loop goes before one
/// that does not.
#[derive(Default)]
pub(super) struct Findings {
    refusal: Option<Refusal>,
    flags: Vec<String>,
}

impl Findings {
    fn refuse(&mut self, reason: String) {
        self.refusal.get_or_insert(Refusal {
            reason,
            halt: Halt::Attempt,
        });
    }

    pub(super) fn into_parts(self) -> (Option<Refusal>, Vec<String>) {
        (self.refusal, self.flags)
    }

    /// What was found, for an attempt whose verdict is known already.
    pub(super) fn into_flags(self) -> Vec<String> {
        let reason = self.refusal.map(|refusal| refusal.reason);
        self.flags.into_iter().chain(reason).collect()
    }

    fn halt(&mut self, reason: String) {
        if self
            .refusal
            .as_ref()
            .is_none_or(|r| r.halt == Halt::Attempt)
        {
            self.refusal = Some(Refusal {
                reason,
                halt: Halt::Loop,
            });
        }
    }
}

fn kind_name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::TypeChanged => "type_changed",
    }
}

/// The beginning of a regular file. A link is not followed: what it points to is not the change.
fn read_capped(path: &Path) -> Option<Vec<u8>> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .ok()?
        .take(SCAN_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}
