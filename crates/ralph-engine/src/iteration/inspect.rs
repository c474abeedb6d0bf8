//! Looks at what an agent changed, before anything of it is verified: has put back what was not its to
//! change, writes the tree that would be committed, and refuses what must not land.

use std::{
    cell::RefCell,
    collections::HashMap,
    io::Read as _,
    path::{Path, PathBuf},
};

use ralph_core::{
    change::{
        ChangeKind, ChangeSet, Changed, Contents, EntryKind, Flag, FlagKind, FlowFiles, Inspection,
        Refusal, RefusalReason, inspect as inspect_change, shown, submodule_urls,
    },
    event::Event,
    iteration::{AgentChange, ChangedFile, Purpose, RefusedChange, StepDone},
    job::IterationLog,
    secret::REDACTED,
    task::suggested::SuggestedTask,
    verdict::Halt,
};

use super::{
    IterationContext, IterationFiles, Services,
    diagnosis::inspect_diagnosis,
    verify::{CommandRun, run_verify_commands},
};
use crate::{
    error::LoopError,
    git::{CommitAt, Staged},
    source::suggested_in_content,
    workspace::Workspace,
};

/// Of a changed file this much is looked at for secrets.
const SCAN_BYTES: u64 = 50 * 1024 * 1024;

/// The reasons of a refusal that are given.
const MOST_REFUSALS: usize = 20;

/// The promise that a backlog is done.
const ALL_DONE: &str = "DONE";

pub(super) async fn inspect(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
    files: &mut IterationFiles,
) -> Result<StepDone, LoopError> {
    match context.job.purpose() {
        Purpose::Attempt => {}
        Purpose::Diagnosis => return inspect_diagnosis(context, workspace, services).await,
    }
    let mut found = restore_protected(context, workspace).await?;
    found.flags.extend(empty_promise(context));
    found.flags.extend(secret_in_words(context));
    run_formatters(context, workspace, services, files, &mut found).await?;
    let staged = match workspace.stage(context.job).await {
        Ok(staged) => staged,
        Err(LoopError::Git(error)) if error.is_of_files() => {
            found.refuse(format!("the change can't be stored: {error}"));
            return Ok(tell_inspected(services, unstored(context, found)));
        }
        Err(error) => return Err(error),
    };
    context.tip = staged.tip.clone();
    found
        .flags
        .extend(keep_untracked(context, workspace).await?);
    let Inspection { refusals, flags } = scan(context, workspace, &staged).await?;
    found.flags.extend(flags.iter().map(ToString::to_string));
    found.refuse_all(&refusals);
    if let (true, Some(path)) = (refusals.is_empty(), staged.left_out.first()) {
        let path = shown(path);
        found.refuse(format!("{path} can't be stored in a commit made here"));
    }
    suggest_from_content(workspace, &staged.change, &mut found);
    let changed = changed_files(&staged.change);
    found
        .flags
        .extend(workspace.cache_flags(context.job, &changed)?);
    let change = AgentChange {
        tree: staged.tree.to_string(),
        files: changed,
        refusal: found.refusal,
        flags: found.flags,
        replayed: None,
        suggested: found.suggested,
    };
    Ok(tell_inspected(services, change))
}

fn tell_inspected(services: &mut Services<'_>, change: AgentChange) -> StepDone {
    services.tell(&Event::Inspected {
        files: change.files.clone(),
        flags: change.flags.clone(),
        refusal: change.refusal.as_ref().map(|r| r.reason.clone()),
    });
    StepDone::Inspected { change }
}

/// A change of which no tree can be made.
pub(super) fn unstored(context: &IterationContext<'_>, found: Findings) -> AgentChange {
    AgentChange {
        tree: context.base.to_string(),
        files: Vec::new(),
        refusal: found.refusal,
        flags: found.flags,
        replayed: None,
        suggested: found.suggested,
    }
}

/// Keeps what an agent made of files that are a person's and that git does not track, beside the attempt: it is
/// never landed. Returns what to say of it.
pub(super) async fn keep_untracked(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
) -> Result<Option<String>, LoopError> {
    let edited = workspace.edited_untracked(context.job)?;
    if edited.is_empty() {
        return Ok(None);
    }
    let most = workspace.policy().max_file_bytes;
    let is_kept = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| found.is_file() && found.len() <= most)
    };
    let files: Vec<(PathBuf, PathBuf)> = edited
        .iter()
        .map(|path| (path.clone(), workspace.changed_file(path)))
        .filter(|(_, from)| is_kept(from))
        .collect();
    let kept = if files.is_empty() {
        "nothing of that can be kept".to_owned()
    } else {
        let repo = workspace.repo();
        let policy = workspace.policy();
        let saved = repo.save_beside(&context.job.iteration, &context.base, &files, policy);
        format!("its version is kept at {}", saved.await?)
    };
    let names: Vec<String> = edited
        .iter()
        .take(MOST_REFUSALS)
        .map(|p| shown(p))
        .collect();
    Ok(Some(format!(
        "git does not track {}, which the agent edited; {kept}",
        names.join(", ")
    )))
}

