//! Task lists of many shapes, made after what people have, each with what must be read from it and the lines
//! that a completion may change. `wild.txt` and `wild_lists.txt` hold them; a name that ends in `(yaml)` is
//! that of a YAML file. Files made at random from the same parts follow.

use proptest::prelude::*;

use super::{diff, edit, error, id, read, set};
use crate::task::format::{
    Change, Document, Format, NewTask, Syntax, Tampering, append, apply, convert, parse,
    undo_tampering,
};
use crate::task::{Status, Task};

/// One file with what is expected of it, as `wild.txt` says it.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) text: String,
    expected: Vec<&'static str>,
}

pub(super) fn samples() -> Vec<Sample> {
    let files = [include_str!("wild.txt"), include_str!("wild_lists.txt")];
    let parts = files.iter().flat_map(|file| file.split("=== ").skip(1));
    let samples = parts.map(|part| {
        let (name, rest) = part.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("\n---\n").unwrap();
        let text = format!("{text}\n");
        Sample {
            name,
            file: if name.ends_with("(yaml)") {
                "prd.yaml"
            } else {
                "prd.json"
            },
            text: text.replace("\nCRLF", "\r\n").replace("BOM", "\u{feff}"),
            expected: expected.lines().collect(),
        }
    });
    samples.collect()
}

/// The ids of tasks that hold others.
pub(super) fn containers(document: &Document) -> Vec<&str> {
    let is_parent = |task: &&Task| {
        let mut others = document.tasks.iter();
        others.any(|other| other.links.parent_id.as_ref() == Some(&task.id))
    };
    let found = document.tasks.iter().filter(is_parent);
    found.map(|task| task.id.as_str()).collect()
}

pub(super) fn leaves(document: &Document) -> Vec<&Task> {
    let containers = containers(document);
    let is_leaf = |task: &&Task| !containers.contains(&task.id.as_str());
    document.tasks.iter().filter(is_leaf).collect()
}

fn task<'d>(document: &'d Document, name: &str, of: &str) -> &'d Task {
    let mut tasks = document.tasks.iter();
    let found = tasks.find(|task| task.id.as_str() == of);
    found.unwrap_or_else(|| panic!("{name}: no task {of}"))
}

fn without_returns(lines: &[&str]) -> Vec<String> {
    let lines = lines.iter();
    lines
        .map(|line| line.trim_end_matches('\r').to_owned())
        .collect()
}

