//! Programs that take a message: a command of the user's, and `notify-send`, which desktops have for it.
//!
//! Contained like a verify command, with its environment: no credentials but those that `safety.pass_env`
//! names. Output is bounded, and a program whose time is up is dead.

use std::{ffi::OsString, time::Duration};

use ralph_core::{
    config,
    notification::{Notification, Occasion},
    sanitize::one_line,
};

use super::{Means, SendError, way};
use crate::{
    environment::Environment,
    process::{CommandSpec, Containment, Ended, Output, Stdin, Tail, spawn},
    programs::{find_program, path_folders},
};

/// The program that shows a message on the desktop.
pub const DESKTOP_PROGRAM: &str = "notify-send";

/// Where these programs run: nothing of the repository, which an agent can write, is near.
const FOLDER: &str = "/";

/// The bytes of its output that are kept, for an error message.
const SAID_BYTES: usize = 2048;
const SAID_COLUMNS: usize = 200;

#[derive(Debug)]
pub(super) struct Program {
    kind: ProgramKind,
    env: Vec<(OsString, OsString)>,
    containment: Containment,
    timeout: Duration,
}

#[derive(Debug)]
enum ProgramKind {
    Command(Vec<String>),
    Desktop,
}

impl Program {
    pub(super) fn command(means: &Means<'_>) -> Option<Self> {
        let argv = means.config.command.as_ref()?.argv();
        let words = argv.as_slice().to_vec();
        Some(Self::new(ProgramKind::Command(words), means))
    }

    pub(super) fn desktop(means: &Means<'_>) -> Option<Self> {
        let wanted = match means.config.desktop {
            config::Desktop::On => true,
            config::Desktop::Auto => desktop_is_reachable(means.environment),
            config::Desktop::Off => false,
        };
        wanted.then(|| Self::new(ProgramKind::Desktop, means))
    }

    fn new(kind: ProgramKind, means: &Means<'_>) -> Self {
        Self {
            kind,
            env: means.environment.vars.clone(),
            containment: means.containment,
            timeout: way::timeout(means.config),
        }
    }

    /// Runs it to its end. Dropped halfway, it kills the tree.
    pub(super) async fn send(&self, message: &Notification) -> Result<String, SendError> {
        let spec = match &self.kind {
            ProgramKind::Command(words) => command_spec(words, message),
            ProgramKind::Desktop => desktop_spec(message),
        };
        let spec = CommandSpec {
            env: [self.env.as_slice(), &spec.env].concat(),
            output: Output::Merged,
            ..spec
        };
        let program = spec.program.to_string_lossy().into_owned();
        let mut running = spawn(&spec, self.containment)?;
        let mut tail = Tail::new(SAID_BYTES);
        let mut take = |bytes: &[u8]| tail.push(bytes);
        let how = match running.finish_within(self.timeout, &mut take).await {
            Some(Ok(Ended::Code(0))) => {
                return Ok(match self.kind {
                    ProgramKind::Command(_) => format!("{program} ended with exit code 0"),
                    ProgramKind::Desktop => format!("{program} took it"),
                });
            }
            Some(Ok(Ended::Code(code))) => format!("exit code {code}"),
            Some(Ok(Ended::Signal(signal))) => format!("signal {signal}"),
            Some(Err(error)) => format!("an end that could not be awaited ({error})"),
            None => {
                let (what, after) = (program, self.timeout);
                return Err(SendError::TimedOut { what, after });
            }
        };
        let said = one_line(&tail.text(), SAID_COLUMNS);
        Err(SendError::Failed { program, how, said })
    }
}

/// The message as JSON on its standard input, its parts in variables.
fn command_spec(words: &[String], message: &Notification) -> CommandSpec {
    let (program, args) = match words.split_first() {
        Some((program, args)) => (program.as_str(), args),
        None => ("", &[][..]),
    };
    // All keys are texts and nothing is read on the way: this can't fail.
    let mut json = serde_json::to_vec(message).unwrap_or_default();
    json.push(b'\n');
    CommandSpec::new(program, FOLDER)
        .args(args)
        .stdin(Stdin::Bytes(json))
        .env("RALPH_NOTIFY_EVENT", message.event.as_str())
        .env("RALPH_NOTIFY_TITLE", &message.title)
        .env("RALPH_NOTIFY_TEXT", &message.text)
        .env("RALPH_NOTIFY_TASK", message.task.as_deref().unwrap_or(""))
        .env("RALPH_NOTIFY_LOOP", message.loop_id.as_str())
}

fn desktop_spec(message: &Notification) -> CommandSpec {
    let urgency = match message.event {
        Occasion::Escalation | Occasion::Halt => "critical",
        Occasion::Complete | Occasion::Limit | Occasion::BudgetAlert => "normal",
    };
    CommandSpec::new(DESKTOP_PROGRAM, FOLDER).args([
        "--app-name=ralph".to_owned(),
        format!("--urgency={urgency}"),
        "--".to_owned(),
        message.title.clone(),
        without_markup(&message.text),
    ])
}

/// Desktops read the body as markup: words of an agent must not make links or pictures.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns whether there is a session bus, and the program on a PATH that an agent can't write.
pub fn desktop_is_reachable(environment: &Environment) -> bool {
    let var = |name: &str| {
        let found = environment.vars.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str())
    };
    let has_bus = var("DBUS_SESSION_BUS_ADDRESS").is_some_and(|value| !value.is_empty());
    has_bus && find_program(DESKTOP_PROGRAM, path_folders(&environment.vars)).is_some()
}
