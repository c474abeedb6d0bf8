//! A task file from one format to another without loss: what the other has no word for is kept
//! under `x-ralph`, and taken from there on the way back.
//!
//! Each field stands under the name that the other format's own tools look for. Fields that all
//! formats read under one name, and those that ralph does not know, are taken over as they are. The
//! comments, anchors and spacing of a file are no fields and are not. Must never give back a text
//! that it has not read again and compared, there and back.

mod header;
mod join;
mod load;
mod part;
mod report;
mod task;
#[cfg(test)]
mod tests;
mod value;

pub use join::join;
pub use report::Moved;
pub(super) use value::Value;

use super::error::{Fault, FormatResult};
use super::tree::{At, Tree};
use super::{Document, Format, FormatError, Syntax, Task, parse_bytes, parse_tree};
use load::{Doc, FileShape};
use task::ConversionFormats;

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
    let own = |(name, _): &(String, value::Value)| name != part::ASIDE;
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
    value::read(tree, at).map_or_else(|_| String::new(), |value| value.inline())
}

fn converted(file_name: &str, bytes: &[u8], to: Format, syntax: Syntax) -> FormatResult<Converted> {
    let before = parse_bytes(file_name, 0, bytes)?;
    let doc = match parse_tree(file_name, bytes)? {
        Some(tree) => load::load(&tree)?,
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
    Ok(Converted {
        from: doc.format,
        tasks: doc.tasks.len(),
        moved: report::moved(&doc, &there),
        text,
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
    let text = load::unload(&earlier).inline();
    let read = parse_bytes("x.json", 0, text.as_bytes());
    Ok(read.is_ok_and(|read| read.format == to).then_some(earlier))
}

/// Checks that the text has the format and says the same.
fn check(before: &Document, text: &str, to: Format, syntax: Syntax) -> FormatResult<()> {
    let after = parse_bytes(name(syntax), 0, text.as_bytes())?;
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
    let Some(tree) = parse_tree(name(syntax), text.as_bytes())? else {
        return Ok(());
    };
    let (again, _) = go(&load::load(&tree)?, doc.format)?;
    let same = |(a, b): (&value::Members, &value::Members)| task::same_members(a, b);
    let whole = again.tasks.len() == doc.tasks.len()
        && same((&again.header, &doc.header))
        && again.tasks.iter().zip(&doc.tasks).all(same);
    if whole { Ok(()) } else { Err(lossy()) }
}

fn name(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Json => "x.json",
        Syntax::Yaml => "x.yaml",
    }
}

fn lossy() -> Box<Fault> {
    Fault::nowhere("can't be converted without loss")
}
