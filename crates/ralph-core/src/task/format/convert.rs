//! A task file from one format to another without loss: what the other has no word for is kept
//! under `x-ralph`, and taken from there on the way back.
//!
//! Each field stands under the name that the other format's own tools look for. Fields that all
//! formats read under one name, and those that ralph does not know, are taken over as they are. Comments go
//! along from YAML to YAML; anchors and spacing of a file are no fields and do not. A format that is no tree of
//! JSON or YAML keeps nothing aside: what it has no word for is named (`kept`). Must never give back a text that
//! it has not read again and compared, there and back where there is a way back.

mod comments;
mod header;
mod kept;
mod load;
mod named;
mod task;
mod value;

use super::error::{Fault, FormatResult};
use super::layout::TASKS;
use super::render::{Members, Value};
use super::rules::{NamedFile, NamedFormat};
use super::tree::{At, Tree};
use super::{
    Document, Format, FormatError, Syntax, Task, checked_text, parse_bytes, parse_tree, rules,
};
use load::{Doc, FileShape};
use task::{ASIDE, ConversionFormats, KeptFields, Part, Role};

/// A task file in another format.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    pub text: String,
    /// As it was.
    pub from: Format,
    /// The number of tasks in it.
    pub tasks: usize,
    /// Tells what stands under another name now.
    pub moved: Vec<Moved>,
    /// The number of comments that found no place.
    pub lost_comments: usize,
    /// Fields that the format has no place for, or says in another way.
    pub lost: Vec<LostField>,
}

impl Converted {
    /// The text that was made of a whole file.
    fn of(before: &Document, text: String) -> Self {
        Self {
            text,
            from: before.format,
            tasks: before.tasks.len(),
            moved: Vec::new(),
            lost_comments: 0,
            lost: Vec::new(),
        }
    }
}

/// A field that is not in the new file as it was in the old one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LostField {
    pub field: String,
    /// In how many tasks; `None` for what stands around them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<usize>,
}

/// The file in another format or another syntax.
pub fn convert(
    file_name: &str,
    bytes: &[u8],
    to: Format,
    syntax: Syntax,
) -> Result<Converted, FormatError> {
    converted(file_name, bytes, to, syntax).map_err(|fault| fault.into_error(file_name, bytes))
}

/// A file that is written for the first time: native JSON in any format, with nothing kept for a way
/// back.
pub fn write_new(json: &str, to: Format, syntax: Syntax) -> Result<String, FormatError> {
    written_new(json, to, syntax).map_err(|fault| fault.into_error("tasks.json", json.as_bytes()))
}

fn written_new(json: &str, to: Format, syntax: Syntax) -> FormatResult<String> {
    let before = parse_bytes("tasks.json", 0, json.as_bytes())?;
    let Some(tree) = parse_tree("tasks.json", json.as_bytes())? else {
        return Ok(String::new());
    };
    let mut there = go(&load::load(&tree)?, to)?.0;
    let own = |(name, _): &(String, Value)| name != task::ASIDE;
    there.header.retain(own);
    there
        .tasks
        .iter_mut()
        .for_each(|members| members.retain(own));
    let text = value::render(&load::unload(&there), syntax);
    check(&before, &text, to, syntax)?;
    Ok(text)
}

/// A value on one line, as JSON.
pub(super) fn inline(tree: &Tree<'_>, at: At) -> String {
    value::read(tree, at).map_or_else(|_| String::new(), |value| value.json())
}

