//! Usage limits and overloaded APIs: what is waited for, who goes on, and that nobody is charged.

mod lost_fallback;
mod overload;
mod real_claude;
mod restart;

use ralph_testkit::fake_agent::fake_agent;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, Ran, good_script, story, write_program};

/// Claude Code whose runs play these one after the other, the last one for ever. It writes down when
/// each began; `"RESET"` is a moment that lies `ahead` seconds behind that.
fn claude(project: Project, ahead: u32, runs: &[Value]) -> Project {
    let folder = project.outside("claude");
    std::fs::create_dir(&folder).unwrap();
    for (i, actions) in runs.iter().enumerate() {
        let scenario = json!({"default": actions}).to_string();
        std::fs::write(folder.join(format!("{}.json", i + 1)), scenario).unwrap();
    }
    let program = folder.join("claude");
    let shell = format!(
        r#"cd_back=$PWD; cd '{folder}' || exit 9
now=$(date +%s)
echo "$now" >> calls
n=$(wc -l < calls); [ "$n" -le {last} ] || n={last}
sed "s/\"RESET\"/$((now + {ahead}))/" "$n.json" > "playing-$$.json"
cd "$cd_back" || exit 9
FAKE_AGENT_SCENARIO='{folder}'/playing-$$.json exec '{fake}' "$@""#,
        folder = folder.display(),
        last = runs.len(),
        fake = fake_agent().display(),
    );
    write_program(&program, &shell);
    let command = json!([program]).to_string();
    project.agent("claude").env("RALPH_CLAUDE_COMMAND", command)
}

