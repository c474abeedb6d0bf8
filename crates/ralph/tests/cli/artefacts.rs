//! `ralph init NAME` and `ralph prompt`: an artefacts project, and what its agents are told.

use ralph_testkit::TestRepo;

use crate::support::ralph;

#[test]
fn a_name_makes_a_blank_brief_and_a_second_time_leaves_what_a_person_wrote() {
    let repo = TestRepo::new();
    assert_eq!(
        ralph(&repo, &["init", "shop"]).text(0),
        "wrote   .artefacts/shop/spec.md\n\n\
         fill in what you know (`$EDITOR .artefacts/shop/spec.md`); \
         `ralph interview shop` asks about the rest and creates the tasks\n"
    );
    let spec = repo.read(".artefacts/shop/spec.md");
    assert!(spec.starts_with("# shop\n"), "{spec}");
    assert!(!repo.path("ralph.yaml").exists());

    repo.file(".artefacts/shop/spec.md", "mine\n");
    let text = ralph(&repo, &["init", "shop"]).text(0).to_owned();
    assert!(
        text.starts_with("kept    .artefacts/shop/spec.md\n"),
        "{text}"
    );
    assert_eq!(repo.read(".artefacts/shop/spec.md"), "mine\n");
}

#[test]
fn a_link_that_leads_nowhere_is_not_written_through() {
    let repo = TestRepo::new();
    repo.file(".artefacts/shop/other.txt", "");
    let outside = repo.outside().join("precious");
    std::os::unix::fs::symlink(&outside, repo.path(".artefacts/shop/spec.md")).unwrap();
    assert!(
        ralph(&repo, &["init", "shop"])
            .text(0)
            .starts_with("kept    ")
    );
    assert!(!outside.exists());
}

#[test]
fn a_bad_name_is_refused_with_what_is_allowed_and_nothing_is_made() {
    let repo = TestRepo::new();
    let long = "x".repeat(65);
    for (name, says) in [
        ("", "a project's name can't be empty"),
        (
            "..",
            "a project can't be called \"..\": its name can't begin with '.'",
        ),
        (
            "../x",
            "a project can't be called \"../x\": its name can't contain '/'",
        ),
        (
            "a\u{1b}b",
            "a project can't be called \"a\\u{1b}b\": its name can't contain '\\u{1b}'",
        ),
        (
            "-rf",
            "a project can't be called \"-rf\": its name can't begin with '-'",
        ),
        (
            &long,
            "a project's name can have at most 64 bytes, this one has 65",
        ),
    ] {
        let said = ralph(&repo, &["init", "--", name]).error(2).to_owned();
        assert_eq!(
            said,
            format!(
                "error: {says}\nhint: a name has letters, digits, `-`, `_` and `.`, begins with a \
                 letter or a digit, and is at most 64 bytes long\n"
            )
        );
    }
    assert!(!repo.path(".artefacts").exists());
    assert!(!repo.outside().join("x").exists());
}

#[test]
fn a_file_in_the_place_of_the_folder_is_named() {
    let repo = TestRepo::new();
    repo.file(".artefacts", "a file\n");
    let said = ralph(&repo, &["init", "shop"]).error(2).to_owned();
    assert!(
        said.starts_with("error: can't write .artefacts/shop/spec.md: "),
        "{said}"
    );
}

#[test]
fn a_name_and_the_flags_of_the_other_init_do_not_go_together() {
    let repo = TestRepo::new();
    let said = ralph(&repo, &["init", "shop", "--prd"]).error(2).to_owned();
    assert!(said.contains("cannot be used with"), "{said}");
}

#[test]
fn a_prompt_is_printed_as_the_agent_of_that_round_would_get_it() {
    let repo = TestRepo::new();
    assert_eq!(ralph(&repo, &["init", "shop"]).code, 0);
    let text = |args: &[&str]| ralph(&repo, args).text(0).to_owned();
    let first = text(&["prompt", "interview", "shop"]);
    assert!(first.starts_with("# Interview about the project shop: round 1 of 3\n"));
    assert!(!first.contains("project_name"), "{first}");
    let last = text(&[
        "prompt",
        "interview",
        "shop",
        "--round",
        "2",
        "--rounds",
        "2",
    ]);
    assert!(last.contains("round 2 of 2") && last.contains("\"project_name\": \"shop\""));
    let execute = text(&["prompt", "execute", "shop", "--iteration", "7"]);
    assert!(execute.contains("iteration 7 of at most 50\n"), "{execute}");
    let init = text(&["prompt", "init", "other"]);
    assert!(init.contains("`.artefacts/other/spec.md`"), "{init}");
}

#[test]
fn a_projects_own_template_is_used_and_what_is_wrong_with_it_is_said() {
    let repo = TestRepo::new();
    assert_eq!(ralph(&repo, &["init", "shop"]).code, 0);
    repo.file(
        ".ralph/prompts/interview.md",
        "Round {{ round }} of {{ rounds }} about {{ project }}.\n",
    );
    assert_eq!(
        ralph(&repo, &["prompt", "interview", "shop"]).text(0),
        "Round 1 of 3 about shop.\n"
    );
    repo.file(".ralph/prompts/execute.md", "{{ tsk }}\n");
    assert_eq!(
        ralph(&repo, &["prompt", "execute", "shop"]).error(2),
        "error: the prompt template .ralph/prompts/execute.md can't be rendered: there is no \
         placeholder `tsk`; there are project, folder, spec, tasks, state, obstacles, results, done, \
         iteration, iterations, task, task_id\n"
    );
}

#[test]
fn a_prompt_for_nobody_or_for_an_impossible_round_is_refused() {
    let repo = TestRepo::new();
    assert_eq!(
        ralph(&repo, &["prompt", "interview", "shpo"]).error(2),
        "error: there is no .artefacts/shpo\nhint: `ralph init shpo` makes it\n"
    );
    assert_eq!(ralph(&repo, &["init", "shop"]).code, 0);
    let round = ["prompt", "interview", "shop", "--round", "4"];
    assert_eq!(
        ralph(&repo, &round).error(2),
        "error: --round 4 is more than --rounds 3\n"
    );
    let none = ["prompt", "interview", "shop", "--round", "0"];
    assert_eq!(ralph(&repo, &none).code, 2);
}
