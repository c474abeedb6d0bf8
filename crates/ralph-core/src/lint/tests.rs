//! Each rule with a task that trips it and one that does not.

use super::text::{hidden_context, names_a_file, vague};
use super::*;
use crate::task::VerifyCommand;
use crate::task::graph::tests::sample::{SampleTask, build, task};

const CONFIGURED: LintContext = LintContext {
    configured_verify: true,
};
const BARE: LintContext = LintContext {
    configured_verify: false,
};

/// A task that no rule has anything against.
fn good(id: &str) -> Task {
    let mut made = task(id);
    made.text.description =
        "Users sign in with e-mail and password; the form is in src/login.tsx.".to_owned();
    made.text.acceptance = vec!["A wrong password shows \"Try again\"".to_owned()];
    made
}

fn with(change: impl FnOnce(&mut Task)) -> Task {
    let mut made = good("a");
    change(&mut made);
    made
}

fn findings(tasks: Vec<Task>, ctx: &LintContext) -> Vec<Finding> {
    let (graph, problems) = build(tasks);
    lint(&Board::of_all(graph), &problems, ctx)
}

/// Which rules say something about which task.
fn rules(tasks: Vec<Task>) -> Vec<(String, &'static str)> {
    findings(tasks, &CONFIGURED)
        .into_iter()
        .map(|finding| {
            let task = finding.task.map_or_else(String::new, |id| id.to_string());
            (task, finding.rule.as_str())
        })
        .collect()
}

/// The rules that say something about a task among others that are as they should be.
fn trips(task: Task) -> Vec<&'static str> {
    let mut tasks = vec![task];
    for other in ["other-1", "other-2"] {
        let mut made = good(other);
        made.text.title = format!("Write {other}");
        tasks.push(made);
    }
    let found = rules(tasks).into_iter();
    found.map(|(_, rule)| rule).collect()
}

#[test]
fn a_good_task_trips_nothing() {
    assert_eq!(findings(vec![good("a")], &CONFIGURED), []);
}

#[test]
fn titles_have_to_be_there_and_fit_a_commit() {
    for (title, expected) in [
        ("", vec!["title-missing"]),
        ("  ", vec!["title-missing"]),
        (&*"x".repeat(73), vec!["title-too-long"]),
        (&*"é".repeat(72), vec![]),
    ] {
        let task = with(|task| task.text.title = title.to_owned());
        assert_eq!(trips(task), expected, "{title:?}");
    }
}

#[test]
fn a_title_that_another_task_has_is_reported_at_the_second() {
    let mut tasks = vec![good("a"), good("b"), good("c")];
    tasks[0].text.title = "Add the login form".to_owned();
    tasks[1].text.title = "Add  the Login form".to_owned();
    let found = findings(tasks.clone(), &CONFIGURED);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, Rule::DuplicateTitle);
    assert_eq!(found[0].task.as_ref().unwrap().as_str(), "b");
    assert_eq!(found[0].message, "it has the same title as a");
    tasks[0].status = Status::Completed;
    assert_eq!(rules(tasks), []);
}

#[test]
fn a_description_has_to_stand_alone() {
    let described = |description: &str, acceptance: &[&str]| {
        with(|task| {
            task.text.description = description.to_owned();
            task.text.acceptance = acceptance.iter().map(|&text| text.to_owned()).collect();
            task.text.files = vec!["src/login.tsx".to_owned()];
        })
    };
    for (description, acceptance, expected) in [
        ("", &[][..], vec!["nothing-said"]),
        ("", &["It says 42"][..], vec!["description-missing"]),
        (
            "Add login",
            &["It says 42"][..],
            vec!["description-too-short"],
        ),
        ("task A", &["It says 42"][..], vec!["description-too-short"]),
        ("Add login", &["It says 42", "It says 43"][..], vec![]),
        (
            "ログインフォームを追加し、検証を行う",
            &["It says 42"][..],
            vec![],
        ),
        ("Add a login form to the page", &["It says 42"][..], vec![]),
        (
            "Add a login form to the page",
            &[][..],
            vec!["acceptance-missing"],
        ),
        (
            "Add a login form to the page",
            &[" "][..],
            vec!["acceptance-missing"],
        ),
    ] {
        assert_eq!(
            trips(described(description, acceptance)),
            expected,
            "{description:?} {acceptance:?}"
        );
    }
}

