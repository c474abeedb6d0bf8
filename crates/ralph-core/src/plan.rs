//! Planning: from a brief to tasks. What an agent is asked for, what its answer has to look like,
//! and what is wrong with one.
//!
//! The shape of an answer stands in one place, [`Plan`]: the schema that an agent is given and the
//! reading of what it says both come from there. Starts no agent and writes nothing; an answer is a
//! proposal until a person has seen it.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use minijinja::context;
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    board::Board,
    lint::{Finding, LintContext, Severity, lint},
    prompt::{Template, TemplateError, fill, head_within, in_tags},
    task::{
        Task, TaskId,
        format::{Format, FormatError, Syntax, parse, write_new},
        graph::Graph,
    },
};

/// Most tasks of one plan: more than a person would read before saying yes.
pub const MAX_TASKS: usize = 60;

/// What an agent is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// What all the tasks are for.
    pub feature: Feature,
    /// The tasks in the order in which they would best be done.
    #[schemars(length(min = 1, max = MAX_TASKS))]
    pub tasks: Vec<Planned>,
}

/// What all the tasks are for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Feature {
    /// A short id in lower case with hyphens, such as user-login. It names the branch and the file.
    #[schemars(length(min = 1, max = 60))]
    pub id: String,
    /// What there will be when all is done, in a few words.
    #[schemars(length(min = 1, max = 120))]
    pub title: String,
    /// What it is for and what holds for all tasks, in a few sentences.
    pub description: String,
}

/// One task: what a fresh agent can do in one sitting, knowing nothing but its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Planned {
    /// An id of its own, such as user-login-1. Letters, digits, hyphens and dots.
    #[schemars(length(min = 1, max = 60))]
    pub id: String,
    /// What will be different when it is done; it becomes the subject of a commit.
    #[schemars(length(min = 1, max = 100))]
    pub title: String,
    /// What is to be done and where: files, functions, decisions. Whoever does it knows nothing else.
    #[schemars(length(min = 1))]
    pub description: String,
    /// What must be true when it is done, each a sentence that somebody else can check.
    #[schemars(length(min = 1))]
    pub acceptance: Vec<String>,
    /// Lines for the shell that fail as long as the task is not done, run at the top of the
    /// repository. Only commands that this repository can run; none if the usual ones will do.
    #[serde(default)]
    pub verify: Vec<String>,
    /// Ids of tasks that must be complete before this one can begin.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Files that it will change or make, as far as they are known.
    #[serde(default)]
    pub files: Vec<String>,
    /// Labels such as area=ui, feature, bug or docs.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Lower goes first among tasks that are ready; leave it out where the order does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
}

/// The JSON Schema of an answer.
pub fn schema() -> Value {
    // Inlined, and without a word on schemas in general: some agents take no references.
    let mut schema = SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        // Claude Code drops a schema with a format that it does not know, without a word.
        .with_transform(RecursiveTransform(|schema: &mut Schema| {
            schema.remove("format");
        }))
        .into_generator()
        .into_root_schema_for::<Plan>()
        .to_value();
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
        members.remove("title");
    }
    schema
}

impl Plan {
    /// The task file that the plan becomes.
    pub fn render(&self, format: Format, syntax: Syntax) -> Result<String, FormatError> {
        write_new(&self.native(format).to_string(), format, syntax)
    }

    /// As native JSON. In ralph's own format the feature is the parent of all tasks; in the others
    /// it is what the file says about the project, as their tools would take a parent for a task.
    fn native(&self, format: Format) -> Value {
        let Feature {
            id,
            title,
            description,
        } = &self.feature;
        let tasks = self.tasks.iter().map(Planned::native);
        if format == Format::Native {
            let mut all = vec![
                json!({"id": id, "title": title, "description": description, "status": "open"}),
            ];
            all.extend(tasks.map(|mut task| {
                task["parentId"] = id.clone().into();
                task
            }));
            json!({ "tasks": all })
        } else {
            json!({"project": title, "description": description, "tasks": tasks.collect::<Vec<_>>()})
        }
    }
}

impl Planned {
    fn native(&self) -> Value {
        let mut task = json!({"id": self.id, "title": self.title, "description": self.description});
        for (name, list) in [
            ("acceptance", &self.acceptance),
            ("verify", &self.verify),
            ("dependsOn", &self.depends_on),
            ("files", &self.files),
            ("labels", &self.labels),
        ] {
            if !list.is_empty() {
                task[name] = list.clone().into();
            }
        }
        if let Some(priority) = self.priority {
            task["priority"] = priority.into();
        }
        task["status"] = "open".into();
        task
    }
}

