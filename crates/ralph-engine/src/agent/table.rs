//! The agents that ralph knows by name: one line each, and one folder each behind it.
//!
//! Only names and makes them. Nothing else in ralph lists them or knows one of them by its name.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::{
    config::{AgentChoice, Config, CustomAgent, did_you_mean},
    plan::AnswerBy,
};

use super::{
    Agent, CommandCheck, CommandGuard, Dialect, claude, codex, command, gemini, opencode, pi,
    version::{Fitness, Runtime, Version},
};

/// All of them. To add one, write its folder and put its line here.
const KINDS: &[AgentKind] = &[
    claude::KIND,
    pi::KIND,
    codex::KIND,
    opencode::KIND,
    gemini::KIND,
    command::KIND,
];

/// Everything that the rest of ralph has to know of a kind of agent.
#[derive(Clone, Copy)]
pub struct AgentKind {
    pub name: &'static str,
    /// The name of the product.
    pub title: &'static str,
    pub make: fn(&AgentSetup<'_>) -> Box<dyn Agent>,
    /// Makes the reader of its stream.
    pub dialect: fn() -> Box<dyn Dialect>,
    pub read_only: ReadOnly,
    pub judge_version: fn(Version) -> Fitness,
    pub runtime: Option<Runtime>,
    /// The way in which it is made to ask before it runs a command.
    pub command_check: CommandCheck,
    /// The files of a repository that say what it may do and starts by itself.
    pub settings: &'static [&'static str],
}

/// The way in which an agent is kept from changing anything while it makes a plan.
#[derive(Clone, Copy)]
pub enum ReadOnly {
    /// It is started with nothing to write with. The text is the schema of its answer.
    Enforced {
        answer_by: AnswerBy,
        make: fn(&AgentSetup<'_>, &str) -> Box<dyn Agent>,
    },
    /// A program of the user's own, started as the user says: ralph looks at the files afterwards.
    Trusted,
    /// It can't be kept from writing, so it makes no plans.
    Impossible,
}

/// Everything that an agent is made from.
pub struct AgentSetup<'a> {
    pub config: &'a Config,
    /// A program of the user's that speaks like this kind.
    pub custom: Option<&'a CustomAgent>,
    /// True if the agent will run as root.
    pub is_root: bool,
    /// The check of its commands, where a list says which are allowed.
    pub guard: Option<CommandGuard>,
}

impl AgentSetup<'_> {
    /// The name of the agent in records.
    pub(super) fn name(&self, usual: &str) -> String {
        self.custom
            .map_or(usual, |custom| custom.name.as_str())
            .to_owned()
    }
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

pub fn kinds() -> &'static [AgentKind] {
    KINDS
}

pub fn find_kind(name: &str) -> Result<&'static AgentKind, UnknownAgent> {
    KINDS
        .iter()
        .find(|kind| kind.name == name)
        .ok_or_else(|| UnknownAgent {
            name: name.to_owned(),
        })
}

/// The kind that an agent is of; `None` for the scripted one, which writes ralph's own events.
pub fn kind_of(choice: &AgentChoice) -> Result<Option<&'static AgentKind>, UnknownAgent> {
    match choice {
        AgentChoice::Named(name) => find_kind(name).map(Some),
        AgentChoice::Custom(custom) => find_kind(&custom.dialect).map(Some),
        AgentChoice::Command(_) => Ok(Some(&command::KIND)),
        AgentChoice::Script(_) => Ok(None),
    }
}

fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// The model for a task: the first of its labels that has one, else the usual one.
pub(super) fn model_for(
    models: &BTreeMap<String, String>,
    usual: Option<&str>,
    labels: &[String],
) -> Option<String> {
    labels
        .iter()
        .find_map(|label| models.get(label))
        .cloned()
        .or_else(|| usual.map(str::to_owned))
}

/// All models that a task may get.
pub(super) fn all_models(models: &BTreeMap<String, String>, usual: Option<&str>) -> Vec<String> {
    let usual = usual.into_iter();
    let all: BTreeSet<&str> = usual.chain(models.values().map(String::as_str)).collect();
    all.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_label_that_has_a_model_chooses_it() {
        let models = [("ui", "opus"), ("docs", "haiku")]
            .map(|(label, model)| (label.to_owned(), model.to_owned()));
        let models = BTreeMap::from(models);
        let labels = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let chosen = |names: &[&str]| model_for(&models, Some("sonnet"), &labels(names));
        assert_eq!(chosen(&["x", "docs", "ui"]).as_deref(), Some("haiku"));
        assert_eq!(chosen(&["ui"]).as_deref(), Some("opus"));
        assert_eq!(chosen(&[]).as_deref(), Some("sonnet"));
        assert_eq!(model_for(&BTreeMap::new(), None, &labels(&["ui"])), None);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_there_are() {
        let error = find_kind("clade").map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown agent `clade`; did you mean `claude`? ralph knows claude, pi, codex, opencode, \
             gemini, text, script:FILE and command:PROGRAM"
        );
    }

    #[test]
    fn each_agent_says_whether_it_can_plan_without_writing() {
        let can_plan = |name: &str| match find_kind(name).unwrap().read_only {
            ReadOnly::Enforced { .. } => "enforced",
            ReadOnly::Trusted => "trusted",
            ReadOnly::Impossible => "impossible",
        };
        let all: Vec<(&str, &str)> = names().into_iter().map(|n| (n, can_plan(n))).collect();
        assert_eq!(
            all,
            [
                ("claude", "enforced"),
                ("pi", "enforced"),
                ("codex", "enforced"),
                ("opencode", "impossible"),
                ("gemini", "impossible"),
                ("text", "trusted"),
            ]
        );
    }
}
