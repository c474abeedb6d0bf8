//! Describes what the agents of an artefacts project are told: a template for each phase, filled in.
//!
//! Texts in, text out. Where a project has a template of its own in `.ralph/prompts/`, the engine
//! reads it and passes it on.

use minijinja::{Value, context, value::merge_maps};

use super::{
    Folder, ProjectName, blank_spec,
    obstacles::{self, Obstacle},
};
use crate::prompt::{
    Bundle, PromptCaps, Template, TemplateError, environment, fill, head_within, in_tags,
    render_prompt,
};

const TASK_PART: &str = include_str!("task_part.md");
const ASK: &str = include_str!("ask.md");

/// Describes what the files of the project add to a prompt.
#[derive(Debug, Clone, Default)]
pub struct FromFiles {
    pub open: Vec<Obstacle>,
    /// Tells what became of files that an agent left unreadable, a sentence for each.
    pub set_aside: Vec<String>,
}

/// Renders the part as Markdown; what in it comes from files stands between tags.
///
/// Made of the same parts, with the same caps, as the prompt of `ralph run`.
pub fn render_task_part(
    bundle: &Bundle<'_>,
    caps: &PromptCaps,
    files: &FromFiles,
) -> Result<String, TemplateError> {
    let template = Template {
        name: "task_part.md (built in)".into(),
        text: TASK_PART.into(),
    };
    let mut text = render_prompt(&template, bundle, caps)?;
    text.push_str(&obstacles::render_part(&files.open));
    if !files.set_aside.is_empty() {
        text.push_str("\n## Files that could not be read\n\nThe agent before you left files of the project in a state that could not be used. They are back as they were before it; if you need something of what it wrote, look where it is kept. Write valid JSON.\n<data>\n");
        for line in &files.set_aside {
            text.push_str(&in_tags(&format!("- {line}\n")));
        }
        text.push_str("</data>\n");
    }
    text.push_str(ASK);
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests;

/// The way `tasks.json` is written, for those who have to write one.
const TASKS_FORMAT: &str = include_str!("template/tasks_format.md");

/// A phase whose template a project can replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateKind {
    Init,
    Interview,
    Execute,
}

impl TemplateKind {
    /// The file in `.ralph/prompts/` that replaces the built-in template.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Init => "init.md",
            Self::Interview => "interview.md",
            Self::Execute => "execute.md",
        }
    }

    fn built_in(self) -> &'static str {
        match self {
            Self::Init => include_str!("template/init.md"),
            Self::Interview => include_str!("template/interview.md"),
            Self::Execute => include_str!("template/execute.md"),
        }
    }
}

/// Describes what a template is filled with.
#[derive(Debug, Clone, Copy)]
pub enum Params<'a> {
    Init {
        project: &'a ProjectName,
    },
    Interview {
        project: &'a ProjectName,
        round: Round,
    },
    Execute {
        project: &'a ProjectName,
        /// Which iteration, and how many there can be at most.
        iteration: u32,
        iterations: u32,
        task: Option<PickedTask<'a>>,
    },
}

/// The task that ralph has picked for an iteration.
#[derive(Debug, Clone, Copy)]
pub struct PickedTask<'a> {
    pub id: &'a str,
    /// The part of the prompt about it, as Markdown. What in it comes from files stands between tags already.
    pub part: &'a str,
}

/// Which round of an interview, and of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    pub number: u32,
    pub of: u32,
}

impl Round {
    /// The last one also makes the tasks.
    pub fn is_last(self) -> bool {
        self.number >= self.of
    }
}

impl std::fmt::Display for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "round {} of {}", self.number, self.of)
    }
}

impl Params<'_> {
    pub fn kind(&self) -> TemplateKind {
        match self {
            Self::Init { .. } => TemplateKind::Init,
            Self::Interview { .. } => TemplateKind::Interview,
            Self::Execute { .. } => TemplateKind::Execute,
        }
    }

    fn project(&self) -> &ProjectName {
        match self {
            Self::Init { project }
            | Self::Interview { project, .. }
            | Self::Execute { project, .. } => project,
        }
    }

    /// The placeholders of this phase and what they stand for, beside those of every phase.
    fn own(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::Init { project } => vec![("blank_spec", blank_spec(project).trim_end().into())],
            Self::Interview { project, round } => vec![
                ("round", round.number.into()),
                ("rounds", round.of.into()),
                ("is_last", round.is_last().into()),
                ("tasks_format", tasks_format(project).into()),
            ],
            Self::Execute {
                iteration,
                iterations,
                task,
                ..
            } => vec![
                ("iteration", (*iteration).into()),
                ("iterations", (*iterations).into()),
                ("task", task.map(|task| task.part).into()),
                ("task_id", task.map_or("ID", |task| task.id).into()),
            ],
        }
    }
}

/// Renders the prompt of a phase, by the project's own template where there is one.
pub fn render(own: Option<&Template>, params: &Params<'_>) -> Result<String, TemplateError> {
    let built_in = || Template {
        name: format!("{} (built in)", params.kind().file_name()),
        text: params.kind().built_in().to_owned(),
    };
    let template = own.cloned().unwrap_or_else(built_in);
    let mut values = of_every_phase(params.project());
    values.extend(params.own());
    refuse_unknown(&template, &values)?;
    fill(&template, Value::from_pairs(values))
}

