//! The prompt of one run of an agent: a template, filled from parts that each have a cap.
//!
//! Text of others stands between tags that say how to take it: `<task>` is the work to do, `<guidance>` and
//! `<project>` come from people, `<data>` is information only. No text can close its tags or open others.
//! Nothing here reads a file: the engine passes the parts, and the user's own template where there is one.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    goal::Promise,
    gutter::Diagnosis,
    iteration::Failure,
    task::{Task, VerifyCommand},
    verify::trim_tail,
};

/// The template that is used where the project has none of its own in `.ralph/prompts/`.
pub const ITERATION_TEMPLATE: &str = include_str!("prompt/iteration.md");

/// The template of a diagnosis. Not the project's own: what it must not do is part of it.
pub const DIAGNOSIS_TEMPLATE: &str = include_str!("prompt/diagnosis.md");

/// The template of a goal. Not the project's own either: it says how the goal is claimed.
const GOAL_TEMPLATE: &str = include_str!("prompt/goal.md");
/// Where the promise goes in it.
const PROMISE: &str = "@PROMISE@";

/// Describes what each part may take at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptCaps {
    pub description_bytes: usize,
    pub acceptance_entries: usize,
    pub patterns_bytes: usize,
    pub agents_md_bytes: usize,
    pub file_list: usize,
    pub failure_lines: usize,
    pub failure_bytes: usize,
    pub grep_bytes: usize,
    pub guidance_bytes: usize,
    pub instructions_bytes: usize,
    pub diagnosis_bytes: usize,
    pub continuation_bytes: usize,
    pub previous_task_bytes: usize,
}

impl Default for PromptCaps {
    fn default() -> Self {
        Self {
            description_bytes: 32 * 1024,
            acceptance_entries: 100,
            patterns_bytes: 8 * 1024,
            agents_md_bytes: 8 * 1024,
            file_list: 100,
            failure_lines: 200,
            failure_bytes: 16 * 1024,
            grep_bytes: 4 * 1024,
            guidance_bytes: 8 * 1024,
            instructions_bytes: 16 * 1024,
            diagnosis_bytes: 8 * 1024,
            continuation_bytes: 16 * 1024,
            previous_task_bytes: 4 * 1024,
        }
    }
}

/// Everything that a prompt is made of.
#[derive(Debug, Clone)]
pub struct Bundle<'a> {
    pub task: &'a Task,
    pub count: Count,
    /// Tells what a person wrote down for every task: the `PROMPT.md` beside a PRD.
    pub instructions: Option<Instructions>,
    /// Commands that ralph will run, as a person reads them.
    pub verify: Vec<String>,
    /// The only commands that may be started in a shell; any, if there are none.
    pub allowed_commands: Vec<String>,
    pub patterns: String,
    /// `AGENTS.md` files of the folders concerned: path and text, nearest the root first.
    pub agents_md: Vec<(String, String)>,
    pub last: Option<LastAttempt<'a>>,
    /// Tells what agents at this task noted before, as its newest checkpoint says it.
    pub continuation: Option<String>,
    /// Tells what the agents of the task before this one noted, in short.
    pub previous_task: Option<String>,
    pub guidance: Vec<String>,
    /// Tells what an agent found out about earlier attempts.
    pub diagnosis: Option<&'a Diagnosis>,
    /// Tells what a diagnosis is to find out; `None` for an attempt.
    pub diagnose: Option<DiagnosisBrief>,
    pub facts: Facts,
    pub progress_file: String,
}

/// Describes what a diagnosis is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosisBrief {
    /// Which rule fired, with its figures.
    pub sentence: String,
    /// Where it may write.
    pub file: String,
    /// Earlier attempts: what became of each, and what it changed.
    pub attempts: Vec<(String, String)>,
}

/// A person's own instructions, and the file that they stand in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instructions {
    pub path: String,
    pub text: String,
}

/// Which iteration of how many, which attempt of how many, which run.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    pub iteration: u64,
    pub attempt: u32,
    pub max_attempts: u32,
    pub run: u32,
}

/// Describes what the attempt before left behind.
#[derive(Debug, Clone)]
pub struct LastAttempt<'a> {
    /// The faults of it, in one sentence.
    pub sentence: String,
    pub failure: Option<&'a Failure>,
    /// Its files are in the working tree.
    pub work_is_here: bool,
}

/// Describes what the repository looks like, bounded.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub branch: String,
    pub diff_stat: String,
    pub changed_files: Vec<String>,
    pub task_files: Vec<String>,
    /// Targeted greps that the config asks for: the pattern and what it found.
    pub greps: Vec<(String, String)>,
}

#[derive(Debug, thiserror::Error)]
#[error("the prompt template {name} can't be rendered: {message}")]
pub struct TemplateError {
    pub name: String,
    pub message: String,
}

