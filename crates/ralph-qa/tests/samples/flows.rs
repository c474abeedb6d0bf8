//! The flows as they are: all pass, with the pictures that were approved.

use std::collections::BTreeSet;

use ralph_qa::result::FailureKind;

use crate::harness::{FLOWS, Samples, failed_step, samples_folder, sentence};

#[test]
fn every_flow_of_the_samples_passes_with_its_approved_pictures() {
    let samples = Samples::copied();
    let report = samples.run(&[]);
    let names: Vec<&str> = report.flows.iter().map(|flow| flow.flow.as_str()).collect();
    assert_eq!(names, FLOWS);
    let failures: Vec<String> = report
        .flows
        .iter()
        .map(sentence)
        .filter(|text| !text.is_empty())
        .collect();
    assert!(report.passed, "{failures:#?}");

    // The pictures are looked at before they are committed.
    let update = std::env::var_os("RALPH_UPDATE_EXPECTED").is_some();
    let pictures: Vec<_> = report.flows.iter().flat_map(|flow| &flow.pages).collect();
    assert_eq!(pictures.len(), 22);
    for picture in pictures {
        if update {
            let baseline = samples_folder().join(&picture.baseline);
            std::fs::create_dir_all(baseline.parent().unwrap()).unwrap();
            std::fs::copy(samples.results().join(&picture.screenshot), baseline).unwrap();
            continue;
        }
        assert!(
            picture.compared.is_some(),
            "{} has no baseline",
            picture.baseline
        );
        assert!(
            samples.root().join(&picture.baseline).is_file(),
            "{}",
            picture.baseline
        );
    }
}

#[test]
fn the_flows_of_the_samples_use_every_action() {
    let samples = Samples::copied();
    let text: String = FLOWS
        .iter()
        .map(|flow| {
            std::fs::read_to_string(samples.root().join(format!("flows/{flow}.yaml"))).unwrap()
        })
        .collect();
    let used: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("  - ")?.split(':').next())
        .collect();
    let all = [
        "click",
        "emulate",
        "fixture",
        "hover",
        "navigate",
        "press",
        "resize",
        "screenshot",
        "select",
        "type",
        "upload",
        "verify",
        "wait",
    ];
    assert_eq!(used, BTreeSet::from(all));
}

#[test]
fn a_page_whose_renderer_dies_is_a_crash_and_its_neighbours_pass() {
    let samples = Samples::copied();
    let report = samples.run(&[
        "failing/sketch-crash.yaml",
        "books-order",
        "repairs-mistakes",
    ]);
    assert!(!report.passed);
    for flow in &report.flows {
        let failed = failed_step(flow);
        if flow.flow != "sketch-crash" {
            assert!(flow.passed, "{}", sentence(flow));
            continue;
        }
        let failure = failed.and_then(|step| step.failure.as_ref()).unwrap();
        assert_eq!(failure.kind, FailureKind::Crashed, "{}", sentence(flow));
    }
}

#[test]
fn a_flow_gives_the_same_pictures_whatever_runs_beside_it() {
    let samples = Samples::copied();
    let alone = samples.run(&["gauge-look"]);
    let beside = samples.run(&["gauge-look", "gauge-mobile", "tracker-work"]);
    let pictures = |report: &ralph_qa::result::QaReport| -> Vec<f64> {
        let flow = report
            .flows
            .iter()
            .find(|flow| flow.flow == "gauge-look")
            .unwrap();
        assert!(flow.passed, "{}", sentence(flow));
        flow.pages
            .iter()
            .map(|page| page.compared.as_ref().unwrap().different)
            .collect()
    };
    assert_eq!(pictures(&alone), [0.0; 3]);
    assert_eq!(pictures(&beside), [0.0; 3]);
}
