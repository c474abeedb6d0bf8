//! Describes how flows run in a browser, and the application that they run against.

use std::{collections::BTreeMap, num::NonZeroU32, path::PathBuf, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::sections::section;
use crate::task::VerifyCommand;

/// Programs that are taken for the browser where none is configured, in the order in which they are looked for.
pub const BROWSER_PROGRAMS: [&str; 9] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chrome-headless-shell",
    "/opt/google/chrome/chrome",
    "/usr/lib/chromium/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

section! {
    /// The way flows run in a browser: `ralph qa`.
    pub struct QaConfig {
        /// The folder of the flows.
        #[schemars(length(min = 1))]
        pub flows: PathBuf = ".ralph/flows".into(),
        /// The browser: Chromium or Chrome. None for the first that is found on the PATH.
        #[schemars(length(min = 1))]
        pub browser: Option<PathBuf> = None,
        /// The base of relative addresses where `qa.server.command` is not set and a flow names none.
        pub url: Option<PageUrl> = None,
        /// The size of pages: `1280x720`.
        pub viewport: PageSize = PageSize::DESKTOP,
        /// The longest time of one step, such as `10s`.
        pub timeout: TimeText = TimeText::seconds(10),
        /// The most flows beside each other. None for one on each processor, and four at most.
        pub jobs: Option<NonZeroU32> = None,
        /// The share of a picture's pixels that may differ from its baseline, from 0 to 1.
        pub threshold: PixelShare = PixelShare::default(),
        /// Hosts that every flow may reach, besides the server under test.
        pub hosts: Vec<HostName> = Vec::new(),
        /// The application under test.
        pub server: QaServer = QaServer::default(),
    }
}

section! {
    /// The application under test: started before the flows, ended after them.
    pub struct QaServer {
        /// The command that starts it: a list of words, or a line for the shell. `$PORT` is its port, here and in its
        /// environment. None where it runs by itself, at `qa.url`.
        pub command: Option<VerifyCommand> = None,
        /// The sign that it is ready: its `port` accepts connections, a path or an address answers with a status
        /// below 500, or its output has a line that holds this text.
        pub ready: ServerReady = ServerReady::Port,
        /// The longest time until it is ready.
        pub timeout: TimeText = TimeText::seconds(60),
        /// Its port; `auto` for one that is free.
        pub port: ServerPort = ServerPort::Auto,
        /// Further variables of its environment.
        pub env: BTreeMap<String, String> = BTreeMap::new(),
    }
}

/// The sign by which the application under test is known to be ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ServerReady {
    /// Its port accepts connections.
    Port,
    /// A path, or a complete address, answers with a status below 500.
    Address(String),
    /// A line of its output holds this text.
    Line(String),
}

schema_of!(ServerReady, { "type": "string", "minLength": 1 });

impl TryFrom<String> for ServerReady {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_address = ["/", "http://", "https://"]
            .iter()
            .any(|start| text.starts_with(start));
        match text.as_str() {
            "port" => Ok(Self::Port),
            blank if blank.trim().is_empty() => Err(
                "expected `port`, a path such as `/health`, an address, or the text of a line of output"
                    .into(),
            ),
            _ if is_address => Ok(Self::Address(text)),
            _ => Ok(Self::Line(text)),
        }
    }
}

impl From<ServerReady> for String {
    fn from(ready: ServerReady) -> Self {
        match ready {
            ServerReady::Port => "port".into(),
            ServerReady::Address(text) | ServerReady::Line(text) => text,
        }
    }
}

/// The port of the application under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PortWord", into = "PortWord")]
pub enum ServerPort {
    /// One that is free.
    Auto,
    Fixed(u16),
}

/// As it stands in a file or in the environment.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PortWord {
    Number(u16),
    Name(String),
}

impl TryFrom<PortWord> for ServerPort {
    type Error = String;

