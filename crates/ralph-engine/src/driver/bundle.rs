//! Gathers the parts of a prompt: the task, the last failure, patterns, facts of the repository.
//!
//! Bounded: named files, the changed ones, and greps that the config asks for. Never a full scan.

use std::path::{Path, PathBuf};

use ralph_core::{
    iteration::{Failure, Purpose},
    memory,
    prompt::{
        Bundle, Count, Facts, Instructions, LastAttempt, PromptCaps, Template, render_prompt,
    },
    task::{Task, format::Format},
};

use super::{Driver, LoopError, files::file_error, notes::Turn};
use crate::{git::Oid, source::Source};

/// The project's own template, where it has one.
pub(super) const TEMPLATE: &str = ".ralph/prompts/iteration.md";
/// What a person tells every agent, beside a PRD.
const INSTRUCTIONS: &str = "PROMPT.md";
/// Folders whose `AGENTS.md` is looked for, at most.
const AGENTS_FOLDERS: usize = 20;

impl Driver {
    pub(super) async fn bundle(
        &mut self,
        turn: &Turn,
        run: u32,
        fix: Option<&Failure>,
    ) -> Result<String, LoopError> {
        let caps = self.prompt_caps();
        let state = self
            .board
            .state(turn.task_id())
            .cloned()
            .unwrap_or_default();
        let last = match (fix, &state.last_verdict) {
            (Some(failure), _) => Some(LastAttempt {
                sentence: format!("verification failed: {}", failure.command),
                failure: Some(failure),
                work_is_here: true,
            }),
            (None, Some(sentence)) => Some(LastAttempt {
                sentence: sentence.clone(),
                failure: state.feedback.as_ref(),
                work_is_here: state.goes_on && state.kept_ref.is_some(),
            }),
            (None, None) => None,
        };
        let changed = match (fix, &state.kept_ref) {
            (Some(_), _) => turn
                .notes
                .change
                .as_ref()
                .and_then(|c| Oid::parse(&c.tree).ok()),
            (None, Some(kept)) if state.goes_on => match &turn.taken_up {
                Some(tree) => Some(tree.clone()),
                None => self.repo.attempt_commit(kept)?,
            },
            (None, _) => None,
        };
        let facts = self.facts(turn, changed).await?;
        let continuation = match fix {
            None => self.continuation(turn).await?,
            Some(_) => None,
        };
        let bundle = Bundle {
            task: &turn.task,
            count: Count {
                iteration: turn.n,
                attempt: turn.start.attempt,
                max_attempts: self.board.max_attempts(turn.task_id(), &self.config),
                run,
            },
            instructions: self.instructions(),
            verify: self
                .verify_commands(&turn.task)
                .iter()
                .map(ToString::to_string)
                .collect(),
            patterns: memory::patterns(&turn.progress, caps.patterns_bytes),
            agents_md: agents_md(&self.root, &turn.task, caps.agents_md_bytes),
            last,
            continuation,
            guidance: self.told(turn),
            diagnosis: state.gutter.diagnosis.as_ref(),
            diagnose: self.what_to_find_out(turn).await?,
            facts,
            progress_file: self.config.memory.progress_file.display().to_string(),
        };
        match (turn.purpose(), &self.artefacts) {
            (Purpose::Diagnosis, _) => {
                Ok(render_prompt(&Template::of_diagnosis(), &bundle, &caps)?)
            }
            (Purpose::Attempt, Some(artefacts)) => {
                self.execute_prompt(artefacts, turn, &bundle, &caps)
            }
            (Purpose::Attempt, None) if self.goal.is_some() => self.goal_prompt(&bundle, &caps),
            (Purpose::Attempt, None) => Ok(render_prompt(&self.template()?, &bundle, &caps)?),
        }
    }

