//! What `status` knows: the JSON form is a contract (docs/json.md).

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_core::{
    board::{Board, Counts},
    economics::KnownCost,
    id::{CheckpointId, LoopId},
    record::IterationRecord,
    task::{Task, TaskId, graph::Problem},
    termination::Stop,
    verify::CleanResult,
};
use ralph_engine::{
    lock::Lock,
    store::{IterationRow, Journal, JournalError, LoopRow, RepositoryId, SpendingScope},
    team::sync_standing,
};
use serde::Serialize;

pub(crate) use super::blocked::{Blocked, OpenQuestion, Skipped};
use super::{
    blocked,
    tree::{self, Marks, Tree},
    waiting::waiting_until,
};
use crate::{
    board,
    commands::logs::{self, LogKind},
    error::CommandError,
    project::{Project, Scope, SourceUse},
    queue,
};

/// Warnings about the graph that are shown; `ralph lint` has all of them.
const MOST_WARNINGS: usize = 10;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    pub(crate) source: String,
    pub(crate) parent: Option<Named>,
    pub(crate) tasks: Counts,
    pub(crate) next: Option<Next>,
    pub(crate) running: bool,
    #[serde(rename = "loop")]
    pub(crate) last_loop: Option<LoopFacts>,
    pub(crate) last_iteration: Option<IterationFacts>,
    /// The newest checkpoint of that loop.
    pub(crate) last_checkpoint: Option<CheckpointId>,
    /// The cost of that loop.
    pub(crate) cost: KnownCost,
    /// Commits of iterations that a person had taken back.
    pub(crate) reverted_commits: usize,
    /// Until when a loop that is not over waits for a usage limit.
    pub(crate) waiting_until: Option<Timestamp>,
    pub(crate) questions: Vec<OpenQuestion>,
    pub(crate) blocked: Vec<Blocked>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) tree: Tree,
    pub(crate) suggestions: usize,
    /// The state of sync with the store of a team, where it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sync: Option<SyncFacts>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyncFacts {
    pub(crate) server: String,
    pub(crate) tenant: String,
    /// Changes that the server does not have, and for how long the oldest of them waits.
    pub(crate) waiting: u64,
    pub(crate) waiting_seconds: u64,
    pub(crate) last_ok_at: Option<Timestamp>,
    /// Why it can't be sent now.
    pub(crate) error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Named {
    pub(crate) id: TaskId,
    pub(crate) title: String,
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
    /// The result of checking its last commit in a fresh clone.
    pub(crate) clean_check: Option<CleanResult>,
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

pub(crate) async fn gather(project: &Project, named: Option<&Path>) -> Result<Facts, CommandError> {
    let running = Lock::is_held(&project.data_dir()?, project.root());
    let mut journal = project.journal().await?;
    let path = source_to_show(project, journal.as_mut(), named, running).await?;
    let (source, graph, problems) = project.read_source(&path)?;
    let mut warnings = graph_warnings(&problems);
    let scope = project.scope(&graph)?;
    if let Scope::Lost { message } = &scope {
        warnings.insert(0, format!("{message}; all tasks are shown"));
    }
    let board = board::read(project, journal.as_mut(), &source, graph, scope.parent()).await?;
    let told = match &mut journal {
        Some((journal, repository)) => {
            Told::read(project, &mut **journal, repository, &board).await?
        }
        None => Told::default(),
    };
    let named = |task: &Task| Named {
        id: task.id.clone(),
        title: task.text.title.clone(),
    };
    let under_way = match (&told.last_iteration, running) {
        (Some(last), true) if last.ended_at.is_none() => TaskId::parse(&last.task_id).ok(),
        (_, _) => None,
    };
    // The one that is worked on is not there to be taken.
    let is_free = |id: &&TaskId| Some(*id) != under_way.as_ref();
    let next = board.next().filter(is_free);
    let next = next.or_else(|| board.ready().find(is_free));
    let next = next.and_then(|id| board.task(id));
    let mut counts = board.counts();
    if let Some(task) = &under_way {
        counts.take_running(board.is_ready(task), board.task(task));
    }
    let marks = Marks {
        next: next.map(|task| &task.id),
        under_way: under_way.as_ref(),
    };
    let blocked = blocked::blocked(&board);
    Ok(Facts {
        source: source.name().to_owned(),
        parent: board.scope().and_then(|id| board.task(id)).map(named),
        tasks: counts,
        next: next.map(|task| Next {
            task: named(task),
            attempt: board.attempts(&task.id) + 1,
            why: why_next(&board, task),
        }),
        running,
        questions: blocked::questions(&board),
        tree: tree::tree(&board, &marks, &blocked),
        skipped: blocked::skipped(&board),
        blocked,
        waiting_until: waiting_until(
            told.last_loop.as_ref(),
            &told.recent,
            &project.config().limits,
        ),
        last_loop: told.last_loop.map(|row| loop_facts(row, running)),
        last_iteration: told.last_iteration,
        last_checkpoint: told.last_checkpoint,
        cost: told.cost,
        reverted_commits: told.reverted_commits,
        suggestions: told.suggestions,
        sync: sync_facts(project).await,
        warnings,
    })
}

/// Reads how sync stands from the data folder alone: the server is not asked.
async fn sync_facts(project: &Project) -> Option<SyncFacts> {
    let plan = project.sync_plan().ok().flatten()?;
    let found = sync_standing(&plan.data_dir, Project::now()).await;
    let server = plan.address.shown();
    // What can't be read of it is said by whatever else reads the journal.
    Some(match found.ok().flatten() {
        Some(found) => SyncFacts {
            server,
            tenant: plan.tenant,
            waiting: found.waiting,
            waiting_seconds: found.waiting_seconds,
            last_ok_at: found.last_ok_at,
            error: found.last_error,
        },
        None => SyncFacts {
            server,
            tenant: plan.tenant,
            waiting: 0,
            waiting_seconds: 0,
            last_ok_at: None,
            error: None,
        },
    })
}

/// The tasks that are named; else those of the loop that runs; else those that a run would find, and
/// where it would find none or several, those of the last loop; else a list that is only offered.
async fn source_to_show(
    project: &Project,
    journal: Option<&mut (Box<dyn Journal>, RepositoryId)>,
    named: Option<&Path>,
    running: bool,
) -> Result<PathBuf, CommandError> {
    let usage = SourceUse::Look("ralph status");
    let found = project.find_source(named);
    match (journal, named, &found) {
        (Some((journal, repository)), None, found) if running || found.is_err() => {
            queue::source_path(project, &mut **journal, repository, usage).await
        }
        (_, _, _) => {
            let found = project.look_at_offered(found, usage)?;
            Ok(found.path)
        }
    }
}

/// The reason why the board chose this task, in words, by comparing it with the one that would have
/// been chosen without it.
fn why_next(board: &Board, chosen: &Task) -> String {
    if board.is_handed_over(&chosen.id) {
        return "a fresh agent goes on with what another has begun".to_owned();
    }
    let Some(rival) = board.ready().find(|id| **id != chosen.id) else {
        return "the only task that is ready".to_owned();
    };
    let of = format!("of {} ready tasks", board.counts().ready);
    if board.ready().next() != Some(&chosen.id) {
        // Only the area of the last completed task can put one before the first in order.
        let area = chosen.area.as_deref().unwrap_or_default();
        return format!("{of}, the first in the area {area}, like the last completed one");
    }
    let Some(rival) = board.task(rival) else {
        return format!("{of}, the first in order");
    };
    match (chosen.priority, rival.priority) {
        (Some(own), other) if other != Some(own) => format!("{of}, the first by priority ({own})"),
        (_, _) if chosen.created_at != rival.created_at => format!("{of}, the oldest"),
        (_, _) => format!("{of}, the first in the file"),
    }
}

/// What the journal says beside the histories of tasks.
#[derive(Default)]
struct Told {
    last_loop: Option<LoopRow>,
    last_iteration: Option<IterationFacts>,
    last_checkpoint: Option<CheckpointId>,
    cost: KnownCost,
    /// Of a worktree whose loop is not over: its newest iterations.
    recent: Vec<IterationRecord>,
    reverted_commits: usize,
    suggestions: usize,
}

impl Told {
    async fn read(
        project: &Project,
        journal: &mut dyn Journal,
        repository: &RepositoryId,
        board: &Board,
    ) -> Result<Self, JournalError> {
        let last_loop = journal.last_loop(repository, &project.worktree()).await?;
        let row = journal.last_iterations(repository, 1).await?.pop();
        let last_iteration = match row {
            Some(row) => {
                let record = journal.record(repository, Some(row.n)).await?;
                let facts = iteration_facts(project, board, row, record.as_ref());
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
        let cost = match &last_loop {
            Some(row) => {
                let scope = SpendingScope::Loop(&row.id);
                let spent = journal.spending(repository, scope, None).await?;
                spent.known_cost()
            }
            None => KnownCost::default(),
        };
        Ok(Self {
            last_checkpoint,
            cost,
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
        clean_check: row
            .clean_check
            .as_deref()
            .and_then(|found| serde_json::from_str(found).ok()),
    }
}

fn iteration_facts(
    project: &Project,
    board: &Board,
    row: IterationRow,
    record: Option<&IterationRecord>,
) -> IterationFacts {
    let iteration = row.n;
    let file = |kind: LogKind| {
        let path = logs::log_file(project.root(), iteration, kind);
        path.is_file().then(|| project.shown(&path))
    };
    let in_graph = || {
        let id = TaskId::parse(&row.task_id).ok()?;
        Some(board.task(&id)?.text.title.clone())
    };
    IterationFacts {
        iteration,
        title: row.title.clone().or_else(in_graph),
        task_id: row.task_id,
        attempt: row.attempt,
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
