//! The tasks of a Markdown file: which headings and checkboxes are work, which hold others, which are criteria.

use std::collections::{BTreeMap, HashSet};

use super::super::error::{Fault, FormatResult};
use super::super::warning::{Notices, WarningKind};
use super::line::{self, LineKind, MarkdownLines};
use super::mark::{self, ChecklistMarks, MarkAt, MarkKind, MarkSays};
use super::outline::{self, BodyLine, NodeKind, Outline};
use super::section::{self, SectionKind};
use crate::task::Status;

/// A heading or a checkbox that is a task.
#[derive(Debug)]
pub(super) struct ChecklistEntry {
    pub(super) node: usize,
    /// The entry that it is in.
    pub(super) parent: Option<usize>,
    /// The marks that say its status: none for a heading that holds others.
    pub(super) marks: Vec<MarkAt>,
    /// The checkboxes that are the criteria of a heading.
    pub(super) criteria: Vec<usize>,
    pub(super) is_leaf: bool,
    /// It may hold without a change.
    pub(super) is_criterion: bool,
}

/// A file with its tasks, as they stand in it.
#[derive(Debug)]
pub(super) struct Checklist<'a> {
    pub(super) lines: MarkdownLines<'a>,
    pub(super) outline: Outline,
    pub(super) marks: ChecklistMarks,
    pub(super) entries: Vec<ChecklistEntry>,
    /// The heading that is the title of the file.
    pub(super) title: Option<usize>,
    /// All its tasks are criteria of one goal, which the rest of the file tells.
    pub(super) is_goal: bool,
    /// The nodes that are tasks or hold some.
    holding: HashSet<usize>,
}

/// Reads the file; `from` is where the text begins behind a byte-order mark.
pub(super) fn read<'a>(
    file_name: &str,
    source: &'a str,
    from: usize,
    notices: &Notices,
) -> FormatResult<Checklist<'a>> {
    let lines = line::split(source, from);
    let kind = kind_of(&lines).ok_or_else(|| prose(file_name, &lines))?;
    let legend = legend(&lines);
    let is_kiro = file_name.contains(".kiro") || source.contains("_Requirements:");
    let outline = outline::build(&lines.lines, kind);
    let mut list = Checklist {
        title: title_of(&outline),
        marks: ChecklistMarks::new(kind, legend, is_kiro),
        lines,
        outline,
        entries: Vec::new(),
        is_goal: false,
        holding: HashSet::new(),
    };
    list.find_entries(notices);
    if list.entries.is_empty() {
        return Err(prose(file_name, &list.lines));
    }
    for entry in &list.entries {
        for mark in &entry.marks {
            list.marks.note(&mark.mark);
        }
    }
    list.warn(notices);
    Ok(list)
}

/// The kind of marks that a file has; `None` where it has no list of work.
fn kind_of(lines: &MarkdownLines<'_>) -> Option<MarkKind> {
    let has_brackets = lines.lines.iter().any(|line| match &line.kind {
        LineKind::Item(item) => item.mark.is_some(),
        LineKind::Heading { content, .. } => mark::in_brackets(&line.text, *content).is_some(),
        _ => false,
    });
    if has_brackets {
        return Some(MarkKind::Brackets);
    }
    // Pictures are common in texts: they are marks only if every item of the list has one.
    let items = lines.lines.iter().filter_map(|line| match &line.kind {
        LineKind::Item(item) if line.indent < 2 => Some(item.picture.is_some()),
        _ => None,
    });
    let items: Vec<bool> = items.collect();
    let are_marks = !items.is_empty() && items.iter().all(|has_picture| *has_picture);
    are_marks.then_some(MarkKind::Pictures)
}

/// The fault of a text without checkboxes.
fn prose(file_name: &str, lines: &MarkdownLines<'_>) -> Box<Fault> {
    let elsewhere = lines.lines.iter().any(|line| outline::has_box(line.raw));
    let found = if elsewhere {
        "only some that are no items of a list (in code, quotes, tables or samples)"
    } else {
        "a text without any"
    };
    Fault::nowhere(format!(
        "expected a list with checkboxes such as `- [ ] Add a test`, found {found}; \
         `ralph plan {file_name}` has an agent make tasks of a text"
    ))
}

