//! A test that starts itself a second time, in the terminal: for what the program can't be made to do.

use std::time::Duration;

use ralph_engine::{agent::InteractiveSession, process::Containment};

use super::Scene;

const INSIDE: &str = "TALK_TEST_INSIDE";

/// Whether this is the second time.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// A conversation in the folder that it was started in.
pub(crate) fn session_inside(prompt: &str) -> InteractiveSession<'static> {
    InteractiveSession {
        cwd: std::env::current_dir().unwrap(),
        env: std::env::vars_os().collect(),
        prompt: prompt.to_owned(),
        done_file: Some("done.md".into()),
        grace: Duration::from_secs(10),
        sandbox: None,
        containment: Containment::detect(None).containment,
    }
}

impl Scene {
    /// The line that starts one test of this program, and says its exit code.
    pub(crate) fn itself(&self, test: &str) -> String {
        let program = std::env::current_exe().unwrap();
        let mark = self.mark();
        let env = ["RALPH_AGENTS_DIR", "CARGO_TARGET_DIR"].map(|name| {
            let value = std::env::var(name).unwrap_or_default();
            format!("{name}={value}")
        });
        format!(
            "{mark} {INSIDE}=1 {} {} --nocapture --exact {test}; echo code=$?",
            env.join(" "),
            program.display()
        )
    }
}
