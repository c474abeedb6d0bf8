//! The prompt of a planning agent: the brief, what is there already, the shape of the answer, and
//! where a first answer was wrong, what of it.
//!
//! Every part has a cap, declared here. What comes from files is delimited as data.

use minijinja::{Value, context};

use super::MAX_TASKS;
use crate::prompt::{Template, TemplateError, as_data, fill, head_within};

/// The template that is used where the project has none of its own in `.ralph/prompts/plan.md`.
pub const PLAN_TEMPLATE: &str = include_str!("plan.md");

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
        let text = as_data(&head_within(brief.text.trim(), each));
        context! { name => as_data(&brief.name), text }
    };
    let existing = prompt.existing.iter().take(EXISTING);
    let repair = prompt.repair.map(|repair| {
        let faults = repair.faults.join("\n");
        context! {
            faults => as_data(&head_within(&faults, FAULT_BYTES)),
            answer => as_data(&head_within(repair.answer.trim(), ANSWER_BYTES)),
        }
    });
    let values: Value = context! {
        briefs => prompt.briefs.iter().map(brief).collect::<Vec<_>>(),
        existing => existing
            .map(|(id, title)| context! { id => as_data(id), title => as_data(title) })
            .collect::<Vec<_>>(),
        existing_more => prompt.existing.len().saturating_sub(EXISTING),
        verify => prompt.verify.iter().map(|line| as_data(line)).collect::<Vec<_>>(),
        answer_in_prompt => prompt.answer_by == AnswerBy::Prompt,
        schema => prompt.schema,
        max_tasks => MAX_TASKS,
        repair,
    };
    fill(template, values)
}
