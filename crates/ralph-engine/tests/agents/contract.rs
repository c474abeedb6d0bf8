//! The contract that every agent keeps: what happens to it has one right ending, and nothing of it is
//! alive afterwards.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::agent::{AgentEvent, Ending, FINAL_MESSAGE_BYTES, NudgeState};
use ralph_engine::supervisor::{RunDeadline, RunLimits};

use crate::{
    support::{Live, Ran, Scene, kill_root, limits, marked, read, wait_until},
    who::{Case, RESETS_AT, Who},
};

/// A run with a mark in its environment, by which its processes are known.
struct Marked {
    scene: Scene,
    live: Live,
    marker: String,
}

impl Marked {
    fn start(who: Who, case: Case, limits: RunLimits) -> Self {
        let (scene, agent, mut env) = who.play(case);
        let marker = format!("contract-{}", scene.unique());
        env.push(("RALPH_RUN_ID".into(), marker.clone()));
        let live = scene.start(agent, env, "Do the task T1.", limits);
        Self {
            scene,
            live,
            marker: format!("RALPH_RUN_ID={marker}"),
        }
    }

    /// Its end, when nothing of it is alive any more.
    fn end(self) -> (Scene, Ran) {
        let ran = self.live.join();
        let alive = marked(&self.marker);
        assert_eq!(alive, Vec::<String>::new(), "{:#?}", ran.report);
        (self.scene, ran)
    }

    /// Waits until its tool runs.
    fn wait_for_tool(&mut self) {
        let waiting = self.scene.repo().join("waiting");
        wait_until("the tool runs", || waiting.exists());
        self.live
            .wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
    }

    fn let_go(&self) {
        std::fs::write(self.scene.repo().join("go"), "").unwrap();
    }
}

fn completes(who: Who) {
    let (scene, ran) = Marked::start(who, Case::Completes, limits()).end();
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    assert_eq!(ran.report.final_message, "Task T1 complete");
    assert_eq!(read(&scene.repo().join("done.txt")), "hello");
    if who != Who::Fake {
        assert!(scene.model.requests()[0].is_fresh());
        assert!(ran.report.usage.input_tokens > 0 && ran.report.usage.output_tokens > 0);
        assert!(ran.report.usage.cost_usd.is_some_and(|cost| cost > 0.0));
        assert_eq!(ran.report.context.turns.len(), 2);
    }
}

fn fails(who: Who) {
    let (_, ran) = Marked::start(who, Case::Fails, limits()).end();
    assert!(
        matches!(&ran.report.ending, Ending::Api { message } if message.contains("bad request")),
        "{:#?}",
        ran.report
    );
}

fn hangs(who: Who) {
    let patience = RunLimits {
        idle: Duration::from_secs(6),
        ..limits()
    };
    let (scene, ran) = Marked::start(who, Case::Hangs, patience).end();
    assert_eq!(ran.report.ending, Ending::Silent { minutes: 0 });
    if who != Who::Fake {
        assert_eq!(scene.model.requests().len(), 1, "its model was asked");
    }
}

fn floods(who: Who) {
    let (scene, ran) = Marked::start(who, Case::Floods, limits()).end();
    assert_eq!(ran.report.ending, Ending::Finished);
    // The log has its own cap, and all of it was needed.
    assert!(scene.logged() > 2_900_000, "{}", scene.logged());
    let kept = ran.report.final_message.len();
    match who {
        Who::Fake => assert_eq!(ran.report.final_message, "Task T1 complete"),
        Who::Claude | Who::Pi => assert!(
            kept > FINAL_MESSAGE_BYTES - 8 && kept <= FINAL_MESSAGE_BYTES,
            "{kept}"
        ),
    }
}

