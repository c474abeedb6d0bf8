//! What the linter says of flows that are right.

use std::{path::Path, time::Duration};

use ralph_qa::{
    config::BrowserAutomationConfig,
    flow::{Flow, FlowFinding, Viewport, find_flows, lint_flow, read_flow},
};

fn config() -> BrowserAutomationConfig {
    BrowserAutomationConfig {
        root: "/project".into(),
        flows: "/project/.ralph/flows".into(),
        results: "/project/.ralph/qa".into(),
        browser: None,
        url: Some("https://app.example.org".into()),
        viewport: Viewport::DESKTOP,
        timeout: Duration::from_secs(10),
        jobs: 1,
        threshold: 0.0,
        hosts: vec!["*.example.net".into()],
        server: None,
    }
}

/// What is said of a flow: the line and the code of each finding.
fn found(text: &str) -> Vec<String> {
    let flow = read_flow(text, Path::new("greet.yaml"));
    let flow = flow.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let findings = lint_flow(&flow, &config());
    findings
        .iter()
        .map(|finding| format!("{} {}", finding.line, finding.code.word()))
        .collect()
}

/// What is said of steps between a page that is opened and a check.
fn found_in(step: &str) -> Vec<String> {
    found(&format!(
        "steps:\n- navigate: /\n- {step}\n- verify: {{text: Hello}}\n"
    ))
}

#[test]
fn flows_without_a_flaw_get_no_finding() {
    let flows = [
        "steps:\n- navigate: /\n- click: Sign in\n- verify: {text: Hello}\n",
        "steps:\n- navigate: /\n- screenshot: home\n",
        "steps:\n- navigate: /\n- wait: {text: Hello}\n",
        "steps:\n- fixture: ./seed.sh\n- resize: mobile\n- emulate: {scheme: dark}\n- navigate: /\n- screenshot: home\n",
        // It acts on something that must be there.
        "steps:\n- navigate: /\n- click: Menu\n- verify: {no_console_errors: true}\n",
        "steps:\n- navigate: /\n- verify: {no_text: Error, title: Home}\n",
    ];
    for flow in flows {
        assert_eq!(found(flow), Vec::<String>::new(), "{flow}");
    }
}

#[test]
fn a_flow_that_proves_nothing_is_found() {
    let table = [
        (
            "steps:\n- navigate: /\n- click: Sign in\n",
            "2 proves-nothing",
        ),
        ("steps:\n- navigate: /\n- wait: idle\n", "2 proves-nothing"),
        (
            "steps:\n- navigate: /\n- verify: {no_text: Error}\n",
            "3 only-absence",
        ),
        (
            "steps:\n- navigate: /\n- wait: idle\n- verify: {no_console_errors: true, no_element: {role: alert}}\n",
            "4 only-absence",
        ),
        (
            "steps:\n- navigate: /\n- verify: {count: {css: li, most: 3}}\n",
            "3 only-absence",
        ),
        (
            "steps:\n- click: Save\n- navigate: /\n- verify: {text: Hello}\n",
            "2 no-page",
        ),
        (
            "steps:\n- fixture: ./seed.sh\n- verify: {text: Hello}\n",
            "3 no-page",
        ),
    ];
    for (flow, finding) in table {
        assert_eq!(found(flow), [finding], "{flow}");
    }
}

#[test]
fn waits_passwords_selectors_and_hosts_are_found() {
    let table = [
        ("wait: 2s", "3 fixed-wait"),
        ("type: {label: Password, text: hunter2}", "3 plain-password"),
        (
            "type: {placeholder: API-Key, text: abcdef}",
            "3 plain-password",
        ),
        ("click: {css: button.primary}", "3 css-target"),
        ("click: {css: 'form > a[href=\"/x\"]'}", "3 css-target"),
        ("click: {css: 'li:nth-child(2)'}", "3 css-target"),
        ("click: {css: '[data-testid=save]'}", "3 css-target"),
        ("type: {css: 'input[name=q]', text: x}", "3 css-target"),
        ("click: '#save'", "3 text-like-css"),
        ("verify: {element: .alert-box}", "3 text-like-css"),
        ("wait: {gone: 'div[role=alert]'}", "3 text-like-css"),
        ("navigate: https://example.com/", "3 unlisted-host"),
        ("navigate: https://example.net/", "3 unlisted-host"),
        (
            "verify: {network: 'https://api.example.com/x'}",
            "3 unlisted-host",
        ),
    ];
    for (step, finding) in table {
        assert_eq!(found_in(step), [finding], "{step}");
    }
}

