//! `ralph interview --headless`, with agents that are small programs: every way in which they go
//! wrong, and what is left for the next time.

use ralph_testkit::TestRepo;
use serde_json::Value;

use crate::support::{Ran, ralph};

/// What every agent here begins with: its prompt is kept, and it knows which run it is.
const BEGIN: &str = r#"
n=$(($(cat ../n 2>/dev/null || echo 0) + 1))
echo $n > ../n
cat > ../prompt-$n
A=.artefacts/shop
ask() { printf '{"questions": [{"id": "storage", "question": "Where is it kept?", "why": "It decides.", "options": ["a file", "SQLite"]}]}'; }
amend() { echo "- kept in $1" >> $A/spec.md; }
tasks() {
  printf '{"project_name": "shop", "version": 1, "tasks": [{"id": "T1", "title": "Keep the entries", "description": "Write src/store.py with a function that appends an entry to a file.", "acceptance": ["`make test` passes"], "verify": ["make test"], "status": "pending", "dependencies": [%s], "attempts": 0, "max_attempts": 3, "blocked": false}]}' "$1" > $A/tasks.json
}
"#;

fn project(script: &str) -> TestRepo {
    let repo = TestRepo::new();
    assert_eq!(ralph(&repo, &["init", "shop"]).code, 0);
    let path = repo.outside().join("agent.sh");
    std::fs::write(&path, format!("{BEGIN}\n{script}\n")).unwrap();
    repo.file(
        "ralph.yaml",
        format!("agent: {{name: fake, command: [bash, {path:?}], dialect: text}}\n"),
    );
    repo
}

/// An agent that does what it is told.
const GOOD: &str = r#"
case $n in
  1) echo 'Here they are:'; ask ;;
  2) amend "$(sed -n 's/^Answer: //p' ../prompt-2)"; tasks ;;
esac
"#;

fn interview(repo: &TestRepo, rest: &[&str]) -> Ran {
    let args = ["interview", "shop", "--headless", "--rounds", "1"];
    ralph(repo, &[&args[..], rest].concat())
}

fn prompt(repo: &TestRepo, run: u32) -> String {
    let path = repo.outside().join(format!("prompt-{run}"));
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("run {run}: {e}"))
}

fn runs(repo: &TestRepo) -> String {
    let runs = std::fs::read_to_string(repo.outside().join("n"));
    runs.unwrap_or_default().trim().to_owned()
}

#[test]
fn answers_of_a_file_end_up_in_the_brief_and_the_tasks_are_shown() {
    let repo = project(GOOD);
    repo.file("answers.yaml", "storage: a box\n");
    let ran = interview(&repo, &["--answers", "answers.yaml"]);
    let text = ran.text(0);
    assert!(prompt(&repo, 1).starts_with("# Questions about the project shop: round 1 of 1\n"));
    assert!(prompt(&repo, 2).contains("Question: Where is it kept?\nAnswer: a box\n"));
    let spec = repo.read(".artefacts/shop/spec.md");
    assert!(spec.ends_with("- kept in a box\n"), "{spec}");
    assert!(text.contains(".artefacts/shop/spec.md: +1 -0\n"), "{text}");
    assert!(
        text.contains("\n+ - kept in a box\nkept as .artefacts/shop/history/round-1-spec.md\n")
    );
    assert!(
        text.contains("\ntasks\n  → T1 Keep the entries  next\n"),
        "{text}"
    );
    assert!(text.ends_with(
        "the interview is complete; `ralph run .artefacts/shop/tasks.json` works through the tasks\n"
    ));
    assert_eq!(repo.read(".artefacts/shop/history/round-1-spec.md"), spec);
    assert!(
        repo.read(".artefacts/shop/history/round-0-spec.md")
            .starts_with("# shop\n")
    );
    for gone in ["questions.json", "done.md", "history/interview.json"] {
        assert!(!repo.path(".artefacts/shop").join(gone).exists(), "{gone}");
    }
}

