//! An agent hands over to a fresh one: why, how, and that nothing is lost by it.

mod crashing;
mod limits;
mod real;
mod requests;

use serde_json::{Value, json};

use crate::support::{Project, story};

const QUICK: &str = "loop: {stop_grace_seconds: 1}\n";

/// Of a window of 200,000: nearly three quarters.
fn full() -> Value {
    json!({"do": "usage", "input": 1, "cacheCreation": 0, "cacheRead": 145_000})
}

fn prompt_to(file: &str) -> Value {
    json!({"do": "recordPrompt", "file": format!("{{{{HOME}}}}/{file}")})
}

fn run(command: &str) -> Value {
    json!({"do": "run", "command": command})
}

fn say(text: &str) -> Value {
    json!({"do": "say", "text": text})
}

fn heeds() -> Value {
    json!({"do": "awaitMessage"})
}

/// Writes half of its file with a full context, and wraps up when it is asked to.
fn wraps_up() -> Vec<Value> {
    vec![
        full(),
        run("echo half > half-$RALPH_TASK_ID.txt"),
        heeds(),
        say(
            "Stopped.\n\n<ralph>\nsummary: half is written\ndecisions:\n  - text files, no database\n\
             next: write the other half\nhandoff: context_threshold\n</ralph>",
        ),
    ]
}

/// Finds the half, and does the rest.
fn finishes() -> Vec<Value> {
    vec![
        prompt_to("prompt-{{RALPH_ITERATION}}"),
        run(
            "test -e half-$RALPH_TASK_ID.txt && rm half-$RALPH_TASK_ID.txt && echo x > $RALPH_TASK_ID.txt",
        ),
        say("Task {{RALPH_TASK_ID}} complete"),
    ]
}

/// What each iteration does.
fn scenario(iterations: &[Vec<Value>]) -> Value {
    let cases = (1..).zip(iterations);
    let cases = cases.map(|(n, actions)| json!({"iteration": n, "actions": actions}));
    json!({"cases": cases.collect::<Vec<_>>(), "default": finishes()})
}

fn one_task(iterations: &[Vec<Value>]) -> Project {
    Project::with_stories(&[story("A")])
        .config(QUICK)
        .claude(&scenario(iterations))
}

impl Project {
    fn prompt_of(&self, iteration: u32) -> String {
        let path = self.repo.home().join(format!("prompt-{iteration}"));
        std::fs::read_to_string(path).unwrap()
    }

    fn iteration(&self, n: u32) -> Value {
        let text = self.repo.read(format!(".ralph/logs/iteration-{n}.json"));
        serde_json::from_str(&text).unwrap()
    }

