//! Runs that are stopped and runs that are killed: nothing of them stays.

use rustix::process::Signal;

use crate::support::{Site, Started, wait_until};

/// A flow that waits until it is ended.
const WAITS: &str = "\
name: waits
timeout: 100s
steps:
  - navigate: /
  - wait: {text: never there}
";

fn waiting() -> Site {
    Site::with_flows(&[("waits", WAITS)])
}

fn has(site: &Site, part: &str) -> bool {
    site.alive().iter().any(|command| command.contains(part))
}

/// A moment of a run, by what can be seen of it.
fn at_moment(site: &Site, moment: &str) -> Started {
    let started = site.start(&["run"]);
    wait_until(moment, || match moment {
        "the server starts" => has(site, "http.server"),
        "the browser starts" => has(site, "--remote-debugging"),
        // A page has a process of its own.
        "a page is open" => has(site, "--type=renderer"),
        other => panic!("no such moment: {other}"),
    });
    started
}

const MOMENTS: [&str; 3] = ["the server starts", "the browser starts", "a page is open"];

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_nothing() {
    let site = waiting();
    for moment in MOMENTS {
        let started = at_moment(&site, moment);
        started.signal(Signal::KILL);
        assert_eq!(started.wait().code, None, "{moment}");
        site.assert_nothing_alive();
        site.assert_nothing_left();
    }
}

#[test]
fn a_run_that_is_killed_without_a_sandbox_leaves_no_process_and_no_profile() {
    let site = waiting();
    site.repo
        .file("ralph.yaml", format!("{}safety: {{sandbox: 'off'}}\n", crate::support::SERVER));
    let started = at_moment(&site, "a page is open");
    started.signal(Signal::KILL);
    assert_eq!(started.wait().code, None);
    site.assert_nothing_alive();
    wait_until("the profile is gone", || {
        let tmp = site.repo.outside().join("tmp");
        std::fs::read_dir(tmp).unwrap().next().is_none()
    });
}

#[test]
fn a_run_that_is_stopped_ends_with_the_number_of_the_signal() {
    let site = waiting();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let started = at_moment(&site, "a page is open");
        started.signal(signal);
        started.wait().expect(code).complains(&["stopped"]);
        site.assert_nothing_alive();
        site.assert_nothing_left();
    }
}

#[test]
fn two_runs_in_one_folder_take_turns() {
    let site = Site::greeting();
    let first = site.start(&["run"]);
    let second = site.start(&["run"]);
    first.wait().expect(0);
    second.wait().expect(0);
    assert_eq!(site.report()["passed"], true);
}
