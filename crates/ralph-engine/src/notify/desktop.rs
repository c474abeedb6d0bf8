//! The desktop, by `notify-send`: the program that desktops have for it.
//!
//! Only the program is known here; who shows the message is the desktop's.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use ralph_core::{
    config,
    notification::{Notification, Occasion},
};

use super::{Means, SendError, program, way};
use crate::{
    environment::Environment,
    process::{CommandSpec, Containment},
};

/// The program that shows a message.
pub const PROGRAM: &str = "notify-send";

#[derive(Debug)]
pub(super) struct Desktop {
    env: Vec<(OsString, OsString)>,
    containment: Containment,
    timeout: Duration,
}

impl Desktop {
    pub(super) fn choose(means: &Means<'_>) -> Option<Self> {
        let wanted = match means.config.desktop {
            config::Desktop::On => true,
            config::Desktop::Auto => is_reachable(means.environment),
            config::Desktop::Off => false,
        };
        wanted.then(|| Self {
            env: means.environment.vars.clone(),
            containment: means.containment,
            timeout: way::timeout(means.config),
        })
    }

    pub(super) async fn send(&self, message: &Notification) -> Result<String, SendError> {
        let urgency = match message.event {
            Occasion::Escalation | Occasion::Halt => "critical",
            Occasion::Complete | Occasion::Limit | Occasion::BudgetAlert => "normal",
        };
        let mut spec = CommandSpec::new(PROGRAM, program::FOLDER).args([
            "--app-name=ralph".to_owned(),
            format!("--urgency={urgency}"),
            "--".to_owned(),
            message.title.clone(),
            without_markup(&message.text),
        ]);
        spec.env.clone_from(&self.env);
        program::run(spec, self.containment, self.timeout).await?;
        Ok(format!("{PROGRAM} took it"))
    }
}

/// Desktops read the body as markup: words of an agent must not make links or pictures.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns whether there is a session bus, and the program on a PATH that an agent can't write.
pub fn is_reachable(environment: &Environment) -> bool {
    let var = |name: &str| {
        let found = environment.vars.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str())
    };
    let has_bus = var("DBUS_SESSION_BUS_ADDRESS").is_some_and(|value| !value.is_empty());
    has_bus && var("PATH").is_some_and(has_program)
}

fn has_program(path: &OsStr) -> bool {
    std::env::split_paths(path).any(|folder| {
        let found = std::fs::metadata(folder.join(PROGRAM));
        found.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    })
}
