//! Sync by the store's own machinery: what it is told of this machine, and what it says of a round.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::config::SyncPart;
use rustix::fs::{Mode, OFlags, openat};

use super::{
    SyncPlan, SyncRound, SyncStanding, Syncing, TeamError, WouldSync, in_one_line, server,
};
use crate::{
    clock::{Clock as _, SystemClock},
    iteration::{LOGS, PROMPT},
    lock::Lock,
    process::{Signal, signal_if},
    store::sync::{self, Include, LogKind, LogSource, SyncError, SyncOptions, Syncer, WaitingLog},
};

pub(super) async fn open(plan: &SyncPlan) -> Result<Box<dyn Syncing>, TeamError> {
    Ok(Box::new(OpenSync {
        syncer: Syncer::open(&plan.data_dir, options(plan)?).await?,
        data_dir: plan.data_dir.clone(),
    }))
}

pub(super) async fn preview(plan: &SyncPlan, samples: u32) -> Result<WouldSync, TeamError> {
    let options = options(plan)?;
    let found = sync::preview(&plan.data_dir, &options.include, &options.filter, samples).await?;
    let samples = found.samples.into_iter();
    Ok(WouldSync {
        rows: by_kind(found.rows),
        samples: samples.map(|(kind, row)| (kind.to_owned(), row)).collect(),
    })
}

pub(super) async fn take_new_identity(plan: &SyncPlan) -> Result<String, TeamError> {
    Ok(sync::new_identity(&plan.data_dir).await?)
}

pub(super) async fn standing(
    data_dir: &Path,
    now: Timestamp,
) -> Result<Option<SyncStanding>, TeamError> {
    let found = sync::status(data_dir, now).await?;
    Ok(found.map(|status| SyncStanding {
        origin: status.origin,
        server: status.server,
        tenant: status.tenant,
        waiting: status.lag.changes,
        waiting_seconds: status.lag.seconds,
        last_ok_at: status.last_ok_at,
        last_error: status.last_error,
        last_error_at: status.last_error_at,
        server_ahead_ms: status.server_ahead_ms,
    }))
}

/// The store's sync of one data folder. What came for a loop wakes it.
struct OpenSync {
    syncer: Syncer,
    data_dir: PathBuf,
}

#[async_trait(?Send)]
impl Syncing for OpenSync {
    async fn round(&mut self) -> Result<SyncRound, TeamError> {
        let report = self.syncer.round().await?;
        let commands = report.commands.into_iter();
        let commands: Vec<PathBuf> = commands.map(|command| command.worktree.into()).collect();
        poke_loops(&self.data_dir, &commands);
        Ok(SyncRound {
            sent: by_kind(report.rows),
            results: report.results,
            logs: report.logs,
            commands,
            waiting: report.lag.changes,
            waiting_seconds: report.lag.seconds,
            server_ahead_ms: report.server_ahead_ms,
            findings: report.findings.iter().map(ToString::to_string).collect(),
            more: report.more,
        })
    }

    async fn wait(&mut self) {
        let _ = self.syncer.wait().await;
    }

    async fn close(self: Box<Self>) {
        // Nothing is lost by a connection that does not end in order.
        let _ = self.syncer.close().await;
    }
}

fn by_kind(rows: BTreeMap<&'static str, u64>) -> Vec<(String, u64)> {
    let rows = rows.into_iter();
    rows.map(|(kind, count)| (kind.to_owned(), count)).collect()
}

fn options(plan: &SyncPlan) -> Result<SyncOptions, TeamError> {
    let redaction = plan.redaction.clone();
    Ok(SyncOptions {
        url: server::url(&plan.address)?,
        tenant: plan.tenant.clone(),
        machine: plan.machine.clone(),
        include: plan.include.iter().map(|part| include(*part)).collect(),
        filter: Arc::new(move |text| redaction.hide(text)),
        clock: Arc::new(|| SystemClock.now()),
        logs: Some(Arc::new(KeptTexts)),
    })
}

fn include(part: SyncPart) -> Include {
    match part {
        SyncPart::Records => Include::Records,
        SyncPart::Costs => Include::Costs,
        SyncPart::Checkpoints => Include::Checkpoints,
        SyncPart::Questions => Include::Questions,
        SyncPart::Logs => Include::Logs,
        SyncPart::Prompts => Include::Prompts,
    }
}

