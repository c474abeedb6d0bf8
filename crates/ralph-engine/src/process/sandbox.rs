//! The sandbox of one program: what it sees of the file system, and what it may not do.
//!
//! Plain data, as [`super::MountPlan`] is: the platform performs it between `fork` and `exec`. The plan
//! of mounts comes first; the sandbox shows parts of the view that it made. Knows nothing of agents,
//! homes or repositories.

use std::fmt;
use std::net::SocketAddrV4;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use super::{Containment, OverlayXattrs};

/// The walls around one program and all that it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxPlan {
    pub means: SandboxMeans,
    /// All that it sees; everything else is not there. A path stands before what lies in it.
    pub shown: Vec<ShownPath>,
    pub network: SandboxNetwork,
    /// True if it may make namespaces of its own, which the sandboxes of agents are made of.
    pub nested: bool,
    /// True if root keeps the rights to override the owners and modes of files, where the folder that it
    /// works in is another user's.
    pub overrides_owners: bool,
    /// The user that it becomes, where root starts it.
    pub identity: Option<SandboxIdentity>,
    pub limits: SandboxLimits,
    /// The files that its root folder has besides what is shown, where namespaces are the means.
    pub image: Option<SandboxImage>,
}

/// A system in a folder, which programs see as their root and can't write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxImage {
    pub folder: PathBuf,
    pub xattrs: OverlayXattrs,
}

/// The means by which a sandbox is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxMeans {
    /// A root folder and namespaces of its own. Needs a containment with a mount namespace.
    #[default]
    Namespaces,
    /// The same made by `bwrap`, which some machines allow what they refuse ralph.
    Bwrap,
    /// Rules of the kernel about files: a weaker promise, for machines that refuse namespaces.
    Landlock,
    /// A program that makes the walls itself, around an image of its own: only the network, the filter of calls
    /// and the mounts of the plan are made for it. Used only where a person asks for it.
    Container,
}

impl SandboxMeans {
    /// Those that are tried where no person chooses, strongest first.
    pub const ALL: [Self; 3] = [Self::Namespaces, Self::Bwrap, Self::Landlock];

    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bwrap => "bwrap",
            Self::Landlock => "Landlock",
            Self::Container => "container",
        }
    }

    /// Tells whether a program has a root folder of its own, in which any path can be anything.
    pub fn has_own_root(self) -> bool {
        match self {
            Self::Namespaces | Self::Bwrap | Self::Container => true,
            Self::Landlock => false,
        }
    }

    /// Tells whether it is made of mounts, also where a program has no others.
    pub(crate) fn needs_mounts(self) -> bool {
        match self {
            Self::Namespaces | Self::Container => true,
            Self::Bwrap | Self::Landlock => false,
        }
    }
}

impl SandboxMeans {
    /// Tells whether it can give a program a network of its own.
    pub fn has_own_network(self) -> bool {
        match self {
            Self::Namespaces | Self::Bwrap | Self::Container => true,
            Self::Landlock => false,
        }
    }

    /// Tells whether ralph can listen in that network, and so let a program reach some hosts.
    pub fn has_doors(self) -> bool {
        match self {
            Self::Namespaces | Self::Container => true,
            Self::Bwrap | Self::Landlock => false,
        }
    }

    /// Tells whether a program that is held together in this way can have such a sandbox.
    pub fn works_in(self, containment: Containment) -> bool {
        match self {
            Self::Namespaces | Self::Container => containment.has_mount_namespace(),
            Self::Bwrap | Self::Landlock => containment != Containment::ProcessGroup,
        }
    }
}

impl fmt::Display for SandboxMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The descriptors at which `bwrap` finds the filters of calls.
pub const FILTER_DESCRIPTORS: [i32; 3] = [90, 91, 92];

/// One path that a program in a sandbox sees. Absolute, without symbolic links, but for its own last part
/// where it is shown as a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPath {
    pub path: PathBuf,
    pub kind: ShownAs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownAs {
    /// The file or folder as the program would see it without a sandbox. What is gone by then is not shown.
    ReadOnly,
    ReadWrite,
    /// A node of a device.
    Device,
    /// An empty folder in memory, open to all users as `/tmp` is; `/dev` is not.
    Memory,
    /// Terminals of its own.
    Terminals,
    /// A folder or file of ralph's in its place, looked up before any mount.
    Instead {
        from: PathBuf,
    },
    /// A symbolic link.
    Link {
        target: PathBuf,
    },
}

/// The reach of a program in a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SandboxNetwork {
    /// That of the machine.
    #[default]
    Open,
    /// A loopback interface of its own, with nothing on it but doors: addresses at which ralph itself listens,
    /// from outside. [`super::Running::take_doors`] has the listeners, in this order.
    Own { doors: Vec<SocketAddrV4> },
}

/// Another user of the machine, as which a program of root's runs: one that owns nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxIdentity {
    /// The user, and the group of the same number; there are no other groups.
    pub id: u32,
    /// Files and folders that are shown as this user's. A path stands before what lies in it.
    pub owned: Vec<OwnedPath>,
}

/// A path at which this owner and the user of a program change places: the program finds what is the owner's to
/// be its own, and what it makes there becomes the owner's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedPath {
    pub path: PathBuf,
    pub user: u32,
    pub group: u32,
    pub need: OwnerNeed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerNeed {
    Must,
    /// Where the file system allows no such change, it is shown as it is.
    MayStay,
}

/// Limits that the kernel keeps for a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Processes of the user in the tree.
    pub processes: Option<u64>,
    /// Processors that it runs on. It can't choose others.
    pub cpus: Option<NonZeroU32>,
    /// The folder of a control group of version 2, which the tree is started in.
    pub group: Option<PathBuf>,
}

impl SandboxPlan {
    /// Brings paths before what lies in them.
    pub fn sort(&mut self) {
        self.shown
            .sort_by_key(|shown| shown.path.components().count());
    }

    /// The nearest shown folder that a path lies in.
    pub(crate) fn above(&self, index: usize) -> Option<&ShownPath> {
        let path = self.shown.get(index)?.path.as_path();
        let before = self.shown[..index].iter();
        let above = before.filter(|shown| path.starts_with(&shown.path));
        above.max_by_key(|shown| shown.path.components().count())
    }

    /// Tells whether a path is seen at all, itself or in a folder that is shown.
    pub fn shows(&self, path: &Path) -> bool {
        let above = self.shown.iter().filter(|s| path.starts_with(&s.path));
        let nearest = above.max_by_key(|shown| shown.path.components().count());
        nearest.is_some_and(|shown| match shown.kind {
            ShownAs::ReadOnly | ShownAs::ReadWrite | ShownAs::Device => true,
            ShownAs::Memory
            | ShownAs::Terminals
            | ShownAs::Instead { .. }
            | ShownAs::Link { .. } => shown.path == path,
        })
    }
}
