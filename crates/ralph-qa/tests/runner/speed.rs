//! How long flows take.

use std::time::Duration;

use ralph_qa::flow::{Check, FlowStepAction};

use super::{
    bench::{Bench, any, click, flow, navigate, shot, text, type_into},
    site::Site,
};

/// A flow of ten steps, on a page that answers at once.
fn ten_steps(name: &str) -> ralph_qa::flow::Flow {
    flow(
        name,
        vec![
            navigate("/"),
            type_into("Name", "Ada"),
            click("Greet"),
            text("Hello Ada"),
            FlowStepAction::Verify(vec![
                Check::Element(any("Greet")),
                Check::Title("Test".into()),
            ]),
            type_into("Name", "Grace"),
            click("Greet"),
            text("Hello Grace"),
            navigate("/"),
            shot("home"),
        ],
    )
}

const GREET: &str = "<label>Name <input id=name></label>
    <button onclick=\"out.textContent = 'Hello ' + document.getElementById('name').value\">Greet</button>
    <p id=out></p>";

#[tokio::test]
async fn ten_steps_take_less_than_three_seconds_once_the_browser_is_up() {
    let site = Site::one(GREET);
    let bench = Bench::new(Some(site.url()));
    let report = bench.run(&[ten_steps("ten")]).await;
    assert!(report.passed, "{report:#?}");
    let seconds = report.flows[0].seconds;
    for step in &report.flows[0].steps {
        println!("{:7.1} ms  {}", step.seconds * 1000.0, step.action);
    }
    println!("flow {seconds:.2} s, run {:.2} s", report.seconds);
    assert!(seconds < Duration::from_secs(3).as_secs_f64(), "{seconds}");
}

#[tokio::test]
#[ignore = "a measurement"]
async fn twenty_flows() {
    let site = Site::one(GREET);
    let mut bench = Bench::new(Some(site.url()));
    let flows: Vec<_> = (0..20)
        .map(|number| ten_steps(&format!("flow-{number}")))
        .collect();
    for jobs in [1, 2, 3, 4] {
        bench.config.jobs = jobs;
        let report = bench.run(&flows).await;
        assert!(report.passed);
        println!("20 flows, {jobs} at once: {:.2} s", report.seconds);
    }
}
