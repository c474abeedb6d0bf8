//! Steps as a person reads them.
//!
//! Never shows what is typed into a field for a secret; a value of a variable is not even known here.

use std::fmt::{Display, Formatter, Result};

use ralph_core::sanitize::one_line;

use super::{
    Check, ColorScheme, CountRange, ElementState, Emulation, FixtureCommand, FlowStep,
    FlowStepAction, LoadState, MouseButton, Target, TargetKind, TreeLine, TypedText, Wait,
};

/// The widest step that is shown.
const MAX_SHOWN: usize = 200;
/// The widest text within a step.
const MAX_TEXT: usize = 80;

impl FlowStep {
    /// A step with the words that it is shown by.
    pub fn new(
        line: usize,
        note: Option<String>,
        timeout: Option<std::time::Duration>,
        action: FlowStepAction,
    ) -> Self {
        Self {
            line,
            shown: one_line(&action.to_string(), MAX_SHOWN),
            note,
            timeout,
            action,
        }
    }
}

impl FlowStepAction {
    /// The word of the flow file.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Navigate { .. } => "navigate",
            Self::Click { .. } => "click",
            Self::Type { .. } => "type",
            Self::Press { .. } => "press",
            Self::Select { .. } => "select",
            Self::Hover { .. } => "hover",
            Self::Upload { .. } => "upload",
            Self::Wait(_) => "wait",
            Self::Verify(_) => "verify",
            Self::Resize(_) => "resize",
            Self::Emulate(_) => "emulate",
            Self::Screenshot(_) => "screenshot",
            Self::Fixture(_) => "fixture",
        }
    }
}

impl Display for FlowStepAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.word())?;
        match self {
            Self::Navigate { url, until } => {
                write!(f, " {}", without_password(url))?;
                match until {
                    LoadState::Load => Ok(()),
                    LoadState::Dom => f.write_str(" until its document is read"),
                    LoadState::Idle => f.write_str(" until no request is under way"),
                }
            }
            Self::Click {
                target,
                button,
                double,
            } => {
                if *double {
                    f.write_str(" twice")?;
                }
                match button {
                    MouseButton::Left => {}
                    MouseButton::Middle => f.write_str(" with the middle button")?,
                    MouseButton::Right => f.write_str(" with the right button")?,
                }
                if *double || *button != MouseButton::Left {
                    f.write_str(" on")?;
                }
                write!(f, " {target}")
            }
            Self::Type {
                target,
                text,
                append,
                press,
            } => {
                match text {
                    TypedText::SecretVariable(name) => write!(f, " the value of {name}")?,
                    TypedText::Plain(_) if is_for_secret(target) => {
                        f.write_str(" a hidden text")?
                    }
                    TypedText::Plain(text) => write!(f, " {}", quoted(text))?,
                }
                f.write_str(if *append { " at the end of " } else { " into " })?;
                write!(f, "{target}")?;
                press
                    .as_ref()
                    .map_or(Ok(()), |key| write!(f, ", then press {key}"))
            }
            Self::Press { key, target } => {
                write!(f, " {key}")?;
                target
                    .as_ref()
                    .map_or(Ok(()), |target| write!(f, " in {target}"))
            }
            Self::Select { target, options } => {
                let options: Vec<String> = options.iter().map(|option| quoted(option)).collect();
                write!(f, " {} in {target}", options.join(", "))
            }
            Self::Hover { target } => write!(f, " {target}"),
            Self::Upload { target, files } => {
                let files: Vec<String> = files
                    .iter()
                    .map(|file| file.display().to_string())
                    .collect();
                write!(f, " {} to {target}", files.join(", "))
            }
            Self::Wait(wait) => write!(f, " {wait}"),
            Self::Verify(checks) => write!(f, " {}", all_of(checks)),
            Self::Resize(viewport) => write!(f, " to {viewport}"),
            Self::Emulate(emulation) => write!(f, " {emulation}"),
            Self::Screenshot(picture) => {
                write!(f, " {}", picture.name)?;
                picture
                    .of
                    .as_ref()
                    .map_or(Ok(()), |target| write!(f, " of {target}"))?;
                f.write_str(if picture.full {
                    " of the whole page"
                } else {
                    ""
                })
            }
            Self::Fixture(FixtureCommand::Shell(line)) => write!(f, " {line}"),
            Self::Fixture(FixtureCommand::Argv(words)) => write!(f, " {}", words.join(" ")),
        }
    }
}

impl Display for Wait {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Time(time) if time.subsec_millis() > 0 => write!(f, "{}ms", time.as_millis()),
            Self::Time(time) => write!(f, "{}s", time.as_secs()),
            Self::Idle => f.write_str("until no request is under way"),
            Self::Gone(target) => write!(f, "until {target} is gone"),
            Self::Until(checks) => write!(f, "for {}", all_of(checks)),
        }
    }
}