/// The project, and its files as they are named from the root of the repository.
fn of_every_phase(project: &ProjectName) -> Vec<(&'static str, Value)> {
    let folder = Folder::relative(project);
    let path = |path: std::path::PathBuf| Value::from(path.display().to_string());
    vec![
        ("project", project.as_str().into()),
        ("folder", path(folder.path().to_owned())),
        ("spec", path(folder.spec())),
        ("tasks", path(folder.tasks())),
        ("state", path(folder.state())),
        ("obstacles", path(folder.obstacles())),
        ("results", path(folder.results())),
        ("done", path(folder.done())),
    ]
}

fn tasks_format(project: &ProjectName) -> String {
    TASKS_FORMAT
        .trim_end()
        .replace("{{ project }}", project.as_str())
}

/// Names the placeholder that there is not, and those that there are, before anything is rendered:
/// one in a branch that is seldom taken would otherwise be found when it is too late.
fn refuse_unknown(
    template: &Template,
    values: &[(&'static str, Value)],
) -> Result<(), TemplateError> {
    let error = |message: String| TemplateError {
        name: template.name.clone(),
        message,
    };
    let env = environment().map_err(|e| error(e.to_string()))?;
    let Ok(parsed) = env.template_from_str(&template.text) else {
        // What is wrong with it is said when it is rendered.
        return Ok(());
    };
    let known = |name: &String| values.iter().any(|(known, _)| known == name);
    let globals: Vec<String> = env.globals().map(|(name, _)| name.to_owned()).collect();
    let mut unknown: Vec<String> = parsed
        .undeclared_variables(false)
        .into_iter()
        .filter(|name| !known(name) && !globals.contains(name))
        .collect();
    unknown.sort();
    let Some(first) = unknown.first() else {
        return Ok(());
    };
    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    Err(error(format!(
        "there is no placeholder `{first}`; there are {}",
        names.join(", ")
    )))
}

/// Fills a built-in text that no project can replace.
fn built_in(name: &str, text: &str, context: Value) -> Result<String, TemplateError> {
    let template = Template {
        name: format!("{name} (built in)"),
        text: text.to_owned(),
    };
    fill(&template, context)
}

/// Returns what a built-in text is filled with: its own names, and those of every phase.
fn with(project: &ProjectName, own: Value) -> Value {
    let mut every = of_every_phase(project);
    every.push(("tasks_format", tasks_format(project).into()));
    merge_maps([own, Value::from_pairs(every)])
}

/// Questions that a round may have.
pub const MOST_QUESTIONS: usize = 10;
/// Problems that a prompt lists.
const MOST_PROBLEMS: usize = 30;
/// Longest text of one answer or problem, in bytes.
const PIECE_BYTES: usize = 8 * 1024;

/// A round's questions are asked for.
#[derive(Debug, Clone, Copy)]
pub struct QuestionsParams<'a> {
    pub project: &'a ProjectName,
    pub round: Round,
    /// Why what was answered before can't be used.
    pub problem: Option<&'a str>,
}

/// A round's answers are to be written down.
#[derive(Debug, Clone, Copy)]
pub struct AmendParams<'a> {
    pub project: &'a ProjectName,
    pub round: Round,
    /// Questions with their answers.
    pub answers: &'a [(String, String)],
    /// The faults of the attempt before.
    pub problem: Option<&'a str>,
}

/// The tasks are to be corrected.
#[derive(Debug, Clone, Copy)]
pub struct RepairParams<'a> {
    pub project: &'a ProjectName,
    pub problems: &'a [String],
    pub setting: InterviewMode,
}

/// Tells whether there is someone to talk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterviewMode {
    Conversation,
    Headless,
}

impl QuestionsParams<'_> {
    pub fn render(&self) -> Result<String, TemplateError> {
        let more = context! {
            round => self.round.number,
            rounds => self.round.of,
            most => MOST_QUESTIONS,
            problem => self.problem.map(piece),
        };
        built_in(
            "questions.md",
            include_str!("template/questions.md"),
            with(self.project, more),
        )
    }
}

impl AmendParams<'_> {
    pub fn render(&self) -> Result<String, TemplateError> {
        let answers: Vec<Value> = self
            .answers
            .iter()
            .map(|(question, answer)| context! { question => piece(question), answer => piece(answer) })
            .collect();
        let more = context! {
            round => self.round.number,
            rounds => self.round.of,
            is_last => self.round.is_last(),
            answers,
            problem => self.problem.map(piece),
        };
        built_in(
            "amend.md",
            include_str!("template/amend.md"),
            with(self.project, more),
        )
    }
}

impl RepairParams<'_> {
    pub fn render(&self) -> Result<String, TemplateError> {
        let mut problems: Vec<String> = self
            .problems
            .iter()
            .take(MOST_PROBLEMS)
            .map(|problem| piece(problem))
            .collect();
        if self.problems.len() > MOST_PROBLEMS {
            let more = self.problems.len() - MOST_PROBLEMS;
            problems.push(format!("… and {more} more"));
        }
        let more = context! {
            problems,
            talks => self.setting == InterviewMode::Conversation,
        };
        built_in(
            "repair.md",
            include_str!("template/repair.md"),
            with(self.project, more),
        )
    }
}

/// Delimits as data what a person or another agent wrote, with a cap on each piece.
fn piece(text: &str) -> String {
    in_tags(&head_within(text, PIECE_BYTES))
}
