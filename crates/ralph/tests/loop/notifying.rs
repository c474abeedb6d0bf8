//! Messages to people who are away: which are sent, what is in them, what never is, and that a loop
//! neither waits for one nor fails by one. This file: by a command.

mod checking;
mod desktop;
mod server;
mod webhook;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, Ran, good_attempt, good_script, story, wait_until, write_program};

/// An agent that asks this at its first attempt at A, and does everything else.
fn asks(question: &str) -> Value {
    let said = format!(
        "<escalate type=\"blocker\">\n<summary>Stuck</summary>\n<context>None.</context>\n\
         <options>\n1. Yes\n</options>\n<question>{question}</question>\n</escalate>"
    );
    json!({"tasks": {"A": [{"do": [{"say": said}]}]}, "default": [good_attempt()]})
}

fn stories(ids: &[&str]) -> Project {
    let stories: Vec<Value> = ids.iter().map(|id| story(id)).collect();
    Project::with_stories(&stories)
}

/// Sends by a command that runs this, and has more of the configuration.
fn told_by(project: Project, shell: &str, more: &str) -> Project {
    let program = project.outside("tell");
    write_program(&program, shell);
    let config = format!("notify:\n  command: [{}]\n{more}", program.display());
    project.config(&config)
}

/// Sends by a command that keeps what it gets.
fn kept(project: Project, more: &str) -> Project {
    let file = project.outside("messages");
    told_by(project, &format!("cat >> {}", file.display()), more)
}

/// What the command got, with the loop's id and the time taken out, once they are looked at.
fn messages(project: &Project) -> Vec<Value> {
    let text = std::fs::read_to_string(project.outside("messages")).unwrap_or_default();
    let messages = text.lines().map(|line| {
        let mut message: Value = serde_json::from_str(line).unwrap();
        let at = message["at"].take();
        at.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let id = message["loopId"].take();
        assert_eq!(id.as_str().unwrap().len(), 36, "{id}");
        message
    });
    messages.collect()
}

fn events(project: &Project) -> Vec<String> {
    let all = messages(project);
    let words = all.iter().map(|m| m["event"].as_str().unwrap().to_owned());
    words.collect()
}

/// Warnings about messages, wherever they were said.
fn warnings(ran: &Ran) -> Vec<String> {
    let mut found: Vec<String> = ran
        .named("warning")
        .iter()
        .map(|event| event["message"].as_str().unwrap().to_owned())
        .collect();
    let stderr = ran.stderr();
    let said = stderr.lines().filter_map(|l| l.strip_prefix("warning: "));
    found.extend(said.map(str::to_owned));
    found.retain(|text| text.contains("message"));
    found
}

#[test]
fn a_question_and_the_halt_that_follows_are_told_word_for_word() {
    let project = kept(stories(&["A", "B"]), "").script(&asks("Which API version?"));
    let ran = project.run(&[]).expect(4);
    assert_eq!(
        messages(&project),
        [
            json!({
                "event": "escalation",
                "title": "ralph in repo: a question about task A",
                "text": "Which API version?",
                "hint": "`ralph answer 1` answers it, `ralph escalations` shows it whole",
                "task": "A", "loopId": null, "source": "prd.json", "branch": "ralph/work",
                "exitCode": null, "at": null,
            }),
            json!({
                "event": "halt",
                "title": "ralph in repo: halted",
                "text": "what is left waits for a person's answer (1 of 2 tasks complete)",
                "hint": "`ralph escalations` shows the questions, `ralph answer` answers; then \
                         `ralph run` goes on",
                "task": null, "loopId": null, "source": "prd.json", "branch": "ralph/work",
                "exitCode": 4, "at": null,
            }),
        ]
    );
    assert_eq!(warnings(&ran), [""; 0]);
    let trace = std::fs::read_to_string(project.repo.data_dir().join("notify.log")).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines.len(), 2, "{trace}");
    let program = project.outside("tell");
    let end = format!(
        " escalation command: {} ended with exit code 0",
        program.display()
    );
    assert!(lines[0].ends_with(&end), "{trace}");
}

#[test]
fn the_end_is_told_as_complete_or_as_a_limit() {
    let project = kept(stories(&["A"]), "").script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(
        messages(&project),
        [json!({
            "event": "complete",
            "title": "ralph in repo: complete",
            "text": "all tasks are complete (1 of 1 tasks complete)",
            "hint": null,
            "task": null, "loopId": null, "source": "prd.json", "branch": "ralph/work",
            "exitCode": 0, "at": null,
        })]
    );
    let project = kept(stories(&["A", "B"]), "").script(&good_script());
    project.run(&["--max-iterations=1"]).expect(3);
    assert_eq!(
        messages(&project),
        [json!({
            "event": "limit",
            "title": "ralph in repo: stopped at a limit",
            "text": "the limit of one iteration is reached (1 of 2 tasks complete)",
            "hint": "`ralph run` goes on; `--max-iterations N` allows more",
            "task": null, "loopId": null, "source": "prd.json", "branch": "ralph/work",
            "exitCode": 3, "at": null,
        })]
    );
}

