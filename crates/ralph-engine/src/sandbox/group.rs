//! A control group of the kernel (version 2) for the programs of one ralph, where it may make one.
//!
//! Root may wherever there is a hierarchy, other users where a part of it was handed to them. The group is a wall
//! behind the watch of [`super::limits`], which says why a run ends: what it allows is a little more.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::limits::LimitValues;
use crate::layer::{MountEntry, read_mounts};

/// The part of a second in which processor time is counted, in microseconds.
const PERIOD: u64 = 100_000;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A group that programs are started in. Dropping it removes it; after SIGKILL it is swept.
#[derive(Debug)]
pub(super) struct ProgramGroup {
    folder: PathBuf,
    /// True if it limits processors.
    limits_cpus: bool,
}

/// Limits of a group that the kernel has enforced so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GroupEvents {
    /// Processes that were ended for want of memory.
    pub(super) killed: u64,
    /// Processes that were not started.
    pub(super) refused: u64,
}

impl ProgramGroup {
    /// Makes a group with limits in the nearest place that allows one.
    pub(super) fn find(limits: &LimitValues) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let places = places(&own, &read_mounts().ok()?);
        places
            .iter()
            .find_map(|parent| Self::make_in(parent, limits).ok())
    }

    /// Makes a group in another one, with the limits that are enabled there.
    fn make_in(parent: &Path, limits: &LimitValues) -> io::Result<Self> {
        let enabled = fs::read_to_string(parent.join("cgroup.subtree_control"))?;
        let has = |name: &str| enabled.split_whitespace().any(|enabled| enabled == name);
        if !has("memory") && !has("pids") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut group = Self::make_plain(parent)?;
        group.limits_cpus = has("cpu") && limits.cpus.is_some();
        let cpus = limits.cpus.map(|cpus| u64::from(cpus.get()) * PERIOD);
        for (controller, file, value) in [
            (
                "memory",
                "memory.max",
                Some(limits.most_memory().to_string()),
            ),
            (
                "pids",
                "pids.max",
                Some(limits.most_processes().to_string()),
            ),
            (
                "cpu",
                "cpu.max",
                cpus.map(|time| format!("{time} {PERIOD}")),
            ),
        ] {
            if let Some(value) = value.filter(|_| has(controller)) {
                fs::write(group.folder.join(file), value)?;
            }
        }
        Ok(group)
    }

    fn make_plain(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("ralph-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Self {
            folder,
            limits_cpus: false,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn limits_cpus(&self) -> bool {
        self.limits_cpus
    }

    pub(super) fn events(&self) -> GroupEvents {
        let read = |file: &str, name: &str| {
            let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
            count_of(&text, name)
        };
        GroupEvents {
            killed: read("memory.events", "oom_kill"),
            refused: read("pids.events", "max"),
        }
    }
}

impl Drop for ProgramGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The groups in which one can be made, nearest first: that of this process, and those around it.
fn places(own: &str, mounts: &[MountEntry]) -> Vec<PathBuf> {
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Vec::new();
    };
    let mounts = mounts.iter().filter(|mount| mount.kind == "cgroup2");
    let mut found = Vec::new();
    for mount in mounts {
        if let Ok(below) = Path::new(path).strip_prefix(&mount.root) {
            let own = mount.point.join(below);
            let around = own.ancestors().map(Path::to_owned);
            found.extend(around.take_while(|path| path.starts_with(&mount.point)));
        }
    }
    found
}

/// The number behind a name in a file of one such pair a line.
fn count_of(text: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(key, _)| *key == name);
    found
        .and_then(|(_, count)| count.trim().parse().ok())
        .unwrap_or(0)
}