#[test]
fn what_only_looks_like_a_flaw_is_no_finding() {
    let steps = [
        "wait: {text: Hello}",
        "type: {label: Password, secret: PASSWORD}",
        "type: {label: Password, text: wrong-password}",
        "type: {label: Password, text: ''}",
        "type: {label: Name, text: hunter2}",
        "click: {css: canvas}",
        "click: {css: .swatch}",
        "upload: {css: 'input[type=file]', file: a.png}",
        "verify: {style: {css: button, property: color, is: red}}",
        "verify: {count: {css: 'ul > li', is: 3}}",
        "click: {text: '#save'}",
        "click: '#1'",
        "click: .",
        "click: 'Price [EUR]'",
        "click: Save...",
        "navigate: http://localhost:8080/x",
        "navigate: http://127.0.0.1:1/",
        "navigate: 'http://[::1]:3000/'",
        "navigate: https://app.example.org/x",
        "navigate: https://cdn.example.net/",
        "verify: {network: {url: 'https://tracker.example.com/*', count: 0}}",
        "verify: {network: '*/api/items'}",
    ];
    for step in steps {
        assert_eq!(found_in(step), Vec::<String>::new(), "{step}");
    }
    let listed = "hosts: [example.com]\nsteps:\n- navigate: https://example.com:8443/\n- verify: {text: Hello}\n";
    assert_eq!(found(listed), Vec::<String>::new());
    let based = "url: https://example.com\nsteps:\n- navigate: https://example.com/x\n- verify: {text: Hello}\n";
    assert_eq!(found(based), Vec::<String>::new());
}

#[test]
fn findings_say_what_to_do() {
    let text = "steps:\n- navigate: /\n- wait: 2s\n- click: {css: a.more}\n- type: {label: Password, text: hunter2}\n- click: '#save'\n- navigate: https://example.com/\n- screenshot: end\n";
    let flow = read_flow(text, Path::new("greet.yaml")).unwrap();
    let said: Vec<String> = lint_flow(&flow, &config())
        .iter()
        .map(|finding| format!("greet.yaml:{}: {finding}", finding.line))
        .collect();
    assert_eq!(
        said,
        [
            "greet.yaml:3: `wait 2s` waits as long on every machine: too short on a slow one (fixed-wait); wait for what must be there: `wait: {text: …}` or `wait: {gone: …}`",
            "greet.yaml:4: `click css \"a.more\"` depends on how the page is built (css-target); name it by `{role: link, name: …}`",
            "greet.yaml:5: a text is typed into label \"Password\" that everyone who reads the flow can see (plain-password); write `secret: VARIABLE` instead of `text:`, and set the variable where flows run",
            "greet.yaml:6: `#save` is looked for as a text, and is a selector by its looks (text-like-css); write `{css: \"#save\"}`, or `{text: \"#save\"}` if it is a text",
            "greet.yaml:7: `example.com` can't be reached: it is not among the flow's hosts (unlisted-host); write `hosts: [example.com]` into the flow",
        ]
    );
    let finding = &lint_flow(&flow, &config())[0];
    let json = serde_json::to_value(finding).unwrap();
    assert_eq!(json["code"], "fixed-wait");
    assert_eq!(json["line"], 3);
}

/// The flows that sample applications are tried by.
fn samples() -> Vec<Flow> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let flows = find_flows(&root, Path::new("flows"), &[]);
    flows.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn flows_of_real_applications_get_the_findings_that_they_deserve() {
    let flows = samples();
    assert!(flows.len() >= 10, "{}", flows.len());
    let found: Vec<String> = flows
        .iter()
        .flat_map(|flow| {
            let findings = lint_flow(flow, &config());
            let shown = |finding: &FlowFinding| format!("{} {}", flow.name, finding.code.word());
            findings.iter().map(shown).collect::<Vec<_>>()
        })
        .collect();
    // It says itself that it waits for a time.
    assert_eq!(found, ["gauge-mobile fixed-wait"]);
}
