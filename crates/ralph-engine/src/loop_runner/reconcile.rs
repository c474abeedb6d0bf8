//! Finishes or undoes what a crash left. An intent without a result is looked up, never repeated
//! blindly: is there a commit with this iteration's trailer?

use std::time::Duration;

use ralph_core::{
    agent::{AgentEvent, Ending},
    iteration::{Action, AgentEnded, RanBy, StepDone},
    job::{Job, Outcome},
    record::CUT_OFF,
    signal::Signals,
    task::{Status, TaskId},
};

use super::{Beginning, Board, Changed, LoopError, LoopRunner, TaskScope, mode::project_of};
use crate::{
    agent::{RecordedEnd, read_stream, run_line},
    artefacts::Artefacts,
    git::{Landed, ResetSpec},
    iteration::{self, AgentSeen, IterationContext, IterationFiles, Services, note},
    journal_text::{oid, paths_from_text},
    landing::ITERATION_TRAILER,
    plain_file,
    process::Ended,
    source::{Source, has_mark},
    store::{LoopRow, Step, UnfinishedIteration},
    supervisor::agent_report,
    workspace::Workspace,
};

/// The treatment of an iteration that a crash left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnfinishedPolicy {
    Resume,
    /// Its loop is over: no agent is started for it.
    Abandon,
}

impl LoopRunner {
    /// Brings an unfinished iteration of this loop to its end.
    pub(super) async fn reconcile(&mut self, policy: UnfinishedPolicy) -> Result<(), LoopError> {
        let Some(unfinished) = self.journal.unfinished_iteration(&self.loop_id).await? else {
            return Ok(());
        };
        let n = unfinished.n;
        // From here on something is changed, whatever comes of it.
        self.changed = Changed::Something;
        let Some(mut task) = self.board.task(&unfinished.start.task).cloned() else {
            // The task is gone from the file: nothing can be said about it but that it ended. What its
            // agent left must not be taken for the next one's work.
            self.put_base_back(&unfinished).await?;
            return self
                .journal
                .forget_iteration(&unfinished.start.id, self.now())
                .await
                .map_err(Into::into);
        };
        let UnfinishedIteration { start, steps, .. } = unfinished;
        // What an unfinished landing wrote into the file is no status that a person gave it.
        if task.status == Status::Completed {
            task.status = Status::Open;
            self.board.mark(&task.id, Status::Open)?;
        }
        if task.status == Status::InProgress {
            task.status = Status::Open;
            self.clear_mark(&task, &oid(&start.base_commit)?).await?;
        }
        let job = self.job(n, start, task, Vec::new()).await?;
        let started = has_mark(&self.place.state_dir, job.iteration.as_str());
        let cut_off = CutOff {
            steps: &steps,
            started,
            policy,
        };
        let worked = self.perform(job, Beginning::CutOff(cut_off)).await?;
        if let Some(commit) = &worked.outcome.log.commit {
            self.place.base = oid(commit)?;
            self.follow_landed(&worked).await?;
            let landed = self.place.base.clone();
            self.count_landed_tests(&worked.outcome.log.verification);
            self.note_landed(&worked.job, &worked.outcome, &landed);
        }
        let finished = self.finish(worked).await?;
        self.machine
            .tally_mut()
            .add_recovered(n, &finished.usage, finished.spent);
        self.notice(format!(
            "iteration {n}, which was interrupted, is brought to its end: {}",
            finished.verdict.sentence()
        ));
        Ok(())
    }

    /// Ends an interrupted loop of another source: its iteration is brought to its end, and the loop
    /// is closed.
    pub(super) async fn abandon(&mut self, row: &LoopRow) -> Result<(), LoopError> {
        let path = self.place.root.join(&row.source);
        match Source::read(&path, &self.place.root) {
            Ok((source, tasks)) => {
                let states = self
                    .journal
                    .task_states(&self.place.repository, source.name())
                    .await?;
                let board = Board::new(source, tasks, TaskScope::default(), states)?;
                self.files.other_sources = self.source_files();
                let theirs = self.artefacts_of(row).await?;
                let ours = std::mem::replace(&mut self.board, board);
                let ours = (ours, std::mem::replace(&mut self.files.artefacts, theirs));
                let done = self.reconcile(UnfinishedPolicy::Abandon).await;
                (self.board, self.files.artefacts) = ours;
                self.files.other_sources.clear();
                done?;
            }
            Err(_) => {
                if let Some(unfinished) = self.journal.unfinished_iteration(&row.id).await? {
                    self.put_base_back(&unfinished).await?;
                    self.journal
                        .forget_iteration(&unfinished.start.id, self.now())
                        .await?;
                }
            }
        }
        self.close_abandoned_loop(row).await
    }

