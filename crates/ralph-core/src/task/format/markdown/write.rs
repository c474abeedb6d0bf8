//! Changes to a checklist: the bytes of a mark, a line with a note, a new item like those that are there.

use std::collections::HashMap;

use super::super::append::NewTask;
use super::super::edit::{Change, Edit};
use super::super::error::{Fault, FormatResult};
use super::super::rules::NamedFile;
use super::super::splice::{self, Splice, spliced};
use super::mark::MarkKind;
use super::outline::NodeKind;
use super::section::SectionKind;
use super::{PART_OF, ReadChecklist, THE_LIST};
use crate::task::{Status, TaskId};

/// The text with the edits made.
pub(super) fn edited(file: &NamedFile<'_>, edits: &[Edit]) -> FormatResult<String> {
    let read = super::read(file)?;
    let by_id: HashMap<&TaskId, usize> =
        read.ids.iter().enumerate().map(|(n, id)| (id, n)).collect();
    let mut splices: Vec<Splice> = Vec::new();
    for (n, edit) in edits.iter().enumerate() {
        let kind = std::mem::discriminant(&edit.change);
        let is_over = edits[n + 1..]
            .iter()
            .any(|later| later.task == edit.task && std::mem::discriminant(&later.change) == kind);
        let Some(at) = by_id.get(&edit.task).filter(|_| !is_over) else {
            continue;
        };
        let made = match &edit.change {
            Change::Status(status) => read.status_splices(*at, *status),
            Change::Attempts(_) => Err(Fault::nowhere("a checklist has no count of attempts")),
            Change::Notes(text) => Ok(read.note_splices(file.text, *at, text)),
            Change::Acceptance(items) => read.criteria_splices(file.text, *at, items),
        };
        splices.extend(made.map_err(|fault| fault.of(&edit.task))?);
    }
    Ok(spliced(file.text, 0, file.text.len(), &splices))
}

