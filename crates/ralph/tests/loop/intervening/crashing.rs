//! Kill -9 anywhere between a command and its effect: it is not lost, and it is done once.

use std::process::Stdio;

use ralph_engine::failpoint::OF_COMMANDS;
use rustix::process::Signal;
use serde_json::json;

use super::{begun, said, scratch, waits_for_go};
use crate::support::{Project, good_script, story};

fn skipped_once(project: &Project, id: &str) {
    let story = project.story_in_file(id);
    assert_eq!(story["skipped"], true);
    let notes = story["notes"].as_str().unwrap();
    assert_eq!(notes.matches("Skipped by").count(), 1, "{notes}");
    let subject = format!("chore: skip {id}");
    let commits = project.subjects();
    assert_eq!(
        commits.iter().filter(|s| **s == subject).count(),
        1,
        "{commits:?}"
    );
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_command_that_died_half_way_is_finished_by_the_next_one_and_by_the_next_run() {
    for point in OF_COMMANDS {
        for next in [&["say", "hello"][..], &["run"][..]] {
            let (project, _) = scratch();
            let mut skip = project.ralph(&["skip", "--task", "A", "--reason", "x"]);
            skip.env("RALPH_FAILPOINT", point).env("USER", "ann");
            let died = skip.stdout(Stdio::null()).status().unwrap();
            assert!(!died.success(), "{point}");
            match next {
                ["run"] => {
                    let ran = project.run(&[]).expect(0);
                    assert_eq!(ran.verdicts(), ["B verified"]);
                    assert_eq!(ran.one("commanded")["command"], "skip");
                }
                other => drop(project.told(other)),
            }
            skipped_once(&project, "A");
        }
    }
}

#[test]
fn a_loop_that_dies_while_it_obeys_does_so_once_when_it_goes_on() {
    for point in OF_COMMANDS {
        let project = waits_for_go(Project::with_stories(&[story("A"), story("B")]));
        let mut command = project.run_command(&[]);
        command.env("RALPH_FAILPOINT", point);
        let mut live = crate::support::Live::start(command);
        begun(&mut live);
        let skip = project.order(&["skip", "--task", "B", "--reason", "x"]);
        project.go();
        // Whoever typed it obeys, once the loop is gone.
        let done = said(skip.wait_with_output().unwrap());
        assert_eq!(done, "B is skipped: x; prd.json is committed\n", "{point}");
        assert_eq!(live.wait().code(), -9);
        skipped_once(&project, "B");
        project.run(&[]).expect(0);
        skipped_once(&project, "B");
        assert_eq!(project.landed(), ["A"]);
    }
}

#[test]
fn a_command_to_a_loop_that_is_killed_waits_for_the_next_run() {
    let project = waits_for_go(Project::with_stories(&[story("A"), story("B")]));
    let mut live = project.start(&[]);
    begun(&mut live);
    let skip = project.order(&["skip", "--task", "B", "--reason", "x", "--json"]);
    live.signal(Signal::KILL);
    live.wait();
    let queued: serde_json::Value =
        serde_json::from_str(&said(skip.wait_with_output().unwrap())).unwrap();
    assert_eq!(
        queued,
        json!({
            "id": 1, "command": "skip", "state": "queued",
            "sentence": "queued: an interrupted iteration has to be finished first",
            "hint": "`ralph run` does both",
        })
    );
    assert_eq!(project.story_in_file("B").get("skipped"), None);
    let ran = project.script(&good_script()).run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A interrupted", "A verified"]);
}

#[test]
fn a_pause_that_nobody_was_there_to_obey_does_not_pause_the_next_run() {
    let project = waits_for_go(Project::with_stories(&[story("A")]));
    let mut live = project.start(&[]);
    begun(&mut live);
    project.told(&["pause"]);
    live.signal(Signal::KILL);
    live.wait();
    project.go();
    project.run(&[]).expect(0);
}

#[test]
fn an_amendment_that_died_half_way_is_made_once_and_remembers_what_stood_there() {
    let ask = "<escalate type=\"stuck\"><question>Which?</question></escalate>";
    for (point, next) in OF_COMMANDS
        .into_iter()
        .flat_map(|p| [(p, "say"), (p, "run")])
    {
        let script = json!({"default": [{"do": [{"say": ask}]}]});
        let project = Project::with_stories(&[story("A")]).script(&script);
        project.run(&[]).expect(4);
        let mut answer = project.ralph(&["answer", "--retry", "--amend", "better"]);
        answer.env("RALPH_FAILPOINT", point).env("USER", "ann");
        let died = answer.stdout(Stdio::null()).status().unwrap();
        assert!(!died.success(), "{point}");
        let project = project.script(&good_script());
        match next {
            "say" => drop(project.told(&["say", "hello"])),
            _ => drop(project.run(&[]).expect(0)),
        }
        let story = project.story_in_file("A");
        assert_eq!(story["acceptanceCriteria"], json!(["better"]), "{point}");
        let notes = story["notes"].as_str().unwrap();
        assert_eq!(notes.matches("amended by").count(), 1, "{notes}");
        let asked = project.told(&["escalations", "--all", "--json"]);
        let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
        assert_eq!(
            asked["questions"][0]["answer"]["amended"],
            json!({"before": "A.txt is there", "after": "better"}),
            "{point}: {asked}"
        );
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"]);
    }
}
