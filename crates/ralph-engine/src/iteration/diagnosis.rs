//! A diagnosis on its way: what its agent is told, what it may write, and what is kept of it.
//!
//! Nothing of it is ever landed. What an agent changed beyond its one file is put aside under the
//! iteration's ref, and the working tree is put back.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use ralph_core::{
    change::shown,
    event::Event,
    gutter::{Diagnosis, Gutter, MOST_CHARS},
    iteration::{AgentChange, ChangedFile, StepDone},
    prompt::DiagnosisBrief,
    record::IterationRecord,
    task::TaskId,
    verdict::Verdict,
};

use super::{
    IterationContext, Services,
    bundle::stat_line,
    inspect::{restore_protected, unstored},
    keep::started_from,
};
use crate::{
    error::{LoopError, file_error},
    git::{FileStat, Oid, Repo},
    plain_file,
    workspace::Workspace,
};

/// Where diagnoses are written: ralph's own, never staged.
pub(crate) const DIAGNOSIS_FOLDER: &str = ".ralph/diagnosis";
/// Attempts that a diagnosis is told of, and files of each.
pub(crate) const MOST_TOLD: usize = 4;
const MOST_FILES: usize = 20;

/// The file that a diagnosis of the task is written to, below the root.
fn file_of(task: &TaskId) -> PathBuf {
    PathBuf::from(DIAGNOSIS_FOLDER).join(format!("{task}.md"))
}

/// Makes room for the diagnosis: one of another time must not pass for it.
pub(crate) fn prepare_diagnosis(root: &Path, task: &TaskId) -> Result<(), LoopError> {
    let folder = root.join(DIAGNOSIS_FOLDER);
    let path = root.join(file_of(task));
    let prepare = || {
        // A link in its place would have ralph write and read elsewhere.
        if std::fs::symlink_metadata(&folder).is_ok_and(|found| !found.is_dir()) {
            std::fs::remove_file(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        plain_file::remove(&path)
    };
    prepare().map_err(|e| file_error("make room for", &path, e))
}

/// Returns what the prompt of a diagnosis says of what happened; `records` are the task's, newest first.
pub(crate) async fn what_to_find_out(
    repo: &Repo,
    task: &TaskId,
    gutter: &Gutter,
    records: &[IterationRecord],
) -> DiagnosisBrief {
    let mut attempts: Vec<(String, String)> = Vec::new();
    for record in records.iter().rev() {
        let Some(trace) = &record.trace else {
            continue;
        };
        let files = trace.files.iter().take(MOST_FILES);
        let files: Vec<&str> = files.map(String::as_str).collect();
        attempts.push((
            format!(
                "iteration {}: {}",
                record.iteration,
                record.verdict.sentence()
            ),
            format!("it changed: {}", files.join(", ")),
        ));
    }
    attempts.extend(two_states(repo, gutter).await);
    DiagnosisBrief {
        sentence: gutter.sentence(),
        file: file_of(task).display().to_string(),
        attempts,
    }
}

/// The difference of the two states that the work goes back and forth between. Git may have cleared one
/// away.
async fn two_states(repo: &Repo, gutter: &Gutter) -> Option<(String, String)> {
    let Gutter::Oscillation { trees, .. } = gutter else {
        return None;
    };
    let [one, other] = trees.each_ref().map(|tree| Oid::parse(tree).ok());
    let (one, other) = (one?, other?);
    let (stats, _) = repo.diff_stat(&one, &other, MOST_FILES).await.ok()?;
    let lines: Vec<String> = stats.iter().map(stat_line).collect();
    let states = format!(
        "from one state, {}, to the other, {}:",
        one.short(),
        other.short()
    );
    Some((states, lines.join("\n")))
}

/// Looks at what the agent of a diagnosis changed; its own file is none of it.
pub(super) async fn inspect_diagnosis(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
) -> Result<StepDone, LoopError> {
    let found = restore_protected(context, workspace).await?;
    let staged = match workspace.stage(context.job).await {
        Ok(staged) => staged,
        Err(LoopError::Git(error)) if error.is_of_files() => {
            let change = unstored(context, found);
            return Ok(StepDone::Inspected { change });
        }
        Err(error) => return Err(error),
    };
    let beyond = beyond(context, workspace, &staged.tree).await?;
    let (refusal, mut flags, suggested) = found.into_parts();
    if !beyond.is_empty() {
        let names = beyond.iter().take(MOST_FILES);
        let names: Vec<&str> = names.map(|f| f.path.as_str()).collect();
        flags.push(format!(
            "a diagnosis changes nothing: what it did to {} is put aside",
            names.join(", ")
        ));
    }
    let change = AgentChange {
        tree: staged.tree.to_string(),
        files: beyond,
        refusal,
        flags,
        replayed: None,
        suggested,
    };
    if !change.files.is_empty() || change.refusal.is_some() {
        services.tell(&Event::Inspected {
            files: change.files.clone(),
            flags: change.flags.clone(),
            refusal: change.refusal.as_ref().map(|r| r.reason.clone()),
        });
    }
    Ok(StepDone::Inspected { change })
}

/// The files in which a tree differs from what the iteration began with.
async fn beyond(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    tree: &Oid,
) -> Result<Vec<ChangedFile>, LoopError> {
    let from = started_from(context, workspace)?;
    let (stats, _) = workspace.repo().diff_stat(&from, tree, usize::MAX).await?;
    let changed = |stat: FileStat| ChangedFile {
        path: shown(&stat.path),
        kind: "modified".into(),
    };
    Ok(stats.into_iter().map(changed).collect())
}

/// Puts aside what a diagnosis changed, and the working tree back.
pub(super) async fn put_aside(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    tree: &Oid,
) -> Result<StepDone, LoopError> {
    let beyond = beyond(context, workspace, tree).await?;
    let reference = if beyond.is_empty() {
        None
    } else {
        let (repo, policy) = (workspace.repo(), workspace.policy());
        let saved = repo.save_attempt(&context.job.iteration, &context.base, tree, policy);
        let saved = saved.await?;
        context.log.flags.extend(saved.hidden);
        Some(saved.reference)
    };
    workspace.reset(context.job).await?;
    Ok(StepDone::Kept { reference })
}

/// Returns what came of a diagnosis.
pub(super) fn diagnosis(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    verdict: &Verdict,
) -> Option<Diagnosis> {
    let gutter = context.job.diagnose.clone()?;
    if *verdict != Verdict::Diagnosed {
        return None;
    }
    let file = read_diagnosis(workspace.root(), &context.job.task.id);
    Some(Diagnosis {
        iteration: context.job.number,
        gutter,
        text: Diagnosis::text_of(file.as_deref(), &context.log.said.final_message),
        escalation: context.log.said.escalation.clone(),
    })
}

fn read_diagnosis(root: &Path, task: &TaskId) -> Option<String> {
    let folder = std::fs::symlink_metadata(root.join(DIAGNOSIS_FOLDER)).ok()?;
    let path = root.join(file_of(task));
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
