//! A report with everything in it: a flow that failed, one with pictures that differ, one that passed.

use crate::{
    flow::Viewport,
    result::{
        ConsoleLevel, ConsoleMessage, FailureKind, FlowVerificationResult, NetworkRequest,
        PageVerificationResult, PixelArea, QaReport, StepFailure, StepOutcome, StepResult, VERSION,
        VisualCompareResult, VisualVerdict,
    },
};

pub(super) fn step(number: usize, action: &str, shown: &str, outcome: StepOutcome) -> StepResult {
    StepResult {
        number,
        line: number + 2,
        action: action.to_owned(),
        step: shown.to_owned(),
        note: None,
        outcome,
        seconds: match outcome {
            StepOutcome::Skipped => 0.0,
            StepOutcome::Passed | StepOutcome::Failed => 0.25,
        },
        failure: None,
        picture: None,
    }
}

pub(super) fn failure(
    kind: FailureKind,
    expected: &str,
    actual: &str,
    nearest: &[&str],
) -> StepFailure {
    StepFailure {
        kind,
        expected: expected.to_owned(),
        actual: actual.to_owned(),
        nearest: nearest.iter().map(|one| (*one).to_owned()).collect(),
    }
}

pub(super) fn flow(name: &str, steps: Vec<StepResult>) -> FlowVerificationResult {
    FlowVerificationResult {
        flow: name.to_owned(),
        description: None,
        file: format!(".ralph/flows/{name}.yaml"),
        viewport: Viewport::DESKTOP,
        passed: steps.iter().all(|step| step.outcome == StepOutcome::Passed),
        seconds: 1.5,
        steps,
        pages: Vec::new(),
        console: Vec::new(),
        network: Vec::new(),
    }
}

pub(super) fn report(flows: Vec<FlowVerificationResult>) -> QaReport {
    QaReport {
        version: VERSION,
        passed: flows.iter().all(|flow| flow.passed),
        browser: Some("Chromium 140.0.1".to_owned()),
        flows,
        seconds: 4.25,
        server_log: Vec::new(),
    }
}

/// A page that was compared with its baseline, with the pictures of both and of the difference.
pub(super) fn compared_page(name: &str, stem: &str) -> PageVerificationResult {
    PageVerificationResult {
        name: name.to_owned(),
        url: "http://localhost:41234/".to_owned(),
        title: "Orders".to_owned(),
        viewport: Viewport::DESKTOP,
        passed: false,
        screenshot: format!("{stem}.png"),
        baseline: format!(".ralph/flows/__baselines__/shop/{name}-linux-1280x720.png"),
        compared: Some(VisualCompareResult {
            matches: false,
            verdict: VisualVerdict::Layout,
            different: 0.0123,
            threshold: 0.0,
            similarity: 0.98,
            regions: vec![PixelArea {
                x: 20,
                y: 225,
                width: 354,
                height: 69,
            }],
            summary: "the area at 20,225 (354x69) moved by 8 px down".to_owned(),
            picture: Some(format!("{stem}-difference.png")),
            baseline: Some(format!("{stem}-baseline.png")),
        }),
    }
}

pub(super) fn message(level: ConsoleLevel, text: &str) -> ConsoleMessage {
    ConsoleMessage {
        level,
        text: text.to_owned(),
        from: Some("http://localhost:41234/app.js:12".to_owned()),
    }
}

pub(super) fn request(
    method: &str,
    url: &str,
    status: Option<u16>,
    error: Option<&str>,
) -> NetworkRequest {
    NetworkRequest {
        method: method.to_owned(),
        url: url.to_owned(),
        kind: "fetch".to_owned(),
        status,
        error: error.map(str::to_owned),
        milliseconds: status.map(|_| 12),
    }
}

pub(super) fn full() -> QaReport {
    let mut greet = flow(
        "greet",
        vec![
            step(1, "navigate", "navigate /", StepOutcome::Passed),
            step(
                2,
                "type",
                "type \"Ada\" into label \"Name\"",
                StepOutcome::Passed,
            ),
            step(3, "click", "click button \"Greet\"", StepOutcome::Failed),
            step(
                4,
                "verify",
                "verify text \"Hello Ada\"",
                StepOutcome::Skipped,
            ),
        ],
    );
    greet.description = Some("A visitor is greeted by name".to_owned());
    greet.steps[2].failure = Some(failure(
        FailureKind::NotFound,
        "a button \"Greet\" that can be clicked",
        "no button of that name at http://localhost:41234/ after 10s",
        &["button \"Green\"", "link \"Greetings\""],
    ));
    greet.steps[2].picture = Some("greet/failed.png".to_owned());
    greet.console = vec![
        message(ConsoleLevel::Info, "ready"),
        message(ConsoleLevel::Uncaught, "TypeError: greet is not a function"),
        message(ConsoleLevel::Uncaught, "TypeError: greet is not a function"),
    ];
    greet.network = vec![
        request("GET", "http://localhost:41234/", Some(200), None),
        request("POST", "http://localhost:41234/api/greet", Some(500), None),
        request(
            "GET",
            "http://127.0.0.1:41234/logo.png",
            None,
            Some("net::ERR_CONNECTION_REFUSED"),
        ),
    ];
    let mut shop = flow(
        "shop",
        vec![
            step(1, "navigate", "navigate /orders", StepOutcome::Passed),
            step(2, "screenshot", "screenshot orders", StepOutcome::Failed),
        ],
    );
    shop.steps[1].failure = Some(failure(
        FailureKind::Picture,
        "orders looks as it was approved",
        "the area at 20,225 (354x69) moved by 8 px down (1.23 % of the pixels differ, 0.00 % may)",
        &[],
    ));
    shop.steps[1].picture = Some("shop/2-orders.png".to_owned());
    shop.pages = vec![compared_page("orders", "shop/2-orders")];
    let mut home = flow(
        "home",
        vec![
            step(1, "navigate", "navigate /", StepOutcome::Passed),
            step(2, "screenshot", "screenshot top", StepOutcome::Passed),
        ],
    );
    home.steps[1].note = Some("no baseline yet: `ralph qa approve`".to_owned());
    home.steps[1].picture = Some("home/2-top.png".to_owned());
    home.pages = vec![PageVerificationResult {
        passed: true,
        screenshot: "home/2-top.png".to_owned(),
        compared: None,
        ..compared_page("top", "home/2-top")
    }];
    let mut all = report(vec![greet, shop, home]);
    all.server_log = vec![
        "2026-11-19T20:12:31.123Z GET / 200 in 3 ms".to_owned(),
        "2026-11-19T20:12:32.456Z Error: no table \"greetings\" (request 0b8f6a52-5a4e-4b5e-9a39-0d2f6d1c7e11)".to_owned(),
        "    at greet (/app/server.js:40:11)".to_owned(),
        "2026-11-19T20:12:33.001Z Error: no table \"greetings\" (request 7c1d2b90-1111-4222-8333-444455556666)".to_owned(),
    ];
    all
}
