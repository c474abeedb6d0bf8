//! `ralph doctor`.

use std::path::Path;

use ralph_engine::lock::{Lock, LockUse};
use ralph_testkit::{TestRepo, agents};
use serde_json::{Value, json};

use crate::support::{Ran, ralph, ralph_with, shop};

/// A repository in which nothing is wrong: a scripted agent, a verify command that is there.
fn healthy() -> TestRepo {
    let repo = shop();
    repo.file("agent.yaml", "default:\n  - do: [{say: hello}]\n");
    repo.file(
        "ralph.yaml",
        "agent: script:agent.yaml\nverification:\n  commands: [[\"true\"]]\n",
    );
    repo.commit("set up");
    repo
}

fn checks(ran: &Ran, name: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let checks = report["checks"].as_array().unwrap().clone();
    checks.into_iter().filter(|c| c["name"] == name).collect()
}

fn only(ran: &Ran, name: &str) -> Value {
    let mut found = checks(ran, name);
    assert_eq!(found.len(), 1, "{name}: {ran:?}");
    found.remove(0)
}

#[test]
fn a_model_without_a_price_is_warned_of_and_one_by_its_family_is_noted() {
    let repo = shop();
    repo.file(
        "ralph.yaml",
        "agent: claude\nclaude: {model: unheard-of, models: {ui: claude-opus-7, docs: claude-opus-4-8}}\n",
    );
    let said = |ran: &Ran| -> Vec<(Value, String)> {
        let message = |check: &Value| check["message"].as_str().unwrap().to_owned();
        let prices = checks(ran, "prices");
        prices
            .iter()
            .map(|c| (c["state"].clone(), message(c)))
            .collect()
    };
    assert_eq!(
        said(&ralph(&repo, &["doctor", "--json"])),
        [
            (
                json!("note"),
                "there is no price for claude-opus-7: its cost is estimated by its family; \
                 `economics.prices` sets one"
                    .to_owned()
            ),
            (
                json!("warning"),
                "there is no price for unheard-of: unless its agent tells it, what it costs is not \
                 known; `economics.prices` sets one"
                    .to_owned()
            ),
        ]
    );
    repo.file(
        "ralph.yaml",
        "agent: claude\nclaude: {model: claude-sonnet-5}\n",
    );
    assert_eq!(
        said(&ralph(&repo, &["doctor", "--json"])),
        [(
            json!("ok"),
            "claude-sonnet-5 known; 86 prices as of 2026-11-16".to_owned()
        )]
    );
}

#[test]
fn the_json_contract() {
    let repo = healthy();
    let ran = ralph(&repo, &["doctor", "--json"]);
    let report = ran.json(0);
    assert_eq!(report["ok"], true);
    let names: Vec<&str> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    let expected = [
        "git",
        "identity",
        "repository",
        "tree",
        "config",
        "tasks",
        "verify",
        "lock",
        "agent",
        "user",
        "platform",
        "containment",
        "sandbox",
        "workspace",
        "data",
        "disk",
    ];
    assert_eq!(names[..expected.len()], expected);
    assert_eq!(
        only(&ran, "identity"),
        json!({
            "name": "identity", "state": "ok",
            "message": "commits as Test Person <person@test.invalid>", "hint": null
        })
    );
    let sandbox = only(&ran, "sandbox");
    assert_eq!(sandbox["state"], "ok");
    let said = sandbox["message"].as_str().unwrap();
    let expected = "on, by namespaces, and programs do not run as root (namespaces: it works";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(only(&ran, "user")["state"], "note");
    assert_eq!(
        only(&ran, "tasks")["message"],
        "3 tasks in prd.json, 1 ready"
    );
}

#[test]
fn the_text_has_a_line_a_check_and_a_sum() {
    let repo = healthy();
    let text = ralph(&repo, &["doctor"]).text(0).to_owned();
    assert!(text.contains("ok    repository   on main\n"), "{text}");
    assert!(text.contains("ok    verify       `true`\n"), "{text}");
    assert!(text.contains("\n0 problems, "), "{text}");
}

#[test]
fn what_is_missing_is_a_problem_with_a_way_out() {
    let repo = shop();
    repo.file(
        "ralph.yaml",
        "agent: command:no-such-agent\nverification:\n  commands: [[\"no-such-tool\", \"x\"], \"no-such-line y\"]\n",
    );
    let ran = ralph(&repo, &["doctor", "--json"]);
    assert_eq!(ran.json(2)["ok"], false);
    assert_eq!(
        only(&ran, "agent"),
        json!({
            "name": "agent", "state": "problem", "message": "no-such-agent is not on the PATH",
            "hint": "install it, or correct `agent` in ralph.yaml"
        })
    );
    let verify = checks(&ran, "verify");
    assert_eq!(verify[0]["state"], "problem");
    assert_eq!(verify[1]["state"], "warning", "a shell may know it");
}

