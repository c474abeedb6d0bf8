//! The members of a task that ralph knows, under all the names that people give them.
//!
//! One pass over a task's object sorts its members into slots. Unknown members stay where they are
//! and are never an error.

use super::tree::{At, Kind, Style, Tree};
use super::{read, status};

macro_rules! fields {
    ($($field:ident = $($name:literal)|+,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Field {
            $($field,)+
        }

        const COUNT: usize = [$(Field::$field),+].len();

        impl Field {
            /// The field that a name stands for, in any of its spellings.
            pub(super) fn of(name: &str) -> Option<Self> {
                match name {
                    $($($name)|+ => Some(Self::$field),)+
                    _ => camel_case(name).and_then(|name| Self::of(&name)),
                }
            }
        }
    };
}

fields! {
    Id = "id",
    Title = "title" | "name",
    Description = "description",
    Acceptance = "acceptance" | "acceptanceCriteria" | "acceptance_criteria",
    Criteria = "criteria",
    ExitCriteria = "exitCriteria" | "exit_criteria" | "dod" | "definitionOfDone"
        | "definition_of_done" | "doneWhen" | "done_when" | "successCriteria" | "success_criteria"
        | "acceptanceTests" | "acceptance_tests",
    Steps = "steps",
    Requirements = "requirements",
    EdgeCases = "edgeCases" | "edge_cases",
    DesignDecisions = "designDecisions" | "design_decisions",
    StopCondition = "stopCondition" | "stop_condition",
    ParentId = "parentId" | "parent_id",
    DependsOn = "dependsOn" | "depends_on",
    Dependencies = "dependencies",
    After = "deps" | "blockedBy" | "blocked_by" | "after" | "prerequisites" | "prereqs" | "requires"
        | "needs" | "waitsFor" | "waits_for" | "predecessors" | "depends" | "dependency" | "blockers",
    Status = "status",
    State = "state",
    Passes = "passes",
    Done = "completed" | "complete" | "done" | "passed" | "finished" | "isComplete" | "is_complete"
        | "isCompleted" | "is_completed" | "isDone" | "is_done" | "isPassed" | "is_passed"
        | "isFinished" | "is_finished" | "pass" | "checked",
    CompletedAt = "completedAt" | "completed_at" | "completedDate" | "completed_date"
        | "dateCompleted" | "date_completed" | "completedOn" | "completed_on" | "doneAt" | "done_at"
        | "finishedAt" | "finished_at",
    Progress = "progress" | "percentComplete" | "percent_complete" | "completion",
    Skipped = "skipped" | "skip" | "cancelled" | "canceled" | "deferred" | "wontfix" | "ignore"
        | "ignored" | "archived",
    Failed = "failed",
    Blocked = "blocked",
    Verify = "verify",
    Labels = "labels",
    Tags = "tags",
    Area = "area",
    Category = "category",
    Priority = "priority",
    Attempts = "attempts",
    MaxAttempts = "maxAttempts" | "max_attempts",
    CreatedAt = "createdAt" | "created_at",
    UpdatedAt = "updatedAt" | "updated_at",
    Files = "files",
    KeyFiles = "keyFiles" | "key_files",
    Notes = "notes",
    ExpectsChange = "expectsChange" | "expects_change",
}

/// Flags that sound like done and may mean less: they count only in a task that says nothing else.
pub(super) const DONE_LIKE: &[&str] = &[
    "implemented",
    "verified",
    "tested",
    "resolved",
    "closed",
    "merged",
    "shipped",
    "fixed",
    "deployed",
    "released",
];

impl Field {
    /// Tells whether a format may say the status of a task by it.
    pub(super) fn says_status(self) -> bool {
        matches!(
            self,
            Self::Status
                | Self::State
                | Self::Passes
                | Self::Done
                | Self::CompletedAt
                | Self::Progress
                | Self::Skipped
                | Self::Failed
                | Self::Blocked
        )
    }

    /// The field of a member. Some names are also used for other things: `done` for a date, `state` for an
    /// object, `deferred` for a reason.
    pub(super) fn of_member(tree: &Tree<'_>, name: &str, value: At) -> Option<Self> {
        let field = Self::of(name)?;
        let kind = tree.kind(value);
        let takes = match field {
            Self::Done if kind != Kind::Null && !status::says_done_or_not(tree, value) => {
                return read::time(tree, value).is_ok().then_some(Self::CompletedAt);
            }
            Self::Done => true,
            Self::State => kind == Kind::Text,
            Self::CompletedAt => matches!(kind, Kind::Text | Kind::Null),
            Self::Progress => percent(tree, value).is_some(),
            Self::Skipped => {
                matches!(name, "skip" | "skipped") || matches!(kind, Kind::True | Kind::False)
            }
            _ => true,
        };
        takes.then_some(field)
    }
}

/// The share of the work that is done, as a number from 0 to 100 or a text such as `40%`.
pub(super) fn percent(tree: &Tree<'_>, value: At) -> Option<f64> {
    let text = tree.text(value);
    let number = match tree.kind(value) {
        Kind::Number => &*text,
        Kind::Text => text.trim().strip_suffix('%')?,
        Kind::Null | Kind::True | Kind::False | Kind::List | Kind::Map => return None,
    };
    let number = number.trim().parse::<f64>().ok();
    number.filter(|number| (0.0..=100.0).contains(number))
}

/// A name of several words, or in capitals, the way that names are written here; `None` for one that is.
fn camel_case(name: &str) -> Option<String> {
    let shouted = name.len() > 1 && name.bytes().all(|b| b.is_ascii_uppercase());
    let first_is_large = name.starts_with(|c: char| c.is_ascii_uppercase());
    if !first_is_large && !name.contains(['-', ' ']) {
        return None;
    }
    let lower = if shouted {
        name.to_ascii_lowercase()
    } else {
        name.to_owned()
    };
    let mut words = lower.split(['-', ' ', '_']).filter(|word| !word.is_empty());
    let mut made = String::new();
    let first = words.next()?;
    made.push(first.chars().next()?.to_ascii_lowercase());
    made.push_str(&first[first.chars().next()?.len_utf8()..]);
    for word in words {
        let mut letters = word.chars();
        made.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        made.extend(letters);
    }
    (made != name).then_some(made)
}

/// Where each known member of one task stands.
pub(super) struct Fields {
    map: At,
    slots: [u32; COUNT],
    /// Slots that a merge key (`<<`) filled: they can be read, but not be written in place.
    inherited: u64,
}

const NONE: u32 = u32::MAX;

impl Fields {
    pub(super) fn of(tree: &Tree<'_>, map: At) -> Self {
        let mut fields = Self {
            map,
            slots: [NONE; COUNT],
            inherited: 0,
        };
        let merge = fields.fill(tree, map, |_| true);
        if let Some(merge) = merge.filter(|_| tree.syntax == super::Syntax::Yaml) {
            fields.inherit(tree, merge);
        }
        fields.take_done_like(tree);
        fields
    }

    /// Takes the only flag that sounds like done where nothing else says how the task stands.
    fn take_done_like(&mut self, tree: &Tree<'_>) {
        let says = [Field::Passes, Field::Done, Field::Status, Field::State];
        if says.into_iter().any(|field| self.any(field).is_some()) {
            return;
        }
        let mut flags = tree.members(self.map).filter(|(key, value)| {
            matches!(tree.kind(*value), Kind::True | Kind::False)
                && DONE_LIKE.contains(&&*tree.text(*key))
        });
        if let (Some((_, flag)), None) = (flags.next(), flags.next()) {
            self.slots[Field::Done as usize] = flag as u32;
        }
    }

    /// The values of a field under all its names that stand in the task or are merged into it.
    pub(super) fn all(&self, tree: &Tree<'_>, field: Field) -> Vec<At> {
        let mut found: Vec<(String, At)> = Vec::new();
        for (key, value) in tree.members(self.map) {
            let name = tree.text(key);
            if tree.kind(value) != Kind::Null && Field::of_member(tree, &name, value) == Some(field)
            {
                // The last of a name counts.
                found.retain(|(known, _)| *known != name);
                found.push((name.into_owned(), value));
            }
        }
        let mut values: Vec<At> = found.into_iter().map(|(_, value)| value).collect();
        let slot = self.get(tree, field).filter(|at| !values.contains(at));
        values.extend(slot);
        values
    }

    /// Sorts in the members of a map, the last of a name winning; gives the merge key's value.
    fn fill(&mut self, tree: &Tree<'_>, map: At, free: impl Fn(usize) -> bool) -> Option<At> {
        let mut merge = None;
        for (key, value) in tree.members(map) {
            let name = tree.text(key);
            if name == "<<" && tree.node(key).style == Style::Plain {
                merge = Some(value);
            }
            let field = Field::of_member(tree, &name, value);
            let Some(slot) = field.map(|field| field as usize) else {
                continue;
            };
            // Null says nothing, so it does not hide the same field under another spelling.
            let hides = tree.kind(value) == Kind::Null && self.slots[slot] != NONE;
            // A title says more than a name beside it.
            let is_less = field == Some(Field::Title) && name == "name" && self.has_title(tree);
            if free(slot) && !hides && !is_less {
                self.slots[slot] = value as u32;
            }
        }
        merge
    }

    fn has_title(&self, tree: &Tree<'_>) -> bool {
        let at = self.get(tree, Field::Title);
        at.is_some_and(|at| {
            tree.kind(at - 1) == Kind::Text
                && tree.is_text(at - 1, "title")
                && !tree.text(at).trim().is_empty()
        })
    }

    fn inherit(&mut self, tree: &Tree<'_>, merge: At) {
        let maps: Vec<At> = match tree.kind(merge) {
            Kind::Map => vec![merge],
            Kind::List => tree.children(merge).collect(),
            _ => Vec::new(),
        };
        for map in maps.into_iter().filter(|at| tree.kind(*at) == Kind::Map) {
            let own = self.slots;
            self.fill(tree, map, |slot| own[slot] == NONE);
            for (slot, was) in own.iter().enumerate() {
                if *was == NONE && self.slots[slot] != NONE {
                    self.inherited |= 1 << slot;
                }
            }
        }
    }

    /// The value of a field, unless it is absent or null.
    pub(super) fn get(&self, tree: &Tree<'_>, field: Field) -> Option<At> {
        self.any(field).filter(|at| tree.kind(*at) != Kind::Null)
    }

    /// The value of a field that stands in the task itself, null or not.
    pub(super) fn own(&self, field: Field) -> Option<At> {
        self.any(field)
            .filter(|_| self.inherited & (1 << field as u64) == 0)
    }

    fn any(&self, field: Field) -> Option<At> {
        let at = self.slots[field as usize];
        (at != NONE).then_some(at as usize)
    }
}
