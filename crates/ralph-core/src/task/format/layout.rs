//! Which format a file has and where its tasks stand, by what is in it, never by its name.
//!
//! The list is chosen by its name, and by what its items look like where the name says nothing. Lists inside
//! of items make containers and leaves. Looks at keys and kinds only; reads no task.

use super::error::{Fault, FormatResult, line_column};
use super::fields::Field;
use super::looks::{self, Looks};
use super::tree::{At, Kind, Tree};
use super::{Format, Meta, read, status};

/// Where the tasks of a file are.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) format: Format,
    /// The list that holds the tasks; `None` for a file that is one task.
    pub(super) list: Option<At>,
    /// In the order of the file: a container before what is in it.
    pub(super) tasks: Vec<At>,
    /// The container of each task, by position.
    pub(super) parents: Vec<Option<usize>>,
    /// The key of each task that stands in an object instead of a list, by position.
    pub(super) keys: Vec<Option<At>>,
    /// The lists inside of tasks that hold tasks, in order.
    pub(super) inner: Vec<At>,
    /// The object around the list.
    pub(super) header: Option<At>,
    /// The names that lead to the list, and those of the lists inside of its items, by depth.
    pub(super) path: Vec<String>,
    pub(super) inner_names: Vec<Vec<String>>,
    /// Lists that look like work and are not read.
    pub(super) not_read: Vec<(String, At)>,
}

impl Layout {
    /// Returns true if no other task of the file is in this one.
    pub(super) fn is_leaf(&self, task: usize) -> bool {
        // What is in a container comes right behind it.
        self.parents
            .get(task + 1)
            .is_none_or(|parent| *parent != Some(task))
    }

    pub(super) fn is_nested(&self) -> bool {
        !self.inner.is_empty()
    }

    /// Returns true if the list stands deeper than in the object at the root.
    pub(super) fn is_wrapped(&self) -> bool {
        self.path.len() > 1
    }

    pub(super) fn is_inner(&self, at: At) -> bool {
        self.inner.binary_search(&at).is_ok()
    }

    fn of_task(format: Format, task: At) -> Self {
        Self {
            format,
            list: None,
            tasks: vec![task],
            parents: vec![None],
            keys: vec![None],
            inner: Vec::new(),
            header: None,
            path: Vec::new(),
            inner_names: Vec::new(),
            not_read: Vec::new(),
        }
    }
}

/// Names of what a file says about its project: the project's, the branch's, title, description;
/// of each, the first that is there counts.
pub(super) const META: [&[&str]; 4] = [
    &["project", "projectName", "project_name", "name"],
    &["branchName", "branch_name", "branch"],
    &["title"],
    &["description"],
];

/// The name that all formats use.
pub(super) const TASKS: &str = "tasks";

/// Other names that people give to the list.
const OTHER_LISTS: &[&str] = &[
    "items",
    "prd_items",
    "prdItems",
    "requirements",
    "issues",
    "bugs",
    "milestones",
    "phases",
    "chunks",
    "epics",
    "todos",
    "todo",
    "workItems",
    "work_items",
    "tickets",
    "backlog",
    "checklist",
    "subtasks",
    "specs",
    "stages",
    "sprints",
    "modules",
    "actionItems",
    "actions",
    "areas",
    "batches",
    "categories",
    "components",
    "days",
    "deliverables",
    "entries",
    "fixes",
    "goals",
    "groups",
    "improvements",
    "iterations",
    "objectives",
    "plan",
    "queue",
    "releases",
    "sections",
    "tracks",
    "userTasks",
    "waves",
    "weeks",
    "work",
    "workPackages",
    "workstreams",
];

