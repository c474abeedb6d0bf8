//! Gathers what a report says, from the journal and, for how things stand now, the task file.

use std::collections::{BTreeMap, HashMap, HashSet};

use ralph_core::{
    dollars::Dollars,
    economics::Totals,
    id::IterationId,
    metrics::{Since, SuccessMetrics},
    record::IterationRecord,
    time::seconds,
};
use ralph_engine::{
    forecast::compared,
    lock::Lock,
    loop_runner::parent_of,
    store::{
        Journal, JournalError, LoopModelCost, LoopRow, RepositoryId, RewriteKind, SpendingScope,
    },
};

use super::flows;
use super::shape::{
    CommandRuns, Commit, Completed, Diagnosed, FailedAttempt, Flagged, Highlight, HighlightKind,
    LoopForecast, ModelSum, Now, Point, PointOutcome, ReportFacts, Suggested, VerifiedBy,
};
use crate::{
    commands::{
        logs::nothing_yet, loops::find_loop, status::facts as status,
        tasks::suggested::open_suggestions,
    },
    error::CommandError,
    project::Project,
};

/// Which loops to report on.
pub(crate) enum Which<'a> {
    /// All of the source and the parent task that the last one worked on.
    Feature,
    Last,
    One(&'a str),
    /// All of the source that the last one worked on.
    All,
}

pub(crate) async fn gather(
    project: &Project,
    which: Which<'_>,
) -> Result<ReportFacts, CommandError> {
    let Some((mut journal, repository)) = project.journal().await? else {
        return Err(nothing_yet(project));
    };
    let rows = loops(project, &mut *journal, &repository, which).await?;
    let source = rows
        .last()
        .map_or_else(String::new, |row| row.source.clone());
    let parent = rows.last().and_then(|row| parent_of(&row.config));
    let worktree = project.worktree();
    let mut all = journal.loops_of(&repository, &worktree, &source).await?;
    all.retain(|row| parent_of(&row.config) == parent);
    let is_feature = all.len() == rows.len();
    let mut metrics = SuccessMetrics::default();
    let mut commands = BTreeMap::new();
    let mut totals = Totals::default();
    let mut facts = ReportFacts {
        source,
        parent,
        whole_feature: is_feature,
        ..ReportFacts::default()
    };
    let fates = Fates::read(&mut *journal, &repository).await?;
    for row in &rows {
        let spent = journal.spent_by_iteration(&row.id).await?;
        for record in journal.records_of(&row.id).await? {
            metrics.observe(&record, fates.since(&record));
            count_commands(&mut commands, &record);
            let spent = spent.get(&record.iteration_id).copied();
            facts.flows.extend(flows::read(project.root(), &record));
            facts.take(record, &fates, spent);
        }
        facts.add_parts(journal.model_costs(&repository, &row.id).await?);
        let scope = SpendingScope::Loop(&row.id);
        totals = totals.plus(journal.spending(&repository, scope, None).await?);
        if let Some(compared) = compared(&mut *journal, &repository, &row.id).await? {
            let loop_id = row.id.clone();
            let forecasts = &mut facts.economics.forecasts;
            forecasts.push(LoopForecast { loop_id, compared });
        }
    }
    facts.economics.used = totals.into();
    facts.economics.models = by_model(&facts.parts);
    facts.questions = journal.questions(&repository, &facts.source).await?;
    let worked: HashSet<u64> = facts.timeline.iter().map(|p| p.iteration).collect();
    facts.questions.retain(|q| worked.contains(&q.iteration));
    let mut figures = metrics.figures();
    // What counts as spent: also what no agent told, by the table of prices.
    let used = &facts.economics.used;
    let each = used.cost_per_verified_task(figures.verified_tasks);
    figures.cost_per_verified_task_usd = each.or(figures.cost_per_verified_task_usd);
    facts.metrics.figures = figures;
    facts.verification = commands.into_values().collect();
    let suggestions = open_suggestions(&mut *journal, &repository).await?;
    facts.suggestions = suggestions
        .into_iter()
        .map(|one| Suggested {
            number: one.number,
            iteration: one.suggestion.iteration,
            title: one.suggestion.title,
            description: one.suggestion.description,
            not_taken: one.written.and_then(|written| written.not_taken),
        })
        .collect();
    let running = Lock::is_held(&project.data_dir()?, project.root());
    facts.loops = rows
        .into_iter()
        .map(|row| status::loop_facts(row, running))
        .collect();
    facts.now = now(project, &facts.source).await;
    let is_complete = facts.now.as_ref().is_some_and(|now| {
        let tasks = &now.tasks;
        tasks.completed > 0 && tasks.completed + tasks.skipped == tasks.total
    });
    facts.metrics.iterations_per_feature = (is_feature && is_complete).then_some(facts.iterations);
    Ok(facts)
}

