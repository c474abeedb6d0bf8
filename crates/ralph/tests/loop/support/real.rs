//! Projects whose agent is the real Claude Code or the real Pi, with a scripted model.

use std::ffi::OsString;

use ralph_testkit::agents;

use super::{Live, Project};

/// The project with the agent of this name, whose model is at `url`, and more configuration.
pub(crate) fn with_real(project: Project, agent: &str, url: &str, more: &str) -> Project {
    let home = project.repo.home();
    let (config, env) = match agent {
        "claude" => (
            format!("claude: {{command: [{:?}]}}\n", agents::claude()),
            agents::claude_env(&home, url),
        ),
        _ => (
            format!(
                "pi: {{command: [{:?}], model: {}}}\n",
                agents::pi(),
                agents::PI_MODEL
            ),
            agents::pi_env(&home, url),
        ),
    };
    let mut project = project.config(&format!("{config}loop: {{stop_grace_seconds: 5}}\n{more}"));
    for (name, value) in env.into_iter().filter(|(name, _)| name != "PATH") {
        project = project.env(&name, OsString::from(value));
    }
    project
}

/// Waits until ralph has told the running agent something.
pub(crate) fn nudge_is_sent(live: &mut Live) {
    loop {
        let event = live.wait_for("agent");
        if event["kind"] == "nudge" && event["state"] == "sent" {
            return;
        }
    }
}
