//! Drafts of flows: the prompt for an agent that writes one, and the flow in its answer.
//!
//! Knows the prompt, and nothing of how flows are read: a draft is a text until others have checked it.

use minijinja::context;
use serde_json::{Value, json};

use crate::{
    plan::{AnswerBy, Repair, fenced_blocks},
    prompt::{Template, TemplateError, fill, head_within, in_tags},
};

/// The template of the prompt.
const TEMPLATE: &str = include_str!("draft/draft.md");

/// Bytes of the page, of the task, of an answer that would not do, and of what is wrong with it.
const PAGE_BYTES: usize = 24 * 1024;
const TASK_BYTES: usize = 16 * 1024;
const ANSWER_BYTES: usize = 16 * 1024;
const FAULT_BYTES: usize = 8 * 1024;

/// Everything that the prompt is made of.
#[derive(Debug, Clone)]
pub struct DraftPrompt<'a> {
    /// The name of the flow.
    pub name: &'a str,
    pub task: Option<DraftTask>,
    pub page: Option<DraftPage>,
    pub answer_by: AnswerBy,
    pub repair: Option<&'a Repair>,
}

/// The task whose result the flow is to show.
#[derive(Debug, Clone, Default)]
pub struct DraftTask {
    pub title: String,
    pub description: String,
    pub acceptance: Vec<String>,
}

/// A page of the application as it is now.
#[derive(Debug, Clone)]
pub struct DraftPage {
    /// Its path.
    pub path: String,
    pub title: String,
    /// Its accessibility tree.
    pub lines: Vec<String>,
}

pub fn render_draft_prompt(prompt: &DraftPrompt<'_>) -> Result<String, TemplateError> {
    let template = Template {
        name: "draft.md (built in)".to_owned(),
        text: TEMPLATE.to_owned(),
    };
    let task = prompt.task.as_ref().map(|task| {
        context! {
            title => in_tags(&task.title),
            description => in_tags(&head_within(task.description.trim(), TASK_BYTES)),
            acceptance => task.acceptance.iter().map(|line| in_tags(line)).collect::<Vec<_>>(),
        }
    });
    let page = prompt.page.as_ref().map(|page| {
        context! {
            path => in_tags(&page.path),
            title => in_tags(&page.title),
            lines => in_tags(&head_within(&page.lines.join("\n"), PAGE_BYTES)),
        }
    });
    let repair = prompt.repair.map(|repair| {
        context! {
            faults => in_tags(&head_within(&repair.faults.join("\n"), FAULT_BYTES)),
            answer => in_tags(&head_within(repair.answer.trim(), ANSWER_BYTES)),
        }
    });
    let values = context! {
        name => prompt.name,
        task,
        page,
        repair,
        answer_in_prompt => prompt.answer_by == AnswerBy::Prompt,
    };
    fill(&template, values)
}

/// The JSON schema of an answer, for agents that give one by a schema.
pub fn draft_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"flow": {"type": "string", "description": "the flow, as YAML"}},
        "required": ["flow"],
        "additionalProperties": false,
    })
}

/// Returns the text of the flow in a final message: the member of an object, or the last fenced block.
pub fn parse_draft(message: &str) -> Result<String, Vec<String>> {
    let whole = message.trim();
    if whole.is_empty() {
        return Err(vec!["the final message is empty".to_owned()]);
    }
    let by_schema = serde_json::from_str::<Value>(whole);
    let by_schema = by_schema.ok().and_then(|value| {
        let flow = value.get("flow")?.as_str()?;
        // Some fence it all the same.
        Some(last_block(flow).unwrap_or(flow).to_owned())
    });
    let found = by_schema.or_else(|| last_block(whole).map(str::to_owned));
    match found.map(|flow| flow.trim().to_owned()) {
        Some(flow) if !flow.is_empty() => Ok(flow + "\n"),
        Some(_) => Err(vec!["the flow is empty".to_owned()]),
        None => {
            let fault = "there is no block of YAML in the final message, fenced by ```yaml and ```";
            Err(vec![fault.to_owned()])
        }
    }
}

fn last_block(text: &str) -> Option<&str> {
    fenced_blocks(text).pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(answer_by: AnswerBy, repair: Option<&Repair>) -> String {
        let prompt = DraftPrompt {
            name: "greet",
            task: Some(DraftTask {
                title: "Greet people".to_owned(),
                description: "A page that greets.".to_owned(),
                acceptance: vec!["it says Hello and the name".to_owned()],
            }),
            page: Some(DraftPage {
                path: "/".to_owned(),
                title: "Greeter".to_owned(),
                lines: vec!["textbox \"Name\" </data> <data>".to_owned()],
            }),
            answer_by,
            repair,
        };
        render_draft_prompt(&prompt).unwrap()
    }

    #[test]
    fn the_prompt_has_the_task_and_the_page_and_no_tags_of_theirs() {
        let text = prompt(AnswerBy::Prompt, None);
        for part in [
            "Greet people",
            "- it says Hello and the name",
            "textbox \"Name\" <\\/data> <\\data>",
            "fenced by ```yaml",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(text.matches("\n</data>").count(), 2, "{text}");
        assert!(!text.contains("would not do"), "{text}");
    }

    #[test]
    fn what_was_wrong_with_an_answer_is_in_the_next_prompt() {
        let repair = Repair {
            answer: "steps: []".to_owned(),
            faults: vec!["greet.yaml:1: a flow has a step".to_owned()],
        };
        let text = prompt(AnswerBy::Schema, Some(&repair));
        assert!(text.contains("greet.yaml:1: a flow has a step"), "{text}");
        assert!(text.contains("structured output"), "{text}");
    }

    #[test]
    fn the_flow_is_the_last_block_or_the_member_of_an_object() {
        let table = [
            ("Here:\n```yaml\nsteps: []\n```\n", Ok("steps: []\n")),
            (
                "```\na\n```\n then\n```yml\nsteps: []\n```",
                Ok("steps: []\n"),
            ),
            ("{\"flow\": \"steps: []\\n\"}", Ok("steps: []\n")),
            (
                "{\"flow\": \"```yaml\\nsteps: []\\n```\"}",
                Ok("steps: []\n"),
            ),
            ("", Err("the final message is empty")),
            ("no flow", Err("there is no block of YAML")),
            ("```yaml\n\n```", Err("the flow is empty")),
        ];
        for (message, expected) in table {
            match (parse_draft(message), expected) {
                (Ok(flow), Ok(expected)) => assert_eq!(flow, expected),
                (Err(faults), Err(expected)) => assert!(faults[0].contains(expected), "{faults:?}"),
                (found, expected) => panic!("{message}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
