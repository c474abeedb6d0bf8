//! Puts back what a killed ralph left undone about an agent, before anything is read or asked: the git
//! folder, the configuration, the task files, history that was being rewritten.
//!
//! After a crash, an agent's changes can't be told from a person's. What is taken back is kept in
//! ralph's own folder, and said; where nothing is safe to take back, ralph refuses.

use std::{
    borrow::Cow,
    path::Path,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use ralph_core::{change::shown, iteration::StepDone, secret::Redaction, task::format::Tampering};

use super::{LoopError, Setup, files::own_files, rewrite};
use crate::{
    config_files::ConfigFiles,
    error::file_error,
    git::{ChangedBy, Guard, HeadNow, RefGuard, Repo},
    plain_file, source,
    store::{Journal, LoopRow, RepositoryId, Step},
};

/// The state of the git folder, as it was found.
pub(super) struct FoundGit {
    pub(super) branch: BranchNow,
    /// True if agents worked in the user's own folder, where the git folder is guarded.
    pub(super) guarded: bool,
    /// Messages for the person.
    pub(super) notices: Vec<String>,
}

/// The branch of an interrupted loop: still there, or gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BranchNow {
    There,
    /// A person removed it, and so abandoned the loop.
    Gone,
}

/// Puts back what was changed in the git folder since a snapshot was taken that is still there.
pub(super) fn restore_git(state_dir: &Path) -> Result<FoundGit, LoopError> {
    let Some(guard) = Guard::load(state_dir)? else {
        return Ok(FoundGit {
            branch: BranchNow::There,
            guarded: false,
            notices: Vec::new(),
        });
    };
    guard.reopen_places()?;
    let refs = RefGuard::load(state_dir)?;
    let mut said = match &refs {
        Some(refs) => refs.free_wedges(|| refs.task_files())?,
        None => Vec::new(),
    };
    let by = last_sign_of_life(state_dir).map_or(ChangedBy::Programs, ChangedBy::ProgramsUntil);
    let restore_refs = || match &refs {
        Some(refs) => refs.restore_changed(by),
        None => Ok(Vec::new()),
    };
    let head = match guard.head_now() {
        // A ref that says nothing keeps HEAD from being known.
        Err(_) => {
            said.extend(restore_refs()?);
            guard.head_now()?
        }
        Ok(head) => head,
    };
    let branch = branch_now(head)?;
    let guard = match branch {
        BranchNow::There => guard,
        BranchNow::Gone => guard.without_head(),
    };
    if branch == BranchNow::There {
        said.extend(restore_refs()?);
    }
    if let Some(refs) = refs {
        refs.release()?;
    }
    let tampered = guard.restore_changed()?;
    let notices = tampered.iter().map(|t| {
        format!(
            "{} {}; as it was found it is kept in {}",
            shown(&t.path),
            t.how,
            state_dir.display()
        )
    });
    Ok(FoundGit {
        branch,
        guarded: true,
        notices: said.into_iter().chain(notices).collect(),
    })
}

/// Hides secrets in what was taken away from where programs had written it.
pub(super) fn hide_in_taken_away(state_dir: &Path, redaction: &Redaction) -> Result<(), LoopError> {
    let entries = std::fs::read_dir(state_dir).into_iter().flatten();
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("taken-away-") {
            continue;
        }
        let bytes = plain_file::read(&path).unwrap_or_default();
        if let Cow::Owned(hidden) = redaction.hide_bytes(&bytes) {
            std::fs::write(&path, hidden).map_err(|e| file_error("write", &path, e))?;
        }
    }
    Ok(())
}

/// Tells what became of the branch of an interrupted loop. One that HEAD has left is refused.
pub(super) fn branch_now(head: HeadNow) -> Result<BranchNow, LoopError> {
    match head {
        HeadNow::AsItWas => Ok(BranchNow::There),
        HeadNow::BranchGone => Ok(BranchNow::Gone),
        // The files went with HEAD: taken for an agent's work, they would undo what has landed.
        HeadNow::Elsewhere { branch, found } => Err(LoopError::LeftBranch { branch, found }),
    }
}

/// Past the last sign of life of a loop, programs that it had started may have been alive for so long.
const AFTERLIFE: Duration = Duration::from_secs(10);

