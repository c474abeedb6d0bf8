//! Gathers the parts of a prompt: the task, the last failure, patterns, facts of the repository.
//!
//! Bounded: named files, the changed ones, and greps that the config asks for. Never a full scan.

use std::path::{Path, PathBuf};

use ralph_core::{
    checkpoint::run_before,
    config::Config,
    iteration::{Failure, Purpose},
    memory,
    prompt::{Bundle, Count, Facts, LastAttempt, PromptCaps, Template, render_prompt},
    task::Task,
};

use super::IterationContext;
use crate::{
    error::LoopError,
    git::{FileStat, Oid, Repo},
    workspace::Workspace,
};

/// Folders whose `AGENTS.md` is looked for, at most.
const AGENTS_FOLDERS: usize = 20;

pub(crate) async fn bundle(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    run: u32,
    fix: Option<&Failure>,
) -> Result<String, LoopError> {
    let job = context.job;
    let caps = prompt_caps(&job.config);
    let history = &job.history;
    let continues = job.start.attempt_ref.as_deref();
    let last = match (fix, &history.last_verdict) {
        (Some(failure), _) => Some(LastAttempt {
            sentence: format!("verification failed: {}", failure.command),
            failure: Some(failure),
            work_is_here: true,
        }),
        (None, Some(sentence)) => Some(LastAttempt {
            sentence: sentence.clone(),
            failure: history.failure.as_ref(),
            work_is_here: continues.is_some(),
        }),
        (None, None) => None,
    };
    let changed = match (fix, continues) {
        (Some(_), _) => {
            let change = context.log.change.as_ref();
            change.and_then(|change| Oid::parse(&change.tree).ok())
        }
        (None, Some(kept)) => match &context.continued {
            Some(tree) => Some(tree.clone()),
            None => workspace.repo().attempt_commit(kept)?,
        },
        (None, None) => None,
    };
    let bundle = Bundle {
        task: &job.task,
        count: Count {
            iteration: job.number,
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            run,
        },
        instructions: job.prompt.instructions.clone(),
        verify: job
            .verify_commands()
            .iter()
            .map(ToString::to_string)
            .collect(),
        allowed_commands: job.config.safety.allowed_commands.clone(),
        patterns: memory::patterns(&context.progress).to_owned(),
        agents_md: agents_md(workspace.root(), &job.task, caps.agents_md_bytes),
        last,
        continuation: continuation(context, fix),
        previous_task: job.prompt.previous_task.clone(),
        guidance: guidance(context),
        diagnosis: history.diagnosis.as_ref(),
        diagnose: job.prompt.diagnose.clone(),
        facts: facts(context, workspace, changed).await?,
        progress_file: job.config.memory.progress_file.display().to_string(),
    };
    let template = match (job.purpose(), workspace.artefacts(), &job.goal) {
        (Purpose::Diagnosis, _, _) => Template::of_diagnosis(),
        (Purpose::Attempt, Some(artefacts), _) => {
            return artefacts.prompt(job, &bundle, &caps);
        }
        (Purpose::Attempt, None, Some(goal)) => Template::of_goal(goal.promise()),
        (Purpose::Attempt, None, None) => own_template(context).unwrap_or_default(),
    };
    Ok(render_prompt(&template, &bundle, &caps)?)
}

/// The project's own template, where it has one.
fn own_template(context: &IterationContext<'_>) -> Option<Template> {
    let (name, text) = context.job.prompt.template.clone()?;
    Some(Template { name, text })
}

