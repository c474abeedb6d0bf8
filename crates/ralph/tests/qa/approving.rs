//! `ralph qa approve`: pictures become baselines when a person says so.

use serde_json::Value;

use crate::support::{PAGE, Site};

const BASELINE: &str = ".ralph/flows/__baselines__/greet/home-linux-1280x720.png";

#[test]
fn a_picture_without_a_baseline_passes_and_is_approved_once() {
    let site = Site::greeting();
    site.qa(&["run"]).expect(0).prints(&["ralph qa approve"]);
    site.qa(&["approve", "--list"])
        .expect(0)
        .prints(&["greet/home"]);
    assert!(!site.repo.exists(BASELINE));
    site.qa(&["approve", "--yes"])
        .expect(0)
        .prints(&["greet/home"]);
    assert!(site.repo.exists(BASELINE));
    site.qa(&["run"]).expect(0);
    assert_eq!(
        site.report()["flows"][0]["pages"][0]["compared"]["matches"],
        true
    );
    site.qa(&["approve", "--list"])
        .expect(0)
        .prints(&["nothing to approve"]);
}

#[test]
fn a_changed_picture_fails_until_it_is_approved() {
    let site = Site::greeting();
    site.qa(&["run"]).expect(0);
    site.qa(&["approve", "--yes"]).expect(0);
    let before = std::fs::read(site.repo.path(BASELINE)).unwrap();
    let moved = PAGE.replace("<h1>", "<h1 style=\"margin-top: 90px\">");
    site.repo.file("site/index.html", moved);
    site.qa(&["run"])
        .expect(4)
        .prints(&[".ralph/flows/greet.yaml:7"]);
    let ran = site.qa(&["approve", "--list", "--json"]).expect(0);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    let picture = &list["pictures"][0];
    assert_eq!(picture["flow"], "greet", "{list}");
    assert_eq!(picture["name"], "home", "{list}");
    for key in ["before", "after", "difference"] {
        let path = picture[key].as_str().unwrap();
        assert!(site.repo.exists(path), "{key}: {path}");
    }
    // Without a terminal to ask at, and without a yes, nothing is approved.
    site.qa(&["approve"]).expect(2).complains(&["--yes"]);
    assert_eq!(std::fs::read(site.repo.path(BASELINE)).unwrap(), before);
    site.qa(&["approve", "greet/home", "--yes"]).expect(0);
    assert_ne!(std::fs::read(site.repo.path(BASELINE)).unwrap(), before);
    site.qa(&["run"]).expect(0);
}

#[test]
fn only_what_is_named_is_approved() {
    let site = Site::greeting();
    site.flow(
        "other",
        "name: other\nsteps:\n  - navigate: /\n  - screenshot: top\n",
    );
    site.qa(&["run"]).expect(0);
    site.qa(&["approve", "other", "--yes"]).expect(0);
    assert!(!site.repo.exists(BASELINE));
    assert!(
        site.repo
            .exists(".ralph/flows/__baselines__/other/top-linux-1280x720.png")
    );
    site.qa(&["approve", "nosuch", "--yes"])
        .expect(2)
        .complains(&["nosuch"]);
}

#[test]
fn without_results_it_says_what_to_run_first() {
    let site = Site::greeting();
    site.qa(&["approve", "--yes"])
        .expect(2)
        .complains(&["ralph qa run"]);
}
