//! The file that says what the fake agent does, and the choice of a part of it.

use std::path::PathBuf;

use serde::Deserialize;

use super::Action;

/// An action to take. The first case that fits is played, else the default.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FakeAgentScenario {
    /// Names of signals without `SIG`: `["TERM", "INT"]`.
    #[serde(default)]
    pub ignore_signals: Vec<String>,
    /// True if the stream begins with an `init` event.
    #[serde(default = "yes")]
    pub init: bool,
    #[serde(default)]
    pub cases: Vec<Case>,
    #[serde(default)]
    pub default: Vec<Action>,
}

/// Actions for one task, attempt, iteration or run; what is not named fits all.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// `RALPH_TASK_ID`.
    pub task: Option<String>,
    /// `RALPH_ATTEMPT`.
    pub attempt: Option<u32>,
    /// `RALPH_ITERATION`.
    pub iteration: Option<u32>,
    /// `RALPH_RUN`.
    pub run: Option<u32>,
    pub actions: Vec<Action>,
}

/// The scenario can't be played.
#[derive(Debug)]
pub enum FakeAgentError {
    Unset,
    Unreadable(PathBuf, std::io::Error),
    Malformed(PathBuf, serde_json::Error),
    Signals(std::io::Error),
}

impl std::error::Error for FakeAgentError {}

impl std::fmt::Display for FakeAgentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unset => f.write_str("FAKE_AGENT_SCENARIO is not set; it names a JSON file"),
            Self::Unreadable(path, e) => write!(f, "cannot read {}: {e}", path.display()),
            Self::Malformed(path, e) => write!(f, "{} is no scenario: {e}", path.display()),
            Self::Signals(e) => write!(f, "cannot ignore signals: {e}"),
        }
    }
}

fn yes() -> bool {
    true
}

impl FakeAgentScenario {
    pub(super) fn from_env() -> Result<Self, FakeAgentError> {
        let path = std::env::var_os("FAKE_AGENT_SCENARIO").map(PathBuf::from);
        let path = path.ok_or(FakeAgentError::Unset)?;
        match std::fs::read_to_string(&path) {
            Err(e) => Err(FakeAgentError::Unreadable(path, e)),
            Ok(text) => serde_json::from_str(&text).map_err(|e| FakeAgentError::Malformed(path, e)),
        }
    }

    /// The actions for the task, attempt and run of the environment.
    pub(super) fn actions(&self) -> &[Action] {
        self.actions_for(|name| std::env::var(name).ok())
    }

    fn actions_for(&self, var: impl Fn(&str) -> Option<String>) -> &[Action] {
        let fits = |name: &str, wanted: Option<String>| wanted.is_none() || wanted == var(name);
        self.cases
            .iter()
            .find(|case| {
                fits("RALPH_TASK_ID", case.task.clone())
                    && fits("RALPH_ATTEMPT", case.attempt.map(|n| n.to_string()))
                    && fits("RALPH_ITERATION", case.iteration.map(|n| n.to_string()))
                    && fits("RALPH_RUN", case.run.map(|n| n.to_string()))
            })
            .map_or(&self.default, |case| &case.actions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(task: &str, attempt: &str) -> String {
        let scenario: FakeAgentScenario = serde_json::from_str(
            r#"{"cases": [
                 {"task": "T1", "attempt": 2, "actions": [{"do": "say", "text": "second"}]},
                 {"task": "T1", "actions": [{"do": "say", "text": "first"}]}],
                "default": [{"do": "say", "text": "other"}]}"#,
        )
        .unwrap();
        let var = |name: &str| match name {
            "RALPH_TASK_ID" => Some(task.to_owned()),
            "RALPH_ATTEMPT" => Some(attempt.to_owned()),
            _ => None,
        };
        match scenario.actions_for(var) {
            [Action::Say { text }] => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_case_that_fits_is_played() {
        assert_eq!(said("T1", "1"), "first");
        assert_eq!(said("T1", "2"), "second");
        assert_eq!(said("T2", "2"), "other");
    }

    #[test]
    fn a_misspelt_action_is_refused() {
        let bad = r#"{"default": [{"do": "sya", "text": "x"}]}"#;
        assert!(serde_json::from_str::<FakeAgentScenario>(bad).is_err());
    }
}
