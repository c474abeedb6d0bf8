//! How their runs end when something goes wrong, and that nothing of them is alive afterwards.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use ralph_core::agent::{AgentEvent, Ending, NudgeState};
use ralph_engine::supervisor::RunLimits;

use super::{CODEX, GEMINI, OPENCODE, Other};
use crate::support::{LIMIT, Live, Ran, Scene, kill_root, limits, marked, wait_until};

fn failing(fault: &str) -> Scene {
    Scene::new(&format!(
        "conversations: [{{turns: [{{say: never, faults: [{{{fault}, repeat: forever}}]}}]}}]"
    ))
}

/// How it ends where its model's answers are a fault, and how often it asked.
fn end(other: &Other, fault: &str) -> (Ending, usize) {
    let scene = failing(fault);
    let ran = scene.run(other.agent(), other.env(&scene), "Do the thing.");
    assert_eq!(ran.report.final_message, "");
    (ran.report.ending, scene.model.requests().len())
}

fn has_a_refused_key(other: &Other) {
    let (ending, requests) = end(other, "status: 401, message: no such key");
    let told = matches!(&ending, Ending::Auth { message } if message.contains("no such key"));
    assert!(told, "{ending:?}");
    assert!(requests <= 3, "it asked {requests} times");
}

fn asks_what_is_refused(other: &Other) {
    let (ending, _) = end(other, "status: 400, message: bad request");
    let told = matches!(&ending, Ending::Api { message } if message.contains("bad request"));
    assert!(told, "{ending:?}");
}

#[test]
fn codex_at_its_usage_limit_says_until_when() {
    let limit = "usage_limit: {resets_at: 1894733640, type: five_hour}";
    let (ending, _) = end(&CODEX, limit);
    let resets_at = Some(Timestamp::from_second(1_894_733_640).unwrap());
    // Codex tells the minute, in the zone of the machine, which is ours.
    assert_eq!(ending, Ending::Limit { resets_at });
}

#[test]
fn gemini_at_the_quota_of_its_day_is_at_its_limit() {
    let limit = "usage_limit: {resets_at: 1894733640, type: five_hour}";
    let (ending, _) = end(&GEMINI, limit);
    assert_eq!(ending, Ending::Limit { resets_at: None });
}

fn asks_too_often(other: &Other) {
    let (ending, requests) = end(other, "status: 429, retry_after: 0");
    assert_eq!(ending.outcome(), "overloaded", "{ending:?}");
    assert!(requests > 1, "it asks again before it gives up");
}

#[test]
fn codex_that_is_asked_to_wait_gives_up_as_overloaded() {
    asks_too_often(&CODEX);
}

#[test]
fn opencode_that_is_asked_to_wait_gives_up_as_overloaded() {
    asks_too_often(&OPENCODE);
}

/// Its server fails, it asks again, and its stream has no word of it.
fn asks_in_silence(other: &Other) {
    let scene = failing("status: 500");
    let patience = RunLimits {
        idle: Duration::from_secs(25),
        ..limits()
    };
    let live = scene.start(other.agent(), other.env(&scene), "Do the thing.", patience);
    let _ = scene.model.wait_for_requests(2, LIMIT);
    assert_eq!(live.join().report.ending, Ending::Silent { minutes: 0 });
}

#[test]
fn opencode_whose_server_fails_is_ended_by_the_limit_of_silence() {
    asks_in_silence(&OPENCODE);
}

#[test]
fn gemini_whose_server_fails_is_ended_by_the_limit_of_silence() {
    asks_in_silence(&GEMINI);
}

/// A run whose tool waits, with a mark in its environment by which its processes are known.
struct Waiting {
    scene: Scene,
    live: Live,
    marker: String,
}

impl Waiting {
    fn start(other: &Other) -> Self {
        let scene = Scene::new(
            "conversations:\n- turns:\n  - tools: [{bash: \"touch waiting; while [ ! -e go ]; do sleep 0.05; done\"}]\n  - say: Task T1 complete\n",
        );
        let marker = format!("others-{}", scene.unique());
        let mut env = other.env(&scene);
        env.push(("RALPH_RUN_ID".into(), marker.clone()));
        let live = scene.start(other.agent(), env, "Do the thing.", limits());
        let waiting = scene.repo().join("waiting");
        wait_until("the tool runs", || waiting.exists());
        Self {
            scene,
            live,
            marker: format!("RALPH_RUN_ID={marker}"),
        }
    }

    /// Its end, when nothing of it is alive any more.
    fn end(self) -> Ran {
        let ran = self.live.join();
        let alive = marked(&self.marker);
        assert_eq!(alive, Vec::<String>::new(), "{:#?}", ran.report);
        ran
    }
}

fn is_stopped(other: &Other) {
    let run = Waiting::start(other);
    let began = Instant::now();
    run.live.stop();
    assert_eq!(run.end().report.ending, Ending::Stopped);
    // Sooner than the grace between one signal and the next: the polite one was enough.
    assert!(began.elapsed() < limits().grace);
}

fn is_killed_from_outside(other: &Other) {
    let run = Waiting::start(other);
    kill_root(&run.marker);
    let ending = run.end().report.ending;
    assert_eq!(ending.outcome(), "interrupted", "{ending:?}");
}

fn is_nudged(other: &Other) {
    let mut run = Waiting::start(other);
    run.live.nudge("Mind the gap.");
    run.live.wait_for("nudge that is not possible", |e| {
        matches!(
            e,
            AgentEvent::Nudge {
                state: NudgeState::Impossible,
                ..
            }
        )
    });
    std::fs::write(run.scene.repo().join("go"), "").unwrap();
    assert_eq!(run.end().report.ending, Ending::Finished);
}

macro_rules! each {
    ($($agent:ident: $other:expr),+ $(,)?) => {
        $(mod $agent {
            use super::*;

            #[test]
            fn with_a_refused_key_ends_as_that_and_soon() { has_a_refused_key(&$other); }
            #[test]
            fn with_a_bad_request_ends_as_an_error_of_the_api() { asks_what_is_refused(&$other); }
            #[test]
            fn that_is_stopped_leaves_nothing_alive() { is_stopped(&$other); }
            #[test]
            fn that_is_killed_from_outside_is_interrupted() { is_killed_from_outside(&$other); }
            #[test]
            fn cannot_be_told_anything_and_that_is_said() { is_nudged(&$other); }
        })+
    };
}

each! {
    codex: CODEX,
    opencode: OPENCODE,
    gemini: GEMINI,
}
