//! How the real Claude Code ends, and what is made of it.

use std::time::Instant;

use ralph_core::agent::{AgentEvent, Ending};

use super::{WAITS, claude, env};
use crate::support::{LIMIT, Scene, limits};

fn ending(scenario: &str, more: &str) -> (Ending, Vec<AgentEvent>, Vec<String>) {
    let scene = Scene::new(scenario);
    let ran = scene.run(claude(more), env(&scene), "Do the thing.");
    (ran.report.ending, ran.events, ran.report.denied)
}

#[test]
fn its_own_limit_of_turns_is_an_ending_of_its_own() {
    let scenario = "conversations:\n- turns:\n  - tools: [{bash: echo one}]\n  - tools: [{bash: echo two}]\n  - say: Task T1 complete\n";
    let (ending, ..) = ending(scenario, "  max_turns: 1\n");
    let message = "Reached maximum number of turns (1)".to_owned();
    assert_eq!(ending, Ending::MaxTurns { message });
}

#[test]
fn its_own_limit_of_cost_is_an_ending_of_its_own() {
    let scenario = "conversations:\n- turns:\n  - tools: [{bash: echo one}]\n    usage: {input: 100000, output: 10000}\n  - say: Task T1 complete\n";
    let (ending, ..) = ending(scenario, "  args: [--max-budget-usd, \"0.01\"]\n");
    assert!(matches!(ending, Ending::Budget { .. }), "{ending:?}");
}

#[test]
fn a_refused_tool_is_shown_with_the_way_to_allow_it_and_the_run_goes_on() {
    let scenario = "conversations:\n- turns:\n  - tools: [{bash: touch made.txt}]\n  - say: Task T1 complete\n";
    let (first, _, denied) = ending(scenario, "  permission_mode: dontAsk\n");
    assert_eq!(first, Ending::Finished);
    assert_eq!(
        denied,
        ["Bash touch made.txt (to allow it: `Bash(touch:*)` in claude.allowed_tools)"]
    );
    let allowed = "  permission_mode: dontAsk\n  allowed_tools: [\"Bash(touch:*)\"]\n";
    let (second, _, denied) = ending(scenario, allowed);
    assert_eq!((second, denied), (Ending::Finished, Vec::new()));
}

#[test]
fn a_model_that_refuses_is_told_from_a_tool_that_is_refused() {
    let scenario = "conversations:\n- turns:\n  - say: I can't.\n    stop: refusal\n";
    let (ending, ..) = ending(scenario, "");
    assert!(matches!(ending, Ending::Refused { .. }), "{ending:?}");
}

#[test]
fn a_key_that_is_refused_ends_the_run_long_before_its_own_retries_do() {
    let scenario = "conversations:\n- turns:\n  - faults: [{status: 401, message: invalid x-api-key, repeat: forever}]\n";
    let began = Instant::now();
    let (ending, events, _) = ending(scenario, "");
    assert!(matches!(ending, Ending::Auth { .. }), "{ending:?}");
    assert!(events.iter().any(|e| matches!(e, AgentEvent::Retry { .. })));
    assert!(began.elapsed() < LIMIT);
}

#[test]
fn an_overload_that_passes_is_no_error() {
    let scenario = "conversations:\n- turns:\n  - faults: [{status: 529}, {status: 500}]\n    say: Task T1 complete\n";
    let (ending, events, _) = ending(scenario, "");
    assert_eq!(ending, Ending::Finished);
    let retries = events
        .iter()
        .filter(|e| matches!(e, AgentEvent::Retry { .. }))
        .count();
    assert_eq!(retries, 2);
}

#[test]
fn an_overload_that_stays_is_told_from_a_failure() {
    for fault in [
        "{status: 529, repeat: forever}",
        "{status: 500, repeat: forever}",
        "{status: 429, repeat: forever}",
    ] {
        let scenario = format!("conversations:\n- turns:\n  - faults: [{fault}]\n");
        let (ending, ..) = ending(&scenario, "  env: {CLAUDE_CODE_MAX_RETRIES: \"0\"}\n");
        assert!(
            matches!(ending, Ending::Overloaded { .. }),
            "{fault}: {ending:?}"
        );
    }
}

#[test]
fn a_stream_that_is_cut_is_asked_for_again() {
    let scenario =
        "conversations:\n- turns:\n  - faults: [{cut: mid_stream}]\n    say: Task T1 complete\n";
    let (ending, ..) = ending(scenario, "");
    assert_eq!(ending, Ending::Finished);
}

#[test]
fn a_prompt_that_is_too_long_is_an_error_of_the_api() {
    let scenario = "conversations:\n- turns:\n  - faults: [{overflow: true, repeat: forever}]\n";
    let (ending, ..) = ending(scenario, "");
    assert!(
        matches!(&ending, Ending::Api { message } if message.contains("too long")),
        "{ending:?}"
    );
}

#[test]
fn words_about_a_limit_in_a_file_that_it_reads_are_no_limit() {
    let scenario = "conversations:\n- turns:\n  - tools: [{bash: cat notes.txt}]\n  - say: \"The file says: You've hit your limit · resets 3pm (UTC). Task T1 complete\"\n";
    let scene = Scene::new(scenario);
    std::fs::write(
        scene.repo().join("notes.txt"),
        "You've hit your limit · resets 3pm (UTC)\n",
    )
    .unwrap();
    let ran = scene.run(claude(""), env(&scene), "Do the thing.");
    assert_eq!(ran.report.ending, Ending::Finished);
}

#[test]
fn a_run_that_is_stopped_has_what_it_used_till_then_counted_once() {
    let scenario = WAITS.replace(
        "  - say",
        "    usage: {input: 300, output: 40, cache_read: 5000, cache_write: 20}\n  - say",
    );
    let scene = Scene::new(&scenario);
    let mut live = scene.start(claude(""), env(&scene), "Do the thing.", limits());
    live.wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
    live.stop();
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Stopped);
    let usage = ran.report.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (300, 40));
    assert_eq!(
        (usage.cache_read_tokens, usage.cache_write_tokens),
        (5000, 20)
    );
    assert!(usage.cost_usd.is_some_and(|cost| cost > 0.0));
    assert_eq!(ran.report.context.turns, [5320]);
}

#[test]
fn what_a_subagent_uses_is_counted_and_not_twice() {
    let scenario = r#"
conversations:
- when: SUBTASK
  turns:
  - say: sub done
    usage: {input: 1000, output: 100}
- turns:
  - tools: [{call: {name: Agent, input: {description: sub, prompt: SUBTASK please, subagent_type: general-purpose}}}]
    usage: {input: 10, output: 1}
  - say: Task T1 complete
    usage: {input: 20, output: 2}
"#;
    let scene = Scene::new(scenario);
    let ran = scene.run(claude(""), env(&scene), "Do the thing.");
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    let usage = ran.report.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (1030, 103));
    assert_eq!(ran.report.context.turns, [10, 20], "its own turns alone");
}
