//! The headings and checkboxes of a file, each with what it stands below and the text that belongs to it.
//!
//! An item belongs below another if it is indented by two columns more, or if its number says so. Decides nothing about statuses, ids or
//! what a label means beyond those that make checkboxes the criteria of something.

use std::collections::HashMap;

use super::label::{self, LabelKind};
use super::line::{LineKind, ListItem, MarkdownLine};
use super::mark::{MarkAt, MarkKind};
use super::section::{self, SectionKind};

/// Stands before the text of an optional item, in the place of its asterisk.
const OPTIONAL: &str = "[optional] ";

/// A heading or a checkbox.
#[derive(Debug)]
pub(super) struct OutlineNode {
    pub(super) kind: NodeKind,
    pub(super) parent: Option<usize>,
    /// The offset of its first character in the file.
    pub(super) offset: usize,
    /// Its text, with the lines that go on with it.
    pub(super) text: String,
    /// The id that a comment on its line gives.
    pub(super) comment_id: Option<String>,
    /// The bytes of its mark in the file.
    pub(super) mark: Option<MarkAt>,
    /// The lines that belong to it.
    pub(super) body: Vec<BodyLine>,
    /// The end of its last line, what is below it included.
    pub(super) end: usize,
    /// The end of the line that it begins on.
    pub(super) line_end: usize,
    /// True for a checkbox below a label such as "Acceptance criteria:".
    pub(super) is_criterion: bool,
    /// The plain items and the line in bold that a checkbox stands below, outermost first.
    pub(super) groups: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeKind {
    Heading { level: usize },
    Item { indent: usize, marker: String },
}

/// A line of the text of a node.
#[derive(Debug, Clone)]
pub(super) struct BodyLine {
    /// The offset of the line in the file.
    pub(super) start: usize,
    pub(super) text: String,
    pub(super) indent: usize,
    /// The offset of the text in the line, behind the marker of a list.
    pub(super) content: usize,
    pub(super) is_bullet: bool,
    pub(super) is_code: bool,
    /// The heading level of a line that is one.
    pub(super) level: usize,
}

/// The file as a whole.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) nodes: Vec<OutlineNode>,
    /// The text before the first heading.
    pub(super) intro: Vec<BodyLine>,
    /// Offsets of checkboxes that are no items: in quotes, in tables, inside of text.
    pub(super) unread: Vec<usize>,
    /// Offsets of checkboxes without a text.
    pub(super) empty: Vec<usize>,
    /// Offsets of items with a picture as their mark, in a file that has checkboxes.
    pub(super) pictures: Vec<usize>,
}

impl Outline {
    pub(super) fn is_heading(&self, node: usize) -> bool {
        matches!(self.nodes[node].kind, NodeKind::Heading { .. })
    }

    /// The node and what it is below, innermost first.
    pub(super) fn chain(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(node), |node| self.nodes[*node].parent)
    }
}

/// An open item of a list.
struct OpenItem {
    indent: usize,
    node: Option<usize>,
    /// Its checkboxes are criteria of what it stands in.
    is_criteria: bool,
    /// Its text, if it has no mark.
    group: Option<String>,
}

struct OutlineBuilder<'l, 'a> {
    lines: &'l [MarkdownLine<'a>],
    kind: MarkKind,
    outline: Outline,
    headings: Vec<(usize, usize)>,
    open: Vec<OpenItem>,
    /// The last label in the text of the section makes the checkboxes below it criteria.
    below_criteria: bool,
    /// The last line of the section that stands alone in bold.
    group: Option<String>,
    after_blank: bool,
    /// The line before is text of an item, or its first line.
    goes_on: bool,
}

