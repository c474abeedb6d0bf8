//! A folder for what one program needs as long as it runs: its home, its profile.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use super::owned::OwnedFolder;

/// A folder of ralph's that only it can enter. Dropping it deletes it; after SIGKILL it is swept.
#[derive(Debug)]
pub struct ProgramFolder(OwnedFolder);

impl ProgramFolder {
    /// Makes one in a folder of such folders, which is made with it.
    pub fn make(place: &Path) -> io::Result<Self> {
        loop {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(place)?;
            match OwnedFolder::program_in(place) {
                // Another program has ended, and was the last one there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                made => return made.map(Self),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Drop for ProgramFolder {
    fn drop(&mut self) {
        let _ = self.0.remove();
        // The folder of all of them stays where it holds another.
        let _ = self.0.path.parent().map(fs::remove_dir);
    }
}
