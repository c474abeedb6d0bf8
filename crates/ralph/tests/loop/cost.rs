//! What a run of the command may cost: enforced while an agent runs and between iterations. And what
//! becomes of a loop whose task is out of attempts.

mod hard_stop;
mod real_claude;

use serde_json::{Value, json};

use crate::support::{Project, good_script, story};

/// Writes its file, tells that it has cost 60 cents, and stays.
fn dear() -> Value {
    json!({"default": [{"do": [
        {"write": {"path": "{id}.txt", "text": "half of {id}\n"}},
        {"usage": {"input": 10, "output": 10, "cost": 0.2}},
        {"usage": {"input": 10, "output": 10, "cost": 0.4}},
        "hang",
    ]}]})
}

/// Claude Code, which tells only in its result what a run cost.
fn claude_at(cost: f64, more: &[Value]) -> Value {
    let mut actions = more.to_vec();
    actions.extend([
        json!({"do": "write", "path": "{{RALPH_TASK_ID}}.txt", "text": "x"}),
        json!({"do": "say", "text": "Task {{RALPH_TASK_ID}} complete"}),
        json!({"do": "result", "cost": cost}),
    ]);
    json!({"default": actions})
}

fn stories(ids: &[&str]) -> Project {
    let stories: Vec<Value> = ids.iter().map(|id| story(id)).collect();
    Project::with_stories(&stories)
}

