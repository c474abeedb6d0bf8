//! A bounded round of the fuzzing in `fuzz/`: the samples, each changed in ways that are the same every time.

use super::promises::check;
use super::samples;

/// The changes that are tried of each sample.
const ROUNDS: u64 = 20;

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

/// The text with another value for one member.
fn with_value(text: &str, chance: &mut Chance) -> String {
    let colons: Vec<usize> = text.match_indices(": ").map(|(at, _)| at + 2).collect();
    if colons.is_empty() {
        return text.to_owned();
    }
    let from = colons[chance.below(colons.len())];
    let value = VALUES[chance.below(VALUES.len())];
    let end = text[from..]
        .find([',', '}', '\n', ']'])
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

fn changed(text: &str, chance: &mut Chance) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return PIECES[chance.below(PIECES.len())].to_owned();
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
            let piece = if kind == 3 {
                PIECES[chance.below(PIECES.len())]
            } else {
                ""
            };
            format!("{}{piece}{}", &text[..from], &text[to..])
        }
        _ => with_value(text, chance),
    }
}

#[test]
fn changed_samples_keep_what_is_promised_of_every_file() {
    let mut completed = 0;
    for (n, sample) in samples().into_iter().enumerate() {
        completed += check(sample.file, sample.text.as_bytes());
        for round in 0..ROUNDS {
            let mut chance = Chance(n as u64 * 1_000 + round);
            let mut text = changed(&sample.text, &mut chance);
            if round % 3 == 0 {
                text = changed(&text, &mut chance);
            }
            completed += check(sample.file, text.as_bytes());
        }
    }
    // Most of what is changed can still be read.
    assert!(completed > 1_500, "{completed}");
}
