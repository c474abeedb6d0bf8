//! A project made of artefacts: a folder `.artefacts/NAME/` with a brief, the tasks that came of it,
//! and what agents wrote down about them.
//!
//! Names, paths, texts and shapes. Reads and writes nothing: that is the engine's.

mod folder;
pub mod obstacles;
mod question;
pub mod results;
mod spec_commands;
pub mod state;
mod tasks_shape;
pub mod template;

pub use folder::{BadProjectName, Folder, ProjectName};
pub use question::{
    Answers, BadAnswers, BadQuestions, InterviewQuestion, Waiting, parse_questions,
};
pub use spec_commands::{SpecCommands, parse_verify_commands};
pub use tasks_shape::{shape_problems, status_problems};
pub use template::{FromFiles, render_task_part};

/// Rounds of an interview, if no one says how many.
pub const DEFAULT_ROUNDS: u32 = 3;

/// The brief as a new project has it. `{{ project }}` in it is the project's name.
const BLANK_SPEC: &str = include_str!("artefacts/spec.md");

/// The first `spec.md` of a project: headings, and under each what belongs there.
pub fn blank_spec(name: &ProjectName) -> String {
    BLANK_SPEC.replace("{{ project }}", name.as_str())
}

/// A file that is no longer what the workflow says it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file} can't be read: {message}")]
pub struct BadFile {
    pub file: &'static str,
    pub message: String,
}

impl BadFile {
    fn new(file: &'static str, message: impl std::fmt::Display) -> Self {
        Self {
            file,
            message: message.to_string(),
        }
    }
}

/// Which iteration an agent was at when it wrote, by the project's own count, and for which task.
#[derive(Debug, Clone, Copy)]
pub struct IterationRef<'a> {
    pub iteration: u64,
    pub task: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blank_brief_asks_for_all_that_an_agent_needs_to_know() {
        let text = blank_spec(&ProjectName::parse("shop").unwrap());
        let headings: Vec<&str> = text.lines().filter(|l| l.starts_with('#')).collect();
        assert_eq!(
            headings,
            [
                "# shop",
                "## Goal",
                "## Users",
                "## Scope",
                "## Out of scope",
                "## Constraints",
                "## Acceptance",
                "## Verify commands",
            ]
        );
        assert!(!text.contains("{{"), "{text}");
    }
}
