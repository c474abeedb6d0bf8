//! The file formats of tasks: text in, tasks out; a change in, the same text with that change out.
//!
//! A file named `.md` or `.markdown` is a checklist in Markdown, one named `.jsonl` has the issues of beads. All
//! others are in one of three formats, each in JSON or YAML, told apart by **content**, never by name:
//!
//! | the file has | format |
//! |---|---|
//! | a list under `userStories`, `user_stories`, `stories` or `features` | [`Format::Prd`] |
//! | a list of work under another name, in an object, with lists of tasks in its items, or with items that have no `id` | [`Format::Prd`] |
//! | a list under `tasks`, at the root, or a single task, with `passes`, another flag for done, an empty `subtasks`, criteria as objects or an odd priority in any task | [`Format::Prd`] |
//! | … with `project_name` at the root, or in any task `dependencies`, the status `pending`, or `blocked` as true or false | [`Format::Artefacts`] |
//! | … otherwise | [`Format::Native`] |
//!
//! [`Format::Prd`] is what all kinds of tools and people write, so it is lenient: what is not as expected is
//! read by its nearest meaning, with a warning. The others are strict.
//!
//! A file whose first character is `{` or `[` is JSON, unless it is named `.yaml` or `.yml` and
//! only reads as YAML; a file named `.json` is always JSON; everything else is YAML.
//!
//! The names of fields are shared by all formats (`fields`), so that a task written the way another
//! tool does still reads; what says that a task is done differs (`rules`, and one
//! file a format). Unknown fields are
//! tolerated and kept: writing replaces the bytes of the value that changed, and nothing else.
//!
//! Must not touch files, and must never give back a text that it has not read again and compared.

mod append;
mod artefacts;
mod beads;
mod checks;
mod convert;
mod edit;
mod error;
mod fields;
mod fix;
mod ids;
mod json;
mod layout;
mod looks;
mod markdown;
mod native;
mod prd;
mod read;
mod reading;
mod render;
mod rules;
mod splice;
mod status;
mod story;
mod tree;
mod undo_tampering;
mod warning;
mod yaml;

#[cfg(test)]
mod tests;

pub use append::{NewTask, append, render_new};
pub use checks::NamedCheck;
pub use convert::{Converted, LostField, Moved, convert, join, write_new};
pub use edit::{Change, Edit, apply, splices_at};
pub use error::{FormatError, LineColumn, line_column};
pub use fix::{Fixed, FixedValue, fix};
pub use ids::has_derived_id;
pub use reading::{UnknownField, unknown_fields};
pub(crate) use render::quoted;
pub use rules::{Format, UsualPlace};
pub use splice::Splice;
pub use undo_tampering::{Tampering, UndoneTampering, added_tasks, undo_tampering};
pub use warning::{FormatWarning, WarningKind};

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Place, Task};
use error::{Fault, FormatResult};
use layout::Layout;
use rules::NamedFile;
use story::StoryAt;
use tree::Tree;
use warning::Notices;

pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The way a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    Json,
    Yaml,
    Markdown,
    /// One JSON object a line.
    JsonLines,
}

impl Syntax {
    /// The ending of the names of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Markdown => "md",
            Self::JsonLines => "jsonl",
        }
    }
}

/// A task file, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub format: Format,
    pub syntax: Syntax,
    pub meta: Meta,
    /// In the order of the file.
    pub tasks: Vec<Task>,
    /// In the order of the file, those about the whole file first.
    pub warnings: Vec<FormatWarning>,
    /// Says what was taken for the tasks and for done, where the file has not the usual shape.
    pub reading: Option<String>,
    /// Commands around the list that are meant to check the work. They are never run unasked.
    pub checks: Vec<NamedCheck>,
}

/// Describes what a file says about the project as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    pub project: Option<String>,
    pub branch_name: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
}

/// Reads a task file. `file_index` is what the places of its tasks will say.
pub fn parse(file_name: &str, file_index: u32, bytes: &[u8]) -> Result<Document, FormatError> {
    parse_bytes(file_name, file_index, bytes).map_err(|fault| fault.into_error(file_name, bytes))
}

fn parse_bytes(file_name: &str, file_index: u32, bytes: &[u8]) -> FormatResult<Document> {
    if let Some(own) = rules::named(file_name) {
        let file = NamedFile {
            name: file_name,
            index: file_index,
            text: checked_text(bytes)?,
        };
        let document = (own.parse)(&file)?;
        refuse_duplicates(&document.tasks, bytes)?;
        return Ok(document);
    }
    let Some(tree) = parse_tree(file_name, bytes)? else {
        return Ok(Document {
            format: Format::Native,
            syntax: Syntax::Yaml,
            meta: Meta::default(),
            tasks: Vec::new(),
            warnings: Vec::new(),
            reading: None,
            checks: Vec::new(),
        });
    };
    let layout = layout::detect(&tree)?;
    let mut warnings = reading::not_read(&tree, &layout, file_index);
    let tasks = parse_tasks(&tree, &layout, file_index, &mut warnings)?;
    refuse_duplicates(&tasks, bytes)?;
    Ok(Document {
        format: layout.format,
        syntax: tree.syntax,
        meta: layout::meta(&tree, &layout),
        reading: reading::describe(&tree, &layout),
        checks: checks::of(&tree, &layout),
        warnings,
        tasks,
    })
}