    fn try_from(word: PortWord) -> Result<Self, String> {
        let number = match &word {
            PortWord::Name(name) if name == "auto" => return Ok(Self::Auto),
            PortWord::Name(name) => name.parse().ok(),
            PortWord::Number(number) => Some(*number),
        };
        number
            .filter(|number| *number > 0)
            .map(Self::Fixed)
            .ok_or_else(|| "expected `auto`, or a port from 1 to 65535".into())
    }
}

impl From<ServerPort> for PortWord {
    fn from(port: ServerPort) -> Self {
        match port {
            ServerPort::Auto => Self::Name("auto".into()),
            ServerPort::Fixed(number) => Self::Number(number),
        }
    }
}

impl JsonSchema for ServerPort {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ServerPort".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": 65535 },
                { "type": "string", "minLength": 1 },
            ],
        })
    }
}

/// A length of time that is written with its unit: `10s`, `500ms`, `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeText {
    // Whole milliseconds.
    millis: u64,
}

schema_of!(TimeText, { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$" });

impl TimeText {
    /// Longer is a mistake in the unit.
    const MAX: f64 = 24.0 * 60.0 * 60.0 * 1000.0;

    pub const fn seconds(seconds: u32) -> Self {
        Self {
            millis: seconds as u64 * 1000,
        }
    }

    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

impl TryFrom<String> for TimeText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!("expected a time with its unit, such as `10s`, `500ms` or `2m`, found `{text}`")
        };
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let factor = match &text[digits.len()..] {
            "ms" => 1.0,
            "s" => 1000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            _ => return Err(wrong()),
        };
        let plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        let number: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
        let millis = (number * factor).round();
        if !(1.0..=Self::MAX).contains(&millis) {
            return Err(format!(
                "expected a time of at least 1ms and at most 24h, found `{text}`"
            ));
        }
        // In range by the check above.
        Ok(Self {
            millis: millis as u64,
        })
    }
}

impl From<TimeText> for String {
    fn from(time: TimeText) -> Self {
        match time.millis {
            minutes if minutes.is_multiple_of(60_000) => format!("{}m", minutes / 60_000),
            seconds if seconds.is_multiple_of(1000) => format!("{}s", seconds / 1000),
            millis => format!("{millis}ms"),
        }
    }
}

/// The size of a page in pixels: `1280x720`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PageSize {
    pub width: u32,
    pub height: u32,
}

schema_of!(PageSize, { "type": "string", "pattern": "^[0-9]+x[0-9]+$" });

impl PageSize {
    pub const DESKTOP: Self = Self {
        width: 1280,
        height: 720,
    };
}

impl TryFrom<String> for PageSize {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let side = |side: &str| side.parse().ok().filter(|n| (50..=8192).contains(n));
        let sides = text
            .split_once('x')
            .and_then(|(width, height)| Some((side(width)?, side(height)?)));
        let (width, height) = sides.ok_or_else(|| {
            format!(
                "expected a width and a height from 50 to 8192, such as `1280x720`, found `{text}`"
            )
        })?;
        Ok(Self { width, height })
    }
}

impl From<PageSize> for String {
    fn from(size: PageSize) -> Self {
        format!("{}x{}", size.width, size.height)
    }
}

/// A share of the pixels of a picture, from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct PixelShare {
    // Millionths, so that two equal settings compare equal.
    millionths: u32,
}

schema_of!(PixelShare, { "type": "number", "minimum": 0, "maximum": 1 });

impl PixelShare {
    pub fn share(self) -> f64 {
        f64::from(self.millionths) / 1e6
    }
}

impl TryFrom<f64> for PixelShare {
    type Error = String;

    fn try_from(share: f64) -> Result<Self, String> {
        if !(0.0..=1.0).contains(&share) {
            return Err(format!(
                "expected a share of the pixels from 0 to 1, found {share}"
            ));
        }
        // In range by the check above.
        Ok(Self {
            millionths: (share * 1e6).round() as u32,
        })
    }
}

impl From<PixelShare> for f64 {
    fn from(share: PixelShare) -> Self {
        share.share()
    }
}

checked_text! {
    /// The address of a page.
    pub struct PageUrl;
    { "type": "string", "pattern": "^https?://" }
}

