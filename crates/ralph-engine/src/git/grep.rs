//! Targeted look-ups in tracked files, for a prompt.

use super::{GitError, Repo};

impl Repo {
    /// The first `most` lines of tracked files that match an extended regular expression, each with
    /// its path and line number. Nothing found is an empty text.
    pub async fn grep(
        &self,
        pattern: &str,
        paths: &[String],
        most: usize,
    ) -> Result<String, GitError> {
        let args = [
            "grep",
            "--no-color",
            "--no-textconv",
            "-I",
            "-n",
            "-E",
            "-e",
            pattern,
            "--",
        ];
        let mut call = self.git(args).magic_pathspecs();
        for path in paths {
            call = call.arg(format!(":(glob){path}"));
        }
        let answer = call.answer().await?;
        // 1 is git's way of saying that nothing matched.
        let text = String::from_utf8_lossy(&answer.stdout);
        Ok(text.lines().take(most).collect::<Vec<_>>().join("\n"))
    }
}