/// Returns until when programs of a killed loop may have run. A loop that lives writes its health every few
/// seconds.
fn last_sign_of_life(state_dir: &Path) -> Option<SystemTime> {
    let data_dir = state_dir.ancestors().nth(2)?;
    let loops = std::fs::read_dir(data_dir.join("ralph-loops")).ok()?;
    let written = loops.flatten().filter_map(|folder| {
        let health = std::fs::metadata(folder.path().join("health.json"));
        health.ok()?.modified().ok()
    });
    Some(written.max()? + AFTERLIFE)
}

/// Ends what an interrupted loop left whose branch is gone: there is nothing to go on with.
pub(super) async fn record_abandoned(
    row: &LoopRow,
    journal: &mut dyn Journal,
    now: Timestamp,
) -> Result<(), LoopError> {
    if let Some(unfinished) = journal.unfinished_iteration(&row.id).await? {
        journal.forget_iteration(&unfinished.start.id, now).await?;
    }
    Ok(())
}

/// If ralph was killed while an agent ran, an edit of `ralph.yaml` is the agent's: put back, so that
/// a restart can't adopt it.
pub(super) async fn restore_config(
    state_dir: &Path,
    row: &LoopRow,
    journal: &mut dyn Journal,
) -> Result<(), LoopError> {
    if journal.unfinished_iteration(&row.id).await?.is_none() {
        return Ok(());
    }
    let mut kept: serde_json::Value = serde_json::from_str(&row.config).unwrap_or_default();
    let files: ConfigFiles = serde_json::from_value(kept["files"].take()).unwrap_or_default();
    match files.put_back(state_dir)?.into_iter().next() {
        Some(path) => Err(LoopError::ConfigRestored(path)),
        None => Ok(()),
    }
}

/// Describes what is to be said of task files that were put back.
#[derive(Debug, Default)]
pub(super) struct RestoredTasks {
    /// To a person.
    pub(super) notices: Vec<String>,
    /// To the next agent, of files that could not be read any more.
    pub(super) unreadable: Vec<String>,
}

/// If ralph was killed while an agent ran, what changed in the task files since is the agent's: its
/// claims are undone before they are read.
pub(super) async fn restore_tasks(
    state_dir: &Path,
    row: &LoopRow,
    journal: &mut dyn Journal,
    redaction: &Redaction,
) -> Result<RestoredTasks, LoopError> {
    let Some(unfinished) = journal.unfinished_iteration(&row.id).await? else {
        return Ok(RestoredTasks::default());
    };
    // Once the change is verified, the files are as ralph wants them.
    let done = unfinished.steps.iter().rev().find_map(|step| match step {
        Step::Done(done) => Some(done),
        Step::Intent(_) => None,
    });
    let (None | Some(StepDone::Bundled { .. } | StepDone::AgentEnded(_))) = done else {
        return Ok(RestoredTasks::default());
    };
    let start = &unfinished.start;
    let restored = source::put_back_since(state_dir, start.id.as_str(), &start.task, redaction)?;
    let notices = restored.iter().map(|file| {
        let what: Vec<String> = file.tampering.iter().map(ToString::to_string).collect();
        format!(
            "{} was changed while an agent ran, and is put back ({}); as it was found it is kept in {}",
            file.path.display(),
            what.join(", "),
            state_dir.display()
        )
    });
    let unreadable = restored.iter().filter_map(|file| {
        let name = file.path.file_name()?.to_string_lossy();
        let message = file.tampering.iter().find_map(|what| match what {
            Tampering::Unreadable { message } => Some(message),
            Tampering::Status { .. }
            | Tampering::Added { .. }
            | Tampering::Attempts { .. }
            | Tampering::Rewritten { .. }
            | Tampering::Header { .. } => None,
        })?;
        Some(format!(
            "{name} could not be used ({message}); it is back as it was"
        ))
    });
    Ok(RestoredTasks {
        notices: notices.collect(),
        unreadable: unreadable.collect(),
    })
}

/// A revert or squash that was cut off goes before everything that looks at tasks or history.
pub(super) async fn finish_rewrite(
    setup: &Setup,
    repo: &Repo,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
) -> Result<Option<String>, LoopError> {
    let config_files = ConfigFiles::of(&setup.root, setup.config_file.as_ref(), None);
    let mut ground = rewrite::Ground {
        root: &setup.root,
        repo,
        journal,
        repository,
        own: &own_files(&setup.config, &config_files, &setup.root),
        progress: &setup.config.memory.progress_file,
        now: setup.clock.now(),
    };
    let recovered = rewrite::recover(&mut ground).await.map_err(Box::new)?;
    Ok(recovered.map(|recovered| recovered.sentence().to_owned()))
}
