//! ralph's own failure while an agent has the terminal. The test starts itself a second time, in a
//! terminal, where it panics in the middle of a conversation.

use std::time::Duration;

use ralph_core::config::{Config, CustomAgent};
use ralph_engine::{
    agent::{Making, Session, find, talk},
    process::Containment,
};

use crate::support::Scene;

const INSIDE: &str = "TALK_PANICS_INSIDE";

#[test]
fn a_panic_puts_the_terminal_back_and_leaves_nothing_alive() {
    if std::env::var_os(INSIDE).is_some() {
        return panic_in_a_conversation();
    }
    let scene = Scene::with_script(
        "stty raw -echo\nprintf '\\033[?1049h\\033[?25l'\ntouch up\nsleep 1000\n",
    );
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    let itself = std::env::current_exe().unwrap();
    pane.line(&format!(
        "{} {INSIDE}=1 {} --exact panic::a_panic_puts_the_terminal_back_and_leaves_nothing_alive; echo code=$?",
        scene.mark(),
        itself.display()
    ));
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
    let agent = (find("claude").unwrap().make)(&Making {
        config: &config,
        custom: Some(&custom),
        is_root: false,
    });
    let session = Session {
        cwd: std::env::current_dir().unwrap(),
        env: std::env::vars_os().collect(),
        prompt: String::new(),
        done_file: None,
        grace: Duration::from_secs(5),
        containment: Containment::detect(None).containment,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::select! {
            end = talk(&*agent, &session) => panic!("{end:?}"),
            () = async {
                let mut timer = tokio::time::interval(Duration::from_millis(10));
                while !std::path::Path::new("up").exists() {
                    timer.tick().await;
                }
            } => panic!("in the middle of it"),
        }
    });
}
