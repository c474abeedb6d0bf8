//! Makes the user's working tree follow a commit that has landed.
//!
//! Touches only the files of the commit, and of these only the ones that are as they were before it: what the
//! user changed meanwhile is left alone and named. A file that the commit does not track any more and whose
//! rules ignore it stays: it was untracked, and is the user's. A file keeps its owner, a new one has that of its
//! folder. May be done again after a crash: a file that has
//! followed already is left as it is.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::object::ObjectKind;
use super::rewind::{How, MovedPath};
use super::{GitError, Oid, Repo};
use crate::owner::{Owner, make_folders};
use crate::plain_file;

/// The bytes of one file of a tree, as they stand in a working tree.
#[derive(Debug, PartialEq, Eq)]
enum Stands {
    File { bytes: Vec<u8>, executable: bool },
    Link(PathBuf),
}

impl Repo {
    /// Brings the working tree from what `from` holds to what `to` holds, submodules with it and `own` files
    /// excepted. Returns the paths that are left as they are, as they were changed meanwhile. The index stays as
    /// it is.
    pub async fn follow(
        &self,
        from: &Oid,
        to: &Oid,
        own: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        if let Some(left) = self.follow_by_hand(to, own).await? {
            return Ok(left);
        }
        let mut left = self.follow_files(from, to, own).await?;
        left.extend(self.follow_modules(from, to).await?);
        Ok(left)
    }

    async fn follow_files(
        &self,
        from: &Oid,
        to: &Oid,
        own: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let moved = self.moved_paths(from, to, own).await?;
        if moved.is_empty() {
            return Ok(Vec::new());
        }
        let (gone, written): (Vec<MovedPath>, _) =
            moved.into_iter().partition(|moved| moved.how == How::Goes);
        let paths = |moved: &[MovedPath]| moved.iter().map(|m| m.path.clone()).collect::<Vec<_>>();
        let (mut gone, written) = (paths(&gone), paths(&written));
        let staying = self.staying(to, &gone).await?;
        gone.retain(|path| !staying.contains(path));
        let all: Vec<PathBuf> = gone.iter().chain(&written).cloned().collect();
        let make = || {
            tempfile::tempdir_in(self.shadow.path())
                .map_err(GitError::io("make a folder in", self.shadow.path()))
        };
        let (before, after) = (make()?, make()?);
        self.write_files(to, &written, after.path()).await?;
        self.write_files(from, &all, before.path()).await?;
        let mut left = Vec::new();
        // What goes makes room for what comes.
        for path in &all {
            let step = FileStep {
                target: self.root.join(path),
                before: read(&before.path().join(path))?,
                after: read(&after.path().join(path))?,
            };
            if !self.follow_one(path, &step)? {
                left.push(path.clone());
            }
        }
        Ok(left)
    }

