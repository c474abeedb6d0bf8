//! Tests of how Claude Code is started.

use std::path::{Path, PathBuf};

use ralph_core::config::Config;

use super::*;

fn args(append: Option<&str>, prompt: FirstPrompt<'_>) -> Vec<String> {
    let mut config = Config::default();
    config.claude.append_system_prompt = append.map(str::to_owned);
    config.claude.allowed_tools = vec!["Read".into()];
    let claude = Claude::new(&AgentSetup {
        config: &config,
        custom: None,
        is_root: false,
        guard: None,
    });
    let spec = claude.interactive(&InteractiveContext {
        cwd: &PathBuf::from("/"),
        env: &[],
        prompt,
    });
    let text = |arg: OsString| arg.into_string().unwrap();
    spec.unwrap().args.into_iter().map(text).collect()
}

const COMMON: [&str; 9] = [
    "--strict-mcp-config",
    "--setting-sources",
    "user",
    "--permission-mode",
    "bypassPermissions",
    "--model",
    "sonnet",
    "--allowedTools",
    "Read",
];

#[test]
fn a_short_prompt_stands_behind_all_options() {
    let found = args(Some("Be kind."), FirstPrompt::Text("-x"));
    let rest = ["--append-system-prompt", "Be kind.", "--", "-x"];
    assert_eq!(found, [&COMMON[..], &rest[..]].concat());
}

#[test]
fn without_a_prompt_the_person_speaks_first() {
    assert_eq!(args(None, FirstPrompt::None), COMMON);
}

#[test]
fn a_long_prompt_is_in_the_system_prompt_and_no_second_one_beside_it() {
    let found = args(Some("Be kind."), FirstPrompt::File(Path::new("/tmp/p")));
    let begin = "Be kind.\n\nBegin: follow the instructions at the end of your system prompt.";
    let rest = ["--append-system-prompt-file", "/tmp/p", "--", begin];
    assert_eq!(found, [&COMMON[..], &rest[..]].concat());
}

#[test]
fn for_a_plan_it_has_tools_that_read_and_answers_by_the_schema() {
    let ReadOnly::Enforced { answer_by, make } = KIND.read_only else {
        panic!("it can be kept from writing")
    };
    assert_eq!(answer_by, AnswerBy::Schema);
    let mut config = Config::default();
    config.claude.mcp_config = vec!["servers.json".into()];
    config.claude.args = vec!["--tools".into(), "Bash".into()];
    let setup = AgentSetup {
        config: &config,
        custom: None,
        is_root: true,
        guard: None,
    };
    let agent = make(&setup, "{}");
    assert_eq!(agent.warning(), None);
    let spec = agent.command(&RunContext {
        cwd: "/repo".into(),
        env: Vec::new(),
        prompt: String::new(),
        labels: Vec::new(),
        budget: None,
    });
    let args: Vec<String> = spec
        .args
        .into_iter()
        .map(|a| a.into_string().unwrap())
        .collect();
    let line = args.join(" ");
    let last = "--permission-mode default --model sonnet --tools Bash --tools Read,Glob,Grep \
                --json-schema {}";
    assert!(line.ends_with(last), "{line}");
    assert!(!line.contains("servers.json"), "{line}");
    assert!(!spec.env.iter().any(|(key, _)| key == "IS_SANDBOX"));
}

#[test]
fn a_version_before_those_that_were_tried_is_doubtful() {
    assert_eq!(judge_version(Version(2, 1, 0)), Fitness::Good);
    let Fitness::Doubtful(problem) = judge_version(Version(2, 0, 99)) else {
        panic!("it may work")
    };
    assert!(problem.why.contains("older than 2.1"), "{}", problem.why);
}

fn guard() -> CommandGuard {
    let list = ["cargo".to_owned()];
    let guard = CommandGuard::install(
        CommandCheck::Setting,
        &list,
        "/bin/ralph".into(),
        Path::new("/nowhere"),
    );
    guard.unwrap().unwrap()
}

#[test]
fn the_check_of_commands_is_added_to_the_settings_of_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let own = r#"{"env":{"A":"b"},"disableAllHooks":true,"hooks":{"Stop":[],"PreToolUse":[{"matcher":"Edit"}]}}"#;
    std::fs::write(folder.path().join("own.json"), own).unwrap();
    std::fs::write(folder.path().join("list.json"), "[1]").unwrap();
    let merged = |own: Option<&str>| with_check(own.map(str::to_owned), folder.path(), &guard());
    let check = r#"{"hooks":[{"command":"'/bin/ralph' '__allow-command' '[\"cargo\"]' || exit 2","timeout":60,"type":"command"}],"matcher":"Bash|Monitor"}"#;
    let check: Value = serde_json::from_str(check).unwrap();
    let alone = json!({"disableAllHooks": false, "hooks": {"PreToolUse": [check]}});
    let both = json!({
        "env": {"A": "b"}, "disableAllHooks": false,
        "hooks": {"Stop": [], "PreToolUse": [check, {"matcher": "Edit"}]},
    });
    for (own, expected) in [
        (None, &alone),
        (Some("list.json"), &alone),
        (Some("own.json"), &both),
        (Some(own), &both),
    ] {
        let found: Value = serde_json::from_str(&merged(own)).unwrap();
        assert_eq!(&found, expected, "{own:?}");
    }
    // Claude Code does not start with these.
    assert_eq!(merged(Some("absent.json")), "absent.json");
    assert_eq!(merged(Some("{broken")), "{broken");
}

fn setup(config: &Config, guard: Option<CommandGuard>) -> AgentSetup<'_> {
    AgentSetup {
        config,
        custom: None,
        is_root: false,
        guard,
    }
}

#[test]
fn settings_among_its_arguments_do_not_take_the_check_away() {
    let mut config = Config::default();
    config.claude.args = ["--settings", r#"{"env":{}}"#, "--debug", "--settings={}"]
        .map(str::to_owned)
        .to_vec();
    let claude = Claude::new(&setup(&config, Some(guard())));
    let args = claude.common_arguments(&[], Path::new("/repo"));
    let settings: Vec<&String> = args
        .iter()
        .filter(|arg| arg.starts_with("--settings"))
        .collect();
    assert_eq!(settings, ["--settings"]);
    assert!(args.contains(&"--debug".to_owned()));
    assert!(claude.checks_commands());
    config.claude.args = vec!["--bare".to_owned()];
    assert!(!Claude::new(&setup(&config, Some(guard()))).checks_commands());
    assert!(!Claude::new(&setup(&config, None)).checks_commands());
}
