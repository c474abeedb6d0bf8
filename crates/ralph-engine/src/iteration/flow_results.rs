//! The results of flows, which verify commands write to `.ralph/qa`: pictures, what failed, a page for people. They
//! are kept beside the logs of their iteration, where the next agent and people find them.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use ralph_core::{secret::Redaction, verify::VerifyReport};

use super::logs::LOGS;
use crate::{dot_ralph::FLOW_RESULTS as RESULTS, plain_file};

/// The results of one iteration, as far as they are kept.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 200 * 1024 * 1024;
/// Folders in folders that are looked at.
const DEPTH: usize = 4;

/// The place of the results of iteration `n`, relative to the project.
pub fn kept_at(n: u64) -> String {
    format!("{LOGS}/iteration-{n}-qa")
}

/// Takes away results of earlier flows in the folder that the next ones write to.
pub(super) fn clear(written: &Path) {
    // What stays is replaced by the first flow that runs.
    let _ = std::fs::remove_dir_all(written.join(RESULTS));
}

/// Keeps the results of the flows of iteration `n`, and has the report name them where they are. Results of an earlier
/// verification of the same iteration are replaced.
pub(super) fn keep(
    root: &Path,
    written: &Path,
    n: u64,
    report: &mut VerifyReport,
    redaction: &Redaction,
) {
    let from = written.join(RESULTS);
    let at = kept_at(n);
    let to = root.join(&at);
    let _ = std::fs::remove_dir_all(&to);
    let mut copy = ResultCopy {
        redaction,
        files: MOST_FILES,
        bytes: MOST_BYTES,
    };
    // As with other logs, the work goes on without them.
    if copy.folder(&from, &to, DEPTH).is_err() {
        return;
    }
    for command in &mut report.commands {
        if command.command.flows().is_some() {
            command.tail = command.tail.replace(RESULTS, &at);
        }
    }
}

struct ResultCopy<'a> {
    redaction: &'a Redaction,
    files: usize,
    bytes: u64,
}

impl ResultCopy<'_> {
    fn folder(&mut self, from: &Path, to: &Path, depth: usize) -> std::io::Result<()> {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(from)?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        std::fs::create_dir_all(to)?;
        for path in entries {
            let (Some(name), Ok(found)) = (path.file_name(), path.symlink_metadata()) else {
                continue;
            };
            if found.is_dir() && depth > 0 {
                self.folder(&path, &to.join(name), depth - 1)?;
            } else if found.is_file() && self.files > 0 && found.len() <= self.bytes {
                self.files -= 1;
                self.bytes -= found.len();
                self.file(&path, &to.join(name))?;
            }
        }
        Ok(())
    }

    /// A picture is kept as it is; a text without what is secret.
    fn file(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        plain_file::open(from)?
            .take(MOST_BYTES)
            .read_to_end(&mut bytes)?;
        let is_picture = from.extension().is_some_and(|end| end == "png");
        if is_picture {
            std::fs::write(to, bytes)
        } else {
            std::fs::write(to, self.redaction.hide_bytes(&bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ralph_core::{
        secret::NamedValue,
        task::VerifyCommand,
        verify::{CommandOutcome, VerifyCommandReport},
    };

    use super::*;

    #[test]
    fn results_are_kept_without_secrets_and_named_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (root, written) = (folder.path().join("root"), folder.path().join("layer"));
        std::fs::create_dir_all(written.join(RESULTS).join("start")).unwrap();
        let put = |name: &str, text: &str| {
            std::fs::write(written.join(RESULTS).join(name), text).unwrap();
        };
        put("report.json", "{\"text\": \"s3cr3t-value-of-mine\"}");
        put("start/top.png", "picture");
        std::os::unix::fs::symlink("/etc/passwd", written.join(RESULTS).join("link")).unwrap();
        let secret = NamedValue::new("MY_TOKEN", "s3cr3t-value-of-mine");
        let failed = VerifyCommandReport::new(
            VerifyCommand::flow("start"),
            CommandOutcome::Failed { code: 4 },
            Duration::from_secs(1),
            "",
            "picture: .ralph/qa/start/top.png".to_owned(),
        );
        let mut report = VerifyReport {
            commands: vec![failed],
            ..VerifyReport::default()
        };
        keep(
            &root,
            &written,
            7,
            &mut report,
            &Redaction::new(vec![secret]),
        );
        let kept = root.join(".ralph/logs/iteration-7-qa");
        assert_eq!(
            std::fs::read_to_string(kept.join("start/top.png")).unwrap(),
            "picture"
        );
        let text = std::fs::read_to_string(kept.join("report.json")).unwrap();
        assert!(!text.contains("s3cr3t"), "{text}");
        assert!(!kept.join("link").exists());
        assert_eq!(
            report.commands[0].tail,
            "picture: .ralph/logs/iteration-7-qa/start/top.png"
        );
    }
}
