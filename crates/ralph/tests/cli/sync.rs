//! `ralph sync`, with a real server.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use ralph_core::termination::Stop;
use ralph_testkit::TestRepo;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    support::{Written, ralph, ralph_with, shop},
    team_ground::{TeamServer, synced},
};

fn one_loop(id: &str) -> TestRepo {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", id);
    past.end(&Stop::AllComplete);
    repo
}

fn rows(synced: &Value, kind: &str) -> u64 {
    let sent = synced["sent"].as_array().unwrap();
    let found = sent.iter().find(|one| one["kind"] == kind);
    found.map_or(0, |one| one["rows"].as_u64().unwrap())
}

#[test]
fn what_is_new_goes_up_once_and_the_rest_is_said() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", None);
    let a = one_loop("A");
    let vars = synced(&ada, "acme");
    let first = ralph_with(&a, &["sync", "--json"], &vars).json(0);
    assert_eq!(
        (rows(&first, "repository"), rows(&first, "loop")),
        (1, 1),
        "{first}"
    );
    assert_eq!(first["waiting"], 0);
    assert_eq!(first["tenant"], "acme");
    assert!(!first.to_string().contains("for-ada"), "{first}");
    let again = ralph_with(&a, &["sync"], &vars);
    let said = again.text(0);
    for line in [
        "sent      nothing new",
        "received  no commands",
        "lag       nothing waits to be sent",
        "clock     as the server's, within a second",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    // Also outside of the repository, with the same data folder.
    let place = TestRepo::bare_folder();
    let data = a.data_dir();
    let vars = [vars[0], vars[1], ("RALPH_DATA_DIR", data.to_str().unwrap())];
    ralph_with(&place, &["sync"], &vars).text(0);
}

#[test]
fn a_dry_run_shows_what_would_leave_and_sends_nothing() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", None);
    let a = one_loop("A");
    let vars = synced(&ada, "acme");
    let said = ralph_with(&a, &["sync", "--dry-run"], &vars);
    let said = said.text(0);
    assert!(
        said.starts_with("would be sent to ") && said.ends_with("nothing was sent\n"),
        "{said}"
    );
    assert!(said.contains("  loop "), "{said}");
    let json = ralph_with(&a, &["sync", "--dry-run", "--json"], &vars).json(0);
    let samples = json["samples"].as_array().unwrap();
    let of_loop = samples
        .iter()
        .find(|sample| sample["kind"] == "loop")
        .unwrap();
    assert_eq!(of_loop["row"]["id"], "A");
    assert_eq!(
        server.database.sql("SELECT count(*) FROM ralph.machine"),
        "0"
    );
    // Nothing of it is begun here either.
    let status = ralph_with(&a, &["status", "--json"], &vars).json(0);
    assert_eq!(status["sync"]["lastOkAt"], Value::Null);
}

#[test]
fn a_copied_data_folder_is_refused_by_name_until_it_takes_a_new_identity() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", None);
    let a = one_loop("A");
    let vars = synced(&ada, "acme");
    ralph_with(&a, &["sync"], &vars).text(0);
    let copy = shop();
    let mut copied = copy.command("cp");
    copied.arg("-a").arg(a.data_dir().join("."));
    let copied = copied.arg(copy.data_dir()).status().unwrap();
    assert!(copied.success());
    Written::begin(&copy, "prd.json", "COPY");
    ralph_with(&copy, &["sync"], &vars).text(0);
    Written::begin(&a, "prd.json", "A-2");
    let refused = ralph_with(&a, &["sync"], &vars);
    let said = refused.error(2);
    assert!(
        said.contains(
            "it was restored from a backup, or its data folder was copied; nothing was sent\n\
                       hint: `ralph sync --new-identity`"
        ),
        "{said}"
    );
    let renamed = ralph_with(&a, &["sync", "--new-identity", "--json"], &vars).json(0);
    assert_eq!(rows(&renamed, "loop"), 2, "{renamed}");
    ralph_with(&copy, &["sync"], &vars).text(0);
    let listed = ralph_with(&a, &["team", "loops", "--json"], &vars).json(0);
    let loops = listed["loops"].as_array().unwrap();
    let mut ids: Vec<&str> = loops
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["A", "A-2", "COPY"], "each loop is shown once");
}

