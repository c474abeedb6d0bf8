//! A checklist that is written for the first time, from tasks of any format: headings and items that hold others,
//! one checkbox a task, and what is known of it in lines below.
//!
//! Each text is read again: an id that is not read from it goes into a comment, a description that would be read
//! as something else goes between fences. Compares nothing beyond that; the caller does.

use std::collections::{HashMap, HashSet};

use super::super::error::{Fault, FormatResult};
use super::super::render::quoted;
use super::super::rules::NamedFile;
use super::super::{Document, Meta, ids};
use super::section::{self, SectionKind};
use super::{PART_OF, THE_LIST, text};
use crate::sanitize::fold;
use crate::task::{Status, Task, TaskId, VerifyCommand};

/// The name under which a text is read again.
const FILE: &str = "TODO.md";
/// The title of a list that has none.
const TITLE: &str = "Tasks";
/// The deepest heading there is.
const DEEPEST: usize = 6;
/// Each task can be written in a few ways; no more rounds than that are needed to find one.
const ROUNDS: usize = 6;

/// The text of a checklist with these tasks.
pub(super) fn written(document: &Document) -> FormatResult<String> {
    if document.tasks.is_empty() {
        let message = "has no tasks, and a checklist is nothing without checkboxes";
        return Err(Fault::nowhere(message));
    }
    let mut list = NewChecklist::of(document)?;
    let mut text = list.render();
    for _ in 0..ROUNDS {
        let read = read_again(&text);
        if !list.choose_other_ways(&read) {
            break;
        }
        text = list.render();
    }
    Ok(text)
}

fn read_again(text: &str) -> Vec<Task> {
    let file = NamedFile::one(FILE, text);
    super::parse(&file).map_or_else(|_| Vec::new(), |document| document.tasks)
}

/// The way an entry says its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdWay {
    /// By its title, which the id is made of.
    Title,
    /// Before its title.
    Before,
    /// In a comment behind its title.
    Comment,
}

/// A task at its place in the new list.
struct NewEntry<'d> {
    task: &'d Task,
    mark: &'static str,
    shape: EntryShape,
    is_leaf: bool,
    id: IdWay,
    /// The description without what is read from elsewhere.
    words: String,
    is_fenced: bool,
    /// The fields that are read from the description as it stands.
    said: SaidInWords,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryShape {
    Heading { level: usize },
    Item { indent: usize },
}

/// Labelled lines of a description that need no second one.
#[derive(Debug, Default, PartialEq)]
struct SaidInWords {
    priority: Option<i64>,
    files: Vec<String>,
}

struct NewChecklist<'d> {
    meta: &'d Meta,
    intro: String,
    entries: Vec<NewEntry<'d>>,
}

/// The mark of a status, as the legend of the new list explains it.
fn mark_of(task: &Task) -> FormatResult<&'static str> {
    Ok(match task.status {
        Status::Open => " ",
        Status::Completed => "x",
        Status::InProgress => "~",
        Status::Blocked => "!",
        Status::Skipped => "-",
        Status::Failed => {
            return Err(Fault::nowhere("a checklist has no mark for failed").of(&task.id));
        }
    })
}

/// The tasks by what they are in.
struct TaskTree<'d> {
    tasks: &'d [Task],
    by_id: HashMap<&'d TaskId, usize>,
    below: HashMap<usize, Vec<usize>>,
    tops: Vec<usize>,
}

impl<'d> TaskTree<'d> {
    fn of(tasks: &'d [Task]) -> Self {
        let by_id: HashMap<&TaskId, usize> = tasks
            .iter()
            .enumerate()
            .map(|(n, task)| (&task.id, n))
            .collect();
        let (mut below, mut tops) = (HashMap::<usize, Vec<usize>>::new(), Vec::new());
        for (n, task) in tasks.iter().enumerate() {
            let parent = task.links.parent_id.as_ref();
            match parent.and_then(|parent| by_id.get(parent)) {
                Some(parent) => below.entry(*parent).or_default().push(n),
                None => tops.push(n),
            }
        }
        Self {
            tasks,
            by_id,
            below,
            tops,
        }
    }

