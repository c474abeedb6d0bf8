//! Models that fail: counted by iteration, not by call; what fails for ever stops.

use super::PiScene;

#[test]
fn three_iterations_with_two_failed_calls_in_between_are_three() {
    for flags in ["", "--same-context"] {
        let second = "{say: two, faults: [{status: 500, repeat: 2}]}";
        let scene = PiScene::new(&if flags.is_empty() {
            format!(
                "conversations: [{{times: 1, turns: [{{say: one}}]}}, {{times: 1, turns: [{second}]}}, {{turns: [{{say: '<promise>DONE</promise>'}}]}}]"
            )
        } else {
            format!(
                "conversations: [{{turns: [{{say: one}}, {second}, {{say: '<promise>DONE</promise>'}}]}}]"
            )
        });
        let mut pi = scene.rpc();
        pi.prompt(&format!("/ralph-loop x --completion-promise DONE {flags}"));
        pi.wait_to_hear("Completion detected");
        assert_eq!(scene.model.requests().len(), 5, "{flags}");
        assert!(scene.model.unscripted().is_empty(), "{flags}");
        let statuses = pi.statuses();
        assert!(
            statuses
                .iter()
                .any(|status| status.starts_with("Ralph iteration: 3 ")),
            "{statuses:?}"
        );
        assert!(
            !statuses
                .iter()
                .any(|status| status.starts_with("Ralph iteration: 4")),
            "{statuses:?}"
        );
    }
}

#[test]
fn an_iteration_that_fails_is_counted_and_the_loop_goes_on() {
    let scene = PiScene::new(
        r"
conversations:
  - times: 1
    turns: [{say: never, faults: [{status: 401, message: bad key}]}]
  - turns: [{say: '<promise>DONE</promise>'}]
",
    );
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --completion-promise DONE");
    let told = pi.wait_to_hear("Iteration 1 failed (1 in a row): 401");
    assert_eq!(told["notifyType"], "warning");
    assert!(
        scene
            .state()
            .contains("errors: 1\nerrors_in_row: 1\nlast_error: \"401 ")
    );
    let widget = pi.widget("ralph").unwrap();
    assert!(
        widget
            .iter()
            .any(|line| line.contains("errors: 1, 1 in a row, last: 401")),
        "{widget:?}"
    );
    pi.wait_to_hear("Completion detected");
}

#[test]
fn a_key_that_is_refused_for_ever_stops_the_loop_after_three_iterations() {
    let scene = PiScene::new(
        "conversations: [{turns: [{say: never, faults: [{status: 401, repeat: forever}]}]}]",
    );
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --completion-promise DONE");
    let told = pi.wait_to_hear("Ralph: Stopped after 3 failed iterations in a row: 401");
    assert_eq!(told["notifyType"], "warning");
    assert_eq!(scene.model.requests().len(), 3);
    assert!(!scene.state_file().exists());
    assert_eq!(pi.statuses().last().unwrap(), "");
}

#[test]
fn a_loop_that_waits_after_an_error_can_be_cancelled() {
    let scene = PiScene::new(
        "conversations: [{turns: [{say: never, faults: [{status: 401, repeat: forever}]}]}]",
    );
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    pi.wait_to_hear("the next begins in 2 s");
    pi.prompt("/cancel-ralph");
    pi.wait_to_hear("Ralph: Cancelled in iteration 1");
    pi.catch_up();
    assert!(!scene.state_file().exists());
    assert_eq!(scene.model.requests().len(), 1);
    pi.prompt("/ralph-status");
    pi.wait_to_hear("No loop is active");
}
