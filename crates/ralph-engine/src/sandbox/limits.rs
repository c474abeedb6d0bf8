//! The memory, the processes and the processors that all programs of a run may use together.
//!
//! No kernel limits memory and processes for a tree without privileges, so they are watched. Where there can be a
//! control group, the kernel keeps them too.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use ralph_core::{config::Gigabytes, config::SafetyConfig, figures::bytes};

use super::group::{GroupEvents, ProgramGroup};
use crate::process::{SandboxLimits, SandboxMeans, TreeUse, use_of_children};

/// The most that the programs of a run may use, and what keeps them from more.
#[derive(Debug, Clone)]
pub struct TreeLimits {
    values: LimitValues,
    group: Option<Arc<ProgramGroup>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitValues {
    pub(super) memory_bytes: u64,
    pub(super) processes: u64,
    pub(super) cpus: Option<NonZeroU32>,
}

/// The limits of one run, from its start on.
#[derive(Debug)]
pub struct TreeWatch {
    limits: TreeLimits,
    before: GroupEvents,
}

impl LimitValues {
    /// The bytes from which on the kernel ends programs: the watch comes first, if it can, and says why.
    pub(super) fn most_memory(self) -> u64 {
        self.memory_bytes.saturating_add(self.memory_bytes / 4)
    }

    /// The processes from which on the kernel starts no more.
    pub(super) fn most_processes(self) -> u64 {
        self.processes.saturating_mul(4)
    }

    fn judge(self, used: TreeUse) -> Option<String> {
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

    /// Says what the kernel has enforced since.
    fn judge_events(self, before: GroupEvents, now: GroupEvents) -> Option<String> {
        if now.killed > before.killed {
            return Some(format!(
                "the kernel ended one of its processes for want of memory: `safety.max_memory_gb` allows {}",
                bytes(self.memory_bytes)
            ));
        }
        (now.refused > before.refused).then(|| {
            format!(
                "the kernel started no more of its processes: `safety.max_processes` allows {}",
                self.processes
            )
        })
    }
}

impl TreeLimits {
    /// Between two looks.
    pub const LOOK: Duration = Duration::from_millis(500);

    pub(super) fn new(safety: &SafetyConfig) -> Self {
        let memory = safety.max_memory_gb;
        Self {
            values: LimitValues {
                memory_bytes: memory.map_or_else(most_of_memory, Gigabytes::bytes),
                processes: u64::from(safety.max_processes.get()),
                cpus: safety.max_cpus,
            },
            group: None,
        }
    }

    /// Lets the kernel keep the limits, where this process may ask for it.
    pub(super) fn find_group(&mut self) {
        self.group = ProgramGroup::find(&self.values).map(Arc::new);
    }

    /// The limits that a program is started with.
    pub(super) fn of_program(&self, means: SandboxMeans) -> SandboxLimits {
        let group = self.group.as_deref();
        SandboxLimits {
            // The kernel counts those of this sandbox alone: in a user namespace, or by its own user.
            processes: means.has_own_root().then_some(self.values.most_processes()),
            // A group divides the time of all processors.
            cpus: self
                .values
                .cpus
                .filter(|_| !group.is_some_and(ProgramGroup::limits_cpus)),
            group: group.map(|group| group.folder().to_owned()),
        }
    }

    /// Begins to watch the programs of a run.
    pub fn watch(self) -> TreeWatch {
        let group = self.group.as_deref();
        TreeWatch {
            before: group.map(ProgramGroup::events).unwrap_or_default(),
            limits: self,
        }
    }
}

impl TreeWatch {
    /// Returns a sentence if the programs use more than they may.
    pub fn look(&self) -> Option<String> {
        let used = self.limits.values.judge(use_of_children());
        used.or_else(|| self.look_at_group())
    }

    /// Returns a sentence if the kernel kept the programs from using more than they may.
    pub(crate) fn look_at_group(&self) -> Option<String> {
        let now = self.limits.group.as_deref()?.events();
        self.limits.values.judge_events(self.before, now)
    }

    /// Waits until the programs use more than they may, and says so.
    pub async fn exceeded(&self) -> String {
        loop {
            tokio::time::sleep(TreeLimits::LOOK).await;
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

    const LIMITS: LimitValues = LimitValues {
        memory_bytes: 2_000_000_000,
        processes: 100,
        cpus: None,
    };

    #[test]
    fn what_is_over_a_limit_is_named_with_the_key_that_changes_it() {
        let limits = LIMITS;
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

    #[test]
    fn what_the_kernel_enforced_in_this_run_is_named_with_the_key_that_changes_it() {
        let events = |killed, refused| GroupEvents { killed, refused };
        let judge = |before, now| LIMITS.judge_events(before, now);
        assert_eq!(judge(events(1, 1), events(1, 1)), None);
        assert_eq!(
            judge(events(1, 1), events(1, 2)).as_deref(),
            Some("the kernel started no more of its processes: `safety.max_processes` allows 100")
        );
        let said = judge(events(1, 1), events(2, 1)).unwrap();
        assert!(said.contains("`safety.max_memory_gb` allows"), "{said}");
    }
}
