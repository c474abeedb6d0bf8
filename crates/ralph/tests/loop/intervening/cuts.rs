//! Two cuts, one behind the other, while an agent takes its time to stop: every pair of them ends, and nothing is
//! lost by it.

use std::process::Child;

use rustix::process::Signal;

use crate::support::{Live, Project, story, wait_until};

/// Something that is asked of a loop while an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    PauseNow,
    Stop,
    Terminate,
    Handoff,
    CtrlC,
    Sigterm,
    Hangup,
    /// These end no agent, and must not be in the way of what does.
    Pause,
    Resume,
    Say,
    SayNow,
}

/// Those that end the agent that works now.
const CUTS: [Cut; 7] = [
    Cut::PauseNow,
    Cut::Stop,
    Cut::Terminate,
    Cut::Handoff,
    Cut::CtrlC,
    Cut::Sigterm,
    Cut::Hangup,
];
/// Everything that may follow.
const ALL: [Cut; 11] = [
    Cut::PauseNow,
    Cut::Stop,
    Cut::Terminate,
    Cut::Handoff,
    Cut::CtrlC,
    Cut::Sigterm,
    Cut::Hangup,
    Cut::Pause,
    Cut::Resume,
    Cut::Say,
    Cut::SayNow,
];

impl Cut {
    /// Cuts; a command from another terminal goes on until it has its answer.
    fn make(self, project: &Project, live: &Live) -> Option<Child> {
        let signal = |signal| {
            live.signal(signal);
            None
        };
        match self {
            Self::PauseNow => Some(project.order(&["pause", "--now"])),
            Self::Stop => {
                project.told(&["stop", "--no-wait"]);
                None
            }
            Self::Terminate => Some(project.order(&["intervene", "terminate"])),
            Self::Handoff => Some(project.order(&["intervene", "handoff"])),
            Self::CtrlC => signal(Signal::INT),
            Self::Sigterm => signal(Signal::TERM),
            Self::Hangup => signal(Signal::HUP),
            Self::Pause => Some(project.order(&["pause"])),
            Self::Resume => Some(project.order(&["resume"])),
            Self::Say => Some(project.order(&["say", "Mind the gap."])),
            Self::SayNow => Some(project.order(&["say", "--now", "Mind the gap."])),
        }
    }

    /// The exit code of a loop that this ends.
    fn code(self) -> Option<i32> {
        match self {
            Self::Stop | Self::Sigterm => Some(143),
            Self::CtrlC => Some(130),
            Self::Hangup => Some(129),
            Self::PauseNow
            | Self::Terminate
            | Self::Handoff
            | Self::Pause
            | Self::Resume
            | Self::Say
            | Self::SayNow => None,
        }
    }

    /// Says whether the loop is to pause, or not to.
    fn pauses(self) -> Option<bool> {
        match self {
            Self::PauseNow | Self::Pause => Some(true),
            Self::Resume => Some(false),
            _ => None,
        }
    }

    /// Tells whether it stays in the queue until the iteration has ended, where an agent is being ended already.
    fn waits_behind(self) -> bool {
        matches!(
            self,
            Self::PauseNow | Self::Terminate | Self::Handoff | Self::SayNow
        )
    }
}

/// Says when it is asked to stop, and obeys once the file `go` is there; the agent after it does the task.
fn obeys_late() -> Project {
    let project = Project::with_stories(&[story("A")]).config("loop:\n  stop_grace_seconds: 100\n");
    let (go, asked) = (project.outside("go"), project.outside("asked"));
    project.command(&format!(
        "if [ -e {go} ]; then echo x > A.txt; echo 'Task A complete'; exit; fi\n\
         trap 'echo x > {asked}' TERM INT; echo half > half.txt; echo begun\n\
         while [ ! -e {go} ]; do sleep 0.02; done",
        go = go.display(),
        asked = asked.display(),
    ))
}

/// Waits until a command is in the queue, and until the loop has said that it still listens.
fn arrived(project: &Project, live: &mut Live, rows: usize) {
    wait_until("the commands are in the queue", || {
        crate::reverting::beside::waiting(project) >= rows
    });
    let say = project.order(&["say", "Use tabs, please."]);
    while live.wait_for("commanded")["command"] != "say" {}
    super::said(say.wait_with_output().unwrap());
}

