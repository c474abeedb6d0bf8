//! Describes what ralph found, as against what an agent said.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    dollars::Dollars,
    economics::{Alert, Budget},
    handoff::HandoffTrigger,
};

/// The signature of a verify command that could not be started, for a reason that is not the agent's.
pub const NOT_STARTED: &str = "not started";

/// The signature of attempts that left nothing that could land.
pub const IDLE: &str = "no change or no claim";

/// The one judgement of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "verdict",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Verdict {
    /// Claimed, changed, verified: it lands.
    Verified,
    /// Claimed and changed, and there is no command to verify it with: it lands, and is said to be unverified.
    Unverified,
    /// Changed and verified on the way to a goal that is not reached yet: it lands.
    Progress,
    /// The same without a command to verify it with.
    UnverifiedProgress,
    /// The change passes, but no one said that the task is done: kept, and asked for the rest.
    Unclaimed,
    Failed {
        command: String,
        signature: String,
    },
    /// An empty diff, with a claim or without.
    NoChange {
        claimed: bool,
    },
    Refused {
        reason: String,
        halt: Halt,
    },
    Escalated,
    /// It was to find out why the task goes round in circles, and changes nothing.
    Diagnosed,
    LimitHit {
        resets_at: Option<Timestamp>,
    },
    Interrupted,
    /// The amount that this run of the command may cost is used up: the agent was stopped, or not started again.
    Budget {
        spent_usd: Dollars,
        max_usd: Dollars,
        /// The budget that it was, where it is not the limit of the command itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
    },
    /// Its agent wrapped up before it was done: a fresh one goes on with what it left.
    Handoff {
        trigger: HandoffTrigger,
    },
    TimedOut {
        reason: String,
    },
    /// Its agent made no progress, nothing helped, and it was ended.
    Terminated {
        reason: String,
    },
    AgentError {
        message: String,
    },
    /// The agent's API was overloaded or out of reach, for longer than ralph waits.
    Overloaded {
        message: String,
    },
    /// The agent can't work at all: not installed, not logged in.
    AgentUnavailable {
        message: String,
    },
    /// A person moved the branch meanwhile, and the change does not fit what it holds now.
    Overtaken {
        reason: String,
    },
}

/// Tells whether a refusal concerns the attempt alone or the whole loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Halt {
    Attempt,
    Loop,
}

named! {
    /// Seed 003's word for how an iteration ended.
    pub enum IterationOutcome {
        Success = "success",
        Failed = "failed",
        BudgetExceeded = "budget_exceeded",
        Blocked = "blocked",
    }
}

