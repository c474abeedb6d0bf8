//! Describes what is kept of a failed attempt so that later ones can be compared with it: its tree, the files it
//! changed, and hashes of its hunks.
//!
//! Bounded, and holds no line of the code. Hunks are normalised: line numbers go, because an edit above
//! moves a hunk without changing it; white space goes, because to indent again is no change of mind.
//! Numbers stay: a time-out that is 5, 10 and 5 again is what is looked for. The path is part of it: the
//! same lines elsewhere undo nothing.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Hunks that are kept of one attempt, and files that are named.
const MOST_HUNKS: usize = 200;
const MOST_FILES: usize = 100;

/// Describes what an attempt did, against what it started from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trace {
    /// The tree that was verified.
    pub tree: String,
    pub files: Vec<String>,
    pub hunks: Vec<HunkHash>,
}

/// One hunk: what it put in the place of what. Equal hashes are equal lines, in the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkHash {
    pub removed: String,
    pub added: String,
}

/// The trace of an attempt, from a diff without context lines (`-U0`, prefixes `a/` and `b/`).
pub fn trace_of_diff(tree: &str, diff: &[u8]) -> Trace {
    let mut reader = Reader::default();
    for line in diff.split(|byte| *byte == b'\n') {
        reader.line(line);
    }
    reader.end_hunk();
    Trace {
        tree: tree.to_owned(),
        files: reader.files,
        hunks: reader.hunks,
    }
}

#[derive(Default)]
struct Reader {
    files: Vec<String>,
    hunks: Vec<HunkHash>,
    path: String,
    /// Lines that the hunk still has: what comes after them is no line of it, whatever it looks like.
    removed_left: usize,
    added_left: usize,
    removed: Side,
    added: Side,
}

/// One side of a hunk.
#[derive(Default)]
struct Side {
    lines: Vec<String>,
}

impl Side {
    fn take(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.is_empty() {
            self.lines.push(words.join(" "));
        }
    }

    fn hash(&self, path: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(path);
        for line in &self.lines {
            hash.update([0]);
            hash.update(line);
        }
        let digest = hash.finalize();
        digest.iter().take(8).map(|b| format!("{b:02x}")).collect()
    }
}

impl Reader {
    fn line(&mut self, line: &[u8]) {
        match line.first() {
            Some(b'-') if self.removed_left > 0 => {
                self.removed_left -= 1;
                self.removed.take(&line[1..]);
            }
            Some(b'+') if self.added_left > 0 => {
                self.added_left -= 1;
                self.added.take(&line[1..]);
            }
            _ => self.heading(line),
        }
    }

    fn heading(&mut self, line: &[u8]) {
        if let Some(ranges) = line.strip_prefix(b"@@ -") {
            self.end_hunk();
            let text = String::from_utf8_lossy(ranges);
            let mut parts = text.split(' ');
            self.removed_left = parts.next().map_or(0, length);
            self.added_left = parts.next().map_or(0, length);
        } else if let Some(names) = line.strip_prefix(b"diff --git ") {
            self.end_hunk();
            self.path = path_of(&String::from_utf8_lossy(names));
            if self.files.len() < MOST_FILES {
                self.files.push(self.path.clone());
            }
        }
    }

    fn end_hunk(&mut self) {
        let (removed, added) = (
            std::mem::take(&mut self.removed),
            std::mem::take(&mut self.added),
        );
        if removed.lines != added.lines && self.hunks.len() < MOST_HUNKS {
            self.hunks.push(HunkHash {
                removed: removed.hash(&self.path),
                added: added.hash(&self.path),
            });
        }
    }
}

/// Of `12,3` and `+12,3` the 3; of `12` one.
fn length(range: &str) -> usize {
    let count = range
        .split_once(',')
        .map_or(Some(1), |(_, n)| n.parse().ok());
    count.unwrap_or(0)
}

/// The path of `a/PATH b/PATH`: nothing is renamed, so that the two are the same.
fn path_of(names: &str) -> String {
    let inner = names.trim_matches('"');
    let half = inner.len().saturating_sub(1) / 2;
    let first = inner.get(..half).unwrap_or(inner).trim_matches('"');
    first.strip_prefix("a/").unwrap_or(first).to_owned()
}