impl ReadChecklist<'_> {
    fn status_splices(&self, at: usize, status: Status) -> FormatResult<Vec<Splice>> {
        let entry = &self.list.entries[at];
        let offset = self.list.outline.nodes[entry.node].offset;
        if entry.marks.is_empty() {
            let message = "has no status of its own: the tasks in it decide";
            return Err(Fault::at(offset, message));
        }
        let Some(mark) = self.list.marks.write(status) else {
            let message = format!("a checklist has no mark for {status}");
            return Err(Fault::at(offset, message));
        };
        // What stands there says so already.
        let is_skipped = status == Status::Skipped && self.is_open_elsewhere(at);
        let mark = if is_skipped { " ".to_owned() } else { mark };
        let is_said = |inner: &str| self.list.marks.read(inner).status() == status;
        if status == Status::Open && self.is_open_elsewhere(at) {
            let message =
                "can't be opened by its mark: it is struck through, or its section is out of scope";
            return Err(Fault::at(offset, message));
        }
        let marks = entry.marks.iter().filter(|own| !is_said(&own.mark));
        Ok(marks
            .map(|own| Splice {
                start: own.start,
                end: own.end,
                text: mark.clone(),
            })
            .collect())
    }

    /// Returns true if an open mark would not read as open.
    fn is_open_elsewhere(&self, at: usize) -> bool {
        let entry = &self.list.entries[at];
        self.texts[at].is_struck || (entry.is_leaf && self.list.is_out_of_scope(entry))
    }

    /// Notes are items below their task, one a line.
    fn note_splices(&self, source: &str, at: usize, text: &str) -> Vec<Splice> {
        let known = &self.texts[at].notes;
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let kept = known
            .iter()
            .zip(&lines)
            .take_while(|(old, new)| old.text == **new)
            .count();
        let mut splices: Vec<Splice> = known[kept..]
            .iter()
            .map(|old| Splice {
                start: old.start.min(source.len()),
                end: line_break_end(source, old.end),
                text: String::new(),
            })
            .collect();
        let after = kept.checked_sub(1).map(|last| known[last].end);
        let new: String = lines[kept..]
            .iter()
            .map(|line| self.bullet(source, at, &format!("Note: {line}")))
            .collect();
        if !new.is_empty() {
            let start = after.unwrap_or_else(|| self.text_end(at));
            splices.insert(
                0,
                Splice {
                    start,
                    end: start,
                    text: new,
                },
            );
        }
        splices
    }

    fn criteria_splices(
        &self,
        source: &str,
        at: usize,
        items: &[String],
    ) -> FormatResult<Vec<Splice>> {
        let known = &self.texts[at].acceptance;
        if items.len() < known.len() || items.iter().any(|item| item.contains('\n')) {
            return Err(Fault::nowhere(
                "a checklist can only get other criteria, or more of them",
            ));
        }
        let changed = known
            .iter()
            .zip(items)
            .filter(|(old, new)| old.text != **new);
        let mut splices: Vec<Splice> = changed
            .map(|(old, new)| Splice {
                start: old.start,
                end: old.end,
                text: new.clone(),
            })
            .collect();
        let new = items[known.len()..].iter();
        let new: String = new
            .map(|item| self.bullet(source, at, &format!("Done when: {item}")))
            .collect();
        if !new.is_empty() {
            let start = self.text_end(at);
            splices.push(Splice {
                start,
                end: start,
                text: new,
            });
        }
        Ok(splices)
    }

    /// A line below an entry, with the line break before it.
    fn bullet(&self, source: &str, at: usize, text: &str) -> String {
        let newline = splice::newline(source);
        let node = &self.list.outline.nodes[self.list.entries[at].node];
        match &node.kind {
            NodeKind::Heading { .. } => format!("{newline}- {text}"),
            NodeKind::Item { marker, .. } => {
                let indent = splice::indentation(source, node.offset);
                let inner = if indent.contains('\t') {
                    "\t".to_owned()
                } else {
                    " ".repeat(marker.chars().count().max(1) + 1)
                };
                format!("{newline}{indent}{inner}- {text}")
            }
        }
    }

    /// The end of the text of an entry, before what is in it.
    fn text_end(&self, at: usize) -> usize {
        let node = &self.list.outline.nodes[self.list.entries[at].node];
        let first_below = self
            .list
            .outline
            .nodes
            .iter()
            .filter(|below| below.offset > node.offset);
        let limit = first_below
            .map(|below| below.offset)
            .min()
            .unwrap_or(usize::MAX);
        let body = node.body.iter().filter(|line| !line.text.trim().is_empty());
        let body = body.rev().find(|line| line.start < limit);
        body.map_or(node.line_end, |line| line.start + line.text.len())
            .max(node.line_end)
    }
}

/// The end of a line with its line break.
fn line_break_end(source: &str, end: usize) -> usize {
    let rest = &source[end.min(source.len())..];
    let length = if rest.starts_with("\r\n") {
        2
    } else {
        usize::from(rest.starts_with('\n'))
    };
    end.min(source.len()) + length
}

