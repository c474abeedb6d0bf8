//! What a report knows: the JSON form is a contract (docs/json.md).

use ralph_core::{agent::Usage, record::IterationRecord, verdict::Verdict};
use ralph_engine::{
    lock::Lock,
    store::{Journal, LoopRow, RepositoryId},
};
use serde::Serialize;

use crate::{
    commands::{
        logs::nothing_yet,
        status::facts::{self as status, Blocked, Held, LoopFacts, Next, Skipped, TaskCounts},
    },
    error::CommandError,
    project::Project,
};

/// Which loops to report on.
pub(super) enum Which<'a> {
    Last,
    One(&'a str),
    /// All of the source that the last one worked on.
    All,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    pub(super) source: String,
    pub(super) loops: Vec<LoopFacts>,
    pub(super) iterations: usize,
    /// Spent in iterations.
    pub(super) seconds: f64,
    pub(super) usage: Usage,
    pub(super) commits: Vec<Commit>,
    pub(super) completed: Vec<Completed>,
    pub(super) failed_attempts: Vec<Failed>,
    pub(super) flagged: Vec<Flagged>,
    pub(super) suggestions: Vec<Suggested>,
    /// How the tasks stand now; `None` where their file can't be read any more.
    pub(super) now: Option<Now>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Commit {
    pub(super) commit: String,
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) iteration: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Completed {
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) iteration: u64,
    pub(super) attempt: u32,
    /// No command stood behind it.
    pub(super) unverified: bool,
    pub(super) commit: Option<String>,
    /// The agent's own words about its work; no evidence of anything.
    pub(super) summary: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failed {
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) iteration: u64,
    pub(super) attempt: u32,
    pub(super) verdict: &'static str,
    pub(super) sentence: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Flagged {
    pub(super) task_id: String,
    pub(super) iteration: u64,
    pub(super) what: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Suggested {
    pub(super) number: usize,
    pub(super) iteration: i64,
    pub(super) title: String,
    pub(super) description: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Now {
    pub(super) tasks: TaskCounts,
    pub(super) next: Option<Next>,
    pub(super) questions: Vec<Held>,
    pub(super) blocked: Vec<Blocked>,
    pub(super) skipped: Vec<Skipped>,
}

pub(super) async fn gather(project: &Project, which: Which<'_>) -> Result<Facts, CommandError> {
    let Some((mut journal, repository)) = project.journal().await? else {
        return Err(nothing_yet(project));
    };
    let rows = loops(project, &mut journal, &repository, which).await?;
    let source = rows
        .last()
        .map_or_else(String::new, |row| row.source.clone());
    let mut facts = Facts::new(source);
    for row in &rows {
        let records = journal.records_of(&row.id).await;
        for record in records.map_err(CommandError::internal)? {
            facts.take(record);
        }
    }
    let suggestions = journal.all_suggestions(&repository).await;
    let suggestions = suggestions.map_err(CommandError::internal)?;
    facts.suggestions = suggestions
        .into_iter()
        .enumerate()
        .filter(|(_, one)| one.taken_as.is_none())
        .map(|(at, one)| Suggested {
            number: at + 1,
            iteration: one.iteration,
            title: one.title,
            description: one.description,
        })
        .collect();
    let running = Lock::is_held(&project.data_dir()?, project.root());
    facts.loops = rows
        .into_iter()
        .map(|row| status::loop_facts(row, running))
        .collect();
    facts.now = now(project, &facts.source).await;
    Ok(facts)
}

async fn loops(
    project: &Project,
    journal: &mut Journal,
    repository: &RepositoryId,
    which: Which<'_>,
) -> Result<Vec<LoopRow>, CommandError> {
    if let Which::One(id) = which {
        let found = journal.loops_like(repository, id).await;
        let found = found.map_err(CommandError::internal)?;
        return match found.len() {
            1 => Ok(found),
            0 => Err(CommandError::user(format!("there is no loop {id}"))
                .hint("`ralph report --all --json` has the ids of all loops")),
            _ => Err(CommandError::user(format!(
                "more than one loop has an id that begins with {id}"
            ))
            .hint("write more of it")),
        };
    }
    let worktree = project.worktree();
    let last = journal.last_loop(repository, &worktree).await;
    let Some(last) = last.map_err(CommandError::internal)? else {
        return Err(nothing_yet(project));
    };
    if let Which::All = which {
        let all = journal.loops_of(repository, &worktree, &last.source);
        return all.await.map_err(CommandError::internal);
    }
    Ok(vec![last])
}

/// How the tasks stand now. A report is of use without it, so nothing that is wrong here is fatal.
async fn now(project: &Project, source: &str) -> Option<Now> {
    let path = project.root().join(source);
    let facts = status::gather(project, Some(&path)).await.ok()?;
    Some(Now {
        tasks: facts.tasks,
        next: facts.next,
        questions: facts.questions,
        blocked: facts.blocked,
        skipped: facts.skipped,
    })
}

impl Facts {
    fn new(source: String) -> Self {
        Self {
            source,
            loops: Vec::new(),
            iterations: 0,
            seconds: 0.0,
            usage: Usage::default(),
            commits: Vec::new(),
            completed: Vec::new(),
            failed_attempts: Vec::new(),
            flagged: Vec::new(),
            suggestions: Vec::new(),
            now: None,
        }
    }

    fn take(&mut self, record: IterationRecord) {
        self.iterations += 1;
        let span = record.started_at.until(record.ended_at);
        self.seconds += span
            .and_then(|span| span.total(jiff::Unit::Second))
            .unwrap_or(0.0);
        self.usage.add(&record.usage);
        self.flag(&record);
        if let Some(commit) = &record.git.result_commit {
            self.commits.push(Commit {
                commit: commit.clone(),
                task_id: record.task_id.clone(),
                title: record.title.clone(),
                iteration: record.iteration,
            });
        }
        if record.verdict == Verdict::Verified {
            self.completed.push(Completed {
                task_id: record.task_id,
                title: record.title,
                iteration: record.iteration,
                attempt: record.attempt,
                unverified: record.unverified,
                commit: record.git.result_commit,
                summary: record.said.block.summary,
            });
        } else {
            self.failed_attempts.push(Failed {
                task_id: record.task_id,
                title: record.title,
                iteration: record.iteration,
                attempt: record.attempt,
                verdict: record.verdict.name(),
                sentence: record.verdict.sentence(),
            });
        }
    }

    /// What a person should look at although it was dealt with.
    fn flag(&mut self, record: &IterationRecord) {
        let foreign = &record.said.foreign_claims;
        let foreign = foreign
            .iter()
            .map(|id| format!("claimed that task {id} is complete"));
        let denied = record.runs.iter().flat_map(|run| &run.denied);
        let denied = denied.map(|tool| format!("was denied {tool}"));
        let flags = record.flags.iter().cloned();
        for what in flags.chain(foreign).chain(denied) {
            self.flagged.push(Flagged {
                task_id: record.task_id.clone(),
                iteration: record.iteration,
                what,
            });
        }
    }
}