fn converted(file_name: &str, bytes: &[u8], to: Format, syntax: Syntax) -> FormatResult<Converted> {
    let before = parse_bytes(file_name, 0, bytes)?;
    if let Some(own) = &to.rules().named {
        return to_named(file_name, bytes, &before, (to, own));
    }
    if rules::named(file_name).is_some() {
        return from_named(&before, to, syntax);
    }
    let tree = parse_tree(file_name, bytes)?;
    let doc = match &tree {
        Some(tree) => load::load(tree)?,
        None => Doc {
            format: Format::Native,
            shape: FileShape::List,
            header: Vec::new(),
            tasks: Vec::new(),
        },
    };
    let (there, went) = go(&doc, to)?;
    let text = value::render(&load::unload(&there), syntax);
    check(&before, &text, to, syntax)?;
    match went {
        ConversionRoute::On => check_way_back(&doc, &text, syntax)?,
        // Its fields are the earlier ones, or what was made of them since.
        ConversionRoute::Nowhere | ConversionRoute::Back => {}
    }
    let moved = moved(&doc, &there);
    let commented = match (&tree, syntax) {
        (Some(tree), Syntax::Yaml) => comments::carry(tree, text),
        (Some(tree), Syntax::Json | Syntax::Markdown | Syntax::JsonLines) => comments::Commented {
            lost: comments::count(tree),
            text,
        },
        (None, _) => comments::Commented { lost: 0, text },
    };
    check(&before, &commented.text, to, syntax)?;
    Ok(Converted {
        from: doc.format,
        tasks: doc.tasks.len(),
        moved,
        text: commented.text,
        lost_comments: commented.lost,
        lost: Vec::new(),
    })
}

/// A file of a format that is no tree: its tasks as they were read, with nothing kept for a way back.
fn from_named(before: &Document, to: Format, syntax: Syntax) -> FormatResult<Converted> {
    let native = named::native(before).json();
    let text = written_new(&native, to, syntax)?;
    check(before, &text, to, syntax)?;
    Ok(Converted::of(before, text))
}

/// A file of a format that is no tree, with what it can say. Refuses what would change the work: an id, a status,
/// a parent, a dependency.
fn to_named(
    file_name: &str,
    bytes: &[u8],
    before: &Document,
    (to, own): (Format, &NamedFormat),
) -> FormatResult<Converted> {
    if before.format == to {
        return Ok(Converted::of(before, checked_text(bytes)?.to_owned()));
    }
    let text = (own.written)(before)?;
    let after = parse_bytes(&name(to.usual_syntax()), 0, text.as_bytes())?;
    kept::check_work(before, &after, to)?;
    let mut lost = kept::lost(before, &after);
    let mut lost_comments = 0;
    if let Some(from) = rules::named(file_name) {
        let file = NamedFile::one(file_name, checked_text(bytes)?);
        let names = (from.untold)(&file).into_iter();
        names.for_each(|(name, place)| kept::add(&mut lost, &name, place));
    } else if let Some(tree) = parse_tree(file_name, bytes)? {
        lost_comments = comments::count(&tree);
        kept::add_untold(&mut lost, &tree)?;
    }
    Ok(Converted {
        lost_comments,
        lost,
        ..Converted::of(before, text)
    })
}

/// Which way led to a format.
enum ConversionRoute {
    Nowhere,
    On,
    Back,
}

/// Back through the formats that it came by, if the one that is wanted is among them; else on.
fn go(doc: &Doc, to: Format) -> FormatResult<(Doc, ConversionRoute)> {
    if doc.format == to {
        return Ok((doc.clone(), ConversionRoute::Nowhere));
    }
    if let Some(earlier) = back(doc)?
        && (earlier.format == to || leads_to(&earlier, to))
    {
        return Ok((go(&earlier, to)?.0, ConversionRoute::Back));
    }
    Ok((on(doc, to)?, ConversionRoute::On))
}

/// Returns true if a file came from a format, by whatever way.
fn leads_to(doc: &Doc, to: Format) -> bool {
    match back(doc) {
        Ok(Some(earlier)) => earlier.format == to || leads_to(&earlier, to),
        Ok(None) | Err(_) => false,
    }
}

