//! Checklists in Markdown and issues of beads, made after what people have, each with what must be read from it
//! and the lines that a completion may change. `checklists.txt` and `issues.txt` hold them.
//!
//! A sample begins with `@@@ NAME`, perhaps followed by `| ` and words: the name of the file, `crlf`, `bom`,
//! `no-final-newline`. What is expected stands behind `@@@ expect`.

use proptest::prelude::*;

use super::wild::{complete_in_any_order, containers, leaves};
use super::{diff, edit, error, id, read, set};
use crate::task::format::{
    Change, Document, Format, NewTask, Syntax, Tampering, added_tasks, append, apply, convert,
    parse, undo_tampering,
};
use crate::task::{Status, Task, VerifyCommand};

pub(super) struct NamedSample {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) text: String,
    expected: Vec<&'static str>,
}

fn samples_of(all: &'static str, usual: &'static str) -> Vec<NamedSample> {
    let parts = all.split("@@@ ").skip(1).collect::<Vec<_>>();
    let mut samples = Vec::new();
    for pair in parts.chunks(2) {
        let [sample, expected] = pair else {
            panic!("a sample without what is expected: {pair:?}");
        };
        let (head, text) = sample.split_once('\n').unwrap();
        let (name, words) = head.split_once(" | ").unwrap_or((head, ""));
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut text = text.to_owned();
        if words.contains(&"no-final-newline") {
            text.pop();
        }
        if words.contains(&"crlf") {
            text = text.replace('\n', "\r\n");
        }
        if words.contains(&"bom") {
            text.insert(0, '\u{feff}');
        }
        let file = words.iter().find(|word| word.contains('.')).copied();
        let expected = expected.strip_prefix("expect\n").unwrap();
        samples.push(NamedSample {
            name,
            file: file.unwrap_or(usual),
            text,
            expected: expected.lines().collect(),
        });
    }
    samples
}

pub(super) fn checklists() -> Vec<NamedSample> {
    samples_of(include_str!("checklists.txt"), "TODO.md")
}

pub(super) fn issues() -> Vec<NamedSample> {
    samples_of(include_str!("issues.txt"), ".beads/issues.jsonl")
}

/// Those that can be read, of both kinds.
pub(super) fn readable() -> Vec<NamedSample> {
    let all = checklists().into_iter().chain(issues());
    let is_readable = |sample: &NamedSample| {
        !sample
            .expected
            .iter()
            .any(|line| line.starts_with("error: "))
    };
    all.filter(is_readable).collect()
}

fn joined<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    items.join(" ")
}

/// The value of a fact about the file, by the word that stands for it in a sample.
fn file_fact(document: &Document, word: &str) -> Option<String> {
    let Document { meta, .. } = document;
    Some(match word {
        "leaves:" => {
            let leaves = leaves(document).into_iter();
            let leaves: Vec<String> = leaves.map(|t| format!("{}={}", t.id, t.status)).collect();
            leaves.join(" ")
        }
        "order:" => {
            let mut all: Vec<&Task> = leaves(document);
            all.sort_by_key(|task| (task.priority.is_none(), task.priority, task.place));
            let all: Vec<&str> = all.iter().map(|task| task.id.as_str()).collect();
            all.join(" ")
        }
        "containers:" => containers(document).join(" "),
        "headline:" => meta.title.clone().unwrap_or_default(),
        "branch:" => meta.branch_name.clone().unwrap_or_default(),
        "checks:" => {
            let checks = document.checks.iter().map(|one| one.command.to_string());
            checks.collect::<Vec<_>>().join(" ")
        }
        "reading:" => document.reading.clone().unwrap_or_default(),
        _ => return None,
    })
}

/// The same for a fact about a task.
fn task_fact(task: &Task, word: &str) -> Option<String> {
    let Task { text, links, .. } = task;
    Some(match word {
        "title" => text.title.clone(),
        "accepts" => text.acceptance.join(" | "),
        "verifies" => joined(&task.verify),
        "depends" => joined(&links.depends_on),
        "labels" => task.labels.join(" "),
        "files" => text.files.join(" "),
        "notes" => text.notes.clone().unwrap_or_default().replace('\n', " / "),
        "parent" => links
            .parent_id
            .as_ref()
            .map_or(String::new(), ToString::to_string),
        "unchanged" => (!text.expects_change).to_string(),
        "status" => task.status.to_string(),
        _ => return None,
    })
}

