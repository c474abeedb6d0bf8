//! Typed values out of the tree, each with an error that says what was expected and what is there.
//!
//! Tolerant where people write the same thing in several ways (one string or a list, a number as
//! an id), strict where a guess could be wrong. Knows no formats.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

use super::Syntax;
use super::error::{Fault, FormatResult, shorten};
use super::tree::{At, Kind, Style, Tree};
use crate::task::{TaskId, VerifyCommand};

fn expected(tree: &Tree<'_>, at: At, what: &str) -> Box<Fault> {
    let found = match tree.kind(at) {
        Kind::Null => "null".to_owned(),
        Kind::True => "true".to_owned(),
        Kind::False => "false".to_owned(),
        Kind::Number => format!("the number {}", shorten(&tree.text(at), 40)),
        Kind::Text => format!("the text \"{}\"", shorten(&tree.text(at), 40)),
        Kind::List => "a list".to_owned(),
        Kind::Map => "an object".to_owned(),
    };
    Fault::at(tree.start(at), format!("expected {what}, found {found}"))
}

/// Returns the fault of a value that is not of the type its field has.
pub(super) fn mismatch<T>(tree: &Tree<'_>, at: At, what: &str) -> FormatResult<T> {
    Err(expected(tree, at, what))
}

/// A text. YAML needs no quotes around one, so there `1.10` and `no` are texts as well.
pub(super) fn text(tree: &Tree<'_>, at: At, what: &str) -> FormatResult<String> {
    match (tree.kind(at), tree.syntax) {
        (Kind::Text, _) | (Kind::Number | Kind::True | Kind::False, Syntax::Yaml) => {
            Ok(tree.text(at).into_owned())
        }
        (Kind::Null | Kind::Number | Kind::True | Kind::False | Kind::List | Kind::Map, _) => {
            mismatch(tree, at, what)
        }
    }
}

/// An id: a text, or a number as it is spelled.
pub(super) fn id(tree: &Tree<'_>, at: At) -> FormatResult<TaskId> {
    if !matches!(tree.kind(at), Kind::Number | Kind::Text) {
        text(tree, at, "a text or a number as id")?;
    }
    checked_id(&tree.text(at), tree.start(at))
}

pub(super) fn checked_id(text: &str, offset: usize) -> FormatResult<TaskId> {
    TaskId::parse(text).map_err(|bad| {
        let shown = shorten(text, 40);
        Fault::at(offset, format!("expected an id, found \"{shown}\": {bad}"))
    })
}

/// Ids: a list, or one text with commas.
pub(super) fn ids(tree: &Tree<'_>, at: At, into: &mut Vec<TaskId>) -> FormatResult<()> {
    let mut add = |id: TaskId| {
        if !into.contains(&id) {
            into.push(id);
        }
    };
    match tree.kind(at) {
        Kind::List => {
            for child in tree.children(at) {
                add(id(tree, child)?);
            }
        }
        Kind::Text => {
            let text = tree.text(at);
            let parts = text.split(',').map(str::trim);
            for part in parts.filter(|part| !part.is_empty() && !is_nothing(part)) {
                add(checked_id(part, tree.start(at))?);
            }
        }
        Kind::Number => add(id(tree, at)?),
        Kind::Null | Kind::True | Kind::False | Kind::Map => {
            return mismatch(tree, at, "task ids (a list, or one text with commas)");
        }
    }
    Ok(())
}

/// Ids as other tools write them: also as objects with an `id`. Those that can't be ids are passed over.
pub(super) fn loose_ids(tree: &Tree<'_>, at: At, into: &mut Vec<String>) -> FormatResult<()> {
    let mut add = |text: &str| {
        let text = text.trim();
        if !text.is_empty() && !is_nothing(text) && !into.iter().any(|known| known == text) {
            into.push(text.to_owned());
        }
    };
    match tree.kind(at) {
        Kind::List => {
            for child in tree.children(at) {
                let named = ["id", "task", "taskId", "task_id"].iter();
                let inner = named.filter_map(|key| tree.member(child, key)).next();
                add(&tree.text(inner.unwrap_or(child)));
            }
        }
        Kind::Text => tree.text(at).split([',', ';', '\n']).for_each(add),
        Kind::Number => add(&tree.text(at)),
        Kind::Null | Kind::False => {}
        Kind::True | Kind::Map => {
            return mismatch(tree, at, "task ids (a list, or one text with commas)");
        }
    }
    Ok(())
}

fn is_nothing(text: &str) -> bool {
    ["none", "n/a", "-", "null"].contains(&text.to_ascii_lowercase().as_str())
}

/// Texts: a list of them, or one text whose lines are the items.
pub(super) fn lines(
    tree: &Tree<'_>,
    at: At,
    what: &str,
    into: &mut Vec<String>,
) -> FormatResult<()> {
    if tree.kind(at) == Kind::List {
        for child in tree.children(at) {
            into.push(text(tree, child, "a text in the list")?);
        }
        return Ok(());
    }
    let text = text(tree, at, what)?;
    let items = text.lines().map(|line| strip_bullet(line).trim());
    into.extend(items.filter(|item| !item.is_empty()).map(str::to_owned));
    Ok(())
}

