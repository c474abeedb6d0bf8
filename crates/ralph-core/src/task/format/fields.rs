//! The members of a task that ralph knows, under all the names that people give them.
//!
//! One pass over a task's object sorts its members into slots. Unknown members stay where they are
//! and are never an error.

use super::status;
use super::tree::{At, Kind, Style, Tree};

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
                    _ => None,
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
    After = "deps" | "blockedBy" | "blocked_by" | "after" | "prerequisites",
    Status = "status",
    State = "state",
    Passes = "passes",
    Done = "completed" | "complete" | "done" | "passed" | "finished" | "isComplete" | "is_complete"
        | "isCompleted" | "is_completed" | "isDone" | "is_done" | "isPassed" | "is_passed"
        | "isFinished" | "is_finished",
    Skipped = "skipped" | "skip",
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

impl Field {
    /// Returns true if a value can be this field's. Some names are also used for other things: `done` for a
    /// date, `state` for an object.
    fn takes(self, tree: &Tree<'_>, value: At) -> bool {
        match self {
            Self::Done => status::says_done_or_not(tree, value),
            Self::State => tree.kind(value) == Kind::Text,
            _ => true,
        }
    }
}

/// Where each known member of one task stands.
pub(super) struct Fields {
    slots: [u32; COUNT],
    /// Slots that a merge key (`<<`) filled: they can be read, but not be written in place.
    inherited: u64,
}

const NONE: u32 = u32::MAX;

impl Fields {
    pub(super) fn of(tree: &Tree<'_>, map: At) -> Self {
        let mut fields = Self {
            slots: [NONE; COUNT],
            inherited: 0,
        };
        let merge = fields.fill(tree, map, |_| true);
        if let Some(merge) = merge.filter(|_| tree.syntax == super::Syntax::Yaml) {
            fields.inherit(tree, merge);
        }
        fields
    }

    /// Sorts in the members of a map, the last of a name winning; gives the merge key's value.
    fn fill(&mut self, tree: &Tree<'_>, map: At, free: impl Fn(usize) -> bool) -> Option<At> {
        let mut merge = None;
        for (key, value) in tree.members(map) {
            let name = tree.text(key);
            if name == "<<" && tree.node(key).style == Style::Plain {
                merge = Some(value);
            }
            let field = Field::of(&name).filter(|field| field.takes(tree, value));
            let Some(slot) = field.map(|field| field as usize) else {
                continue;
            };
            // Null says nothing, so it does not hide the same field under another spelling.
            let hides = tree.kind(value) == Kind::Null && self.slots[slot] != NONE;
            if free(slot) && !hides {
                self.slots[slot] = value as u32;
            }
        }
        merge
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
