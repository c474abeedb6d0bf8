//! A person's answers to the questions of an interview, from a file: YAML or JSON.
//!
//! A map gives each question its answer, by its id or its text; a list gives them in the order in
//! which they are asked; `questions.json` with its answers filled in is taken too. Says what it does
//! not understand, and never makes an answer up.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;

use super::question::InterviewQuestion;

/// Describes what is left of the answers of a file.
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