#[test]
fn without_answers_the_questions_are_listed_written_down_and_asked_no_second_time() {
    let repo = project(GOOD);
    let ran = interview(&repo, &[]);
    assert_eq!(
        ran.text(4),
        "round 1 of 1: fake reads the brief\n\
         1 question is waiting for an answer:\n\n\
         storage: Where is it kept?\n  It decides.\n  1. a file\n  2. SQLite\n\n\
         fill in `answer` in .artefacts/shop/questions.json and run `ralph interview shop --headless` \
         again, or write them to a file and add `--answers FILE`\n"
    );
    let file = ".artefacts/shop/questions.json";
    let mut waiting: Value = serde_json::from_str(&repo.read(file)).unwrap();
    assert_eq!(
        waiting,
        serde_json::json!({
            "project_name": "shop", "round": 1, "rounds": 1,
            "questions": [{
                "id": "storage", "question": "Where is it kept?", "why": "It decides.",
                "options": ["a file", "SQLite"], "answer": null
            }]
        })
    );
    waiting["questions"][0]["answer"] = "SQLite".into();
    repo.file(file, waiting.to_string());
    interview(&repo, &[]).text(0);
    assert_eq!(runs(&repo), "2");
    assert!(prompt(&repo, 2).contains("Answer: SQLite\n"));
    assert!(!repo.path(file).exists());
}

#[test]
fn a_stopped_interview_goes_on_with_its_next_round_and_numbers_go_on() {
    let repo = project("case $n in 1|3) ask ;; 2) amend one ;; 4) amend two; tasks ;; esac");
    repo.file("answers.json", "[\"first\"]");
    let args = ["interview", "shop", "--headless", "--rounds", "2"];
    let ran = ralph(&repo, &[&args[..], &["--answers", "answers.json"]].concat());
    assert!(ran.text(4).contains("round 2 of 2: fake reads the brief\n"));
    assert!(!prompt(&repo, 2).contains("project_name"));
    let again = ["interview", "shop", "--headless"];
    let ran = ralph(
        &repo,
        &[&again[..], &["--answers", "answers.json"]].concat(),
    );
    assert!(
        ran.text(0).starts_with("continuing with round 2 of 2\n"),
        "{ran:?}"
    );
    assert!(prompt(&repo, 4).contains("Answer: first\n"));
    let kept = |n: u32| repo.read(format!(".artefacts/shop/history/round-{n}-spec.md"));
    assert!(kept(1).ends_with("- kept in one\n"));
    assert!(kept(2).ends_with("- kept in one\n- kept in two\n"));
}

#[test]
fn an_agent_that_asks_nothing_is_believed_and_still_makes_the_tasks() {
    let repo = project("case $n in 1) echo '{\"questions\": []}' ;; 2) tasks ;; esac");
    let ran = interview(&repo, &[]);
    assert!(
        ran.text(0).contains("round 1 of 1: no questions\n"),
        "{ran:?}"
    );
    assert!(ran.out.contains(".artefacts/shop/spec.md is unchanged\n"));
}

