//! Flows and places that are wrong: exit code 2, with the file, the line and what was expected.

use crate::support::{GREET, SERVER, Site};

#[test]
fn an_unknown_action_is_told_with_file_line_and_the_one_that_was_meant() {
    let flow = "name: a\nsteps:\n  - navigate: /\n  - clik: Greet\n";
    let site = Site::with_flows(&[("a", flow), ("b", "steps:\n  - wait: soon\n")]);
    site.qa(&["run"]).expect(2).complains(&[
        ".ralph/flows/a.yaml:4",
        "clik",
        "click",
        ".ralph/flows/b.yaml:2",
    ]);
    assert!(!site.results("report.json").exists());
}

#[test]
fn a_flow_that_is_not_there_and_a_folder_without_any_are_told_with_what_to_do() {
    let site = Site::greeting();
    site.qa(&["run", "nosuch"]).expect(2).complains(&["nosuch"]);
    let bare = Site::bare();
    bare.qa(&["run"]).expect(2).complains(&[".ralph/flows"]);
}

#[test]
fn a_browser_that_is_not_there_is_told_with_what_to_do() {
    let site = Site::greeting();
    site.qa_with(&["run"], &[("RALPH_QA_BROWSER", "/nosuch/chrome")])
        .expect(2)
        .complains(&["/nosuch/chrome"]);
    site.assert_nothing_alive();
}

#[test]
fn a_server_that_ends_is_told_with_what_it_said() {
    let site = Site::greeting();
    site.repo.file(
        "ralph.yaml",
        "qa: {server: {command: 'echo no such module; exit 3'}}\n",
    );
    site.qa(&["run"])
        .expect(2)
        .complains(&["exit code 3", "no such module"]);
    site.assert_nothing_alive();
}

#[test]
fn an_address_where_nothing_answers_is_told() {
    let site = Site::greeting();
    site.qa(&["run", "--url", "http://127.0.0.1:1"])
        .expect(2)
        .complains(&["http://127.0.0.1:1"]);
    site.repo.file("ralph.yaml", "{}\n");
    // Neither a server nor an address.
    site.qa(&["run"]).expect(2).complains(&["qa.url"]);
    site.assert_nothing_alive();
}

#[test]
fn a_target_that_five_things_match_is_a_mistake_of_the_flow() {
    let flow =
        "name: five\nsteps:\n  - navigate: /five.html\n  - click: {role: button, name: Delete}\n";
    let site = Site::with_flows(&[("five", flow)]);
    site.repo
        .file("site/five.html", "<button>Delete</button>".repeat(5));
    site.qa(&["run"])
        .expect(2)
        .prints(&[".ralph/flows/five.yaml:4", "Delete"]);
    let failure = &site.report()["flows"][0]["steps"][1]["failure"];
    assert_eq!(failure["kind"], "ambiguous", "{failure}");
}

#[test]
fn settings_that_are_wrong_are_told_with_their_line() {
    let site = Site::greeting();
    site.repo
        .file("ralph.yaml", format!("{SERVER}    ready: ' '\n"));
    site.qa(&["run"]).expect(2).complains(&["ralph.yaml:4"]);
}

#[test]
fn a_link_in_the_place_of_the_results_is_not_followed() {
    let site = Site::with_flows(&[("greet", GREET)]);
    let elsewhere = site.repo.outside().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("mine"), "x").unwrap();
    std::os::unix::fs::symlink(&elsewhere, site.repo.path(".ralph/qa")).unwrap();
    site.qa_with(&["run"], &[("RALPH_SAFETY_SANDBOX", "off")])
        .expect(2)
        .complains(&[".ralph/qa", "not a folder"]);
    assert!(elsewhere.join("mine").exists());
}
