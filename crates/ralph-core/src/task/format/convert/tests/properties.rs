//! For generated files and all ways between formats and syntaxes: there and back gives the same
//! tasks and every field of them, and the file there says the same.

use proptest::prelude::*;

use super::{json, read, to, value};
use crate::task::format::{Format, Syntax};

/// Members that a task may have, with a value for JSON: every field of the model in the ways that
/// people write it, and fields that ralph does not know.
const MEMBERS: [(&str, &str); 55] = [
    ("title", r#""T \"x\" \\ é: # yes""#),
    ("name", r#""no""#),
    ("description", r#""one\n  two\n\nthree ""#),
    ("description", r#""""#),
    ("acceptance", r#"["a", "- b", ""]"#),
    ("acceptanceCriteria", r#""- [ ] a\n* b""#),
    ("acceptance_criteria", "[]"),
    ("criteria", r#"["c", "123"]"#),
    ("steps", r#"["open", {"x":1}, [null,  2.50]]"#),
    ("requirements", r#"{"a": {"b": []}}"#),
    ("edgeCases", "true"),
    ("edge_cases", "3.0"),
    ("designDecisions", "null"),
    ("stop_condition", r#""never""#),
    ("parentId", r#""P""#),
    ("parent_id", "9"),
    ("dependsOn", r#"["x", 1.10]"#),
    ("depends_on", r#""x, y,none""#),
    ("dependencies", "[]"),
    ("dependencies", r#"["z"]"#),
    ("status", "null"),
    ("passes", "false"),
    ("passes", "true"),
    ("passes", "null"),
    ("skipped", "true"),
    ("failed", "true"),
    ("blocked", "true"),
    ("blocked", "false"),
    ("verify", r#""make test""#),
    (
        "verify",
        r#"["a", ["b", 2, "c d"], {"cmd": "x", "timeout": 3}]"#,
    ),
    ("labels", r#"["area=ui", {"size": "3"}]"#),
    ("tags", r#""a, b""#),
    ("area", r#""db""#),
    ("category", r#""""#),
    ("priority", "2"),
    ("priority", r#""high""#),
    ("attempts", "0"),
    ("attempts", "3"),
    ("attempts", "null"),
    ("maxAttempts", "5"),
    ("max_attempts", "4"),
    ("createdAt", r#""2026-01-02T03:04:05Z""#),
    ("updated_at", r#""2026-01-03""#),
    ("files", r#"{"create": ["a.rs"], "b.rs": 5}"#),
    ("key_files", r#"["c.rs", {"path": "d.rs"}]"#),
    ("notes", r#""n\tm\r\n ü\u0007""#),
    ("notes", "[1, {\"a\": 2}]"),
    ("expectsChange", "false"),
    ("expects_change", "true"),
    (
        "unknown",
        r#"{"status": "x", "id": 3, "passes": [true, {}], "": null}"#,
    ),
    (
        "x-ralph",
        r#"{"was": {"passes": true}, "names": {"title": "id"}, "absent": ["status", 4]}"#,
    ),
    ("x-ralph", "7"),
    ("y", "1E+2"),
    ("<<", r#"{"priority": 9}"#),
    ("on hold", r#""yes""#),
];

const WORDS: [(Format, &[&str]); 3] = [
    (
        Format::Native,
        &[
            "open",
            "in_progress",
            "completed",
            "blocked",
            "failed",
            "skipped",
        ],
    ),
    (
        Format::Prd,
        &[
            "todo", "Doing", "done", "on hold", "failed", "wontfix", "pending",
        ],
    ),
    (
        Format::Artefacts,
        &[
            "pending",
            "in_progress",
            "completed",
            "blocked",
            "failed",
            "skipped",
        ],
    ),
];

const HEADERS: [&str; 8] = [
    "",
    r#""project": "p""#,
    r#""project_name": "p", "version": 1.0"#,
    r#""projectName": "q", "name": "r", "branchName": "b""#,
    r#""project": {"name": "o", "url": null}, "title": "t""#,
    r#""project": "", "project_name": " ", "description": "d\ne""#,
    r#""features": [{"id": "f"}], "stories": 5, "x-ralph": {"from": "nowhere"}"#,
    r#""x-ralph": {"from": 5, "list": "stories", "was": {"a": 1}}, "context": [[], {}]"#,
];

const LISTS: [&str; 6] = ["", "tasks", "userStories", "features", "stories", "one"];

fn task() -> impl Strategy<Value = String> {
    let members = prop::sample::subsequence(MEMBERS.to_vec(), 0..14).prop_shuffle();
    let words = prop::option::of((0..3_usize, any::<prop::sample::Index>()));
    (members, words).prop_map(|(members, word)| {
        let mut members: Vec<String> = members
            .into_iter()
            .map(|(name, value)| format!("\"{name}\": {value}"))
            .collect();
        if let Some((format, word)) = word {
            let words = WORDS[format].1;
            members.push(format!(
                "\"status\": \"{}\"",
                words[word.index(words.len())]
            ));
        }
        members.join(", ")
    })
}

fn file() -> impl Strategy<Value = String> {
    let list = prop::sample::select(LISTS.to_vec());
    let header = prop::sample::select(HEADERS.to_vec());
    (list, header, prop::collection::vec(task(), 0..4)).prop_map(|(list, header, tasks)| {
        let object = |(n, members): (usize, &String)| {
            let comma = if members.is_empty() { "" } else { ", " };
            format!("{{\"id\": \"t{n}\"{comma}{members}}}")
        };
        let objects: Vec<String> = tasks.iter().enumerate().map(object).collect();
        let all = format!("[{}]", objects.join(", "));
        let comma = if header.is_empty() { "" } else { ", " };
        match (list, objects.first()) {
            ("", _) | ("one", None) => all,
            ("one", Some(one)) => one.clone(),
            (list, _) => format!("{{{header}{comma}\"{list}\": {all}}}"),
        }
    })
}

/// A file as its readers see it: of names that are there twice the last counts, unless it is a
/// known field and null.
fn seen(file: &str, text: &str) -> (Vec<crate::task::Task>, serde_json::Value) {
    let document = read(file, text);
    let same = json(file, text, document.format);
    let mut tasks = document.tasks;
    for task in &mut tasks {
        task.place = crate::task::Place::default();
    }
    (tasks, value(&same))
}

fn syntax() -> impl Strategy<Value = Syntax> {
    prop::sample::select(vec![Syntax::Json, Syntax::Yaml])
}

fn format() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::TREES.to_vec())
}

fn file_name(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Json => "a.json",
        Syntax::Yaml => "a.yaml",
        Syntax::Markdown => "a.md",
        Syntax::JsonLines => "a.jsonl",
    }
}

fn is_readable(text: &str) -> bool {
    crate::task::format::parse("a.json", 0, text.as_bytes()).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn there_and_back_gives_every_field_of_every_task(
        text in file(),
        through in prop::collection::vec((format(), syntax()), 1..4),
        last in syntax(),
    ) {
        // A word of another format's is refused, and that is tested elsewhere.
        prop_assume!(is_readable(&text));
        let (tasks, members) = seen("a.json", &text);
        let own = read("a.json", &text);
        let (mut name, mut there) = ("a.json", text);
        for (format, syntax) in through {
            let next = to(name, &there, format, syntax);
            name = file_name(syntax);
            there = next.text;
            let document = read(name, &there);
            prop_assert_eq!(document.format, format);
            // A list of nothing is the same in both.
            prop_assert!(document.syntax == syntax || document.tasks.is_empty());
            prop_assert_eq!(&document.meta, &own.meta);
            for (is, was) in document.tasks.iter().zip(&own.tasks) {
                prop_assert_eq!(&is.text, &was.text, "{}", there);
                prop_assert_eq!((is.status, &is.links), (was.status, &was.links), "{}", there);
                prop_assert_eq!((&is.verify, &is.labels, &is.area), (&was.verify, &was.labels, &was.area));
            }
        }
        let back = to(name, &there, own.format, last).text;
        let (tasks_back, members_back) = seen(file_name(last), &back);
        prop_assert_eq!(tasks_back, tasks, "{}\n{}", there, back);
        prop_assert_eq!(members_back, members, "{}\n{}", there, back);
    }

    #[test]
    fn unknown_fields_of_any_shape_are_kept(
        name in "[a-z#: \\-\\n\"é]{1,12}",
        text in any::<String>(),
        format in format(),
        syntax in syntax(),
    ) {
        let name = format!("my {name}");
        let own = serde_json::json!({"userStories": [{"id": "a", "passes": false, &name: {&name: [text, {}]}}], &name: text});
        let there = to("a.json", &own.to_string(), format, syntax).text;
        let back = json(file_name(syntax), &there, Format::Prd);
        prop_assert_eq!(value(&back), own, "{}", there);
    }
}