/// Lists of objects that are records of something, not work.
const RECORDS: &[&str] = &[
    "acceptanceCriteria",
    "artifacts",
    "assumptions",
    "attempts",
    "changelog",
    "commits",
    "constraints",
    "contributors",
    "criteria",
    "decisions",
    "dependencies",
    "endpoints",
    "environments",
    "events",
    "evidence",
    "files",
    "glossary",
    "history",
    "iterations",
    "kpis",
    "libraries",
    "links",
    "log",
    "logs",
    "members",
    "metrics",
    "notes",
    "openQuestions",
    "people",
    "personas",
    "questions",
    "references",
    "resources",
    "reviews",
    "risks",
    "runs",
    "services",
    "sessions",
    "stakeholders",
    "steps",
    "team",
    "technologies",
    "tests",
    "testCases",
    "testResults",
    "tools",
    "updates",
    "users",
];

/// Names of lists inside of an item that hold its parts.
const INNER: &[&str] = &[
    "tasks",
    "subtasks",
    "subTasks",
    "sub_tasks",
    "userStories",
    "user_stories",
    "stories",
    "features",
    "phases",
    "milestones",
    "epics",
    "children",
];

/// Names of lists inside of an item that hold parts only if these say how they stand.
const INNER_MARKED: &[&str] = &[
    "items",
    "requirements",
    "issues",
    "bugs",
    "chunks",
    "todos",
    "checklist",
    "workItems",
    "work_items",
    "tickets",
];

/// The deepest level of lists inside of lists.
const MAX_LEVELS: usize = 4;

pub(super) fn detect(tree: &Tree<'_>) -> FormatResult<Layout> {
    let root = 0;
    match tree.kind(root) {
        Kind::List => Ok(of_list(tree, root, None, Vec::new())),
        Kind::Map => of_map(tree, root),
        _ => read::mismatch(tree, root, "a list of tasks, or an object"),
    }
}

/// A list that may be the one with the tasks.
#[derive(Debug, Clone)]
struct Candidate {
    path: Vec<String>,
    header: At,
    list: At,
    /// The place of its name among those that formats have for it; lower wins.
    rank: usize,
    looks: Looks,
}

/// The ranks of names that no format has.
const OTHER: usize = 100;
const UNKNOWN: usize = 101;

impl Candidate {
    fn is_known(&self) -> bool {
        self.rank < OTHER
    }

    fn shown(&self, tree: &Tree<'_>) -> String {
        let (line, _) = line_column(tree.source.as_bytes(), tree.start(self.list));
        format!("`{}` on line {line}", self.path.join("."))
    }
}

/// A name without what people spell in different ways.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn has_name(names: &[&str], name: &str) -> bool {
    let first = |text: &str| text.bytes().next().map(|b| b.to_ascii_lowercase());
    let is_same = |known: &&str| first(known) == first(name) && plain(known) == plain(name);
    names.contains(&name) || names.iter().any(is_same)
}

/// The place of a list's name among those that formats have.
fn rank(name: &str) -> usize {
    let own = Format::TREES
        .iter()
        .flat_map(|format| format.rules().own_lists);
    let mut known = own.copied().chain([TASKS]);
    match known.position(|known| known == name) {
        Some(rank) => rank,
        None if has_name(OTHER_LISTS, name) => OTHER,
        None if own_list_name(name) => OTHER,
        None => UNKNOWN,
    }
}

/// Returns true for a name of a format's list in another spelling.
fn own_list_name(name: &str) -> bool {
    let mut own = Format::TREES
        .iter()
        .flat_map(|format| format.rules().own_lists);
    let name = plain(name);
    plain(TASKS) == name || own.any(|known| plain(known) == name)
}

/// The lists of an object; the last of a name counts.
fn candidates(tree: &Tree<'_>, map: At, path: &[String]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for (key, list) in tree.members(map) {
        let name = tree.text(key);
        let keyed = || rank(&name) <= OTHER && is_keyed(tree, list);
        if !is_list(tree, list) && !keyed() {
            continue;
        }
        let mut path = path.to_vec();
        path.push(name.clone().into_owned());
        found.retain(|known| known.path != path);
        let rank = rank(&name);
        if rank == UNKNOWN && has_name(RECORDS, &name) {
            continue;
        }
        found.push(Candidate {
            path,
            header: map,
            list,
            rank,
            looks: Looks::of_list(tree, list),
        });
    }
    found
}