fn is_nudged(who: Who) {
    let mut run = Marked::start(who, Case::WaitsInATool, limits());
    run.wait_for_tool();
    run.live.nudge("Mind the gap.");
    run.live.wait_for("nudge that is sent", |e| {
        matches!(e, AgentEvent::Nudge { state: NudgeState::Sent, text } if text == "Mind the gap.")
    });
    run.let_go();
    let (scene, ran) = run.end();
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    let delivered = ran.events.iter().any(|e| {
        matches!(
            e,
            AgentEvent::Nudge {
                state: NudgeState::Delivered,
                ..
            }
        )
    });
    assert!(delivered, "{:#?}", ran.events);
    if who != Who::Fake {
        let requests = scene.model.requests();
        assert!(!requests[0].text().contains("Mind the gap."));
        assert!(requests[1].text().contains("Mind the gap."));
    }
}

fn is_stopped(who: Who) {
    let mut run = Marked::start(who, Case::WaitsInATool, limits());
    run.wait_for_tool();
    run.live.stop();
    let (_, ran) = run.end();
    assert_eq!(ran.report.ending, Ending::Stopped);
    if who != Who::Fake {
        assert!(ran.report.usage.input_tokens > 0, "what it used till then");
    }
}

fn hits_a_limit(who: Who) {
    let (_, ran) = Marked::start(who, Case::HitsALimit, limits()).end();
    let resets_at = match who {
        Who::Fake | Who::Claude => Some(Timestamp::from_second(RESETS_AT).unwrap()),
        Who::Pi => None,
    };
    assert_eq!(ran.report.ending, Ending::Limit { resets_at });
}

fn loses_its_network(who: Who) {
    let (scene, ran) = Marked::start(who, Case::LosesItsNetwork, limits()).end();
    assert!(
        matches!(ran.report.ending, Ending::Overloaded { .. }),
        "{:#?}",
        ran.report
    );
    assert!(scene.repo().join("done.txt").exists(), "it had begun");
}

fn dies_by_a_signal(who: Who) {
    let mut run = Marked::start(who, Case::WaitsInATool, limits());
    run.wait_for_tool();
    kill_root(&run.marker);
    let (_, ran) = run.end();
    assert!(
        matches!(ran.report.ending, Ending::Interrupted { .. }),
        "{:#?}",
        ran.report
    );
}

fn leaves_a_grandchild(who: Who) {
    let (scene, ran) = Marked::start(who, Case::LeavesAGrandchild, limits()).end();
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    assert!(scene.repo().join("done.txt").exists());
}

fn is_out_of_time(who: Who) {
    let soon = std::time::Instant::now() + Duration::from_secs(8);
    let limits = RunLimits {
        deadline: Some(RunDeadline {
            at: soon,
            minutes: 7,
        }),
        ..limits()
    };
    let mut run = Marked::start(who, Case::WaitsInATool, limits);
    run.wait_for_tool();
    let (_, ran) = run.end();
    assert_eq!(ran.report.ending, Ending::TimedOut { minutes: 7 });
}

macro_rules! contract {
    ($($agent:ident: $who:expr),+ $(,)?) => {
        $(mod $agent {
            use super::*;

            #[test]
            fn completes_a_task() { completes($who); }
            #[test]
            fn fails_with_its_api() { fails($who); }
            #[test]
            fn hangs_and_is_ended() { hangs($who); }
            #[test]
            fn floods_and_is_read() { floods($who); }
            #[test]
            fn is_nudged_while_it_runs() { is_nudged($who); }
            #[test]
            fn is_stopped_while_it_runs() { is_stopped($who); }
            #[test]
            fn is_ended_when_its_time_is_up() { is_out_of_time($who); }
            #[test]
            fn reaches_its_usage_limit() { hits_a_limit($who); }
            #[test]
            fn has_no_network() { loses_its_network($who); }
            #[test]
            fn is_killed_from_outside() { dies_by_a_signal($who); }
            #[test]
            fn leaves_a_process_that_does_not_stay() { leaves_a_grandchild($who); }
        })+
    };
}

contract! {
    fake: Who::Fake,
    claude: Who::Claude,
    pi: Who::Pi,
}
