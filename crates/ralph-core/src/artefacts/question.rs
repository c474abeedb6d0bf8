//! Questions that an agent has about a brief, as it gives them back: JSON in a final message.
//!
//! Whatever an agent writes is checked here: ids that can be typed and looked up, questions that say
//! something, no more of them than a person would answer.

use serde::{Deserialize, Serialize};

use super::template::MOST_QUESTIONS;

/// Options of a question that are kept.
const MOST_OPTIONS: usize = 9;
/// Longest id in bytes: it is typed by a person.
const ID_BYTES: usize = 60;

/// One question, and what the person said to it once they have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterviewQuestion {
    pub id: String,
    pub question: String,
    /// Tells what depends on it.
    #[serde(default)]
    pub why: String,
    /// Answers to choose from; another one can be given in any case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    #[serde(default)]
    pub answer: Option<String>,
}

/// The questions of one round that wait for answers: what `questions.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub project_name: String,
    pub round: u32,
    pub rounds: u32,
    pub questions: Vec<InterviewQuestion>,
}

/// As an agent writes them. What it says beside them is passed over.
#[derive(Deserialize)]
struct WrittenQuestions {
    questions: Vec<InterviewQuestion>,
}

/// Why a final message holds no questions that could be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestions {
    #[error("the final message has no JSON object in it")]
    NoObject,
    #[error("the JSON object in the final message can't be read: {0}")]
    Shape(String),
    #[error("question {0} says nothing")]
    Empty(usize),
    #[error(
        "question {number} has the id {id:?}; an id has letters, digits, `-` and `_`, at most {ID_BYTES} of them"
    )]
    Id { number: usize, id: String },
    #[error("two questions have the id {0:?}")]
    Twice(String),
    #[error("there are {0} questions, at most {MOST_QUESTIONS} can be asked in a round")]
    TooMany(usize),
}

/// Reads the questions in a final message.
pub fn parse_questions(message: &str) -> Result<Vec<InterviewQuestion>, BadQuestions> {
    let text = object_in(message).ok_or(BadQuestions::NoObject)?;
    let written: WrittenQuestions =
        serde_json::from_str(text).map_err(|error| BadQuestions::Shape(error.to_string()))?;
    let mut questions = written.questions;
    if questions.len() > MOST_QUESTIONS {
        return Err(BadQuestions::TooMany(questions.len()));
    }
    for (at, question) in questions.iter_mut().enumerate() {
        let number = at + 1;
        if question.question.trim().is_empty() {
            return Err(BadQuestions::Empty(number));
        }
        if !is_id(&question.id) {
            let id = question.id.clone();
            return Err(BadQuestions::Id { number, id });
        }
        question.options.retain(|option| !option.trim().is_empty());
        question.options.truncate(MOST_OPTIONS);
        // An answer is a person's to give.
        question.answer = None;
    }
    let mut ids: Vec<&str> = questions.iter().map(|q| q.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(BadQuestions::Twice(twice[0].to_owned()));
    }
    Ok(questions)
}

fn is_id(text: &str) -> bool {
    let safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty() && text.len() <= ID_BYTES && text.chars().all(safe)
}

/// The outermost braces: agents put words or a fence around them, whatever they are told.
fn object_in(message: &str) -> Option<&str> {
    let start = message.find('{')?;
    let end = message.rfind('}')?;
    message.get(start..=end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_found_with_words_and_a_fence_around_them() {
        let message = "Here they are:\n```json\n{\"questions\": [{\"id\": \"storage\", \
                       \"question\": \"Where?\", \"why\": \"It decides.\", \
                       \"options\": [\"a file\", \" \"], \"answer\": \"mine\", \"more\": 1}]}\n```\n";
        let expected = InterviewQuestion {
            id: "storage".into(),
            question: "Where?".into(),
            why: "It decides.".into(),
            options: vec!["a file".into()],
            answer: None,
        };
        assert_eq!(parse_questions(message), Ok(vec![expected]));
        assert_eq!(parse_questions("{\"questions\": []}"), Ok(Vec::new()));
    }

    #[test]
    fn what_can_not_be_asked_is_refused_by_what_is_wrong_with_it() {
        let one = |id: &str, question: &str| format!(r#"{{"id":"{id}","question":"{question}"}}"#);
        let all = |questions: &[String]| format!(r#"{{"questions":[{}]}}"#, questions.join(","));
        let many: Vec<String> = (0..11).map(|n| one(&format!("q{n}"), "What?")).collect();
        let cases = [
            (
                "I have no questions.".to_owned(),
                "the final message has no JSON object in it",
            ),
            (
                r#"{"question": 1}"#.to_owned(),
                "the JSON object in the final message can't be read: missing field `questions`",
            ),
            (
                r#"{"questions": [{"question": "What?"}]}"#.to_owned(),
                "the JSON object in the final message can't be read: missing field `id`",
            ),
            (all(&[one("a", "  ")]), "question 1 says nothing"),
            (
                all(&[one("a", "What?"), one("b c", "What?")]),
                "question 2 has the id \"b c\"; an id has letters, digits, `-` and `_`, at most 60 of them",
            ),
            (
                all(&[one("a", "What?"), one("a", "Why?")]),
                "two questions have the id \"a\"",
            ),
            (
                all(&many),
                "there are 11 questions, at most 10 can be asked in a round",
            ),
        ];
        for (message, says) in cases {
            let said = parse_questions(&message).unwrap_err().to_string();
            assert!(said.starts_with(says), "{said}");
        }
    }
}
