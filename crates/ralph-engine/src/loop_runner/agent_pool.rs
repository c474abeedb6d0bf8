//! The agents of a loop: its own, and the one that goes on at its usage limit.
//!
//! Chooses by the time alone; that a limit was reached, and what follows, is decided elsewhere.

use jiff::Timestamp;
use ralph_core::termination::Worker;

use crate::agent::Agent;

/// An agent that goes on at a usage limit, and what it is called in records.
pub struct Fallback {
    pub agent: Box<dyn Agent>,
    pub name: String,
}

pub(super) struct AgentPool {
    main: Box<dyn Agent>,
    fallback: Option<Fallback>,
    /// When the agent's own limit resets.
    back_at: Option<Timestamp>,
    worker: Worker,
}

impl AgentPool {
    pub(super) fn new(main: Box<dyn Agent>, fallback: Option<Fallback>) -> Self {
        Self {
            main,
            fallback,
            back_at: None,
            worker: Worker::Main,
        }
    }

    /// The one that works now.
    pub(super) fn agent(&self) -> &dyn Agent {
        match (self.worker, &self.fallback) {
            (Worker::Fallback, Some(fallback)) => &*fallback.agent,
            (Worker::Fallback, None) | (Worker::Main, _) => &*self.main,
        }
    }

    pub(super) fn name(&self) -> String {
        match (self.worker, &self.fallback) {
            (Worker::Fallback, Some(fallback)) => fallback.name.clone(),
            (Worker::Fallback, None) | (Worker::Main, _) => self.main.name(),
        }
    }

    pub(super) fn main_name(&self) -> String {
        self.main.name()
    }

    /// The names of agents that run commands without asking.
    pub(super) fn agents_that_never_ask(&self) -> Vec<String> {
        let main = (!self.main.checks_commands()).then(|| self.main.name());
        let fallback = self.fallback.as_ref();
        let fallback = fallback.filter(|fallback| !fallback.agent.checks_commands());
        let fallback = fallback.map(|fallback| fallback.name.clone());
        main.into_iter().chain(fallback).collect()
    }

    /// The programs that the agents are started by.
    pub(super) fn programs(&self) -> Vec<String> {
        let fallback = self.fallback.as_ref().map(|fallback| &fallback.agent);
        let all = [&self.main].into_iter().chain(fallback);
        all.filter_map(|agent| agent.own_command().first().cloned())
            .collect()
    }

    /// The models that the agents are told to use.
    pub(super) fn models(&self) -> Vec<String> {
        let fallback = self.fallback.as_ref().map(|fallback| &fallback.agent);
        let all = [&self.main].into_iter().chain(fallback);
        all.flat_map(|agent| agent.models()).collect()
    }

    pub(super) fn worker(&self) -> Worker {
        self.worker
    }

    /// Returns whose name it is in a record; none where the agents were changed since.
    pub(super) fn whose(&self, name: &str) -> Option<Worker> {
        if name == self.main.name() {
            return Some(Worker::Main);
        }
        let is_fallback = self.fallback.as_ref().is_some_and(|f| f.name == name);
        is_fallback.then_some(Worker::Fallback)
    }

    pub(super) fn back_at(&self) -> Option<Timestamp> {
        self.back_at
    }

    /// The agent's own limit is reached until then.
    pub(super) fn rest_until(&mut self, until: Timestamp) {
        if self.fallback.is_some() {
            self.back_at = Some(until);
        }
    }

    /// Chooses the agent that works from now on.
    pub(super) fn choose(&mut self, now: Timestamp) -> WorkerChange {
        let before = self.worker;
        self.worker = match self.back_at {
            Some(until) if now < until => Worker::Fallback,
            Some(_) | None => {
                self.back_at = None;
                Worker::Main
            }
        };
        if self.worker == before {
            WorkerChange::Same
        } else {
            WorkerChange::Other
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerChange {
    Same,
    Other,
}
