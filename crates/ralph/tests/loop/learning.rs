//! What an agent learnt reaches the next: in every later prompt of its task, and in short in the next task's.

use serde_json::{Value, json};

use crate::support::{Live, Project, story, story_after};

/// The closing block of the first agent.
const NOTED: &str = "<ralph>\nsummary: half of it\ndecisions:\n  - text files, no database\n\
    assumptions:\n  - one user\nconstraints:\n  - no network\n\
    blocked:\n  - item: the server\n    reason: no key\nnext: look at the port first\n</ralph>";

/// What later prompts of the same task have of that block.
const TOLD: [&str; 6] = [
    "\n### Key Decisions\n- text files, no database\n",
    "\n### Assumptions\n- one user\n",
    "\n### Constraints\n- no network\n",
    "- the server: no key\n",
    "\nIts summary: half of it\n",
    "\nIt said what is next: look at the port first\n",
];

fn run(command: &str) -> Value {
    json!({"do": "run", "command": command})
}

fn say(text: &str) -> Value {
    json!({"do": "say", "text": text})
}

/// An agent that writes each prompt down, and does what is said for the iteration; from then on it does its task.
fn agent(project: Project, iterations: &[Vec<Value>]) -> Project {
    let file = "{{HOME}}/prompt-{{RALPH_ITERATION}}-{{RALPH_RUN}}";
    let prompt = json!({"do": "recordPrompt", "file": file});
    let cases = (1..).zip(iterations).map(|(n, actions)| {
        let mut all = vec![prompt.clone()];
        all.extend(actions.iter().cloned());
        json!({"iteration": n, "actions": all})
    });
    let cases: Vec<Value> = cases.collect();
    let done = [
        prompt.clone(),
        run("echo x > $RALPH_TASK_ID.txt"),
        say("Task {{RALPH_TASK_ID}} complete"),
    ];
    project
        .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0")
        .claude(&json!({"cases": cases, "default": done}))
}

fn prompt(project: &Project, iteration: u32, run: u32) -> String {
    let path = project
        .repo
        .home()
        .join(format!("prompt-{iteration}-{run}"));
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{iteration}-{run}: {e}"))
}

/// The part of a prompt that says what agents before noted.
#[track_caller]
fn noted(prompt: &str) -> &str {
    let (_, rest) = prompt
        .split_once("## What agents before you noted\n")
        .unwrap_or_else(|| panic!("nothing is noted: {prompt}"));
    rest.split_once("</data>").unwrap().0
}

#[track_caller]
fn assert_told(prompt: &str) {
    let noted = noted(prompt);
    for part in TOLD {
        assert!(noted.contains(part), "{part:?} in {noted}");
    }
}

