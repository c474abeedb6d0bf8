//! Describes what an iteration asks for, and what comes back: the machine's actions and the steps that were done.
//!
//! Data alone. The serialised form of a step is the journal's.

use serde::{Deserialize, Serialize};

use crate::{
    agent::AgentReport,
    dollars::Dollars,
    economics::Budget,
    handoff::Handover,
    record::VerificationRecord,
    signal::Signals,
    task::suggested::SuggestedTask,
    verdict::{Halt, Verdict},
};

/// Describes what the engine is to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Make the prompt of run `run` (from 1); `fix` is what the run before left failing.
    Bundle {
        run: u32,
        fix: Option<Failure>,
    },
    StartAgent {
        run: u32,
    },
    /// Wait for an overloaded API, with the tree as it is; `attempt` counts these in a row, from 1.
    Wait {
        attempt: u32,
        message: String,
    },
    /// Look at the change, and write the tree that would be committed.
    Inspect,
    Verify,
    Land,
    /// Keep the work aside under a ref and put the base back.
    Keep {
        verdict: Verdict,
    },
    Record {
        verdict: Verdict,
    },
    Done,
}

/// Describes what the engine did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum StepDone {
    Bundled {
        prompt_bytes: u64,
    },
    AgentEnded(Box<AgentEnded>),
    /// The wait for an overloaded API is over.
    Waited {
        seconds: f64,
    },
    Inspected {
        change: AgentChange,
    },
    Verified {
        check: Check,
    },
    Landed {
        commit: Option<String>,
    },
    /// The branch was not where it had to be: nothing was landed.
    LandRefused {
        reason: String,
    },
    /// A person moved the branch on before the change could land: nothing was landed yet.
    LandMoved,
    /// The change is brought to where a person moved the branch, and is to be verified there.
    Replayed {
        change: AgentChange,
    },
    /// A person moved the branch, and the change does not fit what it holds now.
    Overtaken {
        reason: String,
    },
    Kept {
        reference: Option<String>,
    },
    Recorded,
    /// The amount that the run of the command may cost is used up: no agent is started again.
    OutOfBudget {
        spent_usd: Dollars,
        max_usd: Dollars,
        /// The budget that it was, where it is not the limit of the command itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
    },
    /// A person or a signal ended the iteration before its time.
    Interrupted,
}

/// The way a run of an agent ended, and what it said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentEnded {
    /// The one who ran, and how it was started.
    #[serde(default)]
    pub by: RanBy,
    pub report: AgentReport,
    pub signals: Signals,
    /// The request to wrap up, made of the agent or by it. A claim goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handover>,
}

/// The one who ran: never its prompt or its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanBy {
    pub agent: String,
    pub command: Vec<String>,
}

/// Describes what an agent's run changed, as far as judging it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentChange {
    /// The tree that verification runs on and that would be committed.
    pub tree: String,
    pub files: Vec<ChangedFile>,
    pub refusal: Option<RefusedChange>,
    /// Worth a person's look, without being refused.
    pub flags: Vec<String>,
    /// Tasks that the agent wrote into task files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggested: Vec<SuggestedTask>,
    /// The commit that it was brought to, where a person moved the branch meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<ReplayedChange>,
}

/// Tells where a change was brought, and from what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayedChange {
    /// The commit that it would land on.
    pub onto: String,
    /// The tree that the agent made, on the base that it began with.
    pub made: String,
}

impl AgentChange {
    /// Returns the commit that it stands on, which is the base unless it was brought elsewhere.
    pub fn onto<'a>(&'a self, base: &'a str) -> &'a str {
        self.replayed.as_ref().map_or(base, |r| &r.onto)
    }

    /// Returns the tree that the agent made, wherever that was brought since.
    pub fn made_tree(&self) -> &str {
        self.replayed.as_ref().map_or(&self.tree, |r| &r.made)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    pub path: String,
    /// `added`, `modified`, `deleted`, `type_changed`
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedChange {
    pub reason: String,
    pub halt: Halt,
}

/// Describes what verification found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// `None`: nothing failed that counts.
    pub failure: Option<Failure>,
    /// No command at all was run: completed, but said to be unverified wherever it is shown.
    pub unverified: bool,
    /// Each command and how it ended, for the record.
    #[serde(default)]
    pub commands: Vec<VerificationRecord>,
    /// Worth a person's look, without being a failure: fewer tests than before, say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The change with what verification wrote of it, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Box<AgentChange>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub command: String,
    pub signature: String,
    /// The end of its output, trimmed for a prompt.
    pub tail: String,
    /// `regressed`, `already_broken` …: what the baseline knows of it.
    pub against_baseline: String,
}

/// Describes what may differ from one iteration to the next.
///
/// Its serialised form is the journal's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationPolicy {
    /// Fresh runs after a failed verification, within the iteration.
    pub max_verify_retries: u32,
    /// Fresh runs in a row after the agent's API was overloaded, each behind a wait.
    pub max_overload_retries: u32,
    /// False for a task that is right to end without a change.
    pub expects_change: bool,
    #[serde(default)]
    pub purpose: Purpose,
    #[serde(default)]
    pub lands: Lands,
    #[serde(default)]
    pub handoffs: Handoffs,
}

/// Tells whether the task may be handed over once more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handoffs {
    #[default]
    Allowed,
    /// It was so often in a row already: one more is a failure.
    UsedUp { in_a_row: u32 },
}

/// Which of the changes that pass are landed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lands {
    /// Only one whose agent says that the task is done: what lands is a task.
    #[default]
    Claimed,
    /// Every one: a goal is reached step by step.
    Each,
}

impl Lands {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

named! {
    /// Describes what an iteration is for.
    #[derive(Default)]
    pub enum Purpose {
        /// To do its task.
        #[default]
        Attempt = "attempt",
        /// To find out why the task goes round in circles. Whatever it changes is put aside.
        Diagnosis = "diagnosis",
    }
}
