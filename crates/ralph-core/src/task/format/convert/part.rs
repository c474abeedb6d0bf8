//! The parts of a task that formats say differently, and how each format says them.
//!
//! Everything else of a task has one name in all formats and is taken over as it stands.

use super::value::{Members, Value};
use crate::task::format::Format;
use crate::task::format::fields::Field;
use crate::task::{Task, TaskId};

/// The member that holds what the other format has no word for.
pub(super) const ASIDE: &str = "x-ralph";

named! {
    pub(super) enum Part {
        Title = "title",
        Description = "description",
        Acceptance = "acceptance",
        DependsOn = "dependsOn",
        MaxAttempts = "maxAttempts",
        Attempts = "attempts",
        Status = "status",
    }
}

/// Describes what becomes of a member on the way to another format.
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

/// True if a format reads the status of a task from a field.
pub(super) fn is_state(field: Field, format: Format) -> bool {
    format.rules().status_fields.contains(&field)
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
    let rules = to.rules();
    let lacks = |field: Field| known.is_empty() && rules.requires(field);
    match part {
        Part::Title if lacks(Field::Title) => one("title", Value::text(&task.text.title)),
        Part::Title => as_said("title"),
        Part::Description if lacks(Field::Description) => {
            one("description", Value::text(&task.text.title))
        }
        Part::Description => as_said("description"),
        Part::Acceptance => {
            let name = rules.name_of(&[Field::Acceptance]);
            list(name, Value::texts(&task.text.acceptance))
        }
        Part::DependsOn => {
            let name = rules.name_of(&[Field::DependsOn, Field::Dependencies]);
            if lacks(Field::Dependencies) {
                return one(name, Value::List(Vec::new()));
            }
            let ids = task.links.depends_on.iter().map(TaskId::as_str);
            list(name, Value::texts(ids))
        }
        Part::MaxAttempts => as_said(rules.max_attempts),
        Part::Attempts if lacks(Field::Attempts) => one("attempts", Value::Number("0".to_owned())),
        Part::Attempts => as_said("attempts"),
        Part::Status => {
            let said = (rules.new_status)(task.status).into_iter();
            said.map(|(name, value)| (name.to_owned(), value)).collect()
        }
    }
}
