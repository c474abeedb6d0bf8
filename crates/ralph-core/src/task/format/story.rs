//! Reads one task out of its object, in any of the formats.
//!
//! Names are sorted out by `fields`, types by `read`, the status by `status`; this puts them
//! together and fills in what people leave out.

use super::Format;
use super::error::FormatResult;
use super::fields::{DONE_LIKE, Field, Fields};
use super::layout::Layout;
use super::looks::Looks;
use super::tree::{At, Kind, Tree};
use super::warning::{Notices, WarningKind};
use super::{ids, looks, read, status};
use crate::task::{Attempts, Place, Task, TaskId, TaskLinks, TaskText, VerifyCommand};

/// Members that belong to what a task says, and the heading each gets behind the description.
/// Names of a number by which people put tasks in order, where they have no priority.
const ORDER: &[&str] = &[
    "order",
    "sequence",
    "seq",
    "rank",
    "sortOrder",
    "sort_order",
    "executionOrder",
    "execution_order",
];

const SECTIONS: [(Field, &str); 5] = [
    (Field::Steps, "Steps"),
    (Field::Requirements, "Requirements"),
    (Field::EdgeCases, "Edge cases"),
    (Field::DesignDecisions, "Design decisions"),
    (Field::StopCondition, "Stop condition"),
];

/// A place in a file, and what to know of the file to read the task there.
pub(super) struct StoryAt<'s> {
    pub(super) format: Format,
    pub(super) at: At,
    pub(super) id: &'s TaskId,
    /// The lists in it that hold tasks of their own, among those of the file.
    pub(super) inner: &'s [At],
    pub(super) notices: &'s Notices,
}

pub(super) fn parse(tree: &Tree<'_>, story: &StoryAt<'_>, place: Place) -> FormatResult<Task> {
    if tree.kind(story.at) != Kind::Map {
        return read::mismatch(tree, story.at, "a task (an object with an `id`)");
    }
    let fields = Fields::of(tree, story.at);
    let story = Story {
        tree,
        fields,
        of: story,
        lenient: story.format.rules().lenient,
    };
    story.task(place).map_err(|fault| fault.of(story.of.id))
}

struct Story<'t, 'a> {
    tree: &'t Tree<'a>,
    fields: Fields,
    of: &'t StoryAt<'t>,
    lenient: bool,
}

