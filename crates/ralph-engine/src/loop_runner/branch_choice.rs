//! Chooses the branch of a new loop and where it starts, and reads the tasks that it will work on.
//!
//! One plan for `run` and for `--dry-run`: it is made before anything is changed, and says both sides by name
//! where a branch can't simply be gone on with. Only [`LoopRunner::take_branch`] changes something.

use std::path::{Path, PathBuf};

use ralph_core::task::{
    Task,
    format::{self, Change, Edit},
};
use serde::{Deserialize, Serialize};

use super::{Changed, LoopError, LoopRunner, start_options};
use crate::{
    git::{BranchOutcome, BranchStanding, MergedBy, Oid, Repo, Transplant},
    source::{Source, SourceError},
    store::{Journal, LoopRow, RepositoryId},
};

/// The start that a person asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BranchStart {
    /// Where the branch is, if it can be gone on with; else HEAD.
    #[default]
    Usual,
    /// From this commit, whatever the branch has.
    From(String),
    /// The work of the branch, brought onto this commit.
    Onto(String),
}

/// The branch that a person asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchRequest {
    /// Its name, where it is not to be called by its tasks.
    pub name: Option<String>,
    pub start: BranchStart,
}

impl BranchRequest {
    /// Returns whether an interrupted loop on `branch` is not what is asked for.
    pub(super) fn excludes(&self, branch: &str) -> bool {
        let another = self.name.as_deref().is_some_and(|name| name != branch);
        another || self.start != BranchStart::Usual
    }
}

/// Where a branch was started from, as the journal keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StartPoint {
    /// The branch, or what a person called the commit.
    pub from: String,
    pub commit: String,
    /// True for the loop that started the branch, false for one that went on with it.
    pub fresh: bool,
}

impl StartPoint {
    /// Returns `main@abc123`; nothing where it is not known.
    pub(super) fn shown(&self) -> Option<String> {
        let short = self.commit.get(..10)?;
        Some(match self.from.as_str() {
            "" => short.to_owned(),
            from => format!("{from}@{short}"),
        })
    }
}

/// The start point of a loop, from what the journal keeps of its configuration.
pub fn start_of(config: &str) -> StartPoint {
    start_options::part_of(config, "start")
}

/// The branch of a new loop, and what has to be done to work on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BranchPlan {
    pub(super) branch: String,
    /// Where it will be when the work begins.
    pub(super) tip: Oid,
    pub(super) start: StartPoint,
    /// The commits that the branch loses, to be kept under a ref.
    pub(super) left_behind: Option<Oid>,
    /// Messages for the person.
    pub(super) notices: Vec<String>,
    /// Messages that a person may have to act on.
    pub(super) warnings: Vec<String>,
}

/// A commit to start from, and what people call it.
struct StartCommit {
    commit: Oid,
    name: String,
}

impl StartCommit {
    fn shown(&self) -> String {
        format!("{}@{}", self.name, self.commit.short())
    }
}

/// A plan that is being made.
struct Planning<'a> {
    repo: &'a Repo,
    branch: &'a str,
    /// The branch that is checked out.
    current: Option<&'a str>,
    head: &'a Oid,
    /// The loops on this branch, oldest first.
    before: &'a [LoopRow],
    /// The task files, relative to the root.
    tasks: &'a [PathBuf],
    /// True if HEAD is on another branch that ralph worked on.
    beside_another: bool,
}

/// Plans the branch of a new loop. Changes nothing.
pub(super) async fn plan_branch(
    repo: &Repo,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    (branch, start): (&str, &BranchStart),
    tasks: &[PathBuf],
) -> Result<BranchPlan, LoopError> {
    let (head, current) = repo.head_and_branch()?;
    let before = journal.loops_on(repository, branch).await?;
    let beside_another = match current.as_deref() {
        Some(current) if current != branch => {
            !journal.loops_on(repository, current).await?.is_empty()
        }
        Some(_) | None => false,
    };
    let planning = Planning {
        repo,
        branch,
        current: current.as_deref(),
        head: &head,
        before: &before,
        tasks,
        beside_another,
    };
    let mut plan = match start {
        BranchStart::Usual => planning.usual().await?,
        BranchStart::From(name) => planning.start_over(planning.find(name).await?).await?,
        BranchStart::Onto(name) => planning.onto(planning.find(name).await?).await?,
    };
    let from = plan.start.from.clone();
    if plan.start.fresh && from != branch && !journal.loops_on(repository, &from).await?.is_empty()
    {
        plan.warnings.push(format!(
            "{branch} starts from {from}, another branch that ralph worked on, and has all of its commits: \
             `--from main` (or your own branch) starts it elsewhere"
        ));
    }
    Ok(plan)
}