    /// The tasks around one, outermost first.
    fn around(&self, at: usize) -> Vec<usize> {
        let parent = |at: &usize| {
            let parent = self.tasks[*at].links.parent_id.as_ref()?;
            self.by_id.get(parent).copied()
        };
        let above = std::iter::successors(parent(&at), parent);
        let mut above: Vec<usize> = above.take(self.tasks.len()).collect();
        above.reverse();
        above
    }

    /// All tasks in the order of a list, each with its shape. A heading takes everything behind it, so only the
    /// last of a group can be headings.
    fn placed(&self) -> Vec<(usize, EntryShape)> {
        let mut placed = Vec::with_capacity(self.tasks.len());
        let mut left = self.shaped(&self.tops, EntryShape::Heading { level: 1 });
        while let Some((at, shape)) = left.pop() {
            placed.push((at, shape));
            if let Some(below) = self.below.get(&at) {
                left.extend(self.shaped(below, shape));
            }
        }
        placed
    }

    /// Tasks with their shapes inside of another, the last one first.
    fn shaped(&self, tasks: &[usize], around: EntryShape) -> Vec<(usize, EntryShape)> {
        let level = match around {
            EntryShape::Heading { level } => Some(level + 1).filter(|level| *level <= DEEPEST),
            EntryShape::Item { .. } => None,
        };
        let indent = match around {
            EntryShape::Heading { .. } => 0,
            EntryShape::Item { indent } => indent + 2,
        };
        let is_heading = |at: &usize| {
            let title = &self.tasks[*at].text.title;
            self.below.contains_key(at)
                && section::kind_of(title) == SectionKind::Work
                && section::priority_of(title).is_none()
        };
        let headings = tasks.iter().rev().take_while(|at| is_heading(at)).count();
        let items = tasks.len() - headings;
        let shape = |n: usize| match level {
            Some(level) if n >= items => EntryShape::Heading { level },
            Some(_) | None => EntryShape::Item { indent },
        };
        let all = tasks.iter().enumerate().rev();
        all.map(|(n, at)| (*at, shape(n))).collect()
    }

    /// Adds what the reader adds to the description of a task: what it is in, and what that says.
    fn context(&self, at: usize, intro: &str) -> String {
        let around = self.around(at);
        let titles: Vec<&str> = around
            .iter()
            .map(|at| self.tasks[*at].text.title.as_str())
            .collect();
        let mut context = String::new();
        if !titles.is_empty() {
            context.push_str(&format!("{PART_OF}{}", titles.join(" › ")));
        }
        if !intro.is_empty() {
            context.push_str(&format!("\n\n{THE_LIST}:\n{intro}"));
        }
        for at in around {
            let words = words_of(&self.tasks[at], "");
            if !words.is_empty() {
                let title = &self.tasks[at].text.title;
                context.push_str(&format!("\n\nAbout \"{title}\":\n{words}"));
            }
        }
        context
    }

    fn is_leaf(&self, at: usize) -> bool {
        !self.below.contains_key(&at)
    }

    /// The text about the list as a whole, if all tasks say the same as such.
    fn intro(&self) -> String {
        let begin = format!("\n\n{THE_LIST}:\n");
        let mut leaves = (0..self.tasks.len()).filter(|at| self.is_leaf(*at));
        let said = self.tasks.iter().find_map(|task| {
            let said = &task.text.description;
            let rest = &said[said.find(&begin)? + begin.len()..];
            Some(rest.split("\n\nAbout \"").next().unwrap_or(rest).trim_end())
        });
        let said = said.unwrap_or_default();
        let says = |at: usize| {
            let description = self.tasks[at].text.description.trim_end();
            description.ends_with(self.context(at, said).trim_end())
        };
        if leaves.all(says) {
            said.to_owned()
        } else {
            String::new()
        }
    }
}

/// The description of a task without its title, and without `context` behind it.
fn words_of(task: &Task, context: &str) -> String {
    let said = task.text.description.trim();
    let said = said.strip_suffix(context.trim_end()).unwrap_or(said);
    let title = task.text.title.trim();
    let behind = said.strip_prefix(title);
    let behind = behind.filter(|rest| rest.is_empty() || rest.starts_with('\n'));
    behind.unwrap_or(said).trim().to_owned()
}

