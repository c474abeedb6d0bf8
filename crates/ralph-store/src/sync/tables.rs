//! The one table of what is synced: which rows, which of their columns, in which group. The statements that read them
//! from the journal and write them to the server are made from it.
//!
//! Holds no row and runs no statement. Parents come before their children.

use std::{collections::BTreeSet, fmt};

/// The groups that leave the machine beyond the bare list of repositories, loops and iterations, which always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Include {
    /// The work and what came of it: records, steps, tasks, events.
    Records,
    Costs,
    Checkpoints,
    /// Questions with their answers, commands, and guidance.
    Questions,
    Logs,
    Prompts,
}

impl Include {
    pub const ALL: [Self; 6] = [
        Self::Records,
        Self::Costs,
        Self::Checkpoints,
        Self::Questions,
        Self::Logs,
        Self::Prompts,
    ];

    /// Returns what leaves the machine where nothing else was chosen.
    pub fn usual() -> BTreeSet<Self> {
        Self::ALL[..4].iter().copied().collect()
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Costs => "costs",
            Self::Checkpoints => "checkpoints",
            Self::Questions => "questions",
            Self::Logs => "logs",
            Self::Prompts => "prompts",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

impl fmt::Display for Include {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The changes that rows of a table may see once they are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowChange {
    /// Nothing.
    Appended,
    Updated,
    Deleted,
}

/// The treatment of a column's value on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Integer,
    /// A text that tells rows apart: where the filter changes it, it stays different from all others.
    Id,
    Text,
    /// A JSON value, kept as text.
    Json,
    /// Of a JSON object, the member `named` alone.
    Named,
}

/// The value that stands in the place of one whose group does not leave the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    Null,
    Zero,
    Empty,
    EmptyList,
    EmptyObject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SyncedColumn {
    pub(super) name: &'static str,
    pub(super) kind: ColumnKind,
    /// The group that it belongs to, where that is another than the table's.
    pub(super) only: Option<(Include, Blank)>,
    /// A table whose row it may name only after its own row was sent: that one goes along.
    pub(super) takes_along: Option<&'static str>,
}

impl SyncedColumn {
    const fn of(name: &'static str, kind: ColumnKind) -> Self {
        Self {
            name,
            kind,
            only: None,
            takes_along: None,
        }
    }

    const fn only(mut self, group: Include, blank: Blank) -> Self {
        self.only = Some((group, blank));
        self
    }

    const fn takes_along(mut self, table: &'static str) -> Self {
        self.takes_along = Some(table);
        self
    }
}

const fn int(name: &'static str) -> SyncedColumn {
    SyncedColumn::of(name, ColumnKind::Integer)
}

const fn id(name: &'static str) -> SyncedColumn {
    SyncedColumn::of(name, ColumnKind::Id)
}

const fn text(name: &'static str) -> SyncedColumn {
    SyncedColumn::of(name, ColumnKind::Text)
}

const fn json(name: &'static str) -> SyncedColumn {
    SyncedColumn::of(name, ColumnKind::Json)
}

/// A table of which rows are sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyncedTable {
    pub(super) name: &'static str,
    /// None: it always leaves the machine.
    pub(super) group: Option<Include>,
    pub(super) change: RowChange,
    pub(super) key: &'static [&'static str],
    pub(super) columns: &'static [SyncedColumn],
}

use Blank::{Empty, EmptyList, EmptyObject, Null, Zero};
use Include::{Checkpoints, Costs, Prompts, Questions, Records};
use RowChange::{Appended, Deleted, Updated};

