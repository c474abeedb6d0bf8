//! One task from one format to another, and back to how it was.
//!
//! Describes what the way back could not know is kept beside the task under `x-ralph`: names, values that
//! were replaced, and which members were not there. What changed since is not undone: the way back
//! takes an old value only where it still means the same.

use super::value;
use crate::task::format::render::{Members, Value};
use crate::task::{
    Place, Task, TaskId,
    format::{
        Format,
        error::FormatResult,
        fields::{DONE_LIKE, Field},
        ids, json,
        story::{self, StoryAt},
        warning::Notices,
    },
};

/// A way from one format to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConversionFormats {
    pub(super) from: Format,
    pub(super) to: Format,
}

impl ConversionFormats {
    fn back(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
        }
    }
}

/// Describes what is kept of a task for the way back.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct KeptFields {
    /// New name to old one: the value went along.
    pub(super) names: Members,
    /// Members as they were.
    pub(super) was: Members,
    /// Parts that the task did not have.
    pub(super) absent: Vec<String>,
}

impl KeptFields {
    pub(super) fn into_member(self, also: Members) -> Option<(String, Value)> {
        let mut members = also;
        if !self.names.is_empty() {
            members.push(("names".to_owned(), Value::Map(self.names)));
        }
        if !self.was.is_empty() {
            members.push(("was".to_owned(), Value::Map(self.was)));
        }
        if !self.absent.is_empty() {
            members.push(("absent".to_owned(), Value::texts(self.absent)));
        }
        (!members.is_empty()).then(|| (ASIDE.to_owned(), Value::Map(members)))
    }

    /// Out of a member; what is not of this shape is someone else's and says nothing.
    pub(super) fn of(members: &[(String, Value)]) -> Self {
        let mut kept = Self::default();
        let Some(Value::Map(aside)) = value::get(members, ASIDE) else {
            return kept;
        };
        if let Some(Value::Map(names)) = value::get(aside, "names") {
            kept.names.clone_from(names);
        }
        if let Some(Value::Map(was)) = value::get(aside, "was") {
            kept.was.clone_from(was);
        }
        if let Some(Value::List(absent)) = value::get(aside, "absent") {
            let text = |item: &Value| match item {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            };
            kept.absent = absent.iter().filter_map(text).collect();
        }
        kept
    }

    pub(super) fn old_name(&self, new: &str) -> Option<&str> {
        match value::get(&self.names, new) {
            Some(Value::Text(old)) => Some(old),
            _ => None,
        }
    }
}

/// The task in the other format, with what has to be kept of it.
pub(super) fn convert(
    members: &Members,
    way: ConversionFormats,
) -> FormatResult<(Members, KeptFields)> {
    let there = plain(members, way, &read(members, way.from)?);
    let kept = keep(members, &there, way)?;
    Ok((there, kept))
}

/// The task as the other format says it, nothing kept.
fn plain(members: &Members, way: ConversionFormats, task: &Task) -> Members {
    rewrite(members, way.from, &mut |part, said| {
        render(part, said, task, way.to)
    })
}

/// The members with each part said again, in its place. Parts that were not said come last.
fn rewrite(
    members: &Members,
    from: Format,
    say: &mut dyn FnMut(Part, &Members) -> Members,
) -> Members {
    let mut out = Members::new();
    let mut done = Vec::new();
    // A title and a name beside it have the same names in all formats.
    let titles = members_of(members, Part::Title, from);
    let several = titles
        .iter()
        .filter(|(_, value)| *value != Value::Null)
        .count()
        > 1;
    for (name, value) in members {
        match role((name, value), from) {
            Role::Of(Part::Title) if several => {
                done.push(Part::Title);
                value::set(&mut out, name.clone(), value.clone());
            }
            Role::Same => value::set(&mut out, name.clone(), value.clone()),
            Role::Aside => {}
            Role::Of(part) if done.contains(&part) => {}
            Role::Of(part) => {
                done.push(part);
                out.extend(say(part, &members_of(members, part, from)));
            }
        }
    }
    for part in Part::ALL {
        if !done.contains(&part) {
            out.extend(say(part, &Members::new()));
        }
    }
    out
}

/// Returns what the way back would not give by itself.
fn keep(members: &Members, there: &Members, way: ConversionFormats) -> FormatResult<KeptFields> {
    let again = plain(there, way.back(), &read(there, way.to)?);
    let mut kept = KeptFields::default();
    for part in Part::ALL {
        let was = members_of(members, part, way.from);
        if same_members(&was, &members_of(&again, part, way.from)) {
            continue;
        }
        match (&was[..], &members_of(there, part, way.to)[..]) {
            ([], _) => kept.absent.push(part.as_str().to_owned()),
            ([(old, said)], [(new, says)]) if said == says => {
                kept.names.push((new.clone(), Value::text(old)));
            }
            (_, _) => kept.was.extend(was),
        }
    }
    let aside = |(name, value): &&(String, Value)| role((name, value), way.from) == Role::Aside;
    kept.was.extend(members.iter().filter(aside).cloned());
    Ok(kept)
}