/// Wakes the loops of these working trees, as other commands of people do.
fn poke_loops(data_dir: &Path, worktrees: &[PathBuf]) {
    let mut poked: Vec<&Path> = Vec::new();
    for worktree in worktrees {
        if poked.contains(&worktree.as_path()) {
            continue;
        }
        poked.push(worktree);
        let owner = || Lock::owner_loop(data_dir, worktree);
        if let Some(pid) = owner() {
            // Asked again once the process is held fast: another one can't have got its number since. A poke that is
            // lost costs a loop two seconds.
            let _ = signal_if(pid, Signal::USR1, || owner() == Some(pid));
        }
    }
}

/// The most that is sent of a log or of the prompts of an iteration; of a longer one it is the end.
const MOST_TEXT: u64 = 256 * 1024;

/// Logs and prompts as they are kept in working trees.
struct KeptTexts;

impl LogSource for KeptTexts {
    fn logs_of(&self, of: &WaitingLog) -> io::Result<Vec<(LogKind, String)>> {
        let mut found = Vec::new();
        for (kind, ending) in [(LogKind::Log, "txt"), (LogKind::Prompt, PROMPT)] {
            let path = format!("{LOGS}/iteration-{}.{ending}", of.n);
            match open_below(Path::new(&of.worktree), &path).and_then(read_end) {
                Ok(text) => found.push((kind, text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

/// Opens a file below a folder, through no link: an agent could put one there that leads to a file of the person's, whose
/// content would be sent. For the same reason the file may have no second name.
fn open_below(folder: &Path, path: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut at: OwnedFd = File::open(folder)?.into();
    for part in path.split('/') {
        at = openat(&at, part, flags, Mode::empty())?;
    }
    let file = File::from(at);
    let found = file.metadata()?;
    if found.is_file() && found.nlink() == 1 {
        Ok(file)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Reads the end of a file, from the beginning of a line on.
fn read_end(mut file: File) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_TEXT)))?;
    let mut bytes = Vec::new();
    file.take(MOST_TEXT).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match text.split_once('\n') {
        Some((_, rest)) if length > MOST_TEXT => format!("…\n{rest}"),
        Some(_) | None => text,
    })
}

impl From<SyncError> for TeamError {
    fn from(error: SyncError) -> Self {
        let hint = error.hint();
        match error {
            SyncError::Journal(error) => Self::Journal(error),
            SyncError::Store(error) => error.into(),
            SyncError::Lock(error @ sync::LockError::Held { .. }) => Self::Busy {
                line: error.to_string(),
            },
            // It needs a person's decision.
            SyncError::Diverged { .. } => Self::Users {
                line: error.to_string(),
                hint,
            },
            error => Self::Server {
                line: in_one_line(&error),
                hint,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_through_no_link_of_an_agent() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("tree/.ralph/logs");
        std::fs::create_dir_all(&logs).unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "mine").unwrap();
        let of = |n| WaitingLog {
            iteration_id: "i".into(),
            n,
            loop_id: "l".into(),
            worktree: folder.path().join("tree").to_str().unwrap().into(),
        };
        std::fs::write(logs.join("iteration-1.txt"), "log").unwrap();
        std::fs::write(logs.join("iteration-1.prompt"), "prompt").unwrap();
        assert_eq!(
            KeptTexts.logs_of(&of(1)).unwrap(),
            [
                (LogKind::Log, "log".to_owned()),
                (LogKind::Prompt, "prompt".to_owned())
            ]
        );
        assert_eq!(KeptTexts.logs_of(&of(2)).unwrap(), []);
        std::os::unix::fs::symlink(&secret, logs.join("iteration-3.txt")).unwrap();
        assert!(KeptTexts.logs_of(&of(3)).is_err());
        std::fs::hard_link(&secret, logs.join("iteration-4.txt")).unwrap();
        assert_eq!(KeptTexts.logs_of(&of(4)).unwrap(), []);
        std::fs::rename(&logs, folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &logs).unwrap();
        assert!(KeptTexts.logs_of(&of(1)).is_err());
    }

    #[test]
    fn of_a_long_log_the_end_is_read_from_a_line_on() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = "0123456789abcde\n";
        let lines = usize::try_from(MOST_TEXT).unwrap() / line.len() + 10;
        std::fs::write(file.path(), format!("first\n{}", line.repeat(lines))).unwrap();
        let text = read_end(File::open(file.path()).unwrap()).unwrap();
        assert!(text.starts_with("…\n0123456789abcde\n"), "{}", &text[..40]);
        assert!(!text.contains("first") && text.len() as u64 <= MOST_TEXT + 4);
    }
}
