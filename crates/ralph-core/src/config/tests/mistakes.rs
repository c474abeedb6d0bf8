//! Tests what ralph says of a configuration that is wrong.

use insta::assert_snapshot;
use serde_json::json;

use super::{env, file, mistakes};
use crate::config::{ConfigProblem, FlagValue, Layers, resolve};

#[test]
fn an_unknown_key_comes_with_its_place_and_the_likely_one() {
    assert_snapshot!(mistakes("loop:\n  max_iteration: 5\n"), @"ralph.yaml:2:3: unknown key `loop.max_iteration`; did you mean `loop.max_iterations`?");
    assert_snapshot!(mistakes("max_iterations: 5\n"), @"ralph.yaml:1:1: unknown key `max_iterations`; did you mean `loop.max_iterations`?");
    assert_snapshot!(mistakes("verification:\n  comands: []\n"), @"ralph.yaml:2:3: unknown key `verification.comands`; did you mean `verification.commands`?");
    assert_snapshot!(mistakes("verify:\n  commands: []\n"), @"ralph.yaml:1:1: unknown key `verify`; did you mean `verification.commands`?");
    assert_snapshot!(mistakes("claude:\n  sandbox: true\n"), @"ralph.yaml:2:3: unknown key `claude.sandbox`; did you mean `safety.sandbox`?");
    assert_snapshot!(mistakes("loop:\n  maxIterations: 5\n"), @"ralph.yaml:2:3: unknown key `loop.maxIterations`; did you mean `loop.max_iterations`?");
    assert_snapshot!(mistakes("loops:\n  max_iterations: 5\n"), @"ralph.yaml:1:1: unknown key `loops`; did you mean `loop`?");
    assert_snapshot!(mistakes("verification:\n  timeout: 5\n"), @"ralph.yaml:2:3: unknown key `verification.timeout`; did you mean `verification.timeout_minutes`?");
    assert_snapshot!(mistakes("max_same_failure: 5\n"), @"ralph.yaml:1:1: unknown key `max_same_failure`; did you mean `loop.gutter.max_same_failure`?");
    assert_snapshot!(mistakes("quux: 5\n"), @"ralph.yaml:1:1: unknown key `quux`; `ralph config` lists the keys there are");
}