/// Checks a sample against what is written down; gives what is wrong.
fn check_sample(sample: &NamedSample) -> Vec<String> {
    let NamedSample {
        name,
        file,
        text,
        expected,
    } = sample;
    let mut wrong = Vec::new();
    let mut check = |what: &str, is: String, should: &str| {
        if is != should {
            wrong.push(format!(
                "{name}: {what}:\n    is     {is}\n    should {should}"
            ));
        }
    };
    let document = match parse(file, 0, text.as_bytes()) {
        Ok(document) => document,
        Err(error) => {
            let should = expected
                .iter()
                .find_map(|line| line.strip_prefix("error: "));
            check("error", error.to_string(), should.unwrap_or("none"));
            return wrong;
        }
    };
    let warnings: Vec<&str> = document
        .warnings
        .iter()
        .map(|w| w.message.as_str())
        .collect();
    let mut changed = (String::new(), String::new());
    let behind = |word: &str| -> Vec<&str> {
        let lines = expected.iter().filter_map(|line| line.strip_prefix(word));
        lines.collect()
    };
    for line in expected.iter().filter(|line| !line.starts_with(['-', '+'])) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(is) = file_fact(&document, word) {
            check(word, is, rest);
            continue;
        }
        if word == "warns:" {
            if !warnings.iter().any(|message| message.contains(rest)) {
                check(word, warnings.join(" | "), rest);
            }
            continue;
        }
        let (of, should) = rest.split_once(": ").unwrap_or((rest, ""));
        let mut tasks = document.tasks.iter();
        let Some(task) = tasks.find(|task| task.id.as_str() == of) else {
            panic!("{name}: no task {of}: {line:?}");
        };
        match (word, task_fact(task, word)) {
            (_, Some(is)) => check(word, is, should),
            ("says" | "hides", None) => {
                let said = &task.text.description;
                if said.contains(should) != (word == "says") {
                    check(word, said.clone(), should);
                }
            }
            ("complete", None) => {
                let new = set(file, text, of, Status::Completed);
                let (removed, added) = diff(text, &new);
                let plain = |lines: Vec<&str>| lines.join("\n").replace(['\r', '\u{feff}'], "");
                changed = (plain(removed), plain(added));
            }
            (_, None) => panic!("{name}: what is {line:?}?"),
        }
    }
    if behind("containers: ").is_empty() {
        check("containers", containers(&document).join(" "), "");
    }
    let warns = behind("warns: ").len();
    if warnings.len() != warns {
        let is = format!("{} {}", warnings.len(), warnings.join(" | "));
        check("warnings", is, &warns.to_string());
    }
    check("removed", changed.0, &behind("- ").join("\n"));
    check("added", changed.1, &behind("+ ").join("\n"));
    wrong
}

#[test]
fn every_checklist_is_read_and_completed_as_written_down() {
    let samples = checklists();
    let wrong: Vec<String> = samples.iter().flat_map(check_sample).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(samples.len() >= 80, "{}", samples.len());
}

#[test]
fn every_file_of_issues_is_read_and_closed_as_written_down() {
    let samples = issues();
    let wrong: Vec<String> = samples.iter().flat_map(check_sample).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(samples.len() >= 15, "{}", samples.len());
}

#[test]
fn all_are_complete_once_each_leaf_is_and_the_order_does_not_matter() {
    for NamedSample {
        name, file, text, ..
    } in readable()
    {
        complete_in_any_order(name, file, &text);
    }
}

#[test]
fn every_status_that_can_be_written_reads_back_and_touches_one_line() {
    let statuses = [
        Status::Open,
        Status::InProgress,
        Status::Completed,
        Status::Blocked,
        Status::Skipped,
    ];
    for NamedSample {
        name, file, text, ..
    } in readable()
    {
        let document = read(file, &text);
        for leaf in leaves(&document) {
            for status in statuses {
                let edits = [edit(leaf.id.as_str(), Change::Status(status))];
                let bytes = match apply(file, text.as_bytes(), &edits) {
                    Ok(bytes) => bytes,
                    // Out of scope, or struck through: no mark can open it.
                    Err(error) if error.to_string().contains("can't be opened by its mark") => {
                        continue;
                    }
                    Err(error) => panic!("{name}: {error}"),
                };
                let new = String::from_utf8(bytes).unwrap();
                let now = read(file, &new);
                let found = now.tasks.iter().find(|task| task.id == leaf.id).unwrap();
                assert_eq!(found.status, status, "{name}\n{new}");
                let (removed, added) = diff(&text, &new);
                let boxes = leaf.text.acceptance.len().max(1);
                assert!(
                    removed.len() <= boxes && removed.len() == added.len(),
                    "{name}\n{new}"
                );
            }
        }
    }
}