impl Display for Emulation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut parts: Vec<String> = Vec::new();
        match self.scheme {
            Some(ColorScheme::Light) => parts.push("a light scheme".to_owned()),
            Some(ColorScheme::Dark) => parts.push("a dark scheme".to_owned()),
            None => {}
        }
        match self.reduced_motion {
            Some(true) => parts.push("reduced motion".to_owned()),
            Some(false) => parts.push("full motion".to_owned()),
            None => {}
        }
        if let Some(device) = self.device {
            let kind = if device.mobile {
                "mobile device"
            } else {
                "device"
            };
            parts.push(format!("a {kind} of {device}"));
        }
        match self.offline {
            Some(true) => parts.push("no network".to_owned()),
            Some(false) => parts.push("a network".to_owned()),
            None => {}
        }
        f.write_str(&parts.join(", "))
    }
}

fn all_of(checks: &[Check]) -> String {
    let shown: Vec<String> = checks.iter().map(ToString::to_string).collect();
    shown.join(", ")
}

impl Display for Check {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Text(text) => write!(f, "text {}", quoted(text)),
            Self::NoText(text) => write!(f, "no text {}", quoted(text)),
            Self::Element(target) => write!(f, "{target}"),
            Self::NoElement(target) => write!(f, "no {target}"),
            Self::Count { target, range } => write!(f, "{range} of {target}"),
            Self::Url(url) => write!(f, "address {url}"),
            Self::Title(title) => write!(f, "title {}", quoted(title)),
            Self::Value { target, is: _ } if is_for_secret(target) => {
                write!(f, "{target} has a hidden value")
            }
            Self::Value { target, is } => write!(f, "{target} has the value {}", quoted(is)),
            Self::State { target, state } => write!(f, "{target} is {state}"),
            Self::Attribute { target, name, is } => {
                write!(f, "attribute {name} of {target} is {}", quoted(is))
            }
            Self::Style { target, name, is } => write!(f, "{name} of {target} is {is}"),
            Self::Tree(lines) => match lines.as_slice() {
                [one] => write!(f, "tree with {one}"),
                [first, ..] => write!(f, "tree with {first} and {} more", lines.len() - 1),
                [] => f.write_str("tree"),
            },
            Self::NoConsoleErrors { except } => {
                write!(f, "no errors in the console{}", but(except))
            }
            Self::Network(request) => {
                f.write_str("request ")?;
                if let Some(method) = &request.method {
                    write!(f, "{method} ")?;
                }
                f.write_str(&without_password(&request.url))?;
                if let Some(status) = request.status {
                    write!(f, " with status {status}")?;
                }
                match request.count {
                    Some(1) => f.write_str(", once"),
                    Some(count) => write!(f, ", {count} times"),
                    None => Ok(()),
                }
            }
            Self::NoFailedRequests { except } => write!(f, "no failed requests{}", but(except)),
            Self::NoBrokenLinks => f.write_str("no broken links"),
            Self::NoBrokenImages => f.write_str("no broken images"),
            Self::NoOverlap(target) => write!(f, "nothing overlaps {target}"),
            Self::Accessible(rules) => {
                let what = match (rules.names, rules.contrast) {
                    (true, true) => "accessible names and contrast",
                    (true, false) => "accessible names",
                    (false, true) => "contrast",
                    (false, false) => "accessibility",
                };
                write!(f, "{what}{}", but(&rules.except))
            }
        }
    }
}

fn but(except: &[String]) -> String {
    if except.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = except.iter().map(|text| quoted(text)).collect();
    format!(" but {}", shown.join(", "))
}

impl Display for CountRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (self.least, self.most) {
            (least, Some(most)) if least == most => write!(f, "{least}"),
            (0, Some(most)) => write!(f, "at most {most}"),
            (least, Some(most)) => write!(f, "{least} to {most}"),
            (least, None) => write!(f, "at least {least}"),
        }
    }
}

impl Display for ElementState {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Checked => "checked",
            Self::Unchecked => "unchecked",
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Focused => "focused",
        })
    }
}

/// As it stands in a flow file, without its indentation.
impl Display for TreeLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.role)?;
        self.name
            .as_ref()
            .map_or(Ok(()), |name| write!(f, " {}", quoted(name)))
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text, MAX_TEXT).replace('"', "\\\""))
}

/// Words by which a field is known that takes a secret.
const SECRET_WORDS: [&str; 9] = [
    "password",
    "passwort",
    "passphrase",
    "passcode",
    "passwd",
    "secret",
    "api key",
    "apikey",
    "access token",
];

/// True if an element takes a password or another secret, by the way it is named.
pub(super) fn is_for_secret(target: &Target) -> bool {
    let name = match &target.by {
        TargetKind::Role { name, .. } => name.as_deref().unwrap_or_default(),
        TargetKind::Any(text)
        | TargetKind::Text(text)
        | TargetKind::Label(text)
        | TargetKind::Placeholder(text)
        | TargetKind::TestId(text)
        | TargetKind::Css(text) => text,
    };
    let name = name.to_lowercase().replace(['-', '_'], " ");
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// An address without the name and the password before its host.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://…@{host}{}", &rest[end..]),
        None => url.to_owned(),
    }
}