fn of_map(tree: &Tree<'_>, root: At) -> FormatResult<Layout> {
    let mut here = candidates(tree, root, &[]);
    // The name says that it is work, even if its items say no more than a title.
    here.iter_mut()
        .filter(|c| c.rank == OTHER)
        .for_each(|c| c.looks.work |= c.looks.titled);
    let one_task = tree.member(root, "id").is_some();
    let mut chosen = best_known(&here);
    if chosen.is_none() {
        refuse_columns(tree, &here)?;
        chosen = best_other(tree, here.iter(), one_task)?;
    }
    if chosen.is_none() && one_task && !here.iter().any(Candidate::is_known) {
        let format = by_tasks(tree, &[root]).unwrap_or(Format::TREES[0]);
        return Ok(Layout::of_task(format, root));
    }
    if chosen.is_none() && is_keyed_work(tree, root) {
        let mut layout = of_list(tree, root, None, Vec::new());
        layout.format = lenient();
        return Ok(layout);
    }
    if chosen.is_none() {
        chosen = below(tree, root, &[])?;
    }
    // Nothing but texts, or nothing at all.
    let chosen = chosen.or_else(|| here.iter().find(|c| c.is_known()).cloned());
    let Some(chosen) = chosen else {
        if let Some(other) = tree.member(root, TASKS) {
            return read::mismatch(tree, other, "a list of tasks");
        }
        let message = "expected a list of tasks under `tasks` or `userStories`, or one task with an `id`, found neither";
        return Err(Fault::at(tree.start(root), message));
    };
    let mut layout = of_list(tree, chosen.list, Some(chosen.header), chosen.path);
    if chosen.rank >= OTHER || layout.is_wrapped() || !is_list(tree, chosen.list) {
        layout.format = lenient();
    }
    let (around, path) = around(tree, &layout.path);
    let tags = in_objects(tree, around, &path).filter(|other| other.rank <= OTHER);
    let marked = here
        .into_iter()
        .chain(tags)
        .filter(|other| other.list != chosen.list && other.looks.work && other.looks.marked);
    let marked = marked.map(|other| (other.path.join("."), other.list));
    layout.not_read.extend(marked);
    Ok(layout)
}

/// Refuses a board with a list for each status: a completion would move a task from one to another.
fn refuse_columns(tree: &Tree<'_>, all: &[Candidate]) -> FormatResult<()> {
    let names_status = |c: &&Candidate| {
        let name = c.path.last().and_then(|name| status::synonym(name));
        name.is_some() && c.looks.objects
    };
    let columns: Vec<&Candidate> = all.iter().filter(names_status).collect();
    let [first, _, ..] = &columns[..] else {
        return Ok(());
    };
    let names: Vec<String> = columns.iter().map(|c| c.shown(tree)).collect();
    let message = format!(
        "expected one list of tasks, found one for each status: {}; put them into one list `tasks`, each with a `status`",
        names.join(", ")
    );
    Err(Fault::at(tree.start(first.list), message))
}

/// The list of objects that a format's name names, one that says how its items stand before others.
fn best_known(all: &[Candidate]) -> Option<Candidate> {
    let known = all.iter().filter(|c| c.is_known() && c.looks.objects);
    known
        .min_by_key(|c| (!c.looks.marked, !c.looks.work, c.rank))
        .cloned()
}

/// The only list under another name whose items look like work.
fn best_other<'c>(
    tree: &Tree<'_>,
    all: impl Iterator<Item = &'c Candidate>,
    only_marked: bool,
) -> FormatResult<Option<Candidate>> {
    let others = all.filter(|c| !c.is_known() && c.looks.work);
    let mut others: Vec<&Candidate> = others.collect();
    if only_marked || others.iter().any(|c| c.looks.marked) {
        others.retain(|c| c.looks.marked);
    }
    if others.iter().any(|c| c.rank == OTHER) {
        others.retain(|c| c.rank == OTHER);
    }
    match &others[..] {
        [] => Ok(None),
        [one] => Ok(Some((*one).clone())),
        [first, ..] => {
            let names: Vec<String> = others.iter().map(|c| c.shown(tree)).collect();
            let message = format!(
                "expected one list of tasks, found several that could be it: {}; rename one to `tasks`",
                names.join(", ")
            );
            Err(Fault::at(tree.start(first.list), message))
        }
    }
}

