//! `ralph health` and `ralph monitor --once`: what they say of a loop whose process is gone.

use serde_json::{Value, json};

use ralph_core::termination::Stop;
use ralph_testkit::TestRepo;

use crate::support::{Written, ralph, shop};

/// The JSON of a section of the document.
fn documented(section: &str) -> Value {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(document).unwrap();
    let heading = format!("\n## {section}\n");
    let section = text.split(heading.as_str()).nth(1).unwrap();
    let block = section.split("```json\n").nth(1).unwrap();
    serde_json::from_str(block.split("```").next().unwrap()).unwrap()
}

/// A loop without an end, its last words, and what a monitor noted; all as the document has it.
fn gone(expected: &mut Value) -> (TestRepo, Written) {
    let repo = shop();
    let written = Written::begin(&repo, "prd.json", "L1");
    let shown = &mut expected["loops"][0];
    shown["worktree"] = json!(repo.root());
    shown["health"]["worktree"] = json!(repo.root());
    let folder = repo.data_dir().join("ralph-loops/L1");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("health.json"), shown["health"].to_string()).unwrap();
    let noted = repo
        .command("sqlite3")
        .args(["-cmd", ".timeout 10000"])
        .arg(repo.data_dir().join("ralph.db"))
        .arg(
            "INSERT INTO loop_note (loop_id, worktree, kind, sentence, at) VALUES ('L1', '/w', 'gone',
             'its process is gone, and it has no end', '2026-01-02T03:31:00Z')",
        )
        .status()
        .expect("sqlite3 is installed");
    assert!(noted.success());
    (repo, written)
}

#[test]
fn the_json_of_health_is_as_the_document_shows_it() {
    let mut expected = documented("ralph health");
    let (repo, mut written) = gone(&mut expected);
    assert_eq!(ralph(&repo, &["health", "--json"]).json(0), expected);
    let all = ralph(&repo, &["health", "--all", "--json"]).json(0);
    assert_eq!(
        (&all["loops"], &all["here"]),
        (&expected["loops"], &Value::Null)
    );
    // The list of loops has the note too.
    let listed = ralph(&repo, &["loops", "--json"]).json(0);
    assert_eq!(listed["loops"][0]["note"], expected["loops"][0]["note"]);
    written.end(&Stop::AllComplete);
    let none = json!({"loops": [], "here": expected["here"]});
    assert_eq!(ralph(&repo, &["health", "--json"]).json(0), none);
    let listed = ralph(&repo, &["loops", "--json"]).json(0);
    assert_eq!(listed["loops"][0]["note"], Value::Null);
}

#[test]
fn a_person_sees_what_is_wrong_and_what_to_do() {
    let mut expected = documented("ralph health");
    let (repo, _written) = gone(&mut expected);
    let ran = ralph(&repo, &["health"]);
    let text = ran.text(0);
    let root = repo.root().display();
    let first = format!("L1  Shop (prd.json)  {root}");
    assert_eq!(text.lines().next(), Some(first.as_str()), "{text}");
    // Times grow, and are left out.
    for part in [
        "  process    gone\n",
        "  doing      agent claude, task US-002, iteration 3\n",
        "  errors     1 of the last 18 steps\n",
        "  repeats    the same call 4 times\n",
        "  done       escalate; reminded 3 times\n",
        "`ralph intervene more-time|handoff|terminate`\n",
        "  breaker    closed\n",
        "  monitor    its process is gone, and it has no end, ",
    ] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    let hint = format!("  hint       `ralph -C {root} resume L1`\n");
    assert!(text.contains(&hint), "{text}");
    assert!(text.contains("  agent      stuck for "), "{text}");
}

#[test]
fn where_nothing_runs_that_is_said_and_is_no_error() {
    let repo = shop();
    let said = "no loop is running here\n";
    assert_eq!(ralph(&repo, &["health"]).text(0), said);
    assert_eq!(ralph(&repo, &["health", "--all"]).text(0), said);
    let said = "no loop is running\n";
    assert_eq!(ralph(&repo, &["monitor", "--once"]).text(0), said);
}

#[test]
fn the_json_of_the_monitor_is_as_the_document_shows_it() {
    let (repo, _written) = gone(&mut documented("ralph health"));
    let mut expected = documented("ralph monitor");
    expected["worktree"] = json!(repo.root());
    let root = repo.root().display();
    expected["hint"] = json!(format!("`ralph -C {root} resume L1` goes on with it"));
    let mut said = ralph(&repo, &["monitor", "--once", "--json"]).json(7);
    let at = said["at"].as_str().unwrap().parse::<jiff::Timestamp>();
    assert!(at.is_ok(), "{said}");
    said["at"] = expected["at"].clone();
    assert_eq!(said, expected);
}

#[test]
fn a_loop_whose_working_tree_is_gone_is_nobodys_concern() {
    let (repo, _written) = gone(&mut documented("ralph health"));
    let moved = repo.outside().join("away");
    std::fs::rename(repo.root(), &moved).unwrap();
    let elsewhere = repo
        .command(env!("CARGO_BIN_EXE_ralph"))
        .args(["monitor", "--once"])
        .current_dir(repo.outside())
        .output()
        .unwrap();
    assert_eq!(elsewhere.status.code(), Some(0), "{elsewhere:?}");
}