/// Removes groups whose ralph is gone. One with a process in it can't be removed.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().and_then(|name| name.strip_prefix("ralph-"));
        let process = ours.and_then(|rest| rest.split_once('-'));
        let is_gone = process.is_some_and(|(process, number)| {
            let is_number = |text: &str| text.parse::<u32>().is_ok();
            is_number(process) && is_number(number) && !Path::new("/proc").join(process).exists()
        });
        if is_gone {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::layer::tests::support::{as_root_and_as_user, plain, run_spec};
    use crate::process::{SandboxLimits, SandboxPlan};

    const LIMITS: LimitValues = LimitValues {
        memory_bytes: 1_000_000,
        processes: 50,
        cpus: NonZeroU32::new(2),
    };

    fn mount(root: &str, point: &str, kind: &str) -> MountEntry {
        MountEntry {
            device: "0:1".to_owned(),
            root: root.into(),
            point: point.into(),
            kind: kind.to_owned(),
        }
    }

    #[test]
    fn a_group_is_looked_for_from_the_own_one_upwards() {
        let mounts = [
            mount("/", "/sys/fs/cgroup", "cgroup2"),
            mount("/", "/sys/fs/cgroup/memory", "cgroup"),
        ];
        let own = "4:memory:/x\n0::/user.slice/session.scope\n";
        let found = places(own, &mounts);
        let expected = [
            "/sys/fs/cgroup/user.slice/session.scope",
            "/sys/fs/cgroup/user.slice",
            "/sys/fs/cgroup",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
        // In a container the mount may show a part of the hierarchy only, and not that of this process.
        let part = [mount("/docker/1", "/cgroup", "cgroup2")];
        assert_eq!(
            places("0::/docker/1/a\n", &part),
            ["/cgroup/a", "/cgroup"].map(PathBuf::from)
        );
        assert_eq!(places("0::/other\n", &part), Vec::<PathBuf>::new());
        assert_eq!(places("4:memory:/x\n", &mounts), Vec::<PathBuf>::new());
    }

    /// A folder with the files of a group, which the kernel makes in a real one.
    fn parent_with(enabled: &str) -> tempfile::TempDir {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("cgroup.subtree_control"), enabled).unwrap();
        parent
    }

    #[test]
    fn limits_that_are_enabled_are_set_and_no_others() {
        let parent = parent_with("cpu memory pids\n");
        let group = ProgramGroup::make_in(parent.path(), &LIMITS).unwrap();
        let read = |file: &str| fs::read_to_string(group.folder().join(file)).ok();
        assert_eq!(read("memory.max").as_deref(), Some("1250000"));
        assert_eq!(read("pids.max").as_deref(), Some("200"));
        assert_eq!(read("cpu.max").as_deref(), Some("200000 100000"));
        assert!(group.limits_cpus());
        let parent = parent_with("pids\n");
        let group = ProgramGroup::make_in(parent.path(), &LIMITS).unwrap();
        let read = |file: &str| fs::read_to_string(group.folder().join(file)).ok();
        assert_eq!((read("memory.max"), read("cpu.max")), (None, None));
        assert_eq!(read("pids.max").as_deref(), Some("200"));
        assert!(!group.limits_cpus());
        let parent = parent_with("hugetlb cpu\n");
        assert!(ProgramGroup::make_in(parent.path(), &LIMITS).is_err());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_the_kernel_enforced_is_read() {
        let parent = parent_with("memory pids\n");
        let group = ProgramGroup::make_in(parent.path(), &LIMITS).unwrap();
        assert_eq!(group.events(), GroupEvents::default());
        let events = "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n";
        fs::write(group.folder().join("memory.events"), events).unwrap();
        fs::write(group.folder().join("pids.events"), "max 3\n").unwrap();
        let (killed, refused) = (1, 3);
        assert_eq!(group.events(), GroupEvents { killed, refused });
    }

    as_root_and_as_user! {
        programs_are_started_in_a_real_group_which_is_removed: plain => |ground| {
            let mounts = read_mounts().unwrap();
            let hierarchy = mounts.iter().find(|mount| mount.kind == "cgroup2");
            let Some(hierarchy) = hierarchy.filter(|_| ground.is_root) else {
                return;
            };
            // Its limits are set where this machine has them in this hierarchy.
            let group = ProgramGroup::make_in(&hierarchy.point, &LIMITS)
                .or_else(|_| ProgramGroup::make_plain(&hierarchy.point))
                .unwrap();
            let name = group.folder().file_name().unwrap().to_str().unwrap().to_owned();
            let gone = hierarchy.point.join("ralph-4194999-0");
            fs::create_dir(&gone).unwrap();
            let limits = SandboxLimits {
                group: Some(group.folder().to_owned()),
                ..SandboxLimits::default()
            };
            let twice = "cat /proc/self/cgroup; /bin/sh -c 'cat /proc/self/cgroup; true'";
            let mut spec = ground.spec("/bin/sh").args(["-c", twice]);
            spec.sandbox = Some(SandboxPlan { limits, ..everything() });
            let (said, _) = run_spec(&spec, ground.containment()).unwrap();
            let inside = said.lines().filter(|line| line.starts_with("0::") && line.ends_with(&name));
            assert_eq!(inside.count(), 2, "{said}");
            let own = fs::read_to_string("/proc/self/cgroup").unwrap();
            assert!(!own.contains(&name), "{own}");
            let folder = group.folder().to_owned();
            drop(group);
            assert!(!folder.exists());
            drop(ProgramGroup::make_plain(&hierarchy.point).unwrap());
            assert!(!gone.exists(), "one of a ralph that is gone is swept");
        };
    }

    /// A sandbox that shows what a shell needs.
    fn everything() -> SandboxPlan {
        use crate::process::{ShownAs, ShownPath};

        let mut paths: Vec<&str> = vec!["/usr", "/proc", "/var"];
        paths.extend(
            ["/bin", "/lib", "/lib64"]
                .iter()
                .filter(|path| !Path::new(path).is_symlink()),
        );
        let mut shown: Vec<ShownPath> = paths
            .into_iter()
            .map(|path| ShownPath {
                path: path.into(),
                kind: ShownAs::ReadWrite,
            })
            .collect();
        for link in ["/bin", "/lib", "/lib64"] {
            if let Ok(target) = fs::read_link(link) {
                shown.push(ShownPath {
                    path: link.into(),
                    kind: ShownAs::Link { target },
                });
            }
        }
        SandboxPlan {
            shown,
            nested: true,
            ..SandboxPlan::default()
        }
    }
}
