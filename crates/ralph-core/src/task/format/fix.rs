//! Puts right in a task file what needs no decision: ids that are missing or there twice, and statuses with a
//! typo in them. Each is one value; all else stays as it is.
//!
//! Every result is read again before it is given back: each task says what it said before, but for that.

use std::collections::{HashMap, HashSet};

use super::error::{Fault, FormatResult};
use super::fields::{Field, Fields};
use super::layout::{self, Layout};
use super::render::Value;
use super::splice::{self, Splice, spliced};
use super::status::{self, Put, Vocabulary, put};
use super::tree::{At, Kind, Tree};
use super::{
    FormatError, LineColumn, ids, line_column, looks, parse_bytes, parse_tree, read, rules,
};
use crate::task::TaskId;

/// A task file with what could be put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    pub bytes: Vec<u8>,
    /// In the order of the file; none where there is nothing to put right.
    pub changes: Vec<FixedValue>,
    /// True for a file of a format in which nothing is ever put right.
    pub is_left: bool,
}

/// One value that is another now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedValue {
    pub task: TaskId,
    /// The place of the task in the file as it was.
    pub place: LineColumn,
    pub message: String,
}

/// Writes ids into tasks that have none, gives tasks with an id that is taken one of their own if nothing depends
/// on it, and corrects statuses that are misspelled.
pub fn fix(file_name: &str, bytes: &[u8]) -> Result<Fixed, FormatError> {
    fixed(file_name, bytes).map_err(|fault| fault.into_error(file_name, bytes))
}

fn fixed(file_name: &str, bytes: &[u8]) -> FormatResult<Fixed> {
    let nothing = || Fixed {
        bytes: bytes.to_vec(),
        changes: Vec::new(),
        is_left: rules::named(file_name).is_some(),
    };
    if rules::named(file_name).is_some() {
        return Ok(nothing());
    }
    let Some(tree) = parse_tree(file_name, bytes)? else {
        return Ok(nothing());
    };
    let layout = layout::detect(&tree)?;
    let mut fixes = Fixes {
        tree: &tree,
        layout: &layout,
        bytes,
        splices: Vec::new(),
        changes: Vec::new(),
    };
    let ids = fixes.ids();
    fixes.statuses(&ids);
    let Fixes {
        splices, changes, ..
    } = fixes;
    if changes.is_empty() {
        return Ok(nothing());
    }
    let text = spliced(tree.source, 0, tree.source.len(), &splices);
    check(file_name, bytes, text.as_bytes(), &ids)?;
    Ok(Fixed {
        bytes: text.into_bytes(),
        changes,
        is_left: false,
    })
}

struct Fixes<'t, 'a> {
    tree: &'t Tree<'a>,
    layout: &'t Layout,
    bytes: &'t [u8],
    splices: Vec<Splice>,
    changes: Vec<FixedValue>,
}

impl Fixes<'_, '_> {
    fn add(&mut self, task: At, id: &TaskId, put: &Put, message: String) {
        let fields = Fields::of(self.tree, task);
        self.splices
            .push(splice::of_put(self.tree, task, &fields, put));
        let (line, column) = line_column(self.bytes, self.tree.start(task));
        self.changes.push(FixedValue {
            task: id.clone(),
            place: LineColumn { line, column },
            message,
        });
    }

    /// The ids that the tasks are to have, by place; what is missing or taken is written.
    fn ids(&mut self) -> Vec<Option<TaskId>> {
        let now: Vec<Option<TaskId>> = ids::of(self.tree, self.layout)
            .into_iter()
            .map(Result::ok)
            .collect();
        let mut taken: HashSet<TaskId> = now.iter().flatten().cloned().collect();
        let named = ids::other_names(self.tree, self.layout);
        let needed = self.needed();
        let mut seen: HashSet<TaskId> = HashSet::new();
        let mut wanted = Vec::with_capacity(now.len());
        for (n, id) in now.into_iter().enumerate() {
            let task = self.layout.tasks[n];
            let Some(id) = id else {
                wanted.push(None);
                continue;
            };
            let has_other = self.layout.keys[n].is_some()
                || named.contains_key(&self.layout.parents[n])
                || self.layout.list.is_none();
            if looks::has_no_id(self.tree, task) {
                if !has_other {
                    let value = Value::text(id.as_str());
                    let message = format!("wrote its id, {id}");
                    self.add(task, &id, &put(Field::Id, "id", value), message);
                }
                seen.insert(id.clone());
                wanted.push(Some(id));
                continue;
            }
            if seen.insert(id.clone()) || needed.contains(id.as_str()) {
                wanted.push(Some(id));
                continue;
            }
            let new = free(&id, &taken);
            taken.insert(new.clone());
            seen.insert(new.clone());
            let message = format!("gave it an id of its own, {new}: {id} is another task's");
            let value = Value::text(new.as_str());
            self.add(task, &new, &put(Field::Id, "id", value), message);
            wanted.push(Some(new));
        }
        wanted
    }