#[test]
fn a_program_that_only_the_repository_has_is_not_found() {
    let repo = healthy();
    repo.script("bin/own-tool", "#!/bin/sh\n");
    repo.file("ralph.yaml", "agent: command:own-tool\n");
    let path = format!(
        "{}:{}",
        repo.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let ran = ralph_with(&repo, &["doctor", "--json"], &[("PATH", &path)]);
    assert_eq!(only(&ran, "agent")["state"], "problem");
}

#[test]
fn claude_is_asked_for_its_version_with_the_configured_command() {
    let repo = healthy();
    let tools = repo.outside().join("tools");
    std::fs::create_dir(&tools).unwrap();
    write_tool(&tools.join("my-claude"), "#!/bin/sh\necho \"9.9.9 ($*)\"\n");
    repo.file(
        "ralph.yaml",
        "claude:\n  command: [\"my-claude\", \"-x\"]\n",
    );
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let ran = ralph_with(&repo, &["doctor", "--json"], &[("PATH", &path)]);
    assert_eq!(
        only(&ran, "agent"),
        json!({
            "name": "agent", "state": "ok", "message": "claude: 9.9.9 (-x --version)", "hint": null
        })
    );
    write_tool(
        &tools.join("my-claude"),
        "#!/bin/sh\necho broken >&2\nexit 3\n",
    );
    let ran = ralph_with(&repo, &["doctor", "--json"], &[("PATH", &path)]);
    assert_eq!(
        only(&ran, "agent")["message"],
        "`my-claude -x --version` fails: exit status: 3 broken"
    );
}

#[test]
fn an_older_claude_is_told_and_its_way_out() {
    let (repo, path) = with_tools(
        "agent: claude\n",
        &[("claude", "#!/bin/sh\necho '2.0.14 (Claude Code)'\n")],
    );
    let ran = ralph_with(&repo, &["doctor", "--json"], &[("PATH", &path)]);
    assert_eq!(
        only(&ran, "agent"),
        json!({
            "name": "agent", "state": "warning",
            "message": "claude: 2.0.14 (Claude Code) is older than 2.1, the oldest that ralph was tried with",
            "hint": "`claude update`, or `npm install -g @anthropic-ai/claude-code`"
        })
    );
}

/// A Pi as npm installs it: a script that the first Node on the PATH runs.
const PI_SCRIPT: &str = "#!/usr/bin/env node\n1.5.0\n";

/// A Node of a version, which prints what a script has on its second line.
fn node(version: &str) -> String {
    format!("#!/bin/sh\ncase $1 in --version) echo {version} ;; *) sed -n 2p \"$1\" ;; esac\n")
}

#[test]
fn pi_under_its_old_name_is_a_trap_that_is_named() {
    let pi = PI_SCRIPT.replace("1.5.0", "0.73.1");
    let (repo, path) = with_tools("agent: pi\n", &[("pi", &pi), ("node", &node("v22.20.0"))]);
    let ran = ralph_with(&repo, &["doctor", "--json"], &[("PATH", &path)]);
    assert_eq!(ran.code, 2);
    let agent = only(&ran, "agent");
    assert_eq!(agent["state"], "problem");
    let message = agent["message"].as_str().unwrap();
    assert!(message.starts_with("pi: 0.73.1 is too old: "), "{message}");
    assert!(
        message.contains("@mariozechner/pi-coding-agent stops at 0.73.1"),
        "{message}"
    );
    assert_eq!(
        agent["hint"],
        "`npm uninstall -g @mariozechner/pi-coding-agent`, then `npm install -g @earendil-works/pi-coding-agent`"
    );
    assert_eq!(only(&ran, "node")["state"], "ok");
}

#[test]
fn the_node_that_pi_would_get_is_looked_at() {
    let with_node = |script: &str| {
        let (repo, path) = with_tools("agent: pi\n", &[("pi", PI_SCRIPT), ("node", script)]);
        ralph_with(&repo, &["doctor", "--json"], &[("PATH", &path)])
    };
    let ran = with_node(&node("v22.19.0"));
    assert_eq!(only(&ran, "agent")["message"], "pi: 1.5.0");
    assert_eq!(only(&ran, "node")["message"], "node: v22.19.0");
    let ran = with_node(&node("v20.11.1"));
    assert_eq!(ran.code, 2);
    assert_eq!(
        only(&ran, "node"),
        json!({
            "name": "node", "state": "problem",
            "message": "node: v20.11.1 is too old: Pi needs 22.19 or later",
            "hint": "install a newer Node.js, and put it first on the PATH"
        })
    );
}

#[test]
fn the_real_agents_are_in_order() {
    let repo = healthy();
    for (agent, program) in [("claude", agents::claude()), ("pi", agents::pi())] {
        let program = program.display();
        repo.file(
            "ralph.yaml",
            format!("agent: {agent}\n{agent}:\n  command: [\"{program}\"]\n"),
        );
        let found = only(&ralph(&repo, &["doctor", "--json"]), "agent");
        assert_eq!(found["state"], "ok", "{found}");
        let message = found["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{agent}: ")), "{message}");
    }
}

