//! Changes to tasks in a file, each as small as it can be.
//!
//! Every result is read again before it is given back: the task says what was meant, and all else
//! says what it said before. Otherwise there is an error and no result.

use std::cell::{Cell, OnceCell};
use std::cmp::Reverse;
use std::collections::HashMap;

use super::error::{Fault, FormatResult};
use super::fields::{Field, Fields};
use super::layout::{self, Layout};
use super::looks::Looks;
use super::render::Value;
use super::rules::{self, NamedFile, NamedFormat};
use super::splice::{self, Splice, spliced};
use super::status::{self, Put, Vocabulary, put};
use super::story::{self, StoryAt};
use super::tree::{At, Kind, Tree};
use super::warning::Notices;
use super::{Format, FormatError, Syntax, checked_text, ids, json, parse_bytes, parse_tree, yaml};
use crate::task::{Place, Status, Task, TaskId};

/// One change to one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub task: TaskId,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Status(Status),
    Attempts(u32),
    Notes(String),
    Acceptance(Vec<String>),
}

/// The file with the edits made. Later edits of the same thing win.
pub fn apply(file_name: &str, bytes: &[u8], edits: &[Edit]) -> Result<Vec<u8>, FormatError> {
    edited(file_name, bytes, edits).map_err(|fault| fault.into_error(file_name, bytes))
}

/// Finds what the edits of one task change in a JSON text that was read before, in which the task begins at
/// `offset`. The changes are to be performed in their order.
///
/// Looks at the task alone. `None` where it is not there, where more of the file has to be known, and where
/// [`apply`] has something to say.
pub fn splices_at(
    bytes: &[u8],
    format: Format,
    offset: usize,
    edits: &[Edit],
) -> Option<Vec<Splice>> {
    let id = &edits.first()?.task;
    let text = std::str::from_utf8(bytes).ok()?;
    if !text.get(offset..)?.starts_with('{') {
        return None;
    }
    let tree = json::scan_value(text, offset).ok()?;
    let task = 0;
    let found = tree.member(task, "id").map(|at| tree.text(at));
    if found.as_deref() != Some(id.as_str()) || edits.iter().any(|edit| edit.task != *id) {
        return None;
    }
    let changes: Vec<&Change> = edits.iter().map(|edit| &edit.change).collect();
    let fields = Fields::of(&tree, task);
    let (nothing, was_asked) = (Vocabulary::default(), Cell::new(false));
    let rules = format.rules();
    // In a file with no words but the format's own, these are the ones to write.
    let has_own = rules.open_word == Some((rules.word)(Status::Open));
    let words = || {
        was_asked.set(was_asked.get() || !has_own || !has_only(text, rules.words));
        &nothing
    };
    let puts = puts(&tree, format, &fields, &changes, &words).ok()?;
    let splices = puts
        .iter()
        .map(|put| splice::of_put(&tree, task, &fields, put));
    let mut job = TaskEdits {
        task,
        id,
        changes,
        splices: splices.collect(),
        puts,
    };
    check_object(&tree, format, &job).ok()?;
    // The last place first: what stands before it does not move.
    job.splices.reverse();
    job.splices.sort_by_key(|splice| Reverse(splice.start));
    (!was_asked.get()).then_some(job.splices)
}

/// Returns true if all statuses in a JSON text are of these words. May miss that they are, never that they
/// are not.
fn has_only(text: &str, words: &[&str]) -> bool {
    let is_one = |at: usize| {
        let value = text[at..]
            .trim_start()
            .strip_prefix(':')
            .map(str::trim_start);
        let word = value.and_then(|value| value.strip_prefix('"'));
        let word = word.and_then(|word| word.split('"').next());
        word.is_none_or(|word| words.contains(&word))
    };
    let bytes = text.as_bytes();
    let name = b"\"status\"";
    let mut statuses = memchr::memmem::find_iter(bytes, name);
    let others = [&b"\"state\""[..], b"\\u"];
    statuses.all(|at| is_one(at + name.len()))
        && !others
            .iter()
            .any(|other| memchr::memmem::find(bytes, other).is_some())
}