fn on(doc: &Doc, to: Format) -> FormatResult<Doc> {
    let way = ConversionFormats {
        from: doc.format,
        to,
    };
    let (shape, header) = header::convert(doc, way);
    let mut tasks = Vec::with_capacity(doc.tasks.len());
    for members in &doc.tasks {
        let (mut there, kept) = task::convert(members, way)?;
        there.extend(kept.into_member(Vec::new()));
        tasks.push(there);
    }
    Ok(Doc {
        format: to,
        shape,
        header,
        tasks,
    })
}

/// The file as it was in the format that it came from, with what changed since. `None` if it came
/// from none, or is no longer one that would be read as that.
fn back(doc: &Doc) -> FormatResult<Option<Doc>> {
    let (Some(to), Some((shape, header))) = (header::origin(doc), header::undo(doc)) else {
        return Ok(None);
    };
    let way = ConversionFormats {
        from: doc.format,
        to,
    };
    let tasks = doc.tasks.iter().map(|members| task::undo(members, way));
    let earlier = Doc {
        format: to,
        shape,
        header,
        tasks: tasks.collect::<FormatResult<_>>()?,
    };
    let text = load::unload(&earlier).json();
    let read = parse_bytes("x.json", 0, text.as_bytes());
    Ok(read.is_ok_and(|read| read.format == to).then_some(earlier))
}

/// Checks that the text has the format and says the same.
fn check(before: &Document, text: &str, to: Format, syntax: Syntax) -> FormatResult<()> {
    let after = parse_bytes(&name(syntax), 0, text.as_bytes())?;
    if after.format != to || after.meta != before.meta {
        return Err(lossy());
    }
    if before.tasks.len() != after.tasks.len() {
        return Err(lossy());
    }
    for (was, is) in before.tasks.iter().zip(&after.tasks) {
        let same: fn(&Task, &Task) -> bool = task::is_same;
        if !same(was, is) {
            return Err(lossy().of(&was.id));
        }
    }
    Ok(())
}

/// Checks that the way back gives what was there, field by field.
fn check_way_back(doc: &Doc, text: &str, syntax: Syntax) -> FormatResult<()> {
    let Some(tree) = parse_tree(&name(syntax), text.as_bytes())? else {
        return Ok(());
    };
    let (again, _) = go(&load::load(&tree)?, doc.format)?;
    let same = |(a, b): (&Members, &Members)| task::same_members(a, b);
    let whole = again.tasks.len() == doc.tasks.len()
        && same((&again.header, &doc.header))
        && again.tasks.iter().zip(&doc.tasks).all(same);
    if whole { Ok(()) } else { Err(lossy()) }
}

fn name(syntax: Syntax) -> String {
    format!("x.{}", syntax.ending())
}

fn lossy() -> Box<Fault> {
    Fault::nowhere("can't be converted without loss")
}

/// One JSON text with the tasks of all files, which are given by name and content.
///
/// Only files of one format, and only if what stands around their tasks does not disagree: nothing
/// is left out, and nothing decided.
pub fn join(files: &[(String, Vec<u8>)]) -> Result<String, FormatError> {
    let mut whole: Option<Doc> = None;
    for (name, bytes) in files {
        let added = join_file(&mut whole, name, bytes);
        added.map_err(|fault| fault.into_error(name, bytes))?;
    }
    let whole = whole.map_or_else(|| Value::List(Vec::new()), |doc| load::unload(&doc));
    Ok(value::render(&whole, Syntax::Json))
}

