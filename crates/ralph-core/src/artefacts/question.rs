//! Questions that an agent has about a brief, as it gives them back: JSON in a final message.
//!
//! Whatever an agent writes is checked here: ids that can be typed and looked up, questions that say
//! something, no more of them than a person would answer.

use std::collections::{BTreeMap, VecDeque};

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

/// Describes what is left of the answers of a file.
///
/// A map gives each question its answer, by its id or its text; a list gives them in the order in
/// which they are asked; `questions.json` with its answers filled in is taken too. Never makes an
/// answer up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    by_name: BTreeMap<String, String>,
    in_order: VecDeque<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} has no answers that can be read: {message}")]
pub struct BadAnswers {
    name: String,
    message: String,
}

/// As a person writes them.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenAnswers {
    Filled { questions: Vec<Filled> },
    Map(BTreeMap<String, AnswerValue>),
    List(Vec<AnswerValue>),
}

#[derive(Deserialize)]
struct Filled {
    id: String,
    answer: Option<AnswerValue>,
}

/// People write numbers and yes without quotation marks.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnswerValue {
    Bool(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    Several(Vec<String>),
}

impl AnswerValue {
    fn into_text(self) -> String {
        match self {
            Self::Bool(true) => "yes".into(),
            Self::Bool(false) => "no".into(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.trim().to_owned(),
            Self::Several(texts) => texts.join(", "),
        }
    }
}

impl Answers {
    /// Reads the answers of a file. An empty file has none.
    pub fn parse(name: &str, text: &str) -> Result<Self, BadAnswers> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // JSON is YAML as well, but for texts of people who indent it with tabs.
        let written = serde_json::from_str::<WrittenAnswers>(text)
            .or_else(|_| serde_saphyr::from_str::<WrittenAnswers>(text))
            .map_err(|_| BadAnswers {
                name: name.to_owned(),
                message:
                    "expected a map from the id or the text of a question to its answer, or a \
                          list of answers, as YAML or JSON"
                        .into(),
            })?;
        let mut answers = Self::default();
        match written {
            WrittenAnswers::Filled { questions } => {
                for one in questions {
                    if let Some(answer) = one.answer {
                        answers.by_name.insert(key(&one.id), answer.into_text());
                    }
                }
            }
            WrittenAnswers::Map(map) => {
                let pairs = map.into_iter().map(|(k, v)| (key(&k), v.into_text()));
                answers.by_name = pairs.collect();
            }
            WrittenAnswers::List(list) => {
                answers.in_order = list.into_iter().map(AnswerValue::into_text).collect();
            }
        }
        Ok(answers)
    }

    /// The answer to a question, if there is one. Those of a list are used up.
    pub fn take(&mut self, question: &InterviewQuestion) -> Option<String> {
        let named = [&question.id, &question.question]
            .into_iter()
            .find_map(|name| self.by_name.get(&key(name)).cloned());
        named.or_else(|| self.in_order.pop_front())
    }
}

/// Case, spaces and the mark at the end make no difference.
fn key(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ").trim_end_matches(['?', '.', ' ']).to_owned()
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

#[cfg(test)]
mod answers_tests {
    use super::*;

    fn question(id: &str, text: &str) -> InterviewQuestion {
        InterviewQuestion {
            id: id.into(),
            question: text.into(),
            why: String::new(),
            options: Vec::new(),
            answer: None,
        }
    }

    #[test]
    fn a_map_answers_by_id_or_by_text_and_as_often_as_asked() {
        let text = "storage: a file\n\"how  many users?\": 12\nlogin: no\ntools: [a, b]\n";
        let mut answers = Answers::parse("answers.yaml", text).unwrap();
        let mut take = |id: &str, text: &str| answers.take(&question(id, text));
        assert_eq!(take("Storage", "Where?").as_deref(), Some("a file"));
        assert_eq!(take("x", "How many users?").as_deref(), Some("12"));
        assert_eq!(take("login", "Log in?").as_deref(), Some("no"));
        assert_eq!(take("tools", "Which?").as_deref(), Some("a, b"));
        assert_eq!(take("storage", "Again?").as_deref(), Some("a file"));
        assert_eq!(take("other", "What else?"), None);
    }

    #[test]
    fn a_list_answers_in_order_and_is_used_up() {
        let mut answers = Answers::parse("answers.json", "[\"one\", 2]").unwrap();
        assert_eq!(answers.take(&question("a", "A?")).as_deref(), Some("one"));
        assert_eq!(answers.take(&question("b", "B?")).as_deref(), Some("2"));
        assert_eq!(answers.take(&question("c", "C?")), None);
    }

    #[test]
    fn the_file_of_questions_with_answers_filled_in_is_taken() {
        let text = r#"{"round": 1, "questions": [
            {"id": "a", "question": "A?", "answer": "yes"}, {"id": "b", "question": "B?", "answer": null}]}"#;
        let mut answers = Answers::parse("questions.json", text).unwrap();
        assert_eq!(answers.take(&question("a", "A?")).as_deref(), Some("yes"));
        assert_eq!(answers.take(&question("b", "B?")), None);
    }

    #[test]
    fn a_file_that_says_something_else_is_named() {
        assert_eq!(Answers::parse("a.yaml", " \n"), Ok(Answers::default()));
        for text in ["just words", "a: {b: c}", "{\"a\":", "- [x, {y: z}]"] {
            let said = Answers::parse("a.yaml", text).unwrap_err().to_string();
            let begins = "a.yaml has no answers that can be read: expected a map";
            assert!(said.starts_with(begins), "{text}: {said}");
        }
    }
}
