//! `ralph loop`: one goal, which fresh agents reach step by step.
//!
//! A goal is a task file of one task, in `.ralph/goals/`, so that all that holds for tasks holds for it.
//! Only its promise claims it, and each step that is verified lands. Has no loop of its own.

use std::path::{Path, PathBuf};

use ralph_core::{goal::Goal, iteration::Lands};

use super::{LoopError, LoopRunner, mode::Mode};
use crate::{dot_ralph, error::file_error, git, source::write_atomically};

const FOLDER: &str = "goals";
const TASK: &str = "goal";

impl Mode {
    pub(super) fn goal(&self) -> Option<&Goal> {
        match self {
            Self::Goal(goal) => Some(goal),
            Self::Run | Self::Execute(_) => None,
        }
    }
}

impl LoopRunner {
    /// Which changes land.
    pub(super) fn lands(&self) -> Lands {
        match self.settings.goal {
            Some(_) => Lands::Each,
            None => Lands::Claimed,
        }
    }

    /// Returns what a list of loops says of this one.
    pub(super) fn what_it_is_about(&self) -> String {
        match &self.settings.goal {
            Some(goal) => goal.text().to_owned(),
            None => self.feature().name,
        }
    }
}

/// Writes the task file of a goal, and says where it is. One that is there and open stays as it is: the
/// loop goes on with it.
pub fn write_goal(root: &Path, goal: &Goal) -> Result<PathBuf, LoopError> {
    dot_ralph::ensure(root).map_err(|e| file_error("make", &root.join(dot_ralph::FOLDER), e))?;
    let folder = root.join(dot_ralph::FOLDER).join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|e| file_error("make", &folder, e))?;
    let name = format!("{}-{}.json", git::slug(&goal.title()), goal.mark());
    let path = folder.join(name);
    if !is_open(&path) {
        write_atomically(&path, file_of(goal).as_bytes())?;
    }
    path.canonicalize()
        .map_err(|e| file_error("find", &path, e))
}

/// Returns whether there is a file of this goal that is not complete.
fn is_open(path: &Path) -> bool {
    let Ok(bytes) = crate::plain_file::read(path) else {
        return false;
    };
    let file: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    file["tasks"][0]["status"] == "open"
}

fn file_of(goal: &Goal) -> String {
    let file = serde_json::json!({
        "title": goal.title(),
        "tasks": [{
            "id": TASK,
            "title": goal.title(),
            "description": goal.text(),
            "status": "open",
        }],
    });
    format!("{file:#}\n")
}

/// The goal that a loop in the journal worked at, if it did.
pub fn goal_of(config: &str) -> Option<Goal> {
    let mut kept: serde_json::Value = serde_json::from_str(config).ok()?;
    serde_json::from_value(kept["goal"].take()).ok()
}
