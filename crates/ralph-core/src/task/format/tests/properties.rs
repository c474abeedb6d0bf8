//! Tests what holds for every file: no bytes make the reader panic, every status that is written reads
//! back, and a change touches only the lines it must.

use proptest::prelude::*;

use super::{diff, edit, id};
use crate::task::Status;
use crate::task::format::{Change, apply, json, parse, splices_at, undo_tampering};

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(Status::ALL.to_vec())
}

/// The way a generated file is written.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    indent: &'static str,
    newline: &'static str,
    mark: &'static str,
    end: &'static str,
    colon: &'static str,
}

pub(super) fn manner() -> impl Strategy<Value = Manner> {
    (
        prop::sample::select(vec!["  ", "    ", "\t", ""]),
        prop::sample::select(vec!["\n", "\r\n"]),
        prop::sample::select(vec!["", "\u{feff}"]),
        prop::bool::ANY,
        prop::sample::select(vec![": ", ":", " : "]),
    )
        .prop_map(|(indent, newline, mark, end, colon)| Manner {
            indent,
            newline,
            mark,
            end: if end { newline } else { "" },
            colon,
        })
}

pub(super) const SHELLS: [(&str, &str); 5] = [
    ("userStories", r#""project": "p""#),
    ("tasks", r#""project_name": "p""#),
    ("tasks", r#""version": 1"#),
    ("features", r#""x": [1, {"y": null}]"#),
    ("", ""),
];

/// Members that a task may have beside its id, each as key and JSON value.
const MEMBERS: [(&str, &str); 14] = [
    ("title", r#""T \"x\" \\ é""#),
    ("passes", "false"),
    ("passes", "true"),
    ("passes", "null"),
    ("status", "null"),
    ("skipped", "true"),
    ("blocked", "false"),
    ("failed", "true"),
    ("notes", r#""""#),
    ("acceptance", r#"["a", "b"]"#),
    ("dependencies", "[]"),
    ("unknown", r#"{"status": "x", "id": 3}"#),
    ("priority", "2"),
    ("attempts", "0"),
];

pub(super) type Members = Vec<(&'static str, &'static str)>;

pub(super) fn members() -> impl Strategy<Value = Members> {
    prop::sample::subsequence(MEMBERS.to_vec(), 0..MEMBERS.len()).prop_shuffle()
}

pub(super) fn json_text(manner: &Manner, shell: (&str, &str), tasks: &[Members]) -> String {
    let Manner {
        indent,
        newline,
        mark,
        end,
        colon,
    } = manner;
    let tasks: Vec<String> = tasks
        .iter()
        .enumerate()
        .map(|(n, members)| {
            let own = format!("\"id\"{colon}\"t{n}\"");
            let mut lines: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("\"{key}\"{colon}{value}"))
                .collect();
            lines.insert(lines.len() / 2, own);
            let pad = indent.repeat(3);
            let glue = format!(",{newline}{pad}");
            let two = indent.repeat(2);
            format!("{two}{{{newline}{pad}{}{newline}{two}}}", lines.join(&glue))
        })
        .collect();
    let list = format!(
        "[{newline}{}{newline}{indent}]",
        tasks.join(&format!(",{newline}"))
    );
    match shell {
        ("", _) => format!("{mark}{list}{end}"),
        (key, header) => format!(
            "{mark}{{{newline}{indent}{header},{newline}{indent}\"{key}\"{colon}{list}{newline}}}{end}"
        ),
    }
}

fn yaml_text(manner: &Manner, shell: (&str, &str), tasks: &[Members]) -> String {
    let newline = manner.newline;
    let mut lines = Vec::new();
    if let (key @ ("userStories" | "tasks" | "features"), header) = shell {
        let header = header.split_once(": ").unwrap();
        lines.push(format!(
            "{}: {}  # header",
            header.0.trim_matches('"'),
            header.1
        ));
        lines.push(format!("{key}:"));
    }
    for (n, members) in tasks.iter().enumerate() {
        lines.push(format!("- id: t{n}"));
        for (key, value) in members {
            match *value {
                "null" => lines.push(format!("  {key}:")),
                r#"["a", "b"]"# => {
                    lines.extend(["  acceptance:", "  # why", "  - a", "  - b"].map(str::to_owned))
                }
                value => lines.push(format!("  {key}: {value} # {key}")),
            }
        }
    }
    format!("{}{}{}", manner.mark, lines.join(newline), manner.end)
}

/// Checks a change from one status to another in a file, and gives the result.
fn check(file: &str, text: &str, from: Status, to: Status) -> Result<(), TestCaseError> {
    let Ok(before) = parse(file, 0, text.as_bytes()) else {
        // The generator makes some files that have a key twice, which YAML does not mind either.
        return Err(TestCaseError::fail(format!(
            "{:?}\n{text}",
            parse(file, 0, text.as_bytes())
        )));
    };
    let mut text = text.to_owned();
    for status in [from, to] {
        let edits = [edit("t1", Change::Status(status))];
        let bytes = apply(file, text.as_bytes(), &edits)
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let next = String::from_utf8(bytes).unwrap();
        let after = parse(file, 0, next.as_bytes()).unwrap();
        prop_assert_eq!(after.tasks[1].status, status, "{}", next);
        for other in [0, 2] {
            prop_assert_eq!(&after.tasks[other].text, &before.tasks[other].text);
            prop_assert_eq!(after.tasks[other].status, before.tasks[other].status);
        }
        let (removed, added) = diff(&text, &next);
        let keys = ["status", "passes", "skipped", "blocked", "failed"];
        let known = |line: &&str| keys.iter().any(|key| line.contains(key));
        let between = removed.iter().filter(|line| !added.contains(line));
        for line in between.chain(added.iter().filter(|line| !removed.contains(line))) {
            prop_assert!(
                known(line) || line.contains("\"id\""),
                "{:?}\n{}",
                line,
                next
            );
        }
        text = next;
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_status_reads_back_from_every_json_file(
        manner in manner(),
        shell in prop::sample::select(SHELLS.to_vec()),
        tasks in prop::collection::vec(members(), 3),
        from in status(),
        to in status(),
    ) {
        check("t.json", &json_text(&manner, shell, &tasks), from, to)?;
    }

    #[test]
    fn a_change_at_a_known_place_is_the_same_as_one_that_reads_the_whole_file(
        manner in manner(),
        shell in prop::sample::select(SHELLS.to_vec()),
        tasks in prop::collection::vec(members(), 3),
        statuses in prop::collection::vec(status(), 4),
    ) {
        let mut bytes = json_text(&manner, shell, &tasks).into_bytes();
        let read = parse("t.json", 0, &bytes).unwrap();
        let mut offsets: Vec<usize> = read.tasks.iter().map(|t| t.place.offset as usize).collect();
        for (n, status) in [1, 0, 2, 1].into_iter().zip(statuses) {
            let edits = [edit(&format!("t{n}"), Change::Status(status))];
            let expected = apply("t.json", &bytes, &edits).unwrap();
            let undone = bytes.clone();
            if let Some(splices) = splices_at(&bytes, read.format, offsets[n], &edits) {
                let mut undo = Vec::new();
                for splice in &splices {
                    undo.push(splice.perform(&mut bytes).unwrap());
                    offsets.iter_mut().for_each(|offset| *offset = splice.moved(*offset));
                }
                prop_assert_eq!(&bytes, &expected);
                for splice in undo.iter().rev() {
                    splice.perform(&mut bytes).unwrap();
                }
                prop_assert_eq!(&bytes, &undone);
                bytes = expected;
            }
        }
    }

    #[test]
    fn a_status_reads_back_from_every_yaml_file(
        manner in manner(),
        shell in prop::sample::select(SHELLS.to_vec()),
        tasks in prop::collection::vec(members(), 3),
        from in status(),
        to in status(),
    ) {
        check("t.yaml", &yaml_text(&manner, shell, &tasks), from, to)?;
    }

    #[test]
    fn notes_read_back_whatever_they_are(notes in any::<String>(), yaml in any::<bool>()) {
        let (file, text) = if yaml {
            ("t.yaml", "- id: t0\n  notes: x\n- id: t1\n  title: y\n- {id: t2, title: z}\n")
        } else {
            ("t.json", r#"[{"id": "t0", "notes": "x"}, {"id": "t1"}, {"id": "t2"}]"#)
        };
        for task in ["t0", "t1", "t2"] {
            let edits = [edit(task, Change::Notes(notes.clone()))];
            let bytes = apply(file, text.as_bytes(), &edits).unwrap();
            let tasks = parse(file, 0, &bytes).unwrap().tasks;
            let found = tasks.into_iter().find(|t| t.id == id(task)).unwrap();
            prop_assert_eq!(found.text.notes, Some(notes.clone()));
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for file in ["a.json", "a.yaml", "a"] {
            let _ = parse(file, 0, &bytes);
        }
    }

    #[test]
    fn no_mutation_of_a_file_makes_anything_panic(
        tasks in prop::collection::vec(members(), 3),
        yaml in any::<bool>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<char>(), any::<bool>()), 1..4),
        to in status(),
    ) {
        let manner = Manner { indent: " ", newline: "\n", mark: "", end: "\n", colon: ": " };
        let (file, before) = if yaml {
            ("a.yaml", yaml_text(&manner, SHELLS[0], &tasks))
        } else {
            ("a.json", json_text(&manner, SHELLS[0], &tasks))
        };
        let mut after: Vec<char> = before.chars().collect();
        for (at, char, replace) in cuts {
            let at = at.index(after.len());
            if replace { after[at] = char } else { after.remove(at); }
        }
        let after: String = after.into_iter().collect();
        let _ = parse(file, 0, after.as_bytes());
        let edits = [edit("t1", Change::Status(to)), edit("t0", Change::Acceptance(vec!["q".into()]))];
        if let Ok(bytes) = apply(file, after.as_bytes(), &edits[..1]) {
            prop_assert!(parse(file, 0, &bytes).is_ok() || parse(file, 0, after.as_bytes()).is_err());
        }
        let _ = apply(file, after.as_bytes(), &edits);
        // Whatever an agent does, the tasks stand afterwards as they stood before.
        let back = undo_tampering(file, before.as_bytes(), after.as_bytes(), &id("t1"));
        let old = parse(file, 0, before.as_bytes()).unwrap();
        let new = parse(file, 0, &back.bytes).unwrap();
        for task in &old.tasks {
            let now = new.tasks.iter().find(|now| now.id == task.id).unwrap();
            prop_assert_eq!(now.status, task.status);
            prop_assert_eq!(&now.text.acceptance, &task.text.acceptance);
        }
    }

    #[test]
    fn takes_the_json_that_serde_json_takes(
        text in prop::sample::select(JSON.to_vec()),
        at in any::<prop::sample::Index>(),
        new in prop::sample::select("[]{}:,\"\\ut0123456789abcdef.+eEx- \t\n\u{1}".chars().collect::<Vec<_>>()),
        replace in any::<bool>(),
    ) {
        let mut chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        if replace { chars[at] = new } else { chars.insert(at, new) }
        let text: String = chars.into_iter().collect();
        let ours = json::scan(&text, 0);
        // Numbers too large for it are refused by serde_json, and are no concern of the syntax.
        let theirs = match serde_json::from_str::<serde_json::Value>(&text) {
            Err(error) if error.to_string().contains("out of range") => return Ok(()),
            other => other,
        };
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?} {:?}", text, ours, theirs);
    }
}

const JSON: [&str; 4] = [
    r#"{"a": [1, -0.5e+3, true, false, null], "b": {"c": "\u00e9\ud83d\ude00\n"}}"#,
    r#"["\"\\\/\b\f\n\r\t", 0, 10, 1E2, [[], {}]]"#,
    r#"  "text"  "#,
    "-1.25e-2",
];
