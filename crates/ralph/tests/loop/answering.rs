//! Questions and their answers: from another terminal, while a loop runs and when none does.

use serde_json::{Value, json};

use super::intervening::said;
use crate::support::{Live, Project, good_attempt, good_script, story, story_after, wait_until};

const ASKS: &str = "<escalate type=\"deviation\">\n<summary>Spec is old</summary>\n\
    <context>v1 is deprecated.</context>\n<options>\n1. Use v2\n2. Use v1 anyway\n</options>\n\
    <question>Which API version?</question>\n</escalate>";

/// Asks at its first attempt at A, and does everything else.
fn asks_about_a() -> Value {
    json!({"tasks": {"A": [{"do": [{"say": ASKS}]}]}, "default": [good_attempt()]})
}

fn asked() -> Project {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&asks_about_a());
    project.run(&[]).expect(4);
    project.script(&good_script())
}

/// An agent that asks once, keeps its prompts, and works at B until the file `go` is there.
fn asks_and_waits() -> Project {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let (go, prompts) = (project.outside("go"), project.outside("prompts"));
    let asked = project.outside("asked");
    project.command(&format!(
        "cat >> {prompts}\n\
         if [ $RALPH_TASK_ID = A ] && [ ! -e {asked} ]; then touch {asked}; printf '%s\\n' '{ASKS}'; exit; fi\n\
         if [ $RALPH_TASK_ID = B ]; then echo begun; while [ ! -e {go} ]; do sleep 0.02; done; fi\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go = go.display(),
        prompts = prompts.display(),
        asked = asked.display(),
    ))
}

fn begun(live: &mut Live) {
    while live.wait_for("agent")["text"] != "begun" {}
}

