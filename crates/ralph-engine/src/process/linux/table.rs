//! The processes of the machine as `/proc` lists them.

use crate::process::{ProcessFacts, ProcessStatus};

/// `started` is in the ticks of the kernel since it booted here.
pub(in crate::process) fn process_facts(pid: u32) -> Option<ProcessFacts> {
    parse(
        pid,
        &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?,
    )
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