pub(super) static TABLES: [SyncedTable; 21] = [
    SyncedTable {
        name: "repository",
        group: None,
        change: Updated,
        key: &["id"],
        columns: &[
            id("id"),
            text("common_dir"),
            text("created_at"),
            int("next_iteration"),
            text("task_source"),
        ],
    },
    SyncedTable {
        name: "loop",
        group: None,
        change: Updated,
        key: &["id"],
        columns: &[
            id("id"),
            id("repository_id"),
            text("worktree"),
            id("source"),
            text("branch"),
            text("base_commit"),
            text("agent"),
            SyncedColumn::of("config", ColumnKind::Named),
            json("baseline").only(Records, Null),
            text("started_at"),
            text("ended_at"),
            json("stop"),
            text("paused_at"),
            text("goal"),
            int("iterations"),
            int("verified"),
            int("cost_millionths").only(Costs, Null),
            int("input_tokens").only(Costs, Zero),
            int("output_tokens").only(Costs, Zero),
            json("forecast").only(Costs, Null),
            json("clean_check").only(Records, Null),
            int("checkpoints"),
        ],
    },
    SyncedTable {
        name: "session_loop",
        group: Some(Records),
        change: Updated,
        key: &["id"],
        columns: &[
            id("id"),
            id("repository_id"),
            text("worktree"),
            text("agent"),
            text("session"),
            text("prompt").only(Prompts, Empty),
            int("max_iterations"),
            text("completion_promise"),
            int("iterations"),
            int("errors"),
            int("tokens").only(Costs, Zero),
            int("spent").only(Costs, Zero),
            text("started_at"),
            text("ended_at"),
            text("reason"),
        ],
    },
    SyncedTable {
        name: "rewrite",
        group: None,
        change: Updated,
        key: &["id"],
        columns: &[
            id("id"),
            id("repository_id"),
            text("worktree"),
            text("kind"),
            text("branch"),
            text("from_commit"),
            text("to_commit"),
            text("made_commit"),
            json("body").only(Records, EmptyObject),
            text("started_at"),
            text("ended_at"),
            text("outcome"),
        ],
    },
    SyncedTable {
        name: "iteration",
        group: None,
        change: Updated,
        key: &["id"],
        columns: &[
            id("id"),
            id("repository_id"),
            id("loop_id"),
            int("n"),
            id("task_id"),
            int("attempt"),
            text("base_commit"),
            json("start").only(Records, EmptyObject),
            text("started_at"),
            text("ended_at"),
            text("verdict"),
            text("outcome"),
            text("result_commit"),
            json("record").only(Records, Null),
            id("reverted_by").takes_along("rewrite"),
            id("squashed_by").takes_along("rewrite"),
        ],
    },
    SyncedTable {
        name: "step",
        group: Some(Records),
        change: Appended,
        key: &["iteration_id", "seq"],
        columns: &[
            id("iteration_id"),
            int("seq"),
            text("at"),
            text("kind"),
            json("body"),
        ],
    },
    SyncedTable {
        name: "task_state",
        group: Some(Records),
        change: Deleted,
        key: &["repository_id", "source", "task_id"],
        columns: &[
            id("repository_id"),
            id("source"),
            id("task_id"),
            json("state"),
        ],
    },
    SyncedTable {
        name: "task_list",
        group: Some(Records),
        change: Updated,
        key: &["repository_id", "source"],
        columns: &[id("repository_id"), id("source"), json("ids")],
    },
    SyncedTable {
        name: "suggestion",
        group: Some(Records),
        change: Updated,
        key: &["id"],
        columns: &[
            int("id"),
            id("repository_id"),
            int("iteration"),
            id("title"),
            text("description"),
            text("taken_as"),
        ],
    },
    SyncedTable {
        name: "command",
        group: Some(Questions),
        change: Updated,
        key: &["id"],
        columns: &[
            int("id"),
            id("repository_id"),
            text("worktree"),
            text("who"),
            text("at"),
            json("body"),
            text("done_at"),
            json("result"),
        ],
    },
    SyncedTable {
        name: "guidance",
        group: Some(Questions),
        change: Updated,
        key: &["id"],
        columns: &[
            int("id"),
            id("repository_id"),
            id("source"),
            id("task_id"),
            text("text"),
            text("who"),
            text("at"),
            int("iteration"),
        ],
    },
    SyncedTable {
        name: "escalation",
        group: Some(Questions),
        change: Updated,
        key: &["id"],
        columns: &[
            int("id"),
            id("repository_id"),
            id("source"),
            id("task_id"),
            int("iteration"),
            text("asked_by"),
            text("question"),
            json("body"),
            text("asked_at"),
            json("answer"),
            text("answered_at"),
        ],
    },
    SyncedTable {
        name: "checkpoint",
        group: Some(Checkpoints),
        change: Appended,
        key: &["id"],
        columns: &[
            id("id"),
            id("repository_id"),
            id("loop_id"),
            int("n"),
            int("iteration"),
            text("phase"),
            text("at"),
            json("body"),
            text("hash"),
            text("prev_hash"),
            text("tip_commit"),
        ],
    },
    SyncedTable {
        name: "token_record",
        group: Some(Costs),
        change: Appended,
        key: &["iteration_id", "seq"],
        columns: &[
            id("iteration_id"),
            int("seq"),
            int("run"),
            text("agent"),
            text("model"),
            text("caller"),
            int("input"),
            int("output"),
            int("cache_read"),
            int("cache_write"),
            int("cost_input"),
            int("cost_output"),
            int("cost_cache_read"),
            int("cost_cache_write"),
            int("told"),
            int("spent"),
            text("basis"),
        ],
    },
    SyncedTable {
        name: "token_total",
        group: Some(Costs),
        change: Updated,
        key: &["repository_id", "dimension", "key", "day"],
        columns: &[
            id("repository_id"),
            id("dimension"),
            id("key"),
            id("day"),
            int("calls"),
            int("tool_calls"),
            int("input"),
            int("output"),
            int("cache_read"),
            int("cache_write"),
            int("cost_input"),
            int("cost_output"),
            int("cost_cache_read"),
            int("cost_cache_write"),
            int("unpriced_tokens"),
            int("told"),
            int("told_by_table"),
            int("spent"),
            int("estimated_tokens"),
            int("unknown_tokens"),
            int("estimated"),
        ],
    },
    SyncedTable {
        name: "token_month",
        group: Some(Costs),
        change: Updated,
        key: &["repository_id", "dimension", "month", "key"],
        columns: &[
            id("repository_id"),
            id("dimension"),
            id("month"),
            id("key"),
            int("spent"),
        ],
    },
    SyncedTable {
        name: "side_run",
        group: Some(Costs),
        change: Appended,
        key: &["id"],
        columns: &[
            id("id"),
            id("repository_id"),
            text("work"),
            text("at"),
            int("tool_calls"),
            json("calls"),
        ],
    },
    SyncedTable {
        name: "loop_note",
        group: Some(Records),
        change: Appended,
        key: &["id"],
        columns: &[
            int("id"),
            id("loop_id"),
            text("worktree"),
            text("kind"),
            text("sentence"),
            text("at"),
        ],
    },
    SyncedTable {
        name: "loop_event",
        group: Some(Records),
        change: Appended,
        key: &["id"],
        columns: &[
            int("id"),
            id("loop_id"),
            int("iteration"),
            text("at"),
            text("kind"),
            json("body"),
        ],
    },
    SyncedTable {
        name: "session_iteration",
        group: Some(Records),
        change: Appended,
        key: &["loop_id", "n"],
        columns: &[
            id("loop_id"),
            int("n"),
            text("started_at"),
            text("ended_at"),
            text("outcome"),
            text("error"),
            int("tool_calls"),
            json("calls").only(Costs, EmptyList),
        ],
    },
    SyncedTable {
        name: "audit",
        group: None,
        change: Appended,
        key: &["n"],
        columns: &[
            int("n"),
            text("at"),
            text("actor_kind"),
            text("actor"),
            text("machine"),
            text("action"),
            id("repository_id"),
            id("loop_id"),
            id("task_id"),
            text("subject"),
            text("detail"),
        ],
    },
];

