//! Checklists in Markdown: a checkbox is a task, what is indented below it is its text, headings hold tasks.
//!
//! Reads what people write in all kinds of ways, so it is lenient: nothing but a file without checkboxes is an
//! error. What can be read in several ways is read by the usual one, with a warning. Writing changes the bytes
//! of a mark, and nothing else.

mod checklist;
mod depends;
mod label;
mod line;
mod mark;
mod new_list;
mod outline;
mod section;
mod text;
mod write;
mod written_id;

use std::collections::{HashMap, HashSet};

use super::convert::Where;
use super::error::{Fault, FormatResult, shorten};
use super::render::Value;
use super::rules::{FormatRules, NamedFile, NamedFormat, UsualPlace};
use super::story::{CUT, MAX_OTHER_TEXT, MAX_SECTION};
use super::warning::{FormatWarning, Notices, WarningKind};
use super::{Document, Format, Meta, Syntax, checks, ids, layout, status, text_start, yaml};
use crate::task::{Attempts, Place, Status, Task, TaskId, TaskLinks, TaskText, VerifyCommand};
use checklist::{Checklist, ChecklistEntry};
use depends::TaskNames;
use mark::MarkSays;
use section::SectionKind;
use text::ItemText;
use written_id::IdEvidence;

pub(super) const RULES: FormatRules = FormatRules {
    name: "markdown",
    about: "A checklist: TODO.md",
    syntax: Syntax::Markdown,
    place: UsualPlace::File("TODO.md"),
    named: Some(NamedFormat {
        close_command: None,
        endings: &[".md", ".markdown"],
        parse,
        parse_loosely: |file| parse(file).map_or_else(|_| Vec::new(), |document| document.tasks),
        edited: write::edited,
        appended: write::appended,
        written: new_list::written,
        untold,
    }),
    own_lists: &[],
    list: layout::TASKS,
    project_mark: None,
    marks_task: |_, _, _| false,
    status_fields: &[],
    words: Status::WORDS,
    word: Status::as_str,
    open_word: None,
    lenient: true,
    read_status: |_| Ok(Status::Open),
    write_status: |_, _, _| Err(Fault::nowhere("a checklist has no members")),
    new_status: |status| vec![("status", Value::text(status.as_str()))],
    members: &[],
    max_attempts: "maxAttempts",
    required: &[],
    records: &[],
};

/// Stands before the names of what a task is in.
const PART_OF: &str = "\n\nPart of: ";
/// Stands before the text around all tasks.
const THE_LIST: &str = "About the list";

/// A checklist with its tasks, each beside the entry that it was read from.
struct ReadChecklist<'a> {
    list: Checklist<'a>,
    texts: Vec<ItemText>,
    ids: Vec<TaskId>,
    notices: Notices,
}

fn read<'a>(file: &NamedFile<'a>) -> FormatResult<ReadChecklist<'a>> {
    let notices = Notices::default();
    let from = text_start(file.text.as_bytes());
    let list = checklist::read(file.name, file.text, from, &notices)?;
    let nodes = list
        .entries
        .iter()
        .map(|entry| &list.outline.nodes[entry.node]);
    let evidence = IdEvidence::of(nodes.map(|node| text::beginning(&node.text)));
    let entries = list.entries.iter();
    let texts: Vec<ItemText> = entries
        .map(|entry| text::of(&list, entry, &evidence))
        .collect();
    let ids = ids_of(&list, &texts, &notices)?;
    Ok(ReadChecklist {
        list,
        texts,
        ids,
        notices,
    })
}

fn parse(file: &NamedFile<'_>) -> FormatResult<Document> {
    let read = read(file)?;
    let front = Front::of(&read.list, &read.notices);
    let around = Place {
        file: file.index,
        ..Place::default()
    };
    let mut warnings = read.notices.take(None, around);
    let mut tasks = read.tasks(file.index, &front, &mut warnings);
    read.link(&mut tasks, &mut warnings);
    read.fill_priorities(&mut tasks);
    Ok(Document {
        format: Format::Markdown,
        syntax: Syntax::Markdown,
        meta: front.meta,
        reading: Some(read.reading()),
        checks: front.checks,
        warnings,
        tasks,
    })
}

