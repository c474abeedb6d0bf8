//! The progress file: what agents learnt in this feature, for the agents that come after.
//!
//! A header, the Codebase Patterns on top, then an entry an iteration. Text in, text out; reading
//! and writing the file is the engine's. An agent may edit it, so nothing here trusts its shape.

use jiff::Timestamp;

use crate::{figures::first_of, sanitize::fold};

pub const PATTERNS_HEADING: &str = "## Codebase Patterns";
const ENTRY_PREFIX: &str = "## Iteration ";
const HEADER_PREFIX: &str = "# Progress: ";
/// A learning that begins with this holds for the whole code base and goes to the top.
const PATTERN_MARK: &str = "pattern:";

/// The feature that a progress file belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressFeature {
    pub name: String,
    pub parent: Option<String>,
}

/// Describes what one iteration leaves for the next.
#[derive(Debug, Clone, Default)]
pub struct ProgressEntry {
    pub n: u64,
    pub task: String,
    pub title: String,
    pub verdict: String,
    pub at: Timestamp,
    pub summary: String,
    pub files: Vec<String>,
    pub learnings: Vec<String>,
}

/// Caps of an entry: it is read again in every later prompt's file.
const MAX_FILES: usize = 20;
const MAX_SUMMARY_CHARS: usize = 1_200;

/// A new progress file.
pub fn render_new(feature: &ProgressFeature, at: Timestamp) -> String {
    let parent = feature.parent.as_deref().unwrap_or("none");
    let day = at.strftime("%Y-%m-%d");
    format!(
        "{HEADER_PREFIX}{}\n\nStarted: {day}\nParent task: {parent}\n\n{PATTERNS_HEADING}\n\n",
        fold(&feature.name)
    )
}

/// Returns true if a progress file is about `feature`. One without a header is: a person may have made it.
pub fn belongs_to(text: &str, feature: &ProgressFeature) -> bool {
    let header = text.lines().find_map(|l| l.strip_prefix(HEADER_PREFIX));
    header.is_none_or(|name| name.trim() == fold(&feature.name))
}

/// The Codebase Patterns.
pub fn patterns(text: &str) -> &str {
    section_range(text).map_or("", |(start, end)| text[start..end].trim())
}

/// The sizes that a progress file is kept within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryCaps {
    pub file_bytes: usize,
    pub patterns_bytes: usize,
}

/// The file with an entry appended and its patterns added on top, kept within its caps by dropping the oldest entries
/// and the oldest patterns.
pub fn record(text: &str, entry: &ProgressEntry, caps: MemoryCaps) -> String {
    let mut out = ensure_patterns(text);
    for learning in &entry.learnings {
        if let Some(pattern) = pattern_of(learning) {
            add_pattern(&mut out, pattern);
        }
    }
    prune_patterns(&mut out, caps.patterns_bytes);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&render_entry(entry));
    prune(&out, caps.file_bytes)
}

/// Returns true if the file has the entry of this iteration.
pub fn has_entry(text: &str, entry: &ProgressEntry) -> bool {
    let heading = heading(entry);
    text.lines().any(|line| line == heading)
}

fn heading(entry: &ProgressEntry) -> String {
    let title = fold(&entry.title);
    format!("{ENTRY_PREFIX}{}: {title} ({})", entry.n, entry.task)
}

/// A note that an agent keeps while it works, for those that come after.
#[derive(Debug, Clone, Default)]
pub struct AgentNote {
    /// The iteration and its task, where they are known.
    pub of: Option<(u64, String)>,
    pub text: String,
}

const NOTES_PREFIX: &str = "## Notes";
/// Longest note, in characters.
pub const MAX_NOTE_CHARS: usize = 1_200;

/// The file with an agent's note at its end, as a learning; one that begins with `pattern:` goes to the Codebase
/// Patterns. It is one line, so that it can pass for nothing else.
pub fn add_note(text: &str, note: &AgentNote, caps: MemoryCaps) -> String {
    let line = fold(&note.text)
        .chars()
        .take(MAX_NOTE_CHARS)
        .collect::<String>();
    if let Some(pattern) = pattern_of(&line) {
        let mut out = ensure_patterns(text);
        add_pattern(&mut out, pattern);
        prune_patterns(&mut out, caps.patterns_bytes);
        return out;
    }
    let heading = match &note.of {
        Some((n, task)) => format!("{NOTES_PREFIX} of iteration {n} ({})", fold(task)),
        None => NOTES_PREFIX.to_owned(),
    };
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    let last = text.lines().rfind(|line| line.starts_with('#'));
    if last != Some(heading.as_str()) {
        out.push_str(&format!("\n{heading}\n\nLearnings:\n"));
    }
    out.push_str(&format!("- {line}\n"));
    out
}

/// Returns true if an agent wrote something of its own into the file, besides patterns and notes.
pub fn has_own_words(before: &str, after: &str) -> bool {
    without_notes(before) != without_notes(after)
}

