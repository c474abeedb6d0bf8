//! The ids of all tasks of a file: as they are written, and derived from the text of a task that has none.
//!
//! A derived id depends on the title and on the equal titles before it, never on the position among others,
//! so that it stays when other tasks come and go. Every part that needs ids asks here.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::error::{Fault, FormatResult, shorten};
use super::fields::{Field, Fields};
use super::layout::Layout;
use super::looks::{has_no_id, headline};
use super::read;
use super::tree::{At, Kind, Tree};
use super::warning::{FormatWarning, Notices, WarningKind};
use crate::sanitize::terminal_safe;
use crate::task::{Task, TaskId};

/// The longest derived id, in characters, without what tells equal ones apart.
const MAX_CHARS: usize = 48;

/// The longest id that is taken over from a file of another tool, in bytes.
const MAX_BYTES: usize = 100;

/// The id of every task of a layout, in its order.
pub(super) fn of(tree: &Tree<'_>, layout: &Layout) -> Vec<FormatResult<TaskId>> {
    let maps = layout.tasks.iter();
    if !layout.format.rules().lenient {
        return maps.map(|at| written(tree, *at)).collect();
    }
    let raw = all_written(tree, layout);
    let is_written = |id: &FormatResult<Option<String>>| !matches!(id, Ok(None));
    if !layout.is_nested() && raw.iter().all(is_written) {
        let own = raw.into_iter().zip(&layout.tasks);
        let own = own.map(|(id, at)| read::checked_id(&id?.unwrap_or_default(), tree.start(*at)));
        return own.collect();
    }
    let mut count: HashMap<&str, usize> = HashMap::with_capacity(raw.len());
    for id in raw.iter().flatten().flatten() {
        *count.entry(id).or_default() += 1;
    }
    let mut taken: HashSet<String> = count.keys().map(|id| (*id).to_owned()).collect();
    let mut found: Vec<FormatResult<TaskId>> = Vec::with_capacity(raw.len());
    for (n, own) in raw.iter().enumerate() {
        let parent = layout.parents[n].and_then(|parent| found[parent].as_ref().ok());
        let text = match own {
            Err(_) => None,
            Ok(Some(own)) => Some(match parent {
                Some(parent) if is_of_parent(own, count[own.as_str()]) => {
                    below(parent.as_str(), own)
                }
                _ => own.clone(),
            }),
            Ok(None) => {
                let at = layout.tasks[n];
                let base = named(tree, at).or_else(|| numbered(tree, at, layout.is_leaf(n)));
                base.map(|base| free(base, &mut taken))
            }
        };
        let at = layout.tasks[n];
        found.push(match text {
            Some(text) => read::checked_id(&text, tree.start(at)),
            None => written(tree, at),
        });
    }
    found
}

/// Names of an id in files of other tools.
const OTHER_NAMES: &[&str] = &[
    "taskId",
    "task_id",
    "storyId",
    "story_id",
    "featureId",
    "feature_id",
    "issueId",
    "issue_id",
    "itemId",
    "item_id",
    "ticketId",
    "ticket_id",
    "_id",
    "uid",
    "uuid",
    "identifier",
    "key",
    "ref",
    "code",
    "number",
    "num",
    "no",
    "nr",
    "slug",
];

/// The ids that are written in the tasks of a file of another tool: as `id`, under another name that all
/// tasks beside each other have, or as the key that the task stands under.
fn all_written(tree: &Tree<'_>, layout: &Layout) -> Vec<FormatResult<Option<String>>> {
    let names = other_names(tree, layout);
    let tasks = layout.tasks.iter().enumerate();
    let ids = tasks.map(|(n, at)| {
        let own = loose(tree, *at)?;
        let name = names.get(&layout.parents[n]);
        let named = || safe(&tree.text(tree.member(*at, name?)?));
        let keyed = || safe(&tree.text(layout.keys[n]?));
        Ok(own.or_else(named).or_else(keyed))
    });
    ids.collect()
}

