//! The script's file: which actions, for which task, at which attempt.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;

/// A script: actions per task, and what to do for a task that is not named.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    pub tasks: BTreeMap<String, Attempts>,
    pub default: Option<Attempts>,
}

/// What happens at the first attempt, the second, …; the last entry is used for all that follow.
pub(super) type Attempts = Vec<Attempt>;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attempt {
    #[serde(rename = "do")]
    pub actions: Vec<Action>,
    /// Done instead when verification failed and a fresh run has to fix it.
    pub fix: Option<Vec<Action>>,
}

/// One thing that the agent does. In paths and texts `{id}` is the task's id.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    Write {
        path: String,
        text: String,
    },
    Append {
        path: String,
        text: String,
    },
    /// Replaces the first `find` in a file.
    Patch {
        path: String,
        find: String,
        replace: String,
    },
    Delete(String),
    /// A line for the shell; its failure is only told, like a tool's.
    Run(String),
    /// The agent's words. The last ones are its final message.
    Say(String),
    /// Seconds.
    Take(f64),
    Usage(ScriptUsage),
    /// Ends as an error of the agent.
    Fail(String),
    /// Ends at once with this exit code and without a result.
    Exit(i32),
    /// Reports a usage limit; the text is when it resets, or empty.
    Limit(String),
    /// Never ends by itself.
    Hang,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptUsage {
    pub input: u64,
    pub output: u64,
    pub cost: Option<f64>,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("can't read the script {path}")]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the script {path} is wrong: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("the script {path} has nothing for task {task}, and no `default`")]
    NoTask { path: PathBuf, task: String },
    #[error("the script can't {what} {path}")]
    Action {
        what: &'static str,
        path: String,
        source: std::io::Error,
    },
    #[error("the script's `patch` does not find its text in {path}")]
    NotFound { path: String },
    #[error("the script's path {path} leaves the folder it works in")]
    Outside { path: String },
}

impl Script {
    /// Reads a script, JSON or YAML.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScriptError::Read {
            path: path.to_owned(),
            source,
        })?;
        // JSON allows characters in its texts that YAML does not.
        let parsed = if text.trim_start().starts_with('{') {
            serde_json::from_str(&text).map_err(|e| e.to_string())
        } else {
            serde_saphyr::from_str(&text).map_err(|e| e.to_string())
        };
        parsed.map_err(|message| ScriptError::Parse {
            path: path.to_owned(),
            message,
        })
    }

    /// The actions of one run: `attempt` and `run` count from 1.
    pub fn actions(&self, task: &str, attempt: u32, run: u32) -> Option<&[Action]> {
        let attempts = self.tasks.get(task).or(self.default.as_ref())?;
        let index = usize::try_from(attempt.max(1)).ok()? - 1;
        let attempt = attempts.get(index).or(attempts.last())?;
        Some(match &attempt.fix {
            Some(fix) if run > 1 => fix,
            _ => &attempt.actions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_beyond_the_last_repeats_it_and_a_later_run_fixes() {
        let script: Script = serde_saphyr::from_str(
            "tasks:\n  A:\n    - do: [{say: one}]\n      fix: [{say: fixed}]\n    - do: [{say: two}]\ndefault:\n  - do: [hang]\n",
        )
        .unwrap();
        let say = |text: &str| vec![Action::Say(text.into())];
        assert_eq!(script.actions("A", 1, 1).unwrap(), say("one"));
        assert_eq!(script.actions("A", 1, 2).unwrap(), say("fixed"));
        assert_eq!(script.actions("A", 2, 1).unwrap(), say("two"));
        assert_eq!(script.actions("A", 9, 2).unwrap(), say("two"));
        assert_eq!(script.actions("B", 1, 1).unwrap(), [Action::Hang]);
    }

    #[test]
    fn an_unknown_action_is_an_error() {
        let error =
            serde_saphyr::from_str::<Script>("default:\n  - do: [{dance: x}]\n").unwrap_err();
        assert!(error.to_string().contains("dance"), "{error}");
    }
}