    /// The files of the project that another loop executed.
    async fn artefacts_of(&mut self, row: &LoopRow) -> Result<Option<Artefacts>, LoopError> {
        let Some(project) = project_of(&row.config) else {
            return Ok(None);
        };
        let unfinished = self.journal.unfinished_iteration(&row.id).await?;
        let id = unfinished.map(|iteration| iteration.start.id);
        Artefacts::open(
            &project,
            &self.place.root,
            &self.place.state_dir,
            id.as_ref(),
        )
        .map(Some)
    }

    /// The work of an iteration whose task can't be found any more: kept under its ref all the same.
    async fn put_base_back(&mut self, unfinished: &UnfinishedIteration) -> Result<(), LoopError> {
        let base = oid(&unfinished.start.base_commit)?;
        let untracked = paths_from_text(&unfinished.start.untracked);
        let own = self.own_paths();
        let spec = crate::git::StageSpec {
            base: &base,
            branch: &self.place.branch,
            untracked_before: &untracked,
            own_paths: &own,
            max_file_bytes: self.settings.policy.max_file_bytes,
        };
        if let Some(layers) = &mut self.place.layers {
            // The user's folder holds nothing of the agent's: what differs there is the user's own.
            let staged = layers.stage(&self.place.repo, &spec).await?;
            if !staged.change.is_empty() {
                let repo = &self.place.repo;
                let policy = &self.settings.policy;
                repo.save_attempt(&unfinished.start.id, &base, &staged.tree, policy)
                    .await?;
            }
            layers.drop_current();
            return Ok(());
        }
        let staged = self.place.repo.stage(&spec).await?;
        if !staged.change.is_empty() {
            let policy = &self.settings.policy;
            self.place
                .repo
                .save_attempt(&unfinished.start.id, &base, &staged.tree, policy)
                .await?;
            let reset = ResetSpec {
                branch: &self.place.branch,
                base: &base,
                keep_untracked: &untracked,
                own_paths: &own,
            };
            self.place.repo.reset_to(&reset).await?;
        }
        Ok(())
    }

    /// Between iterations the file wins: a person may have edited it.
    pub(super) async fn reload_tasks(&mut self) -> Result<(), LoopError> {
        self.reread_tasks()?;
        self.note_edits().await
    }

    /// Takes over the tasks that the agent of an execution added: they are work like any other.
    pub(super) async fn take_new_tasks(&mut self) -> Result<(), LoopError> {
        if self.files.artefacts.is_none() || self.board.source.has_tasks_as_read() {
            return Ok(());
        }
        let (source, tasks) = Source::read(self.board.source.path(), &self.place.root)?;
        self.board.replace_tasks(source, tasks)?;
        self.note_edits().await
    }

    /// Takes up what a person wrote into the task file while an agent worked on a task in a layer. A file that can't
    /// be read, or lacks the task, is left to the next look between iterations.
    pub(super) async fn take_edits_beside_layer(&mut self, task: &TaskId) -> Result<(), LoopError> {
        if self.place.layers.is_none() || !self.board.source.has_changed() {
            return Ok(());
        }
        let read = Source::read(self.board.source.path(), &self.place.root);
        if let Ok((source, tasks)) = read
            && tasks.iter().any(|one| one.id == *task)
            && self.board.replace_tasks(source, tasks).is_ok()
        {
            self.note_edits().await?;
        }
        Ok(())
    }

    /// The same, while it is not known yet whose edits these are.
    pub(super) fn reread_tasks(&mut self) -> Result<(), LoopError> {
        if !self.board.source.has_changed() {
            return Ok(());
        }
        let (source, tasks) = Source::read(self.board.source.path(), &self.place.root)?;
        self.board.replace_tasks(source, tasks)
    }
}

/// An iteration that a crash cut off, as the journal has it.
#[derive(Clone, Copy)]
pub(super) struct CutOff<'a> {
    pub(super) steps: &'a [Step],
    /// True if its agent was started: the task files were noted before that.
    pub(super) started: bool,
    pub(super) policy: UnfinishedPolicy,
}

/// The decision to open a task again that was about to be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reopen {
    Yes,
    No,
}

/// Goes on with an iteration that was cut off, once it is known what became of the step under way.
pub(super) async fn go_on(
    job: &Job,
    cut_off: CutOff<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
) -> Result<(Outcome, Reopen), LoopError> {
    let mut context = IterationContext::new(job, workspace.progress().read()?)?;
    context.fold(cut_off.steps)?;
    if cut_off.started || !context.log.runs.is_empty() {
        context.agent = AgentSeen::Started;
    }
    let max_mb = job.config.logs.max_mb.get();
    let mut files = IterationFiles::open(workspace.root(), job.number, max_mb)?;
    files.heading("taken up again after an interruption");
    files.close();
    let reopen = look_up(&mut context, cut_off.policy, workspace, services).await?;
    let outcome = iteration::go_on(context, workspace, services).await?;
    Ok((outcome, reopen))
}