/// For each list of tasks the other name that its ids have, if its tasks have no `id`.
pub(super) fn other_names(
    tree: &Tree<'_>,
    layout: &Layout,
) -> HashMap<Option<usize>, &'static str> {
    let mut lists: HashMap<Option<usize>, Vec<At>> = HashMap::new();
    let tasks = layout.tasks.iter().zip(&layout.parents).zip(&layout.keys);
    let is_bare = |((at, _), key): &((&At, _), &Option<At>)| key.is_none() && has_no_id(tree, **at);
    for ((at, parent), _) in tasks.filter(is_bare) {
        lists.entry(*parent).or_default().push(*at);
    }
    let is_one = |at: At| match tree.kind(at) {
        Kind::Number => true,
        Kind::Text => {
            let text = tree.text(at);
            !text.trim().is_empty() && !text.trim().contains(' ') && text.len() <= MAX_BYTES
        }
        Kind::Null | Kind::True | Kind::False | Kind::List | Kind::Map => false,
    };
    let name_of = |items: &[At]| {
        if items.is_empty() {
            return None;
        }
        OTHER_NAMES.iter().copied().find(|name| {
            let mut seen = HashSet::new();
            let mut ids = items.iter().map(|at| tree.member(*at, name));
            ids.all(|id| id.is_some_and(|id| is_one(id) && seen.insert(tree.text(id))))
        })
    };
    let named = lists.into_iter();
    named
        .filter_map(|(parent, items)| Some((parent, name_of(&items)?)))
        .collect()
}

/// The id as it is written in a task.
pub(super) fn written(tree: &Tree<'_>, at: At) -> FormatResult<TaskId> {
    if tree.kind(at) != Kind::Map {
        return read::mismatch(tree, at, "a task (an object with an `id`)");
    }
    let fields = Fields::of(tree, at);
    if let Some(id) = fields.get(tree, Field::Id) {
        return read::id(tree, id);
    }
    let whose = headline(tree, &fields, at).map_or(String::new(), |at| {
        format!(" for the task \"{}\"", shorten(&tree.text(at), 40))
    });
    let message = format!("expected an `id`{whose}, found none");
    Err(Fault::at(tree.start(at), message))
}

/// An id that means something only beside its siblings.
fn is_of_parent(own: &str, count: usize) -> bool {
    count > 1 || own.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn below(parent: &str, own: &str) -> String {
    match own
        .strip_prefix(parent)
        .and_then(|rest| rest.strip_prefix('.'))
    {
        Some(_) => own.to_owned(),
        None => format!("{parent}.{own}"),
    }
}

/// The id of a task in a file of another tool, made safe; `None` where it has none.
fn loose(tree: &Tree<'_>, at: At) -> FormatResult<Option<String>> {
    let id = tree
        .member(at, "id")
        .filter(|at| tree.kind(*at) != Kind::Null);
    let Some(id) = id.or_else(|| Fields::of(tree, at).get(tree, Field::Id)) else {
        return Ok(None);
    };
    if matches!(tree.kind(id), Kind::List | Kind::Map) {
        return read::mismatch(tree, id, "a text or a number as id");
    }
    let text = tree.text(id);
    if is_no_name(&text) {
        return read::id(tree, id).map(|id| Some(id.to_string()));
    }
    Ok(safe(&text))
}

/// Returns true for what is no mere name: an option, a path, a word for a shell, and what is empty, too long
/// or can't be seen.
fn is_no_name(text: &str) -> bool {
    const HARMLESS: &str = "[]{},!?'\"=%*^";
    let is_mark = |c: char| c.is_alphanumeric() || HARMLESS.contains(c);
    let is_shown = |c: char| !c.is_ascii() && terminal_safe(c.encode_utf8(&mut [0; 4])).contains(c);
    let fits = |c: char| is_mark(c) || is_shown(c) || TaskId::parse(&format!("x{c}x")).is_ok();
    let text = text.trim();
    text.is_empty()
        || text.len() > MAX_BYTES
        || text.starts_with(['-', '.', '~'])
        || !text.chars().all(fits)
}

/// The text with what an id can't have replaced; `None` where nothing is left.
pub(super) fn safe(text: &str) -> Option<String> {
    if TaskId::parse(text).is_ok() {
        return Some(text.to_owned());
    }
    let mark = |c: char| {
        let alone = c.to_string();
        let fits = c == ' ' || TaskId::parse(&format!("x{alone}")).is_ok();
        if fits { c } else { '-' }
    };
    let made: String = text.trim().chars().map(mark).collect();
    let made = made.trim_matches(['-', '.', '~', ' ']);
    if made.is_empty() {
        return None;
    }
    if made.len() <= MAX_BYTES {
        return Some(made.to_owned());
    }
    let mut end = MAX_BYTES;
    while !made.is_char_boundary(end) {
        end -= 1;
    }
    let cut = made[..end].trim_end_matches(['-', '.', ' ']);
    Some(format!("{cut}-{}", short_hash(text)))
}

/// An id out of the text of a task.
fn named(tree: &Tree<'_>, at: At) -> Option<String> {
    let text = headline(tree, &Fields::of(tree, at), at)?;
    let text = tree.text(text);
    text.trim().lines().next().map(slug)
}

/// An id out of the first number of a container that has no text, such as `phase-1`.
fn numbered(tree: &Tree<'_>, at: At, is_leaf: bool) -> Option<String> {
    if is_leaf || tree.kind(at) != Kind::Map {
        return None;
    }
    let mut members = tree.members(at);
    let (key, number) = members.find(|(_, value)| tree.kind(*value) == Kind::Number)?;
    Some(slug(&format!("{} {}", tree.text(key), tree.text(number))))
}

/// The id, with a number behind it if it is taken.
pub(super) fn free(base: String, taken: &mut HashSet<String>) -> String {
    let mut id = base.clone();
    let mut number = 2;
    while !taken.insert(id.clone()) {
        id = format!("{base}-{number}");
        number += 1;
    }
    id
}

/// A readable id for a title: its words, as many as fit.
pub(super) fn slug(title: &str) -> String {
    let title = title.to_lowercase();
    let words = title.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let normal = words.join("-");
    let fits = |text: &str| text.chars().count() <= MAX_CHARS && text.len() <= MAX_BYTES;
    if normal.is_empty() {
        return format!("task-{}", short_hash(title.trim()));
    }
    if fits(&normal) {
        return normal;
    }
    let mut cut = String::new();
    for word in words {
        let longer = if cut.is_empty() {
            word.to_owned()
        } else {
            format!("{cut}-{word}")
        };
        if !fits(&longer) {
            break;
        }
        cut = longer;
    }
    if cut.is_empty() {
        cut = "task".to_owned();
    }
    format!("{cut}-{}", short_hash(&normal))
}

/// Returns true if the id of a task is the one that its title gives.
pub fn has_derived_id(task: &Task) -> bool {
    let made = slug(task.text.title.trim());
    let id = task.id.as_str();
    let count = id
        .strip_prefix(&made)
        .and_then(|rest| rest.strip_prefix('-'));
    id == made || count.is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit()))
}