#[test]
fn a_wrong_type_says_what_was_expected_and_found() {
    assert_snapshot!(mistakes("loop:\n  max_iterations: fifty\n"), @"ralph.yaml:2:19: `loop.max_iterations`: expected a whole number of at least 0, found the text `fifty`");
    assert_snapshot!(mistakes("loop:\n  max_iterations: \"50\"\n"), @"ralph.yaml:2:19: `loop.max_iterations`: expected a whole number of at least 0, found the text `50`; take away the quotes");
    assert_snapshot!(mistakes("loop:\n  max_iterations: 1.5\n"), @"ralph.yaml:2:19: `loop.max_iterations`: expected a whole number of at least 0, found 1.5");
    assert_snapshot!(mistakes("loop: 5\n"), @"ralph.yaml:1:7: `loop`: expected a section with keys such as `max_iterations`, found 5");
    assert_snapshot!(mistakes("verification:\n  baseline: yes\n"), @"ralph.yaml:2:13: `verification.baseline`: expected `true` or `false`, found the text `yes`");
    assert_snapshot!(mistakes("verification:\n  commands:\n"), @"ralph.yaml:2:11: `verification.commands`: expected a list of commands, each a list of words or a line for the shell, found nothing; leave the key out for its default");
    assert_snapshot!(mistakes("verification:\n  commands:\n    - [npm, test]\n    - [sleep, 5]\n"), @"ralph.yaml:4:15: `verification.commands[1][1]`: expected a text, found 5; put it in quotes");
    assert_snapshot!(mistakes("verification:\n  commands: npm test\n"), @r#"ralph.yaml:2:13: `verification.commands`: expected a list of commands, each a list of words or a line for the shell, found the text `npm test`; write ["npm test"]"#);
    assert_snapshot!(mistakes("verification:\n  commands: [5]\n"), @"ralph.yaml:2:14: `verification.commands[0]`: expected a list of texts or a text or a map with `qa`, found 5");
    assert_snapshot!(mistakes("claude:\n  command: claude --debug\n"), @r#"ralph.yaml:2:12: `claude.command`: expected a list of texts that is not empty, found the text `claude --debug`; write ["claude","--debug"]"#);
    assert_snapshot!(mistakes("claude:\n  model: 4\n"), @"ralph.yaml:2:10: `claude.model`: expected a text that is not empty or nothing, found 4; put it in quotes");
    assert_snapshot!(mistakes("claude:\n  env: [a]\n"), @"ralph.yaml:2:8: `claude.env`: expected a map, found a list");
    assert_snapshot!(mistakes("- a\n"), @"ralph.yaml:1:1: expected keys and values, found a list");
}

#[test]
fn a_limit_out_of_range_names_its_key() {
    assert_snapshot!(mistakes("loop:\n  max_iterations: -1\n"), @"ralph.yaml:2:19: `loop.max_iterations`: expected a whole number of at least 0, found -1");
    assert_snapshot!(mistakes("loop:\n  max_attempts: -1\n"), @"ralph.yaml:2:17: `loop.max_attempts`: expected a whole number of at least 1, found -1");
    assert_snapshot!(mistakes("loop:\n  max_minutes: 0\n"), @"ralph.yaml:2:16: `loop.max_minutes`: expected a number greater than 0 and at most 527040 or nothing, found 0");
    assert_snapshot!(mistakes("loop:\n  idle_minutes: -0.5\n"), @"ralph.yaml:2:17: `loop.idle_minutes`: expected a number greater than 0 and at most 527040, found -0.5");
    assert_snapshot!(mistakes("loop:\n  max_minutes: 99999999\n"), @"ralph.yaml:2:16: `loop.max_minutes`: expected a number greater than 0 and at most 527040 or nothing, found 99999999");
    assert_snapshot!(mistakes("loop:\n  max_errors: 5000000000\n"), @"ralph.yaml:2:15: `loop.max_errors`: expected a whole number of at least 1, found 5000000000; the largest is 4294967295");
    assert_snapshot!(mistakes("prompt:\n  file_list: 0\n"), @"ralph.yaml:2:14: `prompt.file_list`: expected a whole number of at least 1, found 0");
}

#[test]
fn a_choice_that_is_none_is_told_the_choices() {
    assert_snapshot!(mistakes("tasks:\n  backend: github\n"), @"ralph.yaml:2:12: `tasks.backend`: expected `local`, found the text `github`");
    assert_snapshot!(mistakes("verification:\n  known_failures: allowed\n"), @"ralph.yaml:2:19: `verification.known_failures`: expected one of `refuse`, `allow`, found the text `allowed`; did you mean `allow`?");
    assert_snapshot!(mistakes("claude:\n  permission_mode: bypassPermissions\n"), @"ralph.yaml:2:20: `claude.permission_mode`: expected one of `bypass`, `default`, `acceptEdits`, `dontAsk`, `plan`, found the text `bypassPermissions`; did you mean `bypass`?");
    assert_snapshot!(mistakes("git:\n  commit_types: {ui: feature}\n"), @"ralph.yaml:2:22: `git.commit_types.ui`: expected one of `feat`, `fix`, `chore`, found the text `feature`; did you mean `feat`?");
}

#[test]
fn a_value_without_meaning_is_refused() {
    assert_snapshot!(mistakes("agent: Gemini 3\n"), @"ralph.yaml:1:8: `agent`: unknown agent `Gemini 3`; expected a name such as `claude` or `pi`, `script:FILE` or `command:PROGRAM`");
    assert_snapshot!(mistakes("agent: {name: mine, dialect: codex}\n"), @"ralph.yaml:1:8: `agent`: the key `command` is missing");
    assert_snapshot!(mistakes("agent: {name: mine, command: [x], dialect: codex, modle: y}\n"), @"ralph.yaml:1:51: unknown key `agent.modle`; did you mean `agent.model`?");
    assert_snapshot!(mistakes("agent: [claude]\n"), @"ralph.yaml:1:8: `agent`: expected a text or a map with `name`, found a list");
    assert_snapshot!(mistakes("agent: script\n"), @"ralph.yaml:1:8: `agent`: a scripted agent needs its file: `script:FILE`");
    assert_snapshot!(mistakes("agent: 'command: '\n"), @"ralph.yaml:1:8: `agent`: a command agent needs its program: `command:PROGRAM`");
    assert_snapshot!(mistakes("claude:\n  command: []\n"), @"ralph.yaml:2:12: `claude.command`: expected a list of texts that is not empty, found an empty list");
    assert_snapshot!(mistakes("claude:\n  command: ['']\n"), @"ralph.yaml:2:12: `claude.command`: expected the name of a program first, found an empty word");
    assert_snapshot!(mistakes("verification:\n  commands: [[]]\n"), @"ralph.yaml:2:13: `verification.commands`: expected commands, found an empty one");
    assert_snapshot!(mistakes("verification:\n  format: [' ']\n"), @"ralph.yaml:2:11: `verification.format`: expected commands, found an empty one");
    assert_snapshot!(mistakes("safety:\n  protected_paths: ['a[']\n"), @"ralph.yaml:2:20: `safety.protected_paths`: bad glob pattern `a[`: unclosed character class; missing ']'");
    assert_snapshot!(mistakes("repo:\n  branch_prefix: 'my branch'\n"), @"ralph.yaml:2:18: `repo.branch_prefix`: `my branch` cannot begin the name of a git branch; `ralph/` can");
    assert_snapshot!(mistakes("tasks:\n  source: ''\n"), @"ralph.yaml:2:11: `tasks.source`: expected a text that is not empty or nothing, found an empty text");
}

#[test]
fn an_element_of_a_list_is_named_by_its_position() {
    assert_snapshot!(mistakes("prompt:\n  greps:\n    - patern: x\n"), @"ralph.yaml:3:7: unknown key `prompt.greps[0].patern`; did you mean `prompt.greps[0].pattern`?");
    assert_snapshot!(mistakes("prompt:\n  greps: [{pattern: x, paths: src}]\n"), @r#"ralph.yaml:2:31: `prompt.greps[0].paths`: expected a list of texts, found the text `src`; write ["src"]"#);
}

#[test]
fn broken_yaml_is_told_with_its_place() {
    assert_snapshot!(mistakes("loop:\n  max_iterations: 5\n  max_iterations: 6\n"), @"ralph.yaml:3:3: the key `max_iterations` is given twice");
    assert_snapshot!(mistakes("loop: {}\nloop: {}\n"), @"ralph.yaml:2:1: the key `loop` is given twice");
    assert_snapshot!(mistakes("loop: [\n"), @"ralph.yaml:1:7: not valid YAML: unclosed bracket '['");
    assert_snapshot!(mistakes("a: 1\n---\nb: 2\n"), @"ralph.yaml:3:1: expected one YAML document, found a second (`---`)");
    assert_snapshot!(mistakes("loop: &a {max_errors: *b}\n"), @"ralph.yaml:1:23: not valid YAML: alias references unknown anchor");
    assert_snapshot!(mistakes("loop:\n  max_errors: 1\n max_attempts: 2\n"), @"ralph.yaml:3:2: not valid YAML: while parsing a block mapping, did not find expected key");
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    assert_snapshot!(mistakes("claude:\n  env:\n    TOKEN: 12345678\n"), @"ralph.yaml:3:12: `claude.env.TOKEN`: expected a text, found a number; put it in quotes");
}

#[test]
fn every_mistake_of_every_layer_is_reported() {
    let errors = resolve(&Layers {
        user: file("user.yaml", "lop: {}\n"),
        project: file("ralph.yaml", "loop: {max_errors: 0}\nnope: 1\n"),
        env: env(&[
            ("RALPH_LOOP_MAX_ATTEMPTS", "many"),
            ("MAX_ITERATIONS", "-1"),
            ("RALPH_CLAUDE_ARGS", "[a"),
            ("RALPH_CLAUDE_COMMAND", "claude"),
        ]),
        flags: vec![
            FlagValue {
                key: "loop.max_minutes".into(),
                value: json!(0),
                flag: "--max-minutes".into(),
            },
            FlagValue {
                key: "loop.max_minuts".into(),
                value: json!(5),
                flag: "--set".into(),
            },
        ],
    })
    .unwrap_err();
    assert_snapshot!(errors.to_string(), @r#"
    user.yaml:1:1: unknown key `lop`; did you mean `loop`?
    ralph.yaml:1:20: `loop.max_errors`: expected a whole number of at least 1, found 0
    ralph.yaml:2:1: unknown key `nope`; `ralph config` lists the keys there are
    environment variable RALPH_CLAUDE_ARGS: not valid YAML: unclosed bracket '['
    environment variable MAX_ITERATIONS: `loop.max_iterations`: expected a whole number of at least 0, found -1
    environment variable RALPH_CLAUDE_COMMAND: `claude.command`: expected a list of texts that is not empty, found the text `claude`; write ["claude"]
    environment variable RALPH_LOOP_MAX_ATTEMPTS: `loop.max_attempts`: expected a whole number of at least 1, found the text `many`
    --max-minutes: `loop.max_minutes`: expected a number greater than 0 and at most 527040 or nothing, found 0
    --set: unknown key `loop.max_minuts`; did you mean `loop.max_minutes`?
    "#);
    assert!(matches!(
        errors.0[0].problem,
        ConfigProblem::UnknownKey { .. }
    ));
}
