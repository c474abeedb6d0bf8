//! Mounts that one program sees and no other process does.
//!
//! Plain data: the platform performs it in the program's own mount namespace. Knows nothing of
//! repositories or layers.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Placeholders;

/// The steps by which a program's view of the file system is made, in their order.
///
/// All paths are absolute and canonical. **Sources are looked up before the first step, targets when
/// their step comes:** a folder that is bound or laid under an overlay is the one that ralph sees,
/// also where an earlier step hides it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountPlan {
    pub steps: Vec<MountStep>,
    /// The most bytes that may be written into the upper folders of its overlays. The kernel knows no such limit:
    /// who starts the program watches it.
    pub max_written: Option<u64>,
    /// The most bytes of one file that a program may write, wherever it is. A write beyond that fails.
    pub max_file: Option<u64>,
    /// Those that steps are mounted on, which are there as long as the program runs.
    pub placeholders: Option<Arc<Placeholders>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountStep {
    Overlay(OverlayMount),
    /// Shows `from`, a folder with all that is mounted in it or a file, at `to`.
    Bind {
        from: PathBuf,
        to: PathBuf,
        access: BindAccess,
    },
    /// Shows an empty folder that can't be written instead of the one at `path`.
    Cover {
        path: PathBuf,
    },
    /// Shows the folder at `path` as ralph sees it. What is written there is held in memory, and gone with the
    /// program.
    Scratch {
        path: PathBuf,
        xattrs: OverlayXattrs,
        /// The most bytes; `None` for half of the machine's memory.
        most: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindAccess {
    ReadWrite,
    ReadOnly,
}

/// An overlay file system: `lowers` shown at `target`, and whatever is written there in `upper`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayMount {
    pub target: PathBuf,
    /// Top first. Often the last one is the target itself.
    pub lowers: Vec<PathBuf>,
    pub upper: PathBuf,
    /// An empty folder on the file system of `upper`.
    pub work: PathBuf,
    pub options: OverlayOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverlayOptions {
    pub xattrs: OverlayXattrs,
    pub sync: OverlaySync,
}

/// The extended attributes by which an overlay marks folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayXattrs {
    /// `trusted.overlay.*`, for root. Folders of the lower can be renamed.
    Trusted,
    /// `user.overlay.*`, within a user namespace. Renaming a folder of the lower fails with EXDEV,
    /// upon which `mv` and most libraries copy it.
    User,
}

/// The obedience of an overlay to `fsync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlaySync {
    Durable,
    /// `fsync` does nothing, which is quicker. The work folder can't be used for a second mount.
    /// Linux 5.10 or later.
    Volatile,
}

/// A plan that can't be performed, whatever the machine.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum MountPlanError {
    #[error("a path of a mount is not absolute: {}", path.display())]
    Relative { path: PathBuf },
    #[error("a path of a mount has a zero byte: {}", path.display())]
    ZeroByte { path: PathBuf },
    #[error("an overlay on {} has no lower folder", target.display())]
    NoLower { target: PathBuf },
    #[error("the paths of the overlay on {} are too long: {length} bytes of {}", target.display(), MountPlan::LONGEST_OPTIONS)]
    TooLong { target: PathBuf, length: usize },
    #[error("{} is hidden by the mount on {} before the overlay that needs it", path.display(), by.display())]
    Hidden { path: PathBuf, by: PathBuf },
    #[error("no filter of system calls can be made: {reason}")]
    Filter { reason: String },
    #[error("no map of owners can be made: {reason}")]
    OwnerMap { reason: String },
    #[error("the control group {} can't be opened: {reason}", path.display())]
    Group { path: PathBuf, reason: String },
}

impl From<MountPlanError> for io::Error {
    fn from(error: MountPlanError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

impl MountPlan {
    /// The kernel reads one page.
    pub(super) const LONGEST_OPTIONS: usize = 4095;

    #[must_use]
    pub fn overlay(mut self, overlay: OverlayMount) -> Self {
        self.steps.push(MountStep::Overlay(overlay));
        self
    }

    #[must_use]
    pub fn bind(mut self, from: &Path, to: &Path, access: BindAccess) -> Self {
        self.steps.push(MountStep::Bind {
            from: from.to_owned(),
            to: to.to_owned(),
            access,
        });
        self
    }

    #[must_use]
    pub fn cover(mut self, path: &Path) -> Self {
        self.steps.push(MountStep::Cover {
            path: path.to_owned(),
        });
        self
    }
}

impl MountStep {
    pub fn target(&self) -> &Path {
        match self {
            Self::Overlay(overlay) => &overlay.target,
            Self::Bind { to, .. } => to,
            Self::Cover { path } | Self::Scratch { path, .. } => path,
        }
    }
}

/// Names the step for an error: `mounting an overlay on /repo`.
impl fmt::Display for MountStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlay(overlay) => {
                write!(f, "mounting an overlay on {}", overlay.target.display())
            }
            Self::Bind { from, to, .. } => {
                write!(f, "showing {} at {}", from.display(), to.display())
            }
            Self::Cover { path } => write!(f, "covering {}", path.display()),
            Self::Scratch { path, .. } => {
                write!(f, "mounting an overlay in memory on {}", path.display())
            }
        }
    }
}

/// The files by which a plan is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountTrial {
    /// A folder below the overlay's target that holds the files `changed`, `renamed` and `deleted`
    /// and a folder `folder`; each becomes what it is called, and a file `created` comes in.
    pub folder: PathBuf,
    /// A file of the lower that is opened for writing and left as it is.
    pub opened: Option<PathBuf>,
}

/// The result of renaming a folder of the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderRename {
    Works,
    /// It fails with EXDEV.
    CrossDevice,
}

/// A plan that failed when it was tried.
#[derive(Debug, thiserror::Error)]
#[error("{step} failed: {source}")]
pub struct TrialFailure {
    pub step: String,
    pub source: io::Error,
}