/// A task with all that is to change in it.
struct TaskEdits<'e> {
    task: At,
    id: &'e TaskId,
    changes: Vec<&'e Change>,
    puts: Vec<Put>,
    splices: Vec<Splice>,
}

fn edited(file_name: &str, bytes: &[u8], edits: &[Edit]) -> FormatResult<Vec<u8>> {
    let Some(first) = edits.first() else {
        return Ok(bytes.to_vec());
    };
    if let Some(own) = rules::named(file_name) {
        return edited_by(own, file_name, bytes, edits);
    }
    let Some(tree) = parse_tree(file_name, bytes)? else {
        return Err(not_there(&first.task));
    };
    let layout = layout::detect(&tree)?;
    let jobs = jobs(&tree, &layout, edits)?;
    let splices: Vec<Splice> = jobs.iter().flat_map(|job| job.splices.clone()).collect();
    let text = spliced(tree.source, 0, tree.source.len(), &splices);
    match tree.syntax {
        Syntax::Json | Syntax::JsonLines | Syntax::Markdown => {
            for job in &jobs {
                check_object(&tree, layout.format, job).map_err(|fault| fault.of(job.id))?;
            }
        }
        Syntax::Yaml => check_document(&tree, &layout, &jobs, &text)?,
    }
    Ok(text.into_bytes())
}

/// The same for a format with a writer of its own: all tasks but the named ones must read as before.
fn edited_by(
    own: &NamedFormat,
    file_name: &str,
    bytes: &[u8],
    edits: &[Edit],
) -> FormatResult<Vec<u8>> {
    let before = parse_bytes(file_name, 0, bytes)?;
    let is_there = |id: &TaskId| before.tasks.iter().any(|task| task.id == *id);
    if let Some(edit) = edits.iter().find(|edit| !is_there(&edit.task)) {
        return Err(not_there(&edit.task));
    }
    let file = NamedFile::one(file_name, checked_text(bytes)?);
    let text = (own.edited)(&file, edits)?;
    let broken = || cannot("the result would not be the same file otherwise");
    let after = parse_bytes(file_name, 0, text.as_bytes()).map_err(|_| broken())?;
    if before.tasks.len() != after.tasks.len() || before.meta != after.meta {
        return Err(broken());
    }
    let mut changes: HashMap<&TaskId, Vec<&Change>> = HashMap::new();
    for edit in edits {
        let of_task = changes.entry(&edit.task).or_default();
        let kind = std::mem::discriminant(&edit.change);
        of_task.retain(|known| std::mem::discriminant(*known) != kind);
        of_task.push(&edit.change);
    }
    for (was, is) in before.tasks.iter().zip(&after.tasks) {
        let said: &[&Change] = changes.get(&was.id).map_or(&[], Vec::as_slice);
        let mut should = was.clone();
        for change in said {
            if !says(is, change) {
                return Err(cannot("the result would not say what was meant").of(&was.id));
            }
            match change {
                Change::Status(status) => {
                    should.status = *status;
                    // It may tell which of several marks are set.
                    should.text.description.clone_from(&is.text.description);
                }
                Change::Attempts(count) => should.attempts.made = Some(*count),
                Change::Notes(_) => should.text.notes.clone_from(&is.text.notes),
                Change::Acceptance(items) => should.text.acceptance.clone_from(items),
            }
        }
        should.place = is.place;
        if should != *is {
            return Err(broken().of(&was.id));
        }
    }
    Ok(text.into_bytes())
}

fn not_there(id: &TaskId) -> Box<Fault> {
    Fault::nowhere("expected a task with this id, found none").of(id)
}

