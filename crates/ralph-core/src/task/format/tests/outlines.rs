//! Tasks in outline: the same as in full, whichever way they are read and by how large a crew.

use proptest::prelude::*;

use super::properties::{SHELLS, json_text, manner, members};
use super::{error, read};
use crate::task::format::{Crew, Document, Job, brief, outline, outline_bytes};
use crate::task::{Linked as _, Outline, Status};

/// Does its jobs one after the other, the last one first: they must not care.
struct LastFirst(usize);

impl Crew for LastFirst {
    fn size(&self) -> usize {
        self.0
    }

    fn run(&self, jobs: Vec<Job<'_>>) {
        for job in jobs.into_iter().rev() {
            job();
        }
    }
}

fn outlined(file: &str, text: &str) -> Document<Outline> {
    outline(file, 0, text.as_bytes(), &LastFirst(3))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Whether the quick way reads the text, with a crew of this size.
fn is_quick(text: &str, count: usize) -> bool {
    brief::parse(text, 0, 0, &LastFirst(count)).is_some()
}

fn assert_same_as_in_full(file: &str, text: &str) {
    let (brief, full) = (outlined(file, text), read(file, text));
    assert_eq!(
        (brief.format, brief.syntax, &brief.meta),
        (full.format, full.syntax, &full.meta),
        "{text}"
    );
    assert_eq!(brief.tasks.len(), full.tasks.len(), "{text}");
    for (brief, full) in brief.tasks.iter().zip(&full.tasks) {
        assert_eq!(brief.id, full.id);
        assert_eq!(brief.title.text(text.as_bytes()), full.text.title, "{text}");
        assert_eq!(brief.links(), &full.links, "{text}");
        assert_eq!(brief.status, full.status, "{text}");
        assert_eq!(brief.area(), full.area.as_deref(), "{text}");
        assert_eq!(brief.priority, full.priority, "{text}");
        assert_eq!(brief.attempts(), full.attempts, "{text}");
        assert_eq!(brief.created_at(), full.created_at, "{text}");
        assert_eq!(brief.place, full.place, "{text}");
    }
}

#[test]
fn everything_that_order_and_standing_need_is_in_an_outline() {
    let text = r#"{"project": "p", "stories": [
      {"id": "a", "title": "One", "passes": true, "priority": 3, "description": 4},
      {"id": 7, "title": "T\u0077o", "dependsOn": "a", "parentId": "c", "attempts": 2},
      {"id": "c", "title": " ", "description": "First line\nsecond", "labels": ["area=ui"]},
      {"id": "d", "created_at": "2026-01-02"}]}"#;
    let read = outlined("prd.json", text);
    let title = |at: usize| read.tasks[at].title.text(text.as_bytes());
    assert!(is_quick(text, 1));
    assert_eq!(read.meta.project.as_deref(), Some("p"));
    assert_eq!((title(0), title(1)), ("One", "Two"));
    assert_eq!((title(2), title(3)), ("First line", "d"));
    let [a, two, c, d] = read.tasks.as_slice() else {
        panic!("{read:?}");
    };
    assert_eq!((a.status, a.priority), (Status::Completed, Some(3)));
    assert_eq!(two.status, Status::Open);
    assert_eq!(two.links().depends_on, std::slice::from_ref(&a.id));
    assert_eq!(two.links().parent_id.as_ref(), Some(&c.id));
    assert_eq!(two.attempts().made, Some(2));
    assert_eq!(c.area(), Some("ui"));
    assert_eq!(
        d.created_at(),
        Some("2026-01-02T00:00:00Z".parse().unwrap())
    );
    assert_eq!(d.place.position, 3);
    assert!(text[d.place.offset as usize..].starts_with(r#"{"id": "d""#));
}

#[test]
fn a_long_list_is_read_in_blocks() {
    let story = |n: usize| format!("  {{\n    \"id\": \"US-{n}\",\n    \"title\": \"é {n}\"\n  }}");
    let stories: Vec<String> = (0..200).map(story).collect();
    let text = format!("{{\"tasks\": [\n{}\n]}}", stories.join(",\n"));
    for count in [1, 2, 7] {
        assert!(is_quick(&text, count));
        let read = outline("a.json", 0, text.as_bytes(), &LastFirst(count)).unwrap();
        assert_eq!(read.tasks.len(), 200);
        for (n, task) in read.tasks.iter().enumerate() {
            assert_eq!(task.id.as_str(), format!("US-{n}"));
            assert_eq!(task.title.text(text.as_bytes()), format!("é {n}"));
            assert_eq!(task.place.position as usize, n);
            assert!(text[task.place.offset as usize..].starts_with("{\n    \"id\""));
        }
    }
}

#[test]
fn a_block_that_begins_within_a_task_is_not_believed() {
    let part = r#"{"id":"not-a-task"}"#;
    let parts = [part; 50].join(",");
    let text = format!(r#"[{{"id":"a"}},{{"id":"b","parts":[{parts}]}},{{"id":"c"}}]"#);
    assert!(is_quick(&text, 1));
    assert!(!is_quick(&text, 2));
    assert_same_as_in_full("a.json", &text);
    assert_eq!(outlined("a.json", &text).tasks.len(), 3);
}

#[test]
fn a_crew_that_leaves_jobs_out_changes_nothing() {
    struct Lazy;
    impl Crew for Lazy {
        fn size(&self) -> usize {
            2
        }
        fn run(&self, jobs: Vec<Job<'_>>) {
            jobs.into_iter().take(1).for_each(|job| job());
        }
    }
    let text = format!("[{}{}]", r#"{"id": "a"},"#.repeat(20), r#"{"id": "b"}"#);
    assert!(brief::parse(&text, 0, 0, &Lazy).is_none());
    let read = outline("a.json", 0, text.as_bytes(), &Lazy).unwrap();
    assert_eq!(read.tasks.len(), 21);
}

#[test]
fn a_format_that_only_a_later_task_tells_is_that_of_all() {
    let text = r#"[{"id": "a", "status": "completed"}, {"id": "b", "status": "pending"}]"#;
    assert!(!is_quick(text, 1));
    assert_same_as_in_full("a.json", text);
    let text = r#"[{"id": "a", "status": "done"}, {"id": "b", "passes": true}]"#;
    assert!(!is_quick(text, 1));
    assert_eq!(outlined("a.json", text).tasks[0].status, Status::Completed);
}

#[test]
fn the_list_that_counts_is_found_among_several() {
    for text in [
        r#"{"tasks": [{"id": "a"}], "stories": [{"id": "b"}]}"#,
        r#"{"stories": [{"id": "a"}], "stories": [{"id": "b"}]}"#,
        r#"{"stories": 1, "tasks": [{"id": "b"}]}"#,
        r#"{"stories": [{"id": "a"}], "userStories": [{"id": "b"}], "tasks": []}"#,
    ] {
        assert_eq!(outlined("a.json", text).tasks[0].id.as_str(), "b", "{text}");
    }
    for text in ["[]", r#"{"tasks": []}"#, r#"{"id": "x", "passes": true}"#] {
        assert_same_as_in_full("a.json", text);
    }
    assert_same_as_in_full(
        "a.yaml",
        "tasks:\n- {id: a, title: 'it''s'}\n- {id: b, title: \"\\u00e9\"}\n",
    );
}

#[test]
fn what_is_wrong_is_said_as_it_is_of_the_whole_file() {
    let good = r#"{"id": "a", "title": "x"},"#.repeat(20);
    for bad in [
        r#"{"id": "b", "priority": "soon"}]"#,
        r#"{"id": "b",}]"#,
        r#"{"title": "no id"}]"#,
        r#"{"id": "b"}] x"#,
        r#"{"id": "b"}"#,
        "7]",
    ] {
        let text = format!("[{good}{bad}");
        let found = outline("a.json", 0, text.as_bytes(), &LastFirst(2)).unwrap_err();
        assert_eq!(found.to_string(), error("a.json", &text));
    }
    // Two tasks with one id are for the graph to find; what an outline leaves out is not looked at.
    let text = r#"[{"id": "a", "title": "x", "files": 3}, {"id": "a"}]"#;
    assert_eq!(outlined("a.json", text).tasks.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_list_is_the_same_in_outline_by_any_crew(
        manner in manner(),
        shell in prop::sample::select(SHELLS.to_vec()),
        tasks in prop::collection::vec(members(), 1..12),
        count in 1_usize..5,
    ) {
        let text = json_text(&manner, shell, &tasks);
        let slow = outline_bytes("a.json", 0, text.as_bytes());
        let quick = outline("a.json", 0, text.as_bytes(), &LastFirst(count));
        match (slow, quick) {
            (Ok(slow), Ok(quick)) => {
                prop_assert_eq!(slow, quick);
                assert_same_as_in_full("a.json", &text);
            }
            (Err(_), Err(_)) => {}
            (slow, quick) => prop_assert!(false, "{slow:?} {quick:?}"),
        }
    }
}
