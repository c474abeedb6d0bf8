//! The report of a revert, done or planned, for the one who asked: the form that the queue carries and that
//! `--json` prints.

use ralph_core::change::shown;
use serde::{Deserialize, Serialize};

use super::{DroppedCommit, RevertPlan, Reverted};

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevertReport {
    pub done: bool,
    pub iteration: u64,
    pub branch: String,
    pub from: String,
    pub target: String,
    pub tip: Option<String>,
    pub task_commit: Option<String>,
    pub reference: Option<String>,
    pub commits: Vec<DroppedCommit>,
    pub reopened: Vec<OpenAgain>,
    /// Task files that are not there any more, so that their tasks stay as they are.
    pub gone: Vec<String>,
    /// Files that were changed meanwhile, and that were left alone.
    pub left: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenAgain {
    pub task_id: String,
    pub title: String,
    pub source: String,
}

impl From<&RevertPlan> for RevertReport {
    fn from(plan: &RevertPlan) -> Self {
        let reopened = plan.reopened.iter().map(|task| OpenAgain {
            task_id: task.task_id.to_string(),
            title: task.title.clone(),
            source: task.source.clone(),
        });
        Self {
            done: false,
            iteration: plan.iteration,
            branch: plan.branch.clone(),
            from: plan.from.to_string(),
            target: plan.target.to_string(),
            tip: None,
            task_commit: None,
            reference: None,
            commits: plan.commits.clone(),
            reopened: reopened.collect(),
            gone: plan.gone.clone(),
            left: Vec::new(),
        }
    }
}

impl From<&Reverted> for RevertReport {
    fn from(done: &Reverted) -> Self {
        Self {
            done: true,
            tip: Some(done.tip.to_string()),
            task_commit: done.task_commit.as_ref().map(ToString::to_string),
            reference: Some(done.reference.clone()),
            left: done.left.iter().map(|path| shown(path)).collect(),
            ..Self::from(&done.plan)
        }
    }
}

impl RevertReport {
    /// Nothing changed, or would.
    pub fn is_idle(&self) -> bool {
        self.commits.is_empty() && self.reopened.is_empty()
    }

    /// The same in one sentence.
    pub fn sentence(&self) -> String {
        let many = match self.commits.len() {
            1 => "1 commit".to_owned(),
            many => format!("{many} commits"),
        };
        let mut said = format!(
            "{} {many} of {}, back to before iteration {}",
            if self.done { "dropped" } else { "would drop" },
            self.branch,
            self.iteration
        );
        let open: Vec<&str> = self.reopened.iter().map(|t| t.task_id.as_str()).collect();
        match open[..] {
            [] => {}
            [one] => said.push_str(&format!("; {one} is open again")),
            [..] => said.push_str(&format!("; open again: {}", open.join(", "))),
        }
        if let Some(reference) = &self.reference {
            said.push_str(&format!("; what was dropped is kept: {reference}"));
        }
        said
    }
}
