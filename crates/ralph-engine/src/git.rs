//! Everything ralph does with git, through the `git` program.
//!
//! What each iteration needs and git's formats say plainly is done by hand, as a process costs more
//! than the work: the tree of an index, a commit, a compare-and-swap of a branch, whether a path is
//! tracked, a few files that git stores as they are. What those do not understand, they leave to git.
//!
//! **Invariant: no git call of ralph's reads settings that an agent can write.** Each [`Repo`] has a
//! git folder of its own outside the repository (see `shadow`): settings as they stood when it was
//! opened, an index of its own, and links to the real refs and objects. Hooks, filters, fsmonitor
//! and the like that are planted in the repository later are not disabled one by one; they are not
//! seen at all. The real index is written last, as a copy, so that a person's `git status` is right.
//!
//! Must not: run a hook, sign, page, edit, prompt, push or fetch; follow a `.git` that was replaced;
//! take a text for a path (paths are bytes, all lists are NUL-separated).

mod attempt;
mod branch;
mod call;
mod candidate;
mod clone;
mod commit;
mod commits;
mod config;
mod early;
mod environment;
mod error;
mod fill;
mod fingerprint;
mod follow;
mod following;
mod grep;
mod guard;
mod history;
mod identity;
mod ignore_rules;
mod index_file;
mod land;
mod lock;
mod look;
mod message;
mod object;
mod oid;
mod plain;
mod preflight;
mod refs;
mod replay;
mod repo;
mod reset;
mod rewind;
mod shadow;
mod stage;
mod stash;
mod status;
mod submodule;
mod swap;
mod take;
mod tree;
mod untouched;
mod wedge;

pub use attempt::{KeptAttempt, attempt_ref};
pub use branch::{
    BranchOutcome, BranchStanding, LackedCommits, MergedBy, SettleConflict, Transplant,
};
pub use candidate::{LayerWork, TrackedPaths};
pub use commits::{Along, CommitInfo, TreeEdit, TreeFile};
pub use environment::GitEnvironment;
pub use error::GitError;
pub use following::{FolderFollowed, is_following};
pub use guard::{ChangedBy, Guard, GuardedFiles, HeadNow, RefGuard, Tampered, TamperedHow};
pub use history::{History, KeptAside};
pub use land::{ChangedIndex, LandError, LandRequest, Landed};
pub use lock::LockOwner;
pub use look::FileStat;
pub use message::{CommitKind, commit_message, message_with_trailers, slug};
pub use oid::{BadOid, Oid};
pub use preflight::{Head, Operation, RepoProblem};
pub use refs::read_branch_tip;
pub use replay::{Replay, ReplayRequest};
pub use repo::Repo;
pub use reset::{ResetSpec, SavedFile, WrittenMeanwhile};
pub use stage::{StageSpec, Staged};
pub use stash::{FoundStash, Stash, Unstashed};
pub use status::{Status, StatusEntry};
pub use submodule::{CommitAt, Gitlink, Submodule};