/// The tasks of a layout, linked by their ids.
fn parse_tasks(
    tree: &Tree<'_>,
    layout: &Layout,
    file_index: u32,
    warnings: &mut Vec<FormatWarning>,
) -> FormatResult<Vec<Task>> {
    let notices = Notices::default();
    let mut tasks: Vec<Task> = Vec::with_capacity(layout.tasks.len());
    for (position, id) in ids::of(tree, layout).into_iter().enumerate() {
        let at = layout.tasks[position];
        let place = Place {
            file: file_index,
            position: position as u32,
            offset: tree.start(at) as u32,
        };
        let story = StoryAt {
            format: layout.format,
            at,
            id: &id?,
            inner: &layout.inner,
            notices: &notices,
        };
        let mut task = story::parse(tree, &story, place)?;
        if let Some(parent) = layout.parents[position] {
            task.links.parent_id = Some(tasks[parent].id.clone());
        }
        warnings.extend(notices.take(Some(&task.id), place));
        tasks.push(task);
    }
    ids::resolve(tree, layout, &mut tasks, warnings);
    Ok(tasks)
}

/// Reads what can be read of a file: tasks with an id that is taken, and none that are broken.
pub fn parse_loosely(file_name: &str, bytes: &[u8]) -> Vec<Task> {
    if let Some(own) = rules::named(file_name) {
        let Ok(text) = checked_text(bytes) else {
            return Vec::new();
        };
        return (own.parse_loosely)(&NamedFile {
            name: file_name,
            index: 0,
            text,
        });
    }
    let Ok(Some(tree)) = parse_tree(file_name, bytes) else {
        return Vec::new();
    };
    let Ok(layout) = layout::detect(&tree) else {
        return Vec::new();
    };
    let notices = Notices::default();
    let ids = ids::of(&tree, &layout).into_iter().zip(&layout.tasks);
    let tasks = ids.filter_map(|(id, at)| {
        let story = StoryAt {
            format: layout.format,
            at: *at,
            id: &id.ok()?,
            inner: &layout.inner,
            notices: &notices,
        };
        story::parse(&tree, &story, Place::default()).ok()
    });
    let mut tasks: Vec<Task> = tasks.collect();
    if tasks.len() == layout.tasks.len() {
        for position in 0..tasks.len() {
            if let Some(parent) = layout.parents[position] {
                tasks[position].links.parent_id = Some(tasks[parent].id.clone());
            }
        }
        ids::resolve(&tree, &layout, &mut tasks, &mut Vec::new());
    }
    tasks
}

/// The tree of a file; `None` for YAML without anything in it.
fn parse_tree<'a>(file_name: &str, bytes: &'a [u8]) -> FormatResult<Option<Tree<'a>>> {
    let text = checked_text(bytes)?;
    let start = text_start(bytes);
    match spelling(file_name, text) {
        Spelling::Json => json::scan(text, start).map(Some),
        Spelling::JsonElseYaml => match json::scan(text, start) {
            Ok(tree) => Ok(Some(tree)),
            Err(_) => yaml::build(text),
        },
        Spelling::Yaml => yaml::build(text),
    }
}

fn checked_text(bytes: &[u8]) -> FormatResult<&str> {
    if bytes.len() >= u32::MAX as usize {
        return Err(Fault::nowhere(
            "expected a file below 4 GB, found a larger one",
        ));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let utf16 = bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF");
        let what = if utf16 { "UTF-16" } else { "other bytes" };
        let message = format!("expected text in UTF-8, found {what}");
        Fault::at(error.valid_up_to(), message)
    })
}

fn text_start(bytes: &[u8]) -> usize {
    if bytes.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Describes what a file is read as.
enum Spelling {
    Json,
    JsonElseYaml,
    Yaml,
}

/// Returns true if a name ends so, in any case.
fn has_ending(file_name: &str, ending: &str) -> bool {
    let tail = file_name.len().checked_sub(ending.len());
    let tail = tail.and_then(|at| file_name.get(at..));
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(ending))
}

fn spelling(file_name: &str, text: &str) -> Spelling {
    let named = |ending: &str| has_ending(file_name, ending);
    let brackets = || {
        let text = &text[text_start(text.as_bytes())..];
        text.trim_start().starts_with(['{', '['])
    };
    if named(".json") {
        Spelling::Json
    } else if !brackets() {
        Spelling::Yaml
    } else if named(".yaml") || named(".yml") {
        Spelling::JsonElseYaml
    } else {
        Spelling::Json
    }
}

fn refuse_duplicates(tasks: &[Task], bytes: &[u8]) -> FormatResult<()> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(tasks.len());
    for task in tasks {
        let offset = task.place.offset as usize;
        if let Some(first) = seen.insert(task.id.as_str(), offset) {
            let (line, _) = line_column(bytes, first);
            let message =
                format!("expected an id of its own, found one that the task on line {line} has");
            return Err(Fault::at(offset, message).of(&task.id));
        }
    }
    Ok(())
}
