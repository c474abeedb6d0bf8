//! A browser that is kept between calls, by hand: it is opened, acted on, looked at, and gone afterwards.

use std::{net::TcpListener, path::PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Site, wait_until};

/// A page with things that go wrong, and a list.
const SHOP: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,"></head>
<body>
<h1>Shop</h1>
<ul><li>Milk <button>Delete</button></li><li>Eggs <button>Delete</button></li></ul>
<label for="size">Size</label> <select id="size"><option>Small</option><option>Large</option></select>
<button id="broken">Break</button>
<p id="out"></p>
<script>
document.querySelectorAll('li button').forEach(button =>
  button.addEventListener('click', () => button.parentElement.remove()));
document.getElementById('broken').addEventListener('click', () => {
  console.error('the shop is closed');
  fetch('/missing.json');
  document.getElementById('out').textContent = 'broken';
});
</script>
</body></html>
"#;

/// The processes of this project that listen for calls.
fn hosts(site: &Site) -> Vec<Pid> {
    let mut found = Vec::new();
    let root = site.repo.root().canonicalize().unwrap();
    let root = root.display().to_string();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(number) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&root) && line.trim_end().ends_with("__session") {
            found.push(number);
        }
    }
    // The keepers of what it started are copies of it.
    let all = found.clone();
    found.retain(|number| !all.contains(&parent(*number)));
    found.into_iter().filter_map(Pid::from_raw).collect()
}

fn parent(number: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let parent = after.split_whitespace().nth(1);
    parent.and_then(|parent| parent.parse().ok()).unwrap_or(0)
}

fn places(site: &Site) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(site.repo.outside().join("tmp")).unwrap();
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| path.display().to_string().contains("ralph-qa-"))
        .collect()
}

/// Everything in the folders for temporary files and for homes.
fn left(site: &Site) -> Vec<PathBuf> {
    let folders = [
        site.repo.outside().join("tmp"),
        site.repo.data_dir().join("homes"),
    ];
    let entries = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
    entries.flatten().map(|entry| entry.path()).collect()
}

#[track_caller]
fn assert_nothing_of_it(site: &Site) {
    site.assert_nothing_alive();
    wait_until("the place of the session is gone", || {
        places(site).is_empty()
    });
    wait_until("profiles and homes are gone", || left(site).is_empty());
}

fn shop() -> Site {
    let site = Site::bare();
    site.repo.file("site/index.html", SHOP).commit("shop");
    site
}

#[test]
fn a_page_is_opened_acted_on_looked_at_and_closed() {
    let site = Site::bare();
    site.qa(&["open", "/"]).expect(0).prints(&[
        "page: http://localhost:",
        "\"Greetings\"",
        "viewport: 1280x720",
        "heading \"Greetings\"",
        "textbox \"Name\"",
        "button \"Greet\"",
    ]);
    site.qa(&["type", "label=Name", "Ada"])
        .expect(0)
        .prints(&["done: type", "page: http://localhost:"]);
    site.qa(&["click", "role=button", "name=Greet"])
        .expect(0)
        .prints(&["done: click button \"Greet\""]);
    site.qa(&["verify", "Hello Ada"]).expect(0);
    site.qa(&["look"])
        .expect(0)
        .prints(&["textbox \"Name\" = \"Ada\"", "Hello Ada"]);
    site.qa(&["shot", "home"])
        .expect(0)
        .prints(&[".ralph/qa/session/home.png\n"]);
    let png = std::fs::read(site.results("session/home.png")).unwrap();
    assert_eq!(png[..4], *b"\x89PNG");
    assert_eq!(site.repo.status(), Vec::<String>::new());
    site.qa(&["close"]).expect(0).prints(&["closed"]);
    assert_nothing_of_it(&site);
    site.qa(&["look"]).expect(2).complains(&[
        "there is no browser session",
        "hint: open a page first: `ralph qa open URL`",
    ]);
}

