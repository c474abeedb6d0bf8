//! The tools of a browser: listed with `--qa` alone, and gone with the server.

use serde_json::json;

use super::{
    client::{Client, Era, structure},
    support::{Project, story},
};

const PAGE: &str = "<!doctype html><html lang=en><title>Shop</title><link rel=icon href=data:,><h1>Shop</h1>\
    <label for=name>Name</label> <input id=name>\
    <label for=size>Size</label> <select id=size><option>Small</option><option>Large</option></select>\
    <button onclick=\"document.querySelector('h1').textContent = 'Sold'\">Buy</button>";

const SERVER: &str = "\
qa:
  timeout: 3s
  server:
    command: [python3, -m, http.server, $PORT, --bind, 127.0.0.1, --directory, site]
";

const TOOLS: [&str; 10] = [
    "qa_open",
    "qa_click",
    "qa_type",
    "qa_press",
    "qa_select",
    "qa_look",
    "qa_shot",
    "qa_verify",
    "qa_wait",
    "qa_close",
];

fn shop() -> Project {
    let project = Project::with_stories(&[story("A")]);
    project.repo.file("site/index.html", PAGE).commit("site");
    project.config(SERVER)
}

fn with_browser(project: &Project) -> Client {
    let mut client = Client::silent(project.ralph(&["mcp", "--qa"]));
    client.greet(Era::Sessions, json!({}));
    client
}

#[test]
fn the_tools_are_listed_only_where_they_are_asked_for() {
    let project = shop();
    let mut plain = Client::plain(&project);
    assert!(
        plain
            .tool_names()
            .iter()
            .all(|name| !name.starts_with("qa_"))
    );
    let refused = plain.refused_arguments("qa_look", json!({}));
    assert!(refused.contains("qa_look"), "{refused}");
    plain.end().well();
    let mut client = with_browser(&project);
    let mut found = client.tool_names();
    found.retain(|name| name.starts_with("qa_"));
    assert_eq!(found, TOOLS);
    client.end().well();
}

#[test]
fn a_page_is_opened_acted_on_and_looked_at_and_ends_with_the_server() {
    let project = shop();
    let mut client = with_browser(&project);
    let without = client.failed("qa_click", json!({"target": "Buy"}));
    assert!(without.contains("no page is open"), "{without}");
    let opened = client.done("qa_open", json!({"url": "/"}));
    assert_eq!(opened["title"], "Shop", "{opened}");
    client.done("qa_type", json!({"target": "label=Name", "text": "Ada"}));
    client.done("qa_select", json!({"target": "Size", "option": "Large"}));
    client.done("qa_press", json!({"key": "Tab"}));
    client.done("qa_click", json!({"target": "role=button name=Buy"}));
    client.done("qa_wait", json!({"for": "{text: Sold}"}));
    client.done(
        "qa_verify",
        json!({"checks": ["Sold", "value: {label: Name, is: Ada}"]}),
    );
    let look = client.done("qa_look", json!({}));
    let lines = look["lines"].as_array().unwrap();
    assert!(
        lines
            .iter()
            .any(|line| line.as_str().unwrap().contains("\"Sold\"")),
        "{look}"
    );
    let failed = client.failed("qa_click", json!({"target": "role=button name=Bay"}));
    for part in [
        "failed: click",
        "button \"Buy\"",
        "picture: .ralph/qa/session/failed-1.png",
    ] {
        assert!(failed.contains(part), "{part}\n{failed}");
    }
    let shot = client.call("qa_shot", json!({"name": "shop"}));
    assert_eq!(structure(&shot)["picture"], ".ralph/qa/session/shop.png");
    let content = shot["result"]["content"].as_array().unwrap();
    let image = content.iter().find(|part| part["type"] == "image").unwrap();
    assert_eq!(image["mimeType"], "image/png");
    // The first bytes of every PNG, as Base64.
    assert!(image["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert!(project.repo.path(".ralph/qa/session/shop.png").exists());
    client.done("qa_close", json!({}));
    client.done("qa_open", json!({}));
    // The page is open while the server ends.
    client.end().well();
    project.assert_nothing_alive();
}

#[test]
fn arguments_that_are_wrong_are_told() {
    let project = shop();
    let mut client = with_browser(&project);
    for (tool, arguments, says) in [
        ("qa_click", json!({}), "argument `target` is missing"),
        (
            "qa_click",
            json!({"target": "role=buton"}),
            "did you mean `button`?",
        ),
        ("qa_verify", json!({"checks": ["texts: a"]}), "texts"),
    ] {
        let message = client.refused_arguments(tool, arguments);
        assert!(message.contains(says), "{tool}: {message}");
    }
    client.end().well();
}