async fn loops(
    project: &Project,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    which: Which<'_>,
) -> Result<Vec<LoopRow>, CommandError> {
    if let Which::One(id) = which {
        return Ok(vec![find_loop(journal, repository, id).await?]);
    }
    let worktree = project.worktree();
    let Some(last) = journal.last_loop(repository, &worktree).await? else {
        return Err(nothing_yet(project));
    };
    match which {
        Which::All => Ok(journal
            .loops_of(repository, &worktree, &last.source)
            .await?),
        Which::Feature => {
            let parent = parent_of(&last.config);
            let loops = journal.loops_of(repository, &worktree, &last.source);
            let mut loops = loops.await?;
            loops.retain(|row| parent_of(&row.config) == parent);
            Ok(loops)
        }
        Which::Last | Which::One(_) => Ok(vec![last]),
    }
}

/// Reads the present state of the tasks. A report is useful without it, so no error here is fatal.
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

/// Later changes to the commits of iterations, by the iterations' ids.
#[derive(Default)]
struct Fates {
    reverted: HashSet<IterationId>,
    /// The commit that holds each of them by now.
    squashed: HashMap<IterationId, String>,
}

impl Fates {
    fn since(&self, record: &IterationRecord) -> Since {
        if self.reverted.contains(&record.iteration_id) {
            Since::TakenBack
        } else {
            Since::Stands
        }
    }

    async fn read(
        journal: &mut dyn Journal,
        repository: &RepositoryId,
    ) -> Result<Self, JournalError> {
        let mut fates = Self::default();
        // Oldest first: of two squashes the later one holds it.
        for row in journal.rewrites(repository).await? {
            match (row.kind, row.made) {
                (RewriteKind::Revert, _) => fates.reverted.extend(row.body.iterations),
                (RewriteKind::Squash, Some(made)) => {
                    let ids = row.body.iterations.into_iter();
                    fates.squashed.extend(ids.map(|id| (id, made.clone())));
                }
                (RewriteKind::Squash, None) => {}
            }
        }
        Ok(fates)
    }
}

fn count_commands(commands: &mut BTreeMap<String, CommandRuns>, record: &IterationRecord) {
    for one in &record.verification {
        let command = commands.entry(one.command.clone()).or_default();
        command.command.clone_from(&one.command);
        command.runs += 1;
        command.passed += usize::from(one.passed);
        command.failed += usize::from(!one.passed);
        command.seconds += one.seconds;
    }
}

/// The sums of each model over all that asked it, the dearest first.
fn by_model(parts: &[LoopModelCost]) -> Vec<ModelSum> {
    let mut models: Vec<(&Option<String>, Totals)> = Vec::new();
    for part in parts {
        match models.iter_mut().find(|(model, _)| *model == &part.model) {
            Some((_, totals)) => *totals = totals.plus(part.totals),
            None => models.push((&part.model, part.totals)),
        }
    }
    models.sort_by_key(|(_, totals)| std::cmp::Reverse((totals.spent, totals.tokens.total())));
    let sums = models.into_iter().map(|(model, totals)| ModelSum {
        model: model.clone(),
        figures: totals.into(),
    });
    sums.collect()
}