#[test]
fn a_program_of_the_users_is_looked_for_and_never_started() {
    let mine = "#!/bin/sh\ntouch started\n";
    let config = "agent: {name: mine, command: [my-agent], dialect: DIALECT}\n";
    let (repo, path) = with_tools(&config.replace("DIALECT", "claude"), &[("my-agent", mine)]);
    let doctor = || ralph_with(&repo, &["doctor", "--json"], &[("PATH", &path)]);
    let ran = doctor();
    let found = only(&ran, "agent");
    assert_eq!(found["state"], "ok", "{found}");
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("mine reads as claude: /"), "{message}");
    assert_eq!(
        only(&ran, "permissions")["message"],
        "mine runs without permission checks: it can do what you can"
    );
    assert!(!repo.exists("started"));
    repo.file("ralph.yaml", config.replace("DIALECT", "clade"));
    let found = only(&doctor(), "agent");
    assert_eq!(found["state"], "problem");
    let message = found["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "mine: its dialect is no agent's: unknown agent `clade`; did you mean `claude`?"
        ),
        "{message}"
    );
    repo.file("ralph.yaml", "agent: clade\n");
    assert_eq!(only(&doctor(), "agent")["state"], "problem");
}

/// A repository with this configuration, and a PATH on which these programs come first.
fn with_tools(config: &str, tools: &[(&str, &str)]) -> (TestRepo, String) {
    let repo = healthy();
    repo.file("ralph.yaml", config);
    let folder = repo.outside().join("tools");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in tools {
        write_tool(&folder.join(name), text);
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    (repo, path)
}

fn write_tool(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_state_of_the_repository_is_told() {
    let repo = healthy();
    repo.file("README.md", "changed\n");
    repo.file("prd.json", repo.read("prd.json") + "\n");
    let tree = only(&ralph(&repo, &["doctor", "--json"]), "tree");
    assert_eq!(tree["state"], "warning");
    assert_eq!(tree["message"], "changes that are not committed: README.md");
    repo.git(["checkout", "-q", "."]);
    repo.git(["checkout", "-q", "--detach"]);
    let ran = ralph(&repo, &["doctor", "--json"]);
    assert_eq!(only(&ran, "repository")["message"], "HEAD is on no branch");
    repo.file(".git/MERGE_HEAD", repo.head());
    let ran = ralph(&repo, &["doctor", "--json"]);
    assert_eq!(
        only(&ran, "repository"),
        json!({
            "name": "repository", "state": "problem", "message": "a merge is under way",
            "hint": "finish it, or `git merge --abort`"
        })
    );
}

#[test]
fn nobody_who_commits_no_commit_and_no_repository_are_problems() {
    let repo = TestRepo::unborn();
    std::fs::write(repo.home().join(".gitconfig"), "").unwrap();
    let ran = ralph(&repo, &["doctor", "--json"]);
    assert_eq!(only(&ran, "identity")["state"], "problem");
    assert_eq!(
        only(&ran, "repository")["message"],
        "there is no commit yet"
    );
    let folder = TestRepo::bare_folder();
    let ran = ralph(&folder, &["doctor", "--json"]);
    assert_eq!(ran.code, 2);
    assert_eq!(only(&ran, "repository")["state"], "problem");
}

#[test]
fn a_configuration_that_is_wrong_is_one_of_the_checks() {
    let repo = healthy();
    repo.file("ralph.yaml", "lop: {}\n");
    let ran = ralph(&repo, &["doctor", "--json"]);
    assert_eq!(ran.code, 2);
    let config = only(&ran, "config");
    assert!(
        config["message"]
            .as_str()
            .unwrap()
            .contains("unknown key `lop`"),
        "{config}"
    );
    repo.file(
        "ralph.yaml",
        "agent: script:agent.yaml\ngit: {sign_off: true}\n",
    );
    let ran = ralph(&repo, &["doctor", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(checks(&ran, "config")[1]["state"], "warning");
}

#[test]
fn a_wrong_graph_and_another_ralph_are_told() {
    let repo = healthy();
    repo.file(
        "prd.json",
        r#"[{"id":"A","title":"a","passes":false,"dependsOn":["A"]}]"#,
    );
    let _lock = Lock::acquire(&repo.data_dir(), repo.root(), LockUse::Loop).unwrap();
    let ran = ralph(&repo, &["doctor", "--json"]);
    assert_eq!(
        only(&ran, "tasks")["message"],
        "prd.json: task A depends on itself"
    );
    assert_eq!(only(&ran, "lock")["state"], "warning");
}

#[test]
fn a_broken_script_is_told_and_a_data_folder_that_is_none() {
    let repo = healthy();
    repo.file("agent.yaml", "default: [{dance: 1}]\n");
    let file = repo.path("README.md");
    let ran = ralph_with(
        &repo,
        &["doctor", "--json"],
        &[("RALPH_DATA_DIR", file.to_str().unwrap())],
    );
    assert_eq!(only(&ran, "agent")["state"], "problem");
    assert_eq!(only(&ran, "data")["state"], "problem");
}

#[test]
fn the_fallback_is_checked_as_the_agent_is() {
    let repo = healthy();
    let with = |limits: &str| {
        let agent = "agent: script:agent.yaml\n";
        repo.file("ralph.yaml", format!("{agent}limits: {{{limits}}}\n"));
        ralph(&repo, &["doctor", "--json"])
    };
    let on = "on_usage_limit: fallback";
    let missing = with(&format!("{on}, fallback_agent: \"command:no-such-agent\""));
    assert_eq!(missing.code, 2);
    assert_eq!(
        only(&missing, "fallback"),
        json!({
            "name": "fallback", "state": "problem", "message": "no-such-agent is not on the PATH",
            "hint": "install it, or correct `limits.fallback_agent` in ralph.yaml"
        })
    );
    assert_eq!(only(&missing, "agent")["state"], "ok");
    let found = with(&format!("{on}, fallback_agent: \"command:true\""));
    assert_eq!(found.code, 0);
    assert_eq!(only(&found, "fallback")["state"], "ok");
    let no_model = with(&format!("{on}, fallback_model: haiku"));
    assert_eq!(no_model.code, 2);
    assert_eq!(only(&no_model, "fallback")["state"], "problem");
    let unused = with("fallback_agent: \"command:no-such-agent\"");
    assert_eq!(unused.code, 0);
    assert_eq!(only(&unused, "fallback")["state"], "note");
    assert!(checks(&with(""), "fallback").is_empty());
}

#[test]
fn variables_whose_values_cant_be_hidden_are_named_without_their_values() {
    let repo = healthy();
    let vars = [
        ("DEPLOY_TOKEN", "hush"),
        ("DB_PASSWORD", "postgres"),
        ("NPM_TOKEN", "long-enough-1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
    ];
    let ran = ralph_with(&repo, &["doctor", "--json"], &vars);
    let check = only(&ran, "secrets");
    assert_eq!(check["state"], "note");
    let message = check["message"].as_str().unwrap();
    assert!(message.ends_with("DB_PASSWORD, DEPLOY_TOKEN"), "{message}");
    assert!(!ran.out.contains("hush"), "{}", ran.out);
    let ran = ralph_with(&repo, &["doctor", "--json"], &vars[2..]);
    assert!(checks(&ran, "secrets").is_empty());
}

#[test]
fn each_means_of_a_sandbox_is_tried_and_said() {
    let repo = healthy();
    let check = only(&ralph(&repo, &["doctor", "--json"]), "sandbox");
    let said = check["message"].as_str().unwrap();
    assert!(said.starts_with("on, by namespaces"), "{said}");
    assert!(said.contains("namespaces: it works"), "{said}");
    assert!(said.contains("bwrap: it works"), "{said}");
    let is_root = rustix::process::geteuid().is_root();
    let landlock = said.split("Landlock: ").nth(1).unwrap();
    assert_eq!(landlock.contains("root"), is_root, "{said}");
    assert_eq!(landlock.starts_with("it works"), !is_root, "{said}");
}
