//! By the desktop: a `notify-send` that writes down its arguments.

use super::{asks, stories};
use crate::support::{Project, good_script, write_program};

/// A PATH with a desktop's program on it.
fn with_desktop(project: Project) -> Project {
    let folder = project.outside("desktop");
    std::fs::create_dir(&folder).unwrap();
    let shown = project.outside("shown");
    let shell = format!("printf '%s\\n' \"$@\" >> {}", shown.display());
    write_program(&folder.join("notify-send"), &shell);
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    project.env("PATH", path)
}

fn shown(project: &Project) -> Vec<String> {
    let text = std::fs::read_to_string(project.outside("shown")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_desktop_shows_messages_and_markup_is_only_text() {
    let project = with_desktop(stories(&["A", "B"]))
        .script(&asks("Is <b>this</b> & that -- right?"))
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    project.run(&[]).expect(4);
    assert_eq!(
        shown(&project),
        [
            "--app-name=ralph",
            "--urgency=critical",
            "--",
            "ralph in repo: a question about task A",
            "Is &lt;b&gt;this&lt;/b&gt; &amp; that -- right?",
            "--app-name=ralph",
            "--urgency=critical",
            "--",
            "ralph in repo: halted",
            "what is left waits for a person's answer (1 of 2 tasks complete)",
        ]
    );
}

#[test]
fn it_is_used_where_it_is_there_or_asked_for() {
    let bus = "DBUS_SESSION_BUS_ADDRESS";
    for (config, has_bus, lines) in [
        ("", true, 5),
        ("", false, 0),
        ("notify:\n  desktop: on\n", false, 5),
        ("notify:\n  desktop: off\n", true, 0),
        ("notify:\n  desktop: auto\n  on: [halt]\n", true, 0),
    ] {
        let mut project = with_desktop(stories(&["A"]).config(config)).script(&good_script());
        if has_bus {
            project = project.env(bus, "unix:path=/nowhere");
        }
        project.run(&[]).expect(0);
        assert_eq!(shown(&project).len(), lines, "{config:?} {has_bus}");
    }
}

#[test]
fn one_that_an_agent_could_have_planted_is_not_used() {
    let project = stories(&["A"]).script(&good_script());
    let planted = project.outside("planted");
    let shell = format!("#!/bin/sh\ntouch {}\n", planted.display());
    project
        .repo
        .script("bin/notify-send", &shell)
        .commit("plant");
    let path = format!(
        "{}:{}",
        project.repo.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let project = project
        .env("PATH", path)
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    project.run(&[]).expect(0);
    assert!(!planted.exists());
}
