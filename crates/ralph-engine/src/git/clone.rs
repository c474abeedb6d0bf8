//! A fresh clone of a commit, as another person would get it: by the settings of the user, without hooks.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::call::first_look;
use super::{GitError, Oid, Repo};

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
    /// clone has the tags.
    pub async fn clone_commit(&self, commit: &Oid, folder: &Path) -> Result<(), GitError> {
        let format = match commit.as_str().len() {
            64 => "--object-format=sha256",
            _ => "--object-format=sha1",
        };
        let git = async |args: &[&str]| {
            let call = first_look(&self.program, &self.environment, folder, args);
            call.await?.into_result()
        };
        git(&["init", "--quiet", format]).await?;
        let git_dir = folder.join(".git");
        let write = |name: &str, bytes: &[u8]| {
            let path = git_dir.join(name);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| fs::write(&path, bytes))
                .map_err(GitError::io("write", &path))
        };
        let mut objects = self.common_dir.join("objects").into_os_string();
        objects.push("\n");
        write("objects/info/alternates", objects.as_bytes())?;
        let args = [
            "for-each-ref",
            "--format=%(objectname) %(refname)",
            "refs/tags",
        ];
        write("packed-refs", &self.git(args).run().await?)?;
        if let Ok(shallow) = fs::read(self.common_dir.join("shallow")) {
            write("shallow", &shallow)?;
        }
        git(&[
            "-c",
            "core.hooksPath=/dev/null",
            "checkout",
            "--quiet",
            "--detach",
            commit.as_str(),
        ])
        .await
        .map(drop)
    }
}