#[test]
fn a_description_that_points_outside_itself_is_reported() {
    for (description, found) in [
        ("Build it as discussed.", Some("as discussed")),
        ("Build it as we agreed", Some("as we agreed")),
        ("Continue the previous task", Some("the previous task")),
        ("Same as before, but for users", Some("Same as before")),
        (
            "Add a button. Same as above for links",
            Some("Same as above"),
        ),
        ("Take the format, see above, and use it", Some("see above")),
        (
            "Use the colours from our last meeting",
            Some("our last meeting"),
        ),
        ("You know what to do", Some("You know what")),
        ("The output stays the same as before", None),
        ("Show the last task of the list", None),
        ("Opens the last conversation in the chat", None),
        ("Formats:\n- a\n- b\n\nFor b, see above, add a test", None),
        ("Depends on the types of US-001", None),
        ("Was discussed as an option and dropped", None),
    ] {
        assert_eq!(hidden_context(description), found, "{description:?}");
    }
    let task = with(|task| task.text.description.push_str(" As discussed."));
    assert_eq!(trips(task), ["hidden-context"]);
}

#[test]
fn a_criterion_that_no_one_can_check_is_reported() {
    for (criterion, found) in [
        ("The page works well", Some("works well")),
        ("Errors are handled properly", Some("properly")),
        ("User-friendly form", Some("User-friendly")),
        ("The code is clean", Some("code is clean")),
        ("Clean code", Some("Clean code")),
        ("It is fast", Some("is fast")),
        ("Handles names, dates, etc.", Some("etc")),
        ("Supports 3 formats etc", Some("etc")),
        ("Limits: TBD", Some("TBD")),
        ("The page works well below 100 ms", None),
        ("`cargo clippy` passes and code is clean", None),
        ("Shows \"Works well\" when done", None),
        ("Reads /etc/hosts", None),
        ("Tree is clean after a run", None),
        ("Typecheck passes", None),
        ("A property is inherited", None),
        ("Verify in browser using dev-browser skill", None),
    ] {
        assert_eq!(vague(criterion), found, "{criterion:?}");
    }
    let task = with(|task| task.text.acceptance.push("Looks good".to_owned()));
    let found = findings(vec![task], &CONFIGURED);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, Rule::AcceptanceVague);
    assert_eq!(
        found[0].message,
        "no one can check \"Looks good\" in the criterion \"Looks good\""
    );
}

#[test]
fn a_file_can_be_named_in_many_ways() {
    for text in [
        "see src/main.rs",
        "main.rs",
        "edit `components/Button`",
        "in crates/core",
        "the folder migrations/ is new",
        "./run",
        "the Makefile",
        "all *.test.ts files",
        "a/b/c",
        "update .gitignore",
        "the App.js file",
    ] {
        assert!(names_a_file(text), "{text:?}");
    }
    for text in [
        "read and/or write",
        "e.g. this, i.e. that",
        "input/output",
        "version 1.2.3",
        "written in Node.js",
        "https://example.com/a/b/c.html",
        "a sentence. Another",
        "24/7",
    ] {
        assert!(!names_a_file(text), "{text:?}");
    }
}

#[test]
fn a_task_without_any_file_is_reported_unless_it_changes_none() {
    let text = "Users sign in with e-mail and password.";
    let bare = with(|task| task.text.description = text.to_owned());
    assert_eq!(trips(bare.clone()), ["no-files"]);
    let mut audit = bare.clone();
    audit.text.expects_change = false;
    assert_eq!(trips(audit), [""; 0]);
    let mut listed = bare;
    listed.text.files = vec!["login".to_owned()];
    assert_eq!(trips(listed), [""; 0]);
}

