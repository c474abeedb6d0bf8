//! ralph's own failure while an agent has the terminal. The test starts itself a second time, in a
//! terminal, where it panics in the middle of a conversation.

use std::time::Duration;

use ralph_core::config::{Config, CustomAgent};
use ralph_engine::agent::{AgentSetup, find_kind, run_interactive};

use crate::support::{Scene, is_inside, session_inside};

#[test]
fn a_panic_puts_the_terminal_back_and_leaves_nothing_alive() {
    if is_inside() {
        return panic_in_a_conversation();
    }
    let scene = Scene::with_script(
        "stty raw -echo\nprintf '\\033[?1049h\\033[?25l'\ntouch up\nsleep 1000\n",
    );
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    pane.line(&scene.itself("panic::a_panic_puts_the_terminal_back_and_leaves_nothing_alive"));
    pane.wait_for("in the middle of it");
    pane.wait_for("code=101");
    assert!(scene.repo().join("up").exists());
    pane.assert_plain();
    assert_eq!(pane.keep_modes(&scene, "after"), before);
    scene.assert_all_dead();
}

fn panic_in_a_conversation() {
    let config = Config::default();
    let custom: CustomAgent = serde_json::from_value(serde_json::json!({
        "name": "script", "command": ["bash", "../agent.sh"], "dialect": "claude",
    }))
    .unwrap();
    let agent = (find_kind("claude").unwrap().make)(&AgentSetup {
        config: &config,
        custom: Some(&custom),
        is_root: false,
        guard: None,
    });
    let session = session_inside("");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::select! {
            end = run_interactive(&*agent, &session) => panic!("{end:?}"),
            () = async {
                let mut timer = tokio::time::interval(Duration::from_millis(10));
                while !std::path::Path::new("up").exists() {
                    timer.tick().await;
                }
            } => panic!("in the middle of it"),
        }
    });
}
