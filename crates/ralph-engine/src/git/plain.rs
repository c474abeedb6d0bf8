//! Whether git would store a file as it is: without a filter, a change of line ends, or an encoding.
//!
//! All of those come from attributes, or from one setting. So the answer is yes only where no place
//! that git reads attributes from is there at all. Reads no attributes: a repository that has any is left to
//! git, and so is whatever is not known here for certain.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::config::Setting;
use super::index_file::Parsed;
use super::stage::PathsIn;
use super::{GitError, Repo};

const ATTRIBUTES: &[u8] = b".gitattributes";

/// What the settings say, as they stood when the repository was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storing {
    /// As it is, unless attributes say otherwise.
    AsItIs,
    /// Git knows.
    LeftToGit,
}

impl Storing {
    pub(super) fn of(settings: &[Setting]) -> Self {
        let is = |key: &str, usual: &[u8]| {
            let found = settings.iter().rev().find(|setting| setting.key == key);
            // A key without a value means true.
            found.is_none_or(|setting| setting.value.as_deref().unwrap_or(b"true") == usual)
        };
        let plain = is("core.autocrlf", b"false")
            && is("core.filemode", b"true")
            && is("core.ignorecase", b"false")
            && !settings.iter().any(|setting| setting.key == "attr.tree");
        if plain { Self::AsItIs } else { Self::LeftToGit }
    }
}

impl Repo {
    /// Returns whether none of these paths has an attribute. `index` is what they are compared with.
    pub(super) async fn has_no_attributes(
        &self,
        files: &PathsIn<'_>,
        index: &Parsed<'_>,
    ) -> Result<bool, GitError> {
        if self.storing == Storing::LeftToGit || holds_attributes(index) {
            return Ok(false);
        }
        let of_all = self
            .attribute_files
            .get_or_try_init(|| self.find_attribute_files())
            .await?;
        let Some(of_all) = of_all else {
            return Ok(false);
        };
        let of_folders = files
            .paths
            .iter()
            .flat_map(|path| path.ancestors().skip(1))
            .map(|folder| files.folder.join(folder).join(".gitattributes"));
        Ok(of_folders
            .chain(of_all.iter().cloned())
            .all(|file| is_absent(&file)))
    }

    /// Where attributes for all folders would stand. `None` if this git can't say.
    async fn find_attribute_files(&self) -> Result<Option<Vec<PathBuf>>, GitError> {
        let mut files = vec![self.shadow.path().join("info/attributes")];
        let found = tokio::try_join!(
            self.path_answer(&["var", "GIT_ATTR_SYSTEM"]),
            self.path_answer(&["var", "GIT_ATTR_GLOBAL"]),
        )?;
        let (Some(of_system), Some(of_user)) = found else {
            return self.likely_attribute_files().await;
        };
        files.extend([of_system, of_user]);
        Ok(Some(files))
    }

    /// The same for a git before 2.41: every place that such a one may have been built to read.
    async fn likely_attribute_files(&self) -> Result<Option<Vec<PathBuf>>, GitError> {
        let Some(programs) = self.path_answer(&["--exec-path"]).await? else {
            return Ok(None);
        };
        let of_system = programs.ancestors().map(|prefix| prefix.join("etc"));
        let of_system = of_system.map(|folder| folder.join("gitattributes"));
        let var = |name: &str| {
            let mut vars = self.environment.vars();
            let found = vars.find(|(key, value)| *key == name && !value.is_empty());
            found.map(|(_, value)| PathBuf::from(value))
        };
        let set = ["config", "--path", "--get", "core.attributesFile"];
        let of_user = match self.path_answer(&set).await? {
            Some(file) => Some(file),
            // Relative to what, git knows.
            None if self.git(set).answer().await?.code == Some(0) => return Ok(None),
            None => var("XDG_CONFIG_HOME")
                .or_else(|| Some(var("HOME")?.join(".config")))
                .map(|folder| folder.join("git/attributes")),
        };
        let of_worktree = self.shadow.path().join("info/attributes");
        let files = of_system.chain(of_user).chain([of_worktree]);
        Ok(Some(files.collect()))
    }

    /// The absolute path that git answers with.
    async fn path_answer(&self, args: &[&str]) -> Result<Option<PathBuf>, GitError> {
        use std::os::unix::ffi::OsStringExt;
        let answer = self.git(args).answer().await?;
        let file = answer.stdout.strip_suffix(b"\n").unwrap_or_default();
        let file = PathBuf::from(std::ffi::OsString::from_vec(file.to_vec()));
        Ok((answer.code == Some(0) && file.is_absolute()).then_some(file))
    }
}

/// Git takes them from the index where they are gone from the working tree.
fn holds_attributes(index: &Parsed<'_>) -> bool {
    let name = |path: &[u8]| {
        let folder = path.strip_suffix(ATTRIBUTES)?;
        Some(folder.is_empty() || folder.ends_with(b"/"))
    };
    let mut entries = index.entries.iter();
    entries.any(|entry| name(entry.path) == Some(true))
}

fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::super::config::ConfigScope;
    use super::*;

    #[test]
    fn settings_that_change_what_is_stored_are_left_to_git() {
        let of = |key: &str, value: Option<&str>| {
            Storing::of(&[Setting {
                scope: ConfigScope::User,
                key: key.to_owned(),
                value: value.map(|value| value.as_bytes().to_vec()),
            }])
        };
        assert_eq!(Storing::of(&[]), Storing::AsItIs);
        assert_eq!(of("core.filemode", Some("true")), Storing::AsItIs);
        assert_eq!(of("core.autocrlf", Some("false")), Storing::AsItIs);
        for (key, value) in [
            ("core.autocrlf", Some("input")),
            ("core.autocrlf", None),
            ("core.filemode", Some("false")),
            ("core.ignorecase", Some("true")),
            ("attr.tree", Some("HEAD")),
        ] {
            assert_eq!(of(key, value), Storing::LeftToGit, "{key} {value:?}");
        }
    }
}
