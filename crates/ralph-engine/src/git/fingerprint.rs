//! Tells one state of the working tree from another, cheaply: which paths differ, and the size and
//! time of each.
//!
//! Looks and changes nothing. Says that something changed, never what: it is no evidence of work.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use super::{
    GitError, Repo,
    status::{SCAN, read_seen},
};

impl Repo {
    /// The same as long as nothing changed that git does not ignore. What lies below
    /// `besides` is left out.
    pub async fn fingerprint(&self, besides: &Path) -> Result<u64, GitError> {
        let _state = self.in_order().await;
        let look = ["--no-optional-locks"].into_iter().chain(SCAN);
        let seen = read_seen(&self.git(look).run().await?)?;
        let mut hasher = DefaultHasher::new();
        let changed = seen.changed.iter().map(|entry| &entry.path);
        for path in changed.chain(&seen.untracked) {
            if path.starts_with(besides) {
                continue;
            }
            path.hash(&mut hasher);
            let file = self.root.join(path).symlink_metadata();
            let file = file.map(|f| (f.len(), f.mtime(), f.mtime_nsec(), f.mode(), f.ino()));
            file.ok().hash(&mut hasher);
        }
        Ok(hasher.finish())
    }
}
