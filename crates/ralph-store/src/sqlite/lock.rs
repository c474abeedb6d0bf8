//! Locks on the journal's file: waits for a turn to write, and names the process that holds it for too long.
//!
//! SQLite lets one process write at a time; the others wait. That is no error to a user unless a process does not let
//! go; then the error names it. Only reads what the kernel knows about locks; changes nothing, ends no process.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::sanitize::one_line;

use super::{JournalError, failed};

/// The longest wait for a turn to write. Those who wait look again ten times a second, in no order:
/// with 64 of them on a disk that takes 50 ms for a write, one looks 30 times on the average, and one
/// that is unlucky a few hundred times.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Columns of a command that are shown.
const WIDTH: usize = 80;

/// A process that holds the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) pid: u32,
    pub(super) command: String,
}

/// The error of a write that failed.
pub(crate) fn unwritten(
    path: &Path,
    what: &'static str,
) -> impl FnOnce(sqlx::Error) -> JournalError {
    move |source| {
        if is_busy(&source) {
            busy(path, what)
        } else {
            failed(what)(source)
        }
    }
}

/// The error that names the process that writes to the journal now.
pub(super) fn busy(path: &Path, what: &'static str) -> JournalError {
    JournalError::Busy {
        path: path.to_owned(),
        what,
        holder: describe(writer_of(path).as_ref()),
    }
}

pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    const BUSY: i64 = 5;
    // What a reader gets that found no place to read from for ten seconds.
    const PROTOCOL: i64 = 15;
    let code = error.as_database_error().and_then(|e| e.code());
    let code = code.and_then(|code| code.parse::<i64>().ok());
    // The lowest byte is the kind, the others say more about it.
    code.is_some_and(|code| [BUSY, PROTOCOL].contains(&(code & 0xff)))
}

/// The holder in words, with the way out.
pub(super) fn describe(holder: Option<&Holder>) -> String {
    match holder {
        Some(Holder { pid, command }) => format!(
            "process {pid} ({command}) holds it: wait for that one, or end it with `kill {pid}`"
        ),
        None => "another process holds it: `fuser` on that file names it".to_owned(),
    }
}

/// The process that writes to the journal now. The turn to write is a lock on one byte of the file beside it.
pub(super) fn writer_of(journal: &Path) -> Option<Holder> {
    const WRITE_LOCK: u64 = 120;
    let mut shared = journal.as_os_str().to_owned();
    shared.push("-shm");
    holder_of(Path::new(&shared), Some(WRITE_LOCK)).or_else(|| holder_of(journal, None))
}

/// The process that holds a file for writing, or the one byte of it.
pub(super) fn holder_of(file: &Path, byte: Option<u64>) -> Option<Holder> {
    let file = file.canonicalize().ok()?;
    let inode = file.metadata().ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let holders = locks.lines().filter_map(|line| parse(line, inode, byte));
    // The number of a file says nothing of its disk: the process must have this very file open.
    let pid = holders.into_iter().find(|pid| has_open(*pid, &file))?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    Some(Holder {
        pid,
        command: one_line(&command, WIDTH),
    })
}

/// The process of a line such as `7: POSIX  ADVISORY  WRITE 4711 08:01:1234 120 120`, if it is a lock
/// that others wait for.
fn parse(line: &str, inode: u64, byte: Option<u64>) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, "WRITE", pid, place, from, to] = words[..] else {
        return None;
    };
    if place.rsplit(':').next()?.parse() != Ok(inode) {
        return None;
    }
    let from: u64 = from.parse().ok()?;
    let to: u64 = to.parse().unwrap_or(u64::MAX);
    match byte {
        Some(byte) if !(from..=to).contains(&byte) => None,
        Some(_) | None => pid.parse().ok(),
    }
}

fn has_open(pid: u32, file: &Path) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    let mut links = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.any(|link: PathBuf| link == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_off_the_list_of_the_kernel() {
        let cases = [
            (
                "7: POSIX  ADVISORY  WRITE 4711 08:01:1234 120 120",
                Some(4711),
            ),
            (
                "7: POSIX  ADVISORY  WRITE 4711 08:01:1234 0 EOF",
                Some(4711),
            ),
            ("7: POSIX  ADVISORY  WRITE 4711 08:01:1234 121 128", None),
            ("7: POSIX  ADVISORY  WRITE 4711 08:01:1235 120 120", None),
            ("7: POSIX  ADVISORY  READ  4711 08:01:1234 120 120", None),
            // Who waits for it does not hold it.
            ("7: -> POSIX  ADVISORY  WRITE 4712 08:01:1234 120 120", None),
            ("7: POSIX", None),
        ];
        for (line, expected) in cases {
            assert_eq!(parse(line, 1234, Some(120)), expected, "{line}");
        }
        let flock = "3: FLOCK  ADVISORY  WRITE 99 00:2d:1234 0 EOF";
        assert_eq!(parse(flock, 1234, None), Some(99));
    }
}
