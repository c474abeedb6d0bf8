//! Tests of how Pi is started.

use ralph_core::config::{Argv, Config, CustomAgent, EnvVars};

use super::*;

fn pi(config: &Config) -> Pi {
    Pi::new(&Making {
        config,
        custom: None,
        is_root: false,
    })
}

fn context(labels: &[&str]) -> RunContext {
    RunContext {
        cwd: "/repo".into(),
        env: vec![
            ("PATH".into(), "/bin".into()),
            ("PI_OFFLINE".into(), "no".into()),
        ],
        prompt: "/do it".into(),
        labels: labels.iter().map(|l| (*l).to_owned()).collect(),
        budget: None,
    }
}

fn arguments(pi: &Pi, labels: &[&str]) -> Vec<String> {
    let command = pi.command(&context(labels));
    let text = |arg: &OsString| arg.to_string_lossy().into_owned();
    command.args.iter().map(text).collect()
}

#[test]
fn as_it_comes_it_is_fresh_steerable_and_does_not_trust_the_repository() {
    let pi = pi(&Config::default());
    assert_eq!(
        arguments(&pi, &["ui"]),
        ["--mode", "rpc", "--no-session", "--no-approve"]
    );
    let command = pi.command(&context(&[]));
    assert_eq!(command.program, "pi");
    assert!(matches!(command.stdin, Stdin::Open));
    assert_eq!(pi.polite_signal(), crate::process::Signal::TERM);
}

#[test]
fn every_option_is_passed_on() {
    let mut config = Config::default();
    config.pi.mode = PiMode::Json;
    config.pi.model = Some("a/usual".into());
    config.pi.models.insert("ui".into(), "b/other".into());
    config.pi.thinking = Some("high".into());
    config.pi.tools = vec!["read".into(), "bash".into()];
    config.pi.append_system_prompt = Some("Be brief.".into());
    config.pi.trust_project = true;
    config.pi.args = vec!["--no-skills".into()];
    let pi = pi(&config);
    let expected = |model: &'static str| {
        vec![
            "--mode",
            "json",
            "--no-session",
            "--approve",
            "--model",
            model,
            "--thinking",
            "high",
            "--tools",
            "read,bash",
            "--append-system-prompt",
            "Be brief.",
            "--no-skills",
        ]
    };
    assert_eq!(arguments(&pi, &[]), expected("a/usual"));
    assert_eq!(arguments(&pi, &["x", "ui"]), expected("b/other"));
    let Stdin::Bytes(prompt) = pi.command(&context(&[])).stdin else {
        panic!("json mode has its prompt on a stdin that ends");
    };
    assert_eq!(prompt, b"Task:\n/do it");
}

#[test]
fn what_the_user_sets_for_it_wins_over_ralphs_environment() {
    let mut config = Config::default();
    let own = [("PI_TELEMETRY".to_owned(), "1".to_owned())];
    config.pi.env = EnvVars(own.into());
    let mut env = pi(&config).command(&context(&[])).env;
    env.sort();
    let expected = [
        ("PATH", "/bin"),
        ("PI_OFFLINE", "1"),
        ("PI_SKIP_VERSION_CHECK", "1"),
        ("PI_TELEMETRY", "1"),
    ];
    assert_eq!(env, expected.map(|(k, v)| (k.into(), v.into())));
}

#[test]
fn a_program_that_speaks_like_it_is_started_in_its_place() {
    let mut config = Config::default();
    config.pi.model = Some("a/usual".into());
    let custom = CustomAgent {
        name: "mine".into(),
        command: serde_json::from_str::<Argv>(r#"["wrap", "pi"]"#).unwrap(),
        dialect: "pi".into(),
        model: Some("c/own".into()),
        args: vec!["--verbose".into()],
        env: EnvVars::default(),
    };
    let pi = Pi::new(&Making {
        config: &config,
        custom: Some(&custom),
        is_root: false,
    });
    assert_eq!(pi.name(), "mine");
    assert_eq!(pi.command(&context(&[])).program, "wrap");
    assert_eq!(
        arguments(&pi, &[]),
        [
            "pi",
            "--mode",
            "rpc",
            "--no-session",
            "--no-approve",
            "--model",
            "c/own",
            "--verbose"
        ]
    );
}

#[test]
fn only_what_could_be_a_command_is_guarded() {
    for text in ["/x", "  /x", "\u{feff}\n/x"] {
        assert_eq!(guarded(text), format!("Task:\n{text}"));
    }
    for text in ["", "do /x", "# Title\n/x", "@file"] {
        assert_eq!(guarded(text), text);
    }
}
