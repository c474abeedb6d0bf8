//! Runs that are stopped and runs that are killed: nothing of them stays.

use rustix::process::Signal;

use crate::support::{Site, Started, wait_until};

/// A flow that waits until it is ended.
const WAITS: &str = "\
name: waits
timeout: 100s
steps:
  - navigate: /
  - fixture: touch page-is-open
  - wait: {text: never there}
";

/// Made by the flow once its page is open.
const OPEN: &str = "page-is-open";

fn waiting() -> Site {
    Site::with_flows(&[("waits", WAITS)])
}

fn has(site: &Site, part: &str) -> bool {
    site.alive().iter().any(|command| command.contains(part))
}

/// A moment of a run, by what can be seen of it.
fn at_moment(site: &Site, moment: &str) -> Started {
    let _ = std::fs::remove_file(site.repo.path(OPEN));
    let started = site.start(&["run"]);
    wait_until(moment, || match moment {
        "the server starts" => has(site, "http.server"),
        "the browser starts" => has(site, "--remote-debugging"),
        "a page is open" => site.repo.exists(OPEN),
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
fn without_a_sandbox_no_process_stays_and_the_next_run_takes_the_profile_away() {
    let site = waiting();
    let off = format!("{}safety: {{sandbox: 'off'}}\n", crate::support::SERVER);
    site.repo.file("ralph.yaml", off);
    site.flow("greet", crate::support::GREET);
    let started = at_moment(&site, "a page is open");
    started.signal(Signal::KILL);
    assert_eq!(started.wait().code, None);
    site.assert_nothing_alive();
    site.qa(&["run", "greet"]).expect(0);
    site.assert_nothing_left();
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