/// Finds out what became of the step that was under way.
async fn look_up(
    context: &mut IterationContext<'_>,
    policy: UnfinishedPolicy,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
) -> Result<Reopen, LoopError> {
    let interrupted = match context.machine.next() {
        // The agent died with ralph. What it left is kept, and nothing is charged.
        Action::Bundle { .. } | Action::StartAgent { .. } => true,
        // Nothing was under way but the wait: it is waited again, and gone on with.
        Action::Wait { .. } => policy == UnfinishedPolicy::Abandon,
        Action::Land => return look_up_landing(context, workspace, services).await,
        // Verification runs on the working tree: it must still be the one that was inspected.
        Action::Verify => !tree_is_as_inspected(context, workspace).await?,
        Action::Inspect | Action::Keep { .. } | Action::Record { .. } | Action::Done => false,
    };
    if !interrupted {
        return Ok(Reopen::No);
    }
    if context.agent == AgentSeen::Started {
        context.log.flags.push(CUT_OFF.to_owned());
        // Its words in files that it may write are judged like those of any agent.
        workspace.after_run(context.job)?;
    }
    match cut_off_run(context, workspace, services).await {
        Some(ended) => {
            if let Action::Bundle { .. } = context.machine.next() {
                let prompt_bytes = 0;
                note(context, services, &StepDone::Bundled { prompt_bytes }).await?;
            }
            note(context, services, &StepDone::AgentEnded(Box::new(ended))).await?;
        }
        None => note(context, services, &StepDone::Interrupted).await?,
    }
    Ok(Reopen::No)
}

/// Reads back what the agent that died with ralph had used, from the log of its stream.
async fn cut_off_run(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    services: &Services<'_>,
) -> Option<AgentEnded> {
    let (Action::Bundle { .. } | Action::StartAgent { .. }) = context.machine.next() else {
        return None;
    };
    let run = u32::try_from(context.log.runs.len()).ok()? + 1;
    let path = IterationFiles::stream_path(workspace.root(), context.job.number);
    let log = plain_file::read(&path).ok()?;
    let begins = run_line(run, &services.agent_name);
    let mut lines = log.split_inclusive(|byte| *byte == b'\n');
    // The agent of another run, or another agent, would be read wrongly.
    lines.find(|line| *line == begins.as_bytes())?;
    let rest: Vec<u8> = lines.flatten().copied().collect();
    let mut tool_calls = 0;
    let end = RecordedEnd {
        ended: Ended::Signal(9),
        stderr: b"",
    };
    let stream = [run_line(1, &services.agent_name).as_bytes(), &rest].concat();
    let read = read_stream(
        || services.agent.dialect(),
        stream.as_slice(),
        end,
        |event| {
            tool_calls += u64::from(matches!(event, AgentEvent::Tool { .. }));
            Ok(())
        },
    );
    let mut conclusion = read.await.ok()?;
    conclusion.ending = Ending::Stopped;
    conclusion.final_message.clear();
    Some(AgentEnded {
        by: RanBy {
            agent: services.agent_name.clone(),
            command: Vec::new(),
        },
        report: agent_report(conclusion, tool_calls, Duration::ZERO),
        signals: Signals::default(),
        handoff: None,
    })
}

async fn look_up_landing(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
) -> Result<Reopen, LoopError> {
    let branch = &context.job.start.branch;
    let id = context.job.iteration.as_str();
    let found = workspace
        .repo()
        .find_commit_with_trailer(&context.base, branch, ITERATION_TRAILER, id)
        .await?;
    if let Some(landed) = found
        && is_ours(&landed, context, workspace).await?
    {
        let commit = Some(landed.oid.to_string());
        note(context, services, &StepDone::Landed { commit }).await?;
        return Ok(Reopen::No);
    }
    if tree_is_as_inspected(context, workspace).await? {
        return Ok(Reopen::No);
    }
    // The tree was changed since: what was verified is not what is there.
    note(context, services, &StepDone::Interrupted).await?;
    Ok(Reopen::Yes)
}

/// An agent can write trailers too. A commit of ours stands right on the base, and holds what was
/// verified and, besides, files of ralph's own alone.
async fn is_ours(
    landed: &Landed,
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
) -> Result<bool, LoopError> {
    let Some(change) = &context.log.change else {
        return Ok(false);
    };
    let onto = oid(context.log.onto(&context.job.start.base_commit))?;
    if landed.parents != [onto] {
        return Ok(false);
    }
    let (verified, own) = (oid(&change.tree)?, workspace.own_paths());
    let (differing, total) = workspace
        .repo()
        .diff_stat(&verified, &landed.tree, own.len() + 1)
        .await?;
    let all_own = differing
        .iter()
        .all(|d| own.iter().any(|o| d.path.starts_with(o)));
    Ok(all_own && differing.len() == total)
}

/// Returns true if the working tree is still the one that was looked at before the crash.
async fn tree_is_as_inspected(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
) -> Result<bool, LoopError> {
    let staged = workspace.stage(context.job).await?;
    context.tip = staged.tip;
    let inspected = context.log.change.as_ref();
    Ok(inspected.is_some_and(|c| c.made_tree() == staged.tree.as_str()))
}
