//! Verify commands that are ralph's own: flows in a browser. They are started as the very program that runs, with the
//! settings in force, whatever else is called `ralph` on the PATH.

use std::{ffi::OsString, path::PathBuf};

use ralph_core::{config::QaConfig, task::VerifyCommand};

/// Holds the settings of flows that are in force, as JSON, for a command inside a run.
pub const RUN_QA: &str = "RALPH_RUN_QA";
/// Tells a command inside a run that its results join those of the flows before it.
pub const RUN_QA_JOINS: &str = "RALPH_RUN_QA_JOINS";

/// How commands of ralph's own are started.
#[derive(Debug, Clone)]
pub struct OwnCommand {
    program: PathBuf,
    settings: String,
}

impl OwnCommand {
    /// `None` where this program has no path.
    pub(crate) fn new(settings: &QaConfig) -> Option<Self> {
        Some(Self {
            program: std::env::current_exe().ok()?,
            settings: serde_json::to_string(settings).ok()?,
        })
    }

    /// The program, its arguments and further variables; `None` for a command that is not ralph's own. `is_first` of
    /// its kind in a verification.
    pub(super) fn start_of(&self, command: &VerifyCommand, is_first: bool) -> Option<OwnStart> {
        let args = command.own_arguments()?;
        let mut vars = vec![(RUN_QA.into(), self.settings.clone().into())];
        if !is_first {
            vars.push((RUN_QA_JOINS.into(), "1".into()));
        }
        Some(OwnStart {
            program: self.program.to_string_lossy().into_owned(),
            args: args.into_iter().map(str::to_owned).collect(),
            vars,
        })
    }
}

/// A command of ralph's own, ready to be started.
pub(super) struct OwnStart {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) vars: Vec<(OsString, OsString)>,
}
