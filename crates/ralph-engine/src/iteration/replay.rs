//! Brings a change along where a person moved the branch while it was made: it is verified where it would land.

use ralph_core::{
    change::shown,
    event::Event,
    figures::first_of,
    iteration::{AgentChange, ChangedFile, ReplayedChange, StepDone},
};

use super::{IterationContext, IterationFiles, Services, inspect::kind_name};
use crate::{
    error::LoopError,
    git::{Oid, Replay, ReplayRequest},
    journal_text::oid,
    workspace::Workspace,
};

/// The conflicting files that are named.
const MOST_NAMED: usize = 5;

/// Returns the step that follows from a branch that has moved; `None` where it has not.
pub(super) async fn replay(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    services: &mut Services<'_>,
    files: &mut IterationFiles,
) -> Result<Option<StepDone>, LoopError> {
    let Some(change) = &context.log.change else {
        return Ok(None);
    };
    let start = &context.job.start;
    let (seen, made) = (
        oid(context.log.onto(&start.base_commit))?,
        oid(change.made_tree())?,
    );
    let request = ReplayRequest {
        branch: &start.branch,
        base: &context.base,
        tree: &made,
        seen: &seen,
    };
    let branch = &start.branch;
    let (message, done) = match workspace.replay(&request).await? {
        Replay::Unmoved => return Ok(None),
        Replay::Onto { tip, tree, files } => {
            let message = format!(
                "{branch} was moved to {} meanwhile: the change is brought there and verified on it",
                tip.short()
            );
            let change = replayed(change, &tip, &tree, files);
            (message, StepDone::Replayed { change })
        }
        Replay::Conflict { tip, paths } => {
            let named: Vec<String> = paths.iter().map(|path| shown(path)).collect();
            let reason = format!(
                "{branch} was moved to {} meanwhile, and the change conflicts with it in {}",
                tip.short(),
                first_of(&named, MOST_NAMED)
            );
            (reason.clone(), StepDone::Overtaken { reason })
        }
        Replay::Rewritten { found } => {
            let reason = format!(
                "history of {branch} was rewritten while the agent worked: {} is not part of it any more, it is at {found}",
                context.base
            );
            (reason.clone(), StepDone::LandRefused { reason })
        }
    };
    files.line(&message);
    services.tell(&Event::Notice { message });
    Ok(Some(done))
}

fn replayed(
    change: &AgentChange,
    tip: &Oid,
    tree: &Oid,
    files: Vec<(std::path::PathBuf, ralph_core::change::ChangeKind)>,
) -> AgentChange {
    let files = files.into_iter().map(|(path, kind)| ChangedFile {
        path: shown(&path),
        kind: kind_name(kind).into(),
    });
    AgentChange {
        tree: tree.to_string(),
        files: files.collect(),
        replayed: Some(ReplayedChange {
            onto: tip.to_string(),
            made: change.made_tree().to_owned(),
        }),
        ..change.clone()
    }
}
