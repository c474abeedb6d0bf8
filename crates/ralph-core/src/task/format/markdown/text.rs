//! The text of an item, taken apart: title, id, tags, and what its labels say. Nothing of it is left out: what
//! has no meaning of its own is the description.

use super::super::checks;
use super::checklist::{Checklist, ChecklistEntry};
use super::depends::{self, WaitsFor};
use super::label::{self, LabelKind};
use super::outline::{BodyLine, OutlineNode};
use super::section::{self, SectionKind};
use super::written_id::{self, IdEvidence};
use crate::task::VerifyCommand;

/// The parts of an item's text.
#[derive(Debug, Default)]
pub(super) struct ItemText {
    pub(super) id: Option<String>,
    pub(super) title: String,
    /// The lines below the title that no label takes.
    pub(super) lines: Vec<String>,
    pub(super) labels: Vec<String>,
    pub(super) priority: Option<i64>,
    /// Struck through as a whole.
    pub(super) is_struck: bool,
    pub(super) acceptance: Vec<Criterion>,
    pub(super) verify: Vec<VerifyCommand>,
    pub(super) notes: Vec<NoteLine>,
    pub(super) files: Vec<String>,
    pub(super) waits_for: Vec<WaitsFor>,
    /// The word behind "Status:" and its offset.
    pub(super) status: Option<(String, usize)>,
}

/// A criterion, and its bytes in the file.
#[derive(Debug, Clone)]
pub(super) struct Criterion {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A note, and the line that it is.
#[derive(Debug, Clone)]
pub(super) struct NoteLine {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Takes the text of an entry apart.
pub(super) fn of(list: &Checklist<'_>, entry: &ChecklistEntry, evidence: &IdEvidence) -> ItemText {
    let node = &list.outline.nodes[entry.node];
    let mut found = ItemText::default();
    let is_heading = list.outline.is_heading(entry.node);
    headline(node, is_heading, evidence, &mut found);
    let body = list.body_of(entry.node);
    Sorter::new(&mut found).sort(&body);
    for criterion in &entry.criteria {
        let node = &list.outline.nodes[*criterion];
        let length = node.text.len();
        found.acceptance.push(Criterion {
            text: plain(&node.text),
            start: node.line_end.saturating_sub(length),
            end: node.line_end,
        });
    }
    found
}

/// The title of an item without its tags, for a look at how items begin.
pub(super) fn beginning(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some((_, behind)) = tag(rest) {
        rest = behind;
    }
    rest
}

fn headline(node: &OutlineNode, is_heading: bool, evidence: &IdEvidence, found: &mut ItemText) {
    let whole = node.text.trim();
    let struck = whole.trim_end_matches(['.', ' ']);
    let inner = struck
        .strip_prefix("~~")
        .and_then(|rest| rest.strip_suffix("~~"));
    found.is_struck = inner.is_some_and(|inner| !inner.contains("~~"));
    let mut rest = if found.is_struck {
        inner.unwrap_or(whole)
    } else {
        whole
    };
    let mut is_phase = false;
    if written_id::split(rest, evidence).is_none() {
        rest = take_tags(rest, found);
    }
    if let Some(written) = written_id::split(rest, evidence) {
        // A phase keeps its number in the title.
        is_phase = is_heading && written.is_named;
        if !is_phase && !written.rest.is_empty() {
            rest = written.rest;
        }
        found.id = Some(written.id);
    }
    found.id = node.comment_id.clone().or(found.id.take());
    rest = take_tags(rest, found);
    let mut text = rest.to_owned();
    let mut in_brackets = false;
    while let Some((without, names, is_vague)) = depends::in_brackets(&text) {
        in_brackets = true;
        found.waits_for.push(WaitsFor {
            names,
            is_vague,
            offset: node.offset,
        });
        // Words that may mean something else stay.
        if is_vague {
            break;
        }
        text = without;
    }
    if let Some(names) = depends::in_sentence(&text).filter(|_| !in_brackets) {
        found.waits_for.push(WaitsFor {
            names: names.to_owned(),
            is_vague: true,
            offset: node.offset,
        });
    }
    if let Some((before, level)) = closing_priority(&text).filter(|_| !is_phase) {
        found.priority = found.priority.or(Some(level));
        text = before;
    }
    let title = plain(&text);
    found.title = if title.is_empty() {
        plain(whole)
    } else {
        title
    };
}

/// Takes `[P]`, `[US1]` and the like from the beginning of a text.
fn take_tags<'t>(mut rest: &'t str, found: &mut ItemText) -> &'t str {
    while let Some((name, behind)) = tag(rest) {
        match section::priority_of(name) {
            Some(level) => found.priority = found.priority.or(Some(level)),
            None if name == "P" => found.labels.push("parallel".to_owned()),
            None => found.labels.push(name.to_owned()),
        }
        rest = behind;
    }
    rest
}