impl Verdict {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Unverified => "unverified",
            Self::Progress => "progress",
            Self::UnverifiedProgress => "unverified_progress",
            Self::Unclaimed => "unclaimed",
            Self::Failed { .. } => "failed",
            Self::NoChange { .. } => "no_change",
            Self::Refused { .. } => "refused",
            Self::Escalated => "escalated",
            Self::Diagnosed => "diagnosed",
            Self::LimitHit { .. } => "limit_hit",
            Self::Interrupted => "interrupted",
            Self::Budget { .. } => "budget",
            Self::Handoff { .. } => "handoff",
            Self::TimedOut { .. } => "timed_out",
            Self::Terminated { .. } => "terminated",
            Self::AgentError { .. } => "agent_error",
            Self::Overloaded { .. } => "overloaded",
            Self::AgentUnavailable { .. } => "agent_unavailable",
            Self::Overtaken { .. } => "overtaken",
        }
    }

    pub fn outcome(&self) -> IterationOutcome {
        match self {
            Self::Verified | Self::Unverified | Self::Progress | Self::UnverifiedProgress => {
                IterationOutcome::Success
            }
            Self::LimitHit { .. } | Self::Budget { .. } => IterationOutcome::BudgetExceeded,
            Self::Escalated | Self::Diagnosed => IterationOutcome::Blocked,
            Self::Unclaimed
            | Self::Failed { .. }
            | Self::NoChange { .. }
            | Self::Refused { .. }
            | Self::Interrupted
            | Self::Handoff { .. }
            | Self::TimedOut { .. }
            | Self::Terminated { .. }
            | Self::AgentError { .. }
            | Self::Overloaded { .. }
            | Self::AgentUnavailable { .. }
            | Self::Overtaken { .. } => IterationOutcome::Failed,
        }
    }

    /// Returns true if the task pays an attempt for it: only for work that failed.
    pub fn is_charged(&self) -> bool {
        let is_failure = matches!(
            self,
            Self::Unclaimed
                | Self::Failed { .. }
                | Self::NoChange { .. }
                | Self::Refused { .. }
                | Self::TimedOut { .. }
                | Self::Terminated { .. }
                | Self::AgentError { .. }
        );
        is_failure && !self.could_not_start()
    }

    /// Returns true if the agent left nothing that could land: no change, or no word that the task is done.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::NoChange { .. } | Self::Unclaimed)
    }

    /// Returns true if a verify command could not be started, for a reason that is not the agent's.
    pub fn could_not_start(&self) -> bool {
        matches!(self, Self::Failed { signature, .. } if signature == NOT_STARTED)
    }

    /// An error is the agent or its API failing, not a failed verification.
    pub fn is_agent_error(&self) -> bool {
        matches!(
            self,
            Self::AgentError { .. }
                | Self::TimedOut { .. }
                | Self::Terminated { .. }
                | Self::Overloaded { .. }
        )
    }

    /// Returns true if the same task's next attempt goes on from what this one left.
    pub fn keeps_work(&self) -> bool {
        !self.lands()
            && !matches!(
                self,
                Self::NoChange { .. } | Self::Refused { .. } | Self::Diagnosed
            )
    }

    /// Returns true if its task is complete with it.
    pub fn completes(&self) -> bool {
        matches!(self, Self::Verified | Self::Unverified)
    }

    /// Returns true if it is a step towards a goal that is not reached yet.
    pub fn is_progress(&self) -> bool {
        matches!(self, Self::Progress | Self::UnverifiedProgress)
    }

    /// Returns true if the change lands.
    pub fn lands(&self) -> bool {
        self.completes() || self.is_progress()
    }

    /// Returns what happened, in one sentence without a full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::Verified => "verified".into(),
            Self::Unverified => "complete, but unverified: there is no verify command".into(),
            Self::Progress => "verified, and the goal is not reached yet".into(),
            Self::UnverifiedProgress => "landed unverified, and the goal is not reached yet".into(),
            Self::Unclaimed => {
                "the change passes, but the agent did not say that the task is done".into()
            }
            Self::Failed { command, .. } => format!("verification failed: {command}"),
            Self::NoChange { claimed: true } => {
                "the agent claims to be done, but changed nothing".into()
            }
            Self::NoChange { claimed: false } => "the agent changed nothing".into(),
            Self::Refused { reason, .. } => format!("refused: {reason}"),
            Self::Escalated => "the agent asks a person".into(),
            Self::Diagnosed => "a diagnosis was made, nothing is changed".into(),
            Self::LimitHit {
                resets_at: Some(at),
            } => format!("usage limit reached, resets at {at}"),
            Self::LimitHit { resets_at: None } => "usage limit reached".into(),
            Self::Interrupted => "interrupted".into(),
            Self::Budget {
                spent_usd,
                max_usd,
                budget: Some(budget),
            } => format!(
                "stopped by its cost: {}",
                Alert::of_limit(*budget, *spent_usd, *max_usd).sentence()
            ),
            Self::Budget {
                spent_usd,
                max_usd,
                budget: None,
            } => {
                format!("stopped by its cost: {spent_usd} of {max_usd} are spent")
            }
            Self::Handoff { trigger } => format!("handed over: {}", trigger.sentence()),
            Self::TimedOut { reason } => format!("timed out: {reason}"),
            Self::Terminated { reason } => format!("ended: {reason}"),
            Self::AgentError { message } => format!("the agent failed: {message}"),
            Self::Overloaded { message } => {
                format!("the agent's API is overloaded or out of reach: {message}")
            }
            Self::AgentUnavailable { message } => format!("the agent is not available: {message}"),
            Self::Overtaken { reason } => reason.clone(),
        }
    }
}