/// When each run of the agent began, in seconds since 1970.
fn calls(project: &Project) -> Vec<i64> {
    let text = std::fs::read_to_string(project.outside("claude").join("calls")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn limited() -> Value {
    json!([{"do": "write", "path": "half.txt", "text": "x"}, {"do": "rateLimited", "resetsAt": "RESET"}])
}

fn good() -> Value {
    json!([
        {"do": "write", "path": "{{RALPH_TASK_ID}}.txt", "text": "x"},
        {"do": "say", "text": "Task {{RALPH_TASK_ID}} complete"},
    ])
}

fn one_story() -> Project {
    Project::with_stories(&[story("A")])
}

fn record(project: &Project, n: u32) -> Value {
    let text = project.repo.read(format!(".ralph/logs/iteration-{n}.json"));
    serde_json::from_str(&text).unwrap()
}

fn attempts(ran: &Ran) -> Vec<u64> {
    let started = ran.named("iteration_started");
    started
        .iter()
        .map(|e| e["attempt"].as_u64().unwrap())
        .collect()
}

fn seconds(time: &Value) -> i64 {
    let time: jiff::Timestamp = time.as_str().unwrap().parse().unwrap();
    time.as_second()
}

#[test]
fn it_waits_for_the_reset_and_goes_on_by_itself_with_the_same_task() {
    let project = claude(one_story(), 2, &[limited(), good()]);
    // One iteration is allowed: the one that only met a limit is none.
    let ran = project.run(&["--max-iterations", "1"]).expect(0);
    assert_eq!(ran.verdicts(), ["A limit_hit", "A verified"]);
    assert_eq!(attempts(&ran), [1, 1]);
    assert_eq!(ran.one("loop_ended")["iterations"], 1);
    let waiting = ran.one("waiting");
    assert_eq!(waiting["reason"], "usage_limit");
    let calls = calls(&project);
    let reset = calls[0] + 2;
    assert_eq!(calls.len(), 2, "nobody is asked in between");
    assert!(calls[1] >= reset, "{calls:?}");
    assert!(seconds(&waiting["until"]) >= reset, "{waiting}");
    let files = ["A.txt", "half.txt", "prd.json"];
    assert_eq!(project.files_of("HEAD"), files, "the work goes on");
}

#[test]
fn people_are_told_until_when() {
    let project = claude(one_story(), 2, &[limited(), good()]);
    let ran = project.run_for_people(&[]).expect(0);
    let text = ran.all();
    assert!(text.contains("usage limit, continues at "), "{text}");
}

#[test]
fn once_waits_too() {
    let project = claude(one_story(), 1, &[limited(), good()]);
    let ran = project.run(&["--once"]).expect(0);
    assert_eq!(ran.verdicts(), ["A limit_hit", "A verified"]);
}

#[test]
fn a_wait_that_was_killed_goes_on_until_the_same_moment() {
    let project = claude(one_story(), 8, &[limited(), good()]);
    let mut live = project.start(&[]);
    let first = live.wait_for("waiting");
    live.signal(Signal::KILL);
    assert_eq!(live.wait().code(), -9);

    let status = project.ralph(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let reset = calls(&project)[0] + 8;
    assert_eq!(seconds(&status["waitingUntil"]), reset, "{status}");
    let shown = project.ralph(&["status"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("usage limit, until "), "{shown}");

    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["resumed"], true);
    assert_eq!(ran.one("waiting")["until"], first["until"]);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(attempts(&ran), [1]);
    let calls = calls(&project);
    assert_eq!(calls.len(), 2, "nobody was started before the reset");
    assert!(calls[1] >= reset, "{calls:?}");
}

#[test]
fn a_wait_is_shown_by_status_while_it_lasts_and_ends_at_once_on_ctrl_c() {
    let project = claude(one_story(), 3600, &[limited()]);
    let mut live = project.start(&[]);
    live.wait_for("waiting");
    let status = project.ralph(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["running"], true);
    let reset = calls(&project)[0] + 3600;
    assert_eq!(seconds(&status["waitingUntil"]), reset, "{status}");
    live.signal(Signal::INT);
    let ran = live.wait().expect(130);
    assert_eq!(ran.stop(), json!({"why": "interrupted", "signal": 2}));
    assert_eq!(calls(&project).len(), 1);
}

#[test]
fn somebody_else_does_not_wait_for_another_agents_limit() {
    let project = claude(one_story(), 3600, &[limited()]);
    let mut live = project.start(&[]);
    live.wait_for("waiting");
    live.signal(Signal::KILL);
    live.wait();
    let ran = project.script(&good_script()).run(&[]).expect(0);
    assert_eq!(ran.named("waiting"), [Value::Null; 0]);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn stop_ends_the_loop_and_says_when_it_resets() {
    let project = claude(one_story(), 60, &[limited()]).config("limits:\n  on_usage_limit: stop\n");
    let ran = project.run(&[]).expect(6);
    let reset = calls(&project)[0] + 60;
    assert_eq!(seconds(&ran.stop()["resetsAt"]), reset);
    assert_eq!(ran.named("waiting"), [Value::Null; 0]);
    let status = project.ralph(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["waitingUntil"], Value::Null, "a loop that is over");
}

#[test]
fn a_reset_that_is_too_far_away_ends_the_loop_and_says_when() {
    let project = claude(one_story(), 300, &[limited()]).config("limits:\n  max_wait_minutes: 4\n");
    let ran = project.run(&[]).expect(6);
    let reset = jiff::Timestamp::from_second(calls(&project)[0] + 300).unwrap();
    let sentence = ran.one("loop_ended")["sentence"].clone();
    let expected = format!("the agent's usage limit is reached, it resets at {reset}");
    assert_eq!(sentence, expected);
}

#[test]
fn a_notice_in_words_alone_with_exit_zero_is_waited_for() {
    let notice = "You’ve hit your session limit · resets in 2s";
    let words = json!([{"do": "usageLimitText", "text": notice}]);
    let project = claude(one_story(), 0, &[words, good()]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A limit_hit", "A verified"]);
    assert_eq!(attempts(&ran), [1, 1]);
    assert_eq!(ran.one("waiting")["reason"], "usage_limit");
}

#[test]
fn any_program_that_prints_only_the_notice_is_at_its_limit() {
    let project = one_story().command(
        "if [ -f \"$HOME/been\" ]; then touch A.txt; echo Task A complete
         else touch \"$HOME/been\"; echo \"You've hit your limit · resets in 1s\"; fi",
    );
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A limit_hit", "A verified"]);
}

#[test]
fn the_same_words_in_a_file_that_the_agent_reads_or_in_its_answer_are_no_limit() {
    let notice = "You've hit your session limit · resets 9:07am (UTC)";
    let reads = json!([
        {"do": "write", "path": "A.txt", "text": notice},
        {"do": "run", "command": "cat A.txt"},
        {"do": "say", "text": format!("{notice}\n\nis what A.txt says now.\n\nTask A complete")},
    ]);
    let project = claude(one_story(), 0, &[reads]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn an_unknown_reset_is_tried_again_until_it_has_been_waited_for_long_enough() {
    let words = json!([{"do": "usageLimitText", "text": "You've hit your limit"}]);
    let config = "limits:\n  unknown_wait_minutes: 0.01\n  max_wait_minutes: 0.1\n";
    let project = claude(one_story(), 0, &[words]).config(config);
    let ran = project.run(&[]).expect(6);
    assert_eq!(ran.stop(), json!({"why": "usage_limit", "resetsAt": null}));
    let calls = calls(&project).len();
    assert!((2..=11).contains(&calls), "{calls}");
    assert_eq!(ran.one("loop_ended")["iterations"], 0);
}

#[test]
fn another_agent_goes_on_at_once_and_the_first_one_after_its_reset() {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let other = project.outside("other.sh");
    // It works until the limit of the first one is over.
    let shell = format!(
        "until=$(( $(head -n 1 '{calls}') + 4 ))
         while [ \"$(date +%s)\" -le \"$until\" ]; do sleep 0.1; done
         touch $RALPH_TASK_ID.txt; echo Task $RALPH_TASK_ID complete",
        calls = project.outside("claude/calls").display(),
    );
    write_program(&other, &shell);
    let config = format!(
        "limits:\n  on_usage_limit: fallback\n  fallback_agent: {{name: other, command: [\"{}\"], dialect: text}}\n",
        other.display()
    );
    let project = claude(project, 3, &[limited(), good()]).config(&config);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A limit_hit", "A verified", "B verified"]);
    assert_eq!(ran.named("waiting"), [Value::Null; 0]);
    let who = |n| record(&project, n)["runs"][0]["agent"].clone();
    assert_eq!([who(1), who(2), who(3)], ["claude", "other", "claude"]);
    let notices = ran.named("notice");
    let said = |words: &str| {
        notices
            .iter()
            .any(|n| n["message"].as_str().unwrap().contains(words))
    };
    assert!(
        said("other works until claude is tried again at "),
        "{notices:?}"
    );
    assert!(said("claude goes on again"), "{notices:?}");
}

#[test]
fn another_model_of_the_same_agent_goes_on() {
    let config = "limits:\n  on_usage_limit: fallback\n  fallback_model: haiku\n";
    let project = claude(one_story(), 3600, &[limited(), good()]).config(config);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A limit_hit", "A verified"]);
    let run = &record(&project, 2)["runs"][0];
    assert_eq!(run["agent"], "claude (haiku)");
    let command: Vec<&str> = run["command"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w.as_str().unwrap())
        .collect();
    assert!(
        command.windows(2).any(|two| two == ["--model", "haiku"]),
        "{command:?}"
    );
}

#[test]
fn when_the_other_one_is_used_up_too_it_waits() {
    let config = "limits:\n  on_usage_limit: fallback\n  fallback_model: haiku\n";
    let project = claude(one_story(), 3, &[limited(), limited(), good()]).config(config);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A limit_hit", "A limit_hit", "A verified"]);
    assert_eq!(ran.one("waiting")["reason"], "usage_limit");
    assert_eq!(record(&project, 3)["runs"][0]["agent"], "claude");
}

#[test]
fn a_fallback_without_anybody_is_refused_before_anything_begins() {
    let config = "limits:\n  on_usage_limit: fallback\n";
    let project = claude(one_story(), 0, &[good()]).config(config);
    let ran = project.run(&[]).expect(2);
    ran.says("limits.fallback_agent");
    assert!(calls(&project).is_empty());
}

#[test]
fn a_model_for_an_agent_that_takes_none_is_refused() {
    let config = "limits:\n  on_usage_limit: fallback\n  fallback_model: haiku\n";
    let project = one_story().config(config).script(&good_script());
    project.run(&[]).expect(2).says("takes no model");
}
