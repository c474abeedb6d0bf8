//! Many runs of all flows, beside other work of the machine: nothing is found, since nothing is wrong.
//! `scripts/storm qa` makes the long round.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::harness::{FLOWS, Samples, sentence};

/// Rounds without RALPH_QA_ROUNDS.
const ROUNDS: u64 = 3;

#[test]
fn rounds_of_all_flows_beside_a_busy_machine_raise_no_false_alarm() {
    let rounds = std::env::var("RALPH_QA_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap());
    let first: u64 = std::env::var("RALPH_QA_SEED").map_or(1, |text| text.parse().unwrap());
    let mut samples = Samples::copied();
    let mut alarms = Vec::new();
    for round in 0..rounds {
        samples.seed = first + round;
        // Every other round is beside a thread on each processor that does nothing but count.
        let report = beside_load(round % 2 == 0, || samples.run(&[]));
        assert_eq!(report.flows.len(), FLOWS.len());
        let found = report
            .flows
            .iter()
            .map(sentence)
            .filter(|text| !text.is_empty());
        alarms.extend(found.map(|text| format!("RALPH_QA_SEED={}: {text}", samples.seed)));
        assert_eq!(report.passed, report.flows.iter().all(|flow| flow.passed));
    }
    assert!(
        alarms.is_empty(),
        "{} of {}: {alarms:#?}",
        alarms.len(),
        rounds * FLOWS.len() as u64
    );
}

fn beside_load<T>(busy: bool, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(!busy);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    })
}
