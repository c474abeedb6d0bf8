//! `squash`: makes one commit of all that ralph landed on the branch. The tree stays what it is.
//!
//! Only ralph's own commits are made one. What others committed before them stays below; what they
//! committed after is carried over as it is; between them there may be nothing.

use std::collections::HashMap;

use ralph_core::{id::IterationId, sanitize::one_line};

use super::{super::start_of, Ground, Intended, RewriteError, going::name_commits, oid, recover};
use crate::{
    git::{Along, CommitInfo, CommitKind, Head, Oid, message_with_trailers},
    landing::{ITERATION_TRAILER, LOOP_TRAILER, TASK_TRAILER},
    store::{RewriteBody, RewriteKind},
};

/// The longest subject that is made from titles.
const SUBJECT_CHARS: usize = 100;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Squash {
    /// A person's own words, instead of the titles of the tasks.
    pub message: Option<String>,
}

/// The commits that would be made one.
#[derive(Debug)]
pub struct SquashPlan {
    pub branch: String,
    pub from: Oid,
    /// Ralph's, oldest first.
    pub commits: Vec<CommitInfo>,
    /// Others' commits below them, which stay, oldest first.
    pub before: Vec<CommitInfo>,
    /// Others' commits on top of them, which are carried over, oldest first.
    pub after: Vec<CommitInfo>,
    pub message: String,
    head: Head,
    base: Oid,
    iterations: Vec<IterationId>,
}

impl SquashPlan {
    /// One commit can't be made fewer.
    pub fn is_idle(&self) -> bool {
        self.commits.len() < 2
    }
}

/// The commits that were made one.
#[derive(Debug)]
pub struct Squashed {
    pub plan: SquashPlan,
    /// `None` if there was nothing to do.
    pub done: Option<SquashDone>,
}

#[derive(Debug)]
pub struct SquashDone {
    /// All of ralph's in one.
    pub commit: Oid,
    /// Where the branch is now.
    pub tip: Oid,
    /// Keeps what the branch was.
    pub reference: String,
}

/// Makes one commit of ralph's.
pub async fn squash(ground: &mut Ground<'_>, wanted: &Squash) -> Result<Squashed, RewriteError> {
    recover(ground).await?;
    let plan = plan_squash(ground, wanted).await?;
    let (Some(last), false) = (plan.commits.last(), plan.is_idle()) else {
        return Ok(Squashed { plan, done: None });
    };
    let repo = ground.repo;
    let commit = repo
        .make_commit(&last.tree, &plan.base, &plan.message)
        .await?;
    let mut tip = commit.clone();
    for other in &plan.after {
        let carried = repo.carry_over(&other.oid, &tip).await?;
        tip = carried.ok_or_else(|| cant_carry(other))?;
    }
    // What was verified is what stays: a squash changes history, never a file.
    let (expected, found) = (repo.tree_of(&plan.from).await?, repo.tree_of(&tip).await?);
    if expected != found {
        return Err(RewriteError::OtherTree {
            expected: expected.to_string(),
            found: found.to_string(),
        });
    }
    let id = uuid::Uuid::now_v7().to_string();
    let intended = Intended {
        kind: RewriteKind::Squash,
        head: &plan.head,
        to: &tip,
        made: Some(&commit),
        body: RewriteBody {
            numbers: Vec::new(),
            iterations: plan.iterations.clone(),
            reopened: Vec::new(),
        },
        id: &id,
    };
    let (row, _) = ground.carry_out(intended).await?;
    let done = SquashDone {
        commit,
        tip,
        reference: row.reference(),
    };
    Ok(Squashed {
        plan,
        done: Some(done),
    })
}

/// Works out what would be made one, or why nothing may. Changes nothing.
pub async fn plan_squash(
    ground: &mut Ground<'_>,
    wanted: &Squash,
) -> Result<SquashPlan, RewriteError> {
    let head = ground.settled_head().await?;
    let nothing = || RewriteError::NothingOfRalphs {
        branch: head.branch.clone(),
    };
    let began = began(ground, &head).await?.ok_or_else(nothing)?;
    let repo = ground.repo;
    let mut all = repo
        .commits_between(&began, &head.oid, Along::FirstParents)
        .await?;
    all.reverse();
    let first = all.iter().position(is_ralphs).ok_or_else(nothing)?;
    let last = all.iter().rposition(is_ralphs).unwrap_or(first);
    let after = all.split_off(last + 1);
    let commits = all.split_off(first);
    let between: Vec<&CommitInfo> = commits.iter().filter(|c| !is_ralphs(c)).collect();
    if !between.is_empty() {
        let commits = name_commits(&between);
        return Err(RewriteError::InBetween { commits });
    }
    if let Some(merge) = after.iter().find(|c| c.parents.len() != 1) {
        return Err(cant_carry(merge));
    }
    let own = own_paths(ground).await?;
    ground.refuse_dirty(&own).await?;
    let base = commits.first().and_then(|c| c.parents.first()).cloned();
    let titles = titles(ground).await?;
    Ok(SquashPlan {
        branch: head.branch.clone(),
        from: head.oid.clone(),
        message: message(&commits, &titles, wanted.message.as_deref()),
        iterations: values(&commits, ITERATION_TRAILER)
            .into_iter()
            .map(IterationId::from)
            .collect(),
        commits,
        before: all,
        after,
        base: base.ok_or_else(nothing)?,
        head,
    })
}

