//! The prompts of an interview that no project replaces: the questions and answers of one without a
//! conversation, and the correction of its tasks.
//!
//! Describes what a person or another agent wrote is delimited as data, with a cap on each piece and on how
//! many there are.

use minijinja::{Value, context};

use super::{Round, built_in, with};
use crate::{
    artefacts::ProjectName,
    prompt::{TemplateError, as_data, head_within},
};

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
            include_str!("questions.md"),
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
            include_str!("amend.md"),
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
            include_str!("repair.md"),
            with(self.project, more),
        )
    }
}

fn piece(text: &str) -> String {
    as_data(&head_within(text, PIECE_BYTES))
}
