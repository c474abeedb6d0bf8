//! Issues of beads: one JSON object a line, with `open`, `in_progress` and `closed`, priorities from 0 to 4 and
//! typed dependencies. A change rewrites the value in its line.
//!
//! The file is what beads exports; its database is not touched.

use std::collections::{HashMap, HashSet};

use super::append::NewTask;
use super::convert::Where;
use super::edit::{Change, Edit};
use super::error::{Fault, FormatResult};
use super::fields::{Field, Fields};
use super::layout::TASKS;
use super::render::Value;
use super::rules::{FormatRules, NamedFile, NamedFormat, UsualPlace};
use super::splice::{self, Splice, spliced};
use super::status::{self, FileWords, Put, StatusMembers, Vocabulary, put};
use super::story::{self, StoryAt};
use super::tree::{At, Kind, Tree};
use super::warning::{FormatWarning, Notices, WarningKind};
use super::{Document, Format, Meta, Syntax, ids, json, text_start};
use crate::task::{Place, Status, Task, TaskId};

pub(super) const RULES: FormatRules = FormatRules {
    name: "beads",
    about: "Issues of beads: .beads/issues.jsonl",
    syntax: Syntax::JsonLines,
    place: UsualPlace::File(".beads/issues.jsonl"),
    named: Some(NamedFormat {
        close_command: Some("bd close"),
        endings: &[".jsonl"],
        parse,
        parse_loosely,
        edited,
        appended,
        written,
        untold,
    }),
    own_lists: &[],
    list: TASKS,
    project_mark: None,
    marks_task: |_, _, _| false,
    status_fields: &[Field::Status],
    words: &["open", "in_progress", "blocked", "deferred", "closed"],
    word,
    open_word: None,
    lenient: true,
    read_status: |said| Ok(said.word.unwrap_or(Status::Open)),
    write_status,
    new_status: |status| vec![("status", Value::text(word(status)))],
    members: &[
        (Field::Id, "id"),
        (Field::Title, "title"),
        (Field::Description, "description"),
        (Field::Acceptance, "acceptance_criteria"),
        (Field::Status, "status"),
        (Field::Priority, "priority"),
        (Field::Labels, "labels"),
    ],
    max_attempts: "maxAttempts",
    required: &[],
    records: &[
        "issue_type",
        "assignee",
        "owner",
        "created_by",
        "content_hash",
        "source_repo",
        "source_system",
        "close_reason",
        "compaction_level",
        "original_size",
        "deleted_by",
        "delete_reason",
        "original_type",
        "external_ref",
        "dependencies",
        "sender",
    ],
};

/// The word of beads for a status. It has none for failed.
fn word(status: Status) -> &'static str {
    match status {
        Status::Open => "open",
        Status::InProgress => "in_progress",
        Status::Completed => "closed",
        Status::Blocked | Status::Failed => "blocked",
        Status::Skipped => "deferred",
    }
}

fn write_status(
    said: &StatusMembers<'_, '_>,
    to: Status,
    _: &FileWords<'_>,
) -> FormatResult<Vec<Put>> {
    if to == Status::Failed {
        return Err(Fault::nowhere("beads has no word for failed"));
    }
    let differs = said.word.unwrap_or(Status::Open) != to;
    let value = Value::text(word(to));
    Ok(differs
        .then(|| put(Field::Status, "status", value))
        .into_iter()
        .collect())
}

/// One line with an object.
struct IssueLine<'a> {
    tree: Tree<'a>,
    /// The number of the line, from 1.
    number: usize,
}

/// The lines with issues. A line that is none is an error.
fn lines<'a>(source: &'a str) -> impl Iterator<Item = FormatResult<IssueLine<'a>>> {
    let mut start = text_start(source.as_bytes());
    let body = &source[start..];
    let all = body.split_inclusive('\n').enumerate();
    all.filter_map(move |(n, line)| {
        let from = start + (line.len() - line.trim_start().len());
        start += line.len();
        (!line.trim().is_empty()).then(|| line_at(source, from, line.trim_end(), n + 1))
    })
}

