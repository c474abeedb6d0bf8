//! Shows what a run would do first, without doing it: the task and its whole prompt.
//!
//! Writes nothing into the repository and nothing into the journal.

use ralph_core::{
    event::{Blocked, Tally},
    id::{IterationId, LoopId},
    task::Task,
};

use super::{
    LoopError, LoopRunner, Setup, WorkspaceFound, WorkspaceLook, place::OpenedRepository, workspace,
};
use crate::{
    error::file_error,
    git::Repo,
    identity,
    iteration::{IterationContext, bundle},
    store::{IterationStart, Journal, RepositoryId},
};

#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The task and its prompt; `None` where nothing is ready.
    pub next: Option<(Task, String)>,
    pub branch: String,
    /// The place that its agent would work in.
    pub workspace: WorkspaceFound,
    pub tasks: Tally,
    pub blocked: Vec<Blocked>,
}

pub async fn preview(setup: Setup) -> Result<Preview, LoopError> {
    let scratch = tempfile::tempdir().map_err(|e| file_error("make", &std::env::temp_dir(), e))?;
    let repo = Repo::open(
        &setup.root,
        &scratch.path().join("git"),
        &setup.git_environment,
    )
    .await?;
    let (journal, repository) = journal(&setup, &repo, scratch.path()).await?;
    let head = repo.preflight().await?;
    let temp_dir = setup.environment.temp_dir();
    let workspace = WorkspaceLook {
        data_dir: &setup.data_dir,
        temp_dir: &temp_dir,
        containment: setup.detection.containment,
        mode: setup.config.workspace.mode,
    };
    let workspace = workspace.look(&repo).await?;
    let place = OpenedRepository {
        state_dir: scratch.path().to_owned(),
        repo,
        journal,
        repository,
        base: head.oid,
        lock: None,
    };
    let mut runner = LoopRunner::assemble(setup, place).await?;
    runner.place.branch = runner.branch_name();
    let next = match runner
        .board
        .next()
        .and_then(|id| runner.board.task(&id).cloned())
    {
        None => None,
        Some(task) => {
            let n = runner
                .journal
                .next_iteration(&runner.place.repository)
                .await?;
            let diagnose = runner.due_diagnosis(&task.id);
            let start = IterationStart {
                id: IterationId::default(),
                loop_id: LoopId::default(),
                task: task.id.clone(),
                attempt: runner.board.attempts(&task.id) + u32::from(diagnose.is_none()),
                base_commit: runner.place.base.to_string(),
                untracked: Vec::new(),
                at: runner.now(),
                diagnose,
                lands: runner.lands(),
            };
            let source = runner.board.source.name().to_owned();
            let said = runner
                .journal
                .guidance(&runner.place.repository, &source, &task.id)
                .await?;
            let job = runner.job(n, start, task.clone(), said).await?;
            let folder = workspace!(runner);
            let context = IterationContext::new(&job, folder.progress().read()?)?;
            let prompt = bundle(&context, &*folder, 1, None).await?;
            Some((task, prompt))
        }
    };
    Ok(Preview {
        next,
        branch: runner.place.branch.clone(),
        workspace,
        tasks: runner.board.tally(),
        blocked: runner.board.blocked(),
    })
}

/// The journal that is there, or an empty one that is thrown away.
async fn journal(
    setup: &Setup,
    repo: &Repo,
    scratch: &std::path::Path,
) -> Result<(Box<dyn Journal>, RepositoryId), LoopError> {
    if let Some(id) = identity::read_id(repo.common_dir())
        && setup.data_dir.join("ralph.db").exists()
    {
        let mut journal = crate::store::open(&setup.data_dir).await?;
        if journal.has_repository(&id).await? {
            return Ok((journal, RepositoryId(id)));
        }
    }
    let journal = crate::store::open(scratch).await?;
    Ok((journal, RepositoryId(String::new())))
}