impl<'d> NewChecklist<'d> {
    fn of(document: &'d Document) -> FormatResult<Self> {
        let tree = TaskTree::of(&document.tasks);
        let intro = tree.intro();
        let mut entries = Vec::with_capacity(document.tasks.len());
        for (at, shape) in tree.placed() {
            let task = &document.tasks[at];
            let context = if tree.is_leaf(at) {
                tree.context(at, &intro)
            } else {
                String::new()
            };
            let words = words_of(task, &context);
            let said = SaidInWords::of(&words, shape);
            let fits = |said: &SaidInWords| {
                said.priority.is_none_or(|own| Some(own) == task.priority)
                    && (said.files.is_empty() || said.files == task.text.files)
            };
            let said = said.filter(fits);
            let by_title = ids::slug(&without_comment(&task.text.title)) == task.id.as_str();
            entries.push(NewEntry {
                task,
                mark: mark_of(task)?,
                shape,
                is_leaf: tree.is_leaf(at),
                id: if by_title {
                    IdWay::Title
                } else {
                    IdWay::Before
                },
                is_fenced: said.is_none(),
                said: said.unwrap_or_default(),
                words,
            });
        }
        Ok(Self {
            meta: &document.meta,
            intro,
            entries,
        })
    }

    /// Has entries that were not read as they are written in another way; false where all of them were, or
    /// there is no other way.
    fn choose_other_ways(&mut self, read: &[Task]) -> bool {
        let by_id: HashMap<&TaskId, &Task> = read.iter().map(|task| (&task.id, task)).collect();
        let is_whole = read.len() == self.entries.len();
        let mut has_changed = false;
        for (n, entry) in self.entries.iter_mut().enumerate() {
            let found = if is_whole {
                read.get(n)
            } else {
                by_id.get(&entry.task.id).copied()
            };
            // A parent that was not found chooses another way itself.
            let parent = entry.task.links.parent_id.as_ref();
            let is_placed = |found: &Task| {
                found.links.parent_id.as_ref() == parent
                    || parent.is_some_and(|parent| !by_id.contains_key(parent))
            };
            if !found.is_some_and(|found| entry.has_head_of(found) && is_placed(found)) {
                has_changed |= entry.choose_other_id_way();
            }
        }
        if has_changed {
            return true;
        }
        for entry in &mut self.entries {
            let found = by_id.get(&entry.task.id);
            let is_read = found.is_some_and(|found| entry.has_body_of(found));
            if !is_read && !entry.is_fenced && !entry.words.is_empty() {
                (entry.is_fenced, entry.said) = (true, SaidInWords::default());
                has_changed = true;
            }
        }
        has_changed
    }

    fn render(&self) -> String {
        let mut out = front_matter(self.meta);
        let title = self.meta.title.as_deref().or(self.meta.project.as_deref());
        let title = title.map_or_else(|| TITLE.to_owned(), without_comment);
        out.push_str(&format!("# {title}\n"));
        out.push_str(&self.legend());
        if !self.intro.is_empty() {
            let shape = EntryShape::Heading { level: 1 };
            let is_plain = SaidInWords::of(&self.intro, shape) == Some(SaidInWords::default());
            out.push('\n');
            out.push_str(&body_lines(&self.intro, 0, !is_plain));
        }
        let mut is_in_list = false;
        for entry in &self.entries {
            let is_item = matches!(entry.shape, EntryShape::Item { .. });
            if !(is_item && is_in_list) {
                out.push('\n');
            }
            is_in_list = is_item;
            entry.render(&mut out);
        }
        out
    }

    /// Explains the marks that are not the same everywhere.
    fn legend(&self) -> String {
        let marks = [("~", "in progress"), ("!", "blocked"), ("-", "skipped")];
        let is_used = |mark: &str| self.entries.iter().any(|entry| entry.mark == mark);
        let used = marks.iter().filter(|(mark, _)| is_used(mark));
        let used: Vec<String> = used
            .map(|(mark, word)| format!("[{mark}] = {word}"))
            .collect();
        if used.is_empty() {
            String::new()
        } else {
            format!("\n<!-- {} -->\n", used.join(", "))
        }
    }
}