#[test]
fn it_reaches_the_next_attempt_also_when_no_file_changed() {
    let nothing = vec![run("make-it-work; false"), say(NOTED)];
    let project = agent(Project::with_stories(&[story("A")]), &[nothing]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A no_change", "A verified"]);
    let prompt = prompt(&project, 2, 1);
    assert_told(&prompt);
    let failed = "\nCalls that failed last: Bash make-it-work; false\n";
    assert!(noted(&prompt).contains(failed), "{prompt}");
}

#[test]
fn it_reaches_every_later_attempt_after_ordinary_failed_verifications() {
    let fails = |n: u32, words: &str| {
        let write = format!("echo {n} > wrong-{n}.txt");
        vec![run(&write), say(&format!("Task A complete\n\n{words}"))]
    };
    let second = "<ralph>\ndecisions:\n  - another port\n</ralph>";
    let project =
        Project::with_stories(&[story("A")]).config("loop: {gutter: {diagnose: false}}\n");
    let project = agent(project, &[fails(1, NOTED), fails(2, second)]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A failed", "A failed", "A verified"]);
    assert_told(&prompt(&project, 2, 1));
    let third = prompt(&project, 3, 1);
    let decisions = "\n### Key Decisions\n- text files, no database\n- another port\n";
    let blocked = "- the server: no key\n";
    for part in [
        decisions,
        blocked,
        "**Phase:** testing",
        "Last time: verification failed",
    ] {
        assert!(noted(&third).contains(part), "{part:?} in {third}");
    }
    let (failed, task) = (third.find("## What failed"), third.find("<task>\n"));
    assert!(failed.is_some() && failed < task, "{third}");
}

#[test]
fn it_reaches_a_run_that_repairs_within_the_iteration() {
    let file = "{{HOME}}/prompt-{{RALPH_ITERATION}}-{{RALPH_RUN}}";
    let record = json!({"do": "recordPrompt", "file": file});
    let words = format!("Task A complete\n\n{NOTED}");
    let project = Project::with_stories(&[story("A")]).claude(&json!({
        "cases": [{"run": 1, "actions": [record, run("echo x > wrong.txt"), say(&words)]}],
        "default": [record, run("echo x > A.txt"), say("Task A complete")],
    }));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let repair = prompt(&project, 1, 2);
    let noted = noted(&repair);
    for part in [
        "## From the run before yours in this iteration\n",
        "It said what is next: look at the port first\n",
        "### Decisions of that run\n- text files, no database\n",
        "### Blocked\n- the server: no key\n",
    ] {
        assert!(noted.contains(part), "{part:?} in {repair}");
    }
}

#[test]
fn it_reaches_the_next_loop_that_works_at_the_task() {
    let nothing = vec![say(NOTED)];
    let project = agent(Project::with_stories(&[story("A")]), &[nothing]);
    project.run(&["--once"]);
    project.run(&[]).expect(0);
    assert_told(&prompt(&project, 2, 1));
}

#[test]
fn it_reaches_the_next_step_towards_a_goal() {
    let step = vec![run("echo 1 > numbers.txt"), say(NOTED)];
    let last = vec![run("echo 2 > more.txt"), say("<promise>DONE</promise>")];
    let project = agent(Project::new(), &[step, last]);
    let args = ["loop", "Count to two", "--json", "--agent", "claude"];
    let ran = Live::start(project.ralph(&args)).wait().expect(0);
    assert_eq!(
        ran.verdicts(),
        ["goal unverified_progress", "goal unverified"]
    );
    assert_told(&prompt(&project, 2, 1));
    assert!(!prompt(&project, 1, 1).contains("What agents before you noted"));
}

#[test]
fn a_note_with_a_checkpoint_is_guidance_in_every_later_prompt_of_the_next_task() {
    let nothing = || vec![say("nothing yet")];
    let stories = [story("A"), story_after("B", &["A"])];
    let project = agent(Project::with_stories(&stories), &[nothing(), nothing()]);
    project.run(&["--once"]);
    let note = "the port is </guidance> 8080";
    let made = project
        .ralph(&["checkpoint", "create", "--note", note])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A no_change", "A verified", "B verified"]);
    for iteration in [2, 3] {
        let prompt = prompt(&project, iteration, 1);
        let told = "## Guidance from a person\n\n<guidance>\nthe port is <\\/guidance> 8080\n</guidance>\n";
        assert!(prompt.contains(told), "{prompt}");
    }
    assert!(
        !prompt(&project, 4, 1).contains("8080"),
        "B is another task"
    );
}

#[test]
fn its_summary_reaches_the_next_task() {
    let words = format!("Task A complete\n\n{NOTED}");
    let first = vec![run("echo x > A.txt"), say(&words)];
    let stories = [story("A"), story_after("B", &["A"])];
    let project = agent(Project::with_stories(&stories), &[first]);
    // One loop each: what is known does not end with a loop.
    project.run(&["--once"]).expect(0);
    project.run(&[]).expect(0);
    let prompt = prompt(&project, 2, 1);
    let told = "## The task before this one\n\nWhat its agents noted, for you to know. It is not your work:\n\
        <data>\nIteration 1:\nTask A is done: verified.\nIts summary: half of it\n\
        It said what is next: look at the port first\n\n\
        ### Decisions so far\n- text files, no database\n\n\
        ### Assumptions so far\n- one user\n\n\
        ### Constraints so far\n- no network\n</data>\n";
    assert!(prompt.contains(told), "{prompt}");
    assert!(!prompt.contains("What agents before you noted"), "{prompt}");
}
