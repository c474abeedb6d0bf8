//! The ways in which no tasks come of a plan, each with its exit code and the way out.
//!
//! The codes are those of `ralph run`.

use std::process::ExitCode;

use ralph_core::{agent::Ending, economics::Alert, figures::first_of, sanitize::one_line};
use ralph_engine::{
    lock::LockError,
    plan::{PlanError, PlanReport},
};

use crate::{
    error::{CommandError, ErrorKind},
    output,
    project::Project,
    side_budget,
};

/// Faults and files that are listed.
const MOST_LISTED: usize = 10;

/// A limit of time or of turns.
const LIMIT: u8 = 3;
/// A person has to look at it.
const PERSON: u8 = 4;
const BUDGET: u8 = 5;
const UNAVAILABLE: u8 = 6;
const FAILED: u8 = 7;

pub(in crate::commands) fn explain(error: PlanError) -> CommandError {
    let (kind, hint) = match &error {
        PlanError::Lock(LockError::Held { .. }) => (
            ErrorKind::User,
            Some(
                "wait for it to end, or use a worktree of its own (`git worktree add`)".to_owned(),
            ),
        ),
        PlanError::Git(error) => (ErrorKind::User, error.hint()),
        PlanError::Template(_) => (ErrorKind::User, None),
        PlanError::Lock(LockError::Io { .. }) | PlanError::Journal(_) | PlanError::File { .. } => {
            (ErrorKind::Internal, None)
        }
    };
    CommandError::new(kind, error).hint_opt(hint)
}

/// `a, b and 3 more`.
pub(in crate::commands) fn listed(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| one_line(item, 200)).collect();
    first_of(&items, MOST_LISTED)
}

/// The agent changed what can't be put back without risk.
pub(in crate::commands) fn changed<T>(project: &Project, asked: &PlanReport<T>) -> ExitCode {
    let message = format!(
        "{} was to read only and changed {}",
        asked.agent,
        listed(&asked.changes.what)
    );
    let error = CommandError::user(message).hint(format!(
        "your own uncommitted work is beside it, so nothing was put back and nothing was written: look at `git status`{}",
        kept(project, asked)
    ));
    said(&error, PERSON)
}

/// No answer would do. `what` was asked for.
pub(in crate::commands) fn wrong<T>(
    project: &Project,
    asked: &PlanReport<T>,
    what: &str,
    faults: &[String],
) -> ExitCode {
    let mut lines: Vec<String> = faults
        .iter()
        .take(MOST_LISTED)
        .map(|fault| format!("  {}", one_line(fault, 300)))
        .collect();
    if faults.len() > MOST_LISTED {
        lines.push(format!("  … {} more", faults.len() - MOST_LISTED));
    }
    let message = format!(
        "{} gave no {what} that would do, in {} rounds:\n{}",
        asked.agent,
        asked.rounds,
        lines.join("\n")
    );
    let error =
        CommandError::user(message).hint(format!("nothing was written{}", kept(project, asked)));
    said(&error, PERSON)
}

fn kept<T>(project: &Project, asked: &PlanReport<T>) -> String {
    match &asked.answer_file {
        Some(file) => format!("; its last answer is in {}", project.shown(file)),
        None => String::new(),
    }
}

/// A signal ended it: what a shell makes of one.
pub(in crate::commands) fn stopped(signal: i32) -> ExitCode {
    output::print_to_stderr("stopped; nothing was written\n");
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// A budget was used up by the rounds before.
pub(in crate::commands) fn denied(alert: &Alert) -> ExitCode {
    let error = side_budget::denied(alert);
    said(&error, error.exit_code())
}

/// The agent ended without an answer.
pub(in crate::commands) fn ended<T>(
    asked: &PlanReport<T>,
    ending: &Ending,
    signal: Option<i32>,
) -> ExitCode {
    let (code, hint) = match ending {
        Ending::Stopped => return stopped(signal.unwrap_or(2)),
        Ending::TimedOut { .. } | Ending::Silent { .. } => (
            LIMIT,
            "`loop.max_minutes_per_iteration` and `loop.idle_minutes` are its limits",
        ),
        Ending::MaxTurns { .. } => (
            LIMIT,
            "a limit of the agent's own, such as `max_turns` in its section",
        ),
        Ending::OverBudget {
            budget: Some(_), ..
        } => (BUDGET, "`budgets` in ralph.yaml limit it"),
        Ending::Budget { .. } | Ending::OverBudget { budget: None, .. } => (
            BUDGET,
            "`loop.max_cost_usd` and `budgets` in ralph.yaml limit it",
        ),
        Ending::Unavailable { .. } | Ending::Auth { .. } | Ending::Limit { .. } => (
            UNAVAILABLE,
            "`ralph doctor` checks the agent; `--agent` chooses another one",
        ),
        Ending::NoResult { .. }
        | Ending::Error { .. }
        | Ending::Api { .. }
        | Ending::Rejected { .. }
        | Ending::Overloaded { .. }
        | Ending::Refused { .. }
        | Ending::Interrupted { .. }
        | Ending::HandedOff { .. }
        | Ending::Terminated { .. }
        | Ending::Finished => (FAILED, "its stream is in .ralph/logs"),
    };
    let why = match ending {
        Ending::TimedOut { minutes } => format!("it took more than {minutes} minutes"),
        Ending::Silent { minutes } => format!("it said nothing for {minutes} minutes"),
        Ending::Limit { resets_at } => match resets_at {
            Some(at) => format!("a usage limit, until {at}"),
            None => "a usage limit".to_owned(),
        },
        Ending::OverBudget {
            spent_usd, max_usd, ..
        } => format!("stopped by its cost: {spent_usd} of {max_usd} are spent"),
        other => {
            let message = other.message().unwrap_or(other.outcome());
            one_line(message, 400)
        }
    };
    let error = CommandError::user(format!("{} gave no answer: {why}", asked.agent)).hint(hint);
    said(&error, code)
}

fn said(error: &CommandError, code: u8) -> ExitCode {
    output::print_error(error);
    ExitCode::from(code)
}
