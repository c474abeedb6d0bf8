//! What users get wrong: each is one clear sentence, a way out, and the right exit code.

use ralph_testkit::TestRepo;

use crate::support::{ralph, shop};

#[test]
fn without_tasks_every_command_says_how_to_get_some() {
    let repo = TestRepo::new();
    for args in [
        &["status"][..],
        &["lint"],
        &["tasks", "list"],
        &["tasks", "show", "A"],
    ] {
        let ran = ralph(&repo, args);
        let said = ran.error(2);
        assert!(said.starts_with("error: found no tasks in "), "{said}");
        assert!(said.contains("\nhint: "), "{said}");
    }
}

#[test]
fn an_empty_list_of_tasks_is_no_error() {
    let repo = TestRepo::new();
    repo.file("tasks.json", "[]\n");
    assert_eq!(
        ralph(&repo, &["status"]).text(0),
        "tasks.json\nno tasks\n\nnext  nothing: there are no tasks\n\
         loop  not running; none has run here yet\n"
    );
    assert_eq!(ralph(&repo, &["tasks", "list"]).text(0), "no tasks\n");
    assert_eq!(
        ralph(&repo, &["lint"]).text(0),
        "tasks.json: 0 tasks, no problems found\n"
    );
}

#[test]
fn before_the_first_run_there_is_nothing_to_log_or_report() {
    let repo = shop();
    for args in [
        &["logs"][..],
        &["report"],
        &["logs", "--raw"],
        &["logs", "--iteration", "1"],
    ] {
        assert_eq!(
            ralph(&repo, args).error(2),
            "error: ralph has not run here yet\n\
             hint: `ralph run` starts the loop; `ralph status` shows what it would do\n"
        );
    }
    assert_eq!(
        ralph(&repo, &["logs", "--list"]).text(0),
        "no iterations yet\n"
    );
    assert_eq!(
        ralph(&repo, &["tasks", "add", "--from-suggestions"]).text(0),
        "no suggestions\n"
    );
}

#[test]
fn outside_a_repository_files_are_read_and_the_rest_is_refused() {
    let folder = TestRepo::bare_folder();
    folder.file("tasks.json", r#"[{"id":"A","title":"a"}]"#);
    assert_eq!(ralph(&folder, &["tasks", "list"]).text(0), "A  ready  a\n");
    assert_eq!(ralph(&folder, &["status"]).code, 0);
    for args in [&["logs"][..], &["report"]] {
        let ran = ralph(&folder, args);
        assert!(
            ran.error(2).contains("is not in a git repository"),
            "{ran:?}"
        );
    }
}

#[test]
fn options_that_are_unknown_or_disagree_are_usage_errors() {
    let repo = shop();
    for args in [
        &["status", "--frob"][..],
        &["logs", "--raw", "--json"],
        &["logs", "--iteration", "x"],
        &["logs", "-n", "3"],
        &["tasks", "list", "--status", "done-ish"],
        &["tasks", "add"],
        &["tasks", "add", "--priority", "high", "x"],
        &["init", "--parent", "A", "--search", "B"],
        &["report", "--loop", "x", "--all"],
    ] {
        let ran = ralph(&repo, args);
        assert!(ran.error(2).contains("error: "), "{args:?} {ran:?}");
    }
}

#[test]
fn a_source_that_is_not_there_or_not_readable_is_named() {
    let repo = shop();
    let ran = ralph(&repo, &["status", "nope.json"]);
    assert!(ran.error(2).contains("there is no task source"), "{ran:?}");
    repo.file("bad.json", "{\"userStories\": [{\"id\": [1]}]}");
    let ran = ralph(&repo, &["status", "bad.json"]);
    assert!(ran.error(2).starts_with("error: bad.json:1:"), "{ran:?}");
    repo.file("binary.json", b"\xff\xfe\x00");
    let ran = ralph(&repo, &["tasks", "list", "binary.json"]);
    assert!(ran.error(2).contains("binary.json"), "{ran:?}");
}

#[test]
fn another_folder_can_be_named() {
    let repo = shop();
    repo.file("sub/x", "");
    assert_eq!(
        ralph(&repo, &["-C", "sub", "tasks", "list", "--ready"]).code,
        0
    );
    let ran = ralph(&repo, &["-C", "nowhere", "status"]);
    assert_eq!(ran.code, 2);
}
