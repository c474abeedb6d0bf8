//! The part of an execution's prompt that is about its task: what it asks for, how it is verified, what
//! went before, and what stood in the way.
//!
//! Made of the same parts, with the same caps, as the prompt of `ralph run`.

use super::obstacles::{self, Obstacle};
use crate::prompt::{Bundle, PromptCaps, Template, TemplateError, as_data, render_prompt};

const TASK_PART: &str = include_str!("task_part.md");

/// Describes what the files of the project add to a prompt.
#[derive(Debug, Clone, Default)]
pub struct FromFiles {
    pub open: Vec<Obstacle>,
    /// Tells what became of files that an agent left unreadable, a sentence for each.
    pub set_aside: Vec<String>,
}

/// Renders the part as Markdown; what in it comes from files stands in `<data>` marks.
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
        text.push_str("\n### Files that could not be read\n\nThe agent before you left files of the project in a state that could not be used. They are back as they were before it; what it wrote is kept, if you need something of it. Write valid JSON.\n<data>\n");
        for line in &files.set_aside {
            text.push_str(&as_data(&format!("- {line}\n")));
        }
        text.push_str("</data>\n");
    }
    Ok(text.trim_end().to_owned())
}