/// Criteria of any shape: texts, objects with a text in them, an object of texts.
pub(super) fn criteria(tree: &Tree<'_>, at: At, into: &mut Vec<String>) {
    const NAMES: [&str; 8] = [
        "criterion",
        "criteria",
        "description",
        "text",
        "title",
        "name",
        "check",
        "condition",
    ];
    let one = |at: At| {
        if tree.kind(at) == Kind::Text {
            return tree.text(at).into_owned();
        }
        let mut named = NAMES.iter().filter_map(|key| tree.member(at, key));
        let text = named.find(|at| tree.kind(*at) == Kind::Text);
        prose(tree, text.unwrap_or(at)).join(", ")
    };
    match tree.kind(at) {
        Kind::List => {
            let items = tree.children(at);
            into.extend(items.filter(|at| tree.kind(*at) != Kind::Null).map(one));
        }
        Kind::Map => {
            for (key, value) in tree.members(at) {
                into.push(format!("{}: {}", tree.text(key), one(value)));
            }
        }
        _ => {
            let text = tree.text(at);
            let items = text.lines().map(|line| strip_bullet(line).trim());
            into.extend(items.filter(|item| !item.is_empty()).map(str::to_owned));
        }
    }
}

/// Returns true if there is a text in a value, however deep.
pub(super) fn has_text(tree: &Tree<'_>, at: At) -> bool {
    match tree.kind(at) {
        Kind::Text => !tree.text(at).trim().is_empty(),
        Kind::List => tree.children(at).any(|child| has_text(tree, child)),
        Kind::Map => tree.members(at).any(|(_, value)| has_text(tree, value)),
        Kind::Null | Kind::True | Kind::False | Kind::Number => false,
    }
}

fn strip_bullet(line: &str) -> &str {
    let line = line.trim_start();
    ["- [ ] ", "- [x] ", "- ", "* ", "• "]
        .iter()
        .find_map(|bullet| line.strip_prefix(bullet))
        .unwrap_or(line)
}

/// Texts of any shape, for a reader: what is no text is shown as JSON on one line.
pub(super) fn prose(tree: &Tree<'_>, at: At) -> Vec<String> {
    let show = |at: At| match tree.kind(at) {
        Kind::Text => tree.text(at).trim().to_owned(),
        Kind::Null => String::new(),
        Kind::True | Kind::False | Kind::Number => tree.text(at).into_owned(),
        // However it is laid out in its file, so that a copy in another layout says the same.
        Kind::List | Kind::Map => super::convert::inline(tree, at),
    };
    let items: Vec<String> = match tree.kind(at) {
        Kind::List => tree.children(at).map(show).collect(),
        _ => vec![show(at)],
    };
    items.into_iter().filter(|item| !item.is_empty()).collect()
}

pub(super) fn boolean(tree: &Tree<'_>, at: At) -> FormatResult<bool> {
    let plain =
        tree.syntax == Syntax::Yaml && matches!(tree.node(at).style, Style::Plain | Style::Alias);
    match tree.kind(at) {
        Kind::True => Ok(true),
        Kind::False => Ok(false),
        // YAML 1.1 has more words for it, and people still use them.
        Kind::Text if plain => match tree.text(at).to_ascii_lowercase().as_str() {
            "yes" | "on" => Ok(true),
            "no" | "off" => Ok(false),
            _ => mismatch(tree, at, "true or false"),
        },
        _ => mismatch(tree, at, "true or false"),
    }
}

pub(super) fn count(tree: &Tree<'_>, at: At) -> FormatResult<u32> {
    match (tree.kind(at), tree.text(at).parse()) {
        (Kind::Number, Ok(count)) => Ok(count),
        _ => mismatch(tree, at, "a count (0, 1, 2, …)"),
    }
}

/// A priority: an integer, lower first; `P1` and the usual words are understood.
pub(super) fn priority(tree: &Tree<'_>, at: At) -> FormatResult<i64> {
    let text = tree.text(at);
    let word = text.trim().to_ascii_lowercase();
    let level = match (tree.kind(at), word.as_str()) {
        (Kind::Number, number) => number.strip_suffix(".0").unwrap_or(number).parse().ok(),
        (Kind::Text, "critical" | "highest" | "urgent") => Some(0),
        (Kind::Text, "high" | "must" | "must-have" | "must have") => Some(1),
        (Kind::Text, "medium" | "normal" | "should" | "should-have" | "should have") => Some(2),
        (Kind::Text, "low" | "could" | "could-have" | "could have") => Some(3),
        (Kind::Text, "lowest") => Some(4),
        (Kind::Text, other) => other.strip_prefix('p').unwrap_or(other).parse().ok(),
        (Kind::Null | Kind::True | Kind::False | Kind::List | Kind::Map, _) => None,
    };
    match level {
        Some(level) => Ok(level),
        None => mismatch(tree, at, "an integer as priority (1 goes before 2)"),
    }
}

