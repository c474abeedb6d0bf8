//! Places in task files as an editor takes them: file, line and column.
//!
//! Looks through each file once, however many places are asked for.

use ralph_core::task::Place;
use ralph_engine::source::Source;

pub(crate) struct Places<'a> {
    source: &'a Source,
    /// Where the lines of each file begin; made for a file when it is first asked for.
    lines: Vec<Option<Vec<usize>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Position {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl<'a> Places<'a> {
    pub(crate) fn new(source: &'a Source) -> Self {
        Self {
            source,
            lines: vec![None; source.files().len()],
        }
    }

    pub(crate) fn of(&mut self, place: Place) -> Position {
        let at = place.file as usize;
        let Some(file) = self.source.files().get(at) else {
            return Position {
                file: self.source.name().to_owned(),
                line: 1,
                column: 1,
            };
        };
        let bytes = file.bytes();
        let starts = self.lines[at].get_or_insert_with(|| line_starts(bytes));
        let offset = (place.offset as usize).min(bytes.len());
        let line = starts.partition_point(|start| *start <= offset);
        let start = starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        // A byte of the form 10xxxxxx goes on with a character that has been counted.
        let column = bytes[start..offset]
            .iter()
            .filter(|b| **b & 0xC0 != 0x80)
            .count()
            + 1;
        Position {
            file: file.name.clone(),
            line: line.max(1),
            column,
        }
    }
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let first = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let breaks = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n');
    std::iter::once(first)
        .chain(breaks.map(|(at, _)| at + 1))
        .collect()
}