impl ReportFacts {
    /// Adds up who asked which model, over several loops.
    fn add_parts(&mut self, parts: Vec<LoopModelCost>) {
        for part in parts {
            let same = |known: &&mut LoopModelCost| {
                (&known.model, &known.agent, known.caller)
                    == (&part.model, &part.agent, part.caller)
            };
            match self.parts.iter_mut().find(same) {
                Some(known) => known.totals = known.totals.plus(part.totals),
                None => self.parts.push(part),
            }
        }
    }

    fn take(&mut self, record: IterationRecord, fates: &Fates, spent_usd: Option<Dollars>) {
        self.iterations += 1;
        self.seconds += seconds(record.started_at, record.ended_at);
        self.agent_seconds += record.runs.iter().map(|run| run.seconds).sum::<f64>();
        let verify = record.verification.iter();
        self.verify_seconds += verify.map(|one| one.seconds).sum::<f64>();
        self.usage.add(&record.usage);
        self.flag(&record);
        let since = fates.since(&record);
        let is_reverted = since == Since::TakenBack;
        self.highlight(&record);
        self.timeline.push(point(&record, since, spent_usd));
        if let Some(commit) = &record.git.result_commit {
            let list = if is_reverted {
                &mut self.reverted
            } else {
                &mut self.commits
            };
            list.push(Commit {
                commit: commit.clone(),
                task_id: record.task_id.clone(),
                title: record.title.clone(),
                iteration: record.iteration,
                squashed_into: fates.squashed.get(&record.iteration_id).cloned(),
            });
        }
        if is_reverted {
            return;
        }
        if let Some(found) = record.diagnosis {
            self.diagnoses.push(Diagnosed {
                task_id: record.task_id,
                iteration: record.iteration,
                why: found.gutter.sentence(),
                text: found.text,
            });
        } else if record.verdict.completes() {
            self.completed.push(Completed {
                verified_by: verified_by(&record),
                task_id: record.task_id,
                title: record.title,
                iteration: record.iteration,
                attempt: record.attempt,
                unverified: record.unverified,
                commit: record.git.result_commit,
                summary: record.said.block.summary,
            });
        } else if !record.verdict.is_progress() {
            self.failed_attempts.push(FailedAttempt {
                task_id: record.task_id,
                title: record.title,
                iteration: record.iteration,
                attempt: record.attempt,
                verdict: record.verdict.name(),
                sentence: record.verdict.sentence(),
            });
        }
    }

    /// Adds what a person should check although it was handled.
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

    /// Adds what agents learnt and decided, also in attempts that did not land.
    fn highlight(&mut self, record: &IterationRecord) {
        let block = &record.said.block;
        let learnings = block.learnings.iter();
        let learnings = learnings.map(|text| (HighlightKind::Learning, text));
        let decisions = block.decisions.iter();
        let decisions = decisions.map(|text| (HighlightKind::Decision, text));
        for (kind, text) in learnings.chain(decisions) {
            self.highlights.push(Highlight {
                task_id: record.task_id.clone(),
                iteration: record.iteration,
                kind,
                text: text.clone(),
            });
        }
    }
}

/// The commands that were run after the last run of an agent: those that decided.
fn verified_by(record: &IterationRecord) -> Vec<VerifiedBy> {
    let last = record.verification.iter().map(|one| one.run).max();
    let deciding = record.verification.iter();
    deciding
        .filter(|one| Some(one.run) == last)
        .map(|one| VerifiedBy {
            command: one.command.clone(),
            outcome: one.outcome.clone(),
            seconds: one.seconds,
            against_baseline: one.against_baseline.clone(),
        })
        .collect()
}

fn point(record: &IterationRecord, since: Since, spent_usd: Option<Dollars>) -> Point {
    Point {
        iteration: record.iteration,
        task_id: record.task_id.clone(),
        title: record.title.clone(),
        attempt: record.attempt,
        started_at: record.started_at,
        ended_at: record.ended_at,
        verdict: record.verdict.name(),
        unverified: record.unverified,
        commit: record.git.result_commit.clone(),
        tokens: record.usage.total_tokens(),
        cost_usd: record.usage.cost_usd,
        spent_usd,
        reverted: since == Since::TakenBack,
        look: PointOutcome::of(record, since),
    }
}