/// Headings with text that no task is told: nothing below them is work.
fn untold(file: &NamedFile<'_>) -> Vec<(String, Where)> {
    let Ok(read) = read(file) else {
        return Vec::new();
    };
    let sections = read.list.untold_sections().into_iter();
    let names = sections.map(|node| text::plain(&read.list.outline.nodes[node].text));
    names
        .map(|name| (format!("section \"{name}\""), Where::Around))
        .collect()
}

/// The ids of all entries: as they are written, made unique, or from the titles.
fn ids_of(
    list: &Checklist<'_>,
    texts: &[ItemText],
    notices: &Notices,
) -> FormatResult<Vec<TaskId>> {
    let written: Vec<Option<String>> = texts
        .iter()
        .map(|text| text.id.as_deref().and_then(ids::safe))
        .collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for id in written.iter().flatten() {
        *count.entry(id).or_default() += 1;
    }
    let mut taken: HashSet<String> = count.keys().map(|id| (*id).to_owned()).collect();
    let mut first_with: HashMap<String, usize> = HashMap::new();
    let mut found: Vec<TaskId> = Vec::with_capacity(texts.len());
    for (n, own) in written.iter().enumerate() {
        let entry = &list.entries[n];
        let offset = list.outline.nodes[entry.node].offset;
        let id = match own {
            None => ids::free(ids::slug(&texts[n].title), &mut taken),
            Some(own) => {
                let is_number = own.starts_with(|c: char| c.is_ascii_digit());
                let parent = entry
                    .parent
                    .filter(|_| is_number && count[own.as_str()] > 1);
                let id = match parent {
                    Some(parent) => ids::below(found[parent].as_str(), own),
                    None => own.clone(),
                };
                if first_with.contains_key(&id) || (parent.is_some() && taken.contains(&id)) {
                    let other = ids::free(id.clone(), &mut taken);
                    let message =
                        format!("another task has the id {id}; this one counts as {other}");
                    let hint = "give each task an id of its own";
                    notices.add_with(WarningKind::OddValue, offset, message, hint);
                    other
                } else {
                    id
                }
            }
        };
        first_with.insert(id.clone(), n);
        taken.insert(id.clone());
        found.push(super::read::checked_id(&id, offset)?);
    }
    Ok(found)
}

