//! Conversations with the real Claude Code: how it is told the first prompt, and every way to end.

use rustix::process::Signal;

use crate::support::{LIMIT, Pane, Process, Scene, marked, wait};

const INTERVIEW: &str = r#"
conversations:
  - when: Interview me
    turns:
      - say: Which database do you want?
      - say: Noted.
        tools: [{write: {path: done.md, content: "postgres\n"}}]
      - say: Goodbye.
"#;

/// Starts the interview and waits for its question.
fn interview(scene: &Scene, pane: &Pane) {
    pane.line(&scene.talk("--prompt 'Interview me about it.' --until done.md"));
    pane.wait_for("Which database do you want?");
}

fn ralph(scene: &Scene) -> Process {
    let all = marked(&scene.mark());
    let ralph = all.iter().find(|p| p.command.contains("ralph agent talk"));
    ralph.unwrap_or_else(|| panic!("{all:?}")).clone()
}

/// That the terminal is as it was, and a shell in it usable.
#[track_caller]
fn assert_usable(scene: &Scene, pane: &Pane, before: &str) {
    pane.assert_plain();
    // What is typed shows, or the line would not be waited for with success.
    let after = pane.keep_modes(scene, "after");
    assert_eq!(after, before);
    scene.assert_all_dead();
}

#[test]
fn the_agent_asks_is_answered_and_ends_the_conversation_by_its_file() {
    let (scene, model) = Scene::with_claude(INTERVIEW);
    // Of an earlier conversation: it must not end this one.
    scene.write("repo/done.md", "stale\n");
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    interview(&scene, &pane);
    let agent = pane.foreground();
    assert!(agent.command.contains("Interview me"), "{agent:?}");
    std::fs::remove_file(scene.repo().join("done.md")).unwrap();
    pane.line("postgres please");
    pane.wait_for("claude is done: done.md is there");
    pane.wait_for("code=0");
    assert_usable(&scene, &pane, &before);
    let written = std::fs::read_to_string(scene.repo().join("done.md")).unwrap();
    assert_eq!(written, "postgres\n");
    let asked = model.requests();
    let with_tools: Vec<_> = asked.iter().filter(|r| !r.tools().is_empty()).collect();
    assert!(with_tools[0].text().contains("Interview me about it."));
    assert!(with_tools[1].text().contains("postgres please"));
    assert!(model.unscripted().is_empty(), "{:?}", model.unscripted());
}

#[test]
fn the_user_leaves_and_the_terminal_is_the_shells_again() {
    let (scene, _model) = Scene::with_claude(INTERVIEW);
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    interview(&scene, &pane);
    pane.line("/exit");
    pane.wait_for("claude has exited");
    pane.wait_for("code=0");
    assert_usable(&scene, &pane, &before);
}

#[test]
fn the_user_puts_the_conversation_aside_and_goes_on_with_it() {
    let (scene, model) = Scene::with_claude(INTERVIEW);
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    interview(&scene, &pane);
    pane.key("C-z");
    pane.wait_for("Stopped");
    assert_eq!(pane.keep_modes(&scene, "between"), before);
    pane.line("fg");
    wait(
        || {
            pane.foreground()
                .command
                .contains("Interview me")
                .then_some(())
        },
        || pane.screen(),
    );
    // It reads keys, not lines: before that, Enter would not be its own.
    wait(|| pane.is_raw().then_some(()), || pane.screen());
    pane.line("postgres please");
    pane.wait_for("claude is done: done.md is there");
    assert_usable(&scene, &pane, &before);
    let asked = model.requests();
    assert!(asked.iter().any(|r| r.text().contains("postgres please")));
}

#[test]
fn an_agent_that_is_killed_leaves_a_terminal_that_works() {
    let (scene, _model) = Scene::with_claude(INTERVIEW);
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    interview(&scene, &pane);
    pane.foreground().signal(Signal::KILL);
    pane.wait_for("claude was killed by signal 9");
    pane.wait_for("code=137");
    assert_usable(&scene, &pane, &before);
}

#[test]
fn ralph_that_is_asked_to_end_ends_the_agent_and_puts_the_terminal_back() {
    let (scene, _model) = Scene::with_claude(INTERVIEW);
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    interview(&scene, &pane);
    ralph(&scene).signal(Signal::TERM);
    pane.wait_for("claude was ended, as ralph got signal 15");
    pane.wait_for("code=143");
    assert_usable(&scene, &pane, &before);
}

#[test]
fn a_command_that_the_agent_left_running_does_not_outlive_the_conversation() {
    let (scene, _model) = Scene::with_claude(
        r#"
conversations:
  - when: Interview me
    turns:
      - say: Starting.
        tools: [{bash: "setsid sleep 1000 > /dev/null 2>&1 & echo started"}]
      - say: Which database do you want?
"#,
    );
    let pane = scene.shell();
    interview(&scene, &pane);
    let sleeps = || {
        marked(&scene.mark())
            .into_iter()
            .find(|p| p.command.starts_with("sleep 1000"))
    };
    wait(sleeps, || format!("{:?}", marked(&scene.mark())));
    pane.line("/exit");
    pane.wait_for("claude has exited");
    scene.assert_all_dead();
}

#[test]
fn a_prompt_that_no_argument_could_hold_reaches_the_model_whole() {
    let (scene, model) =
        Scene::with_claude("conversations: [{turns: [{say: Which database do you want?}]}]\n");
    let prompt = format!("{}The last line of it.\n", "A line of it.\n".repeat(20_000));
    scene.write("prompt.md", &prompt);
    let pane = scene.shell();
    pane.line(&scene.talk("--prompt-file ../prompt.md"));
    pane.wait_for("Which database do you want?");
    let asked = model.wait_for_requests(1, LIMIT);
    let first = asked.iter().find(|r| !r.tools().is_empty()).unwrap();
    assert!(first.system().contains(prompt.trim_end()));
    pane.line("/exit");
    pane.wait_for("code=0");
}