#[test]
fn words_instead_of_questions_are_told_back_once_and_then_end_it() {
    let repo = project("echo 'I have a few questions.'");
    let ran = interview(&repo, &[]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert_eq!(
        ran.err,
        "error: fake returned no valid questions: the final message has no JSON object in it\n\
         hint: nothing is lost: `ralph interview shop --headless` continues\n"
    );
    assert_eq!(runs(&repo), "2");
    assert!(prompt(&repo, 2).contains("could not be used:\n<data>\nthe final message has no JSON"));
}

#[test]
fn answers_that_an_agent_does_not_write_down_are_kept_for_the_next_time() {
    let repo = project(
        "case $n in 1) ask ;; 2) echo 'Done!' ;; 3) rm $A/spec.md ;; 4) amend it; tasks ;; esac",
    );
    let before = repo.read(".artefacts/shop/spec.md");
    repo.file("answers.yaml", "[a file]\n");
    let ran = interview(&repo, &["--answers", "answers.yaml"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(
        ran.err
            .starts_with("error: fake did not write the answers into .artefacts/shop/spec.md\n"),
        "{ran:?}"
    );
    assert!(prompt(&repo, 3).contains("spec.md was not changed: the answers are not in it."));
    assert_eq!(repo.read(".artefacts/shop/spec.md"), before);
    // The answer is there, so that none has to be given again.
    interview(&repo, &[]).text(0);
    assert!(prompt(&repo, 4).contains("Answer: a file\n"));
}

#[test]
fn an_agent_that_writes_where_it_was_to_ask_is_undone() {
    let repo = project("case $n in 1) echo mine > $A/spec.md; ask ;; esac");
    let before = repo.read(".artefacts/shop/spec.md");
    interview(&repo, &[]).text(4);
    assert_eq!(repo.read(".artefacts/shop/spec.md"), before);
}

#[test]
fn an_agent_that_fails_ends_the_interview_with_its_reason() {
    let repo = project("echo 'no network' >&2; exit 3");
    let ran = interview(&repo, &[]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(
        ran.err
            .starts_with("error: fake failed (agent_error): exit code 3: no network\n"),
        "{ran:?}"
    );
    repo.file("ralph.yaml", "agent: command:no-such-agent\n");
    let ran = interview(&repo, &[]);
    assert!(
        ran.error(6).contains("program not found: no-such-agent"),
        "{ran:?}"
    );
}

#[test]
fn wrong_tasks_are_repaired_with_what_is_wrong_in_the_prompt() {
    let repo = project("case $n in 1) ask ;; 2) amend x; tasks '\"T9\"' ;; 3) tasks ;; esac");
    repo.file("answers.yaml", "[a file]\n");
    let ran = interview(&repo, &["--answers", "answers.yaml"]);
    let text = ran.text(0);
    assert!(
        text.contains(".artefacts/shop/tasks.json can't be used yet:\n- "),
        "{text}"
    );
    assert!(text.contains("task T1 depends on T9, which does not exist"));
    let repair = prompt(&repo, 3);
    assert!(repair.starts_with("# Correct the tasks of the project shop\n"));
    assert!(repair.contains("task T1 depends on T9, which does not exist"));
    assert!(!repair.contains("done.md"), "{repair}");
}

#[test]
fn tasks_that_stay_wrong_end_it_after_two_repairs_and_the_last_round_comes_again() {
    let repo = project("case $n in 1|5) ask ;; 2|6) amend $n ;; esac; [ $n != 6 ] || tasks");
    repo.file("answers.yaml", "{storage: a file}\n");
    let ran = interview(&repo, &["--answers", "answers.yaml"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.err
            .starts_with("error: .artefacts/shop/tasks.json can't be used, also after 2 repairs\n"),
        "{ran:?}"
    );
    assert_eq!(runs(&repo), "4");
    assert!(prompt(&repo, 4).contains("tasks.json is not there: it must be written"));
    interview(&repo, &["--answers", "answers.yaml"]).text(0);
    assert!(
        repo.read(".artefacts/shop/history/round-2-spec.md")
            .ends_with("- kept in 2\n- kept in 6\n")
    );
}

#[test]
fn a_task_that_its_maker_calls_done_is_wrong() {
    let repo = project(
        "case $n in 1) ask ;; 2) amend x; tasks; sed -i s/pending/completed/ $A/tasks.json ;; 3) tasks ;; esac",
    );
    repo.file("answers.yaml", "{storage: a file}\n");
    let ran = interview(&repo, &["--answers", "answers.yaml"]);
    let says = "task \"T1\": its status must be \"pending\", not \"completed\": what is done is found out by ralph";
    assert!(ran.text(0).contains(says), "{ran:?}");
    assert!(prompt(&repo, 3).contains(says));
    assert!(
        repo.read(".artefacts/shop/tasks.json")
            .contains("\"pending\"")
    );
}

#[test]
fn tasks_from_before_are_said_to_be_from_before() {
    let repo = project("case $n in 1) ask ;; 2) amend x; tasks ;; 3) ask ;; 4) amend y ;; esac");
    repo.file("answers.yaml", "{storage: a file}\n");
    interview(&repo, &["--answers", "answers.yaml"]).text(0);
    let ran = interview(&repo, &["--answers", "answers.yaml"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            0,
            "warning: .artefacts/shop/tasks.json is the one from before this round\n"
        )
    );
}

#[test]
fn what_can_not_begin_says_how_it_could() {
    let repo = project(GOOD);
    assert_eq!(
        ralph(&repo, &["interview", "shpo"]).error(2),
        "error: there is no .artefacts/shpo/spec.md\nhint: `ralph init shpo` makes it\n"
    );
    assert_eq!(
        ralph(&repo, &["interview", "shop"]).error(2),
        "error: an interview needs a terminal\n\
         hint: `--headless --answers FILE` reads the answers from a file\n"
    );
    let ran = ralph(&repo, &["interview", "shop", "--answers", "x"]);
    assert!(ran.error(2).contains("--headless"), "{ran:?}");
    let ran = interview(&repo, &["--answers", "nowhere.yaml"]);
    assert!(
        ran.error(2)
            .starts_with("error: can't read the answers in nowhere.yaml: "),
        "{ran:?}"
    );
    repo.file("answers.yaml", "just words\n");
    let ran = interview(&repo, &["--answers", "answers.yaml"]);
    assert!(
        ran.error(2)
            .starts_with("error: answers.yaml has no answers that can be read: "),
        "{ran:?}"
    );
    repo.file(".artefacts/shop/questions.json", "{");
    let ran = interview(&repo, &[]);
    assert!(
        ran.error(2).contains("questions.json can't be read"),
        "{ran:?}"
    );
    assert_eq!(runs(&repo), "");
}

#[test]
fn another_model_is_asked_for_where_the_agent_takes_one() {
    let repo = project(GOOD);
    let ran = ralph(
        &repo,
        &[
            "interview",
            "shop",
            "--headless",
            "--agent",
            "command:cat",
            "--model",
            "x",
        ],
    );
    assert_eq!(ran.error(2), "error: --model: command:cat takes no model\n");
}

#[test]
fn what_an_interview_costs_counts_for_the_project_and_a_used_up_budget_refuses_the_next_run() {
    let repo = TestRepo::new();
    assert_eq!(ralph(&repo, &["init", "shop"]).code, 0);
    repo.file("questions.yaml", "default: [{do: [{usage: {input: 10, output: 5, cost: 0.5}}, {say: '{\"questions\": []}'}]}]\n");
    repo.file(
        "ralph.yaml",
        "agent: script:questions.yaml\nbudgets: [{scope: project, per: total, usd: 0.4}]\n",
    );
    // The first run is let, and stopped when it says what it costs: there is no second one.
    let ran = interview(&repo, &[]);
    assert_eq!(ran.code, 5, "{ran:?}");
    let cost = ralph(&repo, &["cost", "--json"]).json(0);
    assert_eq!(cost["rows"][0]["key"], "ralph interview");
    assert_eq!(cost["total"]["spentUsd"], 0.5);
    let said = interview(&repo, &[]).error(5).to_owned();
    assert!(
        said.contains(
            "error: the project's budget of $0.40 in total is used up: $0.50 are spent\n"
        ),
        "{said}"
    );
}

#[test]
fn a_signal_of_a_headless_agent_is_removed_after_every_run() {
    let done = "test ! -e $A/done.md || exit 1\necho done > $A/done.md\n";
    let repo = project(&format!("{done}{GOOD}"));
    repo.file("answers.yaml", "storage: a box\n");
    interview(&repo, &["--answers", "answers.yaml"]).text(0);
    assert_eq!(runs(&repo), "2");
    assert!(!repo.path(".artefacts/shop/done.md").exists());
}

#[test]
fn a_secret_that_the_agent_writes_into_the_brief_or_the_tasks_is_hidden() {
    let [first, second] = ["ghp_R4lphR4lphR4lph", "R4lphR4lphR4lphR4l7Xy"];
    let script = format!(
        "t={first}{second}\n{GOOD}\n[ $n != 2 ] || {{ amend \"$t\"; sed -i \"s/appends an entry/uses $t/\" $A/tasks.json; }}"
    );
    let repo = project(&script);
    repo.file("answers.yaml", "storage: a box\n");
    let ran = interview(&repo, &["--answers", "answers.yaml"]);
    for name in ["spec.md", "tasks.json"] {
        let text = repo.read(format!(".artefacts/shop/{name}"));
        assert!(!text.contains(second), "{name}: {text}");
        assert!(text.contains("[redacted]"), "{name}: {text} {ran:?}");
        let said = format!("{name} held what looks like a secret (GitHub token); it is hidden");
        assert!(ran.err.contains(&said), "{ran:?}");
    }
}