fn join_file(whole: &mut Option<Doc>, name: &str, bytes: &[u8]) -> FormatResult<()> {
    if rules::named(name).is_some() {
        let message = "can't be joined with other files; convert it by itself";
        return Err(Fault::nowhere(message));
    }
    let Some(tree) = parse_tree(name, bytes)? else {
        return Ok(());
    };
    let mut doc = load::load(&tree)?;
    // A list at the root has no room for what another file says about the project.
    if !matches!(doc.shape, FileShape::Named { .. }) {
        doc.shape = FileShape::Named {
            list: TASKS.to_owned(),
            before: 0,
        };
    }
    let Some(known) = whole else {
        *whole = Some(doc);
        return Ok(());
    };
    if known.format != doc.format {
        let (one, other) = (known.format.as_str(), doc.format.as_str());
        let message =
            format!("expected a file in the format {one} like those before it, found {other}");
        return Err(Fault::nowhere(message));
    }
    for (name, said) in doc.header {
        match value::get(&known.header, &name) {
            None => known.header.push((name, said)),
            Some(already) if *already == said => {}
            Some(_) => {
                let message =
                    format!("expected the same `{name}` as in the files before it, found another");
                return Err(Fault::nowhere(message));
            }
        }
    }
    known.tasks.append(&mut doc.tasks);
    Ok(())
}

/// Fields that have another name now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Moved {
    /// As the file had them.
    pub field: String,
    /// Where they are now.
    pub now: String,
    /// In how many tasks; `None` for what stands around them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<usize>,
}

fn moved(doc: &Doc, there: &Doc) -> Vec<Moved> {
    let mut found = Vec::new();
    if let (FileShape::Named { list: old, .. }, FileShape::Named { list: new, .. }) =
        (&doc.shape, &there.shape)
        && old != new
    {
        add(&mut found, old, new, Where::Around);
    }
    let header = KeptFields::of(&there.header);
    for (new, old) in &header.names {
        if let Value::Text(old) = old {
            add(&mut found, old, new, Where::Around);
        }
    }
    for (name, _) in new_in_was(&header, &doc.header) {
        add(
            &mut found,
            name,
            &format!("{ASIDE}.was.{name}"),
            Where::Around,
        );
    }
    if doc.format != there.format {
        for (was, is) in doc.tasks.iter().zip(&there.tasks) {
            of_task(&mut found, (doc, was), (there, is));
        }
    }
    found
}

fn of_task(found: &mut Vec<Moved>, (doc, was): (&Doc, &Members), (there, is): (&Doc, &Members)) {
    let names = |members: &Members| {
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    };
    for part in Part::ALL {
        let old = names(&task::members_of(was, part, doc.format));
        let new = names(&task::members_of(is, part, there.format));
        if !old.is_empty() && !new.is_empty() && old != new {
            add(found, &old, &new, Where::InTask);
        }
    }
    let kept = KeptFields::of(is);
    for (name, _) in new_in_was(&kept, was) {
        add(found, name, &format!("{ASIDE}.was.{name}"), Where::InTask);
    }
    let restored = KeptFields::of(was);
    for (name, value) in &restored.was {
        let back = task::role((name, value), there.format) == Role::Aside;
        if back && value::get(is, name).is_some() {
            add(found, &format!("{ASIDE}.was.{name}"), name, Where::InTask);
        }
    }
}

/// Returns what this conversion put aside: it is not an earlier one's.
fn new_in_was<'k>(
    kept: &'k KeptFields,
    was: &'k Members,
) -> impl Iterator<Item = &'k (String, Value)> + use<'k> {
    let from_here = move |(name, _): &&(String, Value)| value::get(was, name).is_some();
    kept.was.iter().filter(from_here)
}

/// The place of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// In the object around the tasks.
    Around,
    InTask,
}

fn add(found: &mut Vec<Moved>, field: &str, now: &str, place: Where) {
    let of_task = place == Where::InTask;
    let known = found
        .iter_mut()
        .find(|moved| moved.field == field && moved.now == now && moved.tasks.is_some() == of_task);
    match known {
        Some(Moved {
            tasks: Some(tasks), ..
        }) => *tasks += 1,
        Some(Moved { tasks: None, .. }) => {}
        None => found.push(Moved {
            field: field.to_owned(),
            now: now.to_owned(),
            tasks: of_task.then_some(1),
        }),
    }
}

#[cfg(test)]
mod tests;