/// The object around that of a list, or the root, and the names that lead to it.
fn around(tree: &Tree<'_>, path: &[String]) -> (At, Vec<String>) {
    let names = &path[..path.len().saturating_sub(2)];
    let object = names.iter().try_fold(0, |map, name| tree.member(map, name));
    (object.unwrap_or(0), names.to_vec())
}

/// The lists inside of objects in an object.
fn in_objects(tree: &Tree<'_>, outer: At, path: &[String]) -> impl Iterator<Item = Candidate> {
    let maps = tree.members(outer);
    let maps = maps.filter(|(_, at)| tree.kind(*at) == Kind::Map);
    maps.flat_map(move |(key, map)| {
        let name = tree.text(key).into_owned();
        candidates(tree, map, &[path, &[name]].concat())
    })
}

/// The deepest object inside of others that is searched for a list.
const MAX_WRAPPERS: usize = 3;

/// The list inside of an object, such as a tag, or of one in that.
fn below(tree: &Tree<'_>, outer: At, path: &[String]) -> FormatResult<Option<Candidate>> {
    let mut found = Vec::new();
    for (key, map) in tree
        .members(outer)
        .filter(|(_, at)| tree.kind(*at) == Kind::Map)
    {
        let mut path = path.to_vec();
        path.push(tree.text(key).into_owned());
        let here = candidates(tree, map, &path);
        let known = best_known(&here).filter(|c| c.looks.work);
        let named = here.iter().filter(|c| c.rank <= OTHER);
        let one = match known {
            Some(known) => Some(known),
            None => best_other(tree, named, false)?,
        };
        let empty = || {
            here.iter()
                .find(|c| c.rank < OTHER && !c.looks.any)
                .cloned()
        };
        let mut one = one.or_else(empty);
        if one.is_none() && path.len() < MAX_WRAPPERS {
            one = below(tree, map, &path)?;
        }
        found.extend(one);
    }
    if found.len() > 1 && found.iter().any(|c| c.looks.any) {
        found.retain(|c| c.looks.any);
    }
    let main = found
        .iter()
        .find(|c| c.path.iter().any(|name| name == "master"));
    match (&found[..], main) {
        ([], _) => Ok(None),
        ([one], _) | (_, Some(one)) => Ok(Some(one.clone())),
        ([first, ..], None) => {
            let names: Vec<String> = found.iter().map(|c| c.shown(tree)).collect();
            let message = format!(
                "expected one list of tasks, or one under `master`, found {}",
                names.join(", ")
            );
            Err(Fault::at(tree.start(first.list), message))
        }
    }
}

fn is_list(tree: &Tree<'_>, at: At) -> bool {
    tree.kind(at) == Kind::List
}

/// Returns true for an object whose members are all objects, the way some write a list: each item under its id.
fn is_keyed(tree: &Tree<'_>, at: At) -> bool {
    let is_item =
        |(key, value): (At, At)| tree.kind(value) == Kind::Map && !tree.is_text(key, "<<");
    let looks = || Looks::of_list(tree, at);
    tree.kind(at) == Kind::Map
        && tree.members(at).next().is_some()
        && tree.members(at).all(is_item)
        && (looks().work || looks().titled)
}

/// Returns true for an object that has nothing in it but items that say how they stand.
fn is_keyed_work(tree: &Tree<'_>, at: At) -> bool {
    let says = |item: At| {
        let looks = Looks::of_item(tree, item);
        looks.titled && looks.marked
    };
    is_keyed(tree, at) && tree.items(at).all(says)
}