fn line_at<'a>(
    source: &'a str,
    from: usize,
    line: &str,
    number: usize,
) -> FormatResult<IssueLine<'a>> {
    if !line.trim_start().starts_with('{') {
        let message = "expected an issue (an object on one line), found something else";
        return Err(Fault::at(from, message));
    }
    let tree = json::scan_value(source, from)?;
    let end = from + line.trim_start().len();
    if tree.end(0) != end {
        let message =
            "expected an issue that begins and ends on its line, found more or less than that";
        return Err(Fault::at(tree.end(0).min(end), message));
    }
    Ok(IssueLine { tree, number })
}

/// Types of issues by which beads and tools on top of it keep records of their own.
const RECORD_TYPES: [&str; 12] = [
    "agent",
    "convoy",
    "event",
    "gate",
    "merge-request",
    "message",
    "molecule",
    "rig",
    "role",
    "slot",
    "wisp",
    "session",
];

/// Describes an issue that is no task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    Deleted,
    Record,
}

fn left_out(tree: &Tree<'_>) -> Option<LeftOut> {
    let is = |name: &str, texts: &[&str]| {
        let at = tree.member(0, name);
        at.is_some_and(|at| texts.iter().any(|text| tree.is_text(at, text)))
    };
    let is_set = |name: &str| {
        tree.member(0, name)
            .is_some_and(|at| tree.kind(at) == Kind::True)
    };
    if is("status", &["tombstone"]) {
        return Some(LeftOut::Deleted);
    }
    let is_record = is("issue_type", &RECORD_TYPES)
        || is("status", &["pinned"])
        || is_set("ephemeral")
        || is_set("is_template");
    is_record.then_some(LeftOut::Record)
}

fn id_of(tree: &Tree<'_>) -> FormatResult<TaskId> {
    let id = tree
        .member(0, "id")
        .filter(|at| matches!(tree.kind(*at), Kind::Text | Kind::Number));
    let Some(at) = id else {
        return Err(Fault::at(tree.start(0), "expected an `id`, found none"));
    };
    let text = ids::safe(&tree.text(at)).unwrap_or_default();
    super::read::checked_id(&text, tree.start(at))
}

fn parse(file: &NamedFile<'_>) -> FormatResult<Document> {
    let mut warnings = Vec::new();
    let mut issues: Vec<(Task, IssueLinks)> = Vec::new();
    let mut gone: HashSet<String> = HashSet::new();
    let (mut deleted, mut records) = (0, 0);
    for line in lines(file.text) {
        let line = line?;
        let id = id_of(&line.tree)?;
        if let Some(reason) = left_out(&line.tree) {
            match reason {
                LeftOut::Deleted => deleted += 1,
                LeftOut::Record => records += 1,
            }
            gone.insert(id.as_str().to_owned());
            continue;
        }
        let place = Place {
            file: file.index,
            position: issues.len() as u32,
            offset: line.tree.start(0) as u32,
        };
        issues.push(issue(&line.tree, &id, place, &mut warnings)?);
    }
    link(&mut issues, &gone, &mut warnings);
    let tasks: Vec<Task> = issues.into_iter().map(|(task, _)| task).collect();
    Ok(Document {
        format: Format::Beads,
        syntax: Syntax::JsonLines,
        meta: Meta::default(),
        reading: Some(reading(&tasks, deleted, records)),
        checks: Vec::new(),
        warnings,
        tasks,
    })
}

/// Reads what can be read: broken lines are passed over.
fn parse_loosely(file: &NamedFile<'_>) -> Vec<Task> {
    let mut warnings = Vec::new();
    let read = lines(file.text).filter_map(|line| {
        let line = line.ok().filter(|line| left_out(&line.tree).is_none())?;
        let id = id_of(&line.tree).ok()?;
        issue(&line.tree, &id, Place::default(), &mut Vec::new()).ok()
    });
    let mut issues: Vec<(Task, IssueLinks)> = read.collect();
    link(&mut issues, &HashSet::new(), &mut warnings);
    issues.into_iter().map(|(task, _)| task).collect()
}

/// The links of an issue to others.
#[derive(Default)]
struct IssueLinks {
    parent: Option<TaskId>,
    blockers: Vec<TaskId>,
    is_epic: bool,
}

