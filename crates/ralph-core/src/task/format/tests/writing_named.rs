//! Checklists and issues of beads that are written from tasks of other formats: what they look like, what is read
//! from them, what they can't say.

use proptest::prelude::*;

use super::named::{self, NamedSample};
use super::{read, samples};
use crate::task::format::{Converted, Document, Format, LostField, Syntax, convert};
use crate::task::{Status, TaskId};

const TARGETS: [(Format, Syntax, &str); 2] = [
    (Format::Markdown, Syntax::Markdown, "TODO.md"),
    (Format::Beads, Syntax::JsonLines, "issues.jsonl"),
];

fn to(file: &str, text: &str, format: Format, syntax: Syntax) -> Converted {
    convert(file, text.as_bytes(), format, syntax).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The part of all tasks that decides about the work, by id.
fn work(document: &Document) -> Vec<(TaskId, Status, Option<TaskId>, Vec<TaskId>)> {
    let tasks = document.tasks.iter();
    let mut work: Vec<_> = tasks
        .map(|task| {
            let mut depends_on = task.links.depends_on.clone();
            depends_on.sort();
            depends_on.dedup();
            let parent = task.links.parent_id.clone();
            (task.id.clone(), task.status, parent, depends_on)
        })
        .collect();
    work.sort();
    work
}

/// Converts a file to both formats and says what is not read back, or refused.
fn faults(name: &str, file: &str, text: &str) -> Vec<String> {
    let before = read(file, text);
    let mut faults = Vec::new();
    for (format, syntax, there) in TARGETS {
        match convert(file, text.as_bytes(), format, syntax) {
            Err(error) => faults.push(format!("{name} to {}: {error}", format.as_str())),
            Ok(converted) => {
                let after = read(there, &converted.text);
                assert_eq!(work(&after), work(&before), "{name}\n{}", converted.text);
            }
        }
    }
    faults
}

#[test]
fn every_sample_is_the_same_work_as_a_checklist_and_as_issues() {
    let mut refused = Vec::new();
    for sample in samples() {
        refused.extend(faults(sample.name, sample.file, &sample.text));
    }
    for NamedSample {
        name, file, text, ..
    } in named::readable()
    {
        refused.extend(faults(name, file, &text));
        let native = to(file, &text, Format::Native, Syntax::Json).text;
        refused.extend(faults(name, "x.json", &native));
    }
    assert_eq!(
        refused,
        [
            "every word of the vocabulary to markdown: prd.json: task 10: a checklist has no mark for failed",
            "every word of the vocabulary to beads: prd.json: task 10: beads has no word for failed",
        ]
    );
}

#[test]
fn the_titles_and_criteria_of_every_sample_stay_in_a_checklist() {
    let of = |document: &Document| -> Vec<(String, Vec<String>)> {
        let mut tasks = document.tasks.clone();
        tasks.sort_by(|a, b| a.id.cmp(&b.id));
        let texts = tasks.into_iter().map(|task| task.text);
        texts.map(|text| (text.title, text.acceptance)).collect()
    };
    for NamedSample {
        name, file, text, ..
    } in named::readable()
    {
        let before = read(file, &text);
        let issues = to(file, &text, Format::Beads, Syntax::JsonLines).text;
        let list = to("a.jsonl", &issues, Format::Markdown, Syntax::Markdown).text;
        let after = read("TODO.md", &list);
        assert_eq!(work(&after), work(&before), "{name}\n{list}");
        assert_eq!(of(&after), of(&before), "{name}\n{list}");
    }
}

/// A project with what a checklist and issues can say, and what they can't.
const SHOP: &str = r#"
project: Shop
title: The shop
owner: me
tasks:
  - {id: first, title: Set it up, status: completed}
  - id: cart
    title: The cart
    description: Everything about the cart.
  - id: US-1
    title: Add a table
    parentId: cart
    status: completed
    description: |
      One row an item.

      Keep it small.
    acceptance: [it holds items, it is empty at first]
    verify: [cargo test cart, "true"]
    priority: 1
    attempts: 2
    mine: 3
  - id: US-2
    title: Fill it
    parentId: cart
    status: in_progress
    description: "Steps:\n- [ ] not a task\n## Nor a heading"
    dependsOn: [US-1, first]
    labels: [backend, "two words and far too long for brackets"]
    priority: 2
    notes: "slow\nand old"
  - id: sub
    title: Notes
    parentId: cart
  - {id: fill-more, title: Fill more, parentId: sub, status: blocked, priority: 3}
  - {id: pay, title: Pay}
  - {id: by-card, title: By card, parentId: pay, status: skipped, dependsOn: [cart], files: [src/pay.rs]}
"#;

#[test]
fn a_checklist_has_headings_marks_and_labelled_lines() {
    let converted = to("shop.yaml", SHOP, Format::Markdown, Syntax::Markdown);
    let expected = r#"---
project: "Shop"
---

# The shop

<!-- [~] = in progress, [!] = blocked, [-] = skipped -->

- [x] Set it up <!-- id: first -->

## The cart <!-- id: cart -->

Everything about the cart.

- [x] US-1: Add a table

  One row an item.

  Keep it small.
  - Done when: it holds items
  - Done when: it is empty at first
  - Verify: `cargo test cart`
  - Priority: 1
- [~] US-2: [backend] Fill it

  ~~~
  Steps:
  - [ ] not a task
  ## Nor a heading
  ~~~
  - Depends on: US-1, first
  - Priority: 2
  - Note: slow
  - Note: and old
- [ ] Notes <!-- id: sub -->
  - [!] Fill more
    - Priority: 3

## Pay

- [-] By card
  - Depends on: cart
  - Files: src/pay.rs
"#;
    assert_eq!(converted.text, expected);
    let read = read("TODO.md", &converted.text);
    assert_eq!(read.warnings, []);
    assert_eq!(read.meta.project.as_deref(), Some("Shop"));
    assert_eq!(read.meta.title.as_deref(), Some("The shop"));
}

#[test]
fn issues_have_epics_and_typed_dependencies() {
    let converted = to("shop.yaml", SHOP, Format::Beads, Syntax::JsonLines);
    let lines: Vec<&str> = converted.text.lines().collect();
    assert_eq!(lines.len(), 8);
    assert_eq!(
        lines[1],
        r#"{"id": "cart", "title": "The cart", "description": "Everything about the cart.", "status": "open", "priority": 2, "issue_type": "epic"}"#
    );
    assert_eq!(
        lines[3],
        r###"{"id": "US-2", "title": "Fill it", "description": "Steps:\n- [ ] not a task\n## Nor a heading", "notes": "slow\nand old", "status": "in_progress", "priority": 2, "issue_type": "task", "labels": ["backend", "two words and far too long for brackets"], "dependencies": [{"issue_id": "US-2", "depends_on_id": "cart", "type": "parent-child"}, {"issue_id": "US-2", "depends_on_id": "US-1", "type": "blocks"}, {"issue_id": "US-2", "depends_on_id": "first", "type": "blocks"}]}"###
    );
    assert_eq!(read("issues.jsonl", &converted.text).warnings, []);
}

fn named_losses(converted: &Converted) -> Vec<String> {
    let lost = converted.lost.iter();
    lost.map(|LostField { field, tasks }| match tasks {
        Some(tasks) => format!("{field} {tasks}"),
        None => field.clone(),
    })
    .collect()
}

#[test]
fn what_the_format_has_no_place_for_is_named() {
    let list = to("shop.yaml", SHOP, Format::Markdown, Syntax::Markdown);
    assert_eq!(
        named_losses(&list),
        [
            "priority 2",
            "verify 1",
            "attempts 1",
            "labels 1",
            "owner",
            "mine 1"
        ]
    );
    let issues = to("shop.yaml", SHOP, Format::Beads, Syntax::JsonLines);
    assert_eq!(
        named_losses(&issues),
        [
            "project",
            "title",
            "priority 2",
            "verify 1",
            "attempts 1",
            "files 1",
            "owner",
            "mine 1"
        ]
    );
    let commented = to(
        "a.yaml",
        "# one\n- id: a # two\n  title: A\n",
        Format::Markdown,
        Syntax::Markdown,
    );
    assert_eq!(commented.lost_comments, 2);
    let sections = "# Shop\n\n## Why\n\nBecause.\n\n## Work\n- [ ] One\n";
    let issues = to("TODO.md", sections, Format::Beads, Syntax::JsonLines);
    assert_eq!(named_losses(&issues), ["title", "section \"Why\""]);
    let issue = r#"{"id":"a-1","title":"One","status":"open","priority":1,"assignee":"me"}"#;
    let gone = r#"{"id":"a-2","title":"Two","status":"tombstone"}"#;
    let issues = format!("{issue}\n{gone}\n");
    let list = to("a.jsonl", &issues, Format::Markdown, Syntax::Markdown);
    assert_eq!(named_losses(&list), ["assignee 1", "deleted issues"]);
}

#[test]
fn what_would_change_the_work_is_refused_by_name() {
    let refused = |text: &str, format: Format, syntax: Syntax| {
        let error = convert("a.yaml", text.as_bytes(), format, syntax).unwrap_err();
        error.to_string()
    };
    let both = |text: &str| TARGETS.map(|(format, syntax, _)| refused(text, format, syntax));
    assert_eq!(
        both("- {id: a, title: A, status: failed}\n"),
        [
            "a.yaml: task a: a checklist has no mark for failed",
            "a.yaml: task a: beads has no word for failed",
        ]
    );
    assert_eq!(
        both("- {id: a, title: A, dependsOn: [elsewhere]}\n"),
        [
            "a.yaml: task a: what it depends on can't be written as markdown",
            "a.yaml: task a: what it depends on can't be written as beads",
        ]
    );
    assert_eq!(
        both("- {id: a, title: A, parentId: elsewhere}\n"),
        [
            "a.yaml: task a: what it is in can't be written as markdown",
            "a.yaml: task a: what it is in can't be written as beads",
        ]
    );
    assert_eq!(
        refused("tasks: []\n", Format::Markdown, Syntax::Markdown),
        "a.yaml: has no tasks, and a checklist is nothing without checkboxes"
    );
    assert_eq!(
        refused(
            "- {id: a, title: A}\n- {id: b, title: Build it (depends on a)}\n",
            Format::Markdown,
            Syntax::Markdown
        ),
        "a.yaml: task b: what it depends on can't be written as markdown"
    );
}

#[test]
fn an_order_that_a_list_can_not_have_is_named() {
    let text = "- {id: box, title: Box}\n- {id: other, title: Other}\n- {id: in-it, title: In it, parentId: box}\n";
    let list = to("a.yaml", text, Format::Markdown, Syntax::Markdown);
    assert_eq!(named_losses(&list), ["order"]);
    assert_eq!(
        list.text,
        "# Tasks\n\n- [ ] Box\n  - [ ] In it\n- [ ] Other\n"
    );
}

#[test]
fn a_file_that_has_the_format_already_stays_as_it_is() {
    for NamedSample {
        name, file, text, ..
    } in named::readable()
    {
        let format = read(file, &text).format;
        let converted = to(file, &text, format, format.usual_syntax());
        assert_eq!(converted.text, text, "{name}");
        assert_eq!(converted.lost, [], "{name}");
    }
}

/// Texts that mean something in a checklist.
const ODD: [&str; 22] = [
    "plain words",
    "- [ ] a box",
    "## a heading",
    "Depends on: a",
    "after a",
    "Verify: `make test`",
    "Acceptance criteria:",
    "- an item",
    "```",
    "~~~~",
    "<!-- a comment",
    "-->",
    "---",
    "[~] = done",
    "Priority: high",
    "Note: b",
    "| a | [ ] b |",
    "1. One",
    "**Bold**",
    "_Requirements: 1.1_",
    "Status: done",
    "",
];

proptest! {
    #[test]
    fn whatever_tasks_say_they_are_the_same_work_and_only_a_title_is_refused(
        tasks in prop::collection::vec(
            (
                prop::sample::select(ODD.to_vec()),
                prop::collection::vec(prop::sample::select(ODD.to_vec()), 0..5),
                prop::collection::vec(prop::sample::select(ODD.to_vec()), 0..2),
                0..4_usize,
                prop::sample::select(vec![Status::Open, Status::Completed, Status::Skipped]),
            ),
            1..8,
        ),
        named in any::<bool>(),
    ) {
        let ids: Vec<String> = (0..tasks.len())
            .map(|n| if named { format!("t-{n}") } else { format!("{}", n + 1) })
            .collect();
        let listed: Vec<serde_json::Value> = tasks
            .iter()
            .enumerate()
            .map(|(n, (title, lines, criteria, back, status))| {
                let mut task = serde_json::json!({
                    "id": ids[n],
                    "title": title,
                    "description": lines.join("\n"),
                    "acceptance": criteria,
                    "status": status.as_str(),
                });
                if let Some(parent) = n.checked_sub(*back).filter(|_| *back > 0) {
                    task["parentId"] = ids[parent].clone().into();
                }
                task
            })
            .collect();
        let mut plain = listed.clone();
        for task in &mut plain {
            task["title"] = "Make it".into();
        }
        for (listed, may_be_refused) in [(listed, true), (plain, false)] {
            let text = serde_json::json!({ "tasks": listed }).to_string();
            let before = read("a.json", &text);
            for (format, syntax, there) in TARGETS {
                match convert("a.json", text.as_bytes(), format, syntax) {
                    Ok(converted) => {
                        let after = read(there, &converted.text);
                        prop_assert_eq!(work(&after), work(&before), "{}", converted.text);
                    }
                    Err(error) => prop_assert!(may_be_refused, "{}\n{}", error, text),
                }
            }
        }
    }
}