    /// The same for the commit that this process landed last, of few plain files; `None` for any other.
    async fn follow_by_hand(
        &self,
        to: &Oid,
        own: &[PathBuf],
    ) -> Result<Option<Vec<PathBuf>>, GitError> {
        let landed = self.in_order().await.landed.take();
        let (Some((commit, files)), Some(objects)) = (landed, &self.objects) else {
            return Ok(None);
        };
        if commit != *to {
            return Ok(None);
        }
        let mut left = Vec::new();
        let (gone, written): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.content.is_none());
        let paths: Vec<PathBuf> = gone.iter().map(|file| file.path.clone()).collect();
        let staying = self.staying(to, &paths).await?;
        for file in gone.into_iter().chain(written) {
            if own.iter().any(|own| file.path.starts_with(own)) || staying.contains(&file.path) {
                continue;
            }
            let target = self.root.join(&file.path);
            let now = read(&target)?;
            let is_as_before = match (&now, &file.before) {
                (None, None) => true,
                (Some(Stands::File { bytes, .. }), Some(before)) => {
                    objects.format().id_of(ObjectKind::Blob, bytes) == *before
                }
                _ => false,
            };
            let after = file.content.map(|content| Stands::File {
                bytes: content.bytes,
                executable: content.executable,
            });
            if now == after {
                continue;
            }
            let step = FileStep {
                target,
                before: now,
                after,
            };
            if !is_as_before || !self.follow_one(&file.path, &step)? {
                left.push(file.path);
            }
        }
        Ok(Some(left))
    }

    /// Returns those of the paths that a commit no longer has that its rules ignore.
    async fn staying(&self, to: &Oid, gone: &[PathBuf]) -> Result<HashSet<PathBuf>, GitError> {
        if gone.is_empty() {
            return Ok(HashSet::new());
        }
        self.ignored_files(to, gone).await
    }

    /// Looks after what a killed process left beside the files of a commit: a file that a person had changed at
    /// that very moment comes back to its place, the rest goes.
    pub(super) async fn take_back_spares(
        &self,
        from: &Oid,
        to: &Oid,
        own: &[PathBuf],
    ) -> Result<(), GitError> {
        let moved = self.moved_paths(from, to, own).await?;
        let mut spares = Vec::new();
        for MovedPath { path, .. } in moved {
            spares.extend(
                left_spares(&self.root.join(&path))
                    .into_iter()
                    .map(|s| (path.clone(), s)),
            );
        }
        if spares.is_empty() {
            return Ok(());
        }
        let paths: Vec<PathBuf> = spares.iter().map(|(path, _)| path.clone()).collect();
        let make = || {
            tempfile::tempdir_in(self.shadow.path())
                .map_err(GitError::io("make a folder in", self.shadow.path()))
        };
        let (before, after) = (make()?, make()?);
        self.write_files(from, &paths, before.path()).await?;
        self.write_files(to, &paths, after.path()).await?;
        for (path, spare) in spares {
            let fail = || GitError::io("put back", &spare);
            let (target, found) = (self.root.join(&path), read(&spare)?);
            let known = [
                read(&before.path().join(&path))?,
                read(&after.path().join(&path))?,
            ];
            if known.contains(&found) || is_half(&found, &known) {
                fs::remove_file(&spare).map_err(fail())?;
            } else if known.contains(&read(&target)?) {
                let _ = fs::remove_file(&target);
                rename(&spare, &target, RenameFlags::NOREPLACE).map_err(fail())?;
            }
        }
        Ok(())
    }

    /// Brings one file along. Returns false if the user had changed it.
    fn follow_one(&self, path: &Path, step: &FileStep) -> Result<bool, GitError> {
        if self.is_behind_link(path) {
            return Ok(false);
        }
        let followed = step.perform().map_err(GitError::io("write", path))?;
        if step.after.is_none() {
            remove_empty_folders(&self.root, path);
        }
        Ok(followed)
    }

    fn is_behind_link(&self, path: &Path) -> bool {
        self.in_root(&[]).is_behind_symlink(path)
    }
}

/// One file that is to follow.
struct FileStep {
    target: PathBuf,
    before: Option<Stands>,
    after: Option<Stands>,
}

impl FileStep {
    /// Returns false if the user had changed the file: then it is as it was.
    fn perform(&self) -> io::Result<bool> {
        let now = stands(&self.target)?;
        if now == self.after {
            return Ok(true);
        }
        if now != self.before {
            return Ok(false);
        }
        let spare = self.spare_name();
        let _ = fs::remove_file(&spare);
        let done = self.swap(&spare);
        if done.is_err() {
            let _ = fs::remove_file(&spare);
        }
        done
    }

    /// The file is swapped out whole, and swapped back if it changed since it was looked at: nothing that
    /// the user writes at this very moment is lost.
    fn swap(&self, spare: &Path) -> io::Result<bool> {
        match (&self.before, &self.after) {
            (_, None) => {
                rename(&self.target, spare, RenameFlags::NOREPLACE)?;
                if stands(spare)? == self.before {
                    fs::remove_file(spare)?;
                    return Ok(true);
                }
                rename(spare, &self.target, RenameFlags::NOREPLACE)?;
                Ok(false)
            }
            (None, Some(after)) => {
                if let Some(folder) = self.target.parent() {
                    make_folders(folder)?;
                }
                write(spare, after, Owner::at(&self.target))?;
                match rename(spare, &self.target, RenameFlags::NOREPLACE) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        fs::remove_file(spare)?;
                        Ok(false)
                    }
                    renamed => renamed.map(|()| true),
                }
            }
            (Some(_), Some(after)) => {
                write(spare, after, Owner::at(&self.target))?;
                rename(spare, &self.target, RenameFlags::EXCHANGE)?;
                if stands(spare)? == self.before {
                    fs::remove_file(spare)?;
                    return Ok(true);
                }
                rename(spare, &self.target, RenameFlags::EXCHANGE)?;
                fs::remove_file(spare)?;
                Ok(false)
            }
        }
    }

    fn spare_name(&self) -> PathBuf {
        let start = spare_start(&self.target);
        let name = format!("{start}{}.tmp", std::process::id());
        self.target.with_file_name(name)
    }
}

