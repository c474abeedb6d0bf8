//! The answers of the person at the terminal: what can be chosen, what a line means, and a person who types
//! whole lines because nothing on the screen moves.

use std::io;

use async_trait::async_trait;
use ralph_core::{command::Answer, escalation::Question};
use ralph_engine::human::{Human, PersonReply};

use super::terminal_input::TerminalInput;
use crate::output;

/// Lists what can be typed to a question; only options that it has.
pub(super) fn choices(question: &Question) -> String {
    let options = match question.options().len() {
        0 => String::new(),
        1 => "[1] Select option  ".to_owned(),
        n => format!("[1-{n}] Select option  "),
    };
    format!("{options}[c] Custom  [s] Skip  [r] Retry  [a] Abort  [l] Later")
}

/// A line as a choice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Reply(PersonReply),
    /// The answer is on the next line.
    Custom,
    /// It means nothing here, and why.
    Unclear(String),
}

pub(super) fn choice(line: &str, question: &Question) -> Choice {
    let word = line.trim().to_lowercase();
    let answer = match word.as_str() {
        "c" | "custom" => return Choice::Custom,
        "l" | "later" => return Choice::Reply(PersonReply::Later),
        "s" | "skip" => Answer::Skip,
        "r" | "retry" => Answer::Retry,
        "a" | "abort" => Answer::Abort,
        number => match number.parse::<u8>() {
            Ok(number) => Answer::Option { number },
            Err(_) => return Choice::Unclear("a number, c, s, r, a or l".to_owned()),
        },
    };
    match question.told(&answer) {
        Ok(_) => Choice::Reply(PersonReply::Answer(answer)),
        Err(error) => Choice::Unclear(error.to_string()),
    }
}

/// A person who types lines; the terminal is left in its usual mode.
pub(super) struct LinePerson {
    input: TerminalInput,
    typed: Vec<u8>,
}

impl LinePerson {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self {
            input: TerminalInput::open()?,
            typed: Vec::new(),
        })
    }

    async fn line(&mut self, prompt: &str) -> Option<String> {
        output::print(prompt);
        let mut open = OpenLine::Yes;
        loop {
            if let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                open.close();
                return Some(String::from_utf8_lossy(&line).into_owned());
            }
            self.typed.extend(self.input.read().await?);
        }
    }

    async fn reply(&mut self, question: &Question) -> Option<PersonReply> {
        output::print(&format!("\n{}\n", choices(question)));
        loop {
            let line = self.line("Choice: ").await?;
            match choice(&line, question) {
                Choice::Reply(reply) => return Some(reply),
                Choice::Custom => {
                    let text = self.line("Guidance: ").await?.trim().to_owned();
                    if !text.is_empty() {
                        return Some(PersonReply::Answer(Answer::Guidance { text }));
                    }
                }
                Choice::Unclear(why) => output::print(&format!("{why}\n")),
            }
        }
    }
}

/// True if the cursor stands behind a prompt: giving up the wait then ends that line.
enum OpenLine {
    Yes,
    No,
}

impl OpenLine {
    fn close(&mut self) {
        *self = Self::No;
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        if let Self::Yes = self {
            output::print("\n");
        }
    }
}

#[async_trait(?Send)]
impl Human for LinePerson {
    async fn ask(&mut self, question: &Question) -> PersonReply {
        self.reply(question).await.unwrap_or(PersonReply::Gone)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in super::super) fn question(options: &[&str]) -> Question {
        serde_json::from_value(json!({
            "id": 1, "taskId": "A", "iteration": 1, "askedBy": "agent",
            "askedAt": "2026-01-02T03:04:05Z", "question": "Which?", "answer": null,
            "escalation": {
                "type": "deviation", "summary": "", "context": "", "options": options,
                "question": "Which?", "raw": "",
            },
        }))
        .unwrap()
    }

    #[test]
    fn every_choice_is_understood_and_anything_else_is_asked_again() {
        let answer = |answer| Choice::Reply(PersonReply::Answer(answer));
        let unclear = || Choice::Unclear("a number, c, s, r, a or l".into());
        let table = [
            ("1\n", answer(Answer::Option { number: 1 })),
            (" 2 ", answer(Answer::Option { number: 2 })),
            ("S\n", answer(Answer::Skip)),
            ("retry", answer(Answer::Retry)),
            ("a", answer(Answer::Abort)),
            ("c\n", Choice::Custom),
            ("l\n", Choice::Reply(PersonReply::Later)),
            (
                "3",
                Choice::Unclear("question 1 has no option 3, only 1 to 2".into()),
            ),
            (
                "0",
                Choice::Unclear("question 1 has no option 0, only 1 to 2".into()),
            ),
            ("", unclear()),
            ("yes", unclear()),
        ];
        let question = question(&["Use v2", "Use v1"]);
        for (line, meant) in table {
            assert_eq!(choice(line, &question), meant, "{line:?}");
        }
    }

    #[test]
    fn only_options_that_exist_are_offered() {
        let rest = "[c] Custom  [s] Skip  [r] Retry  [a] Abort  [l] Later";
        let table: [(&[&str], &str); 3] = [
            (&[], ""),
            (&["one"], "[1] Select option  "),
            (&["one", "two"], "[1-2] Select option  "),
        ];
        for (options, offered) in table {
            let question = question(options);
            assert_eq!(choices(&question), format!("{offered}{rest}"));
        }
    }
}
