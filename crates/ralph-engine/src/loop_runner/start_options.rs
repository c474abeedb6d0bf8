//! The options that a loop was started with, as the journal keeps them: how far its flags let it go, and
//! the names that `status.json` has for it. Enough to go on with it as it was asked for, and to say how it ended once its
//! process is gone.
//!
//! Only shapes and their reading: a loop of an older ralph that kept less gives the defaults.

use ralph_core::loop_state::LoopStatusConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LoopRunner;
use crate::artefacts::Artefacts;

/// The bounds of a loop, as far as flags set them. What they did not say is the configuration's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LoopBounds {
    pub max_iterations: Option<u32>,
    pub max_minutes: Option<f64>,
    pub max_cost_usd: Option<f64>,
    /// The one task that it is about.
    pub task: Option<String>,
}

impl LoopBounds {
    /// These, where they say something; else what the others say.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            max_iterations: self.max_iterations.or(others.max_iterations),
            max_minutes: self.max_minutes.or(others.max_minutes),
            max_cost_usd: self.max_cost_usd.or(others.max_cost_usd),
            task: self.task.or(others.task),
        }
    }
}

/// The names and limits of a loop in `status.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LoopLabels {
    pub(super) project_id: String,
    pub(super) task_id: String,
    pub(super) limits: Option<StartLimits>,
}

/// The limits that were in force when it began; 0 for none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartLimits {
    pub(super) max_iterations: u32,
    pub(super) max_cost: f64,
    pub(super) max_duration_minutes: f64,
}

impl From<&LoopStatusConfig> for StartLimits {
    fn from(config: &LoopStatusConfig) -> Self {
        Self {
            max_iterations: config.max_iterations,
            max_cost: config.max_cost,
            max_duration_minutes: config.max_duration_minutes,
        }
    }
}

impl LoopRunner {
    /// The config as the journal keeps it, with the file it came from. Values that may be secret
    /// are not written down.
    pub(super) fn persisted_config(&self) -> String {
        let config = self.settings.config.without_secrets();
        let project = self.files.artefacts.as_ref().map(Artefacts::name);
        let files = &self.files.config_files;
        let goal = &self.settings.goal;
        serde_json::json!({
            "effective": config, "files": files, "project": project, "goal": goal,
            "bounds": self.settings.bounds, "named": self.labels(), "start": self.place.start,
            "allowance": self.settings.allowance,
            "parent": self.board.parent().map(|task| task.id.to_string()),
        })
        .to_string()
    }

    /// What the journal keeps of a loop that goes on, with the bounds of now.
    pub(super) fn with_bounds(&self, kept: &str) -> String {
        let Ok(mut kept) = serde_json::from_str::<Value>(kept) else {
            return kept.to_owned();
        };
        kept["bounds"] = serde_json::json!(self.settings.bounds);
        kept["allowance"] = serde_json::json!(self.settings.allowance);
        kept.to_string()
    }
}

/// The bounds of a loop, from what the journal keeps of its configuration.
pub fn bounds_of(config: &str) -> LoopBounds {
    part_of(config, "bounds")
}

/// The parent task whose descendants a loop worked on, if there was one.
pub fn parent_of(config: &str) -> Option<String> {
    part_of(config, "parent")
}

pub(super) fn labels_of(config: &str) -> LoopLabels {
    part_of(config, "named")
}

pub(super) fn part_of<T: Default + serde::de::DeserializeOwned>(config: &str, name: &str) -> T {
    let mut kept: Value = serde_json::from_str(config).unwrap_or_default();
    serde_json::from_value(kept[name].take()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_come_back_from_what_is_kept_and_an_older_loop_has_none() {
        let kept = r#"{"bounds": {"maxIterations": 7, "maxMinutes": null, "maxCostUsd": 1.5, "task": "A"}}"#;
        let expected = LoopBounds {
            max_iterations: Some(7),
            max_minutes: None,
            max_cost_usd: Some(1.5),
            task: Some("A".into()),
        };
        assert_eq!(bounds_of(kept), expected);
        for old in ["{}", "", r#"{"effective": {}}"#] {
            assert_eq!(bounds_of(old), LoopBounds::default(), "{old}");
        }
    }

    #[test]
    fn what_is_said_now_goes_before_what_was_said_then() {
        let now = LoopBounds {
            max_iterations: Some(2),
            ..LoopBounds::default()
        };
        let then = LoopBounds {
            max_iterations: Some(7),
            max_cost_usd: Some(1.5),
            ..LoopBounds::default()
        };
        let expected = LoopBounds {
            max_iterations: Some(2),
            max_cost_usd: Some(1.5),
            ..LoopBounds::default()
        };
        assert_eq!(now.or(then), expected);
    }
}
