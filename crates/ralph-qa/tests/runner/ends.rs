//! What ends a run before it began, and what goes with its end.

use std::time::Duration;

use ralph_qa::{
    config::{ServerCommand, ServerReady, ServerSettings},
    flow::{FlowStepAction, TypedText},
    runner::QaError,
};

use super::bench::{Bench, any, flow, navigate, text};

#[tokio::test]
async fn a_server_that_is_not_there_is_named_before_any_flow_runs() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let bench = Bench::new(Some(format!("http://localhost:{port}")));
    let error = bench
        .try_run(&[flow("greet", vec![navigate("/")])])
        .await
        .unwrap_err();
    let text = error.to_string();
    let expected =
        format!("nothing answers at http://localhost:{port}, which flow \"greet\" goes to:");
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn what_makes_flows_impossible_is_told_with_its_place() {
    let mut bench = Bench::new(None);
    let error = bench
        .try_run(&[flow("greet", vec![navigate("/a")])])
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(".ralph/flows/greet.yaml:3: \"/a\" is relative"),
        "{error}"
    );

    let secret = FlowStepAction::Type {
        target: any("Key"),
        text: TypedText::SecretVariable("NO_SUCH_KEY".into()),
        append: false,
        press: None,
    };
    let error = bench
        .try_run(&[flow("keys", vec![secret])])
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        ".ralph/flows/keys.yaml:3: the variable NO_SUCH_KEY is not set"
    );

    bench.config.browser = Some("/nowhere/chromium".into());
    let error = bench
        .try_run(&[flow("x", vec![navigate("about:blank")])])
        .await
        .unwrap_err();
    assert!(matches!(error, QaError::Browser(_)), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("is not there: /nowhere/chromium"),
        "{error}"
    );
}

#[tokio::test]
async fn the_application_under_test_is_started_and_its_log_told_when_a_flow_fails() {
    let mut bench = Bench::new(None);
    bench.write("index.html", "<title>Shop</title><h1>Shop</h1>");
    bench.config.timeout = Duration::from_secs(3);
    bench.config.server = Some(ServerSettings {
        command: ServerCommand::Shell(
            "echo serving; exec python3 -m http.server --bind 127.0.0.1 $PORT".into(),
        ),
        ready: ServerReady::Port,
        timeout: Duration::from_secs(30),
        port: None,
        env: Vec::new(),
    });
    let passed = bench
        .run(&[flow("shop", vec![navigate("/"), text("Shop")])])
        .await;
    assert!(passed.passed, "{passed:#?}");
    assert!(passed.server_log.is_empty());
    let failed = bench
        .run(&[flow("shop", vec![navigate("/"), text("Cart")])])
        .await;
    assert!(!failed.passed);
    let log = failed.server_log.join("\n");
    assert!(
        log.contains("serving") && log.contains("GET / HTTP/1.1"),
        "{log}"
    );
}
