//! A bounded round of the fuzzing in `fuzz/`: the samples, each changed in ways that are the same every time.

use super::promises::check;
use super::{named, samples};

/// The changes that are tried of each sample.
const ROUNDS: u64 = 20;
/// The same of each checklist.
const CHECKLIST_ROUNDS: u64 = 6;

/// The pieces and values that samples of a syntax are changed with.
#[derive(Clone, Copy)]
struct Changes {
    /// Put in the place of others.
    pieces: &'static [&'static str],
    /// Stands before a value.
    before: &'static str,
    /// Put in the place of a value.
    values: &'static [&'static str],
    /// Ends a value.
    ends: &'static [char],
}

const OF_TREES: Changes = Changes {
    pieces: &PIECES,
    before: ": ",
    values: &VALUES,
    ends: &[',', '}', '\n', ']'],
};

const OF_LINES: Changes = Changes {
    pieces: &PIECES,
    before: "\":",
    values: &VALUES,
    ends: &[',', '}', '\n', ']'],
};

const OF_CHECKLISTS: Changes = Changes {
    pieces: &MARKDOWN,
    before: "[",
    values: &MARKS,
    ends: &[']', '\n'],
};

/// Pieces of Markdown, most of which mean something at the beginning of a line.
const MARKDOWN: [&str; 36] = [
    "\n- [ ] ",
    "\n  - [x] ",
    "\n\t* [ ] ",
    "\n## ",
    "\n### Task 1: ",
    "\n## Success Criteria\n",
    "\n## Completed\n",
    "\n## Out of scope\n",
    "\n## High Priority\n",
    "\n# [ ] ",
    "\n1. [ ] 2.1 ",
    "\n```\n",
    "\n~~~\n",
    "\n---\n",
    "\n    ",
    "\n\n",
    "\n> ",
    "\n| ",
    "\n- ✅ ",
    "\n- ⬜ ",
    "\nDepends on: ",
    "\n  Verify: `true`",
    "\n  Acceptance criteria:\n  - [ ] ",
    "\nNote: ",
    " (depends on T001)",
    " T001-T009 ",
    " [P] ",
    "<!-- ",
    " -->",
    "<!-- id: a -->",
    "**",
    "~~",
    "`",
    "\r",
    "\u{feff}",
    "é",
];

/// Marks that a checkbox gets instead of its own.
const MARKS: [&str; 20] = [
    "", " ", "x", "X", "  ", " x ", "~", "-", "!", "?", ">", "✓", "✅", "⬜", "х", "xx", "US-1",
    "P", "é", "\t",
];

/// Pieces that are put in the place of others.
const PIECES: [&str; 20] = [
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "\"done\"",
    "\"\"",
    "0",
    "-1.5",
    "\"passes\"",
    "\"status\"",
    "\"id\"",
    "\"tasks\"",
    ",",
    ":",
    "\n",
    "#",
    "- ",
    "\"a, b\"",
    "é",
];

/// Values that a member gets instead of its own.
const VALUES: [&str; 16] = [
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "\"done\"",
    "\"todo\"",
    "\"\"",
    "0",
    "1",
    "1.5",
    "\"yes\"",
    "[\"a\"]",
    "{\"a\": 1}",
    "\"2026-01-01\"",
    "\"100%\"",
];

/// The text with another value for one member, or another mark for one checkbox.
fn with_value(text: &str, with: Changes, chance: &mut Chance) -> String {
    let before = text.match_indices(with.before);
    let starts: Vec<usize> = before.map(|(at, found)| at + found.len()).collect();
    if starts.is_empty() {
        return text.to_owned();
    }
    let from = starts[chance.below(starts.len())];
    let value = with.values[chance.below(with.values.len())];
    let end = text[from..]
        .find(with.ends)
        .map_or(text.len(), |at| from + at);
    format!("{}{value}{}", &text[..from], &text[end..])
}

/// Numbers that look like chance, from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

fn changed(text: &str, with: Changes, chance: &mut Chance) -> String {
    let piece = |chance: &mut Chance| with.pieces[chance.below(with.pieces.len())];
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return piece(chance).to_owned();
    }
    let one = chance.below(lines.len());
    let other = chance.below(lines.len());
    match chance.below(8) {
        0 => lines
            .iter()
            .enumerate()
            .filter(|(n, _)| *n != one)
            .map(|(_, line)| *line)
            .collect(),
        1 => lines
            .iter()
            .enumerate()
            .flat_map(|(n, line)| vec![*line; 1 + usize::from(n == one)])
            .collect(),
        2 => {
            let mut lines = lines;
            lines.swap(one, other);
            lines.concat()
        }
        kind @ (3 | 4) => {
            // A word or a mark becomes another, or goes.
            let is_mark = |c: char| !c.is_alphanumeric() && c != '_';
            let mut starts: Vec<usize> = text.match_indices(is_mark).map(|(at, _)| at).collect();
            starts.push(text.len());
            let at = chance.below(starts.len() - 1);
            let (from, to) = (starts[at], starts[at + 1]);
            let piece = if kind == 3 { piece(chance) } else { "" };
            format!("{}{piece}{}", &text[..from], &text[to..])
        }
        _ => with_value(text, with, chance),
    }
}

/// Checks a sample and what becomes of it in so many rounds; gives the number of completions.
fn check_changed(file: &str, text: &str, with: Changes, seed: usize, rounds: u64) -> usize {
    let mut completed = check(file, text.as_bytes());
    for round in 0..rounds {
        let mut chance = Chance(seed as u64 * 1_000 + round);
        let mut text = changed(text, with, &mut chance);
        if round % 3 == 0 {
            text = changed(&text, with, &mut chance);
        }
        completed += check(file, text.as_bytes());
    }
    completed
}

#[test]
fn changed_samples_keep_what_is_promised_of_every_file() {
    let samples = samples().into_iter().enumerate();
    let completed = samples
        .map(|(n, sample)| check_changed(sample.file, &sample.text, OF_TREES, n, ROUNDS))
        .sum::<usize>();
    // Most of what is changed can still be read.
    assert!(completed > 1_500, "{completed}");
}

#[test]
fn changed_checklists_keep_what_is_promised_of_every_file() {
    let samples = named::checklists().into_iter().enumerate();
    let completed = samples
        .map(|(n, sample)| {
            check_changed(
                sample.file,
                &sample.text,
                OF_CHECKLISTS,
                n,
                CHECKLIST_ROUNDS,
            )
        })
        .sum::<usize>();
    assert!(completed > 1_200, "{completed}");
}

#[test]
fn changed_issues_keep_what_is_promised_of_every_file() {
    let samples = named::issues().into_iter().enumerate();
    let completed = samples
        .map(|(n, sample)| check_changed(sample.file, &sample.text, OF_LINES, n, ROUNDS))
        .sum::<usize>();
    assert!(completed > 100, "{completed}");
}