/// The task back in the format that it came from. `way` is the way back.
pub(super) fn undo(members: &Members, way: ConversionFormats) -> FormatResult<Members> {
    let kept = KeptFields::of(members);
    let now = read(members, way.from)?;
    let mut fault = None;
    let mut out = rewrite(members, way.from, &mut |part, said| {
        let old = old_part(members, &kept, (part, said), way);
        old.unwrap_or_else(|found| {
            fault = Some(found);
            None
        })
        .unwrap_or_else(|| renamed(render(part, said, &now, way.to), &kept, (part, way.to)))
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    for (name, value) in kept.was {
        if role((&name, &value), way.to) == Role::Aside {
            value::set(&mut out, name, value);
        }
    }
    Ok(out)
}

/// The part as it was, if that still means the same.
fn old_part(
    members: &Members,
    kept: &KeptFields,
    (part, said): (Part, &Members),
    way: ConversionFormats,
) -> FormatResult<Option<Members>> {
    if let [(name, value)] = &said[..]
        && let Some(old) = kept.old_name(name)
        && role((old, value), way.to) == Role::Of(part)
    {
        return Ok(Some(vec![(old.to_owned(), value.clone())]));
    }
    let was = members_of(&kept.was, part, way.to);
    let absent = kept.absent.iter().any(|name| name == part.as_str());
    if was.is_empty() && !absent {
        return Ok(None);
    }
    let Ok(then) = read(&in_brief(members, (part, &was), way.from), way.to) else {
        return Ok(None);
    };
    let now = read(&in_brief(members, (part, said), way.from), way.from)?;
    Ok(is_same(&then, &now).then_some(was))
}

/// As much of a task as a part can be read from.
fn in_brief(members: &Members, (part, said): (Part, &Members), from: Format) -> Members {
    let beside: &[Part] = match part {
        Part::Title => &[Part::Description],
        Part::Description => &[Part::Title],
        Part::Acceptance | Part::DependsOn | Part::MaxAttempts | Part::Attempts | Part::Status => {
            &[]
        }
    };
    let mut brief: Members = members
        .iter()
        .filter(|(name, _)| name == "id")
        .cloned()
        .collect();
    for other in beside {
        brief.extend(members_of(members, *other, from));
    }
    if part == Part::Status {
        let is_flag = |(name, _): &&(String, Value)| DONE_LIKE.contains(&&**name);
        brief.extend(members.iter().filter(is_flag).cloned());
    }
    brief.extend(said.iter().cloned());
    brief
}

/// A part that was changed keeps the one name that it had.
fn renamed(mut said: Members, kept: &KeptFields, (part, to): (Part, Format)) -> Members {
    let was = members_of(&kept.was, part, to);
    if let ([(name, _)], [(old, _)]) = (&mut said[..], &was[..])
        && part != Part::Status
    {
        name.clone_from(old);
    }
    said
}

/// Reads the task out of its members.
pub(super) fn read(members: &Members, format: Format) -> FormatResult<Task> {
    let text = Value::Map(members.clone()).json();
    let tree = json::scan(&text, 0)?;
    let story = StoryAt {
        format,
        at: 0,
        id: &ids::written(&tree, 0)?,
        inner: &[],
        notices: &Notices::default(),
    };
    story::parse(&tree, &story, Place::default())
}

/// Returns true if two tasks say the same. A file that counts attempts begins with none.
pub(super) fn is_same(a: &Task, b: &Task) -> bool {
    let plain = |task: &Task| {
        let mut task = task.clone();
        task.place = Place::default();
        task.attempts.made = task.attempts.made.filter(|made| *made > 0);
        task
    };
    plain(a) == plain(b)
}

/// The same members, in whatever order.
pub(super) fn same_members(a: &Members, b: &Members) -> bool {
    a.len() == b.len()
        && a.iter()
            .all(|(name, said)| value::get(b, name) == Some(said))
}

/// The member that holds what the other format has no word for.
pub(super) const ASIDE: &str = "x-ralph";

named! {
    /// The parts of a task that formats say differently. Everything else of it has one name in all
    /// formats and is taken over as it stands.
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

pub(super) fn role((name, value): (&str, &Value), format: Format) -> Role {
    if name == ASIDE {
        return Role::Aside;
    }
    // Under some names people also write text.
    let is_text = matches!(value, Value::Text(text) if !text.trim().ends_with('%'));
    match Field::of(name) {
        Some(Field::Progress) if is_text => Role::Same,
        Some(Field::Skipped) if is_text && !matches!(name, "skip" | "skipped") => Role::Same,
        Some(Field::Title) => Role::Of(Part::Title),
        Some(Field::Description) => Role::Of(Part::Description),
        Some(Field::Acceptance | Field::Criteria | Field::ExitCriteria) => {
            Role::Of(Part::Acceptance)
        }
        Some(Field::DependsOn | Field::Dependencies | Field::After) => Role::Of(Part::DependsOn),
        Some(Field::MaxAttempts) => Role::Of(Part::MaxAttempts),
        Some(Field::Attempts) => Role::Of(Part::Attempts),
        Some(field) if field.says_status() => {
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
pub(super) fn members_of(of: &[(String, Value)], part: Part, format: Format) -> Members {
    let mine = |(name, value): &&(String, Value)| role((name, value), format) == Role::Of(part);
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
        [value @ Value::List(items)] if items.iter().all(is_scalar) => one(name, value.clone()),
        [..] => one(name, read),
    };
    fn is_scalar(value: &Value) -> bool {
        !matches!(value, Value::Map(_) | Value::List(_))
    }
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
