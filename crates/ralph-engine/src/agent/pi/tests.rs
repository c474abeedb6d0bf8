//! Tests of how Pi is started.

use std::path::{Path, PathBuf};

use ralph_core::config::{Argv, Config, CustomAgent, EnvVars};

use super::*;

fn pi(config: &Config) -> Pi {
    Pi::new(&AgentSetup {
        config,
        custom: None,
        is_root: false,
        guard: None,
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
    assert_eq!(pi.facts().polite_signal, crate::process::Signal::TERM);
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
    let pi = Pi::new(&AgentSetup {
        config: &config,
        custom: Some(&custom),
        is_root: false,
        guard: None,
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

fn interactive_args(options: &PiConfig, prompt: FirstPrompt<'_>) -> Vec<String> {
    let context = InteractiveContext {
        cwd: &PathBuf::from("/"),
        env: &[],
        prompt,
    };
    let config = Config {
        pi: options.clone(),
        ..Config::default()
    };
    let spec = pi(&config).interactive(&context).unwrap();
    let text = |arg: OsString| arg.into_string().unwrap();
    spec.args.into_iter().map(text).collect()
}

#[test]
fn a_prompt_that_looks_like_an_option_is_a_prompt() {
    let options = PiConfig {
        model: Some("loop/one".into()),
        ..PiConfig::default()
    };
    assert_eq!(
        interactive_args(&options, FirstPrompt::Text("--help me")),
        ["--no-approve", "--model", "loop/one", "--", "--help me"]
    );
}

#[test]
fn a_prompt_that_begins_with_an_at_sign_is_no_file() {
    let found = interactive_args(&PiConfig::default(), FirstPrompt::Text("@me first"));
    assert_eq!(found, ["--no-approve", "--", " @me first"]);
}

#[test]
fn a_long_prompt_is_named_as_a_file() {
    let prompt = FirstPrompt::File(Path::new("/tmp/p.md"));
    assert_eq!(
        interactive_args(&PiConfig::default(), prompt),
        ["--no-approve", "--", "@/tmp/p.md", "Begin."]
    );
}

#[test]
fn for_a_plan_it_has_tools_that_read() {
    let ReadOnly::Enforced { answer_by, make } = KIND.read_only else {
        panic!("it can be kept from writing")
    };
    assert_eq!(answer_by, AnswerBy::Prompt);
    let mut config = Config::default();
    config.pi.tools = vec!["bash".into()];
    let setup = AgentSetup {
        config: &config,
        custom: None,
        is_root: false,
        guard: None,
    };
    let args = make(&setup, "{}").command(&context(&[])).args;
    let args: Vec<String> = args.into_iter().map(|a| a.into_string().unwrap()).collect();
    assert!(
        args.join(" ").ends_with(" --tools read,grep,find,ls"),
        "{args:?}"
    );
}

#[test]
fn versions_are_judged_by_what_ralph_needs_of_them() {
    for (version, expected) in [
        (Version(0, 73, 1), "unfit"),
        (Version(0, 80, 3), "unfit"),
        (Version(0, 80, 4), "doubtful"),
        (Version(0, 83, 9), "doubtful"),
        (Version(0, 84, 0), "good"),
        (Version(1, 5, 0), "good"),
    ] {
        let found = match judge_version(version) {
            Fitness::Good => "good",
            Fitness::Doubtful(_) => "doubtful",
            Fitness::Unfit(_) => "unfit",
        };
        assert_eq!(found, expected, "{version}");
    }
    let runtime = KIND.runtime.unwrap();
    assert_eq!(runtime.judge("Pi", Version(22, 19, 0)), Fitness::Good);
    let Fitness::Unfit(problem) = runtime.judge("Pi", Version(22, 18, 9)) else {
        panic!("it is too old")
    };
    assert_eq!(problem.why, "too old: Pi needs 22.19 or later");
}

#[test]
fn the_old_name_of_pi_is_named_with_the_new_one() {
    let Fitness::Unfit(problem) = judge_version(Version(0, 73, 1)) else {
        panic!("it is unfit");
    };
    let VersionProblem { why, hint } = problem;
    assert!(
        why.contains("@mariozechner/pi-coding-agent stops at 0.73.1"),
        "{why}"
    );
    assert!(hint.contains("@earendil-works/pi-coding-agent"), "{hint}");
}