/// The meanings of marks that the file itself explains.
fn legend(lines: &MarkdownLines<'_>) -> BTreeMap<String, Status> {
    let mut found = BTreeMap::new();
    let mut in_legend = false;
    for line in &lines.lines {
        let text = match &line.kind {
            LineKind::Heading { content, .. } => {
                in_legend = section::kind_of(&line.text[*content..]) == SectionKind::Legend;
                continue;
            }
            LineKind::Text | LineKind::Quote | LineKind::Table => &line.text,
            LineKind::Item(item) if item.mark.is_none() || in_legend => &line.text,
            LineKind::Comment => line.raw,
            _ => continue,
        };
        for (mark, status) in mark::legend_in(text) {
            found.entry(mark).or_insert(status);
        }
    }
    // No file can make an empty box done, or an `x` open.
    found.retain(|mark, _| !matches!(mark.as_str(), "" | "x" | "X"));
    found
}

/// The first heading, if it is the only one of the highest level and has no mark.
fn title_of(outline: &Outline) -> Option<usize> {
    let is_top = |node: &usize| matches!(outline.nodes[*node].kind, NodeKind::Heading { level: 1 });
    let mut tops = (0..outline.nodes.len()).filter(is_top);
    let first = tops.next()?;
    let before = outline.nodes[..first]
        .iter()
        .any(|node| matches!(node.kind, NodeKind::Heading { .. }));
    (tops.next().is_none() && !before && outline.nodes[first].mark.is_none()).then_some(first)
}

