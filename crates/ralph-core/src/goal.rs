//! A goal without a task list: what is to be reached, and what an agent says once it is.
//!
//! Only words. That a promise is made starts verification, as any claim does; it never replaces it.

use serde::{Deserialize, Serialize};

use crate::{sanitize::fold, signal::Signals};

/// A goal may be this long.
const MOST_BYTES: usize = 32 * 1024;
/// A promise may be this long.
const MOST_CHARS: usize = 200;
/// The first line of a goal, as far as it names commits and branches.
const TITLE_CHARS: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    text: String,
    promise: Promise,
}

/// Describes what stands between `<promise>` and `</promise>`, its white space normalised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Promise(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGoal {
    #[error("the goal is empty")]
    Empty,
    #[error("the goal is longer than {MOST_BYTES} bytes; put it into a file and name that")]
    Long,
    #[error("a promise needs at least one word")]
    NoPromise,
    #[error("a promise has at most {MOST_CHARS} characters")]
    LongPromise,
    #[error("a promise can't have {0:?} in it")]
    Character(char),
}

impl Goal {
    pub fn parse(text: &str, promise: Promise) -> Result<Self, BadGoal> {
        let text = text.trim();
        match text.len() {
            0 => Err(BadGoal::Empty),
            n if n > MOST_BYTES => Err(BadGoal::Long),
            _ => Ok(Self {
                text: text.to_owned(),
                promise,
            }),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn promise(&self) -> &Promise {
        &self.promise
    }

    /// The beginning, on one line.
    pub fn title(&self) -> String {
        let line = self.text.lines().next().unwrap_or_default();
        let words = fold(line);
        if words.chars().count() <= TITLE_CHARS {
            return words;
        }
        let cut: String = words.chars().take(TITLE_CHARS - 1).collect();
        format!("{}…", cut.trim_end())
    }

    /// Eight digits that differ where goals do: two that begin alike are two goals.
    pub fn mark(&self) -> String {
        let mut hash: u32 = 0x811c_9dc5;
        for byte in self.text.bytes() {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        format!("{hash:08x}")
    }

    /// Returns what the signals of a final message say of this goal: nothing but its own promise claims it.
    /// Another one is kept among the claims that are for something else.
    pub fn restrict_signals(&self, mut signals: Signals) -> Signals {
        signals.claim = None;
        match signals.promise.take() {
            Some(made) if made == self.promise.0 => signals.promise = Some(made),
            Some(other) => signals
                .foreign_claims
                .push(other.chars().take(80).collect()),
            None => {}
        }
        signals
    }
}

impl Promise {
    pub const DEFAULT: &str = "DONE";

    pub fn parse(text: &str) -> Result<Self, BadGoal> {
        let words = fold(text);
        // These would end the tag, the template or the line that it stands in.
        let bad = |c: &char| matches!(c, '<' | '>' | '{' | '}' | '`' | '"') || c.is_control();
        if let Some(c) = words.chars().find(bad) {
            return Err(BadGoal::Character(c));
        }
        match words.chars().count() {
            0 => Err(BadGoal::NoPromise),
            n if n > MOST_CHARS => Err(BadGoal::LongPromise),
            _ => Ok(Self(words)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Promise {
    type Error = BadGoal;

    fn try_from(text: String) -> Result<Self, BadGoal> {
        Self::parse(&text)
    }
}

impl From<Promise> for String {
    fn from(promise: Promise) -> Self {
        promise.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{signal::parse_signals, task::TaskId};

    fn goal(promise: &str) -> Goal {
        Goal::parse("Port it\nall of it", Promise::parse(promise).unwrap()).unwrap()
    }

    /// Returns true if a final message claims the goal.
    fn claims(promise: &str, message: &str) -> bool {
        let task = TaskId::parse("goal").unwrap();
        let signals = parse_signals(message, &task);
        goal(promise).restrict_signals(signals).claims_done()
    }

    #[test]
    fn nothing_but_its_own_promise_claims_a_goal() {
        let cases = [
            ("<promise>ALL GREEN</promise>", true),
            ("done.\n<promise>ALL\n  GREEN</promise>.", true),
            ("<promise>all green</promise>", false),
            ("<promise>ALL GREEN!</promise>", false),
            ("Task goal complete", false),
            ("Task complete", false),
            (
                "I will say <promise>ALL GREEN</promise> when I am done",
                false,
            ),
            ("`<promise>ALL GREEN</promise>`", false),
            (
                "<promise>NOT YET</promise>\n<promise>ALL GREEN</promise>",
                false,
            ),
            ("", false),
        ];
        for (message, expected) in cases {
            assert_eq!(claims("ALL  GREEN", message), expected, "{message:?}");
        }
    }

    #[test]
    fn another_promise_is_kept_to_be_shown() {
        let task = TaskId::parse("goal").unwrap();
        let signals = parse_signals("<promise>MAYBE</promise>", &task);
        assert_eq!(
            goal("DONE").restrict_signals(signals).foreign_claims,
            ["MAYBE"]
        );
    }

    #[test]
    fn what_can_be_no_goal_or_promise_is_refused() {
        let promise = || Promise::parse("DONE").unwrap();
        assert_eq!(Goal::parse(" \n", promise()), Err(BadGoal::Empty));
        let long = "x".repeat(32 * 1024 + 1);
        assert_eq!(Goal::parse(&long, promise()), Err(BadGoal::Long));
        assert_eq!(Promise::parse(" "), Err(BadGoal::NoPromise));
        assert_eq!(Promise::parse("a<b"), Err(BadGoal::Character('<')));
        assert_eq!(Promise::parse("{{ x }}"), Err(BadGoal::Character('{')));
        assert_eq!(Promise::parse(&"x".repeat(201)), Err(BadGoal::LongPromise));
    }

    #[test]
    fn two_goals_that_begin_alike_have_one_title_and_two_marks() {
        let other = Goal::parse("Port it\nhalf of it", Promise::parse("DONE").unwrap()).unwrap();
        let goal = goal("DONE");
        assert_eq!(
            (goal.title(), other.title()),
            ("Port it".into(), "Port it".into())
        );
        assert_ne!(goal.mark(), other.mark());
        assert_eq!(goal.mark().len(), 8);
        let long = Goal::parse(&"word ".repeat(40), Promise::parse("DONE").unwrap()).unwrap();
        assert_eq!(long.title().chars().count(), 60);
    }
}
