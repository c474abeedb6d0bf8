//! The reasons why ralph works in place, each by its name.

use std::fmt;
use std::path::PathBuf;

use super::sys::FileSystemKind;
use crate::process::Containment;

/// A reason why a layer can't be used here.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum InPlaceReason {
    #[error("overlay file systems are a Linux feature")]
    NotLinux,
    #[error("programs run in a {containment}, which has no mount namespace")]
    NoMountNamespace {
        containment: Containment,
        hint: Option<String>,
    },
    #[error("this machine refuses it: {step} failed: {error}")]
    Refused {
        step: String,
        error: String,
        hint: Option<String>,
    },
    #[error("no folder can hold a layer ({})", listed(tried))]
    NoPlace { tried: Vec<TriedPlace> },
    #[error(
        "{count} tracked paths belong to another user or group, which a layer can't change, such as {} (user {uid}, group {gid})",
        first.display()
    )]
    ForeignOwner {
        first: PathBuf,
        uid: u32,
        gid: u32,
        count: usize,
    },
    #[error("{} is a mount of kind {kind}, over which no layer can be laid", path.display())]
    SubMount { path: PathBuf, kind: String },
    #[error("the submodule {} is on another commit than the repository records", path.display())]
    Submodule { path: PathBuf },
    #[error("the repository can't be read: {error}")]
    Unreadable { error: String },
}

/// A folder that was tried, and what was wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedPlace {
    pub folder: PathBuf,
    pub problem: PlaceProblem,
}

#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum PlaceProblem {
    #[error("it is inside the repository")]
    InsideRepository,
    #[error("the repository is inside it")]
    AroundRepository,
    #[error("it is on {0}")]
    FileSystem(FileSystemKind),
    #[error("it belongs to another user")]
    NotOurs,
    #[error("only {available} bytes are free")]
    NoSpace { available: u64 },
    #[error("{error}")]
    Io { error: String },
    #[error("{step} failed: {error}")]
    Trial { step: String, error: String },
    #[error("what was written there is not in the upper folder: {what}")]
    NotWritten { what: String },
}

impl InPlaceReason {
    /// Says what to install or set.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoMountNamespace { hint, .. } | Self::Refused { hint, .. } => hint.clone(),
            Self::NoPlace { .. } => Some(
                "give ralph a data folder on a disk of this machine (ext4, xfs, btrfs): set XDG_DATA_HOME"
                    .to_owned(),
            ),
            Self::ForeignOwner { .. } => {
                Some("make them yours: `sudo chown -R \"$(id -u):$(id -g)\" .`".to_owned())
            }
            Self::SubMount { path, .. } => Some(format!("unmount {}", path.display())),
            Self::Submodule { path } => Some(format!(
                "`git submodule update {}`, or commit it",
                path.display()
            )),
            Self::NotLinux | Self::Unreadable { .. } => None,
        }
    }
}

impl fmt::Display for TriedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.folder.display(), self.problem)
    }
}

fn listed(tried: &[TriedPlace]) -> String {
    let lines: Vec<String> = tried.iter().map(ToString::to_string).collect();
    lines.join("; ")
}
