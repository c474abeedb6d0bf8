//! Rows on their way out: through the filter, without what stays here, as the JSON that the server reads them from.
//!
//! Pure. No text leaves the machine but through [`Outgoing`].

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    decide::Cursor,
    tables::{Blank, ColumnKind, Include, SyncedColumn, SyncedTable, TABLES},
};

/// The filter that every text passes.
pub type TextFilter = Arc<dyn for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync>;

/// A value as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Text(String),
}

/// The choice of what leaves the machine, and the filter that it passes.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub(super) include: BTreeSet<Include>,
    pub(super) filter: TextFilter,
}

impl Outgoing {
    /// A text without secrets, and without the character that PostgreSQL has no text with.
    pub(super) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let hidden = (self.filter)(text);
        if hidden.contains('\0') {
            return Cow::Owned(hidden.replace('\0', "\u{fffd}"));
        }
        hidden
    }

    /// A text that tells rows apart. Where something in it is hidden, a part of its hash keeps it different from others.
    fn id<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.text(text) {
            Cow::Borrowed(same) => Cow::Borrowed(same),
            Cow::Owned(hidden) if hidden == text => Cow::Owned(hidden),
            Cow::Owned(hidden) => {
                let sum = hex(&Sha256::digest(text.as_bytes()));
                Cow::Owned(format!("{hidden}#{}", &sum[..8]))
            }
        }
    }

    /// A JSON value, byte by byte as it was where nothing in it is hidden: hashes are made of some.
    pub(super) fn json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let whole = self.text(text);
        let is_same = matches!(whole, Cow::Borrowed(_)) || whole == text;
        // Without an escape, each text within is there as it is, and was looked at.
        if is_same && !text.contains('\\') {
            return Cow::Borrowed(text);
        }
        let Ok(mut value) = serde_json::from_str::<Value>(text) else {
            return whole;
        };
        let changed = self.hide_in(&mut value);
        if is_same && !changed {
            return Cow::Borrowed(text);
        }
        let hidden = value.to_string();
        let whole = self.text(&hidden).into_owned();
        if serde_json::from_str::<serde::de::IgnoredAny>(&whole).is_ok() {
            Cow::Owned(whole)
        } else {
            // What is hidden reaches over the bounds of a value: as a text it is JSON again.
            Cow::Owned(Value::String(whole).to_string())
        }
    }

    /// Filters every text in a value; returns whether any was changed.
    fn hide_in(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let hidden = self.text(text);
                if hidden == *text {
                    return false;
                }
                *text = hidden.into_owned();
                true
            }
            Value::Array(all) => all.iter_mut().map(|one| self.hide_in(one)).fold(false, or),
            Value::Object(all) => all
                .values_mut()
                .map(|one| self.hide_in(one))
                .fold(false, or),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Appends a value of a row as JSON.
    fn write(&self, column: &SyncedColumn, cell: &Cell, out: &mut Vec<u8>) {
        if let Some((group, blank)) = column.only
            && !self.include.contains(&group)
        {
            return out.extend_from_slice(match blank {
                Blank::Null => b"null",
                Blank::Zero => b"0",
                Blank::Empty => b"\"\"",
                Blank::EmptyList => b"\"[]\"",
                Blank::EmptyObject => b"\"{}\"",
            });
        }
        let text = match cell {
            Cell::Null => return out.extend_from_slice(b"null"),
            Cell::Integer(number) => return out.extend_from_slice(number.to_string().as_bytes()),
            Cell::Text(text) => text,
        };
        let text = match column.kind {
            ColumnKind::Id => self.id(text),
            ColumnKind::Text | ColumnKind::Integer => self.text(text),
            ColumnKind::Json => self.json(text),
            ColumnKind::Named => {
                let named = named_part(text);
                return write_text(&self.json(&named), out);
            }
        };
        write_text(&text, out);
    }

    /// Appends a row as a JSON object.
    pub(super) fn row(&self, columns: &[SyncedColumn], cells: &[Cell], out: &mut Vec<u8>) {
        out.push(b'{');
        for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(column.name.as_bytes());
            out.extend_from_slice(b"\":");
            self.write(column, cell, out);
        }
        out.push(b'}');
    }
}

/// Both are done, whatever the first came to.
fn or(one: bool, other: bool) -> bool {
    one || other
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing a text into memory can't fail.
    let _ = serde_json::to_writer(out, text);
}

/// Of a configuration, what the server needs to name a loop by: its member `named`.
fn named_part(config: &str) -> String {
    let config: Option<Value> = serde_json::from_str(config).ok();
    let named = config.as_ref().and_then(|config| config.get("named"));
    match named {
        Some(named) => serde_json::json!({ "named": named }).to_string(),
        None => "{}".to_owned(),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Rows of one table within a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TableRows {
    /// All rows that were there are gone, and are deleted first.
    pub(super) is_cleared: bool,
    /// Keys of rows that are gone, as the objects of a JSON array.
    pub(super) gone: Vec<u8>,
    pub(super) rows: Vec<u8>,
    pub(super) count: usize,
}

/// The rows that are written to the server in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    /// Where the server has to stand for it.
    pub(super) from: Option<Cursor>,
    pub(super) to: Cursor,
    /// By the place of the table in [`TABLES`].
    pub(super) tables: BTreeMap<usize, TableRows>,
}

impl Batch {
    pub(super) fn seal(
        from: Option<Cursor>,
        to_seq: i64,
        tables: BTreeMap<usize, TableRows>,
    ) -> Self {
        let mut hash = Sha256::new();
        hash.update(from.as_ref().map_or("", |from| &from.hash));
        hash.update(to_seq.to_be_bytes());
        for (place, rows) in &tables {
            // Lengths go before what they are of, so that no two payloads are the same bytes.
            let name = TABLES[*place].name;
            for part in [name.as_bytes(), &rows.gone, &rows.rows] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
            hash.update([u8::from(rows.is_cleared)]);
        }
        let hash = hex(&hash.finalize());
        Self {
            from,
            to: Cursor { seq: to_seq, hash },
            tables,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.tables.values().map(|table| table.count).sum()
    }
}

/// The rows of a table that are collected for a batch.
pub(super) struct RowsOf<'a> {
    pub(super) table: &'static SyncedTable,
    pub(super) out: &'a Outgoing,
}

impl RowsOf<'_> {
    pub(super) fn add(&self, cells: &[Cell], into: &mut TableRows) {
        separate(&mut into.rows);
        self.out.row(self.table.columns, cells, &mut into.rows);
        into.count += 1;
    }

    /// Adds the key of a row that is gone.
    pub(super) fn add_gone(&self, key: &[Cell], into: &mut TableRows) {
        separate(&mut into.gone);
        let places = self.table.key_places();
        let columns: Vec<SyncedColumn> = places.iter().map(|at| self.table.columns[*at]).collect();
        self.out.row(&columns, key, &mut into.gone);
        into.count += 1;
    }
}

