//! The fallback that every Unix has: a process group, and what it can promise.

use ralph_engine::process::{Containment, Ended, Running, Signal, Stdin, StopPlan, spawn};
use std::time::Duration;

use crate::support::{LIMIT, Leash};

/// A grandchild that loses its parent and stays in the group.
const GRANDCHILD: &str = r#"
    exec 8>"$LEASH"
    ( ( exec 9>"$LEASH"; echo up >&9; exec sleep 1000 ) & )
"#;

const IMPATIENT: StopPlan = StopPlan {
    first: Signal::INT,
    grace: Duration::from_millis(50),
    term_grace: Duration::from_millis(50),
};

async fn start(leash: &mut Leash, script: &str) -> Running {
    let spec = leash.spec(script).stdin(Stdin::Open);
    let running = spawn(&spec, Containment::ProcessGroup).unwrap();
    leash.up(1).await;
    running
}

#[tokio::test]
async fn a_grandchild_in_the_group_dies_when_the_program_exits() {
    let mut leash = Leash::new();
    let mut running = start(&mut leash, &format!("{GRANDCHILD} read go; exit 3")).await;
    drop(running.take_stdin());
    assert_eq!(running.wait().await.unwrap(), Ended::Code(3));
    leash.assert_dead("after its exit").await;
    // Its number may be another's by now.
    running.signal(Signal::KILL);
    assert_eq!(running.wait().await.unwrap(), Ended::Code(3));
}

#[tokio::test]
async fn a_stop_goes_on_to_the_next_signal_until_one_is_heeded() {
    let cases = [
        ("trap 'exit 7' INT", "sleep 1000 & wait", Ended::Code(7)),
        ("trap '' INT", "exec sleep 1000", Ended::Signal(15)),
        (
            "trap '' INT TERM HUP",
            "while :; do sleep 1000; done",
            Ended::Signal(9),
        ),
    ];
    for (trap, end, expected) in cases {
        let mut leash = Leash::new();
        let mut running = start(&mut leash, &format!("{trap}; {GRANDCHILD} {end}")).await;
        let plan = match expected {
            Ended::Code(_) => StopPlan {
                grace: LIMIT,
                ..IMPATIENT
            },
            Ended::Signal(15) => StopPlan {
                term_grace: LIMIT,
                ..IMPATIENT
            },
            Ended::Signal(_) => IMPATIENT,
        };
        assert_eq!(running.stop(plan).await.unwrap(), expected, "{trap}");
        leash.assert_dead(trap).await;
    }
}

#[tokio::test]
async fn dropping_a_running_program_kills_its_group() {
    let mut leash = Leash::new();
    let running = start(&mut leash, &format!("{GRANDCHILD} sleep 1000")).await;
    drop(running);
    leash.gone("dropped").await;
}

#[tokio::test]
async fn a_group_can_be_killed_where_nothing_can_be_awaited() {
    let mut leash = Leash::new();
    let mut running = start(&mut leash, &format!("{GRANDCHILD} sleep 1000")).await;
    running.kill_now();
    leash.gone("killed now").await;
    assert_eq!(running.wait().await.unwrap(), Ended::Signal(9));
}

#[tokio::test]
async fn a_wait_that_is_given_up_can_be_taken_up_again() {
    let mut leash = Leash::new();
    let mut running = start(&mut leash, &format!("{GRANDCHILD} read go; exit 0")).await;
    let given_up = tokio::time::timeout(Duration::from_millis(20), running.wait()).await;
    assert!(given_up.is_err(), "it waits for its input");
    drop(running.take_stdin());
    assert_eq!(running.wait().await.unwrap(), Ended::Code(0));
    leash.assert_dead("the second wait").await;
}