/// A template and the name to blame it by.
#[derive(Debug, Clone)]
pub struct Template {
    pub name: String,
    pub text: String,
}

impl Default for Template {
    fn default() -> Self {
        Self {
            name: "iteration.md (built in)".into(),
            text: ITERATION_TEMPLATE.into(),
        }
    }
}

impl Template {
    /// A promise has no character that would mean something in a template.
    pub fn of_goal(promise: &Promise) -> Self {
        Self {
            name: "goal.md (built in)".into(),
            text: GOAL_TEMPLATE.replace(PROMISE, promise.as_str()),
        }
    }

    pub fn of_diagnosis() -> Self {
        Self {
            name: "diagnosis.md (built in)".into(),
            text: DIAGNOSIS_TEMPLATE.into(),
        }
    }
}

/// Renders the prompt of one run.
pub fn render_prompt(
    template: &Template,
    bundle: &Bundle<'_>,
    caps: &PromptCaps,
) -> Result<String, TemplateError> {
    fill(template, context(bundle, caps))
}

/// Fills a template; a name in it that the context does not have is an error.
pub(crate) fn fill(
    template: &Template,
    context: minijinja::Value,
) -> Result<String, TemplateError> {
    let error = |e: &minijinja::Error| TemplateError {
        name: template.name.clone(),
        message: match e.line() {
            Some(line) => format!("{e:#} (line {line})"),
            None => format!("{e:#}"),
        },
    };
    let env = environment().map_err(|e| error(&e))?;
    let text = env
        .render_str(&template.text, context)
        .map_err(|e| error(&e))?;
    Ok(not_a_command(text))
}

/// Returns how templates are written.
pub(crate) fn environment() -> Result<minijinja::Environment<'static>, minijinja::Error> {
    let mut env = minijinja::Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    let syntax = minijinja::syntax::SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    env.set_syntax(syntax);
    Ok(env)
}

/// A prompt that starts with a slash is a command to some agents.
fn not_a_command(text: String) -> String {
    if text.trim_start().starts_with('/') {
        format!("Task:\n{text}")
    } else {
        text
    }
}

/// Tells whether a failure of flows in a browser names pictures of their pages.
fn names_pictures(failure: &Failure) -> bool {
    let command = VerifyCommand::Shell(failure.command.clone());
    command.flows().is_some() && failure.tail.contains(".png")
}

fn context(bundle: &Bundle<'_>, caps: &PromptCaps) -> minijinja::Value {
    let task = bundle.task;
    let per_file = caps.agents_md_bytes / bundle.agents_md.len().max(1);
    let agents_md: Vec<_> = bundle
        .agents_md
        .iter()
        .map(
            |(path, text)| minijinja::context! { path => in_tags(path), text => in_tags(&head_within(text, per_file)) },
        )
        .collect();
    let last = bundle.last.as_ref().map(|last| {
        minijinja::context! {
            sentence => in_tags(&last.sentence),
            work_is_here => last.work_is_here,
            failure => last.failure.map(|f| minijinja::context! {
                command => in_tags(&f.command),
                baseline => in_tags(&f.against_baseline),
                has_pictures => names_pictures(f),
                tail => in_tags(&trim_tail(f.tail.trim_end(), caps.failure_lines, caps.failure_bytes)),
            }),
        }
    });
    let greps: Vec<_> = bundle
        .facts
        .greps
        .iter()
        .map(|(pattern, found)| minijinja::context! { pattern => in_tags(pattern), found => in_tags(&head_within(found, caps.grep_bytes)) })
        .collect();
    minijinja::context! {
        task => minijinja::context! {
            id => task.id.as_str(),
            title => in_tags(&task.text.title),
            description => in_tags(&head_within(&task.text.description, caps.description_bytes)),
            acceptance => list(&task.text.acceptance, caps.acceptance_entries),
            notes => task.text.notes.as_deref().map(|n| in_tags(&trim_tail(n.trim_end(), 100, caps.guidance_bytes))),
            labels => list(&task.labels, usize::MAX),
            expects_change => task.text.expects_change,
        },
        count => minijinja::context! {
            iteration => bundle.count.iteration,
            attempt => bundle.count.attempt,
            max_attempts => bundle.count.max_attempts,
            run => bundle.count.run,
        },
        instructions => bundle.instructions.as_ref().map(|own| minijinja::context! {
            path => in_tags(&own.path),
            text => in_tags(&head_within(own.text.trim(), caps.instructions_bytes)),
        }),
        verify => list(&bundle.verify, usize::MAX),
        allowed_commands => list(&bundle.allowed_commands, caps.file_list),
        patterns => in_tags(&head_within(&bundle.patterns, caps.patterns_bytes)),
        agents_md,
        last,
        continuation => bundle.continuation.as_deref().map(|text| in_tags(&head_within(text.trim_end(), caps.continuation_bytes))),
        previous_task => bundle.previous_task.as_deref().map(|text| in_tags(&head_within(text.trim_end(), caps.previous_task_bytes))),
        guidance => bundle.guidance.iter().map(|g| in_tags(&head_within(g, caps.guidance_bytes))).collect::<Vec<_>>(),
        facts => minijinja::context! {
            branch => in_tags(&bundle.facts.branch),
            diff_stat => in_tags(&trim_tail(&bundle.facts.diff_stat, caps.file_list, caps.grep_bytes)),
            changed_files => list(&bundle.facts.changed_files, caps.file_list),
            task_files => list(&bundle.facts.task_files, caps.file_list),
            greps,
        },
        diagnosis => bundle.diagnosis.map(|found| minijinja::context! {
            iteration => found.iteration,
            text => in_tags(&head_within(&found.text, caps.diagnosis_bytes)),
        }),
        diagnose => bundle.diagnose.as_ref().map(|diagnose| diagnose_context(diagnose, caps)),
        progress_file => bundle.progress_file.clone(),
    }
}

