//! `ralph qa draft`: an agent writes a flow, and only one that passes three times in a row is kept.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::{PAGE, QaRan, Site};

const GOOD: &str = "\
name: greeting
description: A person is greeted by name.
steps:
  - navigate: /
  - type: {label: Name, text: Ada}
  - click: {role: button, name: Greet}
  - verify: {text: Hello Ada}
";

/// Runs a draft with a program as the agent: a line for the shell, whose input is the prompt.
fn draft(site: &Site, agent: &str, args: &[&str]) -> QaRan {
    let program = site.repo.outside().join("agent.sh");
    std::fs::write(&program, format!("#!/bin/sh\n{agent}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let agent = format!("command:{}", program.display());
    let mut all = vec!["draft"];
    all.extend(args);
    all.extend(["--agent", &agent]);
    site.qa(&all)
}

/// A program that answers with a flow, and keeps the prompt.
fn answers(site: &Site, flow: &str) -> String {
    let prompt = site.repo.outside().join("prompt.txt");
    format!(
        "cat > {}\ncat <<'END'\nHere it is.\n```yaml\n{flow}```\nEND",
        prompt.display()
    )
}

fn flow(site: &Site, name: &str) -> Option<String> {
    std::fs::read_to_string(site.repo.path(format!(".ralph/flows/{name}.yaml"))).ok()
}

#[test]
fn a_flow_that_passes_three_times_is_kept() {
    let site = Site::bare();
    let agent = answers(&site, GOOD);
    draft(&site, &agent, &["/", "--name", "greeting"])
        .expect(0)
        .prints(&["wrote  .ralph/flows/greeting.yaml", "Hello Ada"])
        .complains(&["run 1 of 3", "run 2 of 3", "run 3 of 3"]);
    assert_eq!(flow(&site, "greeting").as_deref(), Some(GOOD));
    let prompt = std::fs::read_to_string(site.repo.outside().join("prompt.txt")).unwrap();
    for part in ["path: /", "textbox \"Name\"", "button \"Greet\""] {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    site.assert_nothing_alive();
    // It is a person's now.
    draft(&site, &agent, &["/", "--name", "greeting"])
        .expect(2)
        .complains(&[
            "there is a flow already: .ralph/flows/greeting.yaml",
            "--force",
        ]);
}

#[test]
fn a_flow_that_fails_is_not_kept_and_can_be_found() {
    let site = Site::bare();
    let wrong = GOOD
        .replace("Hello Ada", "Goodbye Ada")
        .replace("steps:", "timeout: 1s\nsteps:");
    let agent = answers(&site, &wrong);
    draft(&site, &agent, &["/", "--name", "greeting"])
        .expect(4)
        .complains(&["the draft failed", ".ralph/logs/drafts/greeting.yaml"]);
    assert_eq!(flow(&site, "greeting"), None);
    assert_eq!(site.repo.read(".ralph/logs/drafts/greeting.yaml"), wrong);
    site.assert_nothing_alive();
}

#[test]
fn a_flow_that_passes_only_at_first_is_not_kept() {
    let site = Site::bare();
    // The page is another one from the third time on.
    let server = "i=$(cat runs 2>/dev/null || echo 0); echo $((i + 1)) > runs; \
        if [ $i -ge 3 ]; then cp other.html site/index.html; fi; \
        exec python3 -m http.server $PORT --bind 127.0.0.1 --directory site";
    let config = serde_json::json!({"qa": {"server": {"command": server}, "timeout": "2s"}});
    site.repo
        .file("ralph.yaml", config.to_string())
        .file("other.html", PAGE.replace("'Hello '", "'Bye '"));
    let agent = answers(&site, GOOD);
    draft(&site, &agent, &["/", "--name", "greeting"])
        .expect(4)
        .complains(&["the draft passed, then failed in run 3 of 3, and is not kept"]);
    assert_eq!(flow(&site, "greeting"), None);
}

#[test]
fn what_is_wrong_with_a_flow_is_sent_back_twice() {
    let site = Site::bare();
    let rounds = site.repo.outside().join("rounds");
    let prompts = site.repo.outside().join("prompts");
    let bad = GOOD.replace("navigate", "navigat");
    let shell = format!(
        "cat >> {prompts}; echo x >> {rounds}\n\
         if [ $(wc -l < {rounds}) -lt 3 ]; then\ncat <<'END'\n```yaml\n{bad}```\nEND\nelse\n\
         cat <<'END'\n```yaml\n{GOOD}```\nEND\nfi",
        prompts = prompts.display(),
        rounds = rounds.display()
    );
    draft(&site, &shell, &["/", "--name", "greeting"]).expect(0);
    let asked = std::fs::read_to_string(&prompts).unwrap();
    assert_eq!(asked.matches("Your last answer would not do").count(), 2);
    assert!(asked.contains("did you mean `navigate`?"), "{asked}");
    assert_eq!(flow(&site, "greeting").as_deref(), Some(GOOD));
}

#[test]
fn a_flow_that_never_reads_is_told_with_its_mistakes() {
    let site = Site::bare();
    let agent = answers(&site, &GOOD.replace("navigate: /", "fixture: rm -rf x"));
    draft(&site, &agent, &["/", "--name", "greeting"])
        .expect(4)
        .complains(&[
            "gave no flow that would do, in 3 rounds",
            "`fixture` is for a person to add",
            ".ralph/logs/draft-answer.txt",
        ]);
    assert_eq!(flow(&site, "greeting"), None);
}

#[test]
fn a_task_is_drafted_with_its_text_and_acceptance() {
    let site = Site::bare();
    let task = "tasks:\n  - id: US-1\n    title: Greet people\n    description: A page that greets.\n    \
        acceptance:\n      - it says Hello and the name\n    status: open\n";
    site.repo
        .file(".ralph/tasks/greet.yaml", task)
        .commit("task");
    let agent = answers(&site, &GOOD.replace("greeting", "us-1"));
    draft(&site, &agent, &["US-1"]).expect(0);
    let prompt = std::fs::read_to_string(site.repo.outside().join("prompt.txt")).unwrap();
    for part in [
        "Greet people",
        "A page that greets.",
        "- it says Hello and the name",
    ] {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    assert!(flow(&site, "us-1").is_some());
    draft(&site, &agent, &["US-7"])
        .expect(2)
        .complains(&["there is no task US-7"]);
}
