//! Verify commands that are ralph's own: flows in a browser. They are started as the very program that runs, with the
//! settings in force, whatever else is called `ralph` on the PATH.

use std::{ffi::OsString, path::PathBuf};

use ralph_core::{config::QaConfig, task::VerifyCommand};

/// Holds the settings of flows that are in force, as JSON, for a command inside a run.
pub const RUN_QA: &str = "RALPH_RUN_QA";
/// Tells a command inside a run that its results join those of the flows before it.
pub const RUN_QA_JOINS: &str = "RALPH_RUN_QA_JOINS";
/// Tells a command inside a run that a sandbox is around it.
pub const RUN_QA_WALLS: &str = "RALPH_RUN_QA_WALLS";

/// The way commands of ralph's own are started.
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

    /// The program, its arguments and further variables; `None` for a command that is not ralph's own.
    pub(super) fn start_of(&self, command: &VerifyCommand, facts: OwnFacts) -> Option<OwnStart> {
        let args = command.own_arguments()?;
        let mut vars = vec![(RUN_QA.into(), self.settings.clone().into())];
        let told = [
            (RUN_QA_JOINS, !facts.is_first),
            (RUN_QA_WALLS, facts.has_walls),
        ];
        let told = told.into_iter().filter(|(_, is_so)| *is_so);
        vars.extend(told.map(|(name, _)| (name.into(), "1".into())));
        Some(OwnStart {
            program: self.program.to_string_lossy().into_owned(),
            args: args.into_iter().map(str::to_owned).collect(),
            vars,
        })
    }
}

/// The place of a command of ralph's own, as it is told of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnFacts {
    /// It is the first of its kind in a verification.
    pub(super) is_first: bool,
    pub(super) has_walls: bool,
}

/// A command of ralph's own, ready to be started.
pub(super) struct OwnStart {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) vars: Vec<(OsString, OsString)>,
}
