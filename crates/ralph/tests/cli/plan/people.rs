//! What a person is asked, and what is refused where there is none.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::support::{Scene, plan};

#[test]
fn without_a_terminal_and_without_yes_nothing_is_begun() {
    let scene = Scene::answering(&plan().to_string());
    let hint = "hint: `--yes` writes them without asking; `-o -` prints them\n";
    assert_eq!(
        scene.plan(&["brief.txt"]).error(2),
        format!("error: there is no terminal to ask on whether to write the tasks\n{hint}")
    );
    assert_eq!(
        scene.plan(&["brief.txt", "--json"]).error(2),
        format!("error: with --json nobody is asked whether to write the tasks\n{hint}")
    );
    assert!(!scene.repo.exists(".ralph"));
}

#[test]
fn what_is_there_is_not_written_over() {
    let scene = Scene::answering(&plan().to_string());
    scene.repo.file("PRD.json", "[]\n");
    let ran = scene.plan(&["brief.txt", "--yes", "--to", "prd"]);
    assert_eq!(
        ran.error(2),
        "error: PRD.json is there already\nhint: `--force` writes over it; `--output` names another file\n"
    );
    scene.repo.file(".ralph/parent-task-id", "other\n");
    let ran = scene.plan(&["brief.txt", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.err.contains(
            "warning: .ralph/parent-task-id names other and is kept; `ralph init --parent shop` makes the new tasks the ones to work on\n"
        ),
        "{ran:?}"
    );
    assert_eq!(scene.repo.read(".ralph/parent-task-id"), "other\n");
    // The file is there now, and its ids are taken.
    let again = scene.plan(&["brief.txt", "--yes"]);
    assert_eq!(again.code, 4, "{again:?}");
    assert!(again.err.contains("shop-1"), "{again:?}");
    // Unless it is this file that is to be replaced.
    let named = ["brief.txt", "--yes", "-o", ".ralph/tasks/shop.yaml"];
    assert_eq!(scene.plan(&named).code, 2);
    let forced = scene.plan(&[&named[..], &["--force"]].concat());
    assert_eq!(forced.code, 0, "{forced:?}");
    assert_eq!(scene.repo.read(".ralph/parent-task-id"), "shop\n");
}

#[test]
fn what_is_no_brief_is_refused_by_name() {
    let scene = Scene::answering("");
    scene.repo.file("prd.json", "[]\n");
    scene.repo.file("empty.md", "\n");
    scene.repo.file("folder/a.txt", "x\n");
    for (args, error) in [
        (
            &["prd.json"][..],
            "error: prd.json is a task file, not a brief\nhint: `ralph run prd.json` works on it; `ralph import` converts it\n",
        ),
        (
            &["empty.md"],
            "error: there is nothing in empty.md\nhint: say what is wanted, in your own words\n",
        ),
        (&["folder"], "error: there are no .md files in folder\n"),
        (
            &["nothing.md"],
            "error: can't read nothing.md: No such file or directory (os error 2)\n",
        ),
        (
            &[],
            "error: there is no brief to plan from\nhint: name one: `ralph plan FILE`, or `ralph plan -` to type it\n",
        ),
    ] {
        let ran = scene.plan(&[args, &["--yes"]].concat());
        assert_eq!(ran.error(2), error);
    }
}

#[test]
fn an_interrupt_ends_the_agent_and_ralph() {
    let scene = Scene::playing(&json!({"default": [
        {"do": "run", "command": "touch {{HOME}}/begun"},
        {"do": "hang"},
    ]}));
    let begun = scene.repo.home().join("begun");
    let child = scene
        .command(&["plan", "brief.txt", "--yes"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| begun.exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.ends_with("stopped; nothing was written\n"), "{said}");
    scene.assert_nothing_written();
}

/// `ralph plan` on a terminal of its own, which `script` makes.
fn on_a_terminal(scene: &Scene) -> Child {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let mut command: Command = scene.command(&[]);
    let line = format!("{ralph} plan brief.txt");
    let env: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    let folder = command.get_current_dir().unwrap().to_owned();
    command = Command::new("script");
    command
        .args(["-qefc", &line, "/dev/null"])
        .env_clear()
        .envs(env)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script of util-linux")
}

/// Reads until the question stands there.
fn read_question(child: &mut Child) -> String {
    let mut out = BufReader::new(child.stdout.as_mut().unwrap());
    let mut said = Vec::new();
    while !said.ends_with(b"[y/N] ") {
        let byte = out.fill_buf().unwrap().first().copied();
        let byte = byte.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&said)));
        out.consume(1);
        said.push(byte);
    }
    String::from_utf8(said).unwrap()
}

fn answered(scene: &Scene, answer: &[u8]) -> (String, Option<i32>) {
    let mut child = on_a_terminal(scene);
    let question = read_question(&mut child);
    child.stdin.as_mut().unwrap().write_all(answer).unwrap();
    let mut rest = String::new();
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_to_string(&mut rest)
        .unwrap();
    (question, child.wait().unwrap().code())
}

#[test]
fn a_person_is_shown_the_tasks_and_asked() {
    let scene = Scene::answering(&plan().to_string());
    let (question, code) = answered(&scene, b"n\n");
    assert!(question.contains("Pay at a till"), "{question}");
    assert!(
        question.ends_with("Write 3 tasks to .ralph/tasks/shop.yaml? [y/N] "),
        "{question}"
    );
    assert_eq!(code, Some(4));
    scene.assert_nothing_written();
    let (_, code) = answered(&scene, b"\x03");
    assert_eq!(code, Some(130));
    scene.assert_nothing_written();
    let (_, code) = answered(&scene, b"y\n");
    assert_eq!(code, Some(0));
    assert!(scene.repo.exists(".ralph/tasks/shop.yaml"));
}

fn wait_until(mut there: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !there() {
        assert!(Instant::now() < until, "waited too long");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}
