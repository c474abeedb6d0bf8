//! `notify`: what is taken, what is refused and why, and what is never shown.

use serde_json::json;

use super::{env, mistakes, project};
use crate::config::{Desktop, Layers, effective, render_effective_yaml, resolve};
use crate::notification::Occasion;

const HOOK: &str = "https://hooks.slack.com/services/T00/B00/s3cr3t-s3cr3t";

#[test]
fn all_of_it_is_read() {
    let text = "notify:\n  command: [sh, -c, 'cat > /tmp/x']\n  webhook: https://h/p\n  \
                webhook_token_env: HOOK\n  on: [halt, budget_alert]\n  desktop: off\n  \
                budget_alert_percent: 50\n  timeout_seconds: 3\n";
    let notify = project(text).unwrap().config.notify;
    let words = notify.command.unwrap().argv().as_slice().to_vec();
    assert_eq!(words, ["sh", "-c", "cat > /tmp/x"]);
    assert_eq!(notify.webhook.unwrap().reveal(), "https://h/p");
    assert_eq!(notify.webhook_token_env.unwrap().as_str(), "HOOK");
    assert_eq!(notify.on, [Occasion::Halt, Occasion::BudgetAlert]);
    assert_eq!(notify.desktop, Desktop::Off);
    assert_eq!(notify.budget_alert_percent, 50);
    assert_eq!(notify.timeout_seconds.get(), 3);
}

#[test]
fn an_address_is_https_or_on_this_machine() {
    for good in [
        "https://host",
        "https://host:8443/x?y=z",
        "http://localhost/x",
        "http://localhost:80",
        "http://127.0.0.1:9/x",
        "http://127.9.9.9",
        "http://[::1]:8080/x",
    ] {
        let text = format!("notify:\n  webhook: '{good}'\n");
        assert_eq!(mistakes(&text), "no mistake", "{good}");
    }
    for (bad, why) in [
        (
            "http://host/s3cr3t",
            "http sends messages in the clear to host: use https",
        ),
        ("http://127.evil.com/s3cr3t", "in the clear"),
        ("http://127.0.0.1.evil.com/s3cr3t", "in the clear"),
        ("http://localhost.evil.com/s3cr3t", "in the clear"),
        ("http://0.0.0.0/s3cr3t", "in the clear"),
        (
            "http://127.0.0.1@evil.com/s3cr3t",
            "must not hold a user or password",
        ),
        (
            "https://me:s3cr3t@host/x",
            "must not hold a user or password",
        ),
        ("http://127.0.0.1\\@evil.com/s3cr3t", "no backslashes"),
        ("https:// host/s3cr3t", "no spaces"),
        ("ftp://host/s3cr3t", "begins with https://"),
        ("https:///s3cr3t", "with a host"),
        ("s3cr3t", "such as https://host/path"),
    ] {
        let said = mistakes(&format!("notify:\n  webhook: '{bad}'\n"));
        assert!(said.contains(why), "{bad}: {said}");
        assert!(said.contains("notify.webhook"), "{bad}: {said}");
        assert!(!said.contains("s3cr3t"), "{bad}: {said}");
    }
    let said = mistakes("notify:\n  webhook: ['https://host/s3cr3t']\n");
    assert!(
        !said.contains("s3cr3t") && said.contains("notify.webhook"),
        "{said}"
    );
}

#[test]
fn a_program_within_the_repository_and_a_token_in_the_file_are_refused() {
    for program in ["./notify.sh", "scripts/notify.sh", "../notify.sh"] {
        let said = mistakes(&format!("notify:\n  command: ['{program}']\n"));
        assert!(said.contains("which an agent can write"), "{said}");
    }
    let good = mistakes("notify:\n  command: [/usr/local/bin/tell, now]\n");
    assert_eq!(good, "no mistake");
    let said = mistakes("notify:\n  webhook_token_env: xoxb-123-s3cr3t\n");
    assert!(said.contains("does not belong into a file"), "{said}");
    assert!(!said.contains("s3cr3t"), "{said}");
}

#[test]
fn an_unknown_occasion_and_a_percentage_out_of_range_are_refused() {
    let said = mistakes("notify:\n  on: [halt, escalate]\n");
    assert!(said.contains("did you mean `escalation`?"), "{said}");
    for percent in ["0", "101", "-1"] {
        let said = mistakes(&format!("notify:\n  budget_alert_percent: {percent}\n"));
        assert!(said.contains("notify.budget_alert_percent"), "{said}");
    }
}

#[test]
fn of_an_address_only_the_host_is_shown() {
    let resolved = resolve(&Layers {
        env: env(&[("RALPH_NOTIFY_WEBHOOK", HOOK)]),
        ..Layers::default()
    })
    .unwrap();
    let shown = "https://hooks.slack.com/(hidden)";
    let rows = effective(&resolved);
    let row = rows.iter().find(|r| r.key.to_string() == "notify.webhook");
    assert_eq!(row.unwrap().value, json!(shown));
    let mut config = resolved.config.clone();
    config.notify.hide();
    for text in [
        render_effective_yaml(&resolved),
        format!("{:?}", resolved.config),
        serde_json::to_string(&config).unwrap(),
    ] {
        assert!(!text.contains("s3cr3t") && !text.contains("B00"), "{text}");
        assert!(text.contains(shown), "{text}");
    }
    // What is kept of a loop can be read again.
    let again = serde_json::to_value(&config).unwrap();
    serde_json::from_value::<crate::config::Config>(again).unwrap();
    assert_eq!(
        resolved.config.notify.webhook.unwrap().secrets(),
        ["services/T00/B00/s3cr3t-s3cr3t", "s3cr3t-s3cr3t"]
    );
}

#[test]
fn what_ralph_tells_a_command_is_no_misspelt_key() {
    let resolved = resolve(&Layers {
        env: env(&[("RALPH_NOTIFY_EVENT", "halt"), ("RALPH_NOTIFY_TASK", "A")]),
        ..Layers::default()
    });
    assert_eq!(resolved.unwrap().notes, []);
}