fn record(project: &Project, n: u32) -> Value {
    let text = project.repo.read(format!(".ralph/logs/iteration-{n}.json"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_running_agent_is_stopped_when_it_has_cost_too_much_and_its_work_is_kept() {
    for args in [&["--max-cost", "0.5"][..], &["--max-cost=0.5"][..]] {
        let project = stories(&["A", "B"]).script(&dear());
        let before = project.repo.read("prd.json");
        let ran = project.run(args).expect(5);
        assert_eq!(ran.verdicts(), ["A budget"]);
        let stop = json!({"why": "budget", "spentUsd": 0.6, "maxUsd": 0.5});
        assert_eq!(ran.stop(), stop);
        assert_eq!(
            ran.one("loop_ended")["sentence"],
            "the limit of $0.50 is reached: $0.60 are spent"
        );
        assert!(project.landed().is_empty());
        assert_eq!(project.repo.read("prd.json"), before);
        assert_eq!(project.leftovers(), [""; 0]);
        project.assert_nothing_alive();

        let record = record(&project, 1);
        assert_eq!(record["outcome"], "budget_exceeded");
        assert_eq!(
            record["runs"][0]["ending"],
            json!({"how": "over_budget", "spentUsd": 0.6, "maxUsd": 0.5})
        );
        let [kept] = &project.attempts()[..] else {
            panic!("one attempt is kept: {:?}", project.attempts());
        };
        assert_eq!(record["keptRef"], kept.as_str());
        let kept = project.repo.git(["show", &format!("{kept}:A.txt")]);
        assert_eq!(kept.trim_end(), "half of A");
        let patch = ".ralph/logs/iteration-1.patch";
        project.repo.git(["apply", "--check", patch]);
        assert!(project.repo.read(patch).contains("\n+half of A\n"));
    }
}

#[test]
fn nobody_is_charged_and_the_next_run_goes_on_with_the_work_and_a_budget_of_its_own() {
    let script = json!({"tasks": {"A": [
        dear()["default"][0],
    ]}});
    let project = stories(&["A"]).script(&script);
    project.run(&["--max-cost=0.5"]).expect(5);
    // The next one adds only its claim to what it finds.
    let claim = json!({"default": [{"do": [
        {"run": "test -f A.txt"},
        {"usage": {"input": 1, "output": 1, "cost": 0.1}},
        {"say": "Task {id} complete"},
    ]}]});
    let project = project.script(&claim);
    let ran = project.run(&["--max-cost=0.5"]).expect(0);
    assert_eq!(ran.one("iteration_started")["attempt"], 1);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(project.repo.read("A.txt"), "half of A\n");
}

#[test]
fn a_run_that_has_ended_is_judged_and_the_loop_stops_before_the_next() {
    let project = stories(&["A", "B", "C"])
        .config("loop:\n  max_cost_usd: 0.5\n")
        .claude(&claude_at(0.3, &[]));
    let ran = project.run(&[]).expect(5);
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    assert_eq!(
        ran.stop(),
        json!({"why": "budget", "spentUsd": 0.6, "maxUsd": 0.5})
    );
    assert_eq!(project.landed(), ["A", "B"]);
    assert!(project.attempts().is_empty());
}

#[test]
fn everything_done_is_success_whatever_it_cost() {
    let project = stories(&["A"]).claude(&claude_at(9.0, &[]));
    let ran = project.run(&["--max-cost=0.5"]).expect(0);
    assert_eq!(ran.stop()["why"], "all_complete");
}

#[test]
fn no_agent_is_started_to_repair_what_there_is_no_money_for() {
    let project = stories(&["A"]).claude(&json!({"default": [
        {"do": "write", "path": "wrong.txt", "text": "x"},
        {"do": "say", "text": "Task A complete"},
        {"do": "result", "cost": 0.6},
    ]}));
    let ran = project.run(&["--max-cost=0.5"]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    assert_eq!(ran.named("run_started").len(), 1);
    assert_eq!(record(&project, 1)["verification"][0]["passed"], false);
    assert!(project.landed().is_empty());
}

#[test]
fn claude_code_is_told_what_is_left_and_its_own_stop_is_no_error() {
    let seen = |project: &Project| -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(project.outside("seen")).unwrap();
        let lines = text.lines().map(serde_json::from_str::<Value>);
        let args = lines.map(|line| serde_json::from_value(line.unwrap()["args"].take()));
        args.map(Result::unwrap).collect()
    };
    let budget = |args: &[String]| -> Option<String> {
        let at = args.iter().position(|arg| arg == "--max-budget-usd")?;
        args.get(at + 1).cloned()
    };
    let project = stories(&["A", "B"]);
    let look = json!({"do": "recordSelf", "file": project.outside("seen")});
    let project = project.claude(&claude_at(0.3, std::slice::from_ref(&look)));
    project.run(&["--max-cost=1"]).expect(0);
    let told: Vec<_> = seen(&project).iter().map(|args| budget(args)).collect();
    assert_eq!(told, [Some("1".to_owned()), Some("0.7".to_owned())]);

    let project = stories(&["A"]).claude(&json!({"default": [
        {"do": "write", "path": "A.txt", "text": "x"},
        {"do": "result", "subtype": "error_max_budget_usd", "isError": true, "cost": 0.55,
         "errors": ["Reached maximum budget ($0.5)"]},
        {"do": "exit", "code": 1},
    ]}));
    let ran = project.run(&["--max-cost=0.5"]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    assert_eq!(ran.stop()["spentUsd"], 0.55);
    assert!(project.repo.exists(".ralph/logs/iteration-1.patch"));
}

#[test]
fn an_agent_that_does_not_tell_its_cost_is_said_to_at_the_start() {
    let says = |project: Project, words: &str| {
        let ran = project.run(&["--max-cost=0.5"]).expect(0);
        let warnings = ran.named("warning");
        let found = warnings
            .iter()
            .any(|w| w["message"].as_str().unwrap().contains(words));
        assert!(found, "{words:?}: {warnings:?}");
    };
    let silent = "cat > /dev/null; echo x > $RALPH_TASK_ID.txt; echo Task $RALPH_TASK_ID complete";
    says(
        stories(&["A"]).command(silent),
        "does not say what it costs: the limit of $0.50 can't be kept",
    );
    says(
        stories(&["A"])
            .config("claude: {model: unheard-of}\n")
            .claude(&claude_at(0.1, &[])),
        "there is no price for unheard-of: what may be spent can't be kept to",
    );
    let tells = stories(&["A"]).script(&good_script());
    let ran = tells.run(&["--max-cost=0.5"]).expect(0);
    assert!(!ran.all().contains("what it costs"), "{}", ran.all());
}

#[test]
fn a_limit_of_nothing_or_of_no_number_is_refused() {
    let project = stories(&["A"]).script(&good_script());
    let before = project.repo.head();
    for (arg, words) in [
        ("--max-cost=0", "loop.max_cost_usd"),
        ("--max-cost=-1", "loop.max_cost_usd"),
        ("--max-cost=x", "--max-cost"),
        ("--max-cost=NaN", "--max-cost"),
    ] {
        project.run(&[arg]).expect(2).says(words);
    }
    assert_eq!(project.repo.head(), before);
}

#[test]
fn a_person_is_told_the_rule_its_figures_and_the_way_on() {
    let project = stories(&["A"]).script(&dear());
    let ran = project.run_for_people(&["--max-cost=0.5"]).expect(5);
    let said = ran.all();
    for line in [
        "A: stopped by its cost: $0.60 of $0.50 are spent",
        "the limit of $0.50 is reached: $0.60 are spent",
        "hint: `ralph run` goes on with the work that was kept; `--max-cost N` allows more",
        "exit code 5: budget exhausted",
    ] {
        assert!(said.contains(line), "{line:?} in\n{said}");
    }
}

#[test]
fn a_task_out_of_attempts_halts_the_loop_or_is_blocked_by_what_the_config_says() {
    let table = [
        ("halt", 4, "attempts", &["A no_change", "A no_change"][..]),
        (
            "block",
            4,
            "nothing_ready",
            &["A no_change", "A no_change", "B verified"][..],
        ),
    ];
    for (policy, code, why, verdicts) in table {
        let config = format!(
            "loop:\n  max_attempts: 2\n  max_no_progress: 9\n  on_max_attempts: {policy}\n"
        );
        let script = json!({
            "tasks": {"A": [{"do": [{"say": "Task A complete"}]}]},
            "default": good_script()["default"],
        });
        let project = stories(&["A", "B"]).config(&config).script(&script);
        let ran = project.run(&[]).expect(code);
        assert_eq!(ran.stop()["why"], why, "{policy}");
        assert_eq!(ran.verdicts(), verdicts, "{policy}");
        assert_eq!(ran.one("task_blocked")["task"], "A", "{policy}");
    }
}