#[test]
fn the_budget_is_told_once_while_the_agent_runs_and_the_limit_when_it_is_reached() {
    let spends = |usd: &[f64], more: Value| {
        let mut actions = vec![json!({"write": {"path": "{id}.txt", "text": "x\n"}})];
        let cost = |usd| json!({"usage": {"input": 1, "output": 1, "cost": usd}});
        actions.extend(usd.iter().map(cost));
        actions.push(more);
        json!({"default": [{"do": actions}]})
    };
    let project = kept(stories(&["A", "B"]), "").script(&spends(&[0.5, 0.3, 0.1], json!("hang")));
    let live = project.start(&["--max-cost=1"]);
    // The agent still runs when the message is there.
    wait_until("the alert", || !messages(&project).is_empty());
    live.signal(Signal::TERM);
    live.wait().expect(143);
    assert_eq!(
        messages(&project),
        [json!({
            "event": "budget_alert",
            "title": "ralph in repo: 80 % of the budget is spent",
            "text": "$0.80 of $1.00 are spent",
            "hint": "the loop stops at its limit; `loop.max_cost_usd` sets it",
            "task": null, "loopId": null, "source": "prd.json", "branch": "ralph/work",
            "exitCode": null, "at": null,
        })]
    );
    // Over three iterations, at another share, and once.
    let claim = json!({"say": "Task {id} complete"});
    let project = kept(
        stories(&["A", "B", "C", "D"]),
        "  budget_alert_percent: 50\n",
    )
    .script(&spends(&[0.3], claim));
    project.run(&["--max-cost=1"]).expect(5);
    assert_eq!(events(&project), ["budget_alert", "limit"]);
    assert_eq!(messages(&project)[0]["text"], "$0.60 of $1.00 are spent");
}

#[test]
fn a_wait_for_a_usage_limit_is_told_when_it_begins() {
    let project = kept(stories(&["A"]), "");
    let made = std::fs::metadata(project.repo.root()).unwrap().modified();
    let made = made.unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    let in_an_hour = made.as_secs() + 3600;
    let limited = json!({"do": "rateLimited", "resetsAt": in_an_hour});
    let project = project.claude(&json!({"default": [limited]}));
    let mut live = project.start(&[]);
    live.wait_for("waiting");
    wait_until("the message", || !messages(&project).is_empty());
    live.signal(Signal::TERM);
    live.wait().expect(143);
    let messages = messages(&project);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0]["event"], "limit");
    assert_eq!(
        messages[0]["title"],
        "ralph in repo: waits for a usage limit"
    );
}

#[test]
fn only_what_is_asked_for_is_told() {
    let more = "  on: [halt, complete]\n";
    let project = kept(stories(&["A", "B"]), more).script(&asks("?"));
    project.run(&[]).expect(4);
    assert_eq!(events(&project), ["halt"]);
}

#[test]
fn a_question_that_is_still_open_is_told_again_by_the_next_run_and_once() {
    let project = kept(stories(&["A", "B"]), "  on: [escalation]\n").script(&asks("?"));
    project.run(&[]).expect(4);
    project.run(&[]).expect(4);
    assert_eq!(events(&project), ["escalation", "escalation"]);
}

#[test]
fn secrets_are_in_no_message() {
    let key = format!("ghp_{}", "a1B2".repeat(10));
    let pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhk\n-----END PRIVATE KEY-----";
    let question = format!("Use {key} or correct-horse, or hush-hush, or {pem}?");
    let more = "claude:\n  env: {OWN: hush-hush}\n";
    let project = kept(stories(&["A", "B"]), more)
        .script(&asks(&question))
        .env("DEPLOY_TOKEN", "correct-horse");
    project.run(&[]).expect(4);
    assert_eq!(
        messages(&project)[0]["text"],
        "Use [redacted] or [redacted], or [redacted], or [redacted]?"
    );
}

#[test]
fn the_command_has_the_parts_in_its_environment_and_no_credentials() {
    let project = stories(&["A", "B"]);
    let (seen, folder) = (project.outside("seen"), project.outside("folder"));
    let shell = format!(
        "[ $RALPH_NOTIFY_EVENT = escalation ] || exit 0\npwd > {}\nenv > {}",
        folder.display(),
        seen.display()
    );
    let project = told_by(project, &shell, "  webhook_token_env: HOOK\n")
        .script(&asks("Which one?"))
        .env("DEPLOY_TOKEN", "correct-horse")
        .env("HOOK", "battery-staple")
        .env("PLAIN", "1");
    let ran = project.run(&[]).expect(4);
    let env = std::fs::read_to_string(&seen).unwrap();
    let id = ran.one("loop_started")["loopId"]
        .as_str()
        .unwrap()
        .to_owned();
    for line in [
        "RALPH_NOTIFY_EVENT=escalation",
        "RALPH_NOTIFY_TITLE=ralph in repo: a question about task A",
        "RALPH_NOTIFY_TEXT=Which one?",
        "RALPH_NOTIFY_TASK=A",
        &format!("RALPH_NOTIFY_LOOP={id}"),
        "PLAIN=1",
    ] {
        assert!(env.lines().any(|found| found == line), "{line}: {env}");
    }
    for name in ["DEPLOY_TOKEN", "HOOK", "RALPH_DATA_DIR"] {
        assert!(!env.contains(&format!("{name}=")), "{name}: {env}");
    }
    assert_eq!(std::fs::read_to_string(&folder).unwrap(), "/\n");
}