#[test]
fn what_no_task_of_a_list_has_is_not_missed_in_each() {
    let bare = |id: &str| {
        let mut made = good(id);
        made.text.title = format!("Show {id} to a user");
        made.text.description = "Users sign in with e-mail and password.".to_owned();
        made.text.acceptance = Vec::new();
        made
    };
    assert_eq!(rules(vec![bare("a"), bare("b"), good("c")]), []);
    let said: Vec<&str> = rules(vec![bare("a"), good("b"), good("c")])
        .into_iter()
        .filter(|(task, _)| task == "a")
        .map(|(_, rule)| rule)
        .collect();
    assert_eq!(said, ["acceptance-missing", "no-files"]);
    let mut verified = bare("a");
    verified.verify = vec![VerifyCommand::Shell("make test".to_owned())];
    let said = rules(vec![verified, good("b"), good("c")]);
    assert!(
        said.iter().all(|(_, rule)| *rule != "acceptance-missing"),
        "{said:?}"
    );
}

#[test]
fn fields_that_ralph_does_not_know_are_one_note() {
    let text = r#"{"userStories": [
  {"id": "a", "title": "One", "goal": "x", "mocks": ["y"], "passes": false, "points": 3},
  {"id": "b", "title": "Two", "mocks": ["z"], "passes": false}
]}"#;
    let fields = crate::task::format::unknown_fields("prd.json", 0, text.as_bytes());
    let found = of_unknown_fields(&fields).unwrap();
    assert_eq!(
        (found.rule, found.severity),
        (Rule::UnknownFields, Severity::Note)
    );
    assert_eq!(
        found.message,
        "fields that ralph does not know are told to the agent as text: `mocks` (2 tasks)"
    );
    assert_eq!(of_unknown_fields(&[]), None);
}

#[test]
fn a_task_that_is_too_large_is_reported() {
    let criteria = |count: usize| {
        with(|task| task.text.acceptance = (0..count).map(|n| format!("It says {n}")).collect())
    };
    assert_eq!(trips(criteria(10)), [""; 0]);
    assert_eq!(trips(criteria(11)), ["too-large"]);
    let long = |bytes: usize| {
        with(|task| {
            let fill = bytes - task.text.description.len();
            task.text.description.push_str(&" ".repeat(fill));
        })
    };
    assert_eq!(trips(long(8192)), [""; 0]);
    assert_eq!(trips(long(8193)), ["too-large"]);
    let titled = |title: &str| with(|task| task.text.title = title.to_owned());
    assert_eq!(trips(titled("Search and replace")), [""; 0]);
    assert_eq!(
        trips(titled("Add login and logout and reset")),
        ["too-large"]
    );
}

#[test]
fn tasks_that_nothing_verifies_are_reported_once_if_it_is_all_of_them() {
    let verified = |id: &str| {
        let mut made = good(id);
        made.verify = vec![VerifyCommand::Shell("cargo test".to_owned())];
        made
    };
    let found = findings(vec![good("a"), good("b")], &BARE);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].rule, &found[0].task), (Rule::NoVerify, &None));
    assert_eq!(
        found[0].message,
        "none of the 2 tasks has a verify command, and none is configured: all would be completed \
         as unverified"
    );
    let found = findings(vec![verified("a"), good("b")], &BARE);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, Rule::NoVerify);
    assert_eq!(found[0].task.as_ref().unwrap().as_str(), "b");
    assert_eq!(findings(vec![verified("a"), verified("b")], &BARE), []);
    assert_eq!(findings(vec![good("a"), good("b")], &CONFIGURED), []);
}