/// Returns what agents noted before: in earlier iterations, and in an earlier run of this one that is repaired.
fn continuation(context: &IterationContext<'_>, fix: Option<&Failure>) -> Option<String> {
    let earlier = context.job.prompt.continuation.clone();
    let log = &context.log;
    let run = fix.map(|_| run_before(&log.said.block, &log.failed_calls));
    let run = run.filter(|text| !text.is_empty());
    let parts: Vec<String> = run.into_iter().chain(earlier).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// Returns what people said, and what they skipped that this task would have stood on.
fn guidance(context: &IterationContext<'_>) -> Vec<String> {
    let skipped = context.job.prompt.skipped.iter().cloned();
    let said = context.guidance.iter().map(|g| g.text.clone());
    skipped.chain(said).collect()
}

fn prompt_caps(config: &Config) -> PromptCaps {
    let bytes = |n: std::num::NonZeroU64| usize::try_from(n.get()).unwrap_or(usize::MAX);
    let lines = |n: std::num::NonZeroU32| usize::try_from(n.get()).unwrap_or(usize::MAX);
    let prompt = &config.prompt;
    PromptCaps {
        description_bytes: bytes(prompt.description_bytes),
        patterns_bytes: bytes(prompt.patterns_bytes),
        agents_md_bytes: bytes(prompt.agents_md_bytes),
        file_list: lines(prompt.file_list),
        failure_lines: lines(config.verification.tail_lines),
        failure_bytes: bytes(config.verification.tail_bytes),
        ..PromptCaps::default()
    }
}

/// Facts of the repository. What is changed is only asked for when something can be: an attempt that is
/// continued.
async fn facts(
    context: &IterationContext<'_>,
    workspace: &dyn Workspace,
    changed: Option<Oid>,
) -> Result<Facts, LoopError> {
    let (job, repo) = (context.job, workspace.repo());
    let cap = usize::try_from(job.config.prompt.file_list.get()).unwrap_or(usize::MAX);
    let mut facts = Facts {
        branch: job.start.branch.clone(),
        task_files: job.task.text.files.clone(),
        greps: greps(repo, &job.config).await,
        ..Facts::default()
    };
    if let Some(tree) = changed {
        let (stats, total) = repo.diff_stat(&context.base, &tree, cap).await?;
        facts.changed_files = stats
            .iter()
            .map(|s| ralph_core::change::shown(&s.path))
            .collect();
        facts.diff_stat = stats.iter().map(stat_line).collect::<Vec<_>>().join("\n");
        if total > stats.len() {
            facts
                .diff_stat
                .push_str(&format!("\n… and {} files more", total - stats.len()));
        }
    }
    Ok(facts)
}

/// Targeted greps that the config asks for: `git grep` on tracked files, capped.
async fn greps(repo: &Repo, config: &Config) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for grep in &config.prompt.greps {
        let paths: Vec<String> = grep.paths.iter().map(|p| p.as_str().to_owned()).collect();
        let most = usize::try_from(grep.max_lines.get()).unwrap_or(usize::MAX);
        match repo.grep(&grep.pattern, &paths, most).await {
            Ok(lines) => found.push((grep.pattern.clone(), lines)),
            Err(error) => found.push((grep.pattern.clone(), format!("({error})"))),
        }
    }
    found
}

/// One line of a diff stat.
pub(super) fn stat_line(stat: &FileStat) -> String {
    let path = ralph_core::change::shown(&stat.path);
    match stat.lines {
        Some((added, removed)) => format!("{path} +{added} -{removed}"),
        None => format!("{path} (binary)"),
    }
}

/// `AGENTS.md` of the root and of the folders of the files that the task names.
fn agents_md(root: &Path, task: &Task, max_bytes: usize) -> Vec<(String, String)> {
    let mut folders = vec![PathBuf::new()];
    for file in &task.text.files {
        let path = Path::new(file);
        let inside = path
            .components()
            .all(|c| matches!(c, std::path::Component::Normal(_)));
        if !inside {
            continue;
        }
        let mut chain: Vec<_> = path.ancestors().skip(1).map(Path::to_owned).collect();
        chain.reverse();
        folders.extend(chain.into_iter().filter(|f| !f.as_os_str().is_empty()));
    }
    let mut seen = std::collections::HashSet::new();
    folders
        .into_iter()
        .filter(|f| seen.insert(f.clone()))
        .take(AGENTS_FOLDERS)
        .filter_map(|folder| {
            let name = folder.join("AGENTS.md");
            let text = read_within(&root.join(&name), max_bytes)?;
            Some((name.display().to_string(), text))
        })
        .collect()
}

/// The beginning of a file; a little more than the cap, so that the prompt can say it was cut.
fn read_within(path: &Path, max_bytes: usize) -> Option<String> {
    use std::io::Read as _;
    let file = crate::plain_file::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(max_bytes as u64 + 1024)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
