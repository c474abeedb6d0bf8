//! The circuit breaker of a loop: opens, stops or waits, tries one, closes or opens again.

use serde_json::{Value, json};

use crate::support::{Project, Ran, good_script, story};

/// Two failures of the last four open it.
const TWO: &str = "loop: {max_errors: 99, max_attempts: 9, max_no_progress: 99}\n";

fn opens_after_two(more: &str) -> String {
    format!("{TWO}breaker: {{failures: 2, window: 4{more}}}\n")
}

/// An agent that fails so often, then does its task.
fn fails(project: Project, times: u32) -> Project {
    let count = project.outside("count").display().to_string();
    project.command(&format!(
        "cat > /dev/null; echo x >> {count}\n\
         if [ $(wc -l < {count}) -le {times} ]; then echo no >&2; exit 3; fi\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\""
    ))
}

fn breaker(ran: &Ran) -> Vec<String> {
    let events = ran.named("breaker");
    let states = events
        .iter()
        .map(|e| e["state"].as_str().unwrap().to_owned());
    states.collect()
}

fn project(more: &str) -> Project {
    Project::with_stories(&[story("A")]).config(&opens_after_two(more))
}

#[test]
fn it_stops_the_loop_and_whoever_starts_it_again_sees_one_tried() {
    let project = fails(project(""), 2);
    let ran = project.run(&[]).expect(7);
    assert_eq!(ran.verdicts().len(), 2);
    assert_eq!(breaker(&ran), ["open"]);
    let stop = ran.stop();
    assert_eq!(
        (&stop["why"], &stop["failures"]),
        (&json!("circuit_breaker_open"), &json!(2))
    );
    let until: jiff::Timestamp = stop["until"].as_str().unwrap().parse().unwrap();
    let ended = ran.one("loop_ended");
    let sentence = ended["sentence"].as_str().unwrap();
    assert!(
        sentence.ends_with(&format!("it lets one through at {until}")),
        "{sentence}"
    );

    // Nothing runs, and the breaker is shown all the same.
    let shown = project.health();
    assert_eq!(shown["loops"], json!([]));
    let open = &shown["here"]["breaker"];
    assert_eq!(
        [&open["state"], &open["failures"], &open["of"]],
        [&json!("open"), &json!(2), &json!(2)]
    );
    let said: jiff::Timestamp = open["until"].as_str().unwrap().parse().unwrap();
    assert_eq!(said.as_second(), until.as_second());
    let last = shown["here"]["events"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["event"], &last["state"]),
        (&json!("breaker"), &json!("open"))
    );
    let text = project.ralph(&["health"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.starts_with("no loop is running here\n"), "{text}");
    assert!(text.contains("  breaker  open for another "), "{text}");
    assert!(
        text.contains(": 2 of the last 2 iterations failed; `ralph run` tries one at once\n"),
        "{text}"
    );

    let ran = project.run(&[]).expect(0);
    assert_eq!(breaker(&ran), ["half_open", "closed"]);
    let said = ran.named("breaker")[0]["sentence"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        said.contains("2 of the last 2 iterations failed; now one is tried"),
        "{said}"
    );
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn a_trial_that_fails_opens_it_again_at_once() {
    let project = fails(project(""), 99);
    project.run(&[]).expect(7);
    let ran = project.run(&[]).expect(7);
    assert_eq!(breaker(&ran), ["half_open", "open"]);
    assert_eq!(ran.verdicts().len(), 1);
}

#[test]
fn it_may_be_waited_for() {
    let project = fails(project(", on_open: wait, cooldown_minutes: 0.03"), 3);
    let ran = project.run(&[]).expect(0);
    // The first trial fails, the second does not.
    assert_eq!(
        breaker(&ran),
        ["open", "half_open", "open", "half_open", "closed"]
    );
    let waits = ran.named("waiting");
    let reasons: Vec<&Value> = waits.iter().map(|e| &e["reason"]).collect();
    assert_eq!(reasons, ["breaker", "breaker"]);
    assert_eq!(ran.verdicts().len(), 4);
}

#[test]
fn failed_verifications_do_not_open_it() {
    let mut never = story("A");
    never["verify"] = json!(["false"]);
    let project = Project::with_stories(&[never])
        .config(&format!(
            "{}  \n",
            opens_after_two("").replace("max_attempts: 9", "max_attempts: 3")
        ))
        .script(&good_script());
    let ran = project.run(&[]).expect(4);
    assert_eq!(breaker(&ran), [""; 0]);
}
