//! `ralph logs --follow` beside a loop that runs.

use std::process::Command;

use rustix::process::Signal;

use crate::support::{Live, Project, story};

/// Says that it has begun, and goes on when something is written to the fifo of its task.
fn waits_for_a_word(project: Project) -> Project {
    for id in ["A", "B"] {
        let made = Command::new("mkfifo").arg(project.outside(id)).status();
        assert!(made.unwrap().success());
    }
    let fifo = project.outside("");
    project.command(&format!(
        "id=$(sed -n 's/.*Task \\([AB]\\) complete.*/\\1/p' | head -n 1)\n\
         echo \"begun $id\"; read word < {}$id; echo \"heard $word\"\n\
         echo x > $id.txt; echo \"Task $id complete\"",
        fifo.display()
    ))
}

fn tell(project: &Project, id: &str, word: &str) {
    // Opening it waits until the agent reads.
    std::fs::write(project.outside(id), format!("{word}\n")).unwrap();
}

#[track_caller]
fn read_until(follower: &mut Live, wanted: &str) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(line) = follower.next_line() {
        let line = String::from_utf8(line).unwrap();
        lines.push(line.trim_end().to_owned());
        if line.trim_end() == wanted {
            return lines;
        }
    }
    panic!("no {wanted:?} came: {lines:?}");
}

#[test]
fn a_follower_reads_along_from_one_iteration_to_the_next_and_ends_with_the_loop() {
    let project = waits_for_a_word(Project::with_stories(&[story("A"), story("B")]));
    let mut live = project.start(&[]);
    live.wait_for("iteration_started");
    let mut follower = Live::start(project.ralph(&["logs", "--follow"]));
    let lines = read_until(&mut follower, "begun A");
    assert_eq!(lines[0], "── iteration 1: A, attempt 1 ──");
    let prompts = lines.iter().filter(|line| *line == "== prompt of run 1");
    assert_eq!(prompts.count(), 1, "{lines:?}");
    // What is said now is read while the agent still runs.
    tell(&project, "A", "go");
    read_until(&mut follower, "heard go");
    read_until(&mut follower, "== verdict");
    let lines = read_until(&mut follower, "begun B");
    assert_eq!(lines[0], "verified");
    assert_eq!(lines[1], "── iteration 2: B, attempt 1 ──");
    // One that comes late begins with the last lines.
    let mut late = Live::start(project.ralph(&["logs", "-f", "--tail", "1"]));
    assert_eq!(
        read_until(&mut late, "begun B"),
        ["── iteration 2: B, attempt 1 ──", "begun B"]
    );
    late.signal(Signal::INT);
    assert_eq!(late.wait().code(), -Signal::INT.as_raw());
    tell(&project, "B", "on");
    live.wait().expect(0);
    let ran = follower.wait().expect(0);
    assert_eq!(ran.stderr(), "\nthe loop ended: all tasks are complete\n");
    let shown = String::from_utf8(ran.stdout).unwrap();
    for file in ["iteration-1.txt", "iteration-2.txt"] {
        let log = project.repo.read(format!(".ralph/logs/{file}"));
        assert!(shown.contains(log.trim_end()), "{file}: {shown}");
    }
}

#[test]
fn a_follower_of_a_killed_loop_ends_and_says_how_it_goes_on() {
    let project = waits_for_a_word(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    live.wait_for("iteration_started");
    let mut follower = Live::start(project.ralph(&["logs", "-f"]));
    read_until(&mut follower, "begun A");
    live.signal(Signal::KILL);
    live.wait().expect(-Signal::KILL.as_raw());
    let ran = follower.wait().expect(0);
    assert_eq!(
        ran.stderr(),
        "\nthe loop's process is gone; `ralph run` continues the loop\n"
    );
}