#[test]
fn what_fails_says_what_was_looked_for_what_is_near_and_where_its_picture_is() {
    let site = shop();
    site.qa_with(&["open"], &[("RALPH_QA_TIMEOUT", "2s")])
        .expect(0);
    let failed = site.qa(&["click", "role=button", "name=Brake"]).expect(4);
    failed.prints(&[
        "failed: click button \"Brake\"",
        "expected: ",
        "found: ",
        "nearest: ",
        "button \"Break\"",
        "picture: .ralph/qa/session/failed-1.png",
    ]);
    assert!(site.results("session/failed-1.png").exists());
    // Two things match where one is meant.
    site.qa(&["click", "Delete"])
        .expect(4)
        .prints(&["Delete", "Milk", "Eggs", "failed-2.png"]);
    site.qa(&["click", "any=Delete", "within=Milk"]).expect(0);
    site.qa(&["verify", "count: {role: listitem, is: 1}"])
        .expect(0);
    site.qa(&["verify", "--text", "Milk", "--json"]).expect(4);
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}

#[test]
fn errors_of_the_console_and_failed_requests_are_told_once() {
    let site = shop();
    site.qa(&["open", "/"]).expect(0);
    site.qa(&["click", "Break"]).expect(0);
    site.qa(&["wait", "idle"]).expect(0);
    let looked = site.qa(&["look", "--json"]).expect(0);
    let look: Value = serde_json::from_str(&looked.out).unwrap();
    assert_eq!(look["title"], "Shop");
    let console = look["console"].as_array().unwrap();
    let is_told = console.iter().any(|message| {
        message["text"]
            .as_str()
            .unwrap()
            .contains("the shop is closed")
    });
    assert!(is_told, "{look}");
    let request = &look["failedRequests"][0];
    assert!(
        request["url"].as_str().unwrap().ends_with("/missing.json"),
        "{look}"
    );
    assert_eq!(request["status"], 404);
    let again = site.qa(&["look", "--json"]).expect(0);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(again["console"], serde_json::json!([]));
    assert_eq!(again["failedRequests"], serde_json::json!([]));
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}

#[test]
fn keys_options_sizes_and_schemes_are_those_of_flows() {
    let site = shop();
    site.qa(&["open", "--viewport", "mobile", "--scheme", "dark"])
        .expect(0)
        .prints(&["viewport: 390x844"]);
    site.qa(&["select", "Size", "Large"]).expect(0);
    site.qa(&["verify", "value: {label: Size, is: Large}"])
        .expect(0);
    site.qa(&["press", "Tab"]).expect(0);
    site.qa(&["hover", "Break"]).expect(0);
    site.qa(&["step", "resize: 800x600"]).expect(0);
    site.qa(&["look"]).expect(0).prints(&["viewport: 800x600"]);
    site.qa(&["wait", "--text", "Shop"]).expect(0);
    site.qa(&["step", "fixture: touch made"])
        .expect(2)
        .complains(&["a fixture is a command"]);
    site.qa(&["step", "screenshot: home"]).expect(2);
    site.qa(&["click", "role=buton"])
        .expect(2)
        .complains(&["did you mean `button`?"]);
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}

#[test]
fn a_second_open_uses_the_session_that_runs() {
    let site = Site::bare();
    site.qa(&["open", "/"]).expect(0);
    let first = hosts(&site);
    assert_eq!(first.len(), 1);
    site.qa(&["type", "Name", "Ada"]).expect(0);
    site.qa(&["open", "/index.html"])
        .expect(0)
        .prints(&["/index.html"]);
    assert_eq!(hosts(&site), first);
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}

#[test]
fn two_that_open_at_once_share_one_session() {
    let site = Site::bare();
    let (one, other) = (site.start(&["open", "/"]), site.start(&["open", "/"]));
    one.wait().expect(0);
    other.wait().expect(0);
    assert_eq!(hosts(&site).len(), 1);
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}