/// Columns of a synced table that stay on the machine, with the reason.
#[cfg(test)]
pub(super) const COLUMNS_LEFT_OUT: [(&str, &str, &str); 1] = [(
    "session_loop",
    "config",
    "how a promise is verified: commands of this machine, which only its own hooks read",
)];

/// Tables of the journal that stay on the machine, with the reason.
#[cfg(test)]
pub(super) const TABLES_LEFT_OUT: [(&str, &str); 7] = [
    ("_sqlx_migrations", "the schema of this file"),
    ("sync_state", "where sync stands"),
    ("sync_change", "where sync stands"),
    ("sync_batch", "where sync stands"),
    ("sync_log", "where sync stands"),
    (
        "team_command",
        "came from the server, which has the commands themselves",
    ),
    ("budget_share", "came from the server"),
];

/// Returns a table by its name.
pub(super) fn table(name: &str) -> Option<&'static SyncedTable> {
    TABLES.iter().find(|table| table.name == name)
}

impl SyncedTable {
    /// Tells whether its rows leave the machine.
    pub(super) fn is_in(&self, include: &BTreeSet<Include>) -> bool {
        self.group.is_none_or(|group| include.contains(&group))
    }

    /// Tells whether any of it belongs to one of these groups.
    pub(super) fn is_about(&self, groups: &BTreeSet<Include>) -> bool {
        let own = self.group.iter();
        let of_columns = self.columns.iter().filter_map(|c| c.only.as_ref());
        let mut all = own.chain(of_columns.map(|(group, _)| group));
        all.any(|group| groups.contains(group))
    }

    /// Returns where a column of the key stands among its columns.
    pub(super) fn key_places(&self) -> Vec<usize> {
        let place = |name: &&str| self.columns.iter().position(|c| c.name == *name);
        self.key.iter().filter_map(place).collect()
    }

    /// The statement that reads rows of the journal by a JSON array of keys.
    pub(super) fn select(&self) -> String {
        let keys = self.key.iter().enumerate();
        let keys: Vec<String> = keys
            .map(|(at, name)| format!("t.{name} = k.value ->> {at}"))
            .collect();
        format!(
            "SELECT {} FROM json_each(?1) AS k CROSS JOIN {} AS t ON {}",
            self.listed("t."),
            self.name,
            keys.join(" AND ")
        )
    }