/// Looks at the change again once files that verification wrote are part of it. Of its flags only the new ones
/// are returned.
pub(super) async fn inspect_written(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
    before: &AgentChange,
    written: &[PathBuf],
) -> Result<AgentChange, LoopError> {
    let staged = workspace.stage(context.job).await?;
    context.tip = staged.tip.clone();
    let mut found = Findings::default();
    let Inspection { refusals, flags } = scan(context, workspace, &staged).await?;
    let flags = flags.iter().map(ToString::to_string);
    found
        .flags
        .extend(flags.filter(|flag| !before.flags.contains(flag)));
    found.refuse_all(&refusals);
    let names: Vec<String> = written.iter().map(|path| shown(path)).collect();
    found.flags.push(format!(
        "{}: as verification wrote it, and part of the change",
        names.join(", ")
    ));
    Ok(AgentChange {
        tree: staged.tree.to_string(),
        files: changed_files(&staged.change),
        refusal: found.refusal,
        flags: found.flags,
        replayed: None,
        suggested: before.suggested.clone(),
    })
}

/// Takes the tasks of new files that land, and in which ralph would look for tasks, for suggestions.
fn suggest_from_content(workspace: &dyn Workspace, change: &ChangeSet, found: &mut Findings) {
    let is_new = |kind: ChangeKind| matches!(kind, ChangeKind::Added | ChangeKind::TypeChanged);
    let new = change.changes.iter().filter(|change| is_new(change.kind));
    for path in new.map(|change| &change.path) {
        let bytes = read_capped(&workspace.changed_file(path)).unwrap_or_default();
        let suggested = suggested_in_content(path, &bytes);
        if !suggested.is_empty() {
            found.flags.push(format!(
                "{} holds tasks, which are suggestions; it is no task source unless a person names it",
                shown(path)
            ));
            found.suggested.extend(suggested);
        }
    }
}

fn changed_files(change: &ChangeSet) -> Vec<ChangedFile> {
    let changes = change.changes.iter();
    changes
        .map(|c| ChangedFile {
            path: shown(&c.path),
            kind: kind_name(c.kind).into(),
        })
        .collect()
}

/// Has everything put back that was not the agent's to change: ralph's own files, history, then the git
/// folder, of which HEAD is a part.
pub(super) async fn restore_protected(
    context: &mut IterationContext<'_>,
    workspace: &mut dyn Workspace,
) -> Result<Findings, LoopError> {
    let restored = workspace.restore_own_files(context.job, &context.progress)?;
    context.log.progress_edited = restored.progress_edited;
    let mut found = restored.findings;
    found.join(workspace.restore_history(context.job).await?);
    Ok(found)
}

/// Inspects a change. It is inspected again as often as that asks for contents at the base that were
/// not read yet: which they are is known only then.
async fn scan(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    staged: &Staged,
) -> Result<Inspection, LoopError> {
    let change = &staged.change;
    let repo = workspace.repo();
    let now = |path: &Path| read_capped(&workspace.changed_file(path));
    let deciding = workspace.deciding();
    let mut at_base: HashMap<PathBuf, Option<Vec<u8>>> = HashMap::new();
    loop {
        let unread = RefCell::new(Vec::new());
        let before = |path: &Path| {
            let read = at_base.get(path);
            if read.is_none() {
                unread.borrow_mut().push(path.to_owned());
            }
            read.cloned().flatten()
        };
        let contents = Contents {
            now: &now,
            before: &before,
        };
        let mut inspection = inspect_change(change, workspace.policy(), deciding, &contents);
        let unread = unread.into_inner();
        if unread.is_empty() {
            inspect_submodules(workspace, staged, &mut inspection).await?;
            inspect_flows(context, change, &mut inspection);
            return Ok(inspection);
        }
        for path in unread {
            let read = repo.read_at(&context.base, &path, SCAN_BYTES).await?;
            at_base.insert(path, read);
        }
    }
}

/// Refuses changes of flows and approved pictures that the task does not name.
fn inspect_flows(context: &IterationContext<'_>, change: &ChangeSet, inspection: &mut Inspection) {
    let job = context.job;
    let flows = FlowFiles::new(&job.config.qa.flows, &job.verify_commands(), &job.task.text);
    let found = flows.inspect(change);
    inspection.refusals.extend(found.refusals);
    inspection.flags.extend(found.flags);
}

/// Refuses submodules that were added at commits which no clone can get.
async fn inspect_submodules(
    workspace: &dyn Workspace,
    staged: &Staged,
    inspection: &mut Inspection,
) -> Result<(), LoopError> {
    let changes = staged.change.changes.iter();
    let is_added = |c: &&Changed| c.kind == ChangeKind::Added && c.entry == EntryKind::Repository;
    let added = changes.filter(is_added);
    let added: Vec<&Path> = added.map(|changed| changed.path.as_path()).collect();
    if added.is_empty() {
        return Ok(());
    }
    let modules = read_capped(&workspace.changed_file(Path::new(".gitmodules")));
    let urls = submodule_urls(&String::from_utf8_lossy(&modules.unwrap_or_default()));
    let repo = workspace.repo();
    for link in repo.gitlinks_of(&staged.tree, added).await? {
        // One without is refused by another rule.
        let Some(url) = urls.get(&link.path) else {
            continue;
        };
        let path = link.path;
        match repo.is_at(url, &link.commit).await? {
            CommitAt::Here => {}
            CommitAt::Nowhere => inspection.refusals.push(Refusal {
                path,
                reason: RefusalReason::MadeSubmodule,
            }),
            CommitAt::Elsewhere => inspection.flags.push(Flag {
                path,
                kind: FlagKind::SubmoduleElsewhere,
            }),
        }
    }
    Ok(())
}