#[test]
fn every_list_is_read_and_completed_as_written_down() {
    let samples = samples();
    assert!(samples.len() >= 150, "{}", samples.len());
    let mut wrong = Vec::new();
    for sample in &samples {
        let Sample {
            name, text, file, ..
        } = sample;
        let document = match parse(file, 0, text.as_bytes()) {
            Ok(document) => document,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let mut check = |what: &str, is: String, should: String| {
            if is != should {
                wrong.push(format!(
                    "{name}: {what}:\n    is     {is}\n    should {should}"
                ));
            }
        };
        let mut changed: Option<(Vec<String>, Vec<String>)> = None;
        let (mut minus, mut plus) = (Vec::new(), Vec::new());
        let mut said_containers = String::new();
        for line in &sample.expected {
            if let Some(should) = line.strip_prefix("leaves: ") {
                let is = leaves(&document);
                let is: Vec<String> = is
                    .iter()
                    .map(|t| format!("{}={}", t.id, t.status))
                    .collect();
                check("leaves", is.join(" "), should.to_owned());
            } else if let Some(should) = line.strip_prefix("containers: ") {
                should.clone_into(&mut said_containers);
            } else if let Some((of, text)) = named(line, "says ") {
                let said = &task(&document, name, of).text.description;
                if !said.contains(text) {
                    check("says", said.clone(), text.to_owned());
                }
            } else if let Some((of, should)) = named(line, "title ") {
                let is = task(&document, name, of).text.title.clone();
                check("title", is, should.to_owned());
            } else if let Some((of, text)) = named(line, "accepts ") {
                let said = &task(&document, name, of).text.acceptance;
                if !said.iter().any(|item| item == text) {
                    check("accepts", said.join(" | "), text.to_owned());
                }
            } else if let Some((of, should)) = named(line, "depends ") {
                let on = &task(&document, name, of).links.depends_on;
                let on: Vec<&str> = on.iter().map(|id| id.as_str()).collect();
                check("depends", on.join(" "), should.to_owned());
            } else if let Some((of, should)) = named(line, "priority ") {
                let is = task(&document, name, of).priority;
                check("priority", format!("{is:?}"), format!("Some({should})"));
            } else if let Some(of) = line.strip_prefix("complete ") {
                let new = set(file, text, of, Status::Completed);
                let (removed, added) = diff(text, &new);
                changed = Some((without_returns(&removed), without_returns(&added)));
            } else if let Some(line) = line.strip_prefix("- ") {
                minus.push(line.to_owned());
            } else if let Some(line) = line.strip_prefix("+ ") {
                plus.push(line.to_owned());
            } else if let Some(should) = line.strip_prefix("reading: ") {
                let is = document.reading.clone().unwrap_or_default();
                if !is.contains(should) {
                    check("reading", is, should.to_owned());
                }
            } else if let Some(should) = line.strip_prefix("warns: ") {
                let warnings = document.warnings.iter();
                let is: Vec<&str> = warnings.map(|w| w.message.as_str()).collect();
                if !is.iter().any(|message| message.contains(should)) {
                    check("warns", is.join(" | "), should.to_owned());
                }
            } else {
                panic!("{name}: what is {line:?}?");
            }
        }
        check(
            "containers",
            containers(&document).join(" "),
            said_containers,
        );
        let warns = sample
            .expected
            .iter()
            .any(|line| line.starts_with("warns: "));
        let is = format!("{:?}", document.warnings);
        if !warns && !document.warnings.is_empty() {
            check("warnings", is, "none".to_owned());
        }
        let (removed, added) = changed.unwrap_or_else(|| panic!("{name}: nothing completed"));
        check("removed", removed.join("\n"), minus.join("\n"));
        check("added", added.join("\n"), plus.join("\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The task and the rest of a line such as `says ID: TEXT`.
fn named<'l>(line: &'l str, word: &str) -> Option<(&'l str, &'l str)> {
    line.strip_prefix(word)?.split_once(": ")
}

#[test]
fn all_are_complete_once_each_leaf_is_and_the_order_does_not_matter() {
    for Sample {
        name, text, file, ..
    } in samples()
    {
        complete_in_any_order(name, file, &text);
    }
}

/// Completes every leaf of a file, in both orders: the bytes are the same, and all read as completed.
pub(super) fn complete_in_any_order(name: &str, file: &str, text: &str) {
    let document = read(file, text);
    let ids: Vec<String> = leaves(&document).iter().map(|t| t.id.to_string()).collect();
    let complete = |ids: &mut dyn Iterator<Item = &String>| {
        ids.fold(text.to_owned(), |text, id| {
            set(file, &text, id, Status::Completed)
        })
    };
    let forward = complete(&mut ids.iter());
    assert_eq!(forward, complete(&mut ids.iter().rev()), "{name}");
    let after = read(file, &forward);
    let open = leaves(&after)
        .into_iter()
        .find(|t| t.status != Status::Completed);
    assert!(open.is_none(), "{name}: {open:?}\n{forward}");
    let again: Vec<String> = leaves(&after).iter().map(|t| t.id.to_string()).collect();
    assert_eq!(again, ids, "{name}");
}

#[test]
fn every_status_that_is_written_reads_back() {
    for Sample {
        name, text, file, ..
    } in samples()
    {
        let document = read(file, &text);
        for leaf in leaves(&document) {
            for status in Status::ALL {
                let new = set(file, &text, leaf.id.as_str(), status);
                let now = read(file, &new);
                assert_eq!(now.tasks.len(), document.tasks.len(), "{name}");
                for (was, is) in document.tasks.iter().zip(&now.tasks) {
                    let should = if was.id == leaf.id {
                        status
                    } else {
                        was.status
                    };
                    assert_eq!((&is.id, is.status), (&was.id, should), "{name}\n{new}");
                    assert_eq!(is.text, was.text, "{name}");
                }
            }
        }
    }
}

#[test]
fn a_conversion_writes_out_ids_and_containers_or_is_refused() {
    let mut refused = Vec::new();
    for Sample {
        name, text, file, ..
    } in samples()
    {
        let before = read(file, &text);
        let ways = [
            (Format::Native, Syntax::Yaml, "x.yaml"),
            (Format::Native, Syntax::Json, "x.json"),
            (Format::Prd, Syntax::Json, "x.json"),
            (Format::Artefacts, Syntax::Json, "x.json"),
        ];
        for (to, syntax, there) in ways {
            let converted = match convert(file, text.as_bytes(), to, syntax) {
                Ok(converted) => converted,
                Err(_) => {
                    refused.push(name);
                    continue;
                }
            };
            let after = read(there, &converted.text);
            let of = |document: &Document| -> Vec<_> {
                let tasks = document.tasks.iter();
                tasks
                    .map(|t| {
                        (
                            t.id.clone(),
                            t.links.clone(),
                            t.status,
                            t.text.title.clone(),
                        )
                    })
                    .collect()
            };
            assert_eq!(of(&after), of(&before), "{name} to {to:?}");
        }
    }
    refused.dedup();
    // A second tag beside the one that is read, and what the strict formats have no room for.
    assert_eq!(
        refused,
        [
            "several tags with master",
            "odd priorities",
            "odd types",
            "prerequisites in words",
            "verify as an object",
            "odd values in a list with the name and the words of ralph",
            "two objects around the list",
            "a Taskmaster file with a project around its tags",
            "dependencies in a sentence",
            "several names for order in one task",
        ]
    );
}

#[test]
fn what_an_agent_claims_is_taken_back_in_any_shape() {
    for Sample {
        name, text, file, ..
    } in samples()
    {
        let document = read(file, &text);
        let open = leaves(&document)
            .into_iter()
            .find(|t| t.status == Status::Open);
        let Some(open) = open else { continue };
        let claimed = set(file, &text, open.id.as_str(), Status::Completed);
        let back = undo_tampering(file, text.as_bytes(), claimed.as_bytes(), &open.id);
        let now = read(file, std::str::from_utf8(&back.bytes).unwrap());
        let statuses = |d: &Document| -> Vec<_> { d.tasks.iter().map(|t| t.status).collect() };
        assert_eq!(statuses(&now), statuses(&document), "{name}");
        assert!(
            matches!(&back.tampering[..], [Tampering::Status { task, .. }] if *task == open.id),
            "{name}: {:?}",
            back.tampering
        );
    }
}

#[test]
fn a_new_task_is_open_and_leaves_the_others_alone() {
    for Sample {
        name, text, file, ..
    } in samples()
    {
        let before = read(file, &text);
        let new = NewTask {
            id: id("NEW-1"),
            title: "A new task".into(),
            description: "More words".into(),
            acceptance: vec!["it is there".into()],
            verify: Vec::new(),
            depends_on: Vec::new(),
            labels: Vec::new(),
            priority: None,
        };
        let bytes = append(file, text.as_bytes(), &new);
        if before
            .reading
            .as_deref()
            .is_some_and(|said| said.contains("the keys"))
        {
            let said = bytes.unwrap_err().to_string();
            assert!(said.contains("by hand"), "{name}: {said}");
            continue;
        }
        if before.tasks.len() == 1 && before.reading.is_none() && text.starts_with("{\"id\"") {
            let said = bytes.unwrap_err().to_string();
            assert!(said.contains("a file of its own"), "{name}: {said}");
            continue;
        }
        let bytes = bytes.unwrap_or_else(|error| panic!("{name}: {error}"));
        let after = read(file, std::str::from_utf8(&bytes).unwrap());
        assert_eq!(after.tasks.len(), before.tasks.len() + 1, "{name}");
        let flags = |text: &str| text.matches("\"passes\"").count();
        let reading = before
            .reading
            .unwrap_or_else(|| "nothing says so yet".into());
        let says_so = |words: &str| reading.contains(words);
        let uses = flags(&text) > 0 || says_so("nothing says so yet") || says_so("as `passes`");
        let now = String::from_utf8(bytes).unwrap();
        assert!(uses || flags(&now) == 0, "{name}: a second flag\n{now}");
    }
}

#[test]
fn lists_that_could_both_be_it_are_named_with_their_lines() {
    let text = "{\n\"bugs\": [{\"id\": 1, \"title\": \"a\", \"status\": \"open\"}],\n\"issues\": [{\"id\": 2, \"title\": \"b\", \"status\": \"open\"}]}";
    insta::assert_snapshot!(error("a.json", text), @"a.json:2:9: expected one list of tasks, found several that could be it: `bugs` on line 2, `issues` on line 3; rename one to `tasks`");
    let text = "{\"one\": {\"tasks\": [{\"id\": 1, \"title\": \"a\", \"status\": \"pending\"}]},\n\"two\": {\"tasks\": [{\"id\": 1, \"title\": \"a\", \"status\": \"pending\"}]}}";
    insta::assert_snapshot!(error("a.json", text), @"a.json:1:19: expected one list of tasks, or one under `master`, found `one.tasks` on line 1, `two.tasks` on line 2");
}

#[test]
fn a_board_with_a_list_for_each_status_is_refused_by_name() {
    let text = "{\"todo\": [{\"id\": 1, \"title\": \"a\"}],\n\"in_progress\": [],\n\"done\": [{\"id\": 2, \"title\": \"b\"}]}";
    insta::assert_snapshot!(error("a.json", text), @"a.json:1:10: expected one list of tasks, found one for each status: `todo` on line 1, `done` on line 3; put them into one list `tasks`, each with a `status`");
}

#[test]
fn a_container_without_a_status_never_gets_one() {
    let text = r#"{"phases": [{"id": "P", "title": "p", "tasks": [{"id": "a", "title": "t", "done": false}]}]}"#;
    let edits = [edit("P", Change::Status(Status::Completed))];
    let failed = apply("a.json", text.as_bytes(), &edits).unwrap_err();
    insta::assert_snapshot!(failed, @"a.json:1:13: task P: has no status of its own: the tasks in it decide");
}

#[test]
fn a_nested_list_in_yaml_is_changed_in_place() {
    let text = "phases:\n  - name: Build # first\n    tasks:\n      - title: One\n        completed: false\n      - title: Two\n        completed: true\n";
    let document = read("plan.yaml", text);
    assert_eq!(containers(&document), ["build"]);
    assert_eq!(
        set("plan.yaml", text, "one", Status::Completed),
        text.replace("completed: false", "completed: true")
    );
}

#[test]
fn text_without_end_is_cut_and_says_so() {
    let long = "word ".repeat(2_000);
    let many: Vec<String> = (0..9).map(|n| format!("\"f{n}\": \"{long}\"")).collect();
    let text = format!(
        "[{{\"id\": \"a\", \"title\": \"t\", \"passes\": false, {}}}]",
        many.join(", ")
    );
    let said = &read("a.json", &text).tasks[0].text.description;
    assert!(said.chars().count() < 9_000, "{}", said.chars().count());
    assert_eq!(
        said.matches("… (cut; the rest is in the task file)")
            .count(),
        9
    );
}

#[test]
fn check_commands_around_the_list_are_told_and_sentences_are_not() {
    let text = r#"{"verifyCommand": "./check --all", "qualityGates": ["All tests pass", "npm test", {"command": "npm run lint"}], "qualityChecks": {"types": "tsc --noEmit"}, "test_command": ["npm test"], "userStories": [{"id": "a", "title": "t", "passes": false}]}"#;
    let checks = read("prd.json", text).checks;
    let shown: Vec<String> = checks.iter().map(|one| one.command.to_string()).collect();
    assert_eq!(
        shown,
        ["./check --all", "npm test", "npm run lint", "tsc --noEmit"]
    );
}

/// A file made of parts that people combine, and the number of its leaves.
fn made() -> impl Strategy<Value = (String, usize)> {
    let list = prop::sample::select(vec![
        "userStories",
        "stories",
        "features",
        "tasks",
        "items",
        "bugs",
        "phases",
        "chunks",
        "",
    ]);
    let inner = prop::sample::select(vec!["tasks", "subtasks", "userStories", "issues"]);
    let done = prop::sample::select(vec![
        ("passes", ["false", "true"]),
        ("completed", ["false", "true"]),
        ("done", ["false", "true"]),
        ("is_done", ["false", "true"]),
        ("status", ["\"todo\"", "\"done\""]),
        ("status", ["\"pending\"", "\"completed\""]),
        ("state", ["\"open\"", "\"closed\""]),
    ]);
    // Of each outer item whether it is done, and of each item in it.
    let items = prop::collection::vec(
        (any::<bool>(), prop::collection::vec(any::<bool>(), 0..4)),
        1..5,
    );
    let choices = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (list, inner, done, items, choices).prop_map(|(list, inner, done, items, choices)| {
        let (ids, wrapped, outer_marked, one_line) = choices;
        let (name, words) = done;
        let glue = if one_line { " " } else { "\n" };
        let item = |id: String, marked: Option<bool>, more: String| {
            let id = if ids {
                format!("\"id\": {id},{glue}")
            } else {
                String::new()
            };
            let mark = marked.map(|is| format!(",{glue}\"{name}\": {}", words[usize::from(is)]));
            let mark = mark.unwrap_or_default();
            format!("{{{id}\"title\": \"Do this\"{mark}{more}}}")
        };
        let mut leaves = 0;
        let mut outer = Vec::new();
        for (n, (is_done, inside)) in items.iter().enumerate() {
            leaves += inside.len().max(1);
            let inside: Vec<String> = inside
                .iter()
                .enumerate()
                .map(|(m, is)| item(m.to_string(), Some(*is), String::new()))
                .collect();
            let marked = (outer_marked || inside.is_empty()).then_some(*is_done);
            let more = if inside.is_empty() {
                String::new()
            } else {
                format!(",{glue}\"{inner}\": [{}]", inside.join(",\n"))
            };
            outer.push(item(n.to_string(), marked, more));
        }
        let list_text = format!("[\n{}\n]", outer.join(",\n"));
        let text = match (list, wrapped) {
            ("", _) => list_text,
            (list, true) => format!("{{\"plan\": {{\"{list}\": {list_text}}}}}"),
            (list, false) => format!("{{\"version\": 1, \"{list}\": {list_text}}}\n"),
        };
        (text, leaves)
    })
}

proptest! {
    #[test]
    fn no_mutation_of_a_list_makes_anything_panic_or_loses_a_status(
        sample in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<char>(), any::<bool>()), 1..4),
    ) {
        let samples = samples();
        let sample = &samples[sample.index(samples.len())];
        let (name, before) = (sample.file, &sample.text);
        let mut after: Vec<char> = before.chars().collect();
        for (at, char, replace) in cuts {
            let at = at.index(after.len());
            if replace { after[at] = char } else { after.remove(at); }
        }
        let after: String = after.into_iter().collect();
        for file in ["a.json", "a.yaml"] {
            if let Ok(document) = parse(file, 0, after.as_bytes()) {
                for task in &document.tasks {
                    let edits = [edit(task.id.as_str(), Change::Status(Status::Completed))];
                    if let Ok(bytes) = apply(file, after.as_bytes(), &edits) {
                        let now = parse(file, 0, &bytes).unwrap();
                        prop_assert_eq!(now.tasks.len(), document.tasks.len());
                    }
                }
            }
        }
        let old = read(name, before);
        let own = &old.tasks[0].id;
        let back = undo_tampering(name, before.as_bytes(), after.as_bytes(), own);
        let new = parse(name, 0, &back.bytes).unwrap();
        for (was, is) in old.tasks.iter().zip(&new.tasks) {
            prop_assert_eq!((&was.id, was.status), (&is.id, is.status));
        }
    }

    #[test]
    fn any_combination_is_read_completed_and_put_back((text, count) in made()) {
        let document = read("prd.json", &text);
        let ids: Vec<String> = leaves(&document).iter().map(|t| t.id.to_string()).collect();
        prop_assert_eq!(ids.len(), count, "{}", text);
        let mut forward = text.clone();
        for id in &ids {
            let next = set("prd.json", &forward, id, Status::Completed);
            let (removed, added) = diff(&forward, &next);
            prop_assert!(removed.len() <= 1 && added.len() <= 1, "{}", next);
            forward = next;
        }
        let backward = ids.iter().rev().fold(text.clone(), |text, id| {
            set("prd.json", &text, id, Status::Completed)
        });
        prop_assert_eq!(&forward, &backward);
        let after = read("prd.json", &forward);
        let done = leaves(&after).iter().all(|t| t.status == Status::Completed);
        prop_assert!(done && after.tasks.len() == document.tasks.len(), "{}", forward);
        let own = id(&ids[0]);
        let back = undo_tampering("prd.json", text.as_bytes(), forward.as_bytes(), &own);
        let back = read("prd.json", std::str::from_utf8(&back.bytes).unwrap());
        for (was, is) in document.tasks.iter().zip(&back.tasks) {
            prop_assert_eq!((&was.id, was.status), (&is.id, is.status));
        }
    }
}
