//! The person at the terminal: reads an answer to a question that is on the screen.
//!
//! Only asks; the question itself was shown by the reporter. A thread waits for lines, one for each
//! that is asked for, so that a signal or an answer from elsewhere is heard meanwhile.

use std::{future::Future, io::BufRead as _, pin::Pin, sync::mpsc};

use ralph_core::{command::Answer, escalation::Question};
use ralph_engine::human::Human;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::output;

const CHOICES: &str = "Options: [1-9] Select option  [c] Custom  [s] Skip  [r] Retry  [a] Abort";

#[derive(Default)]
pub(super) struct Person {
    keyboard: Option<Keyboard>,
}

struct Keyboard {
    ask: mpsc::Sender<()>,
    lines: UnboundedReceiver<Option<String>>,
    /// A line was asked for and has not come: the question was answered elsewhere before.
    waits: bool,
}

/// Parses a line as a choice.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Answer(Answer),
    /// The answer is on the next line.
    Custom,
    Unclear,
}

fn choice(line: &str) -> Choice {
    let word = line.trim().to_lowercase();
    match word.as_str() {
        "c" | "custom" => Choice::Custom,
        "s" | "skip" => Choice::Answer(Answer::Skip),
        "r" | "retry" => Choice::Answer(Answer::Retry),
        "a" | "abort" => Choice::Answer(Answer::Abort),
        number => match number.parse::<u8>() {
            Ok(number @ 1..=9) => Choice::Answer(Answer::Option { number }),
            Ok(_) | Err(_) => Choice::Unclear,
        },
    }
}

impl Keyboard {
    fn open() -> Self {
        let (ask, asked) = mpsc::channel::<()>();
        let (send, lines) = unbounded_channel();
        // Not one of the runtime's: it may wait for a line for ever, and the end of ralph must not.
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line);
                let line = matches!(read, Ok(1..)).then_some(line);
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            ask,
            lines,
            waits: false,
        }
    }

    async fn line(&mut self, prompt: &str) -> Option<String> {
        output::print(prompt);
        let mut open = OpenLine::Yes;
        if !self.waits {
            self.ask.send(()).ok()?;
            self.waits = true;
        }
        let line = self.lines.recv().await?;
        self.waits = false;
        open.close();
        line
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

impl Human for Person {
    fn ask<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Answer>> + 'a>> {
        let keyboard = self.keyboard.get_or_insert_with(Keyboard::open);
        Box::pin(async move {
            output::print(&format!("\n{CHOICES}\n"));
            loop {
                let line = keyboard.line("Choice: ").await?;
                match choice(&line) {
                    Choice::Answer(answer) => match question.told(&answer) {
                        Ok(_) => return Some(answer),
                        Err(error) => output::print(&format!("{error}\n")),
                    },
                    Choice::Custom => {
                        let text = keyboard.line("Guidance: ").await?;
                        let text = text.trim().to_owned();
                        if !text.is_empty() {
                            return Some(Answer::Guidance { text });
                        }
                    }
                    Choice::Unclear => output::print("a number, c, s, r or a\n"),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_understood_and_anything_else_is_asked_again() {
        let answer = |answer| Choice::Answer(answer);
        let table = [
            ("1\n", answer(Answer::Option { number: 1 })),
            (" 9 ", answer(Answer::Option { number: 9 })),
            ("s", answer(Answer::Skip)),
            ("R\n", answer(Answer::Retry)),
            ("abort", answer(Answer::Abort)),
            ("c", Choice::Custom),
            ("0", Choice::Unclear),
            ("10", Choice::Unclear),
            ("", Choice::Unclear),
            ("yes", Choice::Unclear),
        ];
        for (line, meant) in table {
            assert_eq!(choice(line), meant, "{line:?}");
        }
    }
}