#[test]
fn every_problem_of_the_graph_is_an_error() {
    let found = findings(
        vec![
            good("a").after(&["a"]),
            good("b").after(&["missing"]),
            good("b"),
            good("c").within("missing"),
            good("d").within("d"),
            good("e").after(&["f"]),
            good("f").after(&["e"]),
            good("g").after(&["h"]),
            good("h").within("g").after(&["g"]),
        ],
        &CONFIGURED,
    );
    let errors: Vec<&str> = found
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| finding.rule.as_str())
        .collect();
    assert_eq!(
        errors,
        [
            "self-dependency",
            "unknown-dependency",
            "duplicate-id",
            "unknown-parent",
            "parent-cycle",
            "dependency-cycle",
            "depends-on-descendant",
            "depends-on-ancestor",
        ]
    );
    let circle = found
        .iter()
        .find(|finding| finding.rule == Rule::DependencyCycle);
    assert_eq!(
        circle.unwrap().message,
        "tasks wait for each other: e → f → e"
    );
}

#[test]
fn a_dependency_that_is_not_going_to_be_done_is_reported_at_its_dependant_only() {
    for status in [Status::Skipped, Status::Failed, Status::Blocked] {
        let tasks = vec![
            good("a").is(status),
            good("b").after(&["a"]),
            good("c").after(&["b"]),
            good("done").after(&["a"]).is(Status::Completed),
        ];
        let found: Vec<String> = findings(tasks, &CONFIGURED)
            .into_iter()
            .map(|finding| format!("{}: {}", finding.rule, finding.message))
            .collect();
        assert_eq!(
            found,
            [format!("never-ready: it can never be ready: a is {status}")]
        );
    }
    let tasks = vec![good("a").is(Status::InProgress), good("b").after(&["a"])];
    assert_eq!(rules(tasks), []);
}

#[test]
fn a_container_whose_tasks_are_all_skipped_or_that_is_blocked_makes_nothing_ready() {
    let tasks = |container, leaf| {
        vec![
            good("c").is(container),
            good("leaf").within("c").is(leaf),
            good("after").after(&["c"]),
        ]
    };
    let said = [("after".to_owned(), "never-ready")];
    assert_eq!(rules(tasks(Status::Open, Status::Skipped)), said);
    assert_eq!(rules(tasks(Status::Blocked, Status::Open)), said);
    assert_eq!(rules(tasks(Status::Open, Status::Open)), []);
}

#[test]
fn a_container_that_calls_itself_completed_too_early_is_reported() {
    let tasks = |leaf| {
        vec![
            good("c").is(Status::Completed),
            good("leaf").within("c").is(leaf),
        ]
    };
    assert_eq!(
        rules(tasks(Status::Open)),
        [("c".to_owned(), "completed-container")]
    );
    assert_eq!(rules(tasks(Status::Completed)), []);
}

#[test]
fn the_text_of_containers_and_of_what_is_over_is_not_looked_at() {
    let tasks = vec![
        task("container"),
        good("leaf").within("container"),
        task("done").is(Status::Completed),
        task("skipped").is(Status::Skipped),
        task("gone").is(Status::Skipped),
        task("with it").within("gone"),
    ];
    assert_eq!(
        findings(tasks, &BARE).len(),
        1,
        "only the leaf has no verify command"
    );
}

#[test]
fn findings_come_in_the_order_of_the_file() {
    let mut tasks = vec![task("b"), good("a").after(&["ghost"]), task("c")];
    tasks[0].text.files = vec!["x".to_owned()];
    tasks[2].text.files = vec!["x".to_owned()];
    assert_eq!(
        rules(tasks),
        [
            ("b".to_owned(), "nothing-said"),
            ("a".to_owned(), "unknown-dependency"),
            ("c".to_owned(), "nothing-said"),
        ]
    );
}

#[test]
fn the_name_of_a_rule_is_the_same_in_text_and_json() {
    for rule in Rule::ALL {
        let json = serde_json::to_value(rule).unwrap();
        assert_eq!(json, rule.as_str());
        assert!(!rule.hint().is_empty());
    }
    let finding = &findings(vec![task("a")], &CONFIGURED)[0];
    assert_eq!(
        serde_json::to_value(finding).unwrap(),
        serde_json::json!({
            "rule": "nothing-said",
            "severity": "error",
            "task": "a",
            "message": "there is neither a description nor acceptance criteria",
            "hint": "say what is to be done and how one can tell that it is",
        })
    );
}
