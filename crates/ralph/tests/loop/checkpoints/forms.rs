//! What the commands print, for programs and for people, and what damage looks like to them.

use serde_json::{Value, json};

use super::{asked, assert_whole, chain, project, said, sqlite};
use crate::{
    reverting::ralph,
    support::{Project, good_script, story},
};

/// One task that landed as iteration 1.
fn landed() -> Project {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.run(&[]).expect(0);
    project
}

#[test]
fn the_json_contract_of_show() {
    let project = landed();
    let id = sqlite(&project, "SELECT id FROM checkpoint WHERE n = 1");
    let loop_id = sqlite(&project, "SELECT id FROM loop");
    let hash = sqlite(&project, "SELECT hash FROM checkpoint WHERE n = 1");
    let at = sqlite(&project, "SELECT at FROM checkpoint WHERE n = 1");
    let agent = sqlite(&project, "SELECT agent FROM loop");
    let head = project.repo.git(["rev-parse", "HEAD"]);
    let short = &head[..10];
    let mut shown = asked(&project, &["checkpoint", "show", &id]);
    let told = shown["continuation"].take();
    assert!(
        told.as_str()
            .unwrap()
            .starts_with("## Handoff from Iteration 1\n")
    );
    let expected = json!({
        "checkpoint": {
            "version": 1,
            "metadata": {
                "checkpointId": id, "loopId": loop_id, "n": 1, "iteration": 1, "taskId": "A",
                "agent": agent, "at": at, "trigger": "iteration", "note": null
            },
            "execution": {
                "phase": "complete", "completed": [{ "taskId": "A", "title": "Write A" }],
                "pending": [], "blocked": []
            },
            "context": { "decisions": [], "assumptions": [], "constraints": [] },
            "metrics": {
                "iterations": 1, "inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0,
                "cacheWriteTokens": 0, "costMicroUsd": 0, "toolCalls": 1,
                "verification": [{ "command": "test -f A.txt", "outcome": "passed", "passed": true }]
            },
            "recovery": {
                "branch": "ralph/work", "commit": head,
                "rollback": format!("`ralph checkpoint restore {id}` puts branch ralph/work back to {short} and opens the tasks again that were completed since; what goes stays reachable under refs/ralph/reverted/"),
                "continuationPrompt": "Task A is done: verified.\nNo task is ready."
            },
            "previous": null
        },
        "hash": hash,
        "continuation": null
    });
    assert_eq!(shown, expected);
}

#[test]
fn the_hash_is_what_any_tool_makes_of_the_content() {
    let project = landed();
    let body = sqlite(&project, "SELECT body FROM checkpoint WHERE n = 2");
    let file = project.outside("body.json");
    std::fs::write(&file, body).unwrap();
    let output = project.repo.command("sha256sum").arg(&file).output();
    let output = output.expect("sha256sum is installed");
    let sum = String::from_utf8(output.stdout).unwrap();
    let hash = sqlite(&project, "SELECT hash FROM checkpoint WHERE n = 2");
    assert_eq!(sum.split(' ').next(), Some(hash.as_str()));
    let first = sqlite(&project, "SELECT hash FROM checkpoint WHERE n = 1");
    let previous = sqlite(
        &project,
        "SELECT body ->> '$.previous' FROM checkpoint WHERE n = 2",
    );
    assert_eq!(previous, first);
}

#[test]
fn the_json_contract_of_list_and_of_status() {
    let project = landed();
    let row = |column: &str| {
        sqlite(
            &project,
            &format!("SELECT {column} FROM checkpoint WHERE n = 2"),
        )
    };
    let (id, loop_id, at, hash) = (row("id"), row("loop_id"), row("at"), row("hash"));
    let head = project.repo.git(["rev-parse", "HEAD"]);
    let newest = json!({
        "id": id, "loopId": loop_id, "n": 2, "iteration": 1, "phase": "complete", "at": at,
        "commit": head, "hash": hash, "trigger": "stop", "taskId": "A", "note": null
    });
    let listed = asked(&project, &["checkpoint", "list", "--limit", "1"]);
    assert_eq!(listed, json!({ "loop": loop_id, "checkpoints": [newest] }));
    let all = asked(&project, &["checkpoint", "list", "--all"]);
    assert_eq!(all["loop"], Value::Null);
    assert_eq!(all["checkpoints"].as_array().unwrap().len(), 2);
    assert_eq!(asked(&project, &["status"])["lastCheckpoint"], json!(id));
    let text = String::from_utf8(ralph(&project, &["status"]).expect(0).stdout).unwrap();
    let line = format!("checkpoint  {id} (`ralph checkpoint show` shows it)\n");
    assert!(text.contains(&line), "{text}");
}

#[test]
fn people_read_where_it_stood_and_what_a_fresh_agent_is_told() {
    let project = project();
    project.run(&["--max-iterations", "2"]).expect(3);
    let of_failed = sqlite(&project, "SELECT id FROM checkpoint WHERE n = 2");
    // The end of an id is enough, and easier to tell apart than its beginning.
    let end = &of_failed[of_failed.len() - 12..];
    let ran = ralph(&project, &["checkpoint", "show", end]).expect(0);
    let text = String::from_utf8(ran.stdout).unwrap();
    for line in [
        format!("checkpoint {of_failed}\nnumber 2 of loop "),
        "phase   testing\n".to_owned(),
        "task    B\n".to_owned(),
        "so far  2 iterations, 120 tokens, $0.10, 2 tool calls\n".to_owned(),
        "verify  test -f B.txt: failed with exit code 1\n".to_owned(),
        "\nassumptions\n  UTF-8\n".to_owned(),
        "\nprompt for a new agent\n\n## Handoff from Iteration 2\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line:?} in {text}");
    }
    let ran = ralph(&project, &["checkpoint", "list"]).expect(0);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.contains(&of_failed) && text.contains("iteration 2"),
        "{text}"
    );
}

