//! What `status` knows: the JSON form is a contract (docs/json.md).

use std::{collections::HashSet, path::Path};

use jiff::Timestamp;
use ralph_core::{
    id::{CheckpointId, LoopId},
    record::IterationRecord,
    select::Plan,
    task::{
        Task, TaskId,
        graph::{Graph, Problem},
    },
    termination::Stop,
};
use ralph_engine::{
    lock::Lock,
    source::Source,
    store::{IterationRow, Journal, JournalError, LoopRow, RepositoryId},
};
use serde::Serialize;

pub(crate) use super::held::{Blocked, Held, Skipped};
use super::{
    held,
    source::source_to_show,
    tree::{self, Tree},
    view::View,
    waiting::waiting_until,
    why,
};
use crate::{
    commands::logs::{self, LogKind},
    error::CommandError,
    past::{Past, next_attempt},
    project::{Project, Scope},
};

/// Warnings about the graph that are shown; `ralph lint` has all of them.
const MOST_WARNINGS: usize = 10;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    pub(crate) source: String,
    pub(crate) parent: Option<Named>,
    pub(crate) tasks: TaskCounts,
    pub(crate) next: Option<Next>,
    pub(crate) running: bool,
    #[serde(rename = "loop")]
    pub(crate) last_loop: Option<LoopFacts>,
    pub(crate) last_iteration: Option<IterationFacts>,
    /// The newest checkpoint of that loop.
    pub(crate) last_checkpoint: Option<CheckpointId>,
    /// Commits of iterations that a person had taken back.
    pub(crate) reverted_commits: usize,
    /// Until when a loop that is not over waits for a usage limit.
    pub(crate) waiting_until: Option<Timestamp>,
    pub(crate) questions: Vec<Held>,
    pub(crate) blocked: Vec<Blocked>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) tree: Tree,
    pub(crate) suggestions: usize,
    pub(crate) warnings: Vec<String>,
}

/// Whether the process ends once the facts are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Ends,
    GoesOn,
}

