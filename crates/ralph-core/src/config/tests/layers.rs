//! Which layer wins, and what each value remembers of it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{SEED_EXAMPLE, env, file, project};
use crate::config::resolve::env_name;
use crate::config::schema::all_keys;
use crate::config::{
    AgentChoice, CommitType, Config, FlagValue, KeyPath, KnownFailures, Layers, Origin,
    PermissionMode, SandboxMode, resolve,
};
use crate::task::VerifyCommand;

fn flag(key: &str, value: Value, flag: &str) -> FlagValue {
    FlagValue {
        key: key.to_owned(),
        value,
        flag: flag.to_owned(),
    }
}

fn monitor() -> Value {
    json!({
        "interval_seconds": 10, "hang_seconds": 60, "ask_wait_seconds": 30,
        "escalate_wait_minutes": 15, "grace_seconds": 30, "max_restarts": 3,
    })
}

fn health() -> Value {
    json!({
        "enabled": true, "stuck_minutes": 30, "nudge_wait_minutes": 10, "max_nudges": 3,
        "escalation_wait_minutes": 15, "degraded_error_percent": 50, "degraded_steps": 10,
        "failing_steps": 20, "degraded_repeats": 5, "stuck_repeats": 10, "max_recoveries": 1,
    })
}

fn handoff() -> Value {
    json!({
        "enabled": true, "context_threshold": 0.7, "max_errors": 3, "budget_threshold": 0.8,
        "wrap_up_minutes": 5, "max_in_a_row": 10,
    })
}

fn breaker() -> Value {
    json!({"failures": 5, "window": 10, "cooldown_minutes": 10, "on_open": "stop"})
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let config = resolve(&Layers::default()).unwrap().config;
    assert_eq!(config, Config::default());
    assert_eq!(
        serde_json::to_value(&config).unwrap(),
        json!({
            "agent": "claude",
            "repo": { "root": ".", "branch_prefix": "ralph/" },
            "tasks": {
                "backend": "local", "source": null, "path": ".ralph/tasks",
                "parent_id_file": ".ralph/parent-task-id",
                "accept_new": false,
            },
            "memory": {
                "progress_file": ".ralph/progress.md", "archive_dir": ".ralph/archive",
                "max_bytes": 32768,
            },
            "claude": {
                "command": ["claude"], "args": [], "model": "sonnet", "models": {},
                "permission_mode": "bypass", "allowed_tools": [], "disallowed_tools": [],
                "append_system_prompt": null, "settings": null, "setting_sources": ["user"],
                "mcp_config": [], "max_turns": null, "env": {},
            },
            "pi": {
                "command": ["pi"], "args": [], "model": null, "models": {}, "mode": "rpc",
                "thinking": null, "tools": [], "append_system_prompt": null,
                "trust_project": false, "env": {},
            },
            "command": { "args": [] },
            "verification": {
                "commands": [], "prepare": [], "lands": [], "format": [], "network": "auto", "timeout_minutes": 15, "known_failures": "refuse",
                "baseline": true, "clean_check": "end", "clean_timeout_minutes": 30, "tail_lines": 200, "tail_bytes": 16384,
            },
            "workspace": {
                "mode": "auto",
                "caches": ["node_modules", "target", ".venv", "venv", "vendor", ".gradle", ".tox"],
                "max_gb": null,
            },
            "loop": {
                "max_iterations": 50, "max_minutes": null, "max_cost_usd": null,
                "max_minutes_per_iteration": 90, "max_attempts": 3, "on_max_attempts": "block",
                "max_verify_retries": 1, "max_errors": 3,
                "max_no_progress": 3, "idle_minutes": 15, "idle_minutes_tool": 60,
                "stop_grace_seconds": 10,
                "ask_minutes": 30,
                "gutter": {
                    "max_same_failure": 3, "max_churn_commits": 2, "max_oscillations": 2,
                    "diagnose": true, "then": "ask",
                },
            },
            "limits": {
                "on_usage_limit": "wait", "max_wait_minutes": 360, "unknown_wait_minutes": 30,
                "fallback_agent": null, "fallback_model": null, "overload_retries": 6,
                "overload_wait_seconds": 10,
            },
            "health": health(),
            "breaker": breaker(),
            "budgets": [],
            "economics": {"prices": {}, "prices_file": null, "multi_agent": false, "throttle_seconds": 30},
            "handoff": handoff(),
            "notify": {
                "command": null,
                "webhook": null,
                "webhook_token_env": null,
                "on": ["escalation", "complete", "halt", "limit", "budget_alert"],
                "desktop": "auto",
                "budget_alert_percent": 80,
                "timeout_seconds": 10,
            },
            "monitor": monitor(),
            "prompt": {
                "file_list": 100, "patterns_bytes": 8192, "agents_md_bytes": 8192,
                "description_bytes": 65536, "greps": [],
            },
            "git": {
                "commit_types": {
                    "bug": "fix", "chore": "chore", "deps": "chore", "docs": "chore", "fix": "fix",
                },
                "sign_off": false,
            },
            "safety": {
                "sandbox": "auto", "container": null, "allow_read": [], "allow_write": [], "network": "open", "allow_hosts": [],
                "max_memory_gb": null, "max_processes": 4096, "max_cpus": null, "allowed_commands": [], "protected_paths": [],
                "protect_tests": "flag", "max_file_mb": 50, "secret_allow": [], "pass_env": [],
            },
            "logs": { "max_mb": 50 },
            "store": {
                "mode": null, "url": null, "tenant": null,
                "include": ["records", "costs", "checkpoints", "questions"],
            },
            "qa": {
                "flows": ".ralph/flows", "browser": null, "url": null, "viewport": "1280x720", "timeout": "10s",
                "jobs": null, "threshold": 0.0, "hosts": [],
                "server": {
                    "command": null, "ready": "port", "timeout": "1m", "port": "auto", "env": {},
                },
            },
        })
    );
}

