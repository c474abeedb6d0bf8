//! Tests what `ralph config`, the schema and `ralph init` show.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{SEED_EXAMPLE, env, file, project};
use crate::config::{
    AgentChoice, Config, Guess, GuessKind, InitPlan, Layers, Origin, effective,
    render_effective_yaml, render_ralph_yaml, resolve, schema,
};
use crate::task::VerifyCommand;

fn layered() -> Layers {
    Layers {
        user: file("~/ralph.yaml", "claude:\n  model: opus\n"),
        project: file(
            "ralph.yaml",
            "verification:\n  commands:\n    - [npm, run, typecheck]\n    - npm test | tee log\n\
             claude:\n  env: {TOKEN: s3cr3t}\n  args: [--a, 'b c']\n",
        ),
        env: env(&[("MAX_ITERATIONS", "7")]),
        ..Layers::default()
    }
}

#[test]
#[allow(clippy::too_many_lines)] // One expectation, a line for each key.
fn every_value_is_shown_with_its_origin() {
    let resolved = resolve(&layered()).unwrap();
    assert_snapshot!(render_effective_yaml(&resolved), @r#"
    agent: claude  # default
    repo:
      root: .  # default
      branch_prefix: ralph/  # default
    tasks:
      backend: local  # default
      source: null  # default
      path: .ralph/tasks  # default
      parent_id_file: .ralph/parent-task-id  # default
      accept_new: false  # default
    memory:
      progress_file: .ralph/progress.md  # default
      archive_dir: .ralph/archive  # default
      max_bytes: 32768  # default
    claude:
      command: ["claude"]  # default
      args: ["--a", "b c"]  # ralph.yaml:7
      model: opus  # ~/ralph.yaml:2
      models: {}  # default
      permission_mode: bypass  # default
      allowed_tools: []  # default
      disallowed_tools: []  # default
      append_system_prompt: null  # default
      settings: null  # default
      setting_sources: ["user"]  # default
      mcp_config: []  # default
      max_turns: null  # default
      env:
        TOKEN: "(hidden)"  # ralph.yaml:6
    pi:
      command: ["pi"]  # default
      args: []  # default
      model: null  # default
      models: {}  # default
      mode: rpc  # default
      thinking: null  # default
      tools: []  # default
      append_system_prompt: null  # default
      trust_project: false  # default
      env: {}  # default
    command:
      args: []  # default
    verification:
      commands:  # ralph.yaml:2
        - ["npm", "run", "typecheck"]
        - "npm test | tee log"
      prepare: []  # default
      lands: []  # default
      format: []  # default
      network: auto  # default
      timeout_minutes: 15  # default
      known_failures: refuse  # default
      baseline: true  # default
      clean_check: end  # default
      clean_timeout_minutes: 30  # default
      tail_lines: 200  # default
      tail_bytes: 16384  # default
    workspace:
      mode: auto  # default
      caches: ["node_modules", "target", ".venv", "venv", "vendor", ".gradle", ".tox"]  # default
      max_gb: null  # default
    loop:
      max_iterations: 7  # env MAX_ITERATIONS
      max_minutes: null  # default
      max_cost_usd: null  # default
      max_minutes_per_iteration: 90  # default
      max_attempts: 3  # default
      on_max_attempts: block  # default
      max_verify_retries: 1  # default
      max_errors: 3  # default
      max_no_progress: 3  # default
      idle_minutes: 15  # default
      idle_minutes_tool: 60  # default
      stop_grace_seconds: 10  # default
      ask_minutes: 30  # default
      gutter:
        max_same_failure: 3  # default
        max_churn_commits: 2  # default
        max_oscillations: 2  # default
        diagnose: true  # default
        then: ask  # default
    limits:
      on_usage_limit: wait  # default
      max_wait_minutes: 360  # default
      unknown_wait_minutes: 30  # default
      fallback_agent: null  # default
      fallback_model: null  # default
      overload_retries: 6  # default
      overload_wait_seconds: 10  # default
    health:
      enabled: true  # default
      stuck_minutes: 30  # default
      nudge_wait_minutes: 10  # default
      max_nudges: 3  # default
      escalation_wait_minutes: 15  # default
      degraded_error_percent: 50  # default
      degraded_steps: 10  # default
      failing_steps: 20  # default
      degraded_repeats: 5  # default
      stuck_repeats: 10  # default
      max_recoveries: 1  # default
    breaker:
      failures: 5  # default
      window: 10  # default
      cooldown_minutes: 10  # default
      on_open: stop  # default
    budgets: []  # default
    economics:
      prices: {}  # default
      prices_file: null  # default
      multi_agent: false  # default
      throttle_seconds: 30  # default
    handoff:
      enabled: true  # default
      context_threshold: 0.7  # default
      max_errors: 3  # default
      budget_threshold: 0.8  # default
      wrap_up_minutes: 5  # default
      max_in_a_row: 10  # default
    notify:
      command: null  # default
      webhook: null  # default
      webhook_token_env: null  # default
      "on": ["escalation", "complete", "halt", "limit", "budget_alert"]  # default
      desktop: auto  # default
      budget_alert_percent: 80  # default
      timeout_seconds: 10  # default
    monitor:
      interval_seconds: 10  # default
      hang_seconds: 60  # default
      ask_wait_seconds: 30  # default
      escalate_wait_minutes: 15  # default
      grace_seconds: 30  # default
      max_restarts: 3  # default
    prompt:
      file_list: 100  # default
      patterns_bytes: 8192  # default
      agents_md_bytes: 8192  # default
      description_bytes: 65536  # default
      greps: []  # default
    git:
      commit_types:
        bug: fix  # default
        chore: chore  # default
        deps: chore  # default
        docs: chore  # default
        fix: fix  # default
      sign_off: false  # default
    safety:
      sandbox: auto  # default
      container: null  # default
      allow_read: []  # default
      allow_write: []  # default
      network: open  # default
      allow_hosts: []  # default
      max_memory_gb: null  # default
      max_processes: 4096  # default
      max_cpus: null  # default
      allowed_commands: []  # default
      protected_paths: []  # default
      protect_tests: flag  # default
      max_file_mb: 50  # default
      secret_allow: []  # default
      pass_env: []  # default
    logs:
      max_mb: 50  # default
    store:
      mode: null  # default
      url: null  # default
      tenant: null  # default
      include: ["records", "costs", "checkpoints", "questions"]  # default
    qa:
      flows: .ralph/flows  # default
      browser: null  # default
      url: null  # default
      viewport: "1280x720"  # default
      timeout: "10s"  # default
      jobs: null  # default
      threshold: 0.0  # default
      hosts: []  # default
      server:
        command: null  # default
        ready: port  # default
        timeout: "1m"  # default
        port: auto  # default
        env: {}  # default
    "#);
}

#[test]
fn rows_hide_the_values_of_the_environment() {
    let rows = effective(&resolve(&layered()).unwrap());
    let row = |key: &str| rows.iter().find(|row| row.key.to_string() == key).unwrap();
    assert_eq!(row("claude.env.TOKEN").value, json!("(hidden)"));
    assert_eq!(row("loop.max_iterations").value, json!(7));
    assert_eq!(
        row("loop.max_iterations").origin,
        Origin::Env {
            name: "MAX_ITERATIONS".into()
        }
    );
    assert_eq!(row("git.commit_types.bug").value, json!("fix"));
}

#[test]
fn what_is_shown_can_be_read_again() {
    let first = project(SEED_EXAMPLE).unwrap();
    let second = project(&render_effective_yaml(&first)).unwrap();
    assert_eq!(second.config, first.config);
    let odd = "claude: {args: ['yes', '1', ' a: b # c', \"tab\\t\\u007f\", 'it''s \"x\"', '']}\n\
               agent: 'script:a b.yaml'\ngit: {commit_types: {'on': fix, 'a b': chore}}\n";
    let first = project(odd).unwrap();
    let second = project(&render_effective_yaml(&first)).unwrap();
    assert_eq!(second.config, first.config);
}

#[test]
fn the_schema_describes_every_key() {
    fn walk(path: &str, schema: &Value, bare: &mut Vec<String>, keys: &mut usize) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            *keys += 1;
            let told = property["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty());
            if !told || property.get("default").is_none() {
                bare.push(path.clone());
            }
            walk(&path, property, bare, keys);
        }
    }
    let schema = schema();
    let (mut bare, mut keys) = (Vec::new(), 0);
    walk("", &schema, &mut bare, &mut keys);
    assert_eq!(bare, Vec::<String>::new());
    assert_eq!(keys, 178);
    assert_eq!(schema["title"], "ralph.yaml");
    assert_eq!(schema["additionalProperties"], false);
    let iterations = &schema["properties"]["loop"]["properties"]["max_iterations"];
    assert_eq!(iterations["minimum"], 0);
    assert_eq!(iterations["default"], 50);
    assert_eq!(
        iterations["description"],
        "Iterations of a loop, counted from `ralph run` on; 0 for no limit."
    );
}

