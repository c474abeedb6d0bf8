//! Small questions to the repository: what changed how much, is this tracked, what stood here.
//!
//! All answers are bounded, as they end up in prompts and reports.

use std::collections::HashSet;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::index_file::IndexFile;
use super::stage::joined;
use super::status::path_of;
use super::{GitError, Oid, Repo};

/// Compares two trees by their files alone, whatever a repository sets.
const DIFF: [&str; 6] = [
    "diff-tree",
    "-r",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=dirty",
];

/// Lines that came and went in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStat {
    pub path: PathBuf,
    /// `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

impl Repo {
    /// The first `limit` files that differ between two commits or trees, and how many there are.
    pub async fn diff_stat(
        &self,
        from: &Oid,
        to: &Oid,
        limit: usize,
    ) -> Result<(Vec<FileStat>, usize), GitError> {
        let call = self.git([&DIFF[..], &["-z", "--numstat"]].concat());
        let output = call.arg(from.as_str()).arg(to.as_str()).run().await?;
        let records = || {
            output
                .split(|byte| *byte == 0)
                .filter(|record| !record.is_empty())
        };
        let stats = records().take(limit).filter_map(parse_numstat).collect();
        Ok((stats, records().count()))
    }

    /// Writes what leads from one commit or tree to another to a file that `git apply` takes.
    pub async fn write_patch(&self, from: &Oid, to: &Oid, file: &Path) -> Result<(), GitError> {
        let mut output = std::ffi::OsString::from("--output=");
        output.push(file);
        let call = self
            .git([&DIFF[..], &["-p", "--binary", "--full-index"]].concat())
            .arg(output);
        call.arg(from.as_str()).arg(to.as_str()).run().await?;
        Ok(())
    }

    /// Returns what leads from one commit or tree to another, without context lines; `None` where that is longer
    /// than `limit`.
    pub async fn diff_text(
        &self,
        from: &Oid,
        to: &Oid,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        // To a file: what git writes to a pipe is read whole, however long it is.
        let file = self.shadow.path().join("ralph-diff");
        let mut output = std::ffi::OsString::from("--output=");
        output.push(&file);
        let form = ["-p", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/"];
        let call = self.git([&DIFF[..], &form].concat()).arg(output);
        call.arg(from.as_str()).arg(to.as_str()).run().await?;
        let mut bytes = Vec::new();
        std::fs::File::open(&file)
            .and_then(|f| f.take(limit + 1).read_to_end(&mut bytes))
            .and_then(|_| std::fs::remove_file(&file))
            .map_err(GitError::io("read", &file))?;
        Ok((bytes.len() as u64 <= limit).then_some(bytes))
    }

    /// By the index of the last look at the tree: what an agent did to the person's does not count.
    pub async fn is_tracked(&self, path: &Path) -> Result<bool, GitError> {
        let mut state = self.in_order().await;
        if !self.shadow.index().exists() {
            self.adopt_real_index(&mut state)?;
        }
        if let Some(objects) = &self.objects
            && let Some(index) = IndexFile::read(&self.shadow.index(), objects.format())?
            && let Some(parsed) = index.parse()
        {
            return Ok(parsed.holds(path.as_os_str().as_bytes()));
        }
        let output = self.git(["ls-files", "-z", "--"]).arg(path).run().await?;
        Ok(!output.is_empty())
    }

    /// Returns whether the rules of the repository would keep a path that is not tracked out of git.
    pub async fn is_ignored(&self, path: &Path) -> Result<bool, GitError> {
        let ignored = self.check_ignore(&[path], &self.root).await?;
        Ok(ignored.contains(path))
    }

    /// Returns those of the paths that the rules of the repository ignore, tracked or not.
    pub async fn ignored_by_rules(&self, paths: &[&Path]) -> Result<Vec<PathBuf>, GitError> {
        let ignored = self.check_ignore(paths, &self.root).await?;
        Ok(ignored.into_iter().collect())
    }

    /// Returns those of the paths that the rules in a folder keep out of git, tracked or not.
    pub(super) async fn check_ignore(
        &self,
        paths: &[&Path],
        rules: &Path,
    ) -> Result<HashSet<PathBuf>, GitError> {
        // The command knows no literal paths; behind `./` nothing is magic.
        let here = Path::new(".");
        let list: Vec<PathBuf> = paths.iter().map(|path| here.join(path)).collect();
        let list: Vec<&Path> = list.iter().map(PathBuf::as_path).collect();
        let args = ["check-ignore", "--no-index", "-z", "--stdin"];
        let call = self.git(args).work_tree(rules).magic_pathspecs();
        let answer = call.stdin(joined(&list)).answer().await?;
        match answer.code {
            // 1: none of them is ignored.
            Some(0 | 1) => {}
            _ => return Err(answer.into_error()),
        }
        let found = answer.stdout.split(|byte| *byte == 0);
        let found = found.filter(|path| !path.is_empty()).map(path_of);
        Ok(found
            .map(|path| path.strip_prefix(here).map_or(path.clone(), Path::to_owned))
            .collect())
    }

    /// Reads the first `limit` bytes of a file as it stood at `commit`; `None` if it was not there.
    pub async fn read_at(
        &self,
        commit: &Oid,
        path: &Path,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let mut name = std::ffi::OsString::from(format!("{commit}:"));
        name.push(path);
        let call = self.git(["cat-file", "blob"]).arg(name);
        call.first_bytes(limit).await
    }
}

fn parse_numstat(record: &[u8]) -> Option<FileStat> {
    let mut fields = record.splitn(3, |byte| *byte == b'\t');
    let mut number = || String::from_utf8_lossy(fields.next()?).parse::<u64>().ok();
    let (added, removed) = (number(), number());
    let path = path_of(fields.next()?);
    Some(FileStat {
        path,
        lines: added.zip(removed),
    })
}
