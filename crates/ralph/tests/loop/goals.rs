//! `ralph loop "GOAL"`: until the promise is made and the commands pass, and never on one of them alone.

use ralph_engine::failpoint;
use serde_json::{Value, json};

use crate::support::{Live, Project, Ran, every_second};

const GOAL: &str = "Count to three in numbers.txt";

/// An agent that does the next of these each time it is started, and the last one from then on.
fn steps(project: Project, steps: &[&str]) -> Project {
    let count = project.outside("count");
    let cases: String = steps
        .iter()
        .enumerate()
        .map(|(i, step)| format!("{}) {step} ;;\n", i + 1))
        .collect();
    let last = steps.last().unwrap();
    let shell = format!(
        "cat > {prompt}.$$; n=$(($(cat {count} 2>/dev/null || echo 0) + 1)); echo $n > {count}\n\
         mv {prompt}.$$ {prompt}-$n\n\
         case $n in\n{cases}*) {last} ;;\nesac",
        prompt = project.outside("prompt").display(),
        count = count.display(),
    );
    project.command(&shell)
}

/// `numbers.txt` must have no line but numbers; there must be one.
fn counting() -> Project {
    Project::new().config(
        "verification:\n  commands:\n    - '! grep -qv \"^[0-9]$\" numbers.txt'\nloop:\n  max_verify_retries: 0\n",
    )
}

fn go(project: &Project, args: &[&str]) -> Ran {
    let agent = format!("command:{}", project.outside("agent.sh").display());
    let mut all = vec!["loop", GOAL, "--json", "--agent", &agent];
    all.extend(args);
    Live::start(project.ralph(&all)).wait()
}

fn subjects(project: &Project) -> Vec<String> {
    project.repo.log_subjects()
}

#[test]
fn each_verified_step_lands_and_the_promise_ends_it() {
    let project = steps(
        counting(),
        &[
            "echo 1 >> numbers.txt; echo 'one is there'",
            "echo 2 >> numbers.txt; echo 'Task goal complete'",
            "echo 3 >> numbers.txt; echo '<promise>COUNTED</promise>'",
        ],
    );
    let ran = go(&project, &["--completion-promise", "COUNTED"]).expect(0);
    assert_eq!(
        ran.verdicts(),
        ["goal progress", "goal progress", "goal verified"]
    );
    assert_eq!(project.repo.git(["show", "HEAD:numbers.txt"]), "1\n2\n3");
    assert_eq!(project.landed(), ["goal", "goal", "goal"]);
    assert_eq!(
        project.repo.branch(),
        "refs/heads/ralph/count-to-three-in-numbers-txt"
    );
    assert_eq!(ran.stop(), json!({"why": "all_complete"}));
    assert_eq!(project.leftovers(), [""; 0]);
    let id = ran.one("loop_started")["loopId"].clone();
    let folder = project.repo.data_dir().join("ralph-loops");
    let status = folder.join(id.as_str().unwrap()).join("status.json");
    let status: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(status).unwrap()).unwrap();
    assert_eq!(status["task_id"], "goal", "the one task that there is");
    // What its checkpoints say as well: verified steps, and then all of it.
    let phases = status["iterations"].as_array().unwrap().iter();
    let phases: Vec<&serde_json::Value> = phases.map(|one| &one["phase"]).collect();
    assert_eq!(phases, ["testing", "testing", "complete"]);
    // The same prompt each time, but for what the agents before noted.
    let prompt = |n: u32| std::fs::read_to_string(project.outside(&format!("prompt-{n}"))).unwrap();
    for n in [2, 3] {
        let prompt_n = prompt(n);
        let (before, noted) = prompt_n
            .split_once("\n## What agents before you noted\n")
            .unwrap();
        let (noted, after) = noted.split_once("</data>\n").unwrap();
        assert_eq!(format!("{before}{after}"), prompt(1));
        assert!(
            noted.contains(&format!("## Handoff from Iteration {}", n - 1)),
            "{noted}"
        );
    }
    assert!(prompt(1).contains(GOAL) && prompt(1).contains("<promise>COUNTED</promise>"));
}