/// Says what stands around the tasks and has no place in the text.
fn front_matter(meta: &Meta) -> String {
    let Meta {
        project,
        branch_name,
        title: _,
        description,
    } = meta;
    let around = [
        ("project", project),
        ("branchName", branch_name),
        ("description", description),
    ];
    let said = around
        .iter()
        .filter_map(|(name, text)| Some(format!("{name}: {}\n", quoted(text.as_deref()?))));
    let said: String = said.collect();
    if said.is_empty() {
        said
    } else {
        format!("---\n{said}---\n\n")
    }
}

impl NewEntry<'_> {
    fn choose_other_id_way(&mut self) -> bool {
        let next = match self.id {
            IdWay::Title => IdWay::Before,
            IdWay::Before => IdWay::Comment,
            IdWay::Comment => return false,
        };
        self.id = next;
        true
    }

    /// Returns true if a task that was read has the id, the title and the labels of this one.
    fn has_head_of(&self, read: &Task) -> bool {
        let task = self.task;
        read.id == task.id
            && read.text.title == without_comment(&task.text.title)
            && self.tags().all(|label| read.labels.contains(label))
    }

    /// Returns true if the lines below it were read as they are meant.
    fn has_body_of(&self, read: &Task) -> bool {
        let task = self.task;
        let lines = |text: &Option<String>| text.as_deref().map_or(0, lines_in);
        let own: HashSet<&TaskId> = task.links.depends_on.iter().collect();
        let found: HashSet<&TaskId> = read.links.depends_on.iter().collect();
        own == found
            && read.status == task.status
            && read.text.acceptance.len() == task.text.acceptance.len()
            && read.verify.len() == self.commands().count()
            && lines(&read.text.notes) == lines(&task.text.notes)
    }

    fn is_heading(&self) -> bool {
        matches!(self.shape, EntryShape::Heading { .. })
    }

    /// The labels that can stand before a title.
    fn tags(&self) -> impl Iterator<Item = &String> {
        self.task.labels.iter().filter(|label| text::is_tag(label))
    }

    /// The commands that can be written such that they are read as some.
    fn commands(&self) -> impl Iterator<Item = &VerifyCommand> {
        let is_read = |command: &&VerifyCommand| {
            let read = text::commands(&format!("`{command}`"));
            read.is_some_and(|read| read.len() == 1 && read[0].to_string() == command.to_string())
        };
        self.task.verify.iter().filter(is_read)
    }

    fn render(&self, out: &mut String) {
        let Task { id, text, .. } = self.task;
        let tags = self.tags().map(|label| match label.as_str() {
            "parallel" => "[P] ".to_owned(),
            label => format!("[{label}] "),
        });
        let title = format!(
            "{}{}",
            tags.collect::<String>(),
            without_comment(&text.title)
        );
        let head = match self.id {
            IdWay::Title => title,
            IdWay::Before => format!("{id}: {title}"),
            IdWay::Comment => format!("{title} <!-- id: {id} -->"),
        };
        let mark = self.mark;
        let indent = match self.shape {
            EntryShape::Heading { level } => {
                // The tasks in it say how it stands, unless it says otherwise itself.
                let mark = match mark {
                    " " => String::new(),
                    mark => format!("[{mark}] "),
                };
                out.push_str(&format!("{} {mark}{head}\n", "#".repeat(level)));
                0
            }
            EntryShape::Item { indent } => {
                out.push_str(&format!("{}- [{mark}] {head}\n", " ".repeat(indent)));
                indent + 2
            }
        };
        if !self.words.is_empty() {
            out.push('\n');
            out.push_str(&body_lines(&self.words, indent, self.is_fenced));
        }
        let known = self.lines();
        if self.is_heading() && !known.is_empty() {
            out.push('\n');
        }
        for line in known {
            out.push_str(&format!("{}- {line}\n", " ".repeat(indent)));
        }
    }

    /// The lines with labels.
    fn lines(&self) -> Vec<String> {
        let Task { text, links, .. } = self.task;
        let mut lines: Vec<String> = Vec::new();
        for item in &text.acceptance {
            lines.push(format!("Done when: {}", without_comment(item)));
        }
        for command in self.commands() {
            lines.push(format!("Verify: `{command}`"));
        }
        if !links.depends_on.is_empty() {
            let ids: Vec<&str> = links.depends_on.iter().map(TaskId::as_str).collect();
            lines.push(format!("Depends on: {}", ids.join(", ")));
        }
        // What holds others would give its priority to all of them.
        let priority = self.task.priority.filter(|_| self.is_leaf);
        if let Some(priority) = priority.filter(|_| self.said.priority.is_none()) {
            lines.push(format!("Priority: {priority}"));
        }
        if self.said.files.is_empty() && !text.files.is_empty() {
            lines.push(format!("Files: {}", text.files.join(", ")));
        }
        let notes = text.notes.as_deref().unwrap_or_default().lines();
        let notes = notes.map(without_comment).filter(|line| !line.is_empty());
        lines.extend(notes.map(|line| format!("Note: {line}")));
        if !self.is_fenced {
            let is_said = |line: &String| {
                let mut words = self
                    .words
                    .lines()
                    .map(|own| own.trim_start_matches([' ', '-']));
                words.any(|own| own == line)
            };
            lines.retain(|line| !line.starts_with("Depends on: ") || !is_said(line));
        }
        lines
    }
}

