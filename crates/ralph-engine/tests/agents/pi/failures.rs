//! How a run fails. Pi exits with 0 after all of these but the ones that never begin.

use ralph_core::agent::{AgentEvent, Ending};
use ralph_testkit::agents;

use super::{MODES, env, pi};
use crate::support::{Scene, agent};

/// Runs a turn in both modes; gives the ending, which is the same, and how often the model was asked.
fn ending(turn: &str) -> (Ending, usize) {
    let mut found = MODES.map(|mode| {
        let scene = Scene::new(&format!("conversations: [{{turns: [{turn}]}}]"));
        let ran = scene.run(pi(mode, ""), env(&scene), "Do the thing.");
        let result = ran.events.iter().rev().find_map(|event| match event {
            AgentEvent::Result(result) => Some(result.ok),
            _ => None,
        });
        let ok = ran.report.ending == Ending::Finished;
        assert_eq!(result, Some(ok), "{mode} {:#?}", ran.events);
        (ran.report.ending, scene.model.requests().len())
    });
    let [rpc, json] = &mut found;
    assert_eq!(rpc, json, "both modes tell the same");
    std::mem::replace(rpc, (Ending::Stopped, 0))
}

fn for_ever(fault: &str) -> String {
    format!("{{say: never, faults: [{{{fault}, repeat: forever}}]}}")
}

#[test]
fn a_server_that_fails_for_ever_is_overloaded_after_pis_own_retries() {
    for (fault, message) in [
        (
            "status: 429, retry_after: 1, message: slow down",
            "429 rate_limit_error: slow down",
        ),
        ("status: 500, message: broken", "500 api_error: broken"),
        (
            "sse_error: overloaded_error",
            "overloaded_error: Overloaded",
        ),
        ("refuse_connection: true", "Connection error."),
    ] {
        let message = message.into();
        assert_eq!(
            ending(&for_ever(fault)),
            (Ending::Overloaded { message }, 4),
            "{fault}"
        );
    }
}

#[test]
fn a_key_that_does_not_fit_is_asked_with_once() {
    let (end, requests) = ending(&for_ever("status: 401, message: invalid x-api-key"));
    let message = "401 authentication_error: invalid x-api-key".into();
    assert_eq!((end, requests), (Ending::Auth { message }, 1));
}

#[test]
fn a_model_that_is_not_there_is_rejected() {
    let (end, requests) = ending(&for_ever("status: 404, message: 'model: nope'"));
    let message = "404 not_found_error: model: nope".into();
    assert_eq!((end, requests), (Ending::Rejected { message }, 1));
}

#[test]
fn a_limit_that_is_used_up_is_a_limit() {
    let fault = "usage_limit: {resets_at: 1894733640, type: five_hour}";
    // Pi passes no header on, so that the time is not known.
    let (end, _) = ending(&for_ever(fault));
    assert_eq!(end, Ending::Limit { resets_at: None });
}

#[test]
fn a_prompt_that_is_too_long_is_an_error_of_the_api_though_nothing_is_printed() {
    let (end, requests) = ending(&for_ever("overflow: true"));
    let message =
        "400 invalid_request_error: prompt is too long: 205000 tokens > 200000 maximum".into();
    assert_eq!((end, requests), (Ending::Api { message }, 1));
}

#[test]
fn an_answer_that_is_cut_off_by_the_limit_of_tokens_is_an_error() {
    let (end, _) = ending("{say: Task T1 com, stop: max_tokens}");
    let message = "truncated: the model reached its limit of output tokens".into();
    assert_eq!(end, Ending::Error { message });
}

#[test]
fn a_refusal_is_one() {
    let (end, _) = ending("{say: no, stop: refusal}");
    let message = "The model refused to complete the request".into();
    assert_eq!(end, Ending::Refused { message });
}

#[test]
fn nothing_at_all_is_no_result_and_an_empty_end_of_work_is_a_finish() {
    let (end, _) = ending("{}");
    let message = "the model answered with nothing".into();
    assert_eq!(end, Ending::NoResult { message });
    let (end, _) = ending("{tools: [{bash: echo hi}]}, {}");
    assert_eq!(end, Ending::Finished);
}

#[test]
fn what_never_begins_is_told_in_pis_own_words() {
    let program = agents::pi();
    for mode in MODES {
        for (more, expected) in [
            (
                "model: nope/nothing",
                Ending::Rejected {
                    message: "Model \"nope/nothing\" not found. Use --list-models to see available models."
                        .into(),
                },
            ),
            (
                "model: anthropic/claude-sonnet-4-5",
                Ending::Auth {
                    message: "No API key found for anthropic.".into(),
                },
            ),
            (
                "args: [--no-such-option]",
                Ending::Unavailable {
                    message: "Unknown option: --no-such-option".into(),
                },
            ),
        ] {
            let scene = Scene::new("conversations: [{turns: [{say: hi}]}]");
            let pi = agent(
                "pi",
                &format!("pi:\n  command: [{program:?}]\n  mode: {mode}\n  {more}\n"),
            );
            let ran = scene.run(pi, env(&scene), "Do the thing.");
            assert_eq!(ran.report.ending, expected, "{mode} {more}");
            assert_eq!(scene.model.requests().len(), 0);
        }
    }
}