impl TryFrom<String> for PageUrl {
    type Error = String;

    fn try_from(url: String) -> Result<Self, String> {
        let host = ["http://", "https://"]
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme))
            .and_then(|rest| rest.split(['/', '?', '#']).next());
        match host {
            Some(host) if !host.is_empty() && !host.contains(char::is_whitespace) => Ok(Self(url)),
            _ => Err(format!(
                "expected an address such as `http://localhost:3000`, found `{url}`"
            )),
        }
    }
}

checked_text! {
    /// The name of a host, with or without a port: `cdn.example.com`, `*.example.com`, `localhost:8080`.
    pub struct HostName;
    { "type": "string", "minLength": 1 }
}

impl TryFrom<String> for HostName {
    type Error = String;

    fn try_from(host: String) -> Result<Self, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-._*:[]".contains(c);
        if host.is_empty() || !host.chars().all(is_part) {
            return Err(format!(
                "expected the name of a host such as `cdn.example.com`, without `https://` and a path, found `{host}`"
            ));
        }
        Ok(Self(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_unit() {
        let table = [
            ("10s", Some(10_000)),
            ("500ms", Some(500)),
            ("1.5s", Some(1500)),
            ("2m", Some(120_000)),
            ("24h", Some(86_400_000)),
            ("25h", None),
            ("0s", None),
            ("10", None),
            ("-1s", None),
            ("1e3s", None),
            ("s", None),
            ("", None),
            ("10 s", None),
        ];
        for (text, millis) in table {
            let read = TimeText::try_from(text.to_owned()).ok();
            assert_eq!(
                read.map(|time| time.duration()),
                millis.map(Duration::from_millis),
                "{text}"
            );
        }
        assert_eq!(String::from(TimeText::seconds(120)), "2m");
        assert_eq!(String::from(TimeText::seconds(90)), "90s");
    }

    #[test]
    fn a_server_is_ready_by_its_port_an_answer_or_a_line() {
        let table = [
            ("port", Some(ServerReady::Port)),
            ("/health", Some(ServerReady::Address("/health".into()))),
            (
                "http://localhost:3000/",
                Some(ServerReady::Address("http://localhost:3000/".into())),
            ),
            ("ready in", Some(ServerReady::Line("ready in".into()))),
            (" ", None),
        ];
        for (text, ready) in table {
            assert_eq!(ServerReady::try_from(text.to_owned()).ok(), ready, "{text}");
        }
    }

    #[test]
    fn sizes_shares_addresses_and_hosts_are_checked() {
        let size = |text: &str| PageSize::try_from(text.to_owned()).ok().map(String::from);
        assert_eq!(size("390x844").as_deref(), Some("390x844"));
        assert_eq!(size("390"), None);
        assert_eq!(size("10x844"), None);
        assert_eq!(size("99999x844"), None);
        assert!(
            PixelShare::try_from(0.001).is_ok_and(|share| (share.share() - 0.001).abs() < 1e-9)
        );
        assert!(PixelShare::try_from(1.5).is_err());
        assert!(PageUrl::try_from("http://localhost:3000".to_owned()).is_ok());
        assert!(PageUrl::try_from("localhost:3000".to_owned()).is_err());
        assert!(PageUrl::try_from("http://".to_owned()).is_err());
        assert!(HostName::try_from("*.example.com".to_owned()).is_ok());
        assert!(HostName::try_from("https://example.com/".to_owned()).is_err());
    }

    #[test]
    fn a_port_is_a_number_or_auto() {
        let read = |json: &str| serde_json::from_str::<ServerPort>(json).ok();
        assert_eq!(read("\"auto\""), Some(ServerPort::Auto));
        assert_eq!(read("3000"), Some(ServerPort::Fixed(3000)));
        // A variable of the environment is a text.
        assert_eq!(read("\"3000\""), Some(ServerPort::Fixed(3000)));
        assert_eq!(read("0"), None);
        assert_eq!(read("\"any\""), None);
    }
}