/// Returns true if a label reads as itself in brackets before a title.
pub(super) fn is_tag(label: &str) -> bool {
    let text = format!("[{label}] X");
    let is_read = tag(&text).is_some_and(|(name, _)| name == label);
    is_read && label.chars().count() > 1 && section::priority_of(label).is_none()
}

/// A word in brackets at the beginning of a text, and what follows.
fn tag(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('[')?;
    let end = inner.find(']')?;
    let (name, behind) = (inner[..end].trim(), &inner[end + 1..]);
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ' ' | '+');
    let fits = !name.is_empty() && name.chars().count() <= 24 && name.chars().all(is_word);
    let is_link = behind.starts_with(['(', '[']);
    let behind = behind.trim_start_matches([':', ' ']);
    (fits && !is_link && !behind.is_empty()).then_some((name, behind))
}

/// A priority in brackets at the end, such as `(P1)`.
fn closing_priority(text: &str) -> Option<(String, i64)> {
    let text = text.trim_end();
    let close = text.chars().last().filter(|c| matches!(c, ')' | ']'))?;
    let open = if close == ')' { '(' } else { '[' };
    let at = text.rfind(open)?;
    let inner = &text[at + 1..text.len() - 1];
    let level = section::priority_of(inner)?;
    let is_short = inner.split_whitespace().count() <= 2;
    is_short.then(|| (text[..at].trim_end().to_owned(), level))
}

/// A text without the marks of emphasis: bold anywhere, the rest where it is around all of it.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (n, part) in text.split('`').enumerate() {
        if n > 0 {
            out.push('`');
        }
        if n % 2 == 0 {
            out.push_str(&part.replace("**", "").replace("__", ""));
        } else {
            out.push_str(part);
        }
    }
    let mut text = out.trim();
    for mark in ["~~", "*", "_"] {
        let inner = text
            .strip_prefix(mark)
            .and_then(|rest| rest.strip_suffix(mark));
        if let Some(inner) = inner.filter(|inner| !inner.contains(mark) && !inner.is_empty()) {
            text = inner.trim();
        }
    }
    let inner = text
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'));
    let text = inner
        .filter(|inner| !inner.contains('`') && !inner.is_empty())
        .unwrap_or(text);
    text.trim_end_matches('\\').trim().to_owned()
}

/// Sorts the lines below an item by their labels.
struct Sorter<'i> {
    found: &'i mut ItemText,
    /// The label whose items follow, and its column; a label that is no item takes items at its own column.
    open: Option<(LabelKind, usize)>,
    kept: Vec<BodyLine>,
}

impl<'i> Sorter<'i> {
    fn new(found: &'i mut ItemText) -> Self {
        Self {
            found,
            open: None,
            kept: Vec::new(),
        }
    }

    fn sort(mut self, body: &[BodyLine]) {
        for line in body {
            self.add(line);
        }
        self.found.lines = dedent(&self.kept);
    }

    fn add(&mut self, line: &BodyLine) {
        let text = line.text.get(line.content..).unwrap_or_default();
        if line.is_code || line.level > 0 || text.trim().is_empty() {
            if line.level > 0 {
                self.open = None;
                if section::kind_of(&line.text) == SectionKind::Criteria {
                    self.open = Some((LabelKind::Acceptance, 0));
                    return;
                }
            }
            self.kept.push(line.clone());
            return;
        }
        if let Some((kind, column)) = self.open {
            if line.is_bullet && line.indent >= column {
                return self.take(kind, line, text);
            }
            if line.indent < column || label::of(text).is_none() && !line.is_bullet {
                self.open = None;
            }
        }
        let Some(said) = label::of(text) else {
            self.kept.push(line.clone());
            return;
        };
        if said.rest.is_empty() {
            let takes_items = matches!(
                said.kind,
                LabelKind::Acceptance | LabelKind::Verify | LabelKind::DependsOn | LabelKind::Notes
            );
            if takes_items {
                let column = line.indent + usize::from(line.is_bullet);
                self.open = Some((said.kind, column));
                return;
            }
            self.kept.push(line.clone());
            return;
        }
        self.take(said.kind, line, said.rest);
    }