/// Returns what to say of an agent that claims the end of all work while there is some left.
fn empty_promise(context: &IterationContext<'_>) -> Option<String> {
    let promise = context.log.said.promise.as_deref();
    promise.filter(|text| *text == ALL_DONE)?;
    match context.job.prompt.other_open_tasks {
        0 => None,
        1 => Some("the agent claims that all is done, 1 task is open besides this one".into()),
        n => Some(format!(
            "the agent claims that all is done, {n} tasks are open besides this one"
        )),
    }
}

/// Returns what to say of an agent that told a secret in its closing message.
fn secret_in_words(context: &IterationContext<'_>) -> Option<String> {
    let told = &context.log.said.final_message;
    told.contains(REDACTED)
        .then(|| "the agent's closing message held what looks like a secret; it is hidden".into())
}

/// Runs formatters before the tree is written, so that what is verified is what is committed.
async fn run_formatters(
    context: &IterationContext<'_>,
    workspace: &mut dyn Workspace,
    services: &mut Services<'_>,
    files: &mut IterationFiles,
    found: &mut Findings,
) -> Result<(), LoopError> {
    let commands = &context.job.config.verification.format;
    if commands.is_empty() {
        return Ok(());
    }
    files.heading("format");
    let here: &dyn Workspace = workspace;
    let mounts = || here.mounts();
    let run = CommandRun {
        commands,
        config: &context.job.config,
        root: here.root(),
        mounts: &mounts,
        written: None,
        baseline: context.job.baseline.as_ref(),
        landed: &[],
    };
    let report = run_verify_commands(run, services.verify_ports(), files).await;
    for failed in report.commands.iter().filter(|c| !c.passed()) {
        found
            .flags
            .push(format!("formatter `{}` {}", failed.command, failed.outcome));
    }
    let restoring = workspace.restore_after_commands(context.job, &context.progress, None);
    let flags = restoring.await?.flags.into_iter();
    found
        .flags
        .extend(flags.map(|what| format!("while the change was formatted: {what}")));
    Ok(())
}

/// What an inspection finds; the first refusal stands, and one that halts the loop goes before one
/// that does not.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    refusal: Option<RefusedChange>,
    pub(crate) flags: Vec<String>,
    /// Tasks that an agent wrote, and that were taken out of the task files.
    pub(crate) suggested: Vec<SuggestedTask>,
}

impl Findings {
    fn refuse_all(&mut self, refusals: &[Refusal]) {
        if refusals.is_empty() {
            return;
        }
        let named = refusals.iter().take(MOST_REFUSALS);
        let named: Vec<String> = named.map(ToString::to_string).collect();
        let more = match refusals.len() - named.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        self.refuse(format!("{}{more}", named.join("; ")));
    }

    pub(crate) fn refuse(&mut self, reason: String) {
        self.refusal.get_or_insert(RefusedChange {
            reason,
            halt: Halt::Attempt,
        });
    }

    /// Takes in what was found elsewhere.
    fn join(&mut self, other: Self) {
        self.flags.extend(other.flags);
        self.suggested.extend(other.suggested);
        match other.refusal {
            Some(refusal) if refusal.halt == Halt::Loop => self.halt(refusal.reason),
            Some(refusal) => self.refuse(refusal.reason),
            None => {}
        }
    }

    pub(super) fn into_parts(self) -> (Option<RefusedChange>, Vec<String>, Vec<SuggestedTask>) {
        (self.refusal, self.flags, self.suggested)
    }

    /// Adds what was found to the log of an iteration whose verdict is known already.
    pub(super) fn add_to(mut self, log: &mut IterationLog) {
        log.suggested.append(&mut self.suggested);
        log.flags.extend(self.into_flags());
    }

    /// Returns what was found, for an attempt whose verdict is known already.
    pub(crate) fn into_flags(self) -> Vec<String> {
        let reason = self.refusal.map(|refusal| refusal.reason);
        self.flags.into_iter().chain(reason).collect()
    }

    pub(crate) fn halt(&mut self, reason: String) {
        let halts = self.refusal.as_ref().is_some_and(|r| r.halt == Halt::Loop);
        if !halts {
            self.refusal = Some(RefusedChange {
                reason,
                halt: Halt::Loop,
            });
        }
    }
}

pub(super) fn kind_name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::TypeChanged => "type_changed",
    }
}

/// The beginning of a regular file. A link is not followed: what it points to is not the change.
fn read_capped(path: &Path) -> Option<Vec<u8>> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .ok()?
        .take(SCAN_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}