#[test]
fn a_promise_that_comes_too_early_is_not_believed_and_the_loop_goes_on() {
    let project = steps(
        counting(),
        &[
            "echo one >> numbers.txt; echo '<promise>DONE</promise>'",
            "echo 1 > numbers.txt; echo '<promise>DONE</promise>'",
        ],
    );
    let ran = go(&project, &[]).expect(0);
    assert_eq!(ran.verdicts(), ["goal failed", "goal verified"]);
    assert_eq!(project.repo.git(["show", "HEAD:numbers.txt"]), "1");
    assert_eq!(subjects(&project).len(), 3, "{:?}", subjects(&project));
}

#[test]
fn a_promise_alone_is_nothing_but_after_progress_it_needs_no_change() {
    let project = steps(
        counting(),
        &[
            "echo '<promise>DONE</promise>'",
            "echo 1 >> numbers.txt",
            "echo nothing more",
            "echo '<promise>DONE</promise>'",
        ],
    );
    let ran = go(&project, &[]).expect(0);
    assert_eq!(
        ran.verdicts(),
        [
            "goal no_change",
            "goal progress",
            "goal no_change",
            "goal verified"
        ]
    );
    assert_eq!(project.landed(), ["goal"]);
}

#[test]
fn another_promise_is_not_this_one() {
    let project = steps(
        counting(),
        &["echo x$RANDOM$$ | tr -dc 1-9 | cut -c1 >> numbers.txt; echo '<promise>done</promise>'"],
    );
    let ran = go(&project, &["--max-iterations=2"]).expect(3);
    assert_eq!(ran.verdicts(), ["goal progress", "goal progress"]);
    assert_eq!(ran.stop(), json!({"why": "iterations", "max": 2}));
}

