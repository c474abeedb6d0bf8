//! The memory and the processes that all programs of a run may use together.
//!
//! No kernel limits them for a tree without privileges, so they are watched.

use std::{num::NonZeroU32, time::Duration};

use ralph_core::{config::Gigabytes, figures::bytes};

use crate::process::{TreeUse, use_of_children};

/// The most that the programs of a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    pub(super) memory_bytes: u64,
    pub(super) processes: u64,
}

impl TreeLimits {
    /// Between two looks.
    pub const LOOK: Duration = Duration::from_millis(500);

    pub(super) fn new(memory: Option<Gigabytes>, processes: NonZeroU32) -> Self {
        Self {
            memory_bytes: memory.map_or_else(most_of_memory, Gigabytes::bytes),
            processes: u64::from(processes.get()),
        }
    }

    /// Returns a sentence if the programs use more than they may.
    pub fn look(&self) -> Option<String> {
        self.judge(use_of_children())
    }

    fn judge(&self, used: TreeUse) -> Option<String> {
        if used.memory_bytes > self.memory_bytes {
            return Some(format!(
                "it used {} of memory, and `safety.max_memory_gb` allows {}",
                bytes(used.memory_bytes),
                bytes(self.memory_bytes)
            ));
        }
        (used.processes > self.processes).then(|| {
            format!(
                "it had {} processes, and `safety.max_processes` allows {}",
                used.processes, self.processes
            )
        })
    }

    /// Waits until the programs use more than they may, and says so.
    pub async fn exceeded(self) -> String {
        loop {
            tokio::time::sleep(Self::LOOK).await;
            if let Some(why) = self.look() {
                return why;
            }
        }
    }
}

/// Nine tenths of the memory of this machine.
fn most_of_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| {
        let rest = line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?;
        rest.trim().parse::<u64>().ok()
    });
    total.map_or(u64::MAX, |kilobytes| kilobytes * 1024 / 10 * 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_a_limit_is_named_with_the_key_that_changes_it() {
        let limits = TreeLimits {
            memory_bytes: 2_000_000_000,
            processes: 100,
        };
        let judge = |processes, memory_bytes| {
            limits.judge(TreeUse {
                processes,
                memory_bytes,
            })
        };
        assert_eq!(judge(100, 2_000_000_000), None);
        assert_eq!(
            judge(101, 1).as_deref(),
            Some("it had 101 processes, and `safety.max_processes` allows 100")
        );
        let said = judge(1, 3_000_000_000).unwrap();
        assert!(said.contains("`safety.max_memory_gb` allows"), "{said}");
    }
}