fn prompt(project: &Project) -> String {
    let output = project.ralph(&["run", "--dry-run"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn questions(project: &Project, args: &[&str]) -> Value {
    let args: Vec<&str> = ["escalations", "--json"]
        .into_iter()
        .chain(args.iter().copied())
        .collect();
    serde_json::from_str(&project.told(&args)).unwrap()
}

#[test]
fn the_questions_are_listed_for_programs_and_for_people() {
    let project = asked();
    let mut listed = questions(&project, &[]);
    let at = listed["questions"][0]["askedAt"].take();
    assert!(at.as_str().unwrap().ends_with('Z'), "{at}");
    assert_eq!(
        listed,
        json!({
            "source": "prd.json",
            "questions": [{
                "id": 1, "taskId": "A", "iteration": 1, "askedBy": "agent", "askedAt": null,
                "question": "Which API version?",
                "escalation": {
                    "type": "deviation", "summary": "Spec is old", "context": "v1 is deprecated.",
                    "options": ["Use v2", "Use v1 anyway"], "question": "Which API version?",
                    "raw": ASKS.strip_suffix("\n</escalate>").unwrap(),
                },
                "answer": null,
            }],
        })
    );
    let text = project.told(&["escalations"]);
    for part in [
        "question 1 · A · deviation · asked by the agent in iteration 1",
        "Which API version?",
        "2. Use v1 anyway",
        "`ralph answer 1 --option 1…2 | --guidance TEXT | --skip | --retry | --abort`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// What `ralph status` shows and what `ralph run` would do are read off one board.
#[test]
fn after_a_person_edits_the_task_status_and_run_agree_that_it_is_next() {
    let project = asked();
    let next = |project: &Project| -> Value {
        let status: Value = serde_json::from_str(&project.told(&["status", "--json"])).unwrap();
        status["next"]["id"].clone()
    };
    assert_eq!(next(&project), json!(null));
    let text = project.repo.read("prd.json");
    let edited = text.replacen(
        "\"id\": \"A\"",
        "\"id\": \"A\", \"description\": \"Use v2.\"",
        1,
    );
    assert_ne!(edited, text);
    project.repo.file("prd.json", edited);
    assert_eq!(next(&project), json!("A"));
    assert_eq!(project.run(&[]).expect(0).verdicts(), ["A verified"]);
}

#[test]
fn an_option_goes_into_the_next_prompt_with_its_text() {
    let project = asked();
    assert_eq!(
        project.told(&["answer", "--option", "2"]),
        "question 1 about A is answered; the next prompt says: Proceed with option 2: Use v1 anyway\n  \
         `ralph run` goes on\n"
    );
    let prompt = prompt(&project);
    assert!(
        prompt.contains("Asked: Which API version?\nProceed with option 2: Use v1 anyway"),
        "{prompt}"
    );
    assert_eq!(questions(&project, &[])["questions"], json!([]));
    let mut all = questions(&project, &["--all"]);
    let answer = &mut all["questions"][0]["answer"];
    answer["at"] = json!("then");
    assert_eq!(
        *answer,
        json!({
            "how": "option", "number": 2, "by": "ann", "at": "then",
            "told": "Asked: Which API version?\nProceed with option 2: Use v1 anyway",
            "amended": null,
        })
    );
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(
        ran.one("iteration_started")["attempt"],
        1,
        "a question is not charged"
    );
    let record: Value =
        serde_json::from_str(&project.repo.read(".ralph/logs/iteration-3.json")).unwrap();
    assert!(
        record["guidance"][0]["text"]
            .as_str()
            .unwrap()
            .contains("option 2")
    );
    let report = project.told(&["report", "--all"]);
    assert!(
        report.contains(
            "## Answered questions\n\n\
             - iteration 1, A: Which API version?\n  option 2, by ann: Proceed with option 2: \
             Use v1 anyway\n"
        ),
        "{report}"
    );
    let report: Value =
        serde_json::from_str(&project.told(&["report", "--all", "--json"])).unwrap();
    assert_eq!(report["questions"][0]["answer"]["number"], 2);
}

#[test]
fn own_words_go_into_the_next_prompt() {
    let project = asked();
    project.told(&["answer", "A", "--guidance", "Use v3, it is out."]);
    assert!(prompt(&project).contains("Use v3, it is out."));
    project.run(&[]).expect(0);
}

#[test]
fn a_question_can_be_answered_by_skipping_its_task() {
    let project = asked();
    let said = project.told(&["answer", "1", "--skip"]);
    assert!(
        said.starts_with("A is skipped: answer to question 1: Which API version?"),
        "{said}"
    );
    assert_eq!(project.story_in_file("A")["skipped"], true);
    assert_eq!(project.run(&[]).expect(0).verdicts(), [""; 0]);
    assert_eq!(
        questions(&project, &["--all"])["questions"][0]["answer"]["how"],
        "skip"
    );
}

#[test]
fn a_question_can_be_answered_by_trying_again() {
    let project = asked();
    assert_eq!(
        project.told(&["answer", "--retry"]),
        "question 1 about A is answered; it is tried again\n  `ralph run` goes on\n"
    );
    assert!(!prompt(&project).contains("Guidance from a person"));
    project.run(&[]).expect(0);
}

#[test]
fn without_a_loop_there_is_nothing_to_abort_and_the_question_stays() {
    let project = asked();
    assert_eq!(
        project.told(&["answer", "--abort"]),
        "no loop is running here that could be ended; question 1 stays open\n"
    );
    assert_eq!(questions(&project, &[])["questions"][0]["id"], 1);
}

#[test]
fn an_answer_that_does_not_fit_is_refused() {
    let project = Project::with_stories(&[story("A")]);
    let error = project.refused(&["answer", "--retry"]);
    assert!(
        error.contains("no question is open: there is nothing to answer"),
        "{error}"
    );
    let script = json!({"default": [{"do": [{"say": ASKS}]}]});
    let project = Project::with_stories(&[story("A"), story("B")]).script(&script);
    project.run(&[]).expect(4);
    let table: [(&[&str], &str); 4] = [
        (
            &["answer", "--retry"],
            "2 questions are open, and it is not said which one is answered: 1 (A), 2 (B)",
        ),
        (
            &["answer", "9", "--retry"],
            "there is no question 9; open: 1 (A), 2 (B)",
        ),
        (
            &["answer", "1", "--option", "3"],
            "question 1 has no option 3, only 1 to 2",
        ),
        (&["answer", "1"], "required arguments were not provided"),
    ];
    for (args, expected) in table {
        let error = project.refused(args);
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    project.told(&["answer", "1", "--option", "1"]);
    let error = project.refused(&["answer", "1", "--option", "2"]);
    assert!(
        error.contains("question 1 is answered already (option 1 by ann)"),
        "{error}"
    );
}

#[test]
fn an_acceptance_criterion_that_was_wrong_is_amended_with_who_and_why() {
    let project = asked();
    let said = project.told(&["answer", "--option", "1", "--amend", "1=A.txt uses v2"]);
    assert!(
        said.contains("an acceptance criterion is amended; prd.json is committed"),
        "{said}"
    );
    let story = project.story_in_file("A");
    assert_eq!(story["acceptanceCriteria"], json!(["A.txt uses v2"]));
    let notes = story["notes"].as_str().unwrap();
    assert!(
        notes.starts_with("Acceptance criterion amended by ann on 20"),
        "{notes}"
    );
    assert!(
        notes.ends_with("(question 1: Which API version?), was: \"A.txt is there\""),
        "{notes}"
    );
    let all = questions(&project, &["--all"]);
    assert_eq!(
        all["questions"][0]["answer"]["amended"],
        json!({"before": "A.txt is there", "after": "A.txt uses v2"})
    );
    assert_eq!(all["questions"][0]["answer"]["how"], "option");
    assert!(prompt(&project).contains("- A.txt uses v2"));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn an_amendment_that_does_not_say_which_criterion_changes_nothing() {
    let mut task = story("A");
    task["acceptanceCriteria"] = json!(["one", "two"]);
    let project = Project::with_stories(&[task]).script(&asks_about_a());
    project.run(&[]).expect(4);
    let error = project.refused(&["answer", "--retry", "--amend", "three"]);
    assert!(
        error.contains("the task has 2 acceptance criteria"),
        "{error}"
    );
    assert_eq!(
        questions(&project, &[])["questions"][0]["id"],
        1,
        "it is still open"
    );
}

#[test]
fn the_same_failure_again_and_again_is_a_question_too_and_is_answered_like_one() {
    let script = json!({"default": [{"do": [{"append": {"path": "x.txt", "text": "x"}}, {"say": "Task {id} complete"}]}]});
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_attempts: 9\n  max_no_progress: 9\n  max_verify_retries: 0\n")
        .script(&script);
    let ran = project.run(&[]).expect(4);
    let verdicts = ["A failed", "A failed", "A diagnosed", "A failed"];
    assert_eq!(ran.verdicts(), verdicts);
    assert_eq!(ran.stop()["why"], "question");
    let asked = &questions(&project, &[])["questions"][0];
    assert_eq!(
        (&asked["askedBy"], &asked["escalation"]["options"]),
        (&json!("ralph"), &json!([]))
    );
    let text = project.told(&["escalations"]);
    assert!(
        text.contains("`ralph answer 1 --guidance TEXT | --skip"),
        "{text}"
    );
    project.told(&["answer", "--guidance", "The file is called A.txt."]);
    assert!(prompt(&project).contains("The file is called A.txt."));
    let ran = project.script(&good_script()).run(&[]).expect(0);
    assert_eq!(ran.one("iteration_started")["attempt"], 1);
}

#[test]
fn an_answer_reaches_a_loop_that_works_at_another_task() {
    let project = asks_and_waits();
    let mut live = project.start(&[]);
    begun(&mut live);
    let answer = project.order(&["answer", "--option", "1"]);
    project.wait_for_orders(1);
    std::fs::write(project.outside("go"), "").unwrap();
    said(answer.wait_with_output().unwrap());
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A escalated", "B verified", "A verified"]);
    let prompts = std::fs::read_to_string(project.outside("prompts")).unwrap();
    assert_eq!(prompts.matches("Proceed with option 1: Use v2").count(), 1);
}

#[test]
fn an_answer_that_aborts_ends_the_loop_and_leaves_the_question_open() {
    let project = asks_and_waits();
    let mut live = project.start(&[]);
    begun(&mut live);
    let answer = project.order(&["answer", "--abort"]);
    project.wait_for_orders(1);
    std::fs::write(project.outside("go"), "").unwrap();
    assert_eq!(
        said(answer.wait_with_output().unwrap()),
        "the loop ends; question 1 stays open\n"
    );
    let ran = live.wait().expect(4);
    assert_eq!(ran.stop(), json!({"why": "aborted"}));
    assert_eq!(questions(&project, &[])["questions"][0]["id"], 1);
}

#[test]
fn a_question_is_asked_once_wherever_ralph_dies_after_it() {
    for point in ["agent-recorded", "recorded", "files-written"] {
        let project =
            Project::with_stories(&[story("A"), story_after("B", &["A"])]).script(&asks_about_a());
        assert_eq!(project.run_with("RALPH_FAILPOINT", point).code(), -9);
        let project = project.script(&good_script());
        let ran = project.run(&[]).expect(4);
        assert_eq!(ran.one("question")["task"], "A", "{point}");
        let asked = questions(&project, &["--all"]);
        assert_eq!(asked["questions"].as_array().unwrap().len(), 1, "{point}");
        project.told(&["answer", "--retry"]);
        project.run(&[]).expect(0);
    }
}

#[test]
fn an_answer_given_while_a_loop_pauses_is_obeyed_at_once() {
    let project = asks_and_waits();
    let mut live = project.start(&[]);
    begun(&mut live);
    project.told(&["pause"]);
    std::fs::write(project.outside("go"), "").unwrap();
    wait_until("it pauses", || {
        !project.status()["loop"]["pausedAt"].is_null()
    });
    project.told(&["answer", "--option", "1"]);
    assert_eq!(project.landed(), ["B"], "and the loop still pauses");
    project.told(&["resume"]);
    live.wait().expect(0);
    assert_eq!(project.landed(), ["B", "A"]);
}

#[test]
fn a_task_for_a_person_is_left_to_a_person_who_marks_it_done() {
    let person = json!({"id": "HUMAN-1", "title": "Buy a key", "passes": false});
    let tasks = [person, story_after("A", &["HUMAN-1"]), story("B")];
    let project = Project::with_stories(&tasks).script(&good_script());
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["B verified"]);
    assert_eq!(ran.stop()["why"], "nothing_ready");
    let ended = ran.one("loop_ended");
    let hint = ended["hint"].as_str().unwrap();
    assert!(
        hint.contains("`ralph tasks done HUMAN-1` when it is done"),
        "{hint}"
    );
    let next = ended["next"].as_array().unwrap();
    assert!(
        next.iter()
            .any(|step| step["command"] == "ralph tasks done HUMAN-1"),
        "{next:?}"
    );
    for open_again in ["retry", "unblock"] {
        let error = project.refused(&[open_again, "--task", "HUMAN-1"]);
        assert!(error.contains("no agent is given it"), "{error}");
        assert!(error.contains("`ralph tasks done HUMAN-1`"), "{error}");
    }
    let said = project.told(&["tasks", "done", "HUMAN-1", "--note", "in the vault"]);
    assert_eq!(said, "HUMAN-1 is done; prd.json is committed\n");
    let story = project.story_in_file("HUMAN-1");
    assert_eq!(story["passes"], true);
    let notes = story["notes"].as_str().unwrap();
    assert!(notes.starts_with("Done by ann on 20"), "{notes}");
    assert!(notes.ends_with(": in the vault"), "{notes}");
    let error = project.refused(&["tasks", "done", "HUMAN-1"]);
    assert!(error.contains("HUMAN-1 is complete already"), "{error}");
    assert!(
        error.contains("hint: open it again in its file if it has to be done again"),
        "{error}"
    );
    assert_eq!(project.run(&[]).expect(0).verdicts(), ["A verified"]);
}

#[test]
fn a_person_can_mark_any_task_done_and_it_counts_as_unverified() {
    let project = asked();
    let said = project.told(&["tasks", "done", "A"]);
    assert_eq!(
        said,
        "A is done; no command verified it; prd.json is committed\n"
    );
    assert_eq!(
        questions(&project, &["--all"])["questions"][0]["answer"]["how"],
        "done"
    );
    assert_eq!(project.status()["tasks"]["unverified"], 1);
    assert_eq!(project.run(&[]).expect(0).verdicts(), [""; 0]);
}

#[test]
fn three_attempts_that_come_to_nothing_ask_a_person_instead_of_blocking_the_task() {
    let nothing = json!({"do": [{"say": "Task {id} complete"}]});
    let unclaimed = json!({"do": [{"append": {"path": "x.txt", "text": "x"}}, {"say": "well"}]});
    let script =
        json!({"tasks": {"A": [nothing, nothing, unclaimed]}, "default": [good_attempt()]});
    let project = Project::with_stories(&[story("A"), story("B")])
        .config("verification:\n  commands: [[\"true\"]]\n")
        .script(&script);
    let tasks = project
        .repo
        .read("prd.json")
        .replace("\"test -f A.txt\"", "\"true\"");
    project
        .repo
        .file("prd.json", tasks)
        .commit("no file is asked for");
    let ran = project.run(&[]).expect(4);
    assert_eq!(
        ran.verdicts(),
        ["A no_change", "A no_change", "A unclaimed", "B verified"]
    );
    let question = ran.one("question")["question"].clone();
    let question = question.as_str().unwrap();
    assert!(
        question.starts_with("3 attempts in a row came to nothing"),
        "{question}"
    );
    assert_eq!(ran.stop()["why"], "question");
    project.told(&["answer", "--guidance", "Write A.txt."]);
    project.script(&good_script()).run(&[]).expect(0);
}