#[test]
fn a_limit_ends_it_with_work_left_and_resume_goes_on_with_the_same_goal() {
    let project = steps(
        counting(),
        &[
            "echo 1 >> numbers.txt",
            "echo 2 >> numbers.txt; echo '<promise>ALL THREE</promise>'",
        ],
    );
    let promise = ["--completion-promise=ALL  THREE", "--max-iterations", "1"];
    let ran = go(&project, &promise).expect(3);
    let id = ran.one("loop_started")["loopId"]
        .as_str()
        .unwrap()
        .to_owned();
    let agent = format!("command:{}", project.outside("agent.sh").display());
    let more = ["--max-iterations", "1"];
    let args = [&["resume", &id, "--json", "--agent", &agent][..], &more].concat();
    let text = project.told(&args);
    assert!(text.contains("\"all_complete\""), "{text}");
    assert_eq!(project.repo.git(["show", "HEAD:numbers.txt"]), "1\n2");
    let listed: Value = serde_json::from_str(&project.told(&["loops", "--json"])).unwrap();
    let seen: Vec<_> = listed["loops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| {
            (
                l["goal"].as_str().unwrap(),
                l["state"].as_str().unwrap(),
                l["verified"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(seen, [(GOAL, "completed", 1), (GOAL, "terminated", 1)]);
}

#[test]
fn without_verify_commands_it_completes_as_unverified_and_says_so() {
    let project = steps(
        Project::new(),
        &["echo 1 > numbers.txt; echo '<promise>DONE</promise>'"],
    );
    let ran = go(&project, &[]).expect(0);
    assert_eq!(ran.one("landed")["unverified"], true);
    let body = project.repo.git(["log", "-1", "--format=%b"]);
    assert!(
        body.contains("Unverified: no verify command is configured"),
        "{body}"
    );
}

#[test]
fn an_agent_that_never_gets_anywhere_is_stopped() {
    let project = steps(counting(), &["echo thinking"]);
    let ran = go(&project, &[]).expect(7);
    assert_eq!(ran.stop(), json!({"why": "no_progress", "iterations": 3}));
}

#[test]
fn what_can_be_no_goal_is_refused() {
    let project = counting();
    for (args, text) in [
        (&["loop", " "][..], "the goal is empty"),
        (
            &["loop", "x", "--completion-promise", "<b>"][..],
            "a promise can't have '<' in it",
        ),
        (&["loop", "x", "--task", "A"][..], "a goal has no task list"),
    ] {
        let error = project.refused(args);
        assert!(error.contains(text), "{error}");
    }
}

/// Adds the next number; at three it makes the promise. What is there already is all that it goes by.
fn counts_on(project: Project) -> Project {
    project.command(
        "cat > /dev/null; n=$(cat numbers.txt 2>/dev/null | wc -l)\n\
         [ $n -lt 3 ] && echo $((n + 1)) >> numbers.txt\n\
         [ $n -ge 2 ] && echo '<promise>DONE</promise>'; true",
    )
}

/// Killed at this pass of this place, and started again.
fn killed_at(point: &str, pass: u32) {
    let how = format!("{point}:{pass}");
    let project = counts_on(counting());
    let agent = format!("command:{}", project.outside("agent.sh").display());
    let mut first = project.ralph(&["loop", GOAL, "--json", "--agent", &agent]);
    first.env("RALPH_FAILPOINT", &how);
    let died = Live::start(first).wait().code();
    // All that is verified lands here, nothing is kept, and a loop begins once.
    let is_passed = !matches!(
        (point, pass),
        ("attempt-taken-up" | "verified" | "kept", _) | ("loop-begun", 2)
    );
    assert_eq!(died, if is_passed { -9 } else { 0 }, "{how}");
    let ran = go(&project, &[]).expect(0);
    assert_eq!(
        project.repo.git(["show", "HEAD:numbers.txt"]),
        "1\n2\n3",
        "{how}"
    );
    assert_eq!(project.leftovers(), [""; 0], "{how}: {}", ran.all());
    let landed = project.landed();
    assert!(
        !landed.is_empty() && landed.iter().all(|task| task == "goal"),
        "{how}: {landed:?}"
    );
    let trailers = project.repo.git([
        "log",
        "--format=%(trailers:key=Ralph-Iteration,valueonly,separator=%x2C)",
    ]);
    let mut ids: Vec<&str> = trailers.lines().filter(|line| !line.is_empty()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{how}: no iteration landed twice");
    project.assert_nothing_alive();
}

#[test]
fn killed_in_its_first_iteration_it_reaches_the_goal_all_the_same() {
    for point in every_second(&failpoint::ALL, 0) {
        killed_at(point, 1);
    }
}

#[test]
fn killed_in_its_second_iteration_it_reaches_the_goal_all_the_same() {
    for point in every_second(&failpoint::ALL, 1) {
        killed_at(point, 2);
    }
}

#[test]
fn tasks_after_a_goal_that_was_cut_off_leave_its_steps_alone() {
    let project = counts_on(counting());
    let agent = format!("command:{}", project.outside("agent.sh").display());
    let mut first = project.ralph(&["loop", GOAL, "--json", "--agent", &agent]);
    first.env("RALPH_FAILPOINT", "committed");
    assert_eq!(Live::start(first).wait().code(), -9);
    let tasks = json!({"branchName": "ralph/other", "userStories": [{
        "id": "Z", "title": "Write Z", "verify": ["test -f Z.txt"], "passes": false,
    }]});
    project.repo.file("prd.json", tasks.to_string());
    let other = project.script(&json!({"default": [crate::support::good_attempt()]}));
    other.run(&["prd.json"]);
    let listed: Value = serde_json::from_str(&other.told(&["loops", "--json"])).unwrap();
    let goal = &listed["loops"][1];
    assert_eq!(
        (&goal["verified"], &goal["goal"]),
        (&json!(1), &json!(GOAL))
    );
}

#[test]
fn what_is_said_names_the_command_that_was_typed_and_the_one_that_goes_on() {
    let project = steps(counting(), &["echo 1 >> numbers.txt; echo 'one is there'"]);
    let agent = format!("command:{}", project.outside("agent.sh").display());
    let args = ["loop", GOAL, "--max-iterations", "1", "--agent", &agent];
    let ran = Live::start(project.ralph(&args)).wait().expect(3);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.starts_with("━━━ ralph loop ━"), "{text}");
    assert!(
        text.contains("`ralph resume --max-iterations N` goes on"),
        "{text}"
    );
    // And so it does, as far as it is asked to now.
    let args = ["resume", "--max-iterations", "2", "--agent", &agent];
    let ran = Live::start(project.ralph(&args)).wait().expect(3);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.starts_with("━━━ ralph loop ━"), "{text}");
    assert_eq!(project.repo.read("numbers.txt"), "1\n1\n1\n");
}