fn separate(rows: &mut Vec<u8>) {
    if !rows.is_empty() {
        rows.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(include: &[Include]) -> Outgoing {
        Outgoing {
            include: include.iter().copied().collect(),
            filter: Arc::new(|text| {
                if text.contains("s3cret") {
                    Cow::Owned(text.replace("s3cret", "[redacted]"))
                } else if text.contains("two\nlines") {
                    Cow::Owned(text.replace("two\nlines", "[redacted]"))
                } else {
                    Cow::Borrowed(text)
                }
            }),
        }
    }

    fn loop_row(include: &[Include], config: &str, goal: &str) -> Value {
        let table = super::super::tables::table("loop").unwrap();
        let cells: Vec<Cell> = table
            .columns
            .iter()
            .map(|column| match (column.name, column.kind) {
                ("config", _) => Cell::Text(config.to_owned()),
                ("goal", _) => Cell::Text(goal.to_owned()),
                ("baseline" | "forecast", _) => Cell::Text("{\"a\": 1}".into()),
                (_, ColumnKind::Integer) => Cell::Integer(7),
                _ => Cell::Text("x".into()),
            })
            .collect();
        let mut bytes = Vec::new();
        out(include).row(table.columns, &cells, &mut bytes);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn of_a_configuration_only_what_names_the_loop_leaves() {
        let config = r#"{"named":{"projectId":"shop"},"agent":{"env":{"KEY":"value"}}}"#;
        let row = loop_row(&Include::ALL, config, "");
        assert_eq!(row["config"], r#"{"named":{"projectId":"shop"}}"#);
        for config in ["{}", "no json", "{\"named\""] {
            assert_eq!(
                loop_row(&Include::ALL, config, "")["config"],
                "{}",
                "{config}"
            );
        }
    }

    #[test]
    fn a_group_that_is_not_chosen_leaves_nothing_of_a_shared_row() {
        let row = loop_row(&[Include::Records], "{}", "");
        assert_eq!(row["baseline"], "{\"a\": 1}");
        let costs = [
            &row["cost_millionths"],
            &row["input_tokens"],
            &row["forecast"],
        ];
        assert_eq!(costs, [&Value::Null, &Value::from(0), &Value::Null]);
        let row = loop_row(&[Include::Costs], "{}", "");
        assert_eq!(
            (&row["baseline"], &row["input_tokens"]),
            (&Value::Null, &Value::from(7))
        );
    }

    #[test]
    fn texts_pass_the_filter_and_have_no_nul() {
        let row = loop_row(&Include::ALL, "{}", "a s3cret\0goal");
        assert_eq!(row["goal"], "a [redacted]\u{fffd}goal");
    }

    #[test]
    fn json_is_as_it_was_unless_something_in_it_is_hidden() {
        let cases = [
            (r#"{"b": 1.10, "a":"x\n"}"#, r#"{"b": 1.10, "a":"x\n"}"#),
            (r#"{"b": 1, "a":"s3cret"}"#, r#"{"b":1,"a":"[redacted]"}"#),
            // Found only in the text that the JSON stands for.
            (r#"{"a":"two\nlines"}"#, r#"{"a":"[redacted]"}"#),
            ("no json s3cret", "no json [redacted]"),
        ];
        for (text, expected) in cases {
            assert_eq!(out(&[]).json(text), expected);
        }
    }

    #[test]
    fn hidden_ids_stay_different() {
        let out = out(&[]);
        let (a, b) = (out.id("s3cret"), out.id("s3crets3cret"));
        // By `printf s3cret | sha256sum`.
        assert_eq!(a, "[redacted]#1ec1c26b");
        assert_ne!(a, b);
        assert_eq!(out.id("L1"), "L1");
    }

    #[test]
    fn a_hash_is_of_the_place_the_history_and_all_rows() {
        let rows = |rows: &[u8]| {
            let table = TableRows {
                rows: rows.to_vec(),
                count: 1,
                ..TableRows::default()
            };
            BTreeMap::from([(0, table)])
        };
        let first = Batch::seal(None, 5, rows(b"{}"));
        let others = [
            Batch::seal(None, 6, rows(b"{}")),
            Batch::seal(None, 5, rows(b"{},{}")),
            Batch::seal(Some(first.to.clone()), 5, rows(b"{}")),
        ];
        for other in others {
            assert_ne!(other.to.hash, first.to.hash);
        }
        assert_eq!(Batch::seal(None, 5, rows(b"{}")), first);
    }
}