pub(super) fn time(tree: &Tree<'_>, at: At) -> FormatResult<Timestamp> {
    let text = tree.text(at);
    let text = text.trim();
    let local = || {
        let civil = text.parse::<civil::DateTime>();
        let civil = civil.or_else(|_| text.parse::<civil::Date>().map(Into::into));
        civil.and_then(|civil| civil.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp()))
    };
    match (
        tree.kind(at),
        text.parse::<Timestamp>().or_else(|_| local()),
    ) {
        (Kind::Text, Ok(time)) => Ok(time),
        _ => mismatch(tree, at, "a time such as 2026-01-31T12:00:00Z"),
    }
}

/// Commands: one line for the shell, or a list of lines and of argument lists. An object with the
/// command as its `cmd`, `command` or `run` counts as that command, and one with a flow as its `qa` as the command
/// that runs it.
pub(super) fn commands(tree: &Tree<'_>, at: At) -> FormatResult<Vec<VerifyCommand>> {
    let mut commands = Vec::new();
    if tree.kind(at) == Kind::List {
        for child in tree.children(at) {
            commands.extend(command(tree, child)?);
        }
    } else {
        commands.extend(command(tree, at)?);
    }
    Ok(commands)
}

fn command(tree: &Tree<'_>, at: At) -> FormatResult<Option<VerifyCommand>> {
    const WHAT: &str = "a command (a text, or a list of arguments)";
    if let Some(flow) = tree.member(at, "qa") {
        let flow = text(tree, flow, "the name of a flow, or its file")?;
        if flow.trim().is_empty() {
            let message = "expected the name of a flow, found an empty text";
            return Err(Fault::at(tree.start(at), message));
        }
        return Ok(Some(VerifyCommand::flow(flow.trim())));
    }
    let named = ["cmd", "command", "run"].iter();
    let at = named
        .filter_map(|key| tree.member(at, key))
        .next()
        .unwrap_or(at);
    if tree.kind(at) != Kind::List {
        return Ok(shell(text(tree, at, WHAT)?));
    }
    let mut argv = Vec::new();
    for argument in tree.children(at) {
        argv.push(match tree.kind(argument) {
            Kind::Number => tree.text(argument).into_owned(),
            _ => text(tree, argument, "a text as argument of a command")?,
        });
    }
    if argv.is_empty() {
        let message = "expected a command, found an empty list";
        return Err(Fault::at(tree.start(at), message));
    }
    Ok(Some(VerifyCommand::Argv(argv)))
}

fn shell(line: String) -> Option<VerifyCommand> {
    (!line.trim().is_empty()).then_some(VerifyCommand::Shell(line))
}

/// Labels: a list, one text with commas, or a map whose members become `key=value`.
pub(super) fn labels(tree: &Tree<'_>, at: At, into: &mut Vec<String>) -> FormatResult<()> {
    match tree.kind(at) {
        Kind::List => {
            for child in tree.children(at) {
                match tree.kind(child) {
                    Kind::Map => labels(tree, child, into)?,
                    _ => into.push(text(tree, child, "a text as label")?),
                }
            }
        }
        Kind::Map => {
            for (key, value) in tree.members(at) {
                if matches!(tree.kind(value), Kind::List | Kind::Map) {
                    return mismatch(tree, value, "a text as label");
                }
                into.push(format!("{}={}", tree.text(key), tree.text(value)));
            }
        }
        _ => {
            let text = text(tree, at, "labels (a list, or an object)")?;
            let parts = text.split(',').map(str::trim);
            into.extend(parts.filter(|part| !part.is_empty()).map(str::to_owned));
        }
    }
    Ok(())
}

/// File names: a list, one text with commas, or an object, which people key by name or by what is
/// to be done with the files.
pub(super) fn files(tree: &Tree<'_>, at: At, into: &mut Vec<String>) -> FormatResult<()> {
    const WHAT: &str = "file names (a list, or an object)";
    match tree.kind(at) {
        Kind::List => {
            for child in tree.children(at) {
                match tree.kind(child) {
                    Kind::Map => file_objects(tree, child, into),
                    _ => into.push(text(tree, child, "a file name")?),
                }
            }
        }
        Kind::Map => file_objects(tree, at, into),
        _ => {
            let text = text(tree, at, WHAT)?;
            let parts = text.split([',', '\n']).map(str::trim);
            into.extend(parts.filter(|part| !part.is_empty()).map(str::to_owned));
        }
    }
    Ok(())
}

fn file_objects(tree: &Tree<'_>, map: At, into: &mut Vec<String>) {
    let named = ["path", "file", "name"].iter();
    if let Some(path) = named.filter_map(|key| tree.member(map, key)).next() {
        into.extend((tree.kind(path) == Kind::Text).then(|| tree.text(path).into_owned()));
        return;
    }
    for (key, value) in tree.members(map) {
        let name = tree.text(key);
        match tree.kind(value) {
            _ if name.contains(['/', '.']) => into.push(name.into_owned()),
            Kind::Text => into.push(tree.text(value).into_owned()),
            Kind::List => {
                for child in tree.children(value) {
                    match tree.kind(child) {
                        Kind::Text => into.push(tree.text(child).into_owned()),
                        Kind::Map => file_objects(tree, child, into),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}
