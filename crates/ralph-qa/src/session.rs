//! A browser that is kept between calls: an agent or a person opens a page, acts on it call by call, and looks at it.
//!
//! One process has the browser and the application under test ([`work`]). It is asked on its standard input, and ends
//! with it: the process that holds that end ([`SessionLink`]) holds its life. Calls of other processes come over a socket
//! ([`SessionSocket`]). What is asked are the steps of flows, and what is found is data.

mod link;
mod look;
mod socket;
mod words;
mod work;

use std::{ffi::OsString, time::Duration};

use base64::Engine as _;
use serde::{Deserialize, Serialize};

use crate::{
    flow::{ColorScheme, Viewport},
    result::{ConsoleMessage, NetworkRequest, StepFailure},
};

pub use link::{SessionGone, SessionLink};
pub use socket::{
    AskError, HeldSocket, HoldError, ServeEnd, SessionAnswers, SessionPlace, SessionSocket,
    SessionSpots, serve,
};
pub use words::{WordsMistake, check_of_text, step_text, target_of_text, wait_of_text};
pub use work::{SessionWork, WorkEnd, work};

/// The bounds of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionLimits {
    /// The longest time without a call.
    pub idle: Duration,
    /// The longest time of all.
    pub total: Duration,
}

impl SessionLimits {
    pub const USUAL: Self = Self {
        idle: Duration::from_secs(10 * 60),
        total: Duration::from_secs(2 * 60 * 60),
    };
}

/// Deletes the profiles of browsers whose ralph was killed, in the folder for temporary files.
pub fn sweep_profiles(temp: Option<OsString>) {
    #[cfg(feature = "browser")]
    crate::browser::sweep_profiles(temp);
    #[cfg(not(feature = "browser"))]
    drop(temp);
}

/// The largest request, and the largest reply, in bytes of JSON.
const MOST_REQUEST_BYTES: usize = 1024 * 1024;
const MOST_REPLY_BYTES: usize = 16 * 1024 * 1024;
/// The largest picture.
const MOST_PICTURE_BYTES: usize = 8 * 1024 * 1024;

/// The thing that is asked of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum SessionRequest {
    /// Loads a page, and looks at it.
    Open(OpenRequest),
    /// Performs a step as it stands in a flow: `click: Sign in`.
    Step {
        step: String,
    },
    /// Looks at the page.
    Look,
    /// Takes a picture of it.
    Shot(ShotRequest),
    Close,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRequest {
    /// A path of the application, or an address; the start of the application if there is none.
    pub address: Option<String>,
    /// As in a flow: `mobile`, `1280x720`.
    pub viewport: Option<String>,
    pub scheme: Option<ColorScheme>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShotRequest {
    /// The whole page, and not only the part in view.
    pub full: bool,
    /// The element that is shown, as a flow names it.
    pub of: Option<String>,
}

/// The answer of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum SessionReply {
    Done(ActReport),
    Looked(Box<PageLook>),
    Shot(PageShot),
    /// It was tried, and did not work.
    Failed(Box<ActFailure>),
    /// It was not tried: it is written wrongly, or there is no page, no browser or no application.
    Refused(ActRefusal),
    Closed,
}

impl SessionReply {
    pub fn refused(message: impl Into<String>, hint: Option<&str>) -> Self {
        Self::Refused(ActRefusal {
            message: message.into(),
            hint: hint.map(str::to_owned),
        })
    }
}

/// A step that was performed, and the page afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActReport {
    /// As a person reads it: `click button "Sign in"`.
    pub step: String,
    pub url: String,
    pub title: String,
    /// Things that happened beside it, such as a dialog.
    pub notes: Vec<String>,
    /// Errors in the console, and failed requests, since the last look.
    pub errors: usize,
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageLook {
    pub url: String,
    pub title: String,
    pub viewport: Viewport,
    /// The accessibility tree: role, name, value and state, indented by two spaces.
    pub lines: Vec<String>,
    /// The number of lines that were left out.
    pub left_out: usize,
    /// Errors in the console since the last look.
    pub console: Vec<ConsoleMessage>,
    /// Requests that failed since the last look.
    pub failed_requests: Vec<NetworkRequest>,
    pub notes: Vec<String>,
}

/// A picture of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageShot {
    pub url: String,
    pub title: String,
    pub png: PngText,
}

/// A step that did not work, and the page at that moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActFailure {
    pub step: String,
    pub url: String,
    pub title: String,
    pub failure: StepFailure,
    /// Errors in the console since the last look.
    pub console: Vec<ConsoleMessage>,
    pub failed_requests: Vec<NetworkRequest>,
    /// The last lines of the application, where the page could not be loaded.
    pub server_log: Vec<String>,
    /// The page, if a picture could be taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub png: Option<PngText>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActRefusal {
    pub message: String,
    pub hint: Option<String>,
}

/// A picture as Base64, so that it can be in JSON.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PngText(String);

impl PngText {
    pub fn of(png: &[u8]) -> Self {
        Self(base64::engine::general_purpose::STANDARD.encode(png))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The picture; `None` if the text is not Base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        base64::engine::general_purpose::STANDARD
            .decode(&self.0)
            .ok()
    }
}

impl std::fmt::Debug for PngText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PngText({} characters)", self.0.len())
    }
}
