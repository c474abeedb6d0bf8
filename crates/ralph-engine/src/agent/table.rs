//! The agents that ralph knows by name: one line each, and one file each behind it.
//!
//! Only names and makes them. Nothing else in ralph lists them.

use ralph_core::config::{Config, CustomAgent, did_you_mean};

use super::{Agent, Dialect, claude, codex, command, gemini, opencode, pi};

/// A kind of agent: how it is made, and how its stream reads.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    /// What people know it as.
    pub title: &'static str,
    pub make: fn(&Making<'_>) -> Box<dyn Agent>,
    pub dialect: fn() -> Box<dyn Dialect>,
}

/// All of them. To add one, write its file and put its line here.
const KINDS: &[Kind] = &[
    claude::KIND,
    pi::KIND,
    codex::KIND,
    opencode::KIND,
    gemini::KIND,
    command::KIND,
];

/// What an agent is made from.
pub struct Making<'a> {
    pub config: &'a Config,
    /// A program of the user's that speaks like this kind.
    pub custom: Option<&'a CustomAgent>,
    /// Whether the agent will run as root.
    pub is_root: bool,
}

/// A name that no agent has.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown agent `{name}`; {}ralph knows {}, script:FILE and command:PROGRAM", meant(name), names().join(", "))]
pub struct UnknownAgent {
    pub name: String,
}

fn meant(name: &str) -> String {
    match did_you_mean(name, &names()) {
        Some(other) => format!("did you mean `{other}`? "),
        None => String::new(),
    }
}

pub fn kinds() -> &'static [Kind] {
    KINDS
}

pub fn find(name: &str) -> Result<&'static Kind, UnknownAgent> {
    KINDS
        .iter()
        .find(|kind| kind.name == name)
        .ok_or_else(|| UnknownAgent {
            name: name.to_owned(),
        })
}

fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// The model for a task: the first of its labels that has one, else the usual one.
pub(super) fn model_for(
    models: &[(String, String)],
    usual: Option<&str>,
    labels: &[String],
) -> Option<String> {
    labels
        .iter()
        .find_map(|label| models.iter().find(|(of, _)| of == label))
        .map(|(_, model)| model.clone())
        .or_else(|| usual.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_label_that_has_a_model_chooses_it() {
        let models = [
            ("ui".to_owned(), "opus".to_owned()),
            ("docs".to_owned(), "haiku".to_owned()),
        ];
        let labels = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let chosen = |names: &[&str]| model_for(&models, Some("sonnet"), &labels(names));
        assert_eq!(chosen(&["x", "docs", "ui"]).as_deref(), Some("haiku"));
        assert_eq!(chosen(&["ui"]).as_deref(), Some("opus"));
        assert_eq!(chosen(&[]).as_deref(), Some("sonnet"));
        assert_eq!(model_for(&[], None, &labels(&["ui"])), None);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_there_are() {
        let error = find("clade").map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown agent `clade`; did you mean `claude`? ralph knows claude, pi, codex, opencode, \
             gemini, text, script:FILE and command:PROGRAM"
        );
    }
}