#[test]
fn a_session_that_is_killed_leaves_nothing_and_the_next_one_opens() {
    let site = Site::bare();
    // As a person has it: folders of tests are not shown in the sandbox.
    let walls = [
        ("RALPH_SAFETY_SANDBOX", "auto"),
        ("RALPH_SAFETY_ALLOW_WRITE", "[]"),
    ];
    let open = [
        ("RALPH_SAFETY_SANDBOX", "off"),
        ("RALPH_SAFETY_ALLOW_WRITE", "[]"),
    ];
    for (signal, vars) in [
        (Signal::KILL, walls),
        (Signal::TERM, walls),
        (Signal::KILL, open),
        (Signal::TERM, open),
    ] {
        site.qa_with(&["open", "/"], &vars).expect(0);
        for pid in hosts(&site) {
            kill_process(pid, signal).unwrap();
        }
        assert_nothing_of_it(&site);
        site.qa(&["click", "Greet"]).expect(2);
    }
    site.qa(&["open", "/"]).expect(0);
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}

#[test]
fn a_session_ends_when_its_project_is_gone() {
    let site = Site::bare();
    site.qa(&["open", "/"]).expect(0);
    let moved = site.repo.outside().join("moved");
    std::fs::rename(site.repo.root(), &moved).unwrap();
    site.assert_nothing_alive();
    std::fs::rename(moved, site.repo.root()).unwrap();
    assert_nothing_of_it(&site);
}

#[test]
fn a_page_of_another_server_here_is_opened_and_one_elsewhere_is_not() {
    let site = shop();
    let other = Site::bare();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    // The server takes its place.
    drop(free);
    let mut server = std::process::Command::new("python3")
        .args([
            "-m",
            "http.server",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
        ])
        .current_dir(other.repo.path("site"))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the other server listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let address = format!("http://localhost:{port}/");
    site.qa(&["open", &address])
        .expect(0)
        .prints(&["Greetings"]);
    // A path is one of the application.
    site.qa(&["open", "/"]).expect(0).prints(&["\"Shop\""]);
    server.kill().unwrap();
    server.wait().unwrap();
    site.qa(&["open", "https://example.com"])
        .expect(2)
        .complains(&["https://example.com is another machine's", "qa.hosts"]);
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}

#[test]
fn a_server_that_does_not_start_and_a_browser_that_is_not_there_are_told() {
    let site = Site::bare();
    site.repo.file(
        "ralph.yaml",
        "qa: {server: {command: 'echo no module; exit 3'}}\n",
    );
    site.qa(&["open", "/"])
        .expect(2)
        .complains(&["ended before it was ready", "no module"]);
    assert_nothing_of_it(&site);
    site.qa_with(&["open", "/"], &[("RALPH_QA_BROWSER", "/nowhere/chromium")])
        .expect(2)
        .complains(&["/nowhere/chromium"]);
    assert_nothing_of_it(&site);
    site.repo.file("ralph.yaml", "");
    site.qa(&["open", "/"]).expect(2).complains(&[
        "there is no application",
        "ralph qa open http://localhost:3000",
    ]);
    assert_nothing_of_it(&site);
}

#[test]
fn a_secret_is_typed_and_shown_nowhere() {
    let site = Site::bare();
    let vars = [
        ("SHOP_PASSWORD", "correct-horse-battery"),
        ("RALPH_SAFETY_PASS_ENV", "[\"SHOP_PASSWORD\"]"),
    ];
    site.qa_with(&["open", "/"], &vars).expect(0);
    let typed = site
        .qa(&["type", "label=Name", "--secret", "SHOP_PASSWORD"])
        .expect(0);
    let looked = site.qa(&["look"]).expect(0);
    for out in [&typed.out, &looked.out] {
        assert!(!out.contains("correct-horse-battery"), "{out}");
    }
    assert!(looked.out.contains("textbox \"Name\" = "), "{}", looked.out);
    site.qa(&["type", "label=Name", "--secret", "OTHER"])
        .expect(2)
        .complains(&["the variable OTHER is not set"]);
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}

#[test]
fn a_session_works_without_a_sandbox() {
    let site = Site::bare();
    site.qa_with(&["open", "/"], &[("RALPH_SAFETY_SANDBOX", "off")])
        .expect(0);
    site.qa(&["verify", "Greetings"]).expect(0);
    site.qa(&["close"]).expect(0);
    assert_nothing_of_it(&site);
}
