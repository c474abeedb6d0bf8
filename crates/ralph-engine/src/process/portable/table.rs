//! The processes of the machine as `ps` lists them.
//!
//! `ps` and not the calls of each system: its columns are the same everywhere, and the calls are
//! unsafe.

use std::process::{Command, Stdio};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::process::{Ancestor, ProcessFacts, ProcessStatus};

/// `started` is in seconds since 1970 here.
pub(in crate::process) fn process_facts(pid: u32) -> Option<ProcessFacts> {
    list(&["-p", &pid.to_string()]).into_iter().next()
}

pub(in crate::process) fn all_processes() -> Vec<ProcessFacts> {
    list(&["-A"])
}

pub(in crate::process) fn ancestors() -> Option<Vec<Ancestor>> {
    let all = all_processes();
    let parent_of = |pid: u32| all.iter().find(|one| one.pid == pid).map(|one| one.parent);
    let mut found: Vec<Ancestor> = Vec::new();
    let mut at = parent_of(std::process::id())?;
    while at != 0 && !found.iter().any(|one| one.pid == at) {
        let name = String::new();
        found.push(Ancestor { pid: at, name });
        at = parent_of(at).unwrap_or(0);
    }
    Some(found)
}

fn list(which: &[&str]) -> Vec<ProcessFacts> {
    let listed = Command::new("ps")
        .args(which)
        .args(["-o", "pid=,ppid=,stat=,lstart="])
        // The start is printed in the words and the time zone of the environment.
        .env("LC_ALL", "C")
        .env("TZ", "UTC0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = listed.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(parse).collect()
}

/// Reads a line such as `4711 1 Ss Mon Nov 16 00:20:53 2026`.
fn parse(line: &str) -> Option<ProcessFacts> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [pid, parent, state, _, month, day, time, year] = words[..] else {
        return None;
    };
    let started = DateTime::strptime("%b %d %H:%M:%S %Y", format!("{month} {day} {time} {year}"));
    let started = started.ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(ProcessFacts {
        pid: pid.parse().ok()?,
        parent: parent.parse().ok()?,
        started: u64::try_from(started.as_second()).ok()?,
        state: match state.chars().next()? {
            'Z' | 'X' => ProcessStatus::Dead,
            'T' | 't' => ProcessStatus::Stopped,
            _ => ProcessStatus::Alive,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ps_is_read_whatever_its_columns_are_wide() {
        let facts = |pid, parent, started, state| ProcessFacts {
            pid,
            parent,
            started,
            state,
        };
        let cases = [
            (
                "    1     0 Ss   Thu Jan  1 00:00:07 1970",
                Some(facts(1, 0, 7, ProcessStatus::Alive)),
            ),
            (
                "98765   501 T    Mon Nov 16 00:20:53 2026   ",
                Some(facts(98765, 501, 1_794_788_453, ProcessStatus::Stopped)),
            ),
            (
                "7 1 Z+ Mon Nov 16 00:20:53 2026",
                Some(facts(7, 1, 1_794_788_453, ProcessStatus::Dead)),
            ),
            ("7 1 S Mon Foo 16 00:20:53 2026", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(parse(line), expected, "{line:?}");
        }
    }

    #[test]
    fn ps_knows_this_process_its_parent_and_when_it_began() {
        let own = std::process::id();
        let facts = process_facts(own).unwrap();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!(facts.pid, own);
        assert_eq!(facts.parent, parent.cast_unsigned());
        assert_eq!(facts.state, ProcessStatus::Alive);
        // 2020; the process began after that by any clock.
        assert!(facts.started > 1_577_836_800, "{facts:?}");
        let all = all_processes();
        assert!(all.iter().any(|one| one.pid == own));
        assert_eq!(process_facts(u32::MAX), None);
    }
}
