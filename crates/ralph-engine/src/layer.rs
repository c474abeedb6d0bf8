//! A layer over a repository: whatever a program writes there goes into a folder of ralph's, and
//! dropping that folder undoes all of it.
//!
//! ```text
//! LayerPlace   where layers can live, found by really trying one; or the reason why none can
//! checks       what of a repository a layer can't show as it is
//! Layer        folders for what is written; as a MountPlan for the process module
//! UpperFolder  what was written, relative to what was there
//! Below        what shows where nothing was written
//! Prefill      writes into an upper folder before a run
//! ```
//!
//! A layer shows the repository at its own path, so nothing that a program remembers by path changes.
//! It covers writes through that path alone. Not its business: a symbolic link that leaves the
//! repository is followed to where it leads; other folders of the machine are as writable as ever.
//!
//! Only Linux has overlay file systems. Elsewhere [`LayerPlace::find`] says so, and the rest compiles.
//!
//! Must not read a repository through a mounted overlay: what the user changes meanwhile shows there.

mod below;
pub mod checks;
mod machine;
mod mountinfo;
mod owned;
mod place;
mod prefill;
mod program_folder;
mod reason;
mod removal;
mod reserve;
mod space;
mod sys;
#[cfg(test)]
#[cfg(target_os = "linux")]
pub(crate) mod tests;
pub mod upper;

pub use below::{Below, BelowFile};
pub use machine::MachineFacts;
pub(crate) use mountinfo::{MountEntry, mount_points_below, read_mounts};
pub(crate) use owned::OwnedFolder;
pub use owned::{Layer, LayerError, LayerFolder, LayerTarget, SweepReport, leftovers, sweep};
pub(crate) use place::place_folders;
pub use place::{LayerPlace, PlaceDisk, PlaceKind, PlaceRequest};
pub use prefill::{CopySize, FolderCopy, Prefill, PrefillFile};
pub use program_folder::ProgramFolder;
pub use reason::{InPlaceReason, PlaceProblem, TriedPlace};
pub(crate) use removal::remove_tree;
pub use reserve::DiskReserve;
pub(crate) use space::free_bytes;
pub use space::{LayerSpace, SpaceChange, SpaceMeter, UpperSpace};
pub use sys::FileSystemKind;
pub(crate) use sys::open_beneath;
pub use upper::{UpperEntry, UpperFolder, UpperKind};
