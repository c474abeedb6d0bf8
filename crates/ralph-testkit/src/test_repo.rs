//! A scratch git repository with a home, data folder and environment of its own.
//!
//! Everything it makes lies in one temporary folder that goes away with it. Nothing of the caller's
//! environment reaches a command but `PATH`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub struct TestRepo {
    folder: TempDir,
    root: PathBuf,
}

impl Default for TestRepo {
    fn default() -> Self {
        Self::new()
    }
}

impl TestRepo {
    /// A repository on branch `main` with one commit, `start`, that holds `README.md`.
    pub fn new() -> Self {
        let repo = Self::unborn();
        repo.file("README.md", "scratch\n").commit("start");
        repo
    }

    /// The same below another folder than that for temporary files.
    pub fn new_in(place: &Path) -> Self {
        let repo = Self::bare_folder_in(place);
        repo.git(["init", "-q", "-b", "main"]);
        repo.file("README.md", "scratch\n").commit("start");
        repo
    }

    /// A repository without a commit.
    pub fn unborn() -> Self {
        let repo = Self::bare_folder();
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }

    /// A folder with a home beside it and no repository in it.
    pub fn bare_folder() -> Self {
        Self::bare_folder_in(&tempfile::env::temp_dir())
    }

    fn bare_folder_in(place: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("ralph-test-")
            .tempdir_in(place)
            .expect("a temporary folder can be made");
        // The canonical path, as git reports it: temporary folders are behind a symlink on some systems.
        let base = folder
            .path()
            .canonicalize()
            .expect("the temporary folder is there");
        let root = base.join("repo");
        for part in ["repo", "home", "data", "tmp"] {
            fs::create_dir(base.join(part)).expect("a folder can be made");
        }
        let identity = "[user]\n\tname = Test Person\n\temail = person@test.invalid\n\
                        [init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n\
                        [protocol \"file\"]\n\tallow = always\n";
        fs::write(base.join("home/.gitconfig"), identity)
            .expect("the scratch settings are written");
        Self { folder, root }
    }

    /// Top of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that holds repository, home and data; free for a test's own things.
    pub fn outside(&self) -> &Path {
        self.root.parent().expect("the repository lies in a folder")
    }

    pub fn home(&self) -> PathBuf {
        self.outside().join("home")
    }

    /// Returns what `RALPH_DATA_DIR` is set to.
    pub fn data_dir(&self) -> PathBuf {
        self.outside().join("data")
    }

    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Writes a file, with the folders above it.
    pub fn file(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("folders can be made");
        }
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self
    }

    /// Writes a file that can be run.
    pub fn script(&self, relative: impl AsRef<Path>, content: &str) -> &Self {
        self.file(relative.as_ref(), content);
        let path = self.path(relative);
        make_executable(&path);
        self
    }

    /// Writes `prd.json`.
    pub fn prd(&self, content: &serde_json::Value) -> &Self {
        let text = serde_json::to_string_pretty(content).expect("a JSON value can be written");
        self.file("prd.json", text + "\n")
    }

    pub fn remove(&self, relative: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self
    }

    /// The text of a file.
    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn exists(&self, relative: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(self.path(relative)).is_ok()
    }

    /// Commits everything there is.
    pub fn commit(&self, subject: &str) -> &Self {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", subject]);
        self
    }

    /// Standard output of a git command that must succeed, without its last line break.
    pub fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        let args: Vec<OsString> = args
            .into_iter()
            .map(|arg| arg.as_ref().to_owned())
            .collect();
        let output = self.try_git(&args);
        assert!(
            output.status.success(),
            "git {args:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end_matches('\n')
            .to_owned()
    }

    /// A git command that may fail.
    pub fn try_git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.command("git")
            .args(args)
            .output()
            .expect("git can be started")
    }

    pub fn head(&self) -> String {
        self.git(["rev-parse", "HEAD"])
    }

    /// The full name of the current branch, such as `refs/heads/main`.
    pub fn branch(&self) -> String {
        self.git(["symbolic-ref", "HEAD"])
    }

    /// Subjects from the newest commit to the oldest.
    pub fn log_subjects(&self) -> Vec<String> {
        self.git(["log", "--format=%s"])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Lines of `git status --short`, untracked files singly.
    pub fn status(&self) -> Vec<String> {
        let args = [
            "-c",
            "core.quotePath=false",
            "status",
            "--short",
            "--untracked-files=all",
        ];
        self.git(args).lines().map(str::to_owned).collect()
    }

    /// A command at the top of the repository that sees the clean environment alone.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.environment())
            .current_dir(&self.root);
        command
    }

    /// The whole environment that commands of this repository see.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let outside = self.outside();
        let path = std::env::var_os("PATH").expect("PATH is set");
        let places = [
            ("HOME", outside.join("home")),
            ("XDG_CONFIG_HOME", outside.join("home/.config")),
            ("XDG_DATA_HOME", outside.join("data")),
            ("RALPH_DATA_DIR", outside.join("data")),
            ("TMPDIR", outside.join("tmp")),
        ];
        let mut vars: Vec<(OsString, OsString)> = vec![("PATH".into(), path)];
        vars.extend(places.map(|(name, place)| (name.into(), place.into())));
        // Agents of tests leave notes for them beside the repository.
        let notes = format!("[{outside:?}, {:?}]", outside.join("home"));
        vars.push(("RALPH_SAFETY_ALLOW_WRITE".into(), notes.into()));
        vars.push(("LANG".into(), "C.UTF-8".into()));
        vars.push(("GIT_CONFIG_NOSYSTEM".into(), "1".into()));
        vars
    }

    /// Leaves the folder on disk for a look, and says where.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, mode).expect("the mode can be set");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_with_one_commit_and_a_clean_tree() {
        let repo = TestRepo::new();
        assert_eq!(repo.log_subjects(), ["start"]);
        assert!(repo.status().is_empty());
        assert_eq!(repo.branch(), "refs/heads/main");
        assert_eq!(
            repo.git(["log", "-1", "--format=%an <%ae>"]),
            "Test Person <person@test.invalid>"
        );
    }

    #[test]
    fn commands_see_nothing_of_the_callers_environment_but_the_path() {
        let repo = TestRepo::new();
        let output = repo.command("env").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<&str> = text
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "GIT_CONFIG_NOSYSTEM",
                "HOME",
                "LANG",
                "PATH",
                "RALPH_DATA_DIR",
                "RALPH_SAFETY_ALLOW_WRITE",
                "TMPDIR",
                "XDG_CONFIG_HOME",
                "XDG_DATA_HOME"
            ]
        );
    }
}