fn ends(first: Cut, second: Cut) {
    let how = format!("{first:?}, {second:?}");
    let project = obeys_late();
    let mut live = project.start(&[]);
    super::begun(&mut live);
    let one = first.make(&project, &live);
    wait_until("the agent is asked to stop", || {
        project.outside("asked").exists()
    });
    let other = second.make(&project, &live);
    let (code, ends_in_order) = if let (Some(_), Some(code)) = (first.code(), second.code()) {
        // Asked twice, ralph goes at once and does not wait for its agent.
        (code, false)
    } else {
        // A choice that was followed is answered already.
        let queued = usize::from(second.waits_behind()) + usize::from(first == Cut::PauseNow);
        arrived(&project, &mut live, queued);
        project.go();
        let pauses = second.pauses().or(first.pauses());
        let code = first.code().or(second.code());
        if code.is_none() && pauses == Some(true) {
            wait_until("the loop pauses", || {
                !project.status()["loop"]["pausedAt"].is_null()
            });
            project.told(&["resume"]);
        }
        (code.unwrap_or(0), true)
    };
    let ran = live.wait();
    assert_eq!(ran.code(), code, "{how}: {}", ran.all());
    project.assert_nothing_alive();
    let ended = ran.named("loop_ended");
    assert_eq!(ended.len(), usize::from(ends_in_order), "{how}");
    for event in ended {
        assert_eq!(event["exitCode"], code, "{how}");
    }
    for (cut, order) in [(first, one), (second, other)] {
        let Some(order) = order else { continue };
        let output = order.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // No agent is left that could be ended a second time, or after a stop.
        let may_be_late = matches!(cut, Cut::Terminate | Cut::Handoff);
        let is_late = may_be_late && output.status.code() == Some(2);
        assert!(output.status.success() || is_late, "{how}: {cut:?}: {said}");
    }
    if code == 0 {
        assert_eq!(ran.verdicts().len(), 2, "{how}: {:?}", ran.verdicts());
    } else {
        assert!(project.landed().is_empty(), "{how}");
        project.go();
        project.run(&[]).expect(0);
    }
    assert_eq!(project.landed(), ["A"], "{how}");
    assert_eq!(
        project.files_of("HEAD"),
        ["A.txt", "half.txt", "prd.json"],
        "{how}: what the first agent had done is gone on with"
    );
}

/// All that can follow a cut, at once: each has a loop of its own.
fn ends_whatever_follows(first: Cut) {
    std::thread::scope(|scope| {
        for half in ALL.chunks(ALL.len().div_ceil(2)) {
            scope.spawn(move || half.iter().for_each(|second| ends(first, *second)));
        }
    });
}

#[test]
fn any_cut_after_pause_now_ends() {
    ends_whatever_follows(Cut::PauseNow);
}

#[test]
fn any_cut_after_stop_ends() {
    ends_whatever_follows(Cut::Stop);
}

#[test]
fn any_cut_after_terminate_ends() {
    ends_whatever_follows(Cut::Terminate);
}

#[test]
fn any_cut_after_a_handoff_ends() {
    ends_whatever_follows(Cut::Handoff);
}

#[test]
fn any_cut_after_ctrl_c_ends() {
    ends_whatever_follows(Cut::CtrlC);
}

#[test]
fn any_cut_after_sigterm_ends() {
    ends_whatever_follows(Cut::Sigterm);
}

#[test]
fn any_cut_after_a_hangup_ends() {
    ends_whatever_follows(Cut::Hangup);
}

/// A command that ends no agent comes first: one that does works behind it as if it were alone.
#[test]
fn what_ends_no_agent_is_not_in_the_way_of_a_cut() {
    let quiet = ALL.into_iter().filter(|cut| !CUTS.contains(cut));
    for first in quiet {
        for second in [Cut::PauseNow, Cut::Sigterm] {
            let how = format!("{first:?}, {second:?}");
            let project = obeys_late();
            let mut live = project.start(&[]);
            super::begun(&mut live);
            super::said(
                first
                    .make(&project, &live)
                    .unwrap()
                    .wait_with_output()
                    .unwrap(),
            );
            let other = second.make(&project, &live);
            wait_until("the agent is asked to stop", || {
                project.outside("asked").exists()
            });
            project.go();
            if let Some(order) = other {
                super::said(order.wait_with_output().unwrap());
                project.told(&["resume"]);
            }
            let code = second.code().unwrap_or(0);
            let ran = live.wait();
            assert_eq!(ran.code(), code, "{how}: {}", ran.all());
            assert_eq!(ran.one("loop_ended")["exitCode"], code, "{how}");
            project.assert_nothing_alive();
        }
    }
}
