//! The parts of a task that formats say differently, and how each format says them.
//!
//! Everything else of a task has one name in all formats and is taken over as it stands.

use super::value::{Members, Value};
use crate::task::format::Format;
use crate::task::format::fields::Field;
use crate::task::format::words::artefacts_word;
use crate::task::{Status, Task, TaskId};

/// The member that holds what the other format has no word for.
pub(super) const ASIDE: &str = "x-ralph";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Title,
    Description,
    Acceptance,
    DependsOn,
    MaxAttempts,
    Attempts,
    Status,
}

impl Part {
    pub(super) const ALL: [Self; 7] = [
        Self::Title,
        Self::Description,
        Self::Acceptance,
        Self::DependsOn,
        Self::MaxAttempts,
        Self::Attempts,
        Self::Status,
    ];

    /// Its name in what is kept.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Acceptance => "acceptance",
            Self::DependsOn => "dependsOn",
            Self::MaxAttempts => "maxAttempts",
            Self::Attempts => "attempts",
            Self::Status => "status",
        }
    }
}

/// What becomes of a member on the way to another format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// One of the parts that formats say differently.
    Of(Part),
    /// Means nothing here and something elsewhere, so it can't stay under its name.
    Aside,
    /// The same in all formats, or not ralph's.
    Same,
}

pub(super) fn role(name: &str, format: Format) -> Role {
    if name == ASIDE {
        return Role::Aside;
    }
    match Field::of(name) {
        Some(Field::Title) => Role::Of(Part::Title),
        Some(Field::Description) => Role::Of(Part::Description),
        Some(Field::Acceptance | Field::Criteria) => Role::Of(Part::Acceptance),
        Some(Field::DependsOn | Field::Dependencies) => Role::Of(Part::DependsOn),
        Some(Field::MaxAttempts) => Role::Of(Part::MaxAttempts),
        Some(Field::Attempts) => Role::Of(Part::Attempts),
        Some(
            field @ (Field::Status
            | Field::Passes
            | Field::Skipped
            | Field::Failed
            | Field::Blocked),
        ) => {
            if is_state(field, format) {
                Role::Of(Part::Status)
            } else {
                Role::Aside
            }
        }
        Some(_) | None => Role::Same,
    }
}

/// Whether a format reads the status of a task from a field.
pub(super) fn is_state(field: Field, format: Format) -> bool {
    match format {
        Format::Native => field == Field::Status,
        Format::Prd => matches!(field, Field::Status | Field::Passes | Field::Skipped),
        Format::Artefacts => matches!(
            field,
            Field::Status | Field::Skipped | Field::Failed | Field::Blocked
        ),
    }
}

/// The members of a task that make up a part.
pub(super) fn members(of: &[(String, Value)], part: Part, format: Format) -> Members {
    let mine = |(name, _): &&(String, Value)| role(name, format) == Role::Of(part);
    of.iter().filter(mine).cloned().collect()
}

/// A part as a format says it. `said` is how it was said so far, null left out; `task` what that
/// meant.
pub(super) fn render(part: Part, said: &[(String, Value)], task: &Task, to: Format) -> Members {
    let one = |name: &str, value: Value| vec![(name.to_owned(), value)];
    let known: Vec<&Value> = said
        .iter()
        .map(|(_, value)| value)
        .filter(|value| **value != Value::Null)
        .collect();
    let as_said = |name: &str| {
        let last = known.last();
        last.map_or_else(Members::new, |value| one(name, (*value).clone()))
    };
    // A list goes as it is; what is a text, or in several members, becomes one list.
    let list = |name: &str, read: Value| match known[..] {
        [] => Members::new(),
        [value @ Value::List(_)] => one(name, value.clone()),
        [..] => one(name, read),
    };
    let artefacts = to == Format::Artefacts;
    match part {
        Part::Title if known.is_empty() && to != Format::Native => {
            one("title", Value::text(&task.text.title))
        }
        Part::Title => as_said("title"),
        Part::Description if known.is_empty() && artefacts => {
            one("description", Value::text(&task.text.title))
        }
        Part::Description => as_said("description"),
        Part::Acceptance => list(acceptance_name(to), Value::texts(&task.text.acceptance)),
        Part::DependsOn if known.is_empty() && artefacts => {
            one("dependencies", Value::List(Vec::new()))
        }
        Part::DependsOn => {
            let ids = task.links.depends_on.iter().map(TaskId::as_str);
            list(depends_name(to), Value::texts(ids))
        }
        Part::MaxAttempts if artefacts => as_said("max_attempts"),
        Part::MaxAttempts => as_said("maxAttempts"),
        Part::Attempts if known.is_empty() && artefacts => {
            one("attempts", Value::Number("0".to_owned()))
        }
        Part::Attempts => as_said("attempts"),
        Part::Status => status(task.status, to),
    }
}

fn acceptance_name(format: Format) -> &'static str {
    match format {
        Format::Native | Format::Artefacts => "acceptance",
        Format::Prd => "acceptanceCriteria",
    }
}

fn depends_name(format: Format) -> &'static str {
    match format {
        Format::Native | Format::Prd => "dependsOn",
        Format::Artefacts => "dependencies",
    }
}

fn status(status: Status, to: Format) -> Members {
    let word = |text: &str| ("status".to_owned(), Value::text(text));
    let flag = |name: &str, on: bool| (name.to_owned(), Value::Bool(on));
    match to {
        Format::Native => vec![word(status.as_str())],
        Format::Prd => {
            let mut said = vec![flag("passes", status == Status::Completed)];
            match status {
                Status::Open | Status::Completed => {}
                Status::Skipped => said.push(flag("skipped", true)),
                Status::InProgress | Status::Blocked | Status::Failed => {
                    said.push(word(status.as_str()));
                }
            }
            said
        }
        Format::Artefacts => {
            let stuck = matches!(status, Status::Blocked | Status::Failed | Status::Skipped);
            let mut said = vec![word(artefacts_word(status)), flag("blocked", stuck)];
            match status {
                Status::Failed => said.push(flag("failed", true)),
                Status::Skipped => said.push(flag("skipped", true)),
                Status::Open | Status::InProgress | Status::Completed | Status::Blocked => {}
            }
            said
        }
    }
}
