//! Describes what a project with a PRD starts from: instructions for every story, and a small backlog.
//!
//! Texts alone: where they are written, and whether, is for others to say.

use serde_json::json;

/// The first `PROMPT.md` of a project.
pub const PRD_PROMPT: &str = include_str!("PROMPT.md");

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
mod tests {
    use super::*;
    use crate::{
        signal::parse_signals,
        task::{TaskId, format::parse},
    };

    #[test]
    fn the_sample_is_a_prd_whose_second_story_waits_for_the_first() {
        let text = sample_prd("a \"shop\"");
        let prd = parse("PRD.json", 0, text.as_bytes()).unwrap();
        assert_eq!(prd.meta.project.as_deref(), Some("a \"shop\""));
        let found: Vec<_> = prd
            .tasks
            .iter()
            .map(|t| (t.id.as_str(), t.text.acceptance.len(), t.verify.len()))
            .collect();
        assert_eq!(found, [("US-001", 2, 1), ("US-002", 2, 2)]);
        let first = TaskId::parse("US-001").unwrap();
        assert_eq!(prd.tasks[1].links.depends_on, [first]);
    }

    #[test]
    fn the_instructions_name_the_protocol_and_claim_nothing_themselves() {
        for part in [
            "STUCK",
            "DEVIATION",
            "<escalate type=\"stuck\">",
            "Task US-001 complete",
            "<promise>DONE</promise>",
        ] {
            assert!(PRD_PROMPT.contains(part), "{part}");
        }
        // An agent that repeats its instructions must not claim anything by it.
        let repeated = parse_signals(PRD_PROMPT, &TaskId::parse("US-001").unwrap());
        assert!(!repeated.claims_done(), "{repeated:?}");
    }
}