    /// `status.json` of the only loop.
    fn loop_status(&self) -> Value {
        let loops = std::fs::read_dir(self.repo.data_dir().join("ralph-loops")).unwrap();
        let mut loops: Vec<_> = loops.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(loops.len(), 1, "{loops:?}");
        let text = std::fs::read_to_string(loops.remove(0).join("status.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn checkpoints(&self) -> Vec<Value> {
        let output = self
            .ralph(&["checkpoint", "list", "--json"])
            .output()
            .unwrap();
        let list: Value = serde_json::from_slice(&output.stdout).unwrap();
        list["checkpoints"].as_array().unwrap().clone()
    }
}

#[test]
fn an_agent_whose_context_is_nearly_full_is_asked_to_wrap_up_and_a_fresh_one_goes_on() {
    let project = one_task(&[wraps_up()]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"]);
    let asked = ran.one("handoff_asked");
    assert_eq!(
        (&asked["iteration"], &asked["task"], &asked["trigger"]),
        (&json!(1), &json!("A"), &json!("context_threshold"))
    );
    assert_eq!(
        asked["sentence"],
        "72 % of its context are in use (145001 of 200000 tokens), more than 70 %"
    );
    let nudges: Vec<_> = ran
        .named("agent")
        .into_iter()
        .filter(|e| e["kind"] == "nudge")
        .collect();
    let states: Vec<_> = nudges.iter().map(|n| n["state"].clone()).collect();
    assert_eq!(states, ["sent", "delivered"]);
    let text = nudges[0]["text"].as_str().unwrap();
    assert!(
        text.contains("more than 70 %.") && text.contains("\nnext: "),
        "{text}"
    );

    let started = ran.named("iteration_started");
    assert_eq!(
        (&started[0]["attempt"], &started[1]["attempt"]),
        (&json!(1), &json!(1))
    );
    let first = project.iteration(1);
    assert_eq!(first["runs"][0]["ending"], json!({"how": "finished"}));
    assert_eq!(first["verdict"], "handoff");
    assert_eq!(first["trigger"], "context_threshold");

    let prompt = project.prompt_of(2);
    for part in [
        "## Handoff from Iteration 1\n\n**Phase:** handoff\n**Last Agent:** claude\n**Checkpoint:** ",
        "### Pending\n- A Write A\n",
        "### Key Decisions\n- text files, no database\n",
        "Go on with task A. Last time: handed over: its context was nearly full.\n",
        "It handed over: 72 % of its context are in use (145001 of 200000 tokens), more than 70 %.\n",
        "It said what is next: write the other half\n",
        "The files of that attempt are in the working tree, uncommitted. Go on from them.",
        "half-A.txt",
    ] {
        assert!(prompt.contains(part), "{part:?} in {prompt}");
    }
    let checkpoints = project.checkpoints();
    let handoff = checkpoints.iter().find(|c| c["iteration"] == 1).unwrap();
    assert_eq!(
        (&handoff["phase"], &handoff["trigger"]),
        (&json!("handoff"), &json!("handoff"))
    );
    let status = project.loop_status();
    assert_eq!(status["config"]["context_threshold"], 0.7);
    assert_eq!(
        status["iterations"][0]["handoff_trigger"],
        "context_threshold"
    );
    assert_eq!(status["iterations"][1]["handoff_trigger"], "");
    assert_eq!(status["state"], "completed");
}

#[test]
fn an_agent_that_goes_on_all_the_same_is_ended_when_it_has_had_its_turn() {
    let ignores = vec![
        full(),
        run("echo half > half-A.txt"),
        heeds(),
        run("true"),
        json!({"do": "hang"}),
    ];
    let project = one_task(&[ignores]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"]);
    let ending = &project.iteration(1)["runs"][0]["ending"];
    assert_eq!(
        *ending,
        json!({"how": "handed_off", "trigger": "context_threshold"})
    );
    let prompt = project.prompt_of(2);
    assert!(prompt.contains("## Handoff from Iteration 1"), "{prompt}");
    let first = &project.loop_status()["iterations"][0];
    assert_eq!(first["phase"], "handoff");
    project.assert_nothing_alive();
}

#[test]
fn exactly_at_the_threshold_nobody_is_asked() {
    let at = json!({"do": "usage", "input": 0, "cacheCreation": 0, "cacheRead": 140_000});
    let actions = vec![
        at,
        run("echo x > A.txt"),
        run("true"),
        say("Task A complete"),
    ];
    let ran = one_task(&[actions]).run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert!(ran.named("handoff_asked").is_empty());
}

#[test]
fn an_agent_that_is_about_to_end_is_not_disturbed() {
    let actions = vec![run("echo x > A.txt"), full(), say("Task A complete")];
    let ran = one_task(&[actions]).run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert!(ran.named("handoff_asked").is_empty());
}

#[test]
fn one_that_claims_when_it_is_asked_is_verified_as_always() {
    let claims = |file: &str| {
        let write = format!("echo x > {file}");
        vec![full(), run(&write), heeds(), say("Task A complete")]
    };
    let right = one_task(&[claims("A.txt")]);
    assert_eq!(right.run(&[]).expect(0).verdicts(), ["A verified"]);
    // A claim is no evidence.
    let wrong = one_task(&[claims("wrong.txt")]).env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let ran = wrong.run(&["--max-iterations", "1"]);
    assert_eq!(ran.verdicts(), ["A failed"], "{}", ran.all());
}

#[test]
fn steps_that_fail_again_and_again_are_handed_over_with_their_names() {
    let mut fails = vec![run("echo half > half-A.txt")];
    fails.extend((1..=4).map(|n| run(&format!("make-it-work {n}; false"))));
    fails.extend([
        heeds(),
        say("I do not know.\n<ralph>\nsummary: nothing works\n</ralph>"),
    ]);
    let project = one_task(&[fails]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"]);
    let asked = ran.one("handoff_asked");
    assert_eq!(asked["trigger"], "error_threshold");
    assert_eq!(asked["sentence"], "3 of its steps in a row failed");
    let prompt = project.prompt_of(2);
    let named = "It handed over: 3 of its steps in a row failed, the last of them: \
                 Bash make-it-work 4; false; Bash make-it-work 3; false; Bash make-it-work 2; false.";
    assert!(prompt.contains(named), "{prompt}");
}

#[test]
fn three_tasks_land_with_a_handoff_in_the_middle() {
    let done = |id: &str| {
        let write = format!("echo x > {id}.txt");
        vec![run(&write), say(&format!("Task {id} complete"))]
    };
    let project = Project::with_stories(&[story("A"), story("B"), story("C")])
        .config(QUICK)
        .claude(&json!({"cases": [
            {"task": "A", "actions": done("A")},
            {"task": "C", "actions": done("C")},
            {"task": "B", "iteration": 2, "actions": wraps_up()},
        ], "default": finishes()}));
    let ran = project.run(&[]).expect(0);
    let verdicts = ["A verified", "B handoff", "B verified", "C verified"];
    assert_eq!(ran.verdicts(), verdicts);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    assert_eq!(project.leftovers(), [""; 0]);
}

/// Every file with its mode and content.
const LOOK: &str = "find . -path ./.git -prune -o -path ./.ralph -prune -o \\( -type f -o -type l \\) \
                    -print0 | sort -z | xargs -0 stat -c '%n %a %F' && \
                    find . -path ./.git -prune -o -path ./.ralph -prune -o -type f -print0 | sort -z | xargs -0 sha256sum";

#[test]
fn the_fresh_agent_finds_every_file_as_the_old_one_left_it() {
    let leaves = vec![
        full(),
        run(
            "printf 'a\\0b' > bytes.bin; mkdir -p deep/er; echo '#!/bin/sh' > deep/er/tool; chmod 755 deep/er/tool; \
             rm gone.txt; echo more >> kept.txt; chmod 644 was-executable; ln -s kept.txt link; \
             : > empty; echo cache > build.out; echo half > half-A.txt",
        ),
        run(&format!("({LOOK}) > $HOME/left")),
        heeds(),
        say("Stopped."),
    ];
    let mut goes_on = vec![run(&format!("({LOOK}) > $HOME/found"))];
    goes_on.extend(finishes());
    let project = Project::with_stories(&[story("A")])
        .in_place()
        .config(QUICK);
    project
        .repo
        .file("gone.txt", "x\n")
        .file("kept.txt", "y\n")
        .file(".gitignore", "*.out\n");
    project.repo.file("was-executable", "z\n");
    let path = project.repo.path("was-executable");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    project.repo.commit("files");
    std::fs::write(project.repo.path("mine.out"), "a person's, ignored\n").unwrap();
    let project = project.claude(&scenario(&[leaves, goes_on]));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"]);
    let read = |name: &str| std::fs::read_to_string(project.repo.home().join(name)).unwrap();
    let (left, found) = (read("left"), read("found"));
    assert_eq!(left, found);
    for line in [
        "./bytes.bin 644 regular file\n",
        "./deep/er/tool 755 regular file\n",
        "./was-executable 644 regular file\n",
        "./link 777 symbolic link\n",
        "./empty 644 regular empty file\n",
        "./build.out 644 regular file\n",
        "./mine.out 644 regular file\n",
    ] {
        assert!(found.contains(line), "{line:?} in {found}");
    }
    assert!(!found.contains("gone.txt"), "{found}");
}

#[test]
fn a_step_towards_a_goal_that_is_handed_over_is_kept_and_does_not_land() {
    let mut wraps_up = wraps_up();
    wraps_up[1] = run("echo half > half.txt");
    let project = Project::new().config(QUICK);
    let project = project.claude(&json!({
        "cases": [{"iteration": 1, "actions": wraps_up}],
        "default": [
            prompt_to("prompt-{{RALPH_ITERATION}}"),
            run("mv half.txt whole.txt"),
            say("<promise>DONE</promise>"),
        ],
    }));
    let args = ["loop", "Write whole.txt", "--json", "--agent", "claude"];
    let ran = crate::support::Live::start(project.ralph(&args))
        .wait()
        .expect(0);
    let verdicts: Vec<_> = ran.named("iteration_ended");
    let verdicts: Vec<_> = verdicts
        .iter()
        .map(|e| e["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["handoff", "unverified"]);
    assert_eq!(project.landed().len(), 1);
    assert!(project.prompt_of(2).contains("## Handoff from Iteration 1"));
}

#[test]
fn what_git_ignores_is_there_for_the_agent_that_goes_on() {
    let mut first = wraps_up();
    first.insert(1, run("mkdir -p cache && echo warm > cache/built"));
    let mut second = finishes();
    second.insert(1, run("cat cache/built > $RALPH_TASK_ID.seen"));
    let project = Project::with_stories(&[story("A")])
        .config(QUICK)
        .env("RALPH_WORKSPACE_MODE", "overlay")
        .claude(&scenario(&[first, second]));
    project.repo.file(".gitignore", "cache/\n").commit("ignore");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"]);
    assert_eq!(project.repo.read("A.seen"), "warm\n");
    assert!(!project.repo.exists("cache"));
    assert!(!project.repo.exists("half-A.txt"));
}
