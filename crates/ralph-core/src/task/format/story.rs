//! Reads one task out of its object, in any of the formats.
//!
//! Names are sorted out by `fields`, types by `read`, the status by `status`; this puts them
//! together and fills in what people leave out.

use super::Format;
use super::error::{Fault, FormatResult, shorten};
use super::fields::{Field, Fields};
use super::tree::{At, Kind, Tree};
use super::{read, status};
use crate::task::{Attempts, Place, Task, TaskId, TaskLinks, TaskText};

/// Members that belong to what a task says, and the heading each gets behind the description.
const SECTIONS: [(Field, &str); 5] = [
    (Field::Steps, "Steps"),
    (Field::Requirements, "Requirements"),
    (Field::EdgeCases, "Edge cases"),
    (Field::DesignDecisions, "Design decisions"),
    (Field::StopCondition, "Stop condition"),
];

pub(super) fn parse(tree: &Tree<'_>, format: Format, at: At, place: Place) -> FormatResult<Task> {
    if tree.kind(at) != Kind::Map {
        return read::mismatch(tree, at, "a task (an object with an `id`)");
    }
    let fields = Fields::of(tree, at);
    let id = parse_id(tree, &fields, at)?;
    let story = Story { tree, fields };
    story
        .task(format, &id, place)
        .map_err(|fault| fault.of(&id))
}

/// The id of the task in an object, which need not be valid otherwise.
pub(super) fn parse_id(tree: &Tree<'_>, fields: &Fields, at: At) -> FormatResult<TaskId> {
    if let Some(id) = fields.get(tree, Field::Id) {
        return read::id(tree, id);
    }
    let title = fields
        .get(tree, Field::Title)
        .or_else(|| fields.get(tree, Field::Description));
    let whose = title.map_or(String::new(), |at| {
        format!(" for the task \"{}\"", shorten(&tree.text(at), 40))
    });
    let message = format!("expected an `id`{whose}, found none");
    Err(Fault::at(tree.start(at), message))
}

struct Story<'t, 'a> {
    tree: &'t Tree<'a>,
    fields: Fields,
}

impl Story<'_, '_> {
    /// A field by its reader, `None` where it is absent or null.
    fn get<T>(
        &self,
        field: Field,
        read: impl FnOnce(&Tree<'_>, At) -> FormatResult<T>,
    ) -> FormatResult<Option<T>> {
        let at = self.fields.get(self.tree, field);
        at.map(|at| read(self.tree, at)).transpose()
    }

    fn task(&self, format: Format, id: &TaskId, place: Place) -> FormatResult<Task> {
        let labels = self.labels()?;
        let depends_on = self.depends_on()?;
        Ok(Task {
            id: id.clone(),
            text: self.text(id)?,
            links: TaskLinks {
                parent_id: self.parent()?,
                depends_on,
            },
            status: status::parse(self.tree, format, &self.fields)?,
            verify: self.get(Field::Verify, read::commands)?.unwrap_or_default(),
            area: self.area(&labels)?,
            labels,
            priority: self.get(Field::Priority, read::priority)?,
            attempts: self.attempts()?,
            created_at: self.get(Field::CreatedAt, read::time)?,
            updated_at: self.get(Field::UpdatedAt, read::time)?,
            place,
        })
    }

    fn labels(&self) -> FormatResult<Vec<String>> {
        let mut labels = Vec::new();
        for field in [Field::Labels, Field::Tags] {
            self.get(field, |tree, at| read::labels(tree, at, &mut labels))?;
        }
        Ok(labels)
    }

    fn depends_on(&self) -> FormatResult<Vec<TaskId>> {
        let mut depends_on = Vec::new();
        for field in [Field::DependsOn, Field::Dependencies] {
            self.get(field, |tree, at| read::ids(tree, at, &mut depends_on))?;
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
        at.map(|at| read::id(self.tree, at)).transpose()
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

    /// A text, `None` also where there is nothing in it.
    fn own(&self, field: Field, what: &str) -> FormatResult<Option<String>> {
        let text = self.get(field, |tree, at| read::text(tree, at, what))?;
        Ok(text.filter(|text| !is_blank(text)))
    }

    fn text(&self, id: &TaskId) -> FormatResult<TaskText> {
        let title = self.own(Field::Title, "a text as title")?;
        let description = self.own(Field::Description, "a text as description")?;
        let title = title.unwrap_or_else(|| {
            let first = description
                .as_deref()
                .and_then(|text| text.trim().lines().next());
            first.map_or_else(|| id.as_str().to_owned(), |line| line.trim_end().to_owned())
        });
        let mut description = description.unwrap_or_else(|| title.clone());
        for (field, heading) in SECTIONS {
            if let Some(at) = self.fields.get(self.tree, field) {
                add_section(&mut description, heading, &read::prose(self.tree, at));
            }
        }
        let mut acceptance = Vec::new();
        for field in [Field::Acceptance, Field::Criteria] {
            self.get(field, |tree, at| {
                read::lines(
                    tree,
                    at,
                    "acceptance criteria (a list, or one text)",
                    &mut acceptance,
                )
            })?;
        }
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