impl Checklist<'_> {
    pub(super) fn kind_below(&self, node: usize) -> impl Iterator<Item = (usize, SectionKind)> {
        let headings = self
            .outline
            .chain(node)
            .filter(|node| self.outline.is_heading(*node));
        headings.map(|node| (node, section::kind_of(&self.outline.nodes[node].text)))
    }

    fn is_below(&self, node: usize, kind: SectionKind) -> bool {
        self.kind_below(node).any(|(_, found)| found == kind)
    }

    fn find_entries(&mut self, notices: &Notices) {
        let boxes: Vec<usize> = (0..self.outline.nodes.len())
            .filter(|node| self.outline.nodes[*node].mark.is_some())
            .filter(|node| !self.is_below(*node, SectionKind::Legend))
            .collect();
        let is_sample = |node: &usize| self.is_below(*node, SectionKind::Sample);
        let samples: Vec<usize> = boxes.iter().copied().filter(is_sample).collect();
        let work: Vec<usize> = if samples.len() == boxes.len() {
            boxes
        } else {
            if let Some(first) = samples.first() {
                let count = samples.len();
                let section = self.section_name(*first, SectionKind::Sample);
                let message = format!(
                    "{} below \"{section}\" not read: a sample, not work",
                    are(count)
                );
                let offset = self.outline.nodes[*first].offset;
                let hint = "move them below another heading if they are work";
                notices.add_with(WarningKind::NotRead, offset, message, hint);
            }
            boxes
                .into_iter()
                .filter(|node| !samples.contains(node))
                .collect()
        };
        let stories = self.stories(&work);
        let in_story: HashSet<usize> = stories.values().flatten().copied().collect();
        let mut is_task: HashSet<usize> = work
            .iter()
            .copied()
            .filter(|node| !in_story.contains(node))
            .collect();
        is_task.extend(stories.keys().copied());
        let holders: HashSet<usize> = is_task
            .iter()
            .flat_map(|node| self.outline.chain(*node).skip(1))
            .filter(|node| Some(*node) != self.title)
            .collect();
        self.holding = is_task.union(&holders).copied().collect();
        self.is_goal = stories.is_empty() && work.iter().all(|node| self.is_criterion(*node));
        let mut by_node: BTreeMap<usize, usize> = BTreeMap::new();
        for node in 0..self.outline.nodes.len() {
            if !is_task.contains(&node) && !holders.contains(&node) {
                continue;
            }
            let criteria = stories.get(&node).cloned().unwrap_or_default();
            let own = self.outline.nodes[node].mark.clone();
            let marks: Vec<MarkAt> = match own {
                Some(own) => vec![own],
                None => {
                    let of_criterion = |node: &usize| self.outline.nodes[*node].mark.clone();
                    criteria.iter().filter_map(of_criterion).collect()
                }
            };
            let mut above = self.outline.chain(node).skip(1);
            let parent = above.find_map(|above| by_node.get(&above).copied());
            by_node.insert(node, self.entries.len());
            self.entries.push(ChecklistEntry {
                node,
                parent,
                marks,
                criteria,
                is_leaf: !holders.contains(&node),
                is_criterion: self.is_criterion(node) && !self.outline.is_heading(node),
            });
        }
    }

    fn is_criterion(&self, node: usize) -> bool {
        self.outline.nodes[node].is_criterion || self.is_below(node, SectionKind::Criteria)
    }

    /// Headings whose checkboxes are all criteria: each is one task. One alone is none, unless it has an id of
    /// its own: then its criteria are the list.
    fn stories(&self, work: &[usize]) -> BTreeMap<usize, Vec<usize>> {
        let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut others: HashSet<usize> = HashSet::new();
        for node in work {
            let above: Vec<usize> = self.outline.chain(*node).skip(1).collect();
            let mut owners = above.iter().copied().filter(|node| {
                self.outline.is_heading(*node)
                    && !outline::is_criteria_heading(&self.outline, *node)
            });
            let owner = owners.next().filter(|owner| Some(*owner) != self.title);
            match owner {
                Some(owner) if self.is_criterion(*node) && !self.outline.is_heading(*node) => {
                    found.entry(owner).or_default().push(*node);
                    others.extend(self.outline.chain(owner).skip(1));
                }
                _ => others.extend(above),
            }
        }
        found.retain(|owner, _| !others.contains(owner));
        let has_id = |owner: &usize| {
            let evidence = super::written_id::IdEvidence::default();
            let text = &self.outline.nodes[*owner].text;
            super::written_id::split(text, &evidence).is_some()
        };
        let is_alone = found.len() == 1 && !found.keys().any(has_id);
        if is_alone {
            found.clear();
        }
        found
    }

    fn section_name(&self, node: usize, kind: SectionKind) -> String {
        let mut found = self.kind_below(node).filter(|(_, found)| *found == kind);
        let found = found
            .next()
            .map(|(node, _)| self.outline.nodes[node].text.clone());
        found.unwrap_or_default()
    }

    /// Warns of what was read by its nearest meaning, or not at all.
    fn warn(&self, notices: &Notices) {
        let offset_of = |entry: &ChecklistEntry| self.outline.nodes[entry.node].offset;
        let mut seen: Vec<(&str, usize, usize, Status)> = Vec::new();
        for entry in &self.entries {
            for mark in &entry.marks {
                if let MarkSays::Probably(status) = self.marks.read(&mark.mark) {
                    match seen.iter_mut().find(|(known, ..)| *known == mark.mark) {
                        Some((_, count, ..)) => *count += 1,
                        None => seen.push((&mark.mark, 1, offset_of(entry), status)),
                    }
                }
            }
        }
        for (mark, count, offset, status) in seen {
            let (shown, tasks) = (self.marks.shown(mark), tasks(count));
            let other = if status == Status::InProgress {
                Status::Skipped
            } else {
                Status::InProgress
            };
            let counts = format!("{shown} counts as {status} ({tasks})");
            let (message, hint) = match self.marks.kind {
                MarkKind::Brackets => (
                    format!(
                        "{counts}; a line such as \"{} = {}\" in the file says otherwise",
                        shown.trim_matches('`'),
                        other.as_str().replace('_', " ")
                    ),
                    "if that is not meant, add such a line, or write `[ ]` or `[x]`",
                ),
                MarkKind::Pictures => (
                    counts,
                    "if that is not meant, use `✅` and `⬜`, or checkboxes: `- [x]` and `- [ ]`",
                ),
            };
            notices.add_with(WarningKind::UnknownStatus, offset, message, hint);
        }
        let fence = self.lines.open_fence;
        let behind = fence.map_or(0, |start| {
            let behind = self.lines.lines.iter().filter(|line| line.start > start);
            behind.filter(|line| outline::has_box(line.raw)).count()
        });
        if let Some(start) = fence.filter(|_| behind > 0) {
            let message = format!(
                "the code that begins here is never closed; {} in it and not read",
                are(behind)
            );
            let hint = "close the code, with the same marks in a line of their own";
            notices.add_with(WarningKind::NotRead, start, message, hint);
        }
        let unread = &self.outline.unread;
        if let Some(first) = unread.first() {
            let message = format!(
                "{} no item of a list (in a quote, a table, code or a sentence) and not read",
                are(unread.len())
            );
            let hint = "write them as items, `- [ ] Add a test`, if they are work";
            notices.add_with(WarningKind::NotRead, *first, message, hint);
        }
        if let Some(first) = self.outline.empty.first() {
            let message = format!(
                "{} without a text and not read",
                are(self.outline.empty.len())
            );
            let hint = "say behind the box what is to be done, or remove it";
            notices.add_with(WarningKind::NotRead, *first, message, hint);
        }
        let pictures = ChecklistMarks::new(MarkKind::Pictures, BTreeMap::new(), false);
        let items = self.lines.lines.iter().filter_map(|line| match &line.kind {
            LineKind::Item(item) => Some((line.start, item.picture.as_ref()?)),
            _ => None,
        });
        let open = |mark: &MarkAt| pictures.read(&mark.mark).status() != Status::Completed;
        let open: Vec<usize> = items
            .filter(|(start, mark)| self.outline.pictures.contains(start) && open(mark))
            .map(|(start, _)| start)
            .collect();
        if let Some(first) = open.first() {
            let message = format!(
                "{} with a picture instead of a checkbox; in a file with checkboxes that is text",
                items_word(open.len())
            );
            let hint = "write `- [ ]` before what is work";
            notices.add_with(WarningKind::NotRead, *first, message, hint);
        }
        let is_done = |entry: &ChecklistEntry| self.own_status(entry) == Status::Completed;
        if self.marks.kind == MarkKind::Pictures && self.entries.iter().all(is_done) {
            let message = "no item of the list is open; if its pictures do not mean done, it is no list of tasks";
            let first = self.entries.first().map_or(0, offset_of);
            let hint = "write `- [ ]` before what is work";
            notices.add_with(WarningKind::OddValue, first, message, hint);
        }
        self.warn_of_sections(notices);
    }

    fn warn_of_sections(&self, notices: &Notices) {
        let mut sections: BTreeMap<usize, (SectionKind, usize)> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.is_leaf) {
            let open = self.own_status(entry) == Status::Open;
            let special = self.kind_below(entry.node).find(|(_, kind)| match kind {
                SectionKind::OutOfScope | SectionKind::Completed | SectionKind::Notes => open,
                SectionKind::Criteria => !self.is_goal && entry.criteria.is_empty(),
                _ => false,
            });
            if let Some((heading, kind)) = special {
                sections.entry(heading).or_insert((kind, 0)).1 += 1;
            }
        }
        for (heading, (kind, count)) in sections {
            let node = &self.outline.nodes[heading];
            let (name, boxes) = (&node.text, are(count));
            let (message, hint) = match kind {
                SectionKind::OutOfScope => (
                    format!("{boxes} open below \"{name}\"; what stands there counts as skipped"),
                    "move them below another heading if they are work",
                ),
                SectionKind::Completed => (
                    format!(
                        "{boxes} open below \"{name}\"; the marks count, so there is work in it"
                    ),
                    "tick them if they are done, else move them below another heading",
                ),
                SectionKind::Notes => (
                    format!("{boxes} open below \"{name}\" and read as tasks"),
                    "write plain items, without a box, if they are not work",
                ),
                _ => (
                    format!(
                        "{boxes} below \"{name}\" and read as tasks, which may end without a change"
                    ),
                    "write plain items, without a box, if no agent is to look at them",
                ),
            };
            notices.add_with(WarningKind::OddValue, node.offset, message, hint);
        }
    }

    /// The status that the marks of an entry say, wherever it stands.
    pub(super) fn own_status(&self, entry: &ChecklistEntry) -> Status {
        let mut statuses = entry
            .marks
            .iter()
            .map(|mark| self.marks.read(&mark.mark).status());
        let Some(first) = statuses.next() else {
            return Status::Open;
        };
        let statuses: Vec<Status> = std::iter::once(first).chain(statuses).collect();
        if statuses.iter().all(|status| *status == first) {
            return first;
        }
        let is_over = |status: &Status| matches!(status, Status::Completed | Status::Skipped);
        if statuses.iter().all(is_over) {
            return Status::Completed;
        }
        Status::InProgress
    }

    /// Returns true if what an entry stands in takes an open one out.
    pub(super) fn is_out_of_scope(&self, entry: &ChecklistEntry) -> bool {
        self.is_below(entry.node, SectionKind::OutOfScope)
    }

    /// The text that belongs to a node, with that of headings below it that hold no tasks.
    pub(super) fn body_of(&self, node: usize) -> Vec<BodyLine> {
        let mut body = self.outline.nodes[node].body.clone();
        if !self.outline.is_heading(node) {
            return body;
        }
        let is_title = Some(node) == self.title;
        for below in node + 1..self.outline.nodes.len() {
            let mut above = self.outline.chain(below).skip(1);
            if !above.any(|above| above == node) {
                break;
            }
            let inner = &self.outline.nodes[below];
            let mut between = self.outline.chain(below).take_while(|above| *above != node);
            let is_own = self.outline.is_heading(below)
                && !between.any(|above| self.holding.contains(&above));
            if !is_own || (is_title && !self.tells_goal(below)) {
                continue;
            }
            let NodeKind::Heading { level } = inner.kind else {
                continue;
            };
            body.push(BodyLine {
                start: inner.offset,
                text: inner.text.clone(),
                indent: 0,
                content: 0,
                is_bullet: false,
                is_code: false,
                level,
            });
            body.extend(inner.body.iter().cloned());
        }
        body
    }
}

