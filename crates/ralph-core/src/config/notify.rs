//! Describes who is told of a question, the end, a halt, a limit, the budget, and how.
//!
//! Only what is wanted; nothing is sent here. The address of a webhook may hold a secret, so that no
//! way of printing it shows more than its host.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sections::{count, section};
use super::value::Argv;
use crate::notification::Occasion;

section! {
    /// Who is told of a question, the end, a halt, a limit, the budget, and how.
    pub struct NotifyConfig {
        /// A program and its arguments that gets each message as JSON on its standard input. No shell is
        /// involved; the program is a name on the PATH or an absolute path.
        pub command: Option<NotifyCommand> = None,
        /// An address that each message is posted to as JSON: `https`, or `http` on this machine. Never
        /// shown but for its host.
        pub webhook: Option<WebhookUrl> = None,
        /// The name of the environment variable whose value goes with the webhook as
        /// `Authorization: Bearer`. Agents and commands do not get it.
        pub webhook_token_env: Option<VariableName> = None,
        /// What messages are sent about.
        pub on: Vec<Occasion> = Occasion::ALL.to_vec(),
        /// Whether the desktop shows messages, by `notify-send`: `auto` where there is one that can be
        /// reached.
        pub desktop: Desktop = Desktop::Auto,
        /// Percent of `loop.max_cost_usd` from which one message says so.
        #[schemars(range(min = 1, max = 100))]
        pub budget_alert_percent: u8 = 80,
        /// Seconds that sending a message may take, a second try included.
        pub timeout_seconds: NonZeroU32 = count(10),
    }
}

impl NotifyConfig {
    /// Takes out of it what may be a secret, for what is written down.
    pub fn hide(&mut self) {
        if let Some(url) = &mut self.webhook {
            *url = WebhookUrl(url.shown());
        }
    }
}

/// Whether the desktop shows messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Desktop {
    Auto,
    On,
    Off,
}

/// A command line whose program an agent can't put in place by writing into the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Argv", into = "Argv")]
pub struct NotifyCommand(Argv);

impl NotifyCommand {
    pub fn argv(&self) -> &Argv {
        &self.0
    }
}

impl TryFrom<Argv> for NotifyCommand {
    type Error = String;

    fn try_from(argv: Argv) -> Result<Self, String> {
        let program = argv.program();
        if program.contains('/') && !program.starts_with('/') {
            return Err(format!(
                "`{program}` is a path within the repository, which an agent can write; name a \
                 program on the PATH, or an absolute path"
            ));
        }
        Ok(Self(argv))
    }
}

impl From<NotifyCommand> for Argv {
    fn from(command: NotifyCommand) -> Self {
        command.0
    }
}

schema_of!(NotifyCommand, { "type": "array", "items": { "type": "string" }, "minItems": 1 });

checked_text! {
    /// The name of an environment variable: not its value, which does not belong into a file.
    pub struct VariableName;
    { "type": "string", "minLength": 1 }
}

impl TryFrom<String> for VariableName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let good = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        // The text itself is not repeated: it may be the token.
        let message = "expected the name of an environment variable, such as HOOK_TOKEN; the token \
                       itself does not belong into a file";
        good.then_some(Self(name)).ok_or_else(|| message.to_owned())
    }
}

/// A part of an address that is shorter is a word.
const SECRET_LENGTH: usize = 12;

/// Where messages are posted to. Its path may be a secret: printing it shows its host alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// All of it, for sending alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn host(&self) -> &str {
        self.parts().host
    }

    /// Returns what may be a secret in it: all that follows the host, and each longer part of that.
    pub fn secrets(&self) -> Vec<String> {
        let rest = self.parts().rest.trim_start_matches('/');
        let parts = rest.split(['/', '?', '&', '=', '#']);
        let long = parts.filter(|part| part.len() >= SECRET_LENGTH);
        std::iter::once(rest)
            .chain(long)
            .map(str::to_owned)
            .collect()
    }

    pub fn is_encrypted(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// As it may be shown.
    pub fn shown(&self) -> String {
        let Parts { scheme, host, rest } = self.parts();
        let hidden = if rest.is_empty() { "" } else { "/(hidden)" };
        format!("{scheme}://{host}{hidden}")
    }

    fn parts(&self) -> Parts<'_> {
        Parts::of(&self.0).unwrap_or_default()
    }
}

#[derive(Default)]
struct Parts<'a> {
    scheme: &'a str,
    /// With the port.
    host: &'a str,
    rest: &'a str,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, rest) = rest.split_at(end);
        Some(Self { scheme, host, rest })
    }
}

impl TryFrom<String> for WebhookUrl {
    type Error = String;

    /// Messages say what is wrong and never repeat the address.
    fn try_from(url: String) -> Result<Self, String> {
        let bad = |message: &str| Err(message.to_owned());
        if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return bad("an address has no spaces and no backslashes");
        }
        let Some(Parts { scheme, host, .. }) = Parts::of(&url) else {
            return bad("expected an address such as https://host/path");
        };
        if host.contains('@') {
            return bad(
                "an address must not hold a user or password; `notify.webhook_token_env` names a \
                 variable with a token",
            );
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        if host.is_empty() || !host.chars().all(plain) {
            return bad("expected an address with a host, such as https://host/path");
        }
        match scheme {
            "https" => Ok(Self(url)),
            "http" if is_loopback(host) => Ok(Self(url)),
            "http" => Err(format!(
                "http sends messages in the clear to {host}: use https (http is taken for this \
                 machine alone: localhost, 127.0.0.1, [::1])"
            )),
            _ => bad("expected an address that begins with https://"),
        }
    }
}

/// Returns true if a host, with or without a port, is this machine by its very name.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    let numbers: Vec<&str> = name.split('.').collect();
    let is_number = |part: &&str| {
        part.len() <= 3 && part.chars().all(|c| c.is_ascii_digit()) && part.parse::<u8>().is_ok()
    };
    name == "localhost"
        || name == "[::1]"
        || numbers.len() == 4 && numbers[0] == "127" && numbers.iter().all(is_number)
}

impl From<WebhookUrl> for String {
    fn from(url: WebhookUrl) -> Self {
        url.0
    }
}

impl std::fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WebhookUrl({})", self.shown())
    }
}

schema_of!(WebhookUrl, { "type": "string", "minLength": 1 });
