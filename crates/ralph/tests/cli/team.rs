//! `ralph team`, with a real server and journals of two machines.

use ralph_core::{
    dollars::Dollars,
    economics::{Caller, ModelCall, Prices, Tokens, account},
    termination::Stop,
    verdict::Verdict,
};
use ralph_engine::store::TokenUsage;
use ralph_testkit::TestRepo;
use serde_json::{Value, json};

use crate::{
    support::{Written, failed, ralph_with, shop},
    team_ground::{TeamServer, synced},
};

/// A machine with one loop that has ended, and one that has not.
fn worked(name: &str) -> TestRepo {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", &format!("{name}-1"));
    past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    past.iteration(("US-002", "Show the cart", 1), failed(), |_, _| {});
    past.end(&Stop::AllComplete);
    Written::begin(&repo, "prd.json", &format!("{name}-2"));
    repo
}

#[test]
fn loops_of_all_machines_are_seen_by_each_and_those_of_another_tenant_by_none() {
    let server = TeamServer::with_tenants(&["acme", "evil"]);
    let (ada, eve) = (
        server.role("ada", Some("acme")),
        server.role("eve", Some("evil")),
    );
    let (a, b, c) = (worked("A"), worked("B"), worked("C"));
    for (machine, url, tenant) in [(&a, &ada, "acme"), (&b, &ada, "acme"), (&c, &eve, "evil")] {
        ralph_with(machine, &["sync"], &synced(url, tenant)).text(0);
    }
    let ids = |machine: &TestRepo, url: &str, tenant: &str, args: &[&str]| -> Vec<String> {
        let args = [&["team", "loops", "--json"], args].concat();
        let listed = ralph_with(machine, &args, &synced(url, tenant)).json(0);
        let loops = listed["loops"].as_array().unwrap();
        let mut ids: Vec<String> = loops
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&b, &ada, "acme", &[]), ["A-1", "A-2", "B-1", "B-2"]);
    assert_eq!(ids(&b, &ada, "acme", &["--open"]), ["A-2", "B-2"]);
    assert_eq!(ids(&c, &eve, "evil", &[]), ["C-1", "C-2"]);
    assert_eq!(ids(&b, &ada, "acme", &["--since", "1h"]), [""; 0]);
    assert_eq!(ids(&b, &ada, "acme", &["--most", "1"]).len(), 1);
    // The role of one tenant can't ask for another.
    let said = ralph_with(&a, &["team", "loops"], &synced(&ada, "evil"));
    assert!(
        said.error(2).contains("has no tenant evil for ada"),
        "{said:?}"
    );
    for what in ["questions", "checkpoints", "cost", "machines"] {
        let said = ralph_with(&c, &["team", what, "--json"], &synced(&eve, "evil"));
        let said = said.json(0).to_string();
        assert!(!said.contains("A-") && !said.contains("B-"), "{said}");
    }
}

#[test]
fn a_loop_is_shown_with_its_machine_and_what_it_came_to() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", Some("acme"));
    let a = worked("A");
    let vars = synced(&ada, "acme");
    ralph_with(&a, &["sync"], &vars).text(0);
    let listed = ralph_with(&a, &["team", "loops", "--json", "--most", "50"], &vars).json(0);
    let loops = listed["loops"].as_array().unwrap();
    let one = loops.iter().find(|one| one["id"] == "A-1").unwrap();
    let expected = json!({
        "state": "completed", "repository": "repo", "worktree": a.root(), "source": "prd.json", "goal": "Shop",
        "branch": "ralph/shop", "iterations": 2, "verified": 1, "costUsd": 0.5, "inputTokens": 2000,
        "outputTokens": 400, "reason": "goal_achieved", "startedAt": "2026-01-02T03:00:00Z",
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&one[key], value, "{key}: {one}");
    }
    let text = ralph_with(&a, &["team", "loops"], &vars);
    assert!(
        text.text(0).lines().all(|line| line.chars().count() <= 80),
        "{text:?}"
    );
    let overview = ralph_with(&a, &["team", "--json"], &vars).json(0);
    assert_eq!(overview["openLoops"], 1);
    assert_eq!(overview["machines"].as_array().unwrap().len(), 1);
    let text = ralph_with(&a, &["team"], &vars);
    assert!(
        text.text(0)
            .starts_with("tenant acme: 1 machine, 1 open loop, 0 open questions, "),
        "{text:?}"
    );
}