/// Where ralph first began on this branch since it was started last, as far as that is still below it. What
/// was merged before is not this branch's to change any more.
async fn began(ground: &mut Ground<'_>, head: &Head) -> Result<Option<Oid>, RewriteError> {
    let loops = ground
        .journal
        .loops_on(ground.repository, &head.branch)
        .await?;
    let started = loops
        .iter()
        .rposition(|row| start_of(&row.config).fresh)
        .unwrap_or(0);
    for row in &loops[started..] {
        let base = oid(&row.base_commit)?;
        if ground.repo.holds(&head.oid, &base).await? {
            return Ok(Some(base));
        }
    }
    Ok(None)
}

/// Ralph's own files and all task files that it has worked on: none of them makes a tree dirty.
async fn own_paths(ground: &mut Ground<'_>) -> Result<Vec<std::path::PathBuf>, RewriteError> {
    let mut own = ground.own.to_vec();
    let landings = ground.journal.landings(ground.repository).await?;
    own.extend(landings.into_iter().map(|row| row.source.into()));
    Ok(own)
}

/// Also one that was rebased: no file is lost by a squash, so the trailer is enough.
fn is_ralphs(commit: &CommitInfo) -> bool {
    let ours = |(key, _): &(String, String)| key.starts_with("Ralph-");
    commit.parents.len() == 1 && commit.trailers.iter().any(ours)
}

fn cant_carry(commit: &CommitInfo) -> RewriteError {
    RewriteError::CantCarry {
        commit: name_commits(&[commit]).join(""),
    }
}

/// Returns what the tasks of iterations are called.
async fn titles(ground: &mut Ground<'_>) -> Result<HashMap<String, String>, RewriteError> {
    let rows = ground.journal.landings(ground.repository).await?;
    let titles = rows
        .into_iter()
        .filter_map(|row| Some((row.task_id, row.title?)));
    Ok(titles.collect())
}

/// The values of a trailer in all commits, each once.
fn values(commits: &[CommitInfo], key: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in commits.iter().flat_map(|commit| commit.trailer(key)) {
        if !found.iter().any(|one| one == value) {
            found.push(value.to_owned());
        }
    }
    found
}

/// One message of all: the titles of the tasks, and every trailer once.
fn message(commits: &[CommitInfo], titles: &HashMap<String, String>, own: Option<&str>) -> String {
    let tasks = values(commits, TASK_TRAILER);
    let title = |id: &String| titles.get(id).cloned().unwrap_or_else(|| id.clone());
    let (subject, body) = match own {
        Some(text) => {
            let (subject, body) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
            (subject.to_owned(), body.to_owned())
        }
        None => {
            let all: Vec<String> = tasks.iter().map(title).collect();
            let subject = one_line(&all.join("; "), SUBJECT_CHARS);
            let list = tasks.iter().map(|id| format!("- {id} {}\n", title(id)));
            (format!("{}: {subject}", kind(commits)), list.collect())
        }
    };
    let mut trailers: Vec<(&str, &str)> = Vec::new();
    let (loops, iterations) = (
        values(commits, LOOP_TRAILER),
        values(commits, ITERATION_TRAILER),
    );
    for (key, list) in [
        (TASK_TRAILER, &tasks),
        (LOOP_TRAILER, &loops),
        (ITERATION_TRAILER, &iterations),
    ] {
        trailers.extend(list.iter().map(|value| (key, value.as_str())));
    }
    message_with_trailers(&subject, &body, &trailers)
}

/// Returns what all of them are, if they are all the same; a feature otherwise.
fn kind(commits: &[CommitInfo]) -> CommitKind {
    let worked = commits
        .iter()
        .filter(|c| c.trailer(TASK_TRAILER).next().is_some());
    let prefixes: Vec<&str> = worked.filter_map(|c| c.subject.split(':').next()).collect();
    let all = |word: &str| !prefixes.is_empty() && prefixes.iter().all(|p| *p == word);
    if all("fix") {
        CommitKind::Fix
    } else if all("chore") {
        CommitKind::Chore
    } else {
        CommitKind::Feat
    }
}
