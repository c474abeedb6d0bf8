//! Two cuts, one behind the other, while an agent takes its time to stop: every pair of them ends, and nothing is
//! lost by it.

use std::process::Child;

use rustix::process::Signal;

use crate::support::{Live, Project, story, wait_until};

/// A way to end the agent that works now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    PauseNow,
    Stop,
    Terminate,
    CtrlC,
    Sigterm,
}

const ALL: [Cut; 5] = [
    Cut::PauseNow,
    Cut::Stop,
    Cut::Terminate,
    Cut::CtrlC,
    Cut::Sigterm,
];

impl Cut {
    /// Cuts; a command from another terminal goes on until it has its answer.
    fn make(self, project: &Project, live: &Live) -> Option<Child> {
        match self {
            Self::PauseNow => Some(project.order(&["pause", "--now"])),
            Self::Stop => {
                project.told(&["stop", "--no-wait"]);
                None
            }
            Self::Terminate => Some(project.order(&["intervene", "terminate"])),
            Self::CtrlC => {
                live.signal(Signal::INT);
                None
            }
            Self::Sigterm => {
                live.signal(Signal::TERM);
                None
            }
        }
    }

    /// The exit code of a loop that this ends.
    fn code(self) -> Option<i32> {
        match self {
            Self::Stop | Self::Sigterm => Some(143),
            Self::CtrlC => Some(130),
            Self::PauseNow | Self::Terminate => None,
        }
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
    let project = obeys_late();
    let mut live = project.start(&[]);
    super::begun(&mut live);
    let one = first.make(&project, &live);
    wait_until("the agent is asked to stop", || {
        project.outside("asked").exists()
    });
    let other = second.make(&project, &live);
    let code = if let (Some(_), Some(code)) = (first.code(), second.code()) {
        // Asked twice, ralph goes at once and does not wait for its agent.
        code
    } else {
        let is_row = |cut: Cut| usize::from(matches!(cut, Cut::PauseNow | Cut::Terminate));
        // A choice that was followed is answered already.
        let queued = is_row(second) + usize::from(first == Cut::PauseNow);
        arrived(&project, &mut live, queued);
        project.go();
        let pauses = [first, second].contains(&Cut::PauseNow);
        match first.code().or(second.code()) {
            Some(code) => code,
            None if pauses => {
                wait_until("the loop pauses", || {
                    !project.status()["loop"]["pausedAt"].is_null()
                });
                project.told(&["resume"]);
                0
            }
            None => 0,
        }
    };
    let ran = live.wait().expect(code);
    project.assert_nothing_alive();
    for (cut, order) in [(first, one), (second, other)] {
        let Some(order) = order else { continue };
        let output = order.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // No agent is left that could be terminated a second time, or after a stop.
        let may_be_late = cut == Cut::Terminate && output.status.code() == Some(2);
        assert!(output.status.success() || may_be_late, "{cut:?}: {said}");
    }
    if code == 0 {
        assert_eq!(ran.verdicts().len(), 2, "{:?}", ran.verdicts());
    } else {
        assert!(project.landed().is_empty());
        project.go();
        project.run(&[]).expect(0);
    }
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(
        project.files_of("HEAD"),
        ["A.txt", "half.txt", "prd.json"],
        "what the first agent had done is gone on with"
    );
}

fn ends_whatever_follows(first: Cut) {
    for second in ALL {
        ends(first, second);
    }
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
fn any_cut_after_ctrl_c_ends() {
    ends_whatever_follows(Cut::CtrlC);
}

#[test]
fn any_cut_after_sigterm_ends() {
    ends_whatever_follows(Cut::Sigterm);
}
