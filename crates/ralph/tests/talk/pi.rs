//! A conversation with the real Pi.

use ralph_core::config::PiConfig;
use ralph_engine::{
    agent::{Agent, Dialect, RunContext, TalkContext, TalkEnd, talk, talk_with_pi},
    process::CommandSpec,
};
use ralph_testkit::agents;
use rustix::process::Signal;

use crate::support::{Scene, is_inside, session_inside};

struct Pi;

impl Agent for Pi {
    fn name(&self) -> String {
        "pi".into()
    }

    fn command(&self, _: &RunContext) -> CommandSpec {
        panic!("it is talked to");
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        panic!("it is talked to");
    }

    fn interactive(&self, context: &TalkContext<'_>) -> Option<CommandSpec> {
        let options: PiConfig = serde_json::from_value(serde_json::json!({
            "command": [agents::pi()], "model": agents::PI_MODEL,
        }))
        .unwrap();
        Some(talk_with_pi(&options, context))
    }
}

fn talk_inside(prompt: &str) -> TalkEnd {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(talk(&Pi, &session_inside(prompt)))
        .unwrap()
}

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
    if is_inside() {
        return assert_eq!(talk_inside(&prompt), TalkEnd::Done);
    }
    let (scene, model) = Scene::with_pi(INTERVIEW);
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    pane.line(&scene.itself("pi::pi_is_told_a_long_prompt_asks_and_ends_by_its_file"));
    pane.wait_for("Which database do you want?");
    pane.line("postgres please");
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
    if is_inside() {
        return assert_eq!(talk_inside("- Ask me."), TalkEnd::Killed(9));
    }
    let (scene, model) = Scene::with_pi(INTERVIEW);
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    pane.line(&scene.itself("pi::pi_that_is_killed_leaves_a_terminal_that_works"));
    pane.wait_for("Which database do you want?");
    pane.foreground().signal(Signal::KILL);
    pane.wait_for("code=0");
    pane.assert_plain();
    assert_eq!(pane.keep_modes(&scene, "after"), before);
    scene.assert_all_dead();
    assert!(model.requests()[0].text().contains("- Ask me."));
}
