//! The processes of the machine as `/proc` lists them.

use std::collections::HashMap;

use crate::process::{Ancestor, ProcessFacts, ProcessStatus, TreeUse};

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
    let mut found = TreeUse::default();
    let mut left = vec![std::process::id()];
    while let Some(parent) = left.pop() {
        // Taken out, so that no circle is followed twice: the list is no snapshot.
        for (pid, pages) in children.remove(&parent).unwrap_or_default() {
            found.processes += 1;
            found.memory_bytes += pages * page;
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