/// The format for files of all kinds of tools.
fn lenient() -> Format {
    let mut formats = Format::TREES.into_iter();
    let found = formats.find(|format| format.rules().lenient);
    found.unwrap_or(Format::TREES[0])
}

fn of_list(tree: &Tree<'_>, list: At, header: Option<At>, path: Vec<String>) -> Layout {
    let mut layout = Layout {
        list: Some(list),
        tasks: Vec::new(),
        parents: Vec::new(),
        keys: Vec::new(),
        header,
        path,
        ..Layout::of_task(Format::TREES[0], list)
    };
    walk(tree, list, None, 0, &mut layout);
    let own = |format: &Format| {
        let names = format.rules().own_lists;
        layout
            .path
            .last()
            .is_some_and(|name| names.contains(&&**name))
    };
    let marked = |format: &Format| {
        let mark = format.rules().project_mark;
        let member = header.zip(mark);
        member.is_some_and(|(root, mark)| tree.member(root, mark).is_some())
    };
    let by_name = Format::TREES.into_iter().find(own);
    let named_by = || {
        let foreign =
            |at: &At| looks::is_work_without_id(tree, *at) || looks::has_odd_values(tree, *at);
        let loose = layout.is_nested() || layout.tasks.iter().any(foreign);
        loose.then(lenient)
    };
    let by_header = || Format::TREES.into_iter().find(marked);
    let format = by_name
        .or_else(named_by)
        .or_else(|| by_tasks(tree, &layout.tasks))
        .or_else(by_header);
    layout.format = format.unwrap_or(Format::TREES[0]);
    layout
}

/// Adds the items of a list, each followed by what is in it.
fn walk(tree: &Tree<'_>, list: At, parent: Option<usize>, level: usize, layout: &mut Layout) {
    let names = if level + 1 < MAX_LEVELS {
        inner_names(tree, list)
    } else {
        Vec::new()
    };
    let is_keyed = tree.kind(list) == Kind::Map;
    for item in tree.items(list) {
        let position = layout.tasks.len();
        layout.tasks.push(item);
        layout.parents.push(parent);
        layout.keys.push(is_keyed.then(|| item - 1));
        if names.is_empty() || tree.kind(item) != Kind::Map {
            continue;
        }
        for (name, _, inner) in inner_lists(tree, item) {
            if !names.contains(&name) {
                continue;
            }
            layout.inner.push(inner);
            if layout.inner_names.len() <= level {
                layout.inner_names.push(Vec::new());
            }
            let known = &mut layout.inner_names[level];
            if !known.contains(&name) {
                known.push(name);
            }
            walk(tree, inner, Some(position), level + 1, layout);
        }
    }
}

/// The way a name speaks for a list inside of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InnerName {
    /// It holds parts.
    Parts,
    /// It holds parts if these say how they stand.
    Marked,
    /// It holds parts if these say how they stand and no item around them does.
    Other,
}

fn inner_name(name: &str) -> Option<InnerName> {
    if has_name(INNER, name) {
        return Some(InnerName::Parts);
    }
    if has_name(INNER_MARKED, name) {
        return Some(InnerName::Marked);
    }
    match Field::of(name) {
        Some(Field::Steps) => Some(InnerName::Other),
        Some(_) => None,
        None if has_name(RECORDS, name) => None,
        None => Some(InnerName::Other),
    }
}

/// The lists of objects in an item that may hold its parts.
fn inner_lists(tree: &Tree<'_>, item: At) -> impl Iterator<Item = (String, InnerName, At)> {
    tree.members(item).filter_map(|(key, list)| {
        if !matches!(tree.kind(list), Kind::List | Kind::Map) {
            return None;
        }
        let name = tree.text(key);
        let kind = inner_name(&name)?;
        let has_objects = match tree.kind(list) {
            Kind::List => tree.children(list).any(|at| tree.kind(at) == Kind::Map),
            _ => kind == InnerName::Parts && is_keyed(tree, list),
        };
        has_objects.then(|| (name.into_owned(), kind, list))
    })
}