fn issue(
    tree: &Tree<'_>,
    id: &TaskId,
    place: Place,
    warnings: &mut Vec<FormatWarning>,
) -> FormatResult<(Task, IssueLinks)> {
    let notices = Notices::default();
    let story = StoryAt {
        format: Format::Beads,
        at: 0,
        id,
        inner: &[],
        notices: &notices,
    };
    let mut task = story::parse(tree, &story, place)?;
    let text = |at: At| tree.text(at).into_owned();
    let kind = tree.member(0, "issue_type").map(text).unwrap_or_default();
    if !kind.is_empty() && !task.labels.contains(&kind) {
        task.labels.push(kind.clone());
    }
    let mut links = IssueLinks {
        is_epic: kind == "epic",
        ..IssueLinks::default()
    };
    let dependencies = tree
        .member(0, "dependencies")
        .filter(|at| tree.kind(*at) == Kind::List);
    for dependency in dependencies.into_iter().flat_map(|at| tree.children(at)) {
        let Some(on) = tree.member(dependency, "depends_on_id") else {
            continue;
        };
        let Some(on) = ids::safe(&tree.text(on)).and_then(|on| TaskId::parse(&on).ok()) else {
            continue;
        };
        let kind = tree.member(dependency, "type").map(text);
        match kind.as_deref() {
            Some("parent-child") => links.parent = Some(on),
            Some("blocks") | None => links.blockers.push(on),
            // Issues that are related, or were found on the way: none of them waits.
            Some(_) => {}
        }
    }
    task.links.parent_id = None;
    task.links.depends_on.clear();
    warnings.extend(notices.take(Some(id), place));
    Ok((task, links))
}

/// Sets the links, as far as there is an issue to be linked to.
fn link(
    issues: &mut [(Task, IssueLinks)],
    gone: &HashSet<String>,
    warnings: &mut Vec<FormatWarning>,
) {
    let known: HashSet<TaskId> = issues.iter().map(|(task, _)| task.id.clone()).collect();
    let parents: HashMap<TaskId, TaskId> = issues
        .iter()
        .filter_map(|(task, links)| {
            let parent = links.parent.clone().filter(|parent| known.contains(parent));
            Some((task.id.clone(), parent?))
        })
        .collect();
    let is_above = |above: &TaskId, of: &TaskId| {
        let chain = std::iter::successors(parents.get(of), |id| parents.get(*id));
        chain.take(known.len()).any(|id| id == above)
    };
    let holders: HashSet<&TaskId> = parents.values().collect();
    for (task, links) in issues.iter_mut() {
        let notices = Notices::default();
        let offset = task.place.offset as usize;
        let warn = |message: String| {
            let hint = "correct the dependency with `bd`, or leave it";
            notices.add_with(WarningKind::OddValue, offset, message, hint);
        };
        if let Some(parent) = &links.parent {
            if known.contains(parent) {
                task.links.parent_id = Some(parent.clone());
            } else if !gone.contains(parent.as_str()) {
                warn(format!(
                    "its parent {parent} is not in the file; it stands alone"
                ));
            }
        }
        for on in &links.blockers {
            if *on == task.id || is_above(on, &task.id) || is_above(&task.id, on) {
                warn(format!(
                    "it can't wait for {on}, which is part of it or holds it"
                ));
            } else if known.contains(on) {
                task.links.depends_on.push(on.clone());
            } else if !gone.contains(on.as_str()) {
                warn(format!(
                    "it waits for {on}, which is not in the file; that is not read"
                ));
            }
        }
        if links.is_epic && !holders.contains(&task.id) && task.status.is_workable() {
            warn("it is an epic without tasks; it is read as a task".to_owned());
        }
        warnings.extend(notices.take(Some(&task.id), task.place));
    }
}