/// Describes what a plan has to fit in with.
#[derive(Debug, Clone, Default)]
pub struct Surrounding {
    /// Tasks of the source that the new file becomes a part of.
    pub tasks: Vec<Task>,
    /// True if the configuration has verify commands that are run for every task.
    pub configured_verify: bool,
}

/// A plan as the file that it becomes, with what the linter says of it.
#[derive(Debug, Clone)]
pub struct Checked {
    pub text: String,
    /// In the order of the file.
    pub tasks: Vec<Task>,
    pub findings: Vec<Finding>,
}

impl Checked {
    /// Sentences about what has to be put right, with what should be looked at as well.
    pub fn faults(&self) -> Vec<String> {
        if !self.findings.iter().any(|f| f.severity == Severity::Error) {
            return Vec::new();
        }
        self.findings.iter().map(sentence).collect()
    }
}

fn sentence(finding: &Finding) -> String {
    let Finding { message, hint, .. } = finding;
    match &finding.task {
        // Some messages name it themselves.
        Some(id) if !message.contains(id.as_str()) => format!("task {id}: {message} ({hint})"),
        Some(_) | None => format!("{message} ({hint})"),
    }
}

/// Renders the plan and looks at it as the reader and the linter see it.
///
/// The same reader, graph and linter as for every task file: a plan is checked as the file that it
/// would become.
pub fn check(
    plan: &Plan,
    format: Format,
    syntax: Syntax,
    around: &Surrounding,
) -> Result<Checked, FormatError> {
    let text = plan.render(format, syntax)?;
    let name = format!("tasks.{}", syntax.ending());
    // Behind those that are there, so that a circle is told from the side of the new ones last.
    let index = around.tasks.iter().map(|task| task.place.file + 1).max();
    let tasks = parse(&name, index.unwrap_or(0), text.as_bytes())?.tasks;
    let all: Vec<Task> = around.tasks.iter().chain(&tasks).cloned().collect();
    let (graph, problems) = Graph::build(all);
    let context = LintContext {
        configured_verify: around.configured_verify,
    };
    let new: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let mut findings = lint(&Board::of_all(graph), &problems, &context);
    findings.retain(|finding| match &finding.task {
        Some(task) => new.contains(task),
        // About all tasks, which is about the new ones only where there are no others.
        None => around.tasks.is_empty(),
    });
    Ok(Checked {
        text,
        tasks,
        findings,
    })
}

/// The template that is used where the project has none of its own in `.ralph/prompts/plan.md`.
pub const PLAN_TEMPLATE: &str = include_str!("plan/plan.md");

/// Defines what a brief may take in all.
const BRIEF_BYTES: usize = 192 * 1024;
/// Tasks that are named, of those that are there.
const EXISTING: usize = 100;
const FAULT_BYTES: usize = 8 * 1024;
const ANSWER_BYTES: usize = 48 * 1024;

/// A text that says what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    /// As a person names it.
    pub name: String,
    pub text: String,
}

/// The way an agent is told the shape of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerBy {
    /// By an option of its own: the answer is the JSON itself.
    Schema,
    /// In the prompt: the answer is the last block of JSON in its final message.
    Prompt,
}

/// Everything that a planning prompt is made of.
#[derive(Debug, Clone)]
pub struct PlanPrompt<'a> {
    pub briefs: &'a [Brief],
    /// Id and title of tasks that are there already.
    pub existing: Vec<(String, String)>,
    /// Commands that are run for every task, as a person reads them.
    pub verify: Vec<String>,
    pub answer_by: AnswerBy,
    pub schema: &'a str,
    pub repair: Option<&'a Repair>,
}

/// An answer that would not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    pub answer: String,
    pub faults: Vec<String>,
}

pub fn render_plan_prompt(
    template: &Template,
    prompt: &PlanPrompt<'_>,
) -> Result<String, TemplateError> {
    let each = BRIEF_BYTES / prompt.briefs.len().max(1);
    let brief = |brief: &Brief| {
        let text = in_tags(&head_within(brief.text.trim(), each));
        context! { name => in_tags(&brief.name), text }
    };
    let existing = prompt.existing.iter().take(EXISTING);
    let repair = prompt.repair.map(|repair| {
        let faults = repair.faults.join("\n");
        context! {
            faults => in_tags(&head_within(&faults, FAULT_BYTES)),
            answer => in_tags(&head_within(repair.answer.trim(), ANSWER_BYTES)),
        }
    });
    let values = context! {
        briefs => prompt.briefs.iter().map(brief).collect::<Vec<_>>(),
        existing => existing
            .map(|(id, title)| context! { id => in_tags(id), title => in_tags(title) })
            .collect::<Vec<_>>(),
        existing_more => prompt.existing.len().saturating_sub(EXISTING),
        verify => prompt.verify.iter().map(|line| in_tags(line)).collect::<Vec<_>>(),
        answer_in_prompt => prompt.answer_by == AnswerBy::Prompt,
        schema => prompt.schema,
        max_tasks => MAX_TASKS,
        repair,
    };
    fill(template, values)
}

