//! The processes of the machine as `/proc` lists them.

use std::collections::HashMap;

use rustix::process::{Gid, Pid, Resource, Rlimit, Uid, prlimit};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use crate::process::{Ancestor, FileWrites, ProcessFacts, ProcessStatus, TreeUse};

/// Processes that keep making others are walked through so often.
const MOST_WALKS: usize = 8;

/// `started` is in the ticks of the kernel since it booted here.
pub(in crate::process) fn process_facts(pid: u32) -> Option<ProcessFacts> {
    // A name may hold any bytes.
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&text))
}

pub(in crate::process) fn all_processes() -> Vec<ProcessFacts> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    pids.filter_map(process_facts).collect()
}

/// Sums up all that descend from this process.
pub(in crate::process) fn use_of_children() -> TreeUse {
    let page = rustix::param::page_size() as u64;
    let mut found = TreeUse::default();
    for (_, pages) in descendants() {
        found.processes += 1;
        found.memory_bytes += pages * page;
    }
    found
}

/// Sets a limit that each of them may raise again itself: it is no wall, and can be taken back without rights.
pub(in crate::process) fn limit_writes_of_children(writes: FileWrites) {
    for _ in 0..MOST_WALKS {
        let changed = descendants()
            .into_iter()
            .filter(|(pid, _)| limit_writes_of(*pid, writes))
            .count();
        // One that was made meanwhile has what its parent had.
        if changed == 0 {
            return;
        }
    }
}

/// Returns whether a process had another limit.
fn limit_writes_of(pid: u32, writes: FileWrites) -> bool {
    let Some(now) = file_limit(pid) else {
        return false;
    };
    let wanted = match writes {
        FileWrites::Refused => Some(0),
        FileWrites::UpTo(Some(most)) => Some(most.min(now.maximum.unwrap_or(u64::MAX))),
        FileWrites::UpTo(None) => now.maximum,
    };
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let (false, Some(number)) = (now.current == wanted, number) else {
        return false;
    };
    let limit = Rlimit {
        current: wanted,
        ..now
    };
    let set = || prlimit(Some(number), Resource::Fsize, limit).is_ok();
    set() || owner_of(pid).is_some_and(|owner| as_owner(owner, set))
}

/// The user and the group of a process.
fn owner_of(pid: u32) -> Option<(Uid, Gid)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let first = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some((Uid::from_raw(first("Uid:")?), Gid::from_raw(first("Gid:")?)))
}

/// Does something in a thread whose real user is another. Root of a container often has not the right to change limits
/// of others, and has that to be them.
fn as_owner((user, group): (Uid, Gid), act: impl FnOnce() -> bool + Send) -> bool {
    std::thread::scope(|scope| {
        let become_and_act = || {
            set_thread_res_gid(group, None, None).is_ok()
                && set_thread_res_uid(user, None, None).is_ok()
                && act()
        };
        scope.spawn(become_and_act).join().unwrap_or(false)
    })
}

/// The size of file that a process may write, as `/proc` has it.
fn file_limit(pid: u32) -> Option<Rlimit> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    parse_file_limit(&text)
}

fn parse_file_limit(text: &str) -> Option<Rlimit> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max file size"))?;
    let mut values = line.split_whitespace().map(|value| match value {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    });
    Some(Rlimit {
        current: values.next()??,
        maximum: values.next()??,
    })
}

/// All that descend from this process, and the pages of memory that each of them holds.
fn descendants() -> Vec<(u32, u64)> {
    let mut children: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(pid) = pid
            && let Some((parent, pages)) = parent_and_memory(pid)
        {
            children.entry(parent).or_default().push((pid, pages));
        }
    }
    let mut found = Vec::new();
    let mut left = vec![std::process::id()];
    while let Some(parent) = left.pop() {
        // Taken out, so that no circle is followed twice: the list is no snapshot.
        for (pid, pages) in children.remove(&parent).unwrap_or_default() {
            found.push((pid, pages));
            left.push(pid);
        }
    }
    found
}

/// The parent of a process, and the pages of memory that it holds.
fn parent_and_memory(pid: u32) -> Option<(u32, u64)> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(1);
    let parent = fields.next()?.parse().ok()?;
    let pages = fields.nth(19)?.parse().ok()?;
    Some((parent, pages))
}

/// A walk that was led astray this often gives up.
const MOST_STEPS: usize = 10_000;