impl SaidInWords {
    /// Reads a description where it would stand; `None` if it would not be read as one.
    fn of(words: &str, shape: EntryShape) -> Option<Self> {
        if words.is_empty() {
            return Some(Self::default());
        }
        let (head, indent, last) = match shape {
            EntryShape::Heading { .. } => ("## X", 0, "\n- Done when: Z\n\n- [ ] Y\n"),
            EntryShape::Item { .. } => ("- [ ] X", 2, "  - Done when: Z\n  - [ ] Y\n"),
        };
        let source = format!(
            "# T\n\n{head}\n\n{}{last}",
            body_lines(words, indent, false)
        );
        let file = NamedFile::one(FILE, &source);
        let read = super::read(&file).ok()?;
        let ([outer, inner], [said, below]) = (&read.list.entries[..], &read.texts[..]) else {
            return None;
        };
        let is_plain = outer.parent.is_none()
            && inner.parent == Some(0)
            && !inner.is_criterion
            && (said.title.as_str(), below.title.as_str()) == ("X", "Y")
            && said.acceptance.len() == 1
            && below.acceptance.is_empty()
            && said.verify.is_empty()
            && said.notes.is_empty()
            && below.lines.is_empty()
            && read.list.outline.unread.is_empty()
            && read.list.lines.open_fence.is_none()
            && fold(&said.lines.join("\n")) == fold(words);
        is_plain.then(|| Self {
            priority: said.priority,
            files: said.files.clone(),
        })
    }
}

/// Lines below an entry, between fences if they would be read as something else.
fn body_lines(words: &str, indent: usize, is_fenced: bool) -> String {
    let pad = " ".repeat(indent);
    let mut out = String::new();
    if !is_fenced {
        for line in words.lines().map(str::trim_end) {
            let pad = if line.is_empty() { "" } else { pad.as_str() };
            out.push_str(&format!("{pad}{line}\n"));
        }
        return out;
    }
    let run = |line: &str| line.trim().chars().take_while(|c| *c == '~').count();
    let longest = words.lines().map(run).max().unwrap_or(0);
    let fence = "~".repeat(3.max(longest + 1));
    // A line without the space before it would end the item.
    let inner = words
        .lines()
        .map(|line| format!("{pad}{}\n", line.trim_end()));
    format!("{pad}{fence}\n{}{pad}{fence}\n", inner.collect::<String>())
}

fn lines_in(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

/// A text on one line in which no comment begins.
fn without_comment(text: &str) -> String {
    fold(text).replace("<!--", "<!- -")
}