#[test]
fn what_is_told_to_no_loop_or_to_several_is_refused_with_a_way_out() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", Some("acme"));
    let (a, b) = (worked("A"), worked("B"));
    let vars = synced(&ada, "acme");
    for machine in [&a, &b] {
        ralph_with(machine, &["sync"], &vars).text(0);
    }
    let run = |args: &[&str]| ralph_with(&b, args, &vars);
    let none = run(&["team", "pause", "X"]);
    let said = none.error(2);
    assert!(
        said.starts_with("error: the team has no loop X\nhint: `ralph team loops` lists them"),
        "{said}"
    );
    let several = run(&["team", "pause", "A"]);
    let said = several.error(2);
    assert!(
        said.starts_with("error: more than one loop has an id that begins with \"A\"\nhint: "),
        "{said}"
    );
    let ended = run(&["team", "say", "A-1", "Hello"]);
    assert!(
        ended.error(2).starts_with("error: loop A-1 has ended\n"),
        "{ended:?}"
    );
    let empty = run(&["team", "say", "A-2", " "]);
    assert_eq!(empty.error(2), "error: what is to be said is empty\n");
    let no_question = run(&["team", "answer", "7", "yes"]);
    assert_eq!(
        no_question.error(2),
        "error: the team has no open question 7\nhint: `ralph team questions` lists them\n"
    );
}

/// Where no loop runs, a command waits: on the server until the machine syncs, then in its queue.
#[test]
fn a_command_for_a_machine_that_is_away_waits_for_its_next_sync() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", Some("acme"));
    let (a, b) = (worked("A"), shop());
    let vars = synced(&ada, "acme");
    ralph_with(&a, &["sync"], &vars).text(0);
    let told = ralph_with(&b, &["team", "say", "A-2", "Use v2", "--json"], &vars).json(0);
    assert_eq!(told["state"], "waiting");
    assert!(told["lastSeen"].is_string(), "{told}");
    let taken = ralph_with(&a, &["sync", "--json"], &vars).json(0);
    assert_eq!(taken["commands"], json!([a.root()]));
    let again = ralph_with(&a, &["sync", "--json"], &vars).json(0);
    assert_eq!(again["commands"], json!([]), "it is taken once");
    let waiting = std::process::Command::new("sqlite3")
        .arg(a.data_dir().join("ralph.db"))
        .arg("SELECT who, body FROM command WHERE done_at IS NULL")
        .output()
        .unwrap();
    let waiting = String::from_utf8(waiting.stdout).unwrap();
    let (who, body) = waiting.trim().split_once('|').unwrap();
    assert!(who.contains('@'), "{who}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["text"], "Use v2");
}

/// One call, of which the agent says what it cost.
fn used(model: &str, usd: f64) -> TokenUsage {
    let call = ModelCall {
        model: Some(model.into()),
        caller: Caller::Agent,
        tokens: Tokens {
            input: 1_000,
            output: 200,
            ..Tokens::default()
        },
        told: None,
    };
    let prices = Prices::with(&Default::default());
    TokenUsage {
        records: account((1, "claude"), &[call], Some(Dollars::told(usd)), &prices),
        tool_calls: 1,
    }
}

#[test]
fn costs_are_summed_up_over_machines() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", Some("acme"));
    let vars = synced(&ada, "acme");
    let (a, b) = (shop(), shop());
    let task = ("US-001", "Add a cart", 1);
    Written::begin(&a, "prd.json", "A").accounted(task, &used("claude-opus-4-8", 2.0));
    Written::begin(&b, "prd.json", "B").accounted(task, &used("claude-haiku-4-5", 1.0));
    for machine in [&a, &b] {
        ralph_with(machine, &["sync"], &vars).text(0);
    }
    let by = |what: &str| {
        let args = ["team", "cost", "--all", "--json", "--by", what];
        let listed = ralph_with(&a, &args, &vars).json(0);
        assert_eq!(listed["total"]["spentUsd"], 3.0, "{listed}");
        let rows = listed["rows"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| {
                (
                    row["key"].as_str().unwrap().to_owned(),
                    row["spentUsd"].as_f64().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(by("loop"), [("A".to_owned(), 2.0), ("B".to_owned(), 1.0)]);
    assert_eq!(
        by("model"),
        [
            ("claude-opus-4-8".to_owned(), 2.0),
            ("claude-haiku-4-5".to_owned(), 1.0)
        ]
    );
    assert_eq!(by("day"), [("2026-01-02".to_owned(), 3.0)]);
    assert_eq!(by("machine").len(), 2);
    assert_eq!(by("repository").len(), 2);
    let since = ["team", "cost", "--since", "2026-01-03"];
    let nothing = ralph_with(&a, &since, &vars);
    assert_eq!(nothing.text(0), "nothing was spent since 2026-01-03\n");
}