/// Begins the name of a spare file beside a file. It says whose it is: `atomic::sweep` takes it away after a
/// crash. The file's own name may be too long for more to be added.
fn spare_start(target: &Path) -> String {
    let mut hash = DefaultHasher::new();
    target.file_name().hash(&mut hash);
    format!(".{:016x}.ralph-", hash.finish())
}

/// The spare files of dead processes beside a file.
fn left_spares(target: &Path) -> Vec<PathBuf> {
    let Some(folder) = target.parent() else {
        return Vec::new();
    };
    let start = spare_start(target);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let spares = entries.filter(|entry| {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(&start)?.strip_suffix(".tmp"));
        process.is_some_and(|id| !Path::new("/proc").join(id).exists())
    });
    spares.map(|entry| entry.path()).collect()
}

/// Returns whether a file is the beginning of one that was being written.
fn is_half(found: &Option<Stands>, known: &[Option<Stands>]) -> bool {
    let Some(Stands::File { bytes: half, .. }) = found else {
        return false;
    };
    known.iter().flatten().any(|whole| match whole {
        Stands::File { bytes, .. } => bytes.starts_with(half),
        Stands::Link(_) => false,
    })
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    Ok(renameat_with(CWD, from, CWD, to, flags)?)
}

fn write(path: &Path, content: &Stands, owner: Option<Owner>) -> io::Result<()> {
    match content {
        Stands::Link(target) => {
            std::os::unix::fs::symlink(target, path)?;
            owner.inspect(|owner| owner.take_link(path));
        }
        Stands::File { bytes, executable } => {
            let mode = if *executable { 0o777 } else { 0o666 };
            let mut file = File::options()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(path)?;
            owner.inspect(|owner| owner.take(&file));
            file.write_all(bytes)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Option<Stands>, GitError> {
    stands(path).map_err(GitError::io("read", path))
}

/// `None` where nothing stands, or nothing that a commit could have.
fn stands(path: &Path) -> io::Result<Option<Stands>> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if plain_file::is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if meta.is_symlink() {
        return Ok(Some(Stands::Link(fs::read_link(path)?)));
    }
    if !meta.is_file() {
        return Ok(None);
    }
    Ok(Some(Stands::File {
        bytes: plain_file::read(path)?,
        executable: meta.permissions().mode() & 0o100 != 0,
    }))
}

fn remove_empty_folders(root: &Path, path: &Path) {
    let above = path.ancestors().skip(1);
    for folder in above.filter(|folder| !folder.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(folder)).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &str) -> Option<Stands> {
        let bytes = bytes.as_bytes().to_vec();
        let executable = false;
        Some(Stands::File { bytes, executable })
    }

    /// Stands for what a person writes between the look at a file and the swap of it.
    #[test]
    fn a_file_that_is_edited_at_the_moment_of_the_swap_is_swapped_back() {
        for after in [text("after\n"), None] {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("file");
            fs::write(&target, "a person's\n").unwrap();
            let step = FileStep {
                target: target.clone(),
                before: text("before\n"),
                after,
            };
            assert!(!step.swap(&step.spare_name()).unwrap());
            assert_eq!(fs::read_to_string(&target).unwrap(), "a person's\n");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_file_that_comes_to_be_at_the_moment_of_the_swap_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("file");
        fs::write(&target, "a person's\n").unwrap();
        let step = FileStep {
            target: target.clone(),
            before: None,
            after: text("after\n"),
        };
        assert!(!step.swap(&step.spare_name()).unwrap());
        assert_eq!(fs::read_to_string(&target).unwrap(), "a person's\n");
    }
}