impl ReadChecklist<'_> {
    fn tasks(&self, file: u32, front: &Front, warnings: &mut Vec<FormatWarning>) -> Vec<Task> {
        let bodies: Vec<Option<String>> = self
            .list
            .entries
            .iter()
            .map(|entry| {
                let lines = (!entry.is_leaf).then(|| self.list.body_of(entry.node));
                lines.map(|lines| text::dedent(&lines).join("\n"))
            })
            .collect();
        let notices = Notices::default();
        let mut tasks: Vec<Task> = Vec::with_capacity(self.ids.len());
        for (n, entry) in self.list.entries.iter().enumerate() {
            let said = &self.texts[n];
            let place = Place {
                file,
                position: n as u32,
                offset: self.list.outline.nodes[entry.node].offset as u32,
            };
            let status = self.status(n, &notices);
            let mut description = said.title.clone();
            if !said.lines.is_empty() {
                description.push_str("\n\n");
                description.push_str(&said.lines.join("\n"));
            }
            if status == Status::InProgress && entry.marks.len() > 1 {
                description.push_str(&self.ticked(entry));
            }
            if entry.is_leaf {
                self.add_context(&mut description, n, &bodies, &front.intro);
            }
            let notes: Vec<&str> = said.notes.iter().map(|note| note.text.as_str()).collect();
            tasks.push(Task {
                id: self.ids[n].clone(),
                text: TaskText {
                    title: said.title.clone(),
                    description,
                    acceptance: said.acceptance.iter().map(|one| one.text.clone()).collect(),
                    files: said.files.clone(),
                    notes: (!notes.is_empty()).then(|| notes.join("\n")),
                    expects_change: !(entry.is_criterion || runs_checks(&said.title)),
                },
                links: TaskLinks {
                    parent_id: entry.parent.map(|parent| self.ids[parent].clone()),
                    depends_on: Vec::new(),
                },
                status,
                verify: said.verify.clone(),
                labels: said.labels.clone(),
                area: None,
                priority: self.priority(n),
                attempts: Attempts::default(),
                created_at: None,
                updated_at: None,
                place,
            });
            warnings.extend(notices.take(Some(&self.ids[n]), place));
        }
        self.warn_of_containers(&tasks, warnings);
        tasks
    }

    fn status(&self, n: usize, notices: &Notices) -> Status {
        let (entry, said) = (&self.list.entries[n], &self.texts[n]);
        let own = self.list.own_status(entry);
        let offset = self.list.outline.nodes[entry.node].offset;
        if let Some((word, offset)) = &said.status
            && let Some(meant) = status::synonym(word)
            && meant != own
            && !(meant.is_workable() && own.is_workable())
        {
            let shown = shorten(word, 40);
            let message =
                format!("it says \"Status: {shown}\", but its mark says {own}, which counts");
            let hint = "correct the mark, or the word";
            notices.add_with(WarningKind::OddValue, *offset, message, hint);
        }
        if own != Status::Open {
            return own;
        }
        if said.is_struck {
            let message = "the text is struck through and the box is open; it counts as skipped";
            let hint = "write `[-]` to say so, or take `~~` away if it is work";
            notices.add_with(WarningKind::OddValue, offset, message, hint);
            return Status::Skipped;
        }
        if entry.is_leaf && self.list.is_out_of_scope(entry) {
            return Status::Skipped;
        }
        own
    }

    /// The criteria of a heading that are ticked already.
    fn ticked(&self, entry: &ChecklistEntry) -> String {
        let is_open = |mark: &mark::MarkAt| {
            matches!(
                self.list.marks.read(&mark.mark),
                MarkSays::Plainly(Status::Open)
            )
        };
        let ticked = entry.criteria.iter().zip(&entry.marks);
        let ticked = ticked.filter(|(_, mark)| !is_open(mark));
        let texts = ticked
            .map(|(node, _)| format!("\n- {}", text::plain(&self.list.outline.nodes[*node].text)));
        format!("\n\nTicked already:{}", texts.collect::<String>())
    }

    /// Adds what the headings and items around a task say, so that it can be understood alone.
    fn add_context(
        &self,
        description: &mut String,
        n: usize,
        bodies: &[Option<String>],
        intro: &str,
    ) {
        let above = std::iter::successors(self.list.entries[n].parent, |parent| {
            self.list.entries[*parent].parent
        });
        let mut above: Vec<usize> = above.collect();
        above.reverse();
        let mut names: Vec<&str> = Vec::new();
        for at in above.iter().copied().chain([n]) {
            let node = &self.list.outline.nodes[self.list.entries[at].node];
            names.extend(node.groups.iter().map(String::as_str));
            names.extend((at != n).then(|| self.texts[at].title.as_str()));
        }
        if !names.is_empty() {
            description.push_str(&format!("{PART_OF}{}", names.join(" › ")));
        }
        let mut left = MAX_OTHER_TEXT;
        let parts = above
            .iter()
            .filter_map(|at| Some((names_of(self, *at), bodies[*at].as_deref()?)));
        let all = std::iter::once((THE_LIST.to_owned(), intro)).chain(parts);
        for (name, body) in all.filter(|(_, body)| !body.trim().is_empty()) {
            let limit = left.min(MAX_SECTION * if self.list.is_goal { 4 } else { 1 });
            let length = body.chars().count();
            let mut shown: String = body.chars().take(limit).collect();
            if length > limit {
                shown.push_str(&format!(" {CUT}"));
            }
            left -= length.min(limit);
            description.push_str(&format!("\n\n{name}:\n{shown}"));
        }
    }

    /// Its own, or that of the nearest heading or item around it.
    fn priority(&self, n: usize) -> Option<i64> {
        let chain = std::iter::successors(Some(n), |at| self.list.entries[*at].parent);
        let mut chain = chain.take_while(|_| self.list.entries[n].is_leaf);
        chain.find_map(|at| {
            let node = self.list.entries[at].node;
            let by_name = || {
                let heading = &self.list.outline.nodes[node].text;
                let is_heading =
                    self.list.outline.is_heading(node) && !self.list.entries[at].is_leaf;
                is_heading.then(|| section::priority_of(heading))?
            };
            let groups = self.list.outline.nodes[node].groups.iter().rev();
            let by_group = groups.filter_map(|name| section::priority_of(name)).next();
            self.texts[at].priority.or(by_group).or_else(by_name)
        })
    }

    /// Where some have a priority, the others are in the middle.
    fn fill_priorities(&self, tasks: &mut [Task]) {
        const MIDDLE: i64 = 2;
        if tasks.iter().all(|task| task.priority.is_none()) {
            return;
        }
        let leaves = tasks
            .iter_mut()
            .zip(&self.list.entries)
            .filter(|(_, entry)| entry.is_leaf);
        for (task, _) in leaves {
            task.priority.get_or_insert(MIDDLE);
        }
    }

    /// Finds the tasks that others wait for. A name that no task has is text.
    fn link(&self, tasks: &mut [Task], warnings: &mut Vec<FormatWarning>) {
        if self.texts.iter().all(|text| text.waits_for.is_empty()) {
            return;
        }
        let mut names = TaskNames::default();
        for (n, said) in self.texts.iter().enumerate() {
            names.add(self.ids[n].as_str(), n);
            if let Some(id) = &said.id {
                names.add(id, n);
                names.add_numbered(id, n);
            }
            names.add(&ids::slug(&said.title), n);
        }
        // What stands before a colon or a dash is how people call a task, if no other is called so.
        let mut short: HashMap<String, Vec<usize>> = HashMap::new();
        for (n, said) in self.texts.iter().enumerate() {
            let ends = [": ", " - ", " – ", " — "].iter();
            let end = ends.filter_map(|mark| said.title.find(mark)).min();
            if let Some(end) = end {
                let name = ids::slug(&said.title[..end]);
                short.entry(name).or_default().push(n);
            }
        }
        for (name, tasks) in short {
            if let [task] = tasks[..]
                && !names.has(&name)
            {
                names.add(&name, task);
            }
        }
        let parent = |at: usize| self.list.entries[at].parent;
        let is_above = |above: usize, of: usize| {
            std::iter::successors(parent(of), |at| parent(*at)).any(|at| at == above)
        };
        for (n, task) in tasks.iter_mut().enumerate() {
            let near = |found: &[usize]| {
                let others = || found.iter().copied().filter(|other| *other != n);
                others()
                    .find(|other| parent(*other) == parent(n))
                    .or_else(|| others().next())
                    .or_else(|| found.first().copied())
            };
            let notices = Notices::default();
            for waits in &self.texts[n].waits_for {
                let (found, unknown) = names.resolve(&waits.names, &near);
                for name in unknown
                    .iter()
                    .filter(|_| !waits.is_vague || !found.is_empty())
                {
                    let shown = shorten(name, 60);
                    let message =
                        format!("\"{shown}\" is no task of this file; it is read as text");
                    let hint =
                        "write the id or the title of a task, or leave it if it is only text";
                    notices.add_with(WarningKind::OddValue, waits.offset, message, hint);
                    if !task.text.description.contains(name.as_str()) {
                        let said = format!("\n\nDepends on: {name}");
                        task.text.description.push_str(&said);
                    }
                }
                for on in found {
                    if on == n || is_above(on, n) || is_above(n, on) {
                        let message = format!(
                            "it can't wait for {}, which is part of it or holds it",
                            self.ids[on]
                        );
                        let hint = "take the dependency out";
                        notices.add_with(WarningKind::OddValue, waits.offset, message, hint);
                        continue;
                    }
                    let id = self.ids[on].clone();
                    if !task.links.depends_on.contains(&id) {
                        task.links.depends_on.push(id);
                    }
                }
            }
            warnings.extend(notices.take(Some(&self.ids[n]), task.place));
        }
    }

    /// Warns of containers whose own mark or words say done while tasks in them are not.
    fn warn_of_containers(&self, tasks: &[Task], warnings: &mut Vec<FormatWarning>) {
        let mut open: Vec<usize> = vec![0; tasks.len()];
        for (n, task) in tasks.iter().enumerate() {
            if self.list.entries[n].is_leaf && task.status.is_workable() {
                let above = std::iter::successors(self.list.entries[n].parent, |at| {
                    self.list.entries[*at].parent
                });
                above.for_each(|at| open[at] += 1);
            }
        }
        let notices = Notices::default();
        for (n, task) in tasks.iter().enumerate().filter(|(n, _)| open[*n] > 0) {
            let node = &self.list.outline.nodes[self.list.entries[n].node];
            let words = node.text.trim_end_matches(['*', ')', ']', ' ']);
            let says_done = words.ends_with(['✅', '✔', '☑'])
                || (section::kind_of(words) == SectionKind::Work
                    && section::words(words).ends_with(" done"))
                || words.starts_with('✅');
            if task.status == Status::Completed || says_done {
                let tasks = match open[n] {
                    1 => "1 task in it is".to_owned(),
                    count => format!("{count} tasks in it are"),
                };
                let message = format!("it says done, but {tasks} open, which counts");
                let hint = "tick or skip the tasks in it, or untick it";
                notices.add_with(WarningKind::CompletedContainer, node.offset, message, hint);
            }
            warnings.extend(notices.take(Some(&task.id), task.place));
        }
    }

    /// Says what was taken for tasks and for done.
    fn reading(&self) -> String {
        let entries = &self.list.entries;
        let count = |n: usize, one: &str, several: &str| {
            let noun = if n == 1 { one } else { several };
            format!("{n} {noun}")
        };
        let leaves = entries.iter().filter(|entry| entry.is_leaf).count();
        let is_heading = |entry: &&ChecklistEntry| self.list.outline.is_heading(entry.node);
        let holders = || entries.iter().filter(|entry| !entry.is_leaf);
        let headings = holders().filter(is_heading).count();
        let items = holders().count() - headings;
        let mut said = match self.list.marks.kind {
            mark::MarkKind::Brackets => "tasks: checkboxes, ".to_owned(),
            mark::MarkKind::Pictures => "tasks: items with a picture as their mark, ".to_owned(),
        };
        let stories = entries
            .iter()
            .filter(|entry| !entry.criteria.is_empty())
            .count();
        if stories > 0 {
            said = format!(
                "tasks: {} with checkboxes as criteria, ",
                count(stories, "heading", "headings")
            );
        }
        said.push_str(&match (headings, items) {
            (0, 0) => count(leaves, "task", "tasks"),
            (headings, 0) => format!(
                "{} in {}",
                count(leaves, "leaf", "leaves"),
                count(headings, "heading", "headings")
            ),
            (0, items) => format!(
                "{} in {}",
                count(leaves, "leaf", "leaves"),
                count(items, "item", "items")
            ),
            (headings, items) => format!(
                "{} in {} and {}",
                count(leaves, "leaf", "leaves"),
                count(headings, "heading", "headings"),
                count(items, "item", "items")
            ),
        });
        said.push_str(&format!("; done: {}", self.list.marks.shown_done()));
        let leaf_texts = self
            .texts
            .iter()
            .zip(entries)
            .filter(|(_, entry)| entry.is_leaf);
        match leaf_texts.filter(|(text, _)| text.id.is_none()).count() {
            0 => {}
            n if n == leaves => said.push_str("; ids: from the titles"),
            n => said.push_str(&format!("; ids: {n} of them from the titles")),
        }
        said
    }
}