fn jobs<'e>(
    tree: &Tree<'_>,
    layout: &Layout,
    edits: &'e [Edit],
) -> FormatResult<Vec<TaskEdits<'e>>> {
    let mut wanted: HashMap<&str, (&TaskId, Vec<&Change>)> = HashMap::new();
    for Edit { task, change } in edits {
        let entry = wanted.entry(task.as_str());
        entry.or_insert_with(|| (task, Vec::new())).1.push(change);
    }
    let vocabulary = OnceCell::new();
    let words = || vocabulary.get_or_init(|| Vocabulary::of(tree, layout));
    let mut jobs = Vec::with_capacity(wanted.len());
    for (position, id) in ids::of(tree, layout).into_iter().enumerate() {
        let task = layout.tasks[position];
        let Some((id, changes)) = id.ok().and_then(|id| wanted.remove(id.as_str())) else {
            continue;
        };
        let fields = Fields::of(tree, task);
        let sets_status = |change: &&Change| matches!(change, Change::Status(_));
        if !layout.is_leaf(position)
            && changes.iter().any(sets_status)
            && !Looks::of_item(tree, task).marked
        {
            let message = "has no status of its own: the tasks in it decide";
            return Err(Fault::at(tree.start(task), message).of(id));
        }
        let puts = puts(tree, layout.format, &fields, &changes, &words);
        let puts = puts.map_err(|fault| fault.of(id))?;
        let of_put = |put| splice::of_put(tree, task, &fields, put);
        jobs.push(TaskEdits {
            task,
            id,
            changes,
            splices: puts.iter().map(of_put).collect(),
            puts,
        });
    }
    let missing = edits
        .iter()
        .find(|edit| wanted.contains_key(edit.task.as_str()));
    match missing {
        Some(edit) => Err(not_there(&edit.task)),
        None => Ok(jobs),
    }
}

fn puts<'w>(
    tree: &Tree<'_>,
    format: Format,
    fields: &Fields,
    changes: &[&Change],
    words: &'w dyn Fn() -> &'w Vocabulary,
) -> FormatResult<Vec<Put>> {
    let mut puts: Vec<Put> = Vec::new();
    for change in changes {
        let new = match change {
            Change::Status(to) => {
                puts.retain(|put| !put.field.says_status());
                status::puts(tree, format, fields, *to, words)?
            }
            Change::Attempts(count) => {
                vec![put(
                    Field::Attempts,
                    "attempts",
                    Value::integer(i64::from(*count)),
                )]
            }
            Change::Notes(text) => vec![put(Field::Notes, "notes", Value::Text(text.clone()))],
            Change::Acceptance(items) => acceptance_puts(tree, format, fields, items),
        };
        puts.retain(|old| new.iter().all(|put| put.field != old.field));
        puts.extend(new);
    }
    Ok(puts)
}

fn acceptance_puts(tree: &Tree<'_>, format: Format, fields: &Fields, items: &[String]) -> Vec<Put> {
    let name = format.rules().name_of(&[Field::Acceptance]);
    let mut list = Value::texts(items);
    let mut puts = Vec::new();
    for field in [Field::Acceptance, Field::Criteria, Field::ExitCriteria] {
        if let Some(at) = fields.get(tree, field) {
            // All are read as one, so the others must not add to it.
            let value = std::mem::replace(&mut list, Value::List(Vec::new()));
            puts.push(put(field, &tree.text(at - 1), value));
        }
    }
    if puts.is_empty() {
        puts.push(put(Field::Acceptance, name, list));
    }
    puts
}

/// A JSON object is a value of its own: if it still is one over exactly its bytes, the rest of the
/// file, which is untouched, reads as before.
fn check_object(tree: &Tree<'_>, format: Format, job: &TaskEdits<'_>) -> FormatResult<()> {
    let (start, end) = (tree.start(job.task), tree.end(job.task));
    let text = spliced(tree.source, start, end, &job.splices);
    let new = json::scan(&text, 0).map_err(|_| cannot("the result would not be JSON"))?;
    check_task(tree, job, &new, 0, format)
}