impl Story<'_, '_> {
    /// A field by its reader, `None` where it is absent or null. In a file of another tool also where it is
    /// not what was expected.
    fn get<T>(
        &self,
        field: Field,
        read: impl FnOnce(&Tree<'_>, At) -> FormatResult<T>,
    ) -> FormatResult<Option<T>> {
        let Some(at) = self.fields.get(self.tree, field) else {
            return Ok(None);
        };
        match read(self.tree, at) {
            Err(fault) if self.lenient => {
                self.of.notices.add_fault(*fault, "it is not read");
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    fn task(&self, place: Place) -> FormatResult<Task> {
        let labels = self.labels()?;
        let depends_on = self.depends_on()?;
        Ok(Task {
            id: self.of.id.clone(),
            text: self.text()?,
            links: TaskLinks {
                parent_id: self.parent()?,
                depends_on,
            },
            status: status::parse(self.tree, self.of.format, &self.fields, self.of.notices)?,
            verify: self.verify()?,
            area: self.area(&labels)?,
            labels,
            priority: self.priority()?,
            attempts: self.attempts()?,
            created_at: self.get(Field::CreatedAt, read::time)?,
            updated_at: self.get(Field::UpdatedAt, read::time)?,
            place,
        })
    }

    /// The commands of the task's own. What can't be a command is an error: nothing is left out of what
    /// verifies. Only an object of another tool is text.
    fn verify(&self) -> FormatResult<Vec<VerifyCommand>> {
        let Some(at) = self.fields.get(self.tree, Field::Verify) else {
            return Ok(Vec::new());
        };
        match read::commands(self.tree, at) {
            Err(fault) if self.is_verify_text(at) => {
                self.of.notices.add_fault(*fault, "it is read as text");
                Ok(Vec::new())
            }
            commands => commands,
        }
    }

    fn is_verify_text(&self, at: At) -> bool {
        self.lenient && self.tree.kind(at) == Kind::Map && read::commands(self.tree, at).is_err()
    }

    fn labels(&self) -> FormatResult<Vec<String>> {
        let mut labels = Vec::new();
        for field in [Field::Labels, Field::Tags] {
            self.get(field, |tree, at| read::labels(tree, at, &mut labels))?;
        }
        Ok(labels)
    }

    fn priority(&self) -> FormatResult<Option<i64>> {
        let near = |tree: &Tree<'_>, at: At| {
            let number = tree.text(at).parse::<f64>().ok();
            let number = number.filter(|n| tree.kind(at) == Kind::Number && n.abs() < 1e9);
            number.map(|number| number.round() as i64)
        };
        let at = self.fields.get(self.tree, Field::Priority);
        if at.is_none() && self.lenient {
            let member = |name: &&str| self.tree.member(self.of.at, name);
            return Ok(ORDER
                .iter()
                .find_map(member)
                .and_then(|at| near(self.tree, at)));
        }
        match at.and_then(|at| near(self.tree, at)) {
            Some(level) if self.lenient => {
                let exact = self.get_quietly(Field::Priority, read::priority);
                if exact.is_none() {
                    let at = at.unwrap_or(self.of.at);
                    let message = format!(
                        "expected an integer as priority, found {}; it counts as {level}",
                        self.tree.text(at)
                    );
                    let offset = self.tree.start(at);
                    self.of.notices.add(WarningKind::OddValue, offset, message);
                }
                Ok(exact.or(Some(level)))
            }
            _ => self.get(Field::Priority, read::priority),
        }
    }

    fn get_quietly<T>(
        &self,
        field: Field,
        read: impl FnOnce(&Tree<'_>, At) -> FormatResult<T>,
    ) -> Option<T> {
        let at = self.fields.get(self.tree, field)?;
        read(self.tree, at).ok()
    }

    fn depends_on(&self) -> FormatResult<Vec<TaskId>> {
        let mut depends_on = Vec::new();
        for field in [Field::DependsOn, Field::Dependencies] {
            if !self.lenient {
                self.get(field, |tree, at| read::ids(tree, at, &mut depends_on))?;
            }
        }
        let loose: &[Field] = if self.lenient {
            &[Field::DependsOn, Field::Dependencies, Field::After]
        } else {
            &[Field::After]
        };
        let mut texts = Vec::new();
        let values = loose
            .iter()
            .flat_map(|field| self.fields.all(self.tree, *field));
        for at in values {
            if let Err(fault) = read::loose_ids(self.tree, at, &mut texts) {
                self.of.notices.add_fault(*fault, "it is not read");
            }
        }
        let ids = texts.iter().filter_map(|text| ids::safe(text));
        for id in ids.filter_map(|id| TaskId::parse(&id).ok()) {
            if !depends_on.contains(&id) {
                depends_on.push(id);
            }
        }
        Ok(depends_on)
    }

    fn attempts(&self) -> FormatResult<Attempts> {
        Ok(Attempts {
            made: self.get(Field::Attempts, read::count)?,
            max: self.get(Field::MaxAttempts, read::count)?,
        })
    }

    fn parent(&self) -> FormatResult<Option<TaskId>> {
        // An empty text is how generators write that there is no parent.
        let at = self.fields.get(self.tree, Field::ParentId);
        let at =
            at.filter(|at| self.tree.kind(*at) != Kind::Text || !self.tree.text(*at).is_empty());
        let safe = |at: At| {
            let text = ids::safe(&self.tree.text(at)).filter(|_| self.lenient)?;
            TaskId::parse(&text).ok()
        };
        match at.and_then(safe) {
            Some(parent) => Ok(Some(parent)),
            None if self.lenient => Ok(None),
            None => at.map(|at| read::id(self.tree, at)).transpose(),
        }
    }

    fn area(&self, labels: &[String]) -> FormatResult<Option<String>> {
        let labelled = || {
            let mut areas = labels.iter().filter_map(|label| {
                label
                    .strip_prefix("area=")
                    .or_else(|| label.strip_prefix("area:"))
            });
            areas.next().map(|area| area.trim().to_owned())
        };
        for field in [Field::Area, Field::Category] {
            let area = self.get(field, |tree, at| read::text(tree, at, "a text as area"))?;
            if let Some(area) = area.filter(|area| !area.is_empty()) {
                return Ok(Some(area));
            }
            if field == Field::Area && labelled().is_some() {
                break;
            }
        }
        Ok(labelled())
    }

    /// A text, `None` also where there is nothing in it. Other tools write numbers as well.
    fn own(&self, field: Field, what: &str) -> FormatResult<Option<String>> {
        let text = self.get(field, |tree, at| match tree.kind(at) {
            Kind::Number if self.lenient => Ok(tree.text(at).into_owned()),
            Kind::List if self.lenient => Ok(read::prose(tree, at).join("\n")),
            _ => read::text(tree, at, what),
        })?;
        Ok(text.filter(|text| !is_blank(text)))
    }

    fn text(&self) -> FormatResult<TaskText> {
        let title = self.own(Field::Title, "a text as title")?;
        let description = self.own(Field::Description, "a text as description")?;
        let headline = || looks::headline(self.tree, &self.fields, self.of.at);
        // A text under another name.
        let other = (title.is_none() && description.is_none())
            .then(headline)
            .flatten();
        let said = description.or_else(|| Some(self.tree.text(other?).into_owned()));
        let title = title.unwrap_or_else(|| {
            let first = said.as_deref().and_then(|text| text.trim().lines().next());
            first.map_or_else(
                || self.of.id.as_str().to_owned(),
                |line| line.trim_end().to_owned(),
            )
        });
        let mut description = said.unwrap_or_else(|| title.clone());
        for (field, heading) in SECTIONS {
            let at = self.fields.get(self.tree, field);
            if let Some(at) = at.filter(|at| !self.is_inner(*at)) {
                add_section(&mut description, heading, &read::prose(self.tree, at));
            }
        }
        self.add_other_sections(&mut description, title.trim());
        let acceptance = self.acceptance()?;
        let mut files = Vec::new();
        for field in [Field::Files, Field::KeyFiles] {
            self.get(field, |tree, at| read::files(tree, at, &mut files))?;
        }
        Ok(TaskText {
            title,
            description,
            acceptance,
            files,
            notes: self.get(Field::Notes, |tree, at| {
                let text = read::text(tree, at, "");
                Ok(text.unwrap_or_else(|_| read::prose(tree, at).join("\n")))
            })?,
            expects_change: self
                .get(Field::ExpectsChange, read::boolean)?
                .unwrap_or(true),
        })
    }

    fn is_inner(&self, at: At) -> bool {
        self.of.inner.binary_search(&at).is_ok()
    }

    fn acceptance(&self) -> FormatResult<Vec<String>> {
        let mut acceptance = Vec::new();
        let fields = [Field::Acceptance, Field::Criteria].into_iter();
        for at in fields.flat_map(|field| self.fields.all(self.tree, field)) {
            if self.lenient {
                read::criteria(self.tree, at, &mut acceptance);
            } else {
                let what = "acceptance criteria (a list, or one text)";
                read::lines(self.tree, at, what, &mut acceptance)?;
            }
        }
        if self.fields.get(self.tree, Field::ExitCriteria).is_some() {
            // These names have different meanings to people, so one task may have several.
            for (key, at) in self.tree.members(self.of.at) {
                if Field::of(&self.tree.text(key)) == Some(Field::ExitCriteria) {
                    read::criteria(self.tree, at, &mut acceptance);
                }
            }
        }
        Ok(acceptance)
    }

    /// Returns true for the value that counts among those of its field.
    fn fields_hold(&self, value: At) -> bool {
        let fields = [Field::Title, Field::Description, Field::Notes].into_iter();
        let mut values = fields.filter_map(|field| self.fields.get(self.tree, field));
        values.any(|at| at == value)
    }

    /// Returns true for the first of two members with one name, which does not count.
    fn is_same_as_another(&self, name: &str, value: At) -> bool {
        self.tree.member(self.of.at, name) != Some(value)
    }

    /// Warns of a list whose items say how they stand and that is text all the same.
    fn warn_of_parts(&self, name: &str, value: At) {
        let is_list = self.lenient && self.tree.kind(value) == Kind::List;
        if is_list && !self.is_inner(value) && Looks::of_list(self.tree, value).marked {
            let message = format!("the items of `{name}` say how they stand, but are read as text");
            let offset = self.tree.start(value);
            self.of.notices.add(WarningKind::NotRead, offset, message);
        }
    }

    /// Adds text under names that mean nothing to ralph, so that an agent sees the whole of its task.
    fn add_other_sections(&self, description: &mut String, title: &str) {
        let mut left = MAX_OTHER_TEXT;
        for (key, value) in self.tree.members(self.of.at) {
            let name = self.tree.text(key);
            let known = match Field::of_member(self.tree, &name, value) {
                Some(Field::Verify) => !self.is_verify_text(value),
                // The other of two names.
                Some(Field::Title | Field::Description | Field::Notes) => {
                    self.tree.kind(value) == Kind::Null
                        || self.fields_hold(value)
                        || self.is_same_as_another(&name, value)
                }
                field => field.is_some(),
            };
            let plain = matches!(
                self.tree.kind(value),
                Kind::Null | Kind::True | Kind::False | Kind::Number
            );
            let is_flag = || self.fields.get(self.tree, Field::Done) == Some(value);
            if self.tree.kind(value) == Kind::True && DONE_LIKE.contains(&&*name) && !is_flag() {
                let message =
                    format!("`{name}` is not read: it does not say that the task is done");
                let offset = self.tree.start(value);
                self.of.notices.add(WarningKind::NotRead, offset, message);
            }
            if is_skip_like(&name, self.tree.kind(value)) {
                let message =
                    format!("`{name}` is not read: it does not say that the task is skipped");
                let offset = self.tree.start(value);
                self.of.notices.add(WarningKind::NotRead, offset, message);
            }
            self.warn_of_parts(&name, value);
            let skip = known
                || plain
                || self.tree.text(value).trim() == title
                || is_record(&name)
                || self.of.format.rules().records.contains(&&*name)
                || self.is_inner(value)
                || !read::has_text(self.tree, value);
            if skip {
                continue;
            }
            let items = read::prose(self.tree, value);
            let mut section = String::new();
            add_section(&mut section, &name, &items);
            let limit = left.min(MAX_SECTION);
            if limit == 0 {
                description.push_str(&format!("\n\n{name}: {CUT}"));
                continue;
            }
            let length = section.chars().count();
            if length > limit {
                section = section.chars().take(limit).collect();
                section.push_str(&format!(" {CUT}"));
            }
            left -= length.min(limit);
            description.push_str(&section);
        }
    }
}

/// The longest text of one member that ralph does not know, and of all of a task's, in characters.
pub(super) const MAX_SECTION: usize = 2_000;
pub(super) const MAX_OTHER_TEXT: usize = 8_000;

/// Stands where text was left out.
pub(super) const CUT: &str = "… (cut; the rest is in the task file)";

/// Returns true for a flag that sounds as if the task were not to be done.
fn is_skip_like(name: &str, kind: Kind) -> bool {
    match kind {
        Kind::True => [
            "disabled", "paused", "onHold", "on_hold", "inactive", "obsolete",
        ]
        .contains(&name),
        Kind::False => ["enabled", "active", "inScope", "in_scope"].contains(&name),
        Kind::Null | Kind::Number | Kind::Text | Kind::List | Kind::Map => false,
    }
}

/// Returns true for names of what is recorded about a task, not asked for.
fn is_record(name: &str) -> bool {
    let ends = ["At", "_at", "Date", "_date"];
    matches!(
        name,
        "x-ralph" | "<<" | "history" | "log" | "commit" | "sha" | "$schema"
    ) || ends.iter().any(|end| name.ends_with(end))
}

/// Returns true for a member of a task that is told to an agent under its own name.
pub(super) fn is_told_by_name(tree: &Tree<'_>, layout: &Layout, name: &str, value: At) -> bool {
    Field::of_member(tree, name, value).is_none()
        && !layout.is_inner(value)
        && !is_record(name)
        && !looks::HEADLINES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
        && read::has_text(tree, value)
}

/// The names of the members of a task that say something and are no part of what was read.
pub(super) fn untold(tree: &Tree<'_>, format: Format, task: At) -> Vec<String> {
    let fields = Fields::of(tree, task);
    let is_done_flag = |value: At| fields.get(tree, Field::Done) == Some(value);
    let is_part = |name: &str, value: At| match Field::of_member(tree, name, value) {
        Some(Field::CompletedAt | Field::Progress) => false,
        Some(_) => true,
        None => {
            let mut headlines = looks::HEADLINES.iter();
            let is_text = read::has_text(tree, value)
                && !is_record(name)
                && !format.rules().records.contains(&name);
            is_text
                || name == "<<"
                || is_done_flag(value)
                || headlines.any(|known| known.eq_ignore_ascii_case(name))
        }
    };
    let members = tree.members(task);
    let names = members.map(|(key, value)| (tree.text(key), value));
    names
        .filter(|(name, value)| says_something(tree, *value) && !is_part(name, *value))
        .map(|(name, _)| name.into_owned())
        .collect()
}

/// Returns true for a value that is not empty.
pub(super) fn says_something(tree: &Tree<'_>, value: At) -> bool {
    match tree.kind(value) {
        Kind::Null => false,
        Kind::Text => !is_blank(&tree.text(value)),
        Kind::List | Kind::Map => tree.children(value).next().is_some(),
        Kind::True | Kind::False | Kind::Number => true,
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn add_section(description: &mut String, heading: &str, items: &[String]) {
    match items {
        [] => {}
        [one] => description.push_str(&format!("\n\n{heading}: {one}")),
        [..] => {
            description.push_str(&format!("\n\n{heading}:"));
            for (number, item) in items.iter().enumerate() {
                description.push_str(&format!("\n{}. {item}", number + 1));
            }
        }
    }
}