#[test]
fn each_layer_wins_over_those_below_it() {
    let text = |n: u32| format!("loop:\n  max_iterations: {n}\n");
    let mut layers = Layers {
        user: file("user.yaml", &text(11)),
        ..Layers::default()
    };
    let expect = |layers: &Layers, n: u32, origin: Origin| {
        let resolved = resolve(layers).unwrap();
        assert_eq!(resolved.config.loop_.max_iterations, n);
        assert_eq!(resolved.origin("loop.max_iterations"), &origin);
        assert_eq!(resolved.origin("loop.max_attempts"), &Origin::Default);
    };
    let from_file = |path: &str| Origin::File {
        path: path.into(),
        line: 2,
    };
    let from_env = |name: &str| Origin::Env {
        name: name.to_owned(),
    };
    expect(&layers, 11, from_file("user.yaml"));
    layers.project = file("ralph.yaml", &text(12));
    expect(&layers, 12, from_file("ralph.yaml"));
    layers.env = env(&[("MAX_ITERATIONS", "13")]);
    expect(&layers, 13, from_env("MAX_ITERATIONS"));
    layers.env = env(&[
        ("RALPH_LOOP_MAX_ITERATIONS", "14"),
        ("MAX_ITERATIONS", "13"),
    ]);
    expect(&layers, 14, from_env("RALPH_LOOP_MAX_ITERATIONS"));
    let flags = flag("loop.max_iterations", json!(15), "--max-iterations");
    layers.flags = vec![flags];
    expect(
        &layers,
        15,
        Origin::Flag {
            name: "--max-iterations".into(),
        },
    );
}

#[test]
fn maps_merge_by_key_and_lists_are_replaced() {
    let resolved = resolve(&Layers {
        user: file(
            "user.yaml",
            "claude:\n  env: {A: user, B: user}\n  args: [--one, --two]\n",
        ),
        project: file(
            "ralph.yaml",
            "claude:\n  env:\n    B: project\n  args: [--three]\ngit:\n  commit_types:\n    docs: feat\n",
        ),
        ..Layers::default()
    })
    .unwrap();
    let env: Vec<(&str, &str)> = resolved
        .config
        .claude
        .env
        .0
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    assert_eq!(env, [("A", "user"), ("B", "project")]);
    assert_eq!(resolved.config.claude.args, ["--three"]);
    let types = &resolved.config.git.commit_types;
    assert_eq!(types["docs"], CommitType::Feat);
    assert_eq!(types["bug"], CommitType::Fix);
    assert_eq!(
        resolved.origin("claude.env.B"),
        &Origin::File {
            path: "ralph.yaml".into(),
            line: 3
        }
    );
    assert_eq!(resolved.origin("git.commit_types.bug"), &Origin::Default);
}

