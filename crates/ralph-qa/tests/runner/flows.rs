//! Flows that pass and fail, and what is told of them.

use std::fs;

use ralph_qa::{
    flow::{Check, FlowStepAction},
    result::{FailureKind, StepOutcome, VisualVerdict},
};

use super::{
    bench::{Bench, click, flow, navigate, shot, text, type_into},
    site::{Reply, Site},
};

const GREET: &str = "<label>Name <input id=name></label>
    <button onclick=\"out.textContent = 'Hello ' + document.getElementById('name').value\">Greet</button>
    <p id=out></p>";

#[tokio::test]
async fn a_flow_passes_and_its_picture_is_compared_once_it_is_approved() {
    let site = Site::one(GREET);
    let bench = Bench::new(Some(site.url()));
    let greet = |name: &str| {
        flow(
            "greet",
            vec![
                navigate("/"),
                type_into("Name", name),
                click("Greet"),
                text(&format!("Hello {name}")),
                shot("home"),
                click("Greet"),
            ],
        )
    };
    let first = bench.run(&[greet("Ada")]).await;
    assert!(first.passed, "{first:#?}");
    let found = &first.flows[0];
    assert!(found.seconds < 10.0);
    assert_eq!(found.file, ".ralph/flows/greet.yaml");
    assert_eq!(
        found.steps[4].note.as_deref(),
        Some("no baseline yet: `ralph qa approve`")
    );
    assert_eq!(found.steps[4].picture.as_deref(), Some("greet/5-home.png"));
    let page = &found.pages[0];
    assert_eq!(page.compared, None);
    assert_eq!(
        page.baseline,
        ".ralph/flows/__baselines__/greet/home-linux-1280x720.png"
    );

    let taken = fs::read(bench.result("greet/5-home.png")).unwrap();
    bench.write(&page.baseline, taken);
    let second = bench.run(&[greet("Ada")]).await;
    assert!(second.passed, "{second:#?}");
    let compared = second.flows[0].pages[0].compared.as_ref().unwrap();
    assert!(compared.matches, "{compared:?}");

    let third = bench.run(&[greet("Grace")]).await;
    assert!(!third.passed);
    let step = &third.flows[0].steps[4];
    assert_eq!(step.outcome, StepOutcome::Failed);
    assert_eq!(step.failure.as_ref().unwrap().kind, FailureKind::Picture);
    // A picture that differs does not keep later steps from being done.
    assert_eq!(third.flows[0].steps[5].outcome, StepOutcome::Passed);
    let compared = third.flows[0].pages[0].compared.as_ref().unwrap();
    assert_ne!(compared.verdict, VisualVerdict::Same);
    for name in [compared.picture.as_ref(), compared.baseline.as_ref()] {
        assert!(bench.result(name.unwrap()).is_file());
    }
}

#[tokio::test]
async fn a_step_that_fails_is_told_with_what_was_there_and_a_picture() {
    let site = Site::of(&[(
        "/",
        Reply::page("<button>Sign up</button><script>console.error('no %s', 'session')</script>"),
    )]);
    let mut bench = Bench::new(Some(site.url()));
    bench.config.timeout = std::time::Duration::from_millis(700);
    let report = bench
        .run(&[flow(
            "sign-in",
            vec![navigate("/"), click("Sign in"), text("Welcome")],
        )])
        .await;
    assert!(!report.passed);
    let found = &report.flows[0];
    let outcomes: Vec<StepOutcome> = found.steps.iter().map(|step| step.outcome).collect();
    assert_eq!(
        outcomes,
        [
            StepOutcome::Passed,
            StepOutcome::Failed,
            StepOutcome::Skipped
        ]
    );
    let failure = found.steps[1].failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::NotFound);
    assert_eq!(failure.expected, "the page has \"Sign in\"");
    assert_eq!(failure.nearest, ["button \"Sign up\""]);
    assert_eq!(
        found.steps[1].picture.as_deref(),
        Some("sign-in/failed.png")
    );
    assert!(bench.result("sign-in/failed.png").is_file());
    assert_eq!(found.console[0].text, "no session");
    assert_eq!(found.network[0].status, Some(200));
}

#[tokio::test]
async fn flows_run_beside_each_other_with_cookies_of_their_own() {
    let site = Site::one(
        "<p id=seen></p><script>seen.textContent = 'seen ' + (document.cookie || 'nothing') + '.';
         document.cookie = 'who=' + location.search.slice(1)</script>",
    );
    let bench = Bench::new(Some(site.url()));
    let one = |name: &str| {
        let page = format!("/?{name}");
        flow(
            name,
            vec![
                navigate(&page),
                text("seen nothing."),
                navigate(&page),
                text(&format!("seen who={name}.")),
            ],
        )
    };
    let report = bench.run(&[one("a"), one("b"), one("c")]).await;
    assert!(report.passed, "{report:#?}");
    let names: Vec<&str> = report.flows.iter().map(|flow| flow.flow.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[tokio::test]
async fn secrets_are_typed_and_not_told() {
    let site = Site::one(
        "<label>Key <input id=key oninput=\"out.textContent = 'key: ' + key.value; console.log(key.value)\"></label><p id=out></p>",
    );
    let mut bench = Bench::new(Some(site.url()));
    bench.secrets = vec![("API_KEY".into(), "sesame-open-9".into())];
    let steps = vec![
        navigate("/"),
        FlowStepAction::Type {
            target: super::bench::any("Key"),
            text: ralph_qa::flow::TypedText::SecretVariable("API_KEY".into()),
            append: false,
            press: None,
        },
        text("key: sesame-open-9"),
        FlowStepAction::Verify(vec![Check::Url("/sesame-open-9".into())]),
    ];
    let mut bad = flow("keys", steps);
    bad.settings.timeout = Some(std::time::Duration::from_secs(2));
    let report = bench.run(&[bad]).await;
    let steps = &report.flows[0].steps;
    assert_eq!(steps[2].outcome, StepOutcome::Passed, "{steps:#?}");
    let failure = steps[3].failure.as_ref().unwrap();
    assert_eq!(failure.expected, "the address is /$API_KEY");
    let json = serde_json::to_string(&report).unwrap();
    assert!(!json.contains("sesame-open-9"));
    assert!(json.contains("$API_KEY"));
}