fn diagnose_context(diagnose: &DiagnosisBrief, caps: &PromptCaps) -> minijinja::Value {
    let attempts: Vec<_> = diagnose
        .attempts
        .iter()
        .map(|(verdict, stat)| {
            minijinja::context! {
                verdict => in_tags(verdict),
                stat => in_tags(&head_within(stat, caps.grep_bytes)),
            }
        })
        .collect();
    minijinja::context! {
        sentence => in_tags(&diagnose.sentence),
        file => diagnose.file.clone(),
        attempts,
    }
}

/// The first of these entries, and how many more there are.
fn list(items: &[String], most: usize) -> Vec<String> {
    let mut shown: Vec<String> = items.iter().take(most).map(|item| in_tags(item)).collect();
    if items.len() > most {
        shown.push(format!("… and {} more", items.len() - most));
    }
    shown
}

/// The tags that text of others stands between. The last are those of templates from before there was `<project>`.
const TAGS: [&str; 5] = ["task", "guidance", "project", "data", "instructions"];

/// Text that stands between tags, whichever they are: it can't close them, opens none, and hides nothing.
pub(crate) fn in_tags(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Zero-width and direction marks are how an instruction hides from a person's eye.
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}' => {
                shown.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            '\n' | '\t' => shown.push(c),
            c if c.is_control() => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    let mut out = String::with_capacity(shown.len());
    for (at, piece) in shown.split('<').enumerate() {
        if at > 0 {
            out.push('<');
        }
        if at > 0 && is_tag(piece) {
            out.push('\\');
        }
        out.push_str(piece);
    }
    out
}

/// Returns true if what follows a `<` makes it a tag, opening or closing, however it is spelt.
fn is_tag(after: &str) -> bool {
    let name = after.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
    TAGS.iter().any(|tag| {
        let Some(found) = name.get(..tag.len()) else {
            return false;
        };
        let next = name[tag.len()..].chars().next();
        found.eq_ignore_ascii_case(tag)
            && next.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.' | ':'))
    })
}

/// The beginning of `text`, at most `max_bytes` of it.
///
/// Cut at a line where it can be, and said to be cut. The end of a text is cut by `verify`.
pub(crate) fn head_within(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').map_or(end, |i| i + 1);
    format!(
        "{}\n[… {} bytes cut]",
        text[..end].trim_end(),
        text.len() - end
    )
}

/// The first `PROMPT.md` of a project.
pub const PRD_PROMPT: &str = include_str!("prompt/PROMPT.md");

/// A small `PRD.json`, to be replaced by a person's own stories.
pub fn sample_prd(project: &str) -> String {
    let prd = json!({
        "project": project,
        "description": "A sample: replace these stories with your own.",
        "userStories": [
            {
                "id": "US-001",
                "title": "Say how the project is built and tested",
                "description": "Write a section `Development` in README.md with the commands that build and test this project, and what has to be installed before.",
                "criteria": [
                    "README.md has a heading `Development`",
                    "The section gives the command that builds and the command that tests the project",
                ],
                "verify": ["grep -q '^#* *Development' README.md"],
                "passes": false,
            },
            {
                "id": "US-002",
                "title": "Start a changelog",
                "description": "Write CHANGELOG.md with a section `Unreleased` that names what was added so far, and link to it from README.md.",
                "criteria": [
                    "CHANGELOG.md has a heading `Unreleased`",
                    "README.md links to CHANGELOG.md",
                ],
                "verify": ["grep -q '^#* *Unreleased' CHANGELOG.md", "grep -q 'CHANGELOG.md' README.md"],
                "passes": false,
                "depends_on": ["US-001"],
            },
        ],
    });
    format!("{prd:#}\n")
}

#[cfg(test)]
mod tests;