fn short_hash(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(3).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Turns what tasks say about others into the ids that these have: an id among the siblings first, then in
/// the whole file, then a title. A condition in words is no task: it becomes text.
pub(super) fn resolve(
    tree: &Tree<'_>,
    layout: &Layout,
    tasks: &mut [Task],
    warnings: &mut Vec<FormatWarning>,
) {
    warn_of_links(tree, layout, tasks, warnings);
    if tasks.iter().all(|task| task.links.depends_on.is_empty()) {
        return;
    }
    if layout.format.rules().lenient {
        resolve_names(tree, layout, tasks);
    }
    let known: HashSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    for (n, task) in tasks.iter_mut().enumerate() {
        if task.links.depends_on.iter().any(|on| !known.contains(on)) {
            let fields = Fields::of(tree, layout.tasks[n]);
            let lenient = layout.format.rules().lenient;
            let notices = Notices::default();
            for (offset, message) in take_words(tree, &fields, task, &known, lenient) {
                notices.add(WarningKind::OddValue, offset, message);
            }
            warnings.extend(notices.take(Some(&task.id), task.place));
        }
    }
}

/// Names of members that may name other tasks without an order between them.
const RELATIONS: &[&str] = &[
    "related",
    "relatedTo",
    "related_to",
    "seeAlso",
    "see_also",
    "duplicates",
];

/// Warns of members that name other tasks of the file and are not read as dependencies.
fn warn_of_links(
    tree: &Tree<'_>,
    layout: &Layout,
    tasks: &[Task],
    warnings: &mut Vec<FormatWarning>,
) {
    // A number can mean anything.
    let telling = |id: &TaskId| {
        id.as_str()
            .bytes()
            .any(|b| !b.is_ascii_digit() && b != b'.')
    };
    let known: HashSet<&str> = tasks
        .iter()
        .filter(|task| telling(&task.id))
        .map(|task| task.id.as_str())
        .collect();
    for (task, at) in tasks.iter().zip(&layout.tasks) {
        for (key, value) in tree.members(*at) {
            let name = tree.text(key);
            let is_links = matches!(tree.kind(value), Kind::Text | Kind::List)
                && Field::of(&name).is_none()
                && !layout.is_inner(value)
                && !RELATIONS.contains(&&*name)
                && !OTHER_NAMES.contains(&&*name);
            if !is_links {
                continue;
            }
            let mut texts = Vec::new();
            let is_read = read::loose_ids(tree, value, &mut texts).is_ok();
            let names = |text: &String| known.contains(text.as_str()) && *text != task.id.as_str();
            if !is_read || texts.is_empty() || !texts.iter().all(names) {
                continue;
            }
            let shown = shorten(&texts.join(", "), 60);
            let message =
                format!("`{name}` names other tasks ({shown}) and is not read: it sets no order");
            let notices = Notices::default();
            notices.add(WarningKind::NotRead, tree.start(value), message);
            warnings.extend(notices.take(Some(&task.id), task.place));
        }
    }
}

/// Finds what a text that is no id says about other tasks: the ids of this file in it. Without any it is a
/// condition, which becomes text of the task.
fn take_words(
    tree: &Tree<'_>,
    fields: &Fields,
    task: &mut Task,
    known: &HashSet<TaskId>,
    lenient: bool,
) -> Vec<(usize, String)> {
    let mut said = Vec::new();
    let links: &[Field] = if lenient {
        &[Field::DependsOn, Field::Dependencies, Field::After]
    } else {
        &[Field::After]
    };
    let values = links.iter().flat_map(|field| fields.all(tree, *field));
    for at in values.collect::<Vec<_>>() {
        let name = tree.text(at - 1);
        let mut texts = Vec::new();
        if read::loose_ids(tree, at, &mut texts).is_err() {
            continue;
        }
        let may_be_prose = CONDITIONS.contains(&&*name);
        let is_prose = |text: &str| may_be_prose || text.contains(char::is_whitespace);
        for text in texts.iter().filter(|text| is_prose(text)) {
            let id = safe(text).and_then(|id| TaskId::parse(&id).ok());
            let Some(id) = id.filter(|id| !known.contains(id)) else {
                continue;
            };
            let Some(place) = task.links.depends_on.iter().position(|on| *on == id) else {
                continue;
            };
            task.links.depends_on.remove(place);
            let shown = shorten(text, 60);
            let mut named = ids_in(text, known);
            named.retain(|on| *on != task.id);
            if named.is_empty() {
                let text = format!("\n\nPrerequisites: {text}");
                task.text.description.push_str(&text);
                let message = format!("\"{shown}\" is no task of this file; it is read as text");
                said.push((tree.start(at), message));
                continue;
            }
            let ids: Vec<&str> = named.iter().map(TaskId::as_str).collect();
            let ids = ids.join(", ");
            said.push((tree.start(at), format!("\"{shown}\" is read as {ids}")));
            named.retain(|on| !task.links.depends_on.contains(on));
            task.links.depends_on.splice(place..place, named);
        }
    }
    said
}

/// Names of dependencies that people also use for prose.
const CONDITIONS: &[&str] = &[
    "prerequisites",
    "prereqs",
    "requires",
    "needs",
    "depends",
    "blockers",
];

/// The ids that stand in a text as words of their own, in its order.
fn ids_in(text: &str, known: &HashSet<TaskId>) -> Vec<TaskId> {
    let in_id = |c: char| c.is_alphanumeric() || "-_.#".contains(c);
    let words = text.split(|c: char| !in_id(c));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let mut found: Vec<TaskId> = Vec::new();
    for word in words.filter(|word| word.bytes().any(|b| b.is_ascii_digit())) {
        let id = TaskId::parse(word).ok().filter(|id| known.contains(id));
        found.extend(id.filter(|id| !found.contains(id)));
    }
    found
}

fn resolve_names(tree: &Tree<'_>, layout: &Layout, tasks: &mut [Task]) {
    let known: HashSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    let written = all_written(tree, layout);
    for ((n, task), raw) in tasks.iter().enumerate().zip(written) {
        let raw = raw.ok().flatten();
        let title = slug(&task.text.title);
        let key = layout.keys[n].and_then(|key| safe(&tree.text(key)));
        for name in raw.into_iter().chain(key).chain([title]) {
            by_name.entry(name).or_default().push(n);
        }
    }
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    for (n, task) in tasks.iter_mut().enumerate() {
        let meant = |on: &TaskId| -> TaskId {
            let named = by_name
                .get(on.as_str())
                .or_else(|| by_name.get(&slug(on.as_str())));
            let named: Vec<usize> = named.into_iter().flatten().copied().collect();
            let others = || named.iter().copied().filter(|other| *other != n);
            let parent = layout.parents[n];
            let sibling = others().find(|other| layout.parents[*other] == parent);
            let outermost = || others().min_by_key(|other| depth(layout, *other));
            match sibling.filter(|_| parent.is_some()) {
                Some(sibling) => ids[sibling].clone(),
                None if known.contains(on) => on.clone(),
                None => outermost().map_or_else(|| on.clone(), |other| ids[other].clone()),
            }
        };
        let mut resolved: Vec<TaskId> = Vec::new();
        for on in &task.links.depends_on {
            let on = meant(on);
            if !resolved.contains(&on) {
                resolved.push(on);
            }
        }
        task.links.depends_on = resolved;
    }
}

fn depth(layout: &Layout, mut task: usize) -> usize {
    let mut depth = 0;
    while let Some(parent) = layout.parents[task] {
        task = parent;
        depth += 1;
    }
    depth
}