fn reading(tasks: &[Task], deleted: usize, records: usize) -> String {
    let parents: HashSet<&TaskId> = tasks
        .iter()
        .filter_map(|task| task.links.parent_id.as_ref())
        .collect();
    let holders = tasks
        .iter()
        .filter(|task| parents.contains(&task.id))
        .count();
    let leaves = tasks.len() - holders;
    let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let mut said = match holders {
        0 => format!("tasks: issues of beads, {}", count(leaves, "task")),
        _ => {
            let leaves = if leaves == 1 {
                "1 leaf".to_owned()
            } else {
                format!("{leaves} leaves")
            };
            format!(
                "tasks: issues of beads, {leaves} in {}",
                count(holders, "container")
            )
        }
    };
    said.push_str("; done: `closed`");
    for (number, noun) in [(deleted, "deleted issue"), (records, "record")] {
        if number > 0 {
            said.push_str(&format!("; {} left out", count(number, noun)));
        }
    }
    said
}

/// The text with the edits made, each in the line of its issue.
fn edited(file: &NamedFile<'_>, edits: &[Edit]) -> FormatResult<String> {
    let mut splices: Vec<Splice> = Vec::new();
    for line in lines(file.text) {
        let IssueLine { tree, .. } = line?;
        let id = id_of(&tree)?;
        let mine = edits.iter().filter(|edit| edit.task == id);
        let puts = puts(&tree, mine.map(|edit| &edit.change)).map_err(|fault| fault.of(&id))?;
        let fields = Fields::of(&tree, 0);
        splices.extend(
            puts.iter()
                .map(|put| splice::of_put(&tree, 0, &fields, put)),
        );
    }
    Ok(spliced(file.text, 0, file.text.len(), &splices))
}

fn puts<'e>(tree: &Tree<'_>, changes: impl Iterator<Item = &'e Change>) -> FormatResult<Vec<Put>> {
    let fields = Fields::of(tree, 0);
    let nothing = Vocabulary::default();
    let words = || &nothing;
    let mut puts: Vec<Put> = Vec::new();
    for change in changes {
        let new = match change {
            Change::Status(to) => {
                puts.retain(|put| put.field != Field::Status);
                status::puts(tree, Format::Beads, &fields, *to, &words)?
            }
            Change::Attempts(count) => {
                let count = Value::integer(i64::from(*count));
                vec![put(Field::Attempts, "attempts", count)]
            }
            Change::Notes(text) => vec![put(Field::Notes, "notes", Value::text(text))],
            Change::Acceptance(items) => {
                let value = Value::text(items.join("\n"));
                vec![put(Field::Acceptance, "acceptance_criteria", value)]
            }
        };
        puts.retain(|old| new.iter().all(|put| put.field != old.field));
        puts.extend(new);
    }
    Ok(puts)
}

/// The file with a new issue as its last line.
fn appended(file: &NamedFile<'_>, task: &NewTask) -> FormatResult<Vec<String>> {
    if !task.verify.is_empty() {
        return Err(Fault::nowhere(
            "an issue of beads has no room for commands that verify it",
        ));
    }
    let mut last = None;
    let mut is_spaced = true;
    for line in lines(file.text) {
        let IssueLine { tree, number } = line?;
        is_spaced = file.text[tree.start(0)..tree.end(0)].contains("\": ");
        last = Some((number, tree.end(0)));
    }
    let issue = NewIssue {
        id: &task.id,
        title: &task.title,
        description: &task.description,
        acceptance: &task.acceptance,
        notes: None,
        status: Status::Open,
        priority: task.priority,
        kind: "task",
        labels: task.labels.iter().map(String::as_str).collect(),
        parent: None,
        depends_on: &task.depends_on,
    };
    let members = issue.members();
    let mut object = splice::BracketLayout::fresh("", Syntax::Json, "");
    if !is_spaced {
        (object.colon, object.comma) = (":".to_owned(), ",".to_owned());
    }
    let object = object.object(&members);
    let newline = splice::newline(file.text);
    let text = match last {
        Some((_, end)) => {
            let text = format!("{newline}{object}");
            let splice = Splice {
                start: end,
                end,
                text,
            };
            spliced(file.text, 0, file.text.len(), &[splice])
        }
        None => format!(
            "{}{object}{newline}",
            file.text.trim_end_matches([' ', '\t', '\n', '\r'])
        ),
    };
    Ok(vec![text])
}