/// The lines of the file that are neither patterns nor notes.
fn without_notes(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut is_left_out = false;
    for line in text.lines() {
        if line.starts_with("# ") || line.starts_with("## ") {
            is_left_out = line == PATTERNS_HEADING || line.starts_with(NOTES_PREFIX);
        }
        if !is_left_out && !line.trim().is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// The file with a note that iterations were taken back: what it tells of them is not in the code any
/// more. Once for each revert, whose `id` is in it.
pub fn taken_back(text: &str, iterations: &[u64], id: &str, at: Timestamp) -> String {
    if text.contains(id) || iterations.is_empty() {
        return text.to_owned();
    }
    let mut out = text.to_owned();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    let numbers: Vec<String> = iterations.iter().map(u64::to_string).collect();
    out.push_str(&format!(
        "\n## Taken back: iterations {}\n\n{} — a person took back what they landed; it is not in \
         the code any more. (revert {id})\n",
        numbers.join(", "),
        at.strftime("%Y-%m-%d %H:%M UTC"),
    ));
    out
}

/// Returns what of an agent's edit can stay: the whole of it while no earlier entry and no heading is lost,
/// else the text as it was.
pub fn accept_edit(before: &str, after: &str) -> Option<String> {
    let headings = |text: &str| {
        text.lines()
            .filter(|l| l.starts_with(ENTRY_PREFIX) || l.starts_with(HEADER_PREFIX))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let now = headings(after);
    let kept = headings(before).iter().all(|h| now.contains(h));
    (kept && after.contains(PATTERNS_HEADING) == before.contains(PATTERNS_HEADING))
        .then(|| after.to_owned())
}

fn render_entry(entry: &ProgressEntry) -> String {
    let mut out = format!(
        "\n{}\n\n{} — {}\n",
        heading(entry),
        entry.at.strftime("%Y-%m-%d %H:%M UTC"),
        fold(&entry.verdict),
    );
    let summary: String = entry
        .summary
        .trim()
        .chars()
        .take(MAX_SUMMARY_CHARS)
        .collect();
    if !summary.is_empty() {
        // A heading in a summary must not pass for one of ours.
        let quoted = summary
            .lines()
            .map(|l| l.trim_start_matches('#').trim_end());
        out.push('\n');
        for line in quoted {
            out.push_str(line);
            out.push('\n');
        }
    }
    if !entry.files.is_empty() {
        let shown = first_of(&entry.files, MAX_FILES);
        out.push_str(&format!("\nFiles: {shown}\n"));
    }
    let learnings: Vec<_> = entry
        .learnings
        .iter()
        .filter(|l| pattern_of(l).is_none())
        .collect();
    if !learnings.is_empty() {
        out.push_str("\nLearnings:\n");
        for learning in learnings {
            out.push_str(&format!("- {}\n", fold(learning)));
        }
    }
    out
}

fn pattern_of(learning: &str) -> Option<&str> {
    let head = learning.get(..PATTERN_MARK.len())?;
    head.eq_ignore_ascii_case(PATTERN_MARK)
        .then(|| learning[PATTERN_MARK.len()..].trim())
        .filter(|p| !p.is_empty())
}

fn ensure_patterns(text: &str) -> String {
    if section_range(text).is_some() {
        return text.to_owned();
    }
    let at = text.find(ENTRY_PREFIX).unwrap_or(text.len());
    format!(
        "{}\n{PATTERNS_HEADING}\n\n{}",
        text[..at].trim_end_matches('\n').to_owned() + "\n",
        &text[at..]
    )
}

fn add_pattern(text: &mut String, pattern: &str) {
    let line = format!("- {}", fold(pattern));
    if let Some((start, end)) = section_range(text)
        && !text[start..end].lines().any(|l| l.trim() == line)
    {
        let at = start + text[start..end].trim_end().len();
        let gap = if at == start { "\n\n" } else { "\n" };
        let tail = text[at..].trim_start_matches('\n').to_owned();
        text.truncate(at);
        text.push_str(&format!("{gap}{line}\n\n{tail}"));
    }
}

/// The bytes between the patterns' heading and the next heading of its level.
fn section_range(text: &str) -> Option<(usize, usize)> {
    let start = text.find(PATTERNS_HEADING)? + PATTERNS_HEADING.len();
    let end = text[start..]
        .find("\n## ")
        .map_or(text.len(), |i| start + i + 1);
    Some((start, end))
}

/// Drops the oldest entries until the text fits; the header and the patterns stay.
fn prune(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let marker = format!("\n{ENTRY_PREFIX}");
    let Some(first) = text.find(&marker) else {
        return text.to_owned();
    };
    let (head, entries) = text.split_at(first);
    let mut starts: Vec<usize> = entries.match_indices(&marker).map(|(i, _)| i).collect();
    let newest = starts.pop().unwrap_or(0);
    let cut = starts
        .into_iter()
        .find(|i| head.len() + entries.len() - i <= max_bytes)
        .unwrap_or(newest);
    format!("{head}{}", &entries[cut..])
}

/// Drops the oldest patterns, which are the first of the list, until the rest fits. Where that is not enough, or there
/// is no list, drops the first lines.
fn prune_patterns(text: &mut String, max_bytes: usize) {
    let Some((start, end)) = section_range(text) else {
        return;
    };
    let section = text[start..end].trim_end();
    if section.trim_start().len() <= max_bytes {
        return;
    }
    let fits = |mark: &str, before: usize| {
        let mut places = section.match_indices(mark).map(|(at, _)| at);
        places.find(|at| before + section.len() - at <= max_bytes)
    };
    let list = section.find("\n- ").unwrap_or(0);
    let (from, to) = match fits("\n- ", list) {
        Some(to) => (list, to),
        None => (0, fits("\n", 0).unwrap_or(section.len())),
    };
    text.replace_range(start + from..start + to, "");
}

/// Returns the first paragraph of a message, for an agent that gave no summary.
pub fn first_words(message: &str) -> String {
    let paragraph = message.trim().split("\n\n").next().unwrap_or("");
    paragraph.chars().take(500).collect()
}

#[cfg(test)]
mod tests;
