//! An agent that looks at its own work in a browser, while it works: the session is a part of its run, and ends with it.

use serde_json::json;

use crate::support::{Project, story};

const PAGE: &str = "<!doctype html><html lang=en><title>Shop</title><link rel=icon href=data:,><h1>Shop</h1>\
    <button onclick=\"document.querySelector('h1').textContent = 'Sold'\">Buy</button>";

const SERVER: &str = "\
qa:
  server:
    command: [python3, -m, http.server, $PORT, --bind, 127.0.0.1, --directory, site]
";

/// A project whose agent runs these lines; `@qa` is `ralph qa`.
fn looking(lines: &str) -> Project {
    let mut task = story("A");
    task["verify"] = json!(["test -s done.txt"]);
    let project = Project::with_stories(&[task]);
    project.repo.file("site/index.html", PAGE).commit("site");
    let qa = format!("{} qa", env!("CARGO_BIN_EXE_ralph"));
    let lines = lines.replace("@qa", &qa);
    let out = project.outside("out");
    let agent = format!(
        "cat > /dev/null\n{{\n{lines}\n}} > {} 2>&1\necho done > done.txt\necho 'Task A complete'",
        out.display()
    );
    project.config(SERVER).command(&agent)
}

fn out(project: &Project) -> String {
    std::fs::read_to_string(project.outside("out")).unwrap()
}

const MODES: [&str; 2] = ["overlay", "in_place"];

#[test]
fn an_agent_opens_its_page_and_looks_at_it() {
    for mode in MODES {
        let project = looking(
            "@qa open / || exit 1\n@qa click Buy\n@qa verify Sold\n@qa look\n@qa shot home\n@qa close\n@qa click Buy",
        )
        .env("RALPH_WORKSPACE_MODE", mode);
        project.run(&["--once"]).expect(0);
        let out = out(&project);
        for part in [
            "button \"Buy\"",
            "done: click \"Buy\"",
            "heading \"Sold\"",
            ".ralph/qa/session/home.png",
            "closed",
            "open a page first",
        ] {
            assert!(out.contains(part), "{mode}: {part}\n{out}");
        }
        assert_eq!(project.landed(), ["A"], "{mode}: {out}");
        assert_eq!(project.leftovers(), [""; 0], "{mode}");
        project.assert_nothing_alive();
    }
}

#[test]
fn a_session_that_an_agent_leaves_open_ends_with_its_run() {
    for mode in MODES {
        let project = looking("@qa open / && echo opened").env("RALPH_WORKSPACE_MODE", mode);
        project.run(&["--once"]).expect(0);
        let out = out(&project);
        assert!(out.contains("opened"), "{mode}: {out}");
        assert_eq!(project.landed(), ["A"], "{mode}");
        project.assert_nothing_alive();
    }
}

#[test]
fn an_agent_can_have_no_flow_drafted() {
    let project = looking("@qa draft / --agent command:true; echo code $?");
    project.run(&["--once"]).expect(0);
    let out = out(&project);
    assert!(
        out.contains("`ralph qa draft` is refused inside a run"),
        "{out}"
    );
    assert!(out.contains("code 2"), "{out}");
}
