//! Work that goes round in circles: a diagnosis one step before a limit, then what the configuration says.

mod pausing;
mod restarting;

use serde_json::{Value, json};

use crate::support::{Project, story};

/// An agent that does `attempt` at an attempt and `diagnosis` at a diagnosis, both lines of shell; each
/// prompt is kept as `prompt-<iteration>`.
pub(crate) fn agent(project: Project, attempt: &str, diagnosis: &str) -> Project {
    let out = project.outside("prompt");
    let shell = format!(
        "cat > {out}-$RALPH_ITERATION\n\
         if [ $RALPH_PURPOSE = diagnosis ]; then\n{diagnosis}\nelse\n{attempt}\necho \"Task $RALPH_TASK_ID complete\"\nfi",
        out = out.display()
    );
    project.command(&shell)
}

pub(crate) fn prompt(project: &Project, iteration: u32) -> String {
    std::fs::read_to_string(project.outside(&format!("prompt-{iteration}"))).unwrap()
}

/// Adds a line to `a.txt`, which helps nobody.
pub(crate) const ADDS: &str = "echo x >> a.txt";

const DIAGNOSIS: &str = r#"echo 'The file is called A.txt, not a.txt.'
printf '%s\n' '<escalate type="stuck">' '<summary>names</summary>' '<options>' '1. Write A.txt' '2. Change the test' '</options>' '<question>Which name is right?</question>' '</escalate>'"#;

/// A story that fails in the same way whatever is done.
pub(crate) fn same_failure(config: &str) -> Project {
    Project::with_stories(&[story("A"), story("B")])
        .config(&format!("loop:\n  max_verify_retries: 0\n{config}"))
}

/// `a.txt` decides which of two commands fails: an agent that looks at one of them alone mends one and
/// breaks the other.
fn two_sided() -> Project {
    let mut story = story("A");
    story["verify"] = json!(["grep -q left a.txt", "grep -q right a.txt"]);
    Project::with_stories(&[story])
}

/// `left`, then `right`, then `left` again.
const BACK_AND_FORTH: &str =
    "if grep -q left a.txt 2>/dev/null; then echo right > a.txt; else echo left > a.txt; fi";

fn rules(ran: &crate::support::Ran) -> Vec<(String, String)> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let found = ran.named("gutter");
    let rules = found.iter().map(|e| (text(&e["rule"]), text(&e["then"])));
    rules.collect()
}

fn pair(rule: &str, then: &str) -> (String, String) {
    (rule.to_owned(), then.to_owned())
}

#[test]
fn the_same_failure_is_diagnosed_before_the_last_attempt_and_then_a_person_is_asked_with_what_was_found()
 {
    let project = agent(same_failure(""), ADDS, DIAGNOSIS);
    let ran = project.run(&["--task", "A"]).expect(4);
    assert_eq!(
        ran.verdicts(),
        ["A failed", "A failed", "A diagnosed", "A failed"]
    );
    let attempts: Vec<_> = ran
        .named("iteration_started")
        .iter()
        .map(|e| e["attempt"].clone())
        .collect();
    assert_eq!(attempts, [1, 2, 2, 3], "a diagnosis is no attempt");
    assert_eq!(
        rules(&ran),
        [
            pair("same_failure", "diagnose"),
            pair("same_failure", "ask")
        ]
    );

    let asked = prompt(&project, 3);
    assert!(
        asked.starts_with("# Find out why, and change nothing\n"),
        "{asked}"
    );
    assert!(
        asked.contains("`test -f A.txt` failed the same way 2 times in a row"),
        "{asked}"
    );
    assert!(
        asked.contains("iteration 2: verification failed: test -f A.txt\nit changed: a.txt"),
        "{asked}"
    );
    assert!(
        asked.contains("Change no file but `.ralph/diagnosis/A.md`"),
        "{asked}"
    );
    let told = prompt(&project, 4);
    assert!(told.contains("## A diagnosis was made\n"), "{told}");
    assert!(
        told.contains("The file is called A.txt, not a.txt."),
        "{told}"
    );
    assert!(!prompt(&project, 2).contains("A diagnosis was made"));

    let question = ran.one("question");
    assert_eq!(
        question["question"],
        "`test -f A.txt` failed the same way 3 times in a row: how to proceed?"
    );
    let escalation = &question["escalation"];
    assert_eq!(
        escalation["options"],
        json!(["Write A.txt", "Change the test"])
    );
    assert_eq!(escalation["question"], "Which name is right?");
    let context = escalation["context"].as_str().unwrap();
    assert!(
        context.starts_with("Diagnosis of iteration 3:\nThe file is called A.txt, not a.txt."),
        "{context}"
    );
    assert_eq!(ran.stop()["why"], "question");
}

