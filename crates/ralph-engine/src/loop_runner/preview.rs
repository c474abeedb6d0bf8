//! Shows what a run would do first, without doing it: the task and its whole prompt.
//!
//! Moves no branch, changes no file, and writes nothing into the journal.

use ralph_core::{
    event::{Blocked, Tally},
    id::{IterationId, LoopId},
    task::Task,
};

use super::{
    LoopError, LoopRunner, Setup, WorkspaceFound, WorkspaceLook, branch_choice::BranchPlan,
    place::OpenedRepository, workspace,
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
    /// Where the branch was or would be started.
    pub from: Option<String>,
    /// Messages about the branch.
    pub notices: Vec<String>,
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
    let (stash, wanted) = (setup.request.stash, setup.request.branch.clone());
    let mut runner = LoopRunner::assemble(setup, place).await?;
    let mut plan = runner.plan_branch(&wanted).await?;
    runner.place.branch.clone_from(&plan.branch);
    runner.place.base.clone_from(&plan.tip);
    if runner.board.next().is_some() {
        runner.refuse_what_run_refuses(stash, &plan).await?;
    }
    plan.notices.append(&mut plan.warnings);
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
        branch: plan.branch,
        from: plan.start.shown(),
        notices: plan.notices,
        workspace,
        tasks: runner.board.tally(),
        blocked: runner.board.blocked(),
    })
}

impl LoopRunner {
    /// Refuses what a run would refuse before it began.
    async fn refuse_what_run_refuses(
        &self,
        stash: bool,
        plan: &BranchPlan,
    ) -> Result<(), LoopError> {
        let repo = &self.place.repo;
        let paths = self.foreign_changes(&repo.status().await?);
        if !paths.is_empty() && !stash {
            return Err(LoopError::Dirty { paths });
        }
        // What is put aside first is not in the way.
        if paths.is_empty() {
            repo.check_switch(&plan.branch, &plan.tip).await?;
        }
        Ok(())
    }
}

/// The journal that is there, or an empty one that is thrown away.
async fn journal(
    setup: &Setup,
    repo: &Repo,
    scratch: &std::path::Path,
) -> Result<(Box<dyn Journal>, RepositoryId), LoopError> {
    if let Some(id) = identity::read_id(repo.common_dir())
        && setup.data_dir.has_journal()
    {
        let mut journal = setup.data_dir.open_journal().await?;
        if journal.has_repository(&id).await? {
            return Ok((journal, RepositoryId(id)));
        }
    }
    let journal = crate::store::open(scratch).await?;
    Ok((journal, RepositoryId(String::new())))
}