pub(super) fn build(lines: &[MarkdownLine<'_>], kind: MarkKind) -> Outline {
    let mut builder = OutlineBuilder {
        lines,
        kind,
        outline: Outline::default(),
        headings: Vec::new(),
        open: Vec::new(),
        below_criteria: false,
        group: None,
        after_blank: true,
        goes_on: false,
    };
    for at in 0..lines.len() {
        builder.add(at);
    }
    builder.outline.nest_by_numbers();
    builder.outline
}

/// The number that a text begins with, such as `2` of `2. Build it` and `2.1` of `2.1 Write it`.
fn number_of(text: &str) -> Option<&str> {
    let text = text.strip_prefix(OPTIONAL).unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number = text[..end].trim_end_matches('.');
    let is_number = number.split('.').all(|part| !part.is_empty());
    let ends = text[end..].starts_with([' ', ')', ':']);
    (is_number && ends).then_some(number)
}

impl Outline {
    /// Puts `2.1` into the `2` before it where both stand side by side in one list.
    fn nest_by_numbers(&mut self) {
        let mut known: HashMap<(Option<usize>, String), usize> = HashMap::new();
        for node in 0..self.nodes.len() {
            if self.is_heading(node) {
                continue;
            }
            let Some(number) = number_of(&self.nodes[node].text).map(str::to_owned) else {
                continue;
            };
            let list = self.nodes[node].parent;
            let outer = number.rsplit_once('.').map(|(outer, _)| outer.to_owned());
            let outer = outer.and_then(|outer| known.get(&(list, outer)).copied());
            if outer.is_some() {
                self.nodes[node].parent = outer;
            }
            known.insert((list, number), node);
        }
    }
}

impl OutlineBuilder<'_, '_> {
    fn add(&mut self, at: usize) {
        let line = &self.lines[at];
        match &line.kind {
            LineKind::FrontMatter | LineKind::Comment => {}
            LineKind::Blank => {
                self.add_body(at, line.text.len());
                (self.after_blank, self.goes_on) = (true, false);
                return;
            }
            LineKind::Heading { level, content } => self.add_heading(at, *level, *content),
            LineKind::Item(item) => self.add_item(at, item),
            LineKind::Rule => {
                if self.open_at(line.indent).is_none() || self.after_blank {
                    self.open.clear();
                }
                (self.goes_on, self.below_criteria) = (false, false);
            }
            LineKind::Text | LineKind::Quote | LineKind::Table => self.add_text(at),
            LineKind::Code => {
                self.close_for(line.indent, at);
                self.add_body(at, 0);
                self.goes_on = false;
            }
        }
        self.after_blank = false;
    }

    fn add_heading(&mut self, at: usize, level: usize, content: usize) {
        self.open.clear();
        (self.below_criteria, self.goes_on, self.group) = (false, false, None);
        let line = &self.lines[at];
        while self
            .headings
            .last()
            .is_some_and(|(known, _)| *known >= level)
        {
            self.headings.pop();
        }
        let mark = super::mark::in_brackets(&line.text, content);
        let mark = mark.filter(|_| self.kind == MarkKind::Brackets);
        let begin = mark.as_ref().map_or(content, |mark| mark.end + 1);
        let text = line.text[begin..].trim().trim_end_matches('#').trim();
        let node = OutlineNode {
            kind: NodeKind::Heading { level },
            parent: self.headings.last().map(|(_, node)| *node),
            offset: line.start + content.min(line.text.len()),
            text: text.to_owned(),
            comment_id: comment_id(line.raw),
            mark: mark.map(|mark| in_file(mark, line.start)),
            body: Vec::new(),
            end: line.start + line.raw.len(),
            line_end: line.start + line.raw.len(),
            is_criterion: false,
            groups: Vec::new(),
        };
        self.headings.push((level, self.outline.nodes.len()));
        self.outline.nodes.push(node);
    }

    fn add_item(&mut self, at: usize, item: &ListItem) {
        let line = &self.lines[at];
        // Four columns in, with no list around it, it is code.
        let is_code =
            line.indent >= 4 && self.open.is_empty() && self.after_blank && !self.starts_list(at);
        if is_code {
            if item.mark.is_some() {
                self.outline.unread.push(line.start);
            }
            self.add_body(at, 0);
            self.goes_on = false;
            return;
        }
        while self
            .open
            .last()
            .is_some_and(|open| open.indent + 2 > line.indent)
        {
            self.open.pop();
        }
        let mark = match self.kind {
            MarkKind::Brackets => item.mark.clone(),
            MarkKind::Pictures => item.picture.clone(),
        };
        if self.kind == MarkKind::Brackets && item.picture.is_some() {
            self.outline.pictures.push(line.start);
        }
        let inside_criteria = self
            .open
            .iter()
            .rev()
            .take_while(|open| open.node.is_none());
        let inside_criteria = inside_criteria.into_iter().any(|open| open.is_criteria);
        let has_item = self.open.iter().any(|open| open.node.is_some());
        self.goes_on = true;
        let content = match (&mark, self.kind) {
            (Some(mark), MarkKind::Pictures) => {
                let rest = &line.text[mark.end..];
                line.text.len() - rest.trim_start().len()
            }
            _ => item.content,
        };
        let content = content.min(line.text.len());
        match mark.filter(|_| !(inside_criteria && has_item)) {
            Some(mark) => self.add_box(at, content, mark, inside_criteria),
            None => self.add_plain(at, content, inside_criteria),
        }
    }

    /// Adds an item without a mark: text of what it stands in.
    fn add_plain(&mut self, at: usize, content: usize, inside_criteria: bool) {
        let line = &self.lines[at];
        let text = &line.text[content..];
        let said = label::of(text);
        let is_criteria =
            said.is_some_and(|label| label.kind == LabelKind::Acceptance && label.rest.is_empty());
        if self.kind == MarkKind::Brackets && mark_is_hidden(text) {
            self.outline.unread.push(line.start);
        }
        self.add_body(at, content);
        self.open.push(OpenItem {
            indent: line.indent,
            node: None,
            is_criteria: is_criteria || inside_criteria,
            group: (!is_criteria).then(|| group_name(text)),
        });
    }

    /// Adds a checkbox.
    fn add_box(&mut self, at: usize, content: usize, mark: MarkAt, inside_criteria: bool) {
        let line = &self.lines[at];
        let optional = line.text[content..].strip_prefix("* ");
        let text = optional.unwrap_or(&line.text[content..]).trim();
        if text.is_empty() {
            self.outline.empty.push(line.start);
            self.goes_on = false;
            return;
        }
        let parent = self.open.iter().rev().find_map(|open| open.node);
        let heading = self.headings.last().map(|(_, node)| *node);
        let is_criterion = parent.is_none() && (self.below_criteria || inside_criteria);
        let inner = self.open.iter().rposition(|open| open.node.is_some());
        let around = self.open[inner.map_or(0, |at| at + 1)..].iter();
        let around = around.filter_map(|open| open.group.clone());
        let section = self.group.clone().filter(|_| parent.is_none());
        let groups: Vec<String> = section.into_iter().chain(around).collect();
        let number = self.outline.nodes.len();
        let mut text = text.to_owned();
        if optional.is_some() {
            text.insert_str(0, OPTIONAL);
        }
        let marker = match &line.kind {
            LineKind::Item(item) => item.marker.clone(),
            _ => String::new(),
        };
        let indent = line.text.len() - line.text.trim_start().len();
        let end = line.start + line.raw.len();
        self.outline.nodes.push(OutlineNode {
            kind: NodeKind::Item {
                indent: line.indent,
                marker,
            },
            parent: parent.or(heading),
            offset: line.start + indent,
            text,
            comment_id: comment_id(line.raw),
            mark: Some(in_file(mark, line.start)),
            body: Vec::new(),
            end,
            line_end: end,
            is_criterion,
            groups,
        });
        self.note_end(number, end);
        self.open.push(OpenItem {
            indent: line.indent,
            node: Some(number),
            is_criteria: false,
            group: None,
        });
    }

    /// Returns true if a list that is indented as a whole begins here, not code: more items follow, and none
    /// with less space before it.
    fn starts_list(&self, at: usize) -> bool {
        let before = self.lines[..at].iter().rev();
        let mut before = before.filter(|line| line.kind != LineKind::Blank);
        before
            .next()
            .is_some_and(|line| matches!(line.kind, LineKind::Item(_)))
    }

    fn add_text(&mut self, at: usize) {
        let line = &self.lines[at];
        if begins_with_box(&line.text) {
            self.outline.unread.push(line.start);
        }
        let content = line.text.len() - line.text.trim_start().len();
        let is_group = line.indent == 0 && is_group_line(line.text.trim());
        if is_group {
            self.open.clear();
            self.goes_on = false;
        }
        self.close_for(line.indent, at);
        let said = label::of(&line.text[content..]);
        let is_text = line.kind == LineKind::Text;
        let owner = self.open.iter().rev().find_map(|open| open.node);
        if self.open.is_empty() {
            self.below_criteria = said
                .as_ref()
                .is_some_and(|label| label.kind == LabelKind::Acceptance && label.rest.is_empty());
            let names = is_group && said.is_none();
            self.group = names.then(|| group_name(&line.text));
        }
        // A paragraph that goes on in the next line.
        if let Some(node) = owner
            && is_text
            && self.goes_on
            && said.is_none()
            && !is_whole(&self.outline.nodes[node].text)
            && self.outline.nodes[node].body.is_empty()
            && self.open.last().is_some_and(|open| open.node.is_some())
        {
            let end = line.start + line.raw.len();
            let text = &mut self.outline.nodes[node].text;
            text.push(' ');
            text.push_str(line.text.trim());
            self.outline.nodes[node].line_end = end;
            self.note_end(node, end);
            return;
        }
        self.add_body(at, content);
        self.goes_on &= is_text;
    }

    /// Closes the items that a line does not belong to any more.
    fn close_for(&mut self, indent: usize, at: usize) {
        if self.goes_on && self.lines[at].kind == LineKind::Text {
            return;
        }
        while self.open.last().is_some_and(|open| open.indent >= indent) {
            self.open.pop();
        }
    }

    fn open_at(&self, indent: usize) -> Option<&OpenItem> {
        self.open.iter().rev().find(|open| open.indent < indent)
    }

    /// Adds a line to the text of what it stands in.
    fn add_body(&mut self, at: usize, content: usize) {
        let line = &self.lines[at];
        let body = BodyLine {
            start: line.start,
            text: line.text.clone(),
            indent: line.indent,
            content,
            is_bullet: matches!(line.kind, LineKind::Item(_)),
            is_code: line.kind == LineKind::Code,
            level: 0,
        };
        let owner = self.open.iter().rev().find_map(|open| open.node);
        let owner = owner.or_else(|| self.headings.last().map(|(_, node)| *node));
        match owner {
            Some(node) => {
                self.outline.nodes[node].body.push(body);
                if line.kind != LineKind::Blank {
                    self.note_end(node, line.start + line.raw.len());
                }
            }
            None => self.outline.intro.push(body),
        }
    }

    /// Everything that a line is below ends with it, or later.
    fn note_end(&mut self, node: usize, end: usize) {
        let chain: Vec<usize> = self.outline.chain(node).collect();
        for node in chain {
            self.outline.nodes[node].end = end;
        }
    }
}

fn in_file(mark: MarkAt, start: usize) -> MarkAt {
    MarkAt {
        start: mark.start + start,
        end: mark.end + start,
        mark: mark.mark,
    }
}

/// Returns true for a short line that stands alone in bold, and names what follows.
fn is_group_line(text: &str) -> bool {
    let inner = text.strip_prefix("**");
    let inner = inner.and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    inner.is_some_and(|inner| !inner.contains("**") && inner.chars().count() <= 80)
}

fn group_name(text: &str) -> String {
    let name = super::text::plain(text);
    name.trim_end_matches(':').trim().to_owned()
}

/// Returns true if a text does not go on in the next line: it ends a sentence, or begins with a title in bold.
fn is_whole(text: &str) -> bool {
    let bold = text.strip_prefix("**");
    text.ends_with(['.', ':', '!', '?']) || bold.is_some_and(|rest| rest.contains("**"))
}

/// Returns true if a plain checkbox stands behind marks of emphasis.
fn mark_is_hidden(text: &str) -> bool {
    let inner = text.trim_start_matches(['*', '_', '~']);
    let mut plain = ["[ ] ", "[x] ", "[X] "].iter();
    inner.len() < text.len() && plain.any(|plain| inner.starts_with(plain))
}

/// Returns true if a line, or a cell of a table, begins with a plain checkbox.
fn begins_with_box(text: &str) -> bool {
    let is_lead = |c: char| c.is_ascii_digit() || " \t>-*+_~.)".contains(c);
    let mut cells = text.split('|').map(|cell| cell.trim_start_matches(is_lead));
    let plain = ["[ ]", "[x]", "[X]"];
    let begins = |cell: &str| plain.iter().any(|plain| cell.starts_with(plain));
    cells.any(begins) && has_box(text)
}

/// Returns true if a text has a plain checkbox in it, code aside.
pub(super) fn has_box(text: &str) -> bool {
    let outside = text.split('`').step_by(2);
    let mut boxes = outside.filter(|part| {
        let mut found = ["[ ]", "[x]", "[X]"].iter();
        found.any(|plain| {
            let mut places = part.match_indices(plain);
            places.any(|(at, _)| !part[at + 3..].starts_with(['(', '[']))
        })
    });
    boxes.next().is_some() && super::mark::legend_in(text).is_empty()
}

/// The id in a comment such as `<!-- id: add-cart -->`.
fn comment_id(raw: &str) -> Option<String> {
    let at = raw.rfind("<!--")?;
    let inner = raw[at + 4..].split("-->").next()?.trim();
    let id = inner
        .strip_prefix("id:")
        .or_else(|| inner.strip_prefix("id="))?;
    let id = id.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

/// Headings whose checkboxes are the criteria of what the heading stands in.
pub(super) fn is_criteria_heading(outline: &Outline, node: usize) -> bool {
    outline.is_heading(node) && section::kind_of(&outline.nodes[node].text) == SectionKind::Criteria
}
