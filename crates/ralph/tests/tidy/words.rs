//! Words: doc comments begin with a verb or a noun, and the prose keeps to the words of the field.

use std::collections::BTreeMap;

use crate::repository::{assert_none, files, read};

/// Words that no doc comment begins with.
const OPENINGS: [&str; 5] = ["What", "Whether", "How", "Who", "Whose"];

/// Words that are not used.
const ODD_WORDS: [&str; 4] = ["nobody", "somebody", "whoever", "anew"];

/// The uses that are left, by crate.
struct Ceiling {
    name: &'static str,
    openings: usize,
    odd_words: usize,
}

/// The numbers are exact: whatever lowers one of them lowers it here too.
const CEILINGS: [Ceiling; 7] = [
    Ceiling {
        name: "ralph",
        openings: 40,
        odd_words: 14,
    },
    Ceiling {
        name: "ralph-bench",
        openings: 4,
        odd_words: 0,
    },
    Ceiling {
        name: "ralph-core",
        openings: 67,
        odd_words: 3,
    },
    Ceiling {
        name: "ralph-engine",
        openings: 74,
        odd_words: 16,
    },
    Ceiling {
        name: "ralph-qa",
        openings: 0,
        odd_words: 0,
    },
    Ceiling {
        name: "ralph-store",
        openings: 0,
        odd_words: 0,
    },
    Ceiling {
        name: "ralph-testkit",
        openings: 0,
        odd_words: 0,
    },
];

/// Lines of a file that offend, with their numbers.
#[derive(Default)]
struct Offences {
    openings: Vec<String>,
    odd_words: Vec<String>,
}

impl Offences {
    fn add(&mut self, file: &str, text: &str) {
        let mut before = None;
        for (index, line) in text.lines().enumerate() {
            let doc = doc_comment(line);
            let begins = before.is_none_or(str::is_empty);
            if begins && doc.is_some_and(|doc| OPENINGS.contains(&first_word(doc))) {
                let place = format!("{file}:{}: {}", index + 1, line.trim());
                self.openings.push(place);
            }
            if has_odd_word(line) {
                let place = format!("{file}:{}: {}", index + 1, line.trim());
                self.odd_words.push(place);
            }
            before = doc;
        }
    }
}

/// The text of a line of a doc comment.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or(line.strip_prefix("//!"))?;
    Some(text.trim())
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

fn has_odd_word(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric())
        .any(|word| ODD_WORDS.iter().any(|odd| word.eq_ignore_ascii_case(odd)))
}

#[test]
fn prose_in_the_code_is_plain() {
    let mut crates: BTreeMap<String, Offences> = BTreeMap::new();
    for file in files() {
        let name = file.strip_prefix("crates/");
        let Some((name, _)) = name.and_then(|rest| rest.split_once("/src/")) else {
            continue;
        };
        if file.ends_with(".rs") {
            let offences = crates.entry(name.to_owned()).or_default();
            offences.add(&file, &read(&file));
        }
    }
    let names: Vec<&str> = crates.keys().map(String::as_str).collect();
    assert_eq!(names, CEILINGS.map(|ceiling| ceiling.name));
    let mut found = Vec::new();
    for ceiling in &CEILINGS {
        let offences = &crates[ceiling.name];
        for (kind, allowed, places) in [
            ("openings", ceiling.openings, &offences.openings),
            ("odd words", ceiling.odd_words, &offences.odd_words),
        ] {
            if places.len() != allowed {
                let count = places.len();
                found.push(format!(
                    "{}: {count} {kind}, {allowed} are allowed:\n  {}",
                    ceiling.name,
                    places.join("\n  ")
                ));
            }
        }
    }
    assert_none("words that are not plain", &found);
}

#[test]
fn offences_are_told_from_other_lines() {
    let mut offences = Offences::default();
    let text = "//! Whether it is.\n\n/// Returns\n/// What it is.\n///\n/// How.\n// Who\nlet anew = 1; // renewed\n";
    offences.add("a.rs", text);
    let openings = ["a.rs:1: //! Whether it is.", "a.rs:6: /// How."];
    assert_eq!(offences.openings, openings);
    assert_eq!(offences.odd_words, ["a.rs:8: let anew = 1; // renewed"]);
}