fn names_of(read: &ReadChecklist<'_>, at: usize) -> String {
    format!("About \"{}\"", read.texts[at].title)
}

/// Returns true for an item that asks to run checks, which changes nothing where they pass.
fn runs_checks(title: &str) -> bool {
    let words = section::words(title);
    let is_run = ["run ", "rerun ", "re run "]
        .iter()
        .any(|verb| words.starts_with(verb));
    let mut words = words.split(' ');
    is_run
        && words.any(|word| {
            matches!(
                word,
                "test"
                    | "tests"
                    | "suite"
                    | "lint"
                    | "linter"
                    | "linters"
                    | "checks"
                    | "typecheck"
                    | "validation"
            )
        })
}

/// The statements of a file around its tasks.
#[derive(Default)]
struct Front {
    meta: Meta,
    checks: Vec<checks::NamedCheck>,
    /// The text that is about all tasks.
    intro: String,
}

impl Front {
    fn of(list: &Checklist<'_>, notices: &Notices) -> Self {
        let mut front = Self::default();
        let title = list
            .title
            .map(|node| text::plain(&list.outline.nodes[node].text));
        let mut goal = None;
        if let Some(yaml) = list.lines.front_matter {
            match yaml::build(yaml) {
                Ok(Some(tree)) => {
                    front.meta = layout::meta_of(&tree, &[0]);
                    let from = list.lines.lines.get(1).map_or(0, |line| line.start);
                    front.checks = checks::in_objects(&tree, std::iter::once(0), from);
                    let task = tree
                        .member(0, "task")
                        .map(|at| tree.text(at).trim().to_owned());
                    goal = task.filter(|task| !task.is_empty());
                }
                Ok(None) => {}
                Err(_) => {
                    let message =
                        "the lines at the top between `---` are no YAML; they are not read";
                    let hint = "correct the YAML, or remove the lines";
                    notices.add_with(WarningKind::NotRead, 0, message, hint);
                }
            }
        }
        let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let named = goal.as_deref().map(first_line);
        front.meta.title = front.meta.title.or(named).or(title);
        let body = text::dedent(&list.intro()).join("\n");
        let parts = goal.iter().map(String::as_str).chain([body.as_str()]);
        let parts: Vec<&str> = parts.filter(|part| !part.trim().is_empty()).collect();
        front.intro = parts.join("\n\n");
        front.add_section_checks(list);
        front
    }

    /// Commands in a section that is named after them.
    fn add_section_checks(&mut self, list: &Checklist<'_>) {
        for node in 0..list.outline.nodes.len() {
            let text = &list.outline.nodes[node].text;
            if !list.outline.is_heading(node) || section::kind_of(text) != SectionKind::Checks {
                continue;
            }
            for line in &list.outline.nodes[node].body {
                let said = line.text.get(line.content..).unwrap_or_default().trim();
                let inner = said
                    .strip_prefix('`')
                    .and_then(|rest| rest.strip_suffix('`'));
                let Some(inner) = inner.filter(|inner| !inner.contains('`')) else {
                    continue;
                };
                let command = VerifyCommand::Shell(inner.to_owned());
                if text::is_command(inner, &command) {
                    checks::add(&mut self.checks, command, line.start);
                }
            }
        }
    }
}