/// Most faults that are told at once.
const MOST_FAULTS: usize = 20;

/// Reads the plan in a final message: the message itself, or the last block of JSON in it.
///
/// Believes nothing but JSON of the right shape; mends nothing.
pub fn parse_answer(message: &str) -> Result<Plan, Vec<String>> {
    let value = find_json(message).map_err(|fault| vec![fault])?;
    let mut faults = Vec::new();
    let plan = read(&value, &mut faults);
    if let Some(plan) = &plan {
        faults.extend(bad_ids(plan));
    }
    faults.truncate(MOST_FAULTS);
    match plan {
        Some(plan) if faults.is_empty() => Ok(plan),
        Some(_) | None => Err(faults),
    }
}

fn find_json(message: &str) -> Result<Value, String> {
    let whole = message.trim();
    if whole.is_empty() {
        return Err("the final message is empty".to_owned());
    }
    let candidates = std::iter::once(whole)
        .chain(fenced_blocks(whole).into_iter().rev())
        .chain(outermost(whole));
    let mut fault = None;
    for candidate in candidates.filter(|text| text.starts_with('{')) {
        match serde_json::from_str::<Value>(candidate) {
            Ok(value) => return Ok(value),
            Err(error) => {
                fault.get_or_insert_with(|| format!("the JSON can't be read: {error}"));
            }
        }
    }
    Err(fault.unwrap_or_else(|| "there is no JSON object in the final message".to_owned()))
}

/// The contents of fenced blocks, in order.
pub(crate) fn fenced_blocks(message: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = None;
    let mut at = 0;
    for line in message.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match open.take() {
                Some(start) => found.push(message[start..at].trim()),
                None => open = Some(at + line.len()),
            }
        }
        at += line.len();
    }
    found
}

/// From the first brace to the last one.
fn outermost(message: &str) -> Option<&str> {
    let (start, end) = (message.find('{')?, message.rfind('}')?);
    message.get(start..=end)
}

/// The parts one by one, so that each fault names its place.
fn read(value: &Value, faults: &mut Vec<String>) -> Option<Plan> {
    let Some(members) = value.as_object() else {
        faults.push("expected an object with `feature` and `tasks`".to_owned());
        return None;
    };
    for name in members.keys() {
        if !matches!(name.as_str(), "feature" | "tasks") {
            faults.push(format!("`{name}` is no member of a plan"));
        }
    }
    let feature = match members.get("feature") {
        Some(feature) => part::<Feature>(feature, "feature", faults),
        None => {
            faults.push("`feature` is missing".to_owned());
            None
        }
    };
    let Some(list) = members.get("tasks").and_then(Value::as_array) else {
        faults.push("`tasks` is missing, or no list".to_owned());
        return None;
    };
    if list.is_empty() || list.len() > MAX_TASKS {
        let many = list.len();
        faults.push(format!("expected 1 to {MAX_TASKS} tasks, found {many}"));
    }
    let mut tasks = Vec::new();
    for (position, task) in list.iter().enumerate() {
        let id = task.get("id").and_then(Value::as_str);
        let place = match id {
            Some(id) => format!("tasks[{position}] ({id})"),
            None => format!("tasks[{position}]"),
        };
        tasks.extend(part::<Planned>(task, &place, faults));
    }
    let whole = tasks.len() == list.len();
    feature
        .filter(|_| whole)
        .map(|feature| Plan { feature, tasks })
}

fn part<T: serde::de::DeserializeOwned>(
    value: &Value,
    place: &str,
    faults: &mut Vec<String>,
) -> Option<T> {
    match serde_json::from_value(value.clone()) {
        Ok(part) => Some(part),
        Err(error) => {
            faults.push(format!("{place}: {error}"));
            None
        }
    }
}

/// Ids that ralph can't use, and those that two have.
fn bad_ids(plan: &Plan) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let own = std::iter::once(&plan.feature.id).chain(plan.tasks.iter().map(|task| &task.id));
    for id in own {
        if let Err(error) = TaskId::parse(id) {
            faults.push(format!("id {id:?}: {error}"));
        } else if !seen.insert(id) {
            faults.push(format!("id {id:?}: the feature or another task has it too"));
        }
    }
    for task in &plan.tasks {
        for id in &task.depends_on {
            if let Err(error) = TaskId::parse(id) {
                faults.push(format!("task {}: dependsOn {id:?}: {error}", task.id));
            }
        }
    }
    faults
}