    /// As they stood when the loop began: nobody can slip another text in.
    fn instructions(&self) -> Option<Instructions> {
        let path = instructions_path(&self.board.source)?;
        let text = self.config_files.text(&path)?.to_owned();
        let shown = path.strip_prefix(&self.root).unwrap_or(&path);
        let path = shown.display().to_string();
        (!text.trim().is_empty()).then_some(Instructions { path, text })
    }

    /// What to say of instructions that an own template leaves out.
    pub(super) fn unused_instructions(&self) -> Option<String> {
        let instructions = self.instructions()?;
        let template = self.config_files.text(&self.root.join(TEMPLATE))?;
        (!template.contains("instructions")).then(|| {
            let path = instructions.path;
            format!("{path} is not used: {TEMPLATE} has no place for `instructions`")
        })
    }

    /// What people said, and what they skipped that this task would have stood on.
    fn told(&self, turn: &Turn) -> Vec<String> {
        let skipped = self.board.skipped_before(turn.task_id());
        let skipped = skipped.into_iter().map(|(id, reason)| {
            format!(
                "Task {id}, which this one depends on, was skipped and not done: {}",
                if reason.is_empty() {
                    "no reason is known"
                } else {
                    &reason
                }
            )
        });
        let said = turn.guidance.iter().map(|g| g.text.clone());
        skipped.chain(said).collect()
    }

    fn template(&self) -> Result<Template, LoopError> {
        let path = self.root.join(TEMPLATE);
        match crate::plain_file::read(&path) {
            Ok(bytes) => Ok(Template {
                name: TEMPLATE.into(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Template::default()),
            Err(e) => Err(file_error("read", &path, e)),
        }
    }

    fn prompt_caps(&self) -> PromptCaps {
        let bytes = |n: std::num::NonZeroU64| usize::try_from(n.get()).unwrap_or(usize::MAX);
        let lines = |n: std::num::NonZeroU32| usize::try_from(n.get()).unwrap_or(usize::MAX);
        let prompt = &self.config.prompt;
        PromptCaps {
            description_bytes: bytes(prompt.description_bytes),
            patterns_bytes: bytes(prompt.patterns_bytes),
            agents_md_bytes: bytes(prompt.agents_md_bytes),
            file_list: lines(prompt.file_list),
            failure_lines: lines(self.config.verification.tail_lines),
            failure_bytes: bytes(self.config.verification.tail_bytes),
            ..PromptCaps::default()
        }
    }

    /// What is changed is only asked for when something can be: an attempt that is gone on with.
    async fn facts(&self, turn: &Turn, changed: Option<Oid>) -> Result<Facts, LoopError> {
        let cap = usize::try_from(self.config.prompt.file_list.get()).unwrap_or(usize::MAX);
        let mut facts = Facts {
            branch: self.branch.clone(),
            task_files: turn.task.text.files.clone(),
            greps: self.greps().await,
            ..Facts::default()
        };
        if let Some(tree) = changed {
            let (stats, total) = self.repo.diff_stat(&turn.base, &tree, cap).await?;
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
    async fn greps(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for grep in &self.config.prompt.greps {
            let paths: Vec<String> = grep.paths.iter().map(|p| p.as_str().to_owned()).collect();
            let most = usize::try_from(grep.max_lines.get()).unwrap_or(usize::MAX);
            match self.repo.grep(&grep.pattern, &paths, most).await {
                Ok(lines) => found.push((grep.pattern.clone(), lines)),
                Err(error) => found.push((grep.pattern.clone(), format!("({error})"))),
            }
        }
        found
    }
}

/// Where the instructions of a PRD are, if there are any. Other sources have none.
pub(super) fn instructions_path(source: &Source) -> Option<PathBuf> {
    let [file] = source.files() else {
        return None;
    };
    match file.format {
        Format::Prd => Some(file.path.with_file_name(INSTRUCTIONS)),
        Format::Native | Format::Artefacts => None,
    }
}

fn stat_line(stat: &crate::git::FileStat) -> String {
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