#[test]
fn there_is_no_mark_and_no_word_for_failed() {
    let failed = |file: &str, text: &str, task: &str| {
        let edits = [edit(task, Change::Status(Status::Failed))];
        apply(file, text.as_bytes(), &edits)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(failed("a.md", "- [ ] One\n", "one"), @"a.md:1:1: task one: a checklist has no mark for failed");
    insta::assert_snapshot!(failed("a.jsonl", "{\"id\":\"a\",\"title\":\"t\"}\n", "a"), @"a.jsonl: task a: beads has no word for failed");
}

#[test]
fn what_an_agent_claims_is_taken_back_byte_for_byte() {
    for NamedSample {
        name, file, text, ..
    } in readable()
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
        let is_claim =
            |t: &Tampering| matches!(t, Tampering::Status { task, .. } if *task == open.id);
        assert!(
            back.tampering.iter().all(is_claim),
            "{name}: {:?}",
            back.tampering
        );
        assert_eq!(back.tampering.len(), 1, "{name}");
    }
}

#[test]
fn what_an_agent_writes_into_a_checklist_is_put_back_but_for_its_notes() {
    let before = "# Plan\n\n- [ ] One\n  - keep it small\n- [ ] Two\n\n## Log\nNothing yet.\n";
    let put = |after: &str| {
        let back = undo_tampering("TODO.md", before.as_bytes(), after.as_bytes(), &id("one"));
        let said: Vec<String> = back.tampering.iter().map(ToString::to_string).collect();
        (String::from_utf8(back.bytes).unwrap(), said)
    };
    let noted = before.replace("small\n", "small\n  - Note: slow on Windows\n");
    assert_eq!(put(&noted), (noted.clone(), Vec::new()));
    let both = noted.replace("[ ] Two", "[x] Two");
    let (text, said) = put(&both);
    assert_eq!(text, noted);
    assert_eq!(said, ["task two was set from open to completed"]);
    let logged = before.replace("Nothing yet.", "Looked at it.");
    assert_eq!(put(&logged), (logged.clone(), Vec::new()));
    for (after, expected) in [
        (
            before.replace("small", "large"),
            "the description of task one was changed",
        ),
        (before.replace("- [ ] Two\n", ""), "task two was removed"),
        (
            before.replace("Two\n", "Two\n- [ ] Three\n"),
            "task three was added, which is a suggestion",
        ),
        (
            "no list any more\n".to_owned(),
            "the task file could not be read any more: TODO.md: expected a list with checkboxes such as `- [ ] Add a test`, found a text without any; `ralph plan TODO.md` has an agent make tasks of a text",
        ),
    ] {
        let (text, said) = put(&after);
        assert_eq!(text, before, "{after}");
        assert_eq!(said, [expected]);
    }
    let after = before.replace("Two\n", "Two\n- [ ] Three\n  - with more\n");
    let added = added_tasks("TODO.md", before.as_bytes(), after.as_bytes());
    assert_eq!(added.len(), 1);
    assert_eq!(added[0].id, id("three"));
    assert!(added[0].text.description.contains("with more"));
}

fn new_task(of: &str, title: &str) -> NewTask {
    NewTask {
        id: id(of),
        title: title.into(),
        description: "More words\n\nin two paragraphs".into(),
        acceptance: vec!["it is there".into()],
        verify: vec![VerifyCommand::Shell("make test".into())],
        depends_on: Vec::new(),
        labels: Vec::new(),
        priority: None,
    }
}

#[test]
fn a_new_task_is_open_and_leaves_the_others_alone() {
    for NamedSample {
        name, file, text, ..
    } in readable()
    {
        let before = read(file, &text);
        let mut new = new_task("NEW-1", "A new task");
        if before.format == Format::Beads {
            new.verify.clear();
        }
        // There is no list of boxes to add to.
        if name == "stories with their criteria as boxes" || name == "a story that is half ticked" {
            assert!(append(file, text.as_bytes(), &new).is_err(), "{name}");
            continue;
        }
        let bytes = append(file, text.as_bytes(), &new);
        let bytes = bytes.unwrap_or_else(|error| panic!("{name}: {error}"));
        let after = read(file, std::str::from_utf8(&bytes).unwrap());
        assert_eq!(after.tasks.len(), before.tasks.len() + 1, "{name}");
        let found = after
            .tasks
            .iter()
            .find(|task| task.id == id("NEW-1"))
            .unwrap();
        assert_eq!(found.status, Status::Open, "{name}");
        assert_eq!(found.text.title, "A new task", "{name}");
        assert!(
            found.text.description.contains("in two paragraphs"),
            "{name}"
        );
    }
}