impl Planning<'_> {
    /// The commit that a person named; `HEAD` is the branch that is checked out.
    async fn find(&self, name: &str) -> Result<StartCommit, LoopError> {
        let found = self.repo.find_commit(name).await?;
        let commit = found.ok_or_else(|| LoopError::UnknownCommit { name: name.into() })?;
        let name = match (name, self.current) {
            ("HEAD", Some(current)) => current.to_owned(),
            _ if commit.as_str().starts_with(name) => String::new(),
            _ => name.to_owned(),
        };
        Ok(StartCommit { commit, name })
    }

    fn head(&self) -> StartCommit {
        StartCommit {
            commit: self.head.clone(),
            name: self.current.unwrap_or_default().to_owned(),
        }
    }

    async fn usual(&self) -> Result<BranchPlan, LoopError> {
        if self.current == Some(self.branch) {
            return Ok(self.going_on(self.head.clone()));
        }
        let head = self.head();
        match self.repo.standing(self.branch, self.head).await? {
            BranchStanding::Absent => Ok(self.fresh(head)),
            // It was made, and has nothing of its own.
            BranchStanding::Holds { tip } if tip == *self.head => Ok(self.fresh(head)),
            BranchStanding::Holds { tip } => Ok(self.going_on(tip)),
            BranchStanding::Merged { tip, .. } | BranchStanding::Diverged { tip, .. }
                if self.is_apart(&tip).await? =>
            {
                Ok(self.going_on(tip))
            }
            BranchStanding::Merged { tip, by } => Ok(self.after_merge(head, (tip, by))),
            BranchStanding::Diverged { own, lacked, .. } => Err(LoopError::Diverged {
                branch: self.branch.to_owned(),
                head: head.name,
                own,
                lacked,
            }),
        }
    }

    /// Returns whether HEAD is at another feature of ralph's, and nothing happened to these tasks there: then
    /// what HEAD has is no concern of this one.
    async fn is_apart(&self, tip: &Oid) -> Result<bool, LoopError> {
        if !self.beside_another {
            return Ok(false);
        }
        let Some(base) = self.repo.merge_base(self.head, tip).await? else {
            return Ok(false);
        };
        let differing = self.repo.differing_paths(self.head, &base).await?;
        Ok(!self.tasks.iter().any(|file| differing.contains(file)))
    }

    /// Starts the branch over, and keeps what it has that the commit lacks.
    async fn start_over(&self, from: StartCommit) -> Result<BranchPlan, LoopError> {
        let standing = self.repo.standing(self.branch, &from.commit).await?;
        match standing {
            BranchStanding::Absent => Ok(self.fresh(from)),
            BranchStanding::Merged { tip, by } => Ok(self.after_merge(from, (tip, by))),
            BranchStanding::Holds { tip } if tip == from.commit => Ok(self.fresh(from)),
            BranchStanding::Holds { tip } | BranchStanding::Diverged { tip, .. } => {
                let notice = format!(
                    "{} starts over from {}; where it was is kept as {}",
                    self.branch,
                    from.shown(),
                    kept_ref(self.branch, &tip),
                );
                let mut plan = self.fresh(from);
                plan.left_behind = Some(tip);
                plan.notices.push(notice);
                Ok(plan)
            }
        }
    }

    /// Brings the branch's own commits onto another one.
    async fn onto(&self, onto: StartCommit) -> Result<BranchPlan, LoopError> {
        let tip = match self.repo.standing(self.branch, &onto.commit).await? {
            BranchStanding::Absent | BranchStanding::Merged { .. } => {
                return self.start_over(onto).await;
            }
            BranchStanding::Holds { tip } => return Ok(self.going_on(tip)),
            BranchStanding::Diverged { tip, .. } => tip,
        };
        let settle = |path: &Path, sides: [&[u8]; 3]| {
            let is_tasks = self.tasks.iter().any(|file| file == path);
            is_tasks.then(|| take_statuses(path, sides)).flatten()
        };
        let made = match self.repo.transplant(&tip, &onto.commit, &settle).await? {
            Transplant::Made { tip } => tip,
            Transplant::Conflict { commit, paths } => {
                let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
                return Err(LoopError::CantBringOnto {
                    branch: self.branch.to_owned(),
                    onto: onto.shown(),
                    reason: format!("commit {commit} conflicts in {}", paths.join(", ")),
                });
            }
            Transplant::NotPlain { commit } => {
                return Err(LoopError::CantBringOnto {
                    branch: self.branch.to_owned(),
                    onto: onto.shown(),
                    reason: format!("commit {commit} is a merge, or signed"),
                });
            }
        };
        let notice = format!(
            "the commits of {} are made again on {}; where it was is kept as {}",
            self.branch,
            onto.shown(),
            kept_ref(self.branch, &tip),
        );
        let mut plan = self.fresh(onto);
        plan.tip = made;
        plan.left_behind = Some(tip);
        plan.notices.push(notice);
        Ok(plan)
    }

    fn fresh(&self, from: StartCommit) -> BranchPlan {
        BranchPlan {
            branch: self.branch.to_owned(),
            start: StartPoint {
                from: from.name,
                commit: from.commit.to_string(),
                fresh: true,
            },
            tip: from.commit,
            left_behind: None,
            notices: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn after_merge(&self, from: StartCommit, (tip, by): (Oid, MergedBy)) -> BranchPlan {
        let (branch, into) = (self.branch, from.shown());
        let (notice, left_behind) = match by {
            MergedBy::History => (
                format!("{into} has all of {branch}: it starts over from there"),
                None,
            ),
            MergedBy::Changes => (
                format!(
                    "{into} has all changes of {branch}, in other commits: it starts over from there; where it \
                     was is kept as {}",
                    kept_ref(branch, &tip)
                ),
                Some(tip),
            ),
        };
        let mut plan = self.fresh(from);
        plan.left_behind = left_behind;
        plan.notices.push(notice);
        plan
    }

    /// Goes on with what is on the branch; it was started where the journal says.
    fn going_on(&self, tip: Oid) -> BranchPlan {
        let known = self.before.iter().rev().map(|row| start_of(&row.config));
        let start = known
            .filter(|start| !start.commit.is_empty())
            .map(|start| StartPoint {
                fresh: false,
                ..start
            })
            .next();
        // A person's own branch that no loop has worked on yet starts where it is.
        let start = start.unwrap_or_else(|| StartPoint {
            from: String::new(),
            commit: tip.to_string(),
            fresh: self.before.is_empty(),
        });
        BranchPlan {
            branch: self.branch.to_owned(),
            tip,
            start,
            left_behind: None,
            notices: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Writes what a commit changed of the statuses of tasks into another version of their file; `None` where it
/// changed more than that.
fn take_statuses(path: &Path, [base, ours, theirs]: [&[u8]; 3]) -> Option<Vec<u8>> {
    let name = path.display().to_string();
    let tasks = |bytes| Some(format::parse(&name, 0, bytes).ok()?.tasks);
    let (before, after, there) = (tasks(base)?, tasks(theirs)?, tasks(ours)?);
    let mut edits = Vec::new();
    for task in &after {
        let old = before.iter().find(|old| old.id == task.id)?;
        let mut edit = |change| {
            edits.push(Edit {
                task: task.id.clone(),
                change,
            });
        };
        if old.status != task.status {
            edit(Change::Status(task.status));
        }
        if let Some(made) = task.attempts.made.filter(|_| old.attempts != task.attempts) {
            edit(Change::Attempts(made));
        }
    }
    if format::apply(&name, base, &edits).ok()? != theirs {
        return None;
    }
    edits.retain(|edit| there.iter().any(|task| task.id == edit.task));
    format::apply(&name, ours, &edits).ok()
}

/// Keeps where a branch was before it was started over.
fn kept_ref(branch: &str, tip: &Oid) -> String {
    format!("refs/ralph/branches/{branch}/{}", tip.short())
}

/// Reads the tasks of a source as they will be once the folder has gone from `head` to `tip`. `None` where they
/// stay as they are on disk.
pub(super) async fn tasks_at(
    repo: &Repo,
    source: &Source,
    (head, tip): (&Oid, &Oid),
) -> Result<Option<(Source, Vec<Task>)>, LoopError> {
    let root = repo.root();
    let Ok(place) = source.path().strip_prefix(root) else {
        return Ok(None);
    };
    if head == tip {
        return Ok(None);
    }
    let mut differing = repo.differing_paths(head, tip).await?;
    differing.retain(|path| source.has_place_for(&root.join(path)));
    if differing.is_empty() {
        return Ok(None);
    }
    let mut files: Vec<(PathBuf, Option<Vec<u8>>)> = Vec::new();
    for file in source.files() {
        let inside = file.path.strip_prefix(root).map(Path::to_owned);
        if !inside.is_ok_and(|inside| differing.contains(&inside)) {
            files.push((file.path.clone(), None));
        }
    }
    for path in &differing {
        let bytes = repo.read_at(tip, path, MAX_TASK_BYTES).await?;
        files.extend(bytes.map(|bytes| (root.join(path), Some(bytes))));
    }
    if files.is_empty() {
        return Err(LoopError::Source(SourceError::NotOnBranch {
            name: place.display().to_string(),
            commit: tip.short().to_owned(),
        }));
    }
    files.sort();
    let read = source.read_as(files, root)?;
    Ok(Some(read))
}

/// The most of a task file that is read from a commit.
const MAX_TASK_BYTES: u64 = 256 * 1024 * 1024;

impl LoopRunner {
    /// Checks the branch out as planned.
    pub(super) async fn take_branch(&mut self, plan: &BranchPlan) -> Result<(), LoopError> {
        let repo = &self.place.repo;
        if let Some(tip) = &plan.left_behind {
            repo.keep_ref(&kept_ref(&plan.branch, tip), tip).await?;
        }
        let outcome = repo.switch_to_branch(&plan.branch, Some(&plan.tip)).await?;
        if outcome != BranchOutcome::Current {
            self.changed = Changed::Something;
        }
        self.place.base = repo.status().await?.head;
        self.reread_tasks()
    }
}