/// Each process is asked for its parent again once that was read: one that ended meanwhile has given its
/// child to another, and its number too.
pub(in crate::process) fn ancestors() -> Option<Vec<Ancestor>> {
    // A folder that only looks like it may say anything.
    let proc = rustix::fs::statfs("/proc").ok()?;
    if proc.f_type != rustix::fs::PROC_SUPER_MAGIC {
        return None;
    }
    let own = std::fs::read_link("/proc/self").ok()?;
    let own: u32 = own.to_str()?.parse().ok()?;
    let mut found: Vec<Ancestor> = Vec::new();
    for _ in 0..MOST_STEPS {
        let child = found.last().map_or(own, |one| one.pid);
        let Some((_, parent)) = name_and_parent(child) else {
            // It ended: go on from its child, which has another parent by now.
            found.pop()?;
            continue;
        };
        if parent == 0 {
            return Some(found);
        }
        match name_and_parent(parent) {
            Some((name, _)) if name_and_parent(child).is_some_and(|(_, now)| now == parent) => {
                found.push(Ancestor { pid: parent, name });
            }
            Some(_) => {}
            // One of another user may be hidden, and all above it.
            None if name_and_parent(child).is_some_and(|(_, now)| now == parent) => {
                return Some(found);
            }
            None => {}
        }
    }
    None
}

fn name_and_parent(pid: u32) -> Option<(String, u32)> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (name, rest) = text.rsplit_once(") ")?;
    let (_, name) = name.split_once('(')?;
    Some((name.to_owned(), rest.split(' ').nth(1)?.parse().ok()?))
}

/// Behind the name, which is in brackets and may hold any: state, parent, and the 20th is the start.
fn parse(pid: u32, text: &str) -> Option<ProcessFacts> {
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = match fields.next()?.chars().next()? {
        'Z' | 'X' | 'x' => ProcessStatus::Dead,
        'T' | 't' => ProcessStatus::Stopped,
        _ => ProcessStatus::Alive,
    };
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.trim().parse().ok()?;
    Some(ProcessFacts {
        pid,
        parent,
        started,
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_files_is_read_from_the_list_of_limits() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max cpu time              unlimited            unlimited            seconds   \n\
            Max file size             21474836             unlimited            bytes     \n";
        let found = parse_file_limit(text).unwrap();
        assert_eq!((found.current, found.maximum), (Some(21_474_836), None));
        assert!(parse_file_limit("Max file size  some  none").is_none());
        assert!(parse_file_limit("").is_none());
    }

    #[test]
    fn a_child_and_its_children_write_only_while_they_may() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sh")
            .args([
                "-c",
                "trap '' XFSZ; while read line; do (echo x > file) 2> /dev/null && echo yes || echo no; done",
            ])
            .current_dir(folder.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut asked = || {
            let mut line = String::new();
            std::io::Write::write_all(&mut input, b"\n").unwrap();
            std::io::BufRead::read_line(&mut output, &mut line).unwrap();
            line
        };
        assert_eq!(asked(), "yes\n");
        limit_writes_of_children(FileWrites::Refused);
        assert_eq!(asked(), "no\n");
        limit_writes_of_children(FileWrites::UpTo(Some(100)));
        assert_eq!(asked(), "yes\n");
        limit_writes_of_children(FileWrites::UpTo(None));
        assert_eq!(asked(), "yes\n");
        assert!(file_limit(child.id()).unwrap().current.is_none());
        drop(input);
        child.wait().unwrap();
    }

    #[test]
    fn children_and_their_children_are_counted_with_their_memory() {
        let before = use_of_children();
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The line comes once the second one is there.
        let mut line = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let now = use_of_children();
        let sleeper = format!("/proc/{0}/task/{0}/children", child.id());
        let sleeper = std::fs::read_to_string(sleeper).unwrap();
        let pid = rustix::process::Pid::from_raw(sleeper.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
        assert_eq!(now.processes, before.processes + 2);
        assert!(now.memory_bytes > before.memory_bytes + 4096);
    }

    #[test]
    fn a_name_with_brackets_does_not_confuse_the_fields() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2\n";
        let expected = ProcessFacts {
            pid: 42,
            parent: 7,
            started: 98765,
            state: ProcessStatus::Alive,
        };
        assert_eq!(parse(42, text), Some(expected));
    }
}