#[test]
fn the_environment_sets_keys_of_every_type() {
    let config = resolve(&Layers {
        env: env(&[
            ("RALPH_AGENT", "command:my-agent"),
            ("RALPH_CLAUDE_MODEL", "4.5"),
            ("RALPH_CLAUDE_PERMISSION_MODE", "acceptEdits"),
            ("RALPH_CLAUDE_ENV", "{A: b}"),
            ("RALPH_COMMAND_ARGS", "[-x, '1']"),
            (
                "RALPH_VERIFICATION_COMMANDS",
                r#"[["npm", "test"], "a | b"]"#,
            ),
            ("RALPH_VERIFICATION_BASELINE", "false"),
            ("RALPH_VERIFICATION_KNOWN_FAILURES", "allow"),
            ("RALPH_LOOP_MAX_MINUTES", "0.5"),
            ("STUCK_THRESHOLD", "7"),
            ("RALPH_TASKS_SOURCE", "PRD.json"),
            ("RALPH_LOGS_MAX_MB", ""),
        ]),
        ..Layers::default()
    })
    .unwrap()
    .config;
    assert_eq!(config.agent, AgentChoice::Command("my-agent".into()));
    assert_eq!(config.claude.model.as_deref(), Some("4.5"));
    assert_eq!(config.claude.permission_mode, PermissionMode::AcceptEdits);
    assert_eq!(config.claude.env.0["A"], "b");
    assert_eq!(config.command.args, ["-x", "1"]);
    assert_eq!(
        config.verification.commands,
        [
            VerifyCommand::Argv(vec!["npm".into(), "test".into()]),
            VerifyCommand::Shell("a | b".into()),
        ]
    );
    assert!(!config.verification.baseline);
    assert_eq!(config.verification.known_failures, KnownFailures::Allow);
    let limit = config.loop_.max_minutes.map(|minutes| minutes.duration());
    assert_eq!(limit, Some(Duration::from_secs(30)));
    assert_eq!(config.loop_.gutter.max_same_failure.get(), 7);
    assert_eq!(config.tasks.source, Some("PRD.json".into()));
    assert_eq!(config.logs.max_mb.get(), 50, "an empty variable is not set");
}

#[test]
fn no_two_keys_share_a_variable() {
    let names: Vec<String> = all_keys().iter().map(|key| env_name(&key.path)).collect();
    let unique: BTreeSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), 154);
    assert_eq!(names.len(), 154);
    assert!(names.contains(&"RALPH_LOOP_GUTTER_MAX_SAME_FAILURE".to_owned()));
}

#[test]
fn a_misspelt_variable_is_noted_and_a_foreign_one_is_not() {
    let notes = |name: &str| -> Vec<String> {
        let layers = Layers {
            env: env(&[(name, "1")]),
            ..Layers::default()
        };
        let notes = resolve(&layers).unwrap().notes;
        notes.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        notes("RALPH_LOOP_MAX_ITERATION"),
        [
            "environment variable RALPH_LOOP_MAX_ITERATION sets no key of ralph's and is not used; \
          did you mean RALPH_LOOP_MAX_ITERATIONS?"
        ]
    );
    assert_eq!(
        notes("RALPH_VERIFCATION_COMMANDS"),
        [
            "environment variable RALPH_VERIFCATION_COMMANDS sets no key of ralph's and is not used; \
          did you mean RALPH_VERIFICATION_COMMANDS?"
        ]
    );
    assert_eq!(
        notes("RALPH_LOOP_X"),
        ["environment variable RALPH_LOOP_X sets no key of ralph's and is not used"]
    );
    for other in [
        "RALPH_DATA_DIR",
        "RALPH_LOG",
        "RALPH_LOOP_ID",
        "RALPH_STORE_PASSWORD_FILE",
        "RALPH_WIGGUM",
        "PATH",
    ] {
        assert_eq!(notes(other), Vec::<String>::new(), "{other}");
    }
}

#[test]
fn of_two_flags_for_a_key_the_later_one_wins() {
    let resolved = resolve(&Layers {
        flags: vec![
            flag("loop.max_attempts", json!(4), "--max-attempts"),
            flag("loop.max_attempts", json!(5), "--max-attempts"),
        ],
        ..Layers::default()
    })
    .unwrap();
    assert_eq!(resolved.config.loop_.max_attempts.get(), 5);
}

#[test]
fn the_example_of_the_specification_is_accepted_and_what_is_not_built_is_said() {
    let resolved = project(SEED_EXAMPLE).unwrap();
    assert_eq!(resolved.config.claude.command.as_slice(), ["claude"]);
    assert_eq!(
        resolved.config.verification.commands[0].to_string(),
        "npm run typecheck"
    );
    let notes: Vec<String> = resolved.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "`claude.command`: the word `code` is left out: `claude code -p` would take it for the \
             prompt",
            "`loop.max_minutes_per_iteration`: an iteration ends after 20 min, before ralph would \
             look after an agent that is silent while a tool runs (`loop.idle_minutes_tool`: 60 \
             min)",
            "`loop.max_minutes_per_iteration`: an iteration ends after 20 min, before an agent \
             without progress would be reminded (`health`: 30 min)",
        ]
    );
    assert_eq!(resolved.not_in_force, []);
    let unbuilt = project("git: {sign_off: true}").unwrap().not_in_force;
    let unbuilt: Vec<String> = unbuilt.iter().map(ToString::to_string).collect();
    assert_eq!(
        unbuilt,
        ["`git.sign_off: true` is not in force: ralph does not sign commits off yet"]
    );
}

