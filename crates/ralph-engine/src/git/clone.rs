//! A fresh clone of a commit, as another person would get it: by the settings of the user, without hooks.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ralph_core::change::submodule_paths;

use super::call::first_look;
use super::submodule::{Submodule, gitlinks_in};
use super::{GitError, Oid, Repo};
use crate::plain_file;

/// A repository whose submodules are to be cloned: the user's, or a submodule of it.
struct ClonedFrom {
    folder: PathBuf,
    git_dir: PathBuf,
    /// Its path in the outermost one.
    below: PathBuf,
}

impl Repo {
    /// Finds a commit by what a person calls it; `None` if there is no such commit.
    pub async fn find_commit(&self, name: &str) -> Result<Option<Oid>, GitError> {
        let _state = self.in_order().await;
        let (head, _) = self.current()?;
        self.shadow.set_head(&head)?;
        let wanted = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let answer = self.git(args).arg(wanted).answer().await?;
        let found = String::from_utf8_lossy(&answer.stdout);
        Ok(Oid::parse(found.trim())
            .ok()
            .filter(|_| answer.code == Some(0)))
    }

    /// Clones a commit into an empty folder. The objects are borrowed from this repository; of its refs the
    /// clone has the tags. Nothing is fetched: returns the submodules that are not stored here.
    pub async fn clone_commit(
        &self,
        commit: &Oid,
        folder: &Path,
    ) -> Result<Vec<PathBuf>, GitError> {
        let args = [
            "for-each-ref",
            "--format=%(objectname) %(refname)",
            "refs/tags",
        ];
        let tags = self.git(args).run().await?;
        self.clone_from(&self.common_dir, commit, folder, &tags)
            .await?;
        let mut pending = vec![ClonedFrom {
            folder: self.root.clone(),
            git_dir: self.common_dir.clone(),
            below: PathBuf::new(),
        }];
        let mut missing = Vec::new();
        while let Some(from) = pending.pop() {
            let clone = folder.join(&from.below);
            let named = plain_file::read(&clone.join(".gitmodules")).unwrap_or_default();
            let named = submodule_paths(&String::from_utf8_lossy(&named));
            if named.is_empty() {
                continue;
            }
            let listed = self
                .in_clone(&clone, &["ls-tree", "-r", "-z", "HEAD"])
                .await?;
            let mut links = gitlinks_in(&listed);
            links.retain(|link| named.contains(&link.path));
            for link in links {
                let below = from.below.join(&link.path);
                let module = Submodule::of(&from.folder, &link)
                    .or_else(|| Submodule::stored(&from.git_dir, &link));
                let Some(module) = module else {
                    missing.push(below);
                    continue;
                };
                let into = folder.join(&below);
                let cloned = self.clone_from(&module.git_dir, &link.commit, &into, b"");
                if cloned.await.is_err() {
                    missing.push(below);
                    continue;
                }
                pending.push(ClonedFrom {
                    folder: from.folder.join(&link.path),
                    git_dir: module.git_dir,
                    below,
                });
            }
        }
        Ok(missing)
    }

    /// Makes a repository in an empty folder that borrows its objects, with a commit checked out.
    async fn clone_from(
        &self,
        from: &Path,
        commit: &Oid,
        folder: &Path,
        packed_refs: &[u8],
    ) -> Result<(), GitError> {
        let format = match commit.as_str().len() {
            64 => "--object-format=sha256",
            _ => "--object-format=sha1",
        };
        self.in_clone(folder, &["init", "--quiet", format]).await?;
        let git_dir = folder.join(".git");
        let write = |name: &str, bytes: &[u8]| {
            let path = git_dir.join(name);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| fs::write(&path, bytes))
                .map_err(GitError::io("write", &path))
        };
        let mut objects = from.join("objects").into_os_string();
        objects.push("\n");
        write("objects/info/alternates", objects.as_bytes())?;
        write("packed-refs", packed_refs)?;
        if let Ok(shallow) = fs::read(from.join("shallow")) {
            write("shallow", &shallow)?;
        }
        let hooks = ["-c", "core.hooksPath=/dev/null"];
        let checkout = ["checkout", "--quiet", "--detach", commit.as_str()];
        let args = [&hooks[..], &checkout[..]].concat();
        self.in_clone(folder, &args).await.map(drop)
    }

    async fn in_clone(&self, folder: &Path, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let call = first_look(&self.program, &self.environment, folder, args);
        call.await?.into_result()
    }
}
