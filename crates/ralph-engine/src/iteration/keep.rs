//! Keeps the work of an attempt that did not land: under a ref of its own, with the base put back.

use ralph_core::{
    gutter::{Trace, trace_of_diff},
    iteration::{Purpose, StepDone},
    loop_machine::WorkMoved,
    verdict::Verdict,
};

use super::{AgentSeen, IterationContext, LOGS, diagnosis::put_aside, inspect::keep_untracked};
use crate::{
    error::{LoopError, file_error},
    git::{History, KeptAttempt, Oid, Staged, attempt_ref},
    journal_text::oid,
    plain_file,
    workspace::Workspace,
};

/// Of the diff of an attempt; a longer one is compared by its tree alone.
const MOST_DIFF: u64 = 8 * 1024 * 1024;

pub(crate) async fn keep(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    verdict: &Verdict,
) -> Result<StepDone, LoopError> {
    let job = context.job;
    if context.agent == AgentSeen::NotYet {
        // What is in the tree is at most a part of the last attempt, which is kept already.
        workspace.reset(job).await?;
        let reference = job.start.attempt_ref.clone();
        return Ok(StepDone::Kept { reference });
    }
    // An agent that did not end well was not inspected: its claims in files are put back here.
    let restored = workspace.restore_own_files(job, &context.progress)?;
    context.log.progress_edited = restored.progress_edited;
    restored.findings.add_to(&mut context.log);
    let restored = workspace.restore_git_folder()?;
    context.log.flags.extend(restored);
    let staged = match workspace.stage(job).await {
        Ok(staged) => staged,
        // What can't be stored can't be kept. It goes all the same.
        Err(LoopError::Git(error)) if error.is_of_files() => {
            let what = format!("the work of the attempt can't be kept: {error}");
            context.log.flags.push(what);
            workspace.restore_history(job).await?;
            workspace.reset(job).await?;
            return Ok(StepDone::Kept { reference: None });
        }
        Err(error) => return Err(error),
    };
    if context.log.change.is_none() {
        let kept = keep_untracked(context, workspace).await?;
        context.log.flags.extend(kept);
    }
    match staged.history {
        History::Unmoved | History::Ahead { .. } => {}
        History::Rewritten { .. } | History::LeftBranch { .. } => {
            workspace.restore_history(job).await?;
        }
    }
    context.moved = moved(context, workspace, &staged).await?;
    if staged.change.is_empty() {
        // Neither a commit that holds nothing but ralph's own files nor what was only staged is to stay.
        workspace.reset(job).await?;
        // Nothing to keep, or kept before a crash.
        let name = attempt_ref(&job.iteration);
        let kept = workspace.repo().attempt_commit(&name)?.map(|_| name);
        return Ok(StepDone::Kept { reference: kept });
    }
    if job.purpose() == Purpose::Diagnosis {
        return put_aside(context, workspace, &staged.tree).await;
    }
    let repo = workspace.repo();
    let policy = workspace.policy();
    let saved = repo.save_attempt(&job.iteration, &context.base, &staged.tree, policy);
    let KeptAttempt {
        reference,
        tree,
        hidden,
    } = saved.await?;
    context.log.flags.extend(hidden);
    if is_cut_off(verdict) {
        write_patch(context, workspace, &tree).await?;
    }
    match verdict {
        // The next agent goes on in the same place, with what git ignores there.
        Verdict::Handoff { .. } => workspace.hold_for_next(job, &reference).await?,
        _ => workspace.reset(job).await?,
    }
    Ok(StepDone::Kept {
        reference: Some(reference),
    })
}

/// Returns whether an agent that hands over leaves anything else than what it found.
async fn moved(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    staged: &Staged,
) -> Result<WorkMoved, LoopError> {
    if context.log.handoff.is_none() {
        return Ok(WorkMoved::Yes);
    }
    if staged.change.is_empty() {
        return Ok(WorkMoved::No);
    }
    let Some(found) = &context.continued else {
        return Ok(WorkMoved::Yes);
    };
    let (_, total) = workspace.repo().diff_stat(found, &staged.tree, 1).await?;
    Ok(if total > 0 {
        WorkMoved::Yes
    } else {
        WorkMoved::No
    })
}

/// Returns what later attempts are compared with.
pub(super) async fn trace(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    verdict: &Verdict,
) -> Result<Option<Trace>, LoopError> {
    let (Verdict::Failed { .. }, Some(change)) = (verdict, &context.log.change) else {
        return Ok(None);
    };
    let (from, to) = (started_from(context, workspace)?, oid(&change.tree)?);
    let diff = workspace.repo().diff_text(&from, &to, MOST_DIFF).await?;
    let mut trace = trace_of_diff(&change.tree, diff.as_deref().unwrap_or_default());
    if diff.is_none() {
        trace.files = change.files.iter().map(|f| f.path.clone()).collect();
    }
    Ok(Some(trace))
}

/// The tree that the iteration began with: the base, or that with the last attempt's work.
pub(super) fn started_from(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
) -> Result<Oid, LoopError> {
    if let Some(tree) = &context.continued {
        return Ok(tree.clone());
    }
    // After a crash: what would have been continued.
    let kept = context.job.start.attempt_ref.as_deref();
    let kept = kept
        .map(|kept| workspace.repo().attempt_commit(kept))
        .transpose()?;
    Ok(kept.flatten().unwrap_or_else(|| context.base.clone()))
}

/// Writes the work of an agent that was cut off as a patch beside the logs: a person can look at it and
/// apply it without knowing about refs. One that would be too long is left out.
async fn write_patch(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    tree: &Oid,
) -> Result<(), LoopError> {
    let folder = workspace.root().join(LOGS);
    let path = folder.join(format!("iteration-{}.patch", context.job.number));
    std::fs::create_dir_all(&folder)
        .and_then(|()| plain_file::make_room(&path))
        .map_err(|e| file_error("write", &path, e))?;
    let most = u64::from(context.job.config.logs.max_mb.get()) * 1024 * 1024;
    let repo = workspace.repo();
    repo.write_patch(&context.base, tree, &path).await?;
    match std::fs::metadata(&path) {
        Ok(found) if found.len() > most => {
            std::fs::remove_file(&path).map_err(|e| file_error("remove", &path, e))
        }
        Ok(_) => Ok(()),
        Err(e) => Err(file_error("read", &path, e)),
    }
}

/// Returns true if the agent was still at work, so that nothing has looked at what it made.
fn is_cut_off(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Budget { .. }
        | Verdict::Handoff { .. }
        | Verdict::TimedOut { .. }
        | Verdict::Terminated { .. }
        | Verdict::Interrupted => true,
        Verdict::Verified
        | Verdict::Unverified
        | Verdict::Progress
        | Verdict::UnverifiedProgress
        | Verdict::Unclaimed
        | Verdict::Failed { .. }
        | Verdict::NoChange { .. }
        | Verdict::Refused { .. }
        | Verdict::Escalated
        | Verdict::Diagnosed
        | Verdict::LimitHit { .. }
        | Verdict::AgentError { .. }
        | Verdict::Overloaded { .. }
        | Verdict::AgentUnavailable { .. }
        | Verdict::Overtaken { .. } => false,
    }
}
