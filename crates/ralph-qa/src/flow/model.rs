//! The model of a flow, as the runner performs it: names are resolved, durations are durations, and nothing in it is
//! a text that still has to be read.

use std::{path::PathBuf, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A user's way through an application.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Tells it apart from the others, in results and in the names of files.
    pub name: String,
    pub description: Option<String>,
    /// The file that it was read from.
    pub file: PathBuf,
    pub settings: FlowSettings,
    pub steps: Vec<FlowStep>,
}

/// The parts of a flow that hold for all its steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowSettings {
    /// The base of relative addresses.
    pub url: Option<String>,
    /// Other hosts that its pages may reach.
    pub hosts: Vec<String>,
    pub viewport: Option<Viewport>,
    pub emulate: Emulation,
    /// The time at which the pages' clock starts.
    pub time: Option<Timestamp>,
    /// The seed of the pages' random numbers.
    pub random: Option<u64>,
    pub timeout: Option<Duration>,
    /// True if no other flow may run beside it.
    pub alone: bool,
}

/// One step, with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowStep {
    /// The line of its file, from 1.
    pub line: usize,
    /// The step as a person reads it, such as `click button "Sign in"`.
    pub shown: String,
    pub note: Option<String>,
    pub timeout: Option<Duration>,
    pub action: FlowStepAction,
}

/// The act of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowStepAction {
    Navigate {
        url: String,
        until: LoadState,
    },
    Click {
        target: Target,
        button: MouseButton,
        double: bool,
    },
    Type {
        target: Target,
        text: TypedText,
        /// Keeps what is there, and adds to it.
        append: bool,
        /// A key that is pressed afterwards, as in `Press`.
        press: Option<String>,
    },
    Press {
        /// Modifiers (`Control`, `Shift`, `Alt`, `Meta`) and a key, joined by `+`: a name of `KeyboardEvent.key`,
        /// `Space`, or one character. `Control+A`, `ArrowDown`, `+`, `Control++`.
        key: String,
        /// The element that gets it; the focused one if there is none.
        target: Option<Target>,
    },
    Select {
        target: Target,
        options: Vec<String>,
    },
    Hover {
        target: Target,
    },
    Upload {
        target: Target,
        /// Complete paths, or relative to the project.
        files: Vec<PathBuf>,
    },
    Wait(Wait),
    Verify(Vec<Check>),
    Resize(Viewport),
    Emulate(Emulation),
    Screenshot(Screenshot),
    Fixture(FixtureCommand),
}

/// The text that is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedText {
    Plain(String),
    /// The value of a variable; never shown.
    SecretVariable(String),
}

/// The state that a page has to reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoadState {
    Dom,
    #[default]
    Load,
    /// No request for half a second.
    Idle,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MouseButton {
    #[default]
    Left,
    Middle,
    Right,
}

/// The thing that a step waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    Time(Duration),
    /// No request for half a second.
    Idle,
    Gone(Target),
    Until(Vec<Check>),
}

/// A command that runs before the flow goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixtureCommand {
    Argv(Vec<String>),
    Shell(String),
}

/// A picture that is compared with its baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Screenshot {
    pub name: String,
    /// The element that is shown; the whole viewport if there is none.
    pub of: Option<Target>,
    /// The whole page, not only the viewport.
    pub full: bool,
    pub mask: Vec<Target>,
    /// The part of the pixels that may differ, from 0 to 1.
    pub threshold: Option<f64>,
}

/// The size of a page, and the device that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Viewport {
    pub width: u32,
    pub height: u32,
    /// True for a device with touch.
    pub mobile: bool,
}

impl Viewport {
    pub const DESKTOP: Self = Self {
        width: 1280,
        height: 720,
        mobile: false,
    };
    pub const TABLET: Self = Self {
        width: 820,
        height: 1180,
        mobile: true,
    };
    pub const MOBILE: Self = Self {
        width: 390,
        height: 844,
        mobile: true,
    };
}

impl std::fmt::Display for Viewport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// The settings that are emulated; `None` leaves one as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Emulation {
    pub scheme: Option<ColorScheme>,
    pub reduced_motion: Option<bool>,
    pub device: Option<Viewport>,
    pub offline: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorScheme {
    Light,
    Dark,
}

/// An element of a page, as a flow names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub by: TargetKind,
    /// The one of several that match, from 1.
    pub nth: Option<usize>,
    pub within: Option<Box<Target>>,
    /// The whole text, and not a part of it in any case.
    pub exact: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetKind {
    /// A name of something that can be acted on, else a visible text, a label, a test id.
    Any(String),
    Role {
        role: String,
        name: Option<String>,
    },
    Text(String),
    Label(String),
    Placeholder(String),
    TestId(String),
    Css(String),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.by {
            TargetKind::Any(text) => write!(f, "{text:?}")?,
            TargetKind::Role { role, name: None } => f.write_str(role)?,
            TargetKind::Role {
                role,
                name: Some(name),
            } => write!(f, "{role} {name:?}")?,
            TargetKind::Text(text) => write!(f, "text {text:?}")?,
            TargetKind::Label(label) => write!(f, "label {label:?}")?,
            TargetKind::Placeholder(text) => write!(f, "placeholder {text:?}")?,
            TargetKind::TestId(id) => write!(f, "test id {id:?}")?,
            TargetKind::Css(selector) => write!(f, "css {selector:?}")?,
        }
        if let Some(nth) = self.nth {
            write!(f, " (number {nth})")?;
        }
        if let Some(within) = &self.within {
            write!(f, " within {within}")?;
        }
        Ok(())
    }
}

/// A condition on the page, or on what happened since the flow began.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    Text(String),
    NoText(String),
    Element(Target),
    NoElement(Target),
    Count {
        target: Target,
        range: CountRange,
    },
    Url(String),
    Title(String),
    Value {
        target: Target,
        is: String,
    },
    State {
        target: Target,
        state: ElementState,
    },
    Attribute {
        target: Target,
        name: String,
        is: String,
    },
    Style {
        target: Target,
        name: String,
        is: String,
    },
    /// Lines of role and name, with their depth.
    Tree(Vec<TreeLine>),
    NoConsoleErrors {
        except: Vec<String>,
    },
    Network(RequestPattern),
    NoFailedRequests {
        except: Vec<String>,
    },
    NoBrokenLinks,
    NoBrokenImages,
    NoOverlap(Target),
    Accessible(AccessibilityRules),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountRange {
    pub least: usize,
    pub most: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementState {
    Checked,
    Unchecked,
    Enabled,
    Disabled,
    Focused,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeLine {
    pub depth: usize,
    pub role: String,
    pub name: Option<String>,
}

/// A request that must have been made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPattern {
    /// A path or an address; `*` matches anything.
    pub url: String,
    pub method: Option<String>,
    pub status: Option<u16>,
    pub count: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessibilityRules {
    pub names: bool,
    pub contrast: bool,
    /// Selectors of what is left out.
    pub except: Vec<String>,
}