#[test]
fn a_new_task_is_written_as_its_neighbours_are() {
    let added = |text: &str, of: &str, title: &str| {
        let task = NewTask {
            description: title.into(),
            acceptance: Vec::new(),
            verify: Vec::new(),
            ..new_task(of, title)
        };
        String::from_utf8(append("TODO.md", text.as_bytes(), &task).unwrap()).unwrap()
    };
    assert_eq!(
        added(
            "## Todo\n* [ ] One\n  * more\n\n## Done\n* [x] Two\n",
            "three",
            "Three"
        ),
        "## Todo\n* [ ] One\n  * more\n* [ ] Three\n\n## Done\n* [x] Two\n"
    );
    assert_eq!(
        added(
            "1. [ ] ST-001: One\r\n2. [ ] ST-002: Two",
            "ST-003",
            "Three"
        ),
        "1. [ ] ST-001: One\r\n2. [ ] ST-002: Two\r\n3. [ ] ST-003: Three"
    );
    assert_eq!(
        added("- [ ] T001 One\n- [ ] T002 [P] Two\n", "T003", "Three"),
        "- [ ] T001 One\n- [ ] T002 [P] Two\n- [ ] T003 Three\n"
    );
    assert_eq!(
        added("- [ ] One\n", "other", "Three"),
        "- [ ] One\n- [ ] Three <!-- id: other -->\n"
    );
}

