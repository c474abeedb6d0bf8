//! The processes of the machine as `/proc` lists them.

use crate::process::{Ancestor, ProcessFacts, ProcessStatus};

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