#[derive(Debug, Serialize)]
pub(crate) struct Named {
    pub(crate) id: TaskId,
    pub(crate) title: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskCounts {
    pub(crate) total: usize,
    pub(crate) completed: usize,
    pub(crate) ready: usize,
    /// They would be ready but for a question that is open.
    pub(crate) asking: usize,
    pub(crate) waiting: usize,
    pub(crate) blocked: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    pub(crate) in_progress: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct Next {
    #[serde(flatten)]
    pub(crate) task: Named,
    /// Which attempt it would be.
    pub(crate) attempt: u32,
    /// Why this one, in words.
    pub(crate) why: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoopFacts {
    pub(crate) id: LoopId,
    pub(crate) state: LoopState,
    pub(crate) source: String,
    pub(crate) branch: String,
    pub(crate) agent: String,
    pub(crate) started_at: String,
    pub(crate) ended_at: Option<String>,
    /// Since when it pauses, in a process that lives.
    pub(crate) paused_at: Option<String>,
    pub(crate) stop: Option<Stop>,
    pub(crate) sentence: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LoopState {
    Running,
    /// It has no end, and nobody is at it: `ralph run` goes on with it.
    Interrupted,
    Ended,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IterationFacts {
    pub(crate) iteration: u64,
    pub(crate) task_id: String,
    pub(crate) title: Option<String>,
    pub(crate) attempt: u64,
    pub(crate) started_at: String,
    pub(crate) ended_at: Option<String>,
    pub(crate) verdict: Option<String>,
    pub(crate) outcome: Option<String>,
    /// What was found, in one sentence.
    pub(crate) sentence: Option<String>,
    pub(crate) result_commit: Option<String>,
    /// Its commit was taken back since.
    pub(crate) reverted: bool,
    pub(crate) log: Option<String>,
    pub(crate) stream: Option<String>,
}

pub(crate) async fn gather(
    project: &Project,
    named: Option<&Path>,
    afterwards: Afterwards,
) -> Result<Facts, CommandError> {
    let running = Lock::is_held(&project.data_dir()?, project.root());
    let mut journal = project.journal().await?;
    let path = source_to_show(project, journal.as_mut(), named, running).await?;
    let (source, graph, problems) = project.source(Some(&path))?;
    let mut warnings = graph_warnings(&problems);
    let scope = project.scope(&graph)?;
    if let Scope::Lost { message } = &scope {
        warnings.insert(0, format!("{message}; all tasks are shown"));
    }
    let plan = Plan::new(&graph, scope.parent()).map_err(CommandError::internal)?;
    let told = match &mut journal {
        Some((journal, repository)) => Told::read(project, journal, repository, &source, &graph)
            .await
            .map_err(CommandError::internal)?,
        None => Told::default(),
    };
    let handed_over = told.handed_over();
    let next = plan
        .next_going_on(&handed_over, &told.past.history())
        .and_then(|id| graph.get(id));
    let state = match (next, &mut journal) {
        (Some(task), Some((journal, repository))) => journal
            .task_state(repository, source.name(), task.id.as_str())
            .await
            .map_err(CommandError::internal)?,
        (_, _) => None,
    };
    let named = |task: &Task| Named {
        id: task.id.clone(),
        title: task.text.title.clone(),
    };
    let under_way = match (&told.last_iteration, running) {
        (Some(last), true) if last.ended_at.is_none() => TaskId::parse(&last.task_id).ok(),
        (_, _) => None,
    };
    let view = View {
        graph: &graph,
        plan: &plan,
        scope: &scope,
        past: &told.past,
    };
    let blocked = held::blocked(&view);
    let facts = Facts {
        source: source.name().to_owned(),
        parent: scope.parent().and_then(|id| graph.get(id)).map(named),
        tasks: TaskCounts::new(&plan, &told.past),
        next: next.map(|task| Next {
            task: named(task),
            attempt: next_attempt(task, state.as_ref()),
            why: match handed_over.contains(&task.id) {
                true => "a fresh agent goes on with what another has begun".to_owned(),
                false => why::why(&view, task),
            },
        }),
        running,
        questions: held::questions(&told.past),
        tree: tree::tree(&view, (next, under_way.as_ref()), &blocked),
        skipped: held::skipped(&view),
        blocked,
        waiting_until: waiting_until(
            told.last_loop.as_ref(),
            &told.recent,
            &project.config().limits,
        ),
        last_loop: told.last_loop.map(|row| loop_facts(row, running)),
        last_iteration: told.last_iteration,
        last_checkpoint: told.last_checkpoint,
        reverted_commits: told.reverted_commits,
        suggestions: told.suggestions,
        warnings,
    };
    // The process is about to end: taking a hundred thousand tasks apart first would take longer
    // than all else.
    match afterwards {
        Afterwards::Ends => std::mem::forget((source, graph, plan)),
        Afterwards::GoesOn => drop((source, graph, plan)),
    }
    Ok(facts)
}

/// What the journal has to say.
#[derive(Default)]
struct Told {
    past: Past,
    last_loop: Option<LoopRow>,
    last_iteration: Option<IterationFacts>,
    last_checkpoint: Option<CheckpointId>,
    /// Of a worktree whose loop is not over: its newest iterations.
    recent: Vec<IterationRecord>,
    reverted_commits: usize,
    suggestions: usize,
}

impl Told {
    /// The task that the last iteration handed over.
    fn handed_over(&self) -> HashSet<TaskId> {
        let last = self.last_iteration.iter();
        let last = last.filter(|last| last.verdict.as_deref() == Some("handoff"));
        last.filter_map(|last| TaskId::parse(&last.task_id).ok())
            .collect()
    }

    async fn read(
        project: &Project,
        journal: &mut Journal,
        repository: &RepositoryId,
        source: &Source,
        graph: &Graph,
    ) -> Result<Self, JournalError> {
        let last_loop = journal.last_loop(repository, &project.worktree()).await?;
        let past = Past::read(
            journal,
            repository,
            source.name(),
            graph,
            last_loop.as_ref(),
        )
        .await?;
        let row = journal.last_iterations(repository, 1).await?.pop();
        let last_iteration = match row {
            Some(row) => {
                let n = u64::try_from(row.n).unwrap_or_default();
                let record = journal.record(repository, Some(n)).await?;
                let facts = iteration_facts(project, graph, row, record.as_ref());
                Some(facts)
            }
            None => None,
        };
        let recent = match &last_loop {
            Some(row) if row.ended_at.is_none() => {
                let worktree = project.worktree();
                journal.last_records(repository, &worktree).await?
            }
            Some(_) | None => Vec::new(),
        };
        let last_checkpoint = match &last_loop {
            Some(row) => journal.last_checkpoint_id(&row.id).await?,
            None => None,
        };
        Ok(Self {
            last_checkpoint,
            past,
            last_loop,
            last_iteration,
            recent,
            reverted_commits: journal.count_reverted(repository).await?,
            suggestions: journal.suggestions(repository).await?.len(),
        })
    }
}

fn graph_warnings(problems: &[Problem]) -> Vec<String> {
    let mut warnings: Vec<String> = problems
        .iter()
        .take(MOST_WARNINGS)
        .map(ToString::to_string)
        .collect();
    if problems.len() > MOST_WARNINGS {
        let more = problems.len() - MOST_WARNINGS;
        warnings.push(format!(
            "{more} more problems; `ralph lint` lists all of them"
        ));
    }
    warnings
}

pub(crate) fn loop_facts(row: LoopRow, running: bool) -> LoopFacts {
    let stop: Option<Stop> = row
        .stop
        .as_deref()
        .and_then(|s| serde_json::from_str(s).ok());
    let state = match (&row.ended_at, running) {
        (Some(_), _) => LoopState::Ended,
        (None, true) => LoopState::Running,
        (None, false) => LoopState::Interrupted,
    };
    LoopFacts {
        id: row.id,
        state,
        source: row.source,
        branch: row.branch,
        agent: row.agent,
        started_at: row.started_at,
        ended_at: row.ended_at,
        paused_at: row.paused_at.filter(|_| state == LoopState::Running),
        sentence: stop.as_ref().map(Stop::sentence),
        stop,
    }
}

fn iteration_facts(
    project: &Project,
    graph: &Graph,
    row: IterationRow,
    record: Option<&IterationRecord>,
) -> IterationFacts {
    let iteration = u64::try_from(row.n).unwrap_or_default();
    let file = |kind: LogKind| {
        let path = logs::log_file(project.root(), iteration, kind);
        path.is_file().then(|| project.shown(&path))
    };
    let in_graph = || {
        let id = TaskId::parse(&row.task_id).ok()?;
        Some(graph.get(&id)?.text.title.clone())
    };
    IterationFacts {
        iteration,
        title: row.title.clone().or_else(in_graph),
        task_id: row.task_id,
        attempt: u64::try_from(row.attempt).unwrap_or_default(),
        started_at: row.started_at,
        ended_at: row.ended_at,
        verdict: row.verdict,
        outcome: row.outcome,
        sentence: record.map(|record| record.verdict.sentence()),
        result_commit: row.result_commit,
        reverted: row.reverted,
        log: file(LogKind::Readable),
        stream: file(LogKind::Stream),
    }
}

impl TaskCounts {
    fn new(plan: &Plan, past: &Past) -> Self {
        let counts = plan.counts();
        let asking = past.set_aside.iter().filter(|id| plan.is_ready(id)).count();
        Self {
            total: counts.total,
            completed: counts.completed,
            ready: counts.ready.saturating_sub(asking),
            asking,
            waiting: counts.waiting,
            blocked: counts.blocked,
            failed: counts.failed,
            skipped: counts.skipped,
            in_progress: counts.in_progress,
        }
    }
}