#[test]
fn notes_and_criteria_are_lines_below_the_item() {
    let text = "- [ ] One\n  - Done when: a holds\n- [ ] Two\n";
    let change = |text: &str, change: Change| {
        let bytes = apply("a.md", text.as_bytes(), &[edit("one", change)]).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let noted = change(text, Change::Notes("first".into()));
    assert_eq!(
        noted,
        "- [ ] One\n  - Done when: a holds\n  - Note: first\n- [ ] Two\n"
    );
    let more = change(&noted, Change::Notes("first\nsecond".into()));
    assert_eq!(more, noted.replace("first\n", "first\n  - Note: second\n"));
    assert_eq!(change(&more, Change::Notes("first".into())), noted);
    let amended = Change::Acceptance(vec!["b holds".into(), "c holds".into()]);
    assert_eq!(
        change(text, amended),
        "- [ ] One\n  - Done when: b holds\n  - Done when: c holds\n- [ ] Two\n"
    );
}

#[test]
fn a_conversion_says_the_same_in_every_format_that_can_be_written() {
    for NamedSample {
        name, file, text, ..
    } in readable()
    {
        let before = read(file, &text);
        let ways = [
            (Format::Native, Syntax::Yaml, "x.yaml"),
            (Format::Prd, Syntax::Json, "x.json"),
            (Format::Artefacts, Syntax::Json, "x.json"),
        ];
        for (to, syntax, there) in ways {
            let converted = convert(file, text.as_bytes(), to, syntax);
            let converted = converted.unwrap_or_else(|error| panic!("{name} to {to:?}: {error}"));
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
}

#[test]
fn a_broken_line_of_issues_is_an_error_with_its_place() {
    let good = "{\"id\":\"a\",\"title\":\"t\",\"status\":\"open\"}\n";
    let file = "i.jsonl";
    insta::assert_snapshot!(error(file, &format!("{good}\n{{\"id\": \"b\" \"title\"}}\n")), @"i.jsonl:3:12: task b: expected `,` or `}` after the value, found a text");
    insta::assert_snapshot!(error(file, &format!("{good}[1]\n")), @"i.jsonl:2:1: expected an issue (an object on one line), found something else");
    insta::assert_snapshot!(error(file, &format!("{good}{{\"id\":\"b\"}} {{\"id\":\"c\"}}\n")), @"i.jsonl:2:11: expected an issue that begins and ends on its line, found more or less than that");
    insta::assert_snapshot!(error(file, &format!("{good}{{\"id\":\"b\",\n\"title\":\"t\"}}\n")), @"i.jsonl:2:11: expected an issue that begins and ends on its line, found more or less than that");
    insta::assert_snapshot!(error(file, &format!("{good}{{\"title\":\"t\"}}\n")), @"i.jsonl:2:1: expected an `id`, found none");
    insta::assert_snapshot!(error(file, &format!("{good}{good}")), @"i.jsonl:2:1: task a: expected an id of its own, found one that the task on line 1 has");
}

/// Lines of which checklists are made at random.
const LINES: [&str; 24] = [
    "# Title",
    "## Phase 1: Base",
    "## High Priority",
    "## Completed",
    "### Acceptance Criteria",
    "- [ ] One",
    "- [x] Two",
    "- [X] T001 Three",
    "* [ ] T002 [P] Four (depends on T001)",
    "  - [ ] Five",
    "    - [ ] Six",
    "\t- [ ] Seven",
    "1. [ ] Eight",
    "- [~] Nine",
    "  - Done when: it holds",
    "  - Verify: `make test`",
    "  text of an item",
    "Some prose.",
    "```",
    "<!-- - [ ] no -->",
    "> - [ ] quoted",
    "---",
    "",
    "**Acceptance Criteria:**",
];

proptest! {
    #[test]
    fn completing_each_task_completes_all_in_any_checklist(
        lines in prop::collection::vec(prop::sample::select(LINES.to_vec()), 1..30),
        crlf in any::<bool>(),
        bom in any::<bool>(),
    ) {
        let newline = if crlf { "\r\n" } else { "\n" };
        let mark = if bom { "\u{feff}" } else { "" };
        let text = format!("{mark}{}{newline}", lines.join(newline));
        let Ok(document) = parse("a.md", 0, text.as_bytes()) else {
            return Ok(());
        };
        let ids: Vec<String> = leaves(&document).iter().map(|t| t.id.to_string()).collect();
        let complete = |ids: &mut dyn Iterator<Item = &String>| {
            ids.fold(text.clone(), |text, id| set("a.md", &text, id, Status::Completed))
        };
        let forward = complete(&mut ids.iter());
        prop_assert_eq!(&forward, &complete(&mut ids.iter().rev()));
        let after = read("a.md", &forward);
        for leaf in leaves(&after) {
            prop_assert_eq!(leaf.status, Status::Completed);
        }
        prop_assert_eq!(forward.len(), text.len());
        let changed = forward.bytes().zip(text.bytes()).filter(|(a, b)| a != b).count();
        let boxes = text.matches("[ ]").count() + text.matches("[~]").count();
        prop_assert!(changed <= document.tasks.len() + boxes);
    }

    #[test]
    fn no_text_makes_the_reader_of_checklists_panic(
        text in "[-*+ #`~\\[\\]xX<>!|:\\n\\t0-9a-cT()✅é.]{0,200}",
        to in prop::sample::select(Status::ALL.to_vec()),
    ) {
        for file in ["a.md", "a.jsonl"] {
            if let Ok(document) = parse(file, 0, text.as_bytes()) {
                for task in &document.tasks {
                    let _ = apply(file, text.as_bytes(), &[edit(task.id.as_str(), Change::Status(to))]);
                }
                let _ = append(file, text.as_bytes(), &new_task("NEW-1", "A new task"));
            }
        }
    }

    #[test]
    fn whatever_an_agent_does_the_tasks_stand_as_they_stood(
        lines in prop::collection::vec(prop::sample::select(LINES.to_vec()), 1..20),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<char>(), any::<bool>()), 1..4),
    ) {
        let before = format!("{}\n", lines.join("\n"));
        let Ok(old) = parse("a.md", 0, before.as_bytes()) else {
            return Ok(());
        };
        let mut after: Vec<char> = before.chars().collect();
        for (at, char, replace) in cuts {
            let at = at.index(after.len());
            if replace { after[at] = char } else { after.remove(at); }
            if after.is_empty() { break; }
        }
        let after: String = after.into_iter().collect();
        let own = old.tasks[0].id.clone();
        let back = undo_tampering("a.md", before.as_bytes(), after.as_bytes(), &own);
        let new = parse("a.md", 0, &back.bytes).unwrap();
        for task in &old.tasks {
            let now = new.tasks.iter().find(|now| now.id == task.id).unwrap();
            prop_assert_eq!(now.status, task.status);
            prop_assert_eq!(&now.text.acceptance, &task.text.acceptance);
        }
    }
}