#[test]
fn a_sandbox_is_a_word_or_yes_and_no() {
    let mode = |text: &str| {
        project(&format!("safety: {{sandbox: {text}}}")).map(|r| r.config.safety.sandbox)
    };
    for (text, expected) in [
        ("auto", SandboxMode::Auto),
        ("required", SandboxMode::Required),
        ("off", SandboxMode::Off),
        ("true", SandboxMode::Required),
        ("false", SandboxMode::Off),
    ] {
        assert_eq!(mode(text).unwrap(), expected, "{text}");
    }
    for text in ["on", "1", "[]", "Required"] {
        assert!(mode(text).is_err(), "{text}");
    }
    let layers = Layers {
        env: env(&[("RALPH_SAFETY_SANDBOX", "true")]),
        ..Layers::default()
    };
    let resolved = resolve(&layers).unwrap();
    assert_eq!(resolved.config.safety.sandbox, SandboxMode::Required);
}

#[test]
fn what_no_one_asked_for_is_not_called_out() {
    assert!(resolve(&Layers::default()).unwrap().not_in_force.is_empty());
    let resolved =
        project("safety: {sandbox: false, allowed_commands: []}\ngit: {sign_off: false}").unwrap();
    assert_eq!(resolved.not_in_force, []);
    assert_eq!(resolved.notes, []);
}

#[test]
fn only_claude_itself_loses_the_word_code() {
    let command = |line: &str| {
        let text = format!("claude:\n  command: {line}\n");
        project(&text)
            .unwrap()
            .config
            .claude
            .command
            .as_slice()
            .join(" ")
    };
    assert_eq!(
        command("[/usr/bin/claude, code, --debug]"),
        "/usr/bin/claude --debug"
    );
    assert_eq!(command("[wrapper, code]"), "wrapper code");
    assert_eq!(command("[claude, --x, code]"), "claude --x code");
}

#[test]
fn empty_files_and_empty_sections_set_nothing() {
    for text in [
        "",
        "\n",
        "# only a comment\n",
        "---\n",
        "loop:\n  # nothing\nclaude:\n",
    ] {
        let resolved = project(text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        assert_eq!(resolved.config, Config::default(), "{text:?}");
        assert!(resolved.origins.is_empty(), "{text:?}");
    }
}

#[test]
fn null_takes_back_what_a_lower_layer_set_where_nothing_is_allowed() {
    let resolved = resolve(&Layers {
        user: file(
            "user.yaml",
            "loop: {max_minutes: 30}\nclaude: {model: opus}\n",
        ),
        project: file(
            "ralph.yaml",
            "loop: {max_minutes: null}\nclaude: {model: ~}\n",
        ),
        ..Layers::default()
    })
    .unwrap();
    assert_eq!(resolved.config.loop_.max_minutes, None);
    assert_eq!(resolved.config.claude.model, None);
}

#[test]
fn a_configuration_survives_the_journal() {
    let text = "agent: script:demo.yaml\nloop: {max_minutes: 0.25, idle_minutes: 7}\n\
                claude: {env: {TOKEN: t}, model: opus, permission_mode: dontAsk}\n\
                verification: {commands: [[a, b], 'c | d'], known_failures: allow}\n\
                prompt: {greps: [{pattern: TODO, paths: [src/**]}]}\n\
                safety: {protected_paths: ['*.lock']}\n";
    let config = project(text).unwrap().config;
    let json = serde_json::to_string(&config).unwrap();
    assert!(json.contains(r#""max_minutes":0.25,"#), "{json}");
    assert!(json.contains(r#""greps":[{"pattern":"TODO","paths":["src/**"],"max_lines":20}]"#));
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);
}

#[test]
fn debug_output_keeps_the_values_of_the_environment_to_itself() {
    let config = project("claude: {env: {TOKEN: s3cr3t}}").unwrap().config;
    let debug = format!("{config:?}");
    assert!(debug.contains("TOKEN"), "{debug}");
    assert!(!debug.contains("s3cr3t"), "{debug}");
}

#[test]
fn a_key_path_is_written_with_dots() {
    assert_eq!(
        KeyPath::dotted("loop.gutter.max_same_failure").to_string(),
        "loop.gutter.max_same_failure"
    );
}

#[test]
fn an_agent_that_is_a_map_can_have_variables_of_its_own() {
    let yaml = "agent:\n  name: mine\n  command: [x, -y]\n  dialect: claude\n  env: {TEAM: shop}\n";
    let AgentChoice::Custom(custom) = project(yaml).unwrap().config.agent else {
        panic!("a map is a program of the user's");
    };
    assert_eq!(custom.env.0["TEAM"], "shop");
    assert_eq!(custom.command.as_slice(), ["x", "-y"]);
}