fn guess(command: VerifyCommand, why: &str) -> Guess {
    Guess {
        command,
        kind: GuessKind::Test,
        why: why.to_owned(),
    }
}

#[test]
fn a_new_file_says_where_its_commands_come_from() {
    let text = render_ralph_yaml(&InitPlan {
        prepare: vec![guess(
            VerifyCommand::Argv(vec!["npm".into(), "ci".into()]),
            "package.json has dependencies",
        )],
        guesses: vec![
            guess(
                VerifyCommand::Argv(vec!["npm".into(), "test".into()]),
                "package.json has the script `test`, npm because of package-lock.json",
            ),
            guess(
                VerifyCommand::Shell("make check | tee log".into()),
                "it looked\ngood",
            ),
        ],
        agent: Some(AgentChoice::Script("demo.yaml".into())),
        tasks_source: Some("PRD.json".into()),
    });
    assert_snapshot!(text, @r#"
    # How ralph works in this repository. Every key has a default; `ralph config` shows what
    # is in force and where it comes from.

    agent: "script:demo.yaml"

    tasks:
      source: PRD.json

    verification:
      # ralph runs these itself after every attempt. All must pass before anything is committed.
      commands:
        # Guessed: package.json has the script `test`, npm because of package-lock.json.
        - ["npm", "test"]
        # Guessed: it looked good.
        - "make check | tee log"
      # These make a checkout ready before it is verified.
      prepare:
        # Guessed: package.json has dependencies.
        - ["npm", "ci"]

    # Some defaults; take away the `#` to change one.
    #loop:
    #  max_iterations: 50  # of one run
    #  max_minutes_per_iteration: 90  # of an agent; verify commands have their own limit
    #  max_attempts: 3  # at one task
    #claude:
    #  model: sonnet  # null leaves the choice to Claude Code
    #  permission_mode: bypass  # bypass, default, acceptEdits, dontAsk or plan
    #safety:
    #  protected_paths: []  # globs that no change may touch
    "#);
    let config = project(&text).unwrap().config;
    assert_eq!(config.agent, AgentChoice::Script("demo.yaml".into()));
    assert_eq!(config.tasks.source, Some("PRD.json".into()));
    let commands: Vec<String> = config
        .verification
        .commands
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(commands, ["npm test", "make check | tee log"]);
}

#[test]
fn a_new_file_without_guesses_sets_nothing_but_says_what_is_missing() {
    let text = render_ralph_yaml(&InitPlan::default());
    assert!(text.contains("as `unverified`"), "{text}");
    assert_eq!(project(&text).unwrap().config, Config::default());
}

#[test]
fn the_commented_defaults_of_a_new_file_are_good_settings() {
    let text = render_ralph_yaml(&InitPlan::default());
    let (head, defaults) = text.split_once("# Some defaults").unwrap();
    let (_, defaults) = defaults.split_once('\n').unwrap();
    let uncommented: String = defaults
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix('#').unwrap()))
        .collect();
    let resolved = project(&format!("{head}{uncommented}")).unwrap();
    assert_eq!(resolved.config, Config::default());
    assert_eq!(resolved.origins.len(), 7);
}
