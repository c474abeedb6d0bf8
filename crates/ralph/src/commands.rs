//! The commands, one file each: an `Args` struct and a `run` that stays thin.

pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod escalations;
pub(crate) mod init;
pub(crate) mod lint;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod pause;
pub(crate) mod play_script;
pub(crate) mod prompt;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod retry;
pub(crate) mod revert;
pub(crate) mod run;
pub(crate) mod say;
pub(crate) mod skip;
pub(crate) mod squash;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod tasks;
pub(crate) mod unblock;