    /// Takes the text behind a label, which is part of the line.
    fn take(&mut self, kind: LabelKind, line: &BodyLine, text: &str) {
        let text = text.trim();
        let at = (text.as_ptr() as usize).wrapping_sub(line.text.as_ptr() as usize);
        let start = line.start + at.min(line.text.len());
        let criterion = |text: String| Criterion {
            text,
            start,
            end: start + text_len(line, at),
        };
        match kind {
            LabelKind::Acceptance => {
                let criterion = criterion(plain(text));
                self.found.acceptance.push(criterion);
            }
            LabelKind::Verify | LabelKind::Test => match commands(text) {
                Some(commands) => self.found.verify.extend(commands),
                None if kind == LabelKind::Verify => {
                    let criterion = criterion(plain(text));
                    self.found.acceptance.push(criterion);
                }
                None => self.kept.push(line.clone()),
            },
            LabelKind::DependsOn | LabelKind::After => {
                self.found.waits_for.push(WaitsFor {
                    names: text.to_owned(),
                    is_vague: kind == LabelKind::After,
                    offset: line.start + line.content,
                });
                self.kept.push(line.clone());
            }
            LabelKind::Notes => self.found.notes.push(NoteLine {
                text: text.to_owned(),
                start: line.start,
                end: line.start + line.text.len(),
            }),
            LabelKind::Priority => {
                let level = section::priority_of(text).or_else(|| text.parse().ok());
                self.found.priority = self.found.priority.or(level);
                self.kept.push(line.clone());
            }
            LabelKind::Files => {
                self.found.files.extend(files(text));
                self.kept.push(line.clone());
            }
            LabelKind::Status => {
                self.found.status = Some((text.to_owned(), line.start + line.content));
                self.kept.push(line.clone());
            }
        }
    }
}

fn text_len(line: &BodyLine, at: usize) -> usize {
    line.text.get(at..).map_or(0, |rest| rest.trim_end().len())
}

/// The lines without the space that they all begin with, and without blank lines around them.
pub(super) fn dedent(lines: &[BodyLine]) -> Vec<String> {
    let full = lines
        .iter()
        .filter(|line| !line.text.trim().is_empty() && line.level == 0);
    let column = full.map(|line| line.indent).min().unwrap_or(0);
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let text = line.text.trim_end();
        if line.level > 0 {
            out.push(format!("{} {text}", "#".repeat(line.level)));
            continue;
        }
        if text.is_empty() {
            if out.last().is_some_and(|last| !last.is_empty()) {
                out.push(String::new());
            }
            continue;
        }
        let rest = text.trim_start();
        let inside = line.indent.saturating_sub(column);
        out.push(format!("{}{rest}", " ".repeat(inside)));
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    out
}

/// The commands of a text that is nothing but commands in backticks.
pub(super) fn commands(text: &str) -> Option<Vec<VerifyCommand>> {
    const GLUE: [&str; 10] = [
        "",
        "and",
        "then",
        "passes",
        "pass",
        "succeeds",
        "must pass",
        "should pass",
        "is green",
        "exits 0",
    ];
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len() < 3 || parts.len().is_multiple_of(2) {
        return None;
    }
    let mut found = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        if n % 2 == 0 {
            let words = part
                .trim_matches([' ', ',', ';', '.', '&', '*'])
                .to_lowercase();
            if !GLUE.contains(&words.as_str()) {
                return None;
            }
        } else {
            let command = VerifyCommand::Shell(part.trim().to_owned());
            if !is_command(part.trim(), &command) {
                return None;
            }
            found.push(command);
        }
    }
    Some(found)
}

/// Returns true if a text in backticks is clearly a command.
pub(super) fn is_command(line: &str, command: &VerifyCommand) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let is_name = program.starts_with(|c: char| c.is_ascii_lowercase() || c == '.' || c == '/')
        && program
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+'));
    checks::starts_program(command) || (is_name && words.next().is_some())
}

/// The file names of a text.
fn files(text: &str) -> Vec<String> {
    let parts = text.split([',', ';']).map(|part| {
        part.trim()
            .trim_matches(['`', '*', ' '])
            .trim_end_matches('.')
    });
    let is_file = |part: &&str| {
        !part.is_empty()
            && !part.contains(' ')
            && part.contains(['/', '.'])
            && !part.contains("://")
    };
    parts.filter(is_file).map(str::to_owned).collect()
}