/// The names of the lists inside of these items that hold parts of them.
fn inner_names(tree: &Tree<'_>, list: At) -> Vec<String> {
    struct InnerListSeen {
        name: String,
        kind: InnerName,
        looks: Looks,
        /// An item around such a list says how it stands.
        outer_marked: bool,
    }
    let mut seen: Vec<InnerListSeen> = Vec::new();
    for item in tree.items(list).filter(|at| tree.kind(*at) == Kind::Map) {
        for (name, kind, inner) in inner_lists(tree, item) {
            let looks = Looks::of_list(tree, inner);
            let outer_marked = Looks::of_item(tree, item).marked;
            match seen.iter_mut().find(|known| known.name == name) {
                Some(known) => {
                    known.looks.join(looks);
                    known.outer_marked |= outer_marked;
                }
                None => seen.push(InnerListSeen {
                    name,
                    kind,
                    looks,
                    outer_marked,
                }),
            }
        }
    }
    // Parts that don't say how they stand are text of an item that does.
    let is_part = |seen: &InnerListSeen| match seen.kind {
        InnerName::Parts => seen.looks.marked || (seen.looks.titled && !seen.outer_marked),
        InnerName::Marked => seen.looks.marked,
        InnerName::Other => seen.looks.marked && seen.looks.work && !seen.outer_marked,
    };
    let parts = seen.into_iter().filter(is_part);
    parts.map(|seen| seen.name).collect()
}

/// Describes what is in the lists inside of items: whether there are any that may hold parts by their name,
/// and how these look.
pub(super) fn inner_looks(tree: &Tree<'_>, list: At) -> Looks {
    let mut all = Looks::default();
    let items = tree.items(list).filter(|at| tree.kind(*at) == Kind::Map);
    for (_, kind, inner) in items.flat_map(|item| inner_lists(tree, item)) {
        let looks = Looks::of_list(tree, inner);
        all.join(Looks {
            any: kind != InnerName::Other,
            ..looks
        });
    }
    all
}

/// Returns true for the member by which Taskmaster says that a task has no parts.
pub(super) fn has_no_parts(tree: &Tree<'_>, name: &str, value: At) -> bool {
    name == "subtasks" && is_list(tree, value) && tree.children(value).next().is_none()
}

/// The format that members of tasks speak for, if they do; of several the first in the table.
fn by_tasks(tree: &Tree<'_>, tasks: &[At]) -> Option<Format> {
    let mut stronger = &Format::TREES[1..];
    let mut found = None;
    for task in tasks.iter().filter(|at| tree.kind(**at) == Kind::Map) {
        for (key, value) in tree.members(*task) {
            let name = tree.text(key);
            let speaks = |format: &Format| (format.rules().marks_task)(tree, &name, value);
            if let Some(at) = stronger.iter().position(speaks) {
                found = Some(stronger[at]);
                stronger = &stronger[..at];
            }
        }
        if stronger.is_empty() {
            break;
        }
    }
    found
}

/// Returns what the object around the list says about the project. What is no text is passed over: it is
/// not ralph's.
pub(super) fn meta(tree: &Tree<'_>, layout: &Layout) -> Meta {
    match layout.header {
        // What stands around the object with the list is about the same project.
        Some(header) => meta_of(tree, &[header, 0]),
        None => Meta::default(),
    }
}

/// The same for these objects, the first that says a thing winning.
pub(super) fn meta_of(tree: &Tree<'_>, roots: &[At]) -> Meta {
    let text = |at: At| {
        let text = read::text(tree, at, "").ok()?;
        (!text.trim().is_empty()).then_some(text)
    };
    let first = |keys: &[&str]| {
        roots
            .iter()
            .flat_map(|root| keys.iter().filter_map(|key| tree.member(*root, key)))
            .find_map(|at| text(at).or_else(|| tree.member(at, "name").and_then(text)))
    };
    let [project, branch_name, title, description] = META.map(first);
    Meta {
        project,
        branch_name,
        title,
        description,
    }
}