impl Checklist<'_> {
    /// Returns true if a section without tasks tells the goal that all tasks are criteria of.
    fn tells_goal(&self, node: usize) -> bool {
        let kind = section::kind_of(&self.outline.nodes[node].text);
        let is_record = matches!(
            kind,
            SectionKind::Notes | SectionKind::Completed | SectionKind::Legend
        );
        self.is_goal && !is_record
    }

    /// The sections that hold no tasks and are not told with any.
    pub(super) fn untold_sections(&self) -> Vec<usize> {
        let is_told = |node: usize| {
            let mut chain = self.outline.chain(node);
            chain.any(|above| self.holding.contains(&above)) || self.tells_goal(node)
        };
        let has_text = |node: usize| {
            let mut lines = self.outline.nodes[node].body.iter();
            lines.any(|line| !line.text.trim().is_empty())
        };
        let headings = (0..self.outline.nodes.len()).filter(|node| self.outline.is_heading(*node));
        headings
            .filter(|node| Some(*node) != self.title && has_text(*node) && !is_told(*node))
            .collect()
    }

    /// The text around all tasks.
    pub(super) fn intro(&self) -> Vec<BodyLine> {
        let mut body = self.outline.intro.clone();
        if let Some(title) = self.title {
            body.extend(self.body_of(title));
            return body;
        }
        for node in 0..self.outline.nodes.len() {
            let is_top = self.outline.nodes[node].parent.is_none() && self.outline.is_heading(node);
            if is_top && !self.holding.contains(&node) && self.tells_goal(node) {
                body.extend(self.body_of(node));
            }
        }
        body
    }
}

fn are(count: usize) -> String {
    match count {
        1 => "1 checkbox is".to_owned(),
        n => format!("{n} checkboxes are"),
    }
}

fn tasks(count: usize) -> String {
    match count {
        1 => "1 task".to_owned(),
        n => format!("{n} tasks"),
    }
}

fn items_word(count: usize) -> String {
    match count {
        1 => "1 item begins".to_owned(),
        n => format!("{n} items begin"),
    }
}
