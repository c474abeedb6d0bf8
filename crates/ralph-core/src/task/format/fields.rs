//! The members of a task that ralph knows, under all the names that people give them.
//!
//! One pass over a task's object sorts its members into slots. Unknown members stay where they are
//! and are never an error.

use super::tree::{At, Kind, Style, Tree};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    Id,
    Title,
    Description,
    Acceptance,
    Criteria,
    Steps,
    Requirements,
    EdgeCases,
    DesignDecisions,
    StopCondition,
    ParentId,
    DependsOn,
    Dependencies,
    Status,
    Passes,
    Skipped,
    Failed,
    Blocked,
    Verify,
    Labels,
    Tags,
    Area,
    Category,
    Priority,
    Attempts,
    MaxAttempts,
    CreatedAt,
    UpdatedAt,
    Files,
    KeyFiles,
    Notes,
    ExpectsChange,
}

const COUNT: usize = Field::ExpectsChange as usize + 1;

impl Field {
    /// The field that a name stands for, in any of its spellings.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "id" => Self::Id,
            "title" | "name" => Self::Title,
            "description" => Self::Description,
            "acceptance" | "acceptanceCriteria" | "acceptance_criteria" => Self::Acceptance,
            "criteria" => Self::Criteria,
            "steps" => Self::Steps,
            "requirements" => Self::Requirements,
            "edgeCases" | "edge_cases" => Self::EdgeCases,
            "designDecisions" | "design_decisions" => Self::DesignDecisions,
            "stopCondition" | "stop_condition" => Self::StopCondition,
            "parentId" | "parent_id" => Self::ParentId,
            "dependsOn" | "depends_on" => Self::DependsOn,
            "dependencies" => Self::Dependencies,
            "status" => Self::Status,
            "passes" => Self::Passes,
            "skipped" => Self::Skipped,
            "failed" => Self::Failed,
            "blocked" => Self::Blocked,
            "verify" => Self::Verify,
            "labels" => Self::Labels,
            "tags" => Self::Tags,
            "area" => Self::Area,
            "category" => Self::Category,
            "priority" => Self::Priority,
            "attempts" => Self::Attempts,
            "maxAttempts" | "max_attempts" => Self::MaxAttempts,
            "createdAt" | "created_at" => Self::CreatedAt,
            "updatedAt" | "updated_at" => Self::UpdatedAt,
            "files" => Self::Files,
            "keyFiles" | "key_files" => Self::KeyFiles,
            "notes" => Self::Notes,
            "expectsChange" | "expects_change" => Self::ExpectsChange,
            _ => return None,
        })
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
            let Some(slot) = Field::of(&name).map(|field| field as usize) else {
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