fn check_document(
    tree: &Tree<'_>,
    layout: &Layout,
    jobs: &[TaskEdits<'_>],
    text: &str,
) -> FormatResult<()> {
    let broken = || cannot("the result would not be the same file otherwise");
    let new = yaml::build(text)
        .map_err(|_| broken())?
        .ok_or_else(broken)?;
    let now = layout::detect(&new).map_err(|_| broken())?;
    if now.parents != layout.parents || now.header.is_some() != layout.header.is_some() {
        return Err(broken());
    }
    let jobs: HashMap<At, &TaskEdits<'_>> = jobs.iter().map(|job| (job.task, job)).collect();
    for (&old, &at) in layout.tasks.iter().zip(&now.tasks) {
        match jobs.get(&old) {
            Some(job) => {
                let checked = check_task(tree, job, &new, at, layout.format);
                checked.map_err(|fault| fault.of(job.id))?;
            }
            None if tree.says_the_same(old, &new, at) => {}
            // What is in a container is compared by itself.
            None if layout.is_nested() => {
                let own = |tree: &Tree<'_>, layout: &Layout, map: At| -> Vec<(At, At)> {
                    let members = tree.members(map);
                    members
                        .filter(|(_, value)| !layout.is_inner(*value))
                        .collect()
                };
                let (was, is) = (own(tree, layout, old), own(&new, &now, at));
                if !same_members(tree, &was, &new, &is) {
                    return Err(broken());
                }
            }
            None => return Err(broken()),
        }
    }
    if let (Some(header), Some(now_header)) = (layout.header, now.header) {
        let rest = |tree: &Tree<'_>, header, list| -> Vec<(At, At)> {
            let members = tree.members(header);
            members.filter(|(_, value)| Some(*value) != list).collect()
        };
        let (old, now) = (
            rest(tree, header, layout.list),
            rest(&new, now_header, now.list),
        );
        if !same_members(tree, &old, &new, &now) {
            return Err(broken());
        }
    }
    Ok(())
}

fn cannot(why: &str) -> Box<Fault> {
    Fault::nowhere(format!(
        "can't be changed without touching more than that: {why}"
    ))
}

fn same_members(tree: &Tree<'_>, old: &[(At, At)], new: &Tree<'_>, now: &[(At, At)]) -> bool {
    old.len() == now.len()
        && old
            .iter()
            .zip(now)
            .all(|(a, b)| tree.says_the_same(a.0, new, b.0) && tree.says_the_same(a.1, new, b.1))
}

fn check_task(
    tree: &Tree<'_>,
    job: &TaskEdits<'_>,
    new: &Tree<'_>,
    at: At,
    format: Format,
) -> FormatResult<()> {
    if new.kind(at) != Kind::Map {
        return Err(cannot("the result would not be a task"));
    }
    let untouched = |tree: &Tree<'_>, map: At| -> Vec<(At, At)> {
        let touched = |key: At| {
            let name = tree.text(key);
            let is_named = |put: &Put| Field::of(&name) == Some(put.field) || put.name == name;
            job.puts.iter().any(is_named)
        };
        tree.members(map)
            .filter(|(key, _)| !touched(*key))
            .collect()
    };
    let (old, now) = (untouched(tree, job.task), untouched(new, at));
    if !same_members(tree, &old, new, &now) {
        return Err(cannot("other members would change"));
    }
    let story = StoryAt {
        format,
        at,
        id: job.id,
        inner: &[],
        notices: &Notices::default(),
    };
    let task = story::parse(new, &story, Place::default())?;
    let wrong = job.changes.iter().enumerate().find(|(index, change)| {
        let kind = std::mem::discriminant(**change);
        let last = job
            .changes
            .iter()
            .rposition(|other| std::mem::discriminant(*other) == kind);
        last == Some(*index) && !says(&task, change)
    });
    match wrong {
        Some(_) => Err(cannot("the result would not say what was meant")),
        None => Ok(()),
    }
}

fn says(task: &Task, change: &Change) -> bool {
    match change {
        Change::Status(status) => task.status == *status,
        Change::Attempts(count) => task.attempts.made == Some(*count),
        Change::Notes(text) => task.text.notes.as_ref() == Some(text),
        Change::Acceptance(items) => task.text.acceptance == *items,
    }
}