    /// The statement that writes down all rows of the journal as changed.
    pub(super) fn enqueue(&self) -> String {
        format!(
            "INSERT INTO sync_change (tab, key) SELECT '{0}', json_array({1}) FROM {0} ORDER BY {1}",
            self.name,
            self.key.join(", ")
        )
    }

    /// The statement that writes rows to the server: `$1` is the origin, `$2` a JSON array of rows. The same rows may be
    /// written again.
    pub(super) fn upsert(&self) -> String {
        let name = self.name;
        let conflict = format!("tenant, origin, {}", self.key.join(", "));
        let changed = self.columns.iter().map(|column| column.name);
        let changed: Vec<&str> = changed.filter(|name| !self.key.contains(name)).collect();
        let action = match self.change {
            RowChange::Appended => "NOTHING".to_owned(),
            RowChange::Updated | RowChange::Deleted => {
                let set: Vec<String> = changed
                    .iter()
                    .map(|name| format!("{} = excluded.{0}", quoted(name)))
                    .collect();
                let side = |of: &str| -> String {
                    let all: Vec<String> = changed
                        .iter()
                        .map(|name| format!("{of}.{}", quoted(name)))
                        .collect();
                    all.join(", ")
                };
                format!(
                    "UPDATE SET {} WHERE ({}) IS DISTINCT FROM ({})",
                    set.join(", "),
                    side("old"),
                    side("excluded")
                )
            }
        };
        format!(
            "INSERT INTO ralph.{} AS old (origin, {}) SELECT $1, {} FROM {} ON CONFLICT ({conflict}) DO {action}",
            quoted(name),
            self.listed_quoted(""),
            self.listed_quoted("new."),
            self.recordset(self.columns.iter().copied()),
        )
    }

    /// The statement that deletes rows of the server by their keys, as `upsert`.
    pub(super) fn delete(&self) -> String {
        let columns = self.columns.iter().copied();
        let of_key = columns.filter(|column| self.key.contains(&column.name));
        let same: Vec<String> = self
            .key
            .iter()
            .map(|name| format!("old.{0} = new.{0}", quoted(name)))
            .collect();
        format!(
            "DELETE FROM ralph.{} AS old USING {} WHERE old.origin = $1 AND {}",
            quoted(self.name),
            self.recordset(of_key),
            same.join(" AND ")
        )
    }

    /// The statement that deletes all rows of the origin `$1`.
    pub(super) fn clear(&self) -> String {
        format!("DELETE FROM ralph.{} WHERE origin = $1", quoted(self.name))
    }

    /// The statement of each trigger that writes changes down, by its name; migration 19 has them.
    #[cfg(test)]
    pub(super) fn triggers(&self) -> Vec<(String, String)> {
        let trigger = |verb: &str, event: &str, row: &str| {
            let name = format!("sync_{}_{verb}", self.name);
            let key: Vec<String> = self.key.iter().map(|key| format!("{row}.{key}")).collect();
            let text = format!(
                "CREATE TRIGGER {name} AFTER {event} ON {0} WHEN (SELECT enabled FROM sync_state)\nBEGIN\n    \
                 INSERT INTO sync_change (tab, key) VALUES ('{0}', json_array({1}));\nEND",
                self.name,
                key.join(", ")
            );
            (name, text)
        };
        let mut all = vec![trigger("added", "INSERT", "NEW")];
        match self.change {
            RowChange::Appended => {}
            RowChange::Updated => all.push(trigger("changed", "UPDATE", "NEW")),
            RowChange::Deleted => {
                all.push(trigger("changed", "UPDATE", "NEW"));
                all.push(trigger("gone", "DELETE", "OLD"));
            }
        }
        all
    }

    fn listed(&self, before: &str) -> String {
        let names = self.columns.iter();
        let names: Vec<String> = names.map(|c| format!("{before}{}", c.name)).collect();
        names.join(", ")
    }

    fn listed_quoted(&self, before: &str) -> String {
        let names = self.columns.iter();
        let names: Vec<String> = names
            .map(|c| format!("{before}{}", quoted(c.name)))
            .collect();
        names.join(", ")
    }

    fn recordset(&self, columns: impl Iterator<Item = SyncedColumn>) -> String {
        let columns: Vec<String> = columns
            .map(|column| {
                let kind = match column.kind {
                    ColumnKind::Integer => "bigint",
                    ColumnKind::Id | ColumnKind::Text | ColumnKind::Json | ColumnKind::Named => {
                        "text"
                    }
                };
                format!("{} {kind}", quoted(column.name))
            })
            .collect();
        format!(
            "json_to_recordset($2::json) AS new ({})",
            columns.join(", ")
        )
    }
}

/// Some names of ours are words of SQL.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}
