//! The ways a message can go, chosen from the configuration.
//!
//! Each has all the time of `notify.timeout_seconds` for a message, and no more.

use std::time::Duration;

use ralph_core::{config::NotifyConfig, notification::Notification, secret::Redaction};

#[cfg(feature = "webhook")]
use super::webhook::Webhook;
use super::{Trace, program::Program};
use crate::{
    environment::Environment,
    process::{Containment, SpawnError},
};

/// True if this build of ralph can send to a webhook.
pub const HAS_WEBHOOKS: bool = cfg!(feature = "webhook");

/// The means to send messages with.
#[derive(Debug, Clone)]
pub struct Means<'a> {
    pub config: &'a NotifyConfig,
    /// The environment that programs are started with.
    pub environment: &'a Environment,
    pub containment: Containment,
    /// The value of the variable that `notify.webhook_token_env` names.
    pub token: Option<String>,
}

/// Why a message was not sent. Never holds more of an address than its host.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    NotStarted(#[from] SpawnError),
    #[error("{program} ended with {how}{}", after_colon(said))]
    Failed {
        program: String,
        how: String,
        said: String,
    },
    #[error("{what} took longer than {} s", after.as_secs_f64())]
    TimedOut { what: String, after: Duration },
    #[error("{host} answered {status}")]
    Refused { host: String, status: String },
    #[error("{host} can't be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("the variable {name} is not set, which `notify.webhook_token_env` names")]
    NoToken { name: String },
    #[error("the client can't be made: {0}")]
    NoClient(String),
    #[error("this build of ralph has no webhooks; one with `--features webhook` has")]
    NotBuiltIn,
}

fn after_colon(said: &str) -> String {
    match said.trim() {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

/// One way.
#[derive(Debug)]
pub struct Way(WayKind);

#[derive(Debug)]
enum WayKind {
    Command(Program),
    #[cfg(feature = "webhook")]
    Webhook(Box<Webhook>),
    #[cfg(not(feature = "webhook"))]
    Webhook,
    Desktop(Program),
}

/// The ways that are configured and, for the desktop, there.
pub fn ways(means: &Means<'_>) -> Vec<Way> {
    let found = [
        Program::command(means).map(WayKind::Command),
        #[cfg(feature = "webhook")]
        Webhook::choose(means).map(|way| WayKind::Webhook(Box::new(way))),
        #[cfg(not(feature = "webhook"))]
        means.config.webhook.as_ref().map(|_| WayKind::Webhook),
        Program::desktop(means).map(WayKind::Desktop),
    ];
    found.into_iter().flatten().map(Way).collect()
}

impl Way {
    pub fn name(&self) -> &'static str {
        match &self.0 {
            WayKind::Command(_) => "command",
            WayKind::Webhook { .. } => "webhook",
            WayKind::Desktop(_) => "desktop",
        }
    }

    /// Sends a message, and says what was answered.
    pub async fn send(&self, message: &Notification) -> Result<String, SendError> {
        match &self.0 {
            WayKind::Command(way) | WayKind::Desktop(way) => way.send(message).await,
            #[cfg(feature = "webhook")]
            WayKind::Webhook(way) => way.send(message).await,
            #[cfg(not(feature = "webhook"))]
            WayKind::Webhook => Err(SendError::NotBuiltIn),
        }
    }

    /// Sends a message and notes what became of it. Returns what went wrong, without secrets.
    pub(super) async fn deliver(
        &self,
        message: &Notification,
        redaction: &Redaction,
        trace: &Trace,
    ) -> Result<(), String> {
        let way = self.name();
        match self.send(message).await {
            Ok(answer) => {
                trace.note(message, way, &answer);
                Ok(())
            }
            Err(error) => {
                let error = redaction.hide(&error.to_string()).into_owned();
                trace.note(message, way, &format!("failed: {error}"));
                Err(format!("a message by {way} was not sent: {error}"))
            }
        }
    }
}

/// Returns how long a message may take.
pub(super) fn timeout(config: &NotifyConfig) -> Duration {
    Duration::from_secs(config.timeout_seconds.get().into())
}