/// The file with a new item behind the last one of the last section that is work; in several ways to write its id.
pub(super) fn appended(file: &NamedFile<'_>, task: &NewTask) -> FormatResult<Vec<String>> {
    let read = super::read(file)?;
    let source = file.text;
    let Some(model) = read.model() else {
        return Err(Fault::nowhere(
            "found no list of checkboxes that it could be added to",
        ));
    };
    let newline = splice::newline(source);
    let open = match read.list.marks.kind {
        MarkKind::Brackets => "[ ]".to_owned(),
        MarkKind::Pictures => read.list.marks.write(Status::Open).unwrap_or_default(),
    };
    let node = &read.list.outline.nodes[model];
    let (NodeKind::Item { marker, .. }, indent) =
        (&node.kind, splice::indentation(source, node.offset))
    else {
        return Err(Fault::nowhere(
            "found no list of checkboxes that it could be added to",
        ));
    };
    let marker = next_marker(marker);
    let space = if marker.is_empty() { "" } else { " " };
    let inner = if indent.contains('\t') {
        format!("{indent}\t")
    } else {
        format!("{indent}{}", " ".repeat(marker.chars().count().max(1) + 1))
    };
    let mut below = String::new();
    let description = own_words(task);
    if !description.is_empty() {
        // Without a blank line it would go on with the title.
        below.push_str(newline);
        for line in description.lines() {
            let line = line.trim_end();
            let inner = if line.is_empty() { "" } else { inner.as_str() };
            below.push_str(&format!("{newline}{inner}{line}"));
        }
    }
    let mut add = |text: String| below.push_str(&format!("{newline}{inner}- {text}"));
    for item in &task.acceptance {
        add(format!("Done when: {item}"));
    }
    for command in &task.verify {
        add(format!("Verify: `{command}`"));
    }
    if !task.depends_on.is_empty() {
        let ids: Vec<&str> = task.depends_on.iter().map(|id| id.as_str()).collect();
        add(format!("Depends on: {}", ids.join(", ")));
    }
    if let Some(priority) = task.priority {
        add(format!("Priority: {priority}"));
    }
    let (id, title) = (&task.id, &task.title);
    let heads = [
        title.clone(),
        format!("{id} {title}"),
        format!("{id}: {title}"),
        format!("{title} <!-- id: {id} -->"),
    ];
    // In the way of the item above where that has an id set off by a colon.
    let colon = node.text.contains(&format!("{}:", read.id_of(model)));
    let order: [usize; 4] = if colon { [0, 2, 1, 3] } else { [0, 1, 2, 3] };
    let end = node.end;
    let make = |head: &String| {
        let item = format!("{newline}{indent}{marker}{space}{open} {head}{below}");
        let splice = Splice {
            start: end,
            end,
            text: item,
        };
        spliced(source, 0, source.len(), &[splice])
    };
    Ok(order.iter().map(|at| make(&heads[*at])).collect())
}

impl ReadChecklist<'_> {
    fn id_of(&self, node: usize) -> &str {
        let at = self
            .list
            .entries
            .iter()
            .position(|entry| entry.node == node);
        at.map_or("", |at| self.ids[at].as_str())
    }

    /// The item that a new one goes behind: the last of the outermost list in the last section with work.
    fn model(&self) -> Option<usize> {
        let is_item = |node: &usize| !self.list.outline.is_heading(*node);
        let is_work = |node: &usize| {
            let mut kinds = self.list.kind_below(*node);
            !kinds.any(|(_, kind)| kind != SectionKind::Work)
        };
        let tops: Vec<usize> = self
            .list
            .entries
            .iter()
            .filter(|entry| {
                let parent = entry.parent.map(|parent| self.list.entries[parent].node);
                parent.is_none_or(|parent| self.list.outline.is_heading(parent))
            })
            .map(|entry| entry.node)
            .filter(is_item)
            .collect();
        let mut work = tops.iter().copied().filter(is_work);
        work.next_back().or_else(|| tops.last().copied())
    }
}

/// The description without its title, and without what was around the task where it was read.
fn own_words(task: &NewTask) -> &str {
    let said = task.description.trim();
    let said = said.strip_prefix(task.title.trim()).unwrap_or(said);
    let around = format!("\n\n{THE_LIST}:\n");
    let ends = [PART_OF, &around]
        .into_iter()
        .filter_map(|mark| said.find(mark));
    said[..ends.min().unwrap_or(said.len())].trim()
}

/// The marker behind this one: the next number.
fn next_marker(marker: &str) -> String {
    let digits = marker.trim_end_matches(['.', ')']);
    let end = &marker[digits.len()..];
    match digits.rsplit_once('.') {
        Some((before, last)) => match last.parse::<u64>() {
            Ok(number) => format!("{before}.{}{end}", number + 1),
            Err(_) => marker.to_owned(),
        },
        None => match digits.parse::<u64>() {
            Ok(number) => format!("{}{end}", number + 1),
            Err(_) => marker.to_owned(),
        },
    }
}