/// An issue that is written for the first time.
struct NewIssue<'t> {
    id: &'t TaskId,
    title: &'t str,
    description: &'t str,
    acceptance: &'t [String],
    notes: Option<&'t str>,
    status: Status,
    priority: Option<i64>,
    /// The type of the issue.
    kind: &'t str,
    labels: Vec<&'t str>,
    parent: Option<&'t TaskId>,
    depends_on: &'t [TaskId],
}

impl NewIssue<'_> {
    fn members(&self) -> Vec<(String, Value)> {
        let mut members: Vec<(&str, Value)> = vec![
            ("id", Value::text(self.id.as_str())),
            ("title", Value::text(self.title)),
            ("description", Value::text(self.description)),
        ];
        if !self.acceptance.is_empty() {
            members.push((
                "acceptance_criteria",
                Value::text(self.acceptance.join("\n")),
            ));
        }
        if let Some(notes) = self.notes {
            members.push(("notes", Value::text(notes)));
        }
        members.push(("status", Value::text(word(self.status))));
        members.push((
            "priority",
            Value::integer(self.priority.unwrap_or(MIDDLE_PRIORITY)),
        ));
        members.push(("issue_type", Value::text(self.kind)));
        if !self.labels.is_empty() {
            members.push(("labels", Value::texts(&self.labels)));
        }
        let parent = self.parent.map(|parent| (parent, "parent-child"));
        let blockers = self.depends_on.iter().map(|on| (on, "blocks"));
        let links = parent.into_iter().chain(blockers).map(|(on, kind)| {
            Value::Map(vec![
                ("issue_id".to_owned(), Value::text(self.id.as_str())),
                ("depends_on_id".to_owned(), Value::text(on.as_str())),
                ("type".to_owned(), Value::text(kind)),
            ])
        });
        let links: Vec<Value> = links.collect();
        if !links.is_empty() {
            members.push(("dependencies", Value::List(links)));
        }
        let named = members.into_iter();
        named
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

/// The priority of an issue that has none: the middle of those from 0 to 4.
const MIDDLE_PRIORITY: i64 = 2;

/// Types of issues that are work.
const WORK_TYPES: [&str; 5] = ["task", "bug", "feature", "chore", "epic"];

/// One line a task.
fn written(document: &Document) -> FormatResult<String> {
    let parents = document.tasks.iter();
    let parents: HashSet<&TaskId> = parents
        .filter_map(|task| task.links.parent_id.as_ref())
        .collect();
    let mut out = String::new();
    for task in &document.tasks {
        if task.status == Status::Failed {
            return Err(Fault::nowhere("beads has no word for failed").of(&task.id));
        }
        let labels = task.labels.iter().map(String::as_str);
        let kind = if parents.contains(&task.id) {
            "epic"
        } else {
            let mut known = labels.clone().filter(|label| WORK_TYPES.contains(label));
            known.next().unwrap_or("task")
        };
        let issue = NewIssue {
            id: &task.id,
            title: &task.text.title,
            description: &task.text.description,
            acceptance: &task.text.acceptance,
            notes: task.text.notes.as_deref(),
            status: task.status,
            priority: task.priority.map(|priority| priority.clamp(0, 4)),
            kind,
            labels: labels.filter(|label| *label != kind).collect(),
            parent: task.links.parent_id.as_ref(),
            depends_on: &task.links.depends_on,
        };
        out.push_str(&Value::Map(issue.members()).json());
        out.push('\n');
    }
    Ok(out)
}

/// The members that are no part of the tasks, as often as they occur.
fn untold(file: &NamedFile<'_>) -> Vec<(String, Where)> {
    let mut names = Vec::new();
    for IssueLine { tree, .. } in lines(file.text).flatten() {
        if let Some(reason) = left_out(&tree) {
            let name = match reason {
                LeftOut::Deleted => "deleted issues",
                LeftOut::Record => "records of tools",
            };
            names.push((name.to_owned(), Where::Around));
            continue;
        }
        let own = story::untold(&tree, Format::Beads, 0).into_iter();
        let own = own.filter(|name| !matches!(name.as_str(), "issue_type" | "dependencies"));
        names.extend(own.map(|name| (name, Where::InTask)));
    }
    names
}