#[test]
fn what_was_asked_can_be_answered_by_the_number_of_an_option_and_the_task_is_counted_anew() {
    let attempt = format!(
        "if grep -q 'Proceed with option 1' {{out}}-$RALPH_ITERATION; then echo A > A.txt; else {ADDS}; fi"
    );
    let project = same_failure("");
    let attempt = attempt.replace("{out}", &project.outside("prompt").display().to_string());
    let project = agent(project, &attempt, DIAGNOSIS);
    project.run(&["--task", "A"]).expect(4);
    project.told(&["answer", "--option", "1"]);
    let ran = project.run(&["--task", "A"]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert!(
        prompt(&project, 5).contains("A diagnosis was made"),
        "what was found out stays"
    );
}

#[test]
fn without_a_diagnosis_a_person_is_asked_at_the_same_attempt() {
    let project = agent(
        same_failure("  gutter:\n    diagnose: false\n"),
        ADDS,
        DIAGNOSIS,
    );
    let ran = project.run(&["--task", "A"]).expect(4);
    assert_eq!(ran.verdicts(), ["A failed", "A failed", "A failed"]);
    assert_eq!(rules(&ran), [pair("same_failure", "ask")]);
    assert_eq!(ran.one("question")["escalation"], Value::Null);
}

#[test]
fn the_same_files_changed_again_without_anything_getting_better_is_churn() {
    // Each failure is another one: only the files are the same.
    let mut story = story("A");
    story["verify"] = json!(["sed 's/^/word /' a.txt; false"]);
    let project = Project::with_stories(&[story]).config("loop:\n  max_verify_retries: 0\n");
    let attempt = "echo $RALPH_ITERATION | tr 1-9 a-i >> a.txt; echo $RALPH_ITERATION > b$RALPH_ITERATION.txt";
    let project = agent(
        project,
        attempt,
        "echo found > .ralph/diagnosis/A.md; echo see the file",
    );
    let ran = project.run(&[]).expect(4);
    assert_eq!(
        ran.verdicts(),
        ["A failed", "A failed", "A diagnosed", "A failed"]
    );
    assert_eq!(
        rules(&ran),
        [pair("churn", "diagnose"), pair("churn", "ask")]
    );
    let last = &ran.named("gutter")[1];
    assert_eq!(
        (&last["files"], &last["attempts"]),
        (&json!(["a.txt"]), &json!(3))
    );
    let sentence = "3 attempts in a row changed a.txt, and nothing got better";
    assert_eq!(last["sentence"], sentence);
    assert_eq!(
        last["hint"],
        "`ralph answer A` tells the next attempt how to proceed; `loop.gutter.max_churn_commits` is the limit"
    );
    assert_eq!(
        ran.one("question")["question"],
        format!("{sentence}: how to proceed?")
    );
    assert_eq!(
        ran.one("diagnosis")["text"],
        "found",
        "the file goes before the message"
    );
}

#[test]
fn a_change_that_goes_back_and_forth_is_seen_by_its_trees() {
    let config = "loop:\n  max_verify_retries: 0\n  max_attempts: 9\n  max_no_progress: 9\n  gutter:\n    max_churn_commits: 9\n    max_same_failure: 9\n";
    let project = agent(
        two_sided().config(config),
        BACK_AND_FORTH,
        "echo both are wanted",
    );
    let ran = project.run(&[]).expect(4);
    assert_eq!(
        ran.verdicts(),
        [
            "A failed",
            "A failed",
            "A failed",
            "A diagnosed",
            "A failed"
        ]
    );
    assert_eq!(
        rules(&ran),
        [pair("oscillation", "diagnose"), pair("oscillation", "ask")]
    );
    let sentences: Vec<_> = ran
        .named("gutter")
        .iter()
        .map(|e| e["sentence"].clone())
        .collect();
    assert_eq!(
        sentences,
        [
            "the last 3 attempts go back and forth: what one changed, the next undid, once",
            "the last 4 attempts go back and forth: what one changed, the next undid, 2 times",
        ]
    );
    let asked = prompt(&project, 4);
    assert!(
        asked.contains("a.txt +1 -1"),
        "the two states are compared: {asked}"
    );
}

#[test]
fn edits_of_a_diagnosis_are_put_aside_and_said_and_the_next_attempt_starts_where_the_last_one_ended()
 {
    let diagnosis = "echo x > A.txt; echo y >> a.txt; echo 'Task A complete'";
    let project = agent(same_failure(""), ADDS, diagnosis);
    let ran = project.run(&["--task", "A"]).expect(4);
    assert_eq!(
        ran.verdicts(),
        ["A failed", "A failed", "A diagnosed", "A failed"]
    );
    assert_eq!(project.landed(), [""; 0]);
    assert_eq!(ran.one("diagnosis")["putAside"], json!(["A.txt", "a.txt"]));
    assert!(
        ran.flags().contains(
            &"a diagnosis changes nothing: what it did to A.txt, a.txt is put aside".to_owned()
        ),
        "{}",
        ran.all()
    );
    let record = project.repo.read(".ralph/logs/iteration-3.json");
    let record: Value = serde_json::from_str(&record).unwrap();
    let kept = record["keptRef"].as_str().unwrap();
    assert_eq!(project.repo.git(["show", &format!("{kept}:A.txt")]), "x");
    let record = project.repo.read(".ralph/logs/iteration-4.json");
    let record: Value = serde_json::from_str(&record).unwrap();
    let kept = record["keptRef"].as_str().unwrap();
    assert_eq!(
        project.repo.git(["show", &format!("{kept}:a.txt")]),
        "x\nx\nx"
    );
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_diagnosis_that_stays_in_its_file_leaves_nothing_aside() {
    let project = agent(same_failure(""), ADDS, "echo why > .ralph/diagnosis/A.md");
    let ran = project.run(&["--task", "A"]).expect(4);
    assert_eq!(ran.one("diagnosis")["putAside"], json!([]));
    assert_eq!(ran.one("diagnosis")["text"], "why");
    assert_eq!(project.attempts().len(), 3, "one for each attempt");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_blocked_task_lets_the_loop_go_on() {
    let attempt = "if [ $RALPH_TASK_ID = B ]; then echo B > B.txt; else echo x >> a.txt; fi";
    let project = agent(
        same_failure("  gutter:\n    then: block\n"),
        attempt,
        "echo why",
    );
    let ran = project.run(&[]).expect(4);
    assert_eq!(
        ran.verdicts(),
        [
            "A failed",
            "A failed",
            "A diagnosed",
            "A failed",
            "B verified"
        ]
    );
    let blocked = ran.one("task_blocked");
    assert_eq!(
        blocked["reason"],
        "`test -f A.txt` failed the same way 3 times in a row"
    );
    assert_eq!(ran.stop()["why"], "nothing_ready");
}

#[test]
fn people_see_a_diagnosis_as_one() {
    let project = agent(same_failure(""), ADDS, "echo the name is wrong");
    let ran = project.run_for_people(&["--task", "A"]).expect(4);
    let text = ran.all();
    assert!(text.contains("A goes round in circles: `test -f A.txt` failed the same way 2 times in a row; a diagnosis follows"), "{text}");
    assert!(
        text.contains(
            "Write A · a diagnosis: `test -f A.txt` failed the same way 2 times in a row"
        ),
        "{text}"
    );
    assert!(text.contains("the name is wrong"), "{text}");
    assert!(
        text.contains("a diagnosis was made, nothing is changed"),
        "{text}"
    );
}

#[test]
fn a_report_has_the_diagnosis_beside_the_attempts_and_logs_and_status_call_it_one() {
    let project = agent(same_failure(""), ADDS, "echo the name is wrong");
    let two = ["--task", "A", "--max-iterations", "2"];
    project.run(&two).expect(3);
    project.run(&["--task", "A", "--once"]).expect(3);
    let report = project
        .ralph(&["report", "--all", "--json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(
        report["diagnoses"],
        json!([{
            "taskId": "A", "iteration": 3,
            "why": "`test -f A.txt` failed the same way 2 times in a row",
            "text": "the name is wrong",
        }])
    );
    assert_eq!(report["failedAttempts"].as_array().unwrap().len(), 2);
    let record = project.repo.read(".ralph/logs/iteration-3.json");
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(
        (&record["verdict"], &record["outcome"]),
        (&json!("diagnosed"), &json!("blocked"))
    );
    assert_eq!(record["diagnoses"]["rule"], "same_failure");
    assert_eq!(record["diagnosis"]["text"], "the name is wrong");
    let log = project.repo.read(".ralph/logs/iteration-3.txt");
    assert!(log.contains("== diagnosis\nthe name is wrong\n"), "{log}");
    let shown = project.ralph(&["status"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("a diagnosis was made, nothing is changed"),
        "{shown}"
    );
    let second = project.repo.read(".ralph/logs/iteration-2.json");
    let second: Value = serde_json::from_str(&second).unwrap();
    assert_eq!(second["trace"]["files"], json!(["a.txt"]));
    assert_eq!(second["trace"]["hunks"].as_array().unwrap().len(), 1);
}