#[test]
fn the_token_of_a_webhook_is_not_the_agents() {
    let project = stories(&["A"]);
    let seen = project.outside("seen");
    let shell = format!(
        "cat > /dev/null; env > {}; echo x > A.txt; echo Task A complete",
        seen.display()
    );
    let project = project
        .config("notify:\n  webhook_token_env: HOOK\n")
        .command(&shell)
        .env("HOOK", "battery-staple");
    project.run(&[]).expect(0);
    let env = std::fs::read_to_string(&seen).unwrap();
    assert!(env.contains("RALPH_TASK_ID=A"), "{env}");
    assert!(!env.contains("battery-staple"), "{env}");
}

#[test]
fn a_command_that_fails_is_said_once_and_changes_nothing() {
    let shell = "echo the phone is off >&2; exit 3";
    let project = told_by(stories(&["A", "B"]), shell, "").script(&asks("?"));
    let ran = project.run(&[]).expect(4);
    let program = project.outside("tell");
    let expected = format!(
        "a message by command was not sent: {} ended with exit code 3: the phone is off",
        program.display()
    );
    assert_eq!(warnings(&ran), [expected]);
    assert_eq!(ran.verdicts(), ["A escalated", "B verified"]);
    let trace = std::fs::read_to_string(project.repo.data_dir().join("notify.log")).unwrap();
    assert_eq!(trace.matches(" command: failed: ").count(), 2, "{trace}");
}

#[test]
fn a_command_that_is_not_there_is_said_and_changes_nothing() {
    let config = "notify:\n  command: [no-such-teller]\n";
    let project = stories(&["A"]).config(config).script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(
        warnings(&ran),
        ["a message by command was not sent: program not found: no-such-teller"]
    );
}

#[test]
fn a_command_that_hangs_or_floods_is_killed_with_all_it_started() {
    for shell in [
        "setsid sleep 600 & sleep 600",
        "trap '' TERM INT; while :; do echo flood; done",
        "sleep 600 > /dev/null 2>&1 &\nexec sleep 600",
    ] {
        let project =
            told_by(stories(&["A"]), shell, "  timeout_seconds: 1\n").script(&good_script());
        let ran = project.run(&[]).expect(0);
        let program = project.outside("tell");
        let expected = format!(
            "a message by command was not sent: {} took longer than 1 s",
            program.display()
        );
        assert_eq!(warnings(&ran), [expected], "{shell}");
        project.assert_nothing_alive();
    }
}

#[test]
fn a_command_that_hangs_does_not_hold_up_the_loop() {
    let project = stories(&["A", "B"]);
    let begun = project.outside("begun");
    let shell = format!("echo x >> {}; exec sleep 600", begun.display());
    let project = told_by(
        project,
        &shell,
        "  on: [escalation]\n  timeout_seconds: 600\n",
    )
    .script(&asks("?"));
    let mut live = project.start(&[]);
    // The whole loop goes by while the message about its first task is under way.
    live.wait_for("loop_ended");
    wait_until("the message", || begun.exists());
    // Who is there need not wait for it.
    live.signal(Signal::TERM);
    let ran = live.wait().expect(4);
    assert_eq!(ran.verdicts(), ["A escalated", "B verified"]);
    assert_eq!(
        warnings(&ran),
        ["messages by command that were under way are given up"]
    );
    project.assert_nothing_alive();
}

#[test]
fn an_agent_can_not_say_who_is_told() {
    let project = stories(&["A"]);
    let planted = project.outside("planted");
    let edit = format!("notify:\n  command: [touch, {}]\n", planted.display());
    let project = kept(project, "").script(&json!({"default": [{"do": [
        {"write": {"path": "ralph.yaml", "text": edit}},
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"say": "Task A complete"},
    ]}]}));
    project.run(&[]);
    assert!(!planted.exists());
    assert_eq!(events(&project).len(), 1, "{:?}", messages(&project));
    assert!(!project.repo.read("ralph.yaml").contains("touch"));
}

#[test]
fn an_error_of_ralphs_own_is_told_as_a_halt() {
    let project = stories(&["A"]).in_place();
    let shell = "cat > /dev/null; mv .git .git2; mkdir .git; echo x > A.txt; echo Task A complete";
    let project = kept(project, "").command(shell);
    project.run(&[]).expect(1);
    let messages = messages(&project);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0]["event"], "halt");
    let text = messages[0]["text"].as_str().unwrap();
    assert!(text.contains("ralph can't go on: "), "{text}");
}
