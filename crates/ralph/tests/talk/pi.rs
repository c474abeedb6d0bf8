//! A conversation with the real Pi.

use rustix::process::Signal;

use crate::support::Scene;

const INTERVIEW: &str = r#"
conversations:
  - turns:
      - say: Which database do you want?
      - say: Noted.
        tools: [{write: {path: done.md, content: "postgres\n"}}]
      - say: Goodbye.
"#;

#[test]
fn pi_is_told_a_long_prompt_asks_and_ends_by_its_file() {
    let prompt = format!("{}The last line of it.", "A line of it.\n".repeat(12_000));
    let (scene, model) = Scene::with_pi(INTERVIEW);
    scene.write("prompt.md", &prompt);
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    pane.line(&scene.talk("--agent pi --prompt-file ../prompt.md --until done.md"));
    pane.wait_for("Which database do you want?");
    pane.line("postgres please");
    pane.wait_for("pi is done: done.md is there");
    pane.wait_for("code=0");
    pane.assert_plain();
    assert_eq!(pane.keep_modes(&scene, "after"), before);
    scene.assert_all_dead();
    let asked = model.requests();
    assert!(asked[0].text().contains(&prompt));
    assert!(asked[1].text().contains("postgres please"));
}

#[test]
fn pi_that_is_killed_leaves_a_terminal_that_works() {
    let (scene, model) = Scene::with_pi(INTERVIEW);
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    pane.line(&scene.talk("--agent pi --prompt '- Ask me.'"));
    pane.wait_for("Which database do you want?");
    pane.foreground().signal(Signal::KILL);
    pane.wait_for("code=137");
    pane.assert_plain();
    assert_eq!(pane.keep_modes(&scene, "after"), before);
    scene.assert_all_dead();
    assert!(model.requests()[0].text().contains("- Ask me."));
}