    /// The texts by which tasks name others.
    fn needed(&self) -> HashSet<String> {
        let links = [
            Field::DependsOn,
            Field::Dependencies,
            Field::After,
            Field::ParentId,
        ];
        let mut texts = Vec::new();
        for task in &self.layout.tasks {
            if self.tree.kind(*task) != Kind::Map {
                continue;
            }
            let fields = Fields::of(self.tree, *task);
            let values = links.iter().flat_map(|link| fields.all(self.tree, *link));
            for at in values {
                // What can't be read names no one.
                let _ = read::loose_ids(self.tree, at, &mut texts);
            }
        }
        texts.iter().filter_map(|text| ids::safe(text)).collect()
    }

    fn statuses(&mut self, ids: &[Option<TaskId>]) {
        let format = self.layout.format;
        let vocabulary = Vocabulary::of(self.tree, self.layout);
        for (n, id) in ids.iter().enumerate() {
            let task = self.layout.tasks[n];
            let Some(id) = id.as_ref().filter(|_| self.tree.kind(task) == Kind::Map) else {
                continue;
            };
            let fields = Fields::of(self.tree, task);
            let Some(at) = status::has_word(self.tree, &fields) else {
                continue;
            };
            let word = self.tree.text(at);
            let Some(meant) = status::misspelled(&word) else {
                continue;
            };
            let new = match format.rules().open_word {
                Some(open) => vocabulary.word(meant, open),
                None => (format.rules().word)(meant).to_owned(),
            };
            let is_status = fields.own(Field::Status) == Some(at);
            let field = if is_status {
                Field::Status
            } else {
                Field::State
            };
            let name = self.tree.text(at - 1).into_owned();
            let message = format!("its {name} is \"{new}\" instead of \"{word}\"");
            let put = put(field, &name, Value::Text(new));
            self.add(task, id, &put, message);
        }
    }
}

fn free(id: &TaskId, taken: &HashSet<TaskId>) -> TaskId {
    let numbered = (2..).map(|n| format!("{id}-{n}"));
    let mut free = numbered.filter_map(|id| TaskId::parse(&id).ok());
    free.find(|id| !taken.contains(id))
        .unwrap_or_else(|| id.clone())
}

/// Checks that each task says what it said, but for what was to be put right.
fn check(file_name: &str, before: &[u8], after: &[u8], ids: &[Option<TaskId>]) -> FormatResult<()> {
    let broken = || {
        Fault::nowhere("can't be put right without touching more than that; nothing was written")
    };
    let new = parse_bytes(file_name, 0, after)?;
    let same_ids = new.tasks.len() == ids.len()
        && new
            .tasks
            .iter()
            .zip(ids)
            .all(|(task, id)| Some(&task.id) == id.as_ref());
    if !same_ids {
        return Err(broken());
    }
    // A file with an id twice could not be read as it was.
    let Ok(old) = parse_bytes(file_name, 0, before) else {
        return Ok(());
    };
    let by_id: HashMap<&TaskId, usize> = old
        .tasks
        .iter()
        .enumerate()
        .map(|(n, task)| (&task.id, n))
        .collect();
    let is_same = new.tasks.iter().all(|is| {
        let was = by_id.get(&is.id).map(|n| &old.tasks[*n]);
        was.is_some_and(|was| (&was.text, &was.links) == (&is.text, &is.links))
    });
    if is_same && old.meta == new.meta {
        Ok(())
    } else {
        Err(broken())
    }
}