#[test]
fn a_changed_row_is_named_and_neither_shown_nor_gone_back_to() {
    let project = project();
    project.run(&[]).expect(0);
    let id = sqlite(&project, "SELECT id FROM checkpoint WHERE n = 2");
    let loop_id = sqlite(&project, "SELECT id FROM loop");
    sqlite(
        &project,
        "UPDATE checkpoint SET body = replace(body, 'keep it small', 'keep it tall') WHERE n = 2",
    );
    let ran = ralph(&project, &["checkpoint", "verify", "--json"]).expect(1);
    let found = said(&ran);
    let sentence = found["loops"][0]["damage"]["sentence"].as_str().unwrap();
    let start = format!("checkpoint {id} (number 2) was changed: its content has the hash ");
    assert!(sentence.starts_with(&start), "{sentence}");
    let expected = json!({ "whole": false, "loops": [{
        "loopId": loop_id, "checkpoints": 1,
        "damage": { "id": id, "n": 2, "sentence": sentence }
    }]});
    assert_eq!(found, expected);
    let ran = ralph(
        &project,
        &["checkpoint", "verify", "--loop", &loop_id[..30]],
    )
    .expect(1);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(
        text.starts_with(&format!("damaged loop {loop_id}: {start}")),
        "{text}"
    );
    let head = project.repo.git(["rev-parse", "HEAD"]);
    for args in [["checkpoint", "show", &id], ["checkpoint", "restore", &id]] {
        ralph(&project, &args).expect(1).says(&start);
    }
    assert_eq!(project.repo.git(["rev-parse", "HEAD"]), head);
}

#[test]
fn rows_that_are_gone_or_moved_are_named() {
    for (sql, says) in [
        (
            "DELETE FROM checkpoint WHERE n = 2",
            "has number 3, but number 2 is due",
        ),
        (
            "DELETE FROM checkpoint WHERE n = 1",
            "has number 2, but number 1 is due",
        ),
        (
            "DELETE FROM checkpoint WHERE n >= 3",
            "the newest checkpoint is missing: iteration 3 has none",
        ),
        (
            // That of the stop, which no iteration misses.
            "DELETE FROM checkpoint WHERE n = (SELECT max(n) FROM checkpoint)",
            "the newest checkpoint is missing: the loop was given 4, and the last is number 3",
        ),
        (
            "DELETE FROM checkpoint",
            "the newest checkpoint is missing: the loop was given 4, and the last is number 0",
        ),
        (
            "UPDATE checkpoint SET n = 9 WHERE n = 2",
            "has number 3, but number 2 is due",
        ),
        (
            "UPDATE checkpoint SET tip_commit = 'f' WHERE n = 3",
            "its commit is not what its content says",
        ),
        (
            "UPDATE checkpoint SET prev_hash = NULL WHERE n = 3",
            "its previous hash is not what",
        ),
    ] {
        let project = project();
        project.run(&[]).expect(0);
        sqlite(&project, sql);
        let ran = ralph(&project, &["checkpoint", "verify"]).expect(1);
        let text = String::from_utf8(ran.stdout).unwrap();
        assert!(text.contains(says), "{sql}: {text}");
    }
}

#[test]
fn a_checkpoint_by_hand_keeps_its_note_and_joins_the_chain() {
    let project = landed();
    let made = asked(
        &project,
        &["checkpoint", "create", "--note", " before the demo "],
    );
    let metadata = &made["checkpoint"]["metadata"];
    assert_eq!(metadata["note"], "before the demo");
    assert_eq!(
        (&metadata["trigger"], &metadata["n"]),
        (&json!("manual"), &json!(3))
    );
    assert_eq!(chain(&project, &[])[2], "manual 1 complete");
    assert_whole(&project, 1, 3);
    project.repo.file("mine.txt", "x\n").commit("mine");
    let made = asked(&project, &["checkpoint", "create"]);
    let head = project.repo.git(["rev-parse", "HEAD"]);
    assert_eq!(made["checkpoint"]["recovery"]["commit"], head.as_str());
    ralph(&project, &["checkpoint", "create", "--note", " "])
        .expect(2)
        .says("--note is empty");
}

#[test]
fn what_is_not_there_is_said_with_a_way_out() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    for args in [
        &["checkpoint", "list"][..],
        &["checkpoint", "show"],
        &["checkpoint", "verify"],
        &["checkpoint", "create"],
        &["checkpoint", "restore", "0190"],
    ] {
        ralph(&project, args)
            .expect(2)
            .says("`ralph run` starts the loop");
    }
    project.run(&[]).expect(0);
    ralph(&project, &["checkpoint", "show", "nonsense"])
        .expect(2)
        .says("there is no checkpoint \"nonsense\"");
    ralph(&project, &["checkpoint", "show", "0"])
        .expect(2)
        .says("more than one checkpoint begins or ends with \"0\"");
    ralph(&project, &["checkpoint", "list", "--loop", "nonsense"])
        .expect(2)
        .says("there is no loop \"nonsense\"");
}