#[test]
fn without_sync_it_says_why_there_is_nothing_to_do() {
    let place = shop();
    let url = "postgresql://ada@localhost:1/ralph";
    let off = [("RALPH_STORE_MODE", "local"), ("RALPH_STORE_URL", url)];
    assert_eq!(
        ralph_with(&place, &["sync"], &off).error(2),
        "error: sync is turned off (`store.mode: local`)\nhint: leave `store.mode` out, or set it to `sync`\n"
    );
    let said = ralph(&place, &["sync"]);
    assert!(
        said.error(2).starts_with("error: no server is named\n"),
        "{said:?}"
    );
    // A server that is not there is no mistake of the person's.
    let away = synced(url, "acme");
    let said = ralph_with(&place, &["sync"], &away);
    assert!(
        said.error(1)
            .starts_with("error: can't reach the store at localhost:1"),
        "{said:?}"
    );
    let status = ralph_with(&place, &["status"], &away);
    assert!(
        status
            .text(0)
            .contains("never synced: can't reach the store at localhost:1"),
        "{status:?}"
    );
}

/// It goes on until Ctrl-C, and one process at a time does it.
#[test]
fn a_watch_sends_what_comes_and_ends_with_ctrl_c() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", None);
    let a = one_loop("A");
    let vars = synced(&ada, "acme");
    let mut watch = a
        .command(env!("CARGO_BIN_EXE_ralph"))
        .args(["sync", "--watch", "--json"])
        .envs(vars)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(rows(&first, "loop"), 1);
    let busy = ralph_with(&a, &["sync", "--json"], &vars);
    assert_eq!(busy.json(0)["sent"], json!([]));
    assert!(busy.err.contains("is synced by process "), "{busy:?}");
    Written::begin(&a, "prd.json", "A-2");
    let next: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(rows(&next, "loop"), 1, "{next}");
    kill_process(Pid::from_child(&watch), Signal::INT).unwrap();
    assert!(watch.wait().unwrap().success());
}

#[test]
fn doctor_looks_at_the_server() {
    let server = TeamServer::with_tenants(&["acme"]);
    let ada = server.role("ada", Some("acme"));
    let a = shop();
    let checks = |vars: &[(&str, &str)]| -> Vec<(String, String)> {
        let ran = ralph_with(&a, &["doctor", "--json"], vars);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        let of_store = checks.into_iter().filter(|check| check["name"] == "store");
        of_store
            .map(|check| {
                let word = |key: &str| check[key].as_str().unwrap().to_owned();
                (word("state"), word("message"))
            })
            .collect()
    };
    assert_eq!(checks(&[]), []);
    let found = checks(&synced(&ada, "acme"));
    let socket = server.cluster.socket_folder().display().to_string();
    assert!(found.iter().all(|(state, _)| state == "ok"), "{found:?}");
    assert!(
        found[0]
            .1
            .starts_with(&format!("{socket} is reached: PostgreSQL ")),
        "{found:?}"
    );
    assert_eq!(found[1].1, "tenant acme is there, and this role may see it");
    assert_eq!(
        found[2].1,
        "the connection does not leave this machine; it is not encrypted"
    );
    assert_eq!(
        found[3].1,
        "no pooler is in between: answers of the team come at once"
    );
    let [url, tenant] = synced(&ada, "acme");
    let direct = [url, tenant, ("RALPH_STORE_MODE", "direct")];
    let said = ralph_with(&a, &["doctor"], &direct).out;
    assert!(
        said.contains(
            "the journal is on the server (`store.mode: direct`), and ralph's other data in"
        ),
        "{said}"
    );
    let found = checks(&synced(&ada, "evil"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "problem");
    let found = checks(&synced("postgresql://ada@localhost:1/ralph", "acme"));
    assert!(
        found[0]
            .1
            .starts_with("can't reach the store at localhost:1"),
        "{found:?}"
    );
}

#[test]
fn doctor_names_a_pooler() {
    use ralph_testkit::postgres::Pgbouncer;

    let server = TeamServer::with_tenants(&["acme"]);
    let place = TestRepo::bare_folder();
    place.file("password", "for-ada\n");
    let chmod = place
        .command("chmod")
        .args(["600", "password"])
        .status()
        .unwrap();
    assert!(chmod.success());
    let role = [
        "db",
        "role",
        "add",
        "ada",
        "--tenant",
        "acme",
        "--password-file",
        "password",
    ];
    server.keep(&place, &role).text(0);
    let pooler = Pgbouncer::start(&server.cluster, &[("ada", "for-ada")], 2);
    let url = pooler.url_of(&server.database, "ada", "for-ada");
    let a = one_loop("A");
    let vars = synced(&url, "acme");
    let ran = ralph_with(&a, &["doctor"], &vars);
    assert!(ran.out.contains("a pooler is in between"), "{}", ran.out);
    // Everything works through it.
    ralph_with(&a, &["sync"], &vars).text(0);
    let loops = ralph_with(&a, &["team", "loops", "--json"], &vars).json(0);
    assert_eq!(loops["loops"][0]["id"], "A");
}
