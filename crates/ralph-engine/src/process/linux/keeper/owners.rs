//! Files of one user that are shown as those of another, by mounts that only one program sees.
//!
//! The kernel takes such a map as a user namespace. One is made for each owner of files, once for this
//! process, by a child that ends at once; what is done with it between `fork` and `exec` is system calls alone.

use std::ffi::CString;
use std::fmt::Write as _;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, LazyLock};

use libc::{c_int, pid_t};

use super::mounts::{attach, c_string, clone_tree, map_owners, refuse_links};
use super::sys;
use crate::named_lock::NamedLock;
use crate::process::sys::CallFailed;
use crate::process::{MountPlanError, OwnedPath, OwnerNeed, SandboxIdentity};

/// The maps that this process has made. They stay: a run of ralph knows one or two owners.
static MAPS: LazyLock<NamedLock<OwnerMaps>> =
    LazyLock::new(|| NamedLock::new("maps of owners", Vec::new()));

type OwnerMaps = Vec<(OwnerSwap, Arc<OwnedFd>)>;

/// An owner, and the one that takes its place; all others stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OwnerSwap {
    user: u32,
    group: u32,
    id: u32,
}

/// The user that a program becomes, ready for the fork.
pub(super) struct CompiledIdentity {
    pub(super) id: u32,
    paths: Vec<CompiledOwned>,
}

struct CompiledOwned {
    name: String,
    path: CString,
    map: Arc<OwnedFd>,
    need: OwnerNeed,
    /// The mount, once made. Set and read in the child alone.
    tree: AtomicI32,
}

impl CompiledIdentity {
    pub(super) fn new(identity: &SandboxIdentity) -> Result<Self, MountPlanError> {
        let id = identity.id;
        let compile = |owned: &OwnedPath| {
            let (user, group) = (owned.user, owned.group);
            let map = map_of(OwnerSwap { user, group, id });
            Ok(CompiledOwned {
                name: owned.path.display().to_string(),
                path: c_string(&owned.path)?,
                map: map.map_err(|error| MountPlanError::OwnerMap {
                    reason: error.to_string(),
                })?,
                need: owned.need,
                tree: AtomicI32::new(-1),
            })
        };
        let paths = identity.owned.iter().map(compile);
        Ok(Self {
            id,
            paths: paths.collect::<Result<_, _>>()?,
        })
    }

    /// The name of the step that failed, by the number of its path.
    pub(super) fn step_name(&self, index: usize) -> Option<String> {
        let owned = self.paths.get(index)?;
        Some(format!("mapping the owners of {}", owned.name))
    }

    /// Shows each path with its owners changed, in its own place. Runs in B, before any other mount; gives the
    /// number of the path that failed.
    pub(super) fn map_paths(&self) -> Result<(), usize> {
        // One may lie in another: all are taken as ralph sees them.
        for (index, owned) in self.paths.iter().enumerate() {
            owned.take().map_err(|_| index)?;
        }
        for (index, owned) in self.paths.iter().enumerate() {
            owned.attach().map_err(|_| index)?;
        }
        Ok(())
    }
}

impl CompiledOwned {
    fn take(&self) -> Result<(), CallFailed> {
        let tree = clone_tree(&self.path);
        if tree < 0 {
            // SAFETY: errno of this thread.
            let is_gone = unsafe { *libc::__errno_location() } == libc::ENOENT;
            return if is_gone { Ok(()) } else { Err(CallFailed) };
        }
        if map_owners(tree, self.map.as_raw_fd()).is_err() {
            // Such as one on a file system that knows no maps. What all may read is still read.
            return match self.need {
                OwnerNeed::Must => Err(CallFailed),
                OwnerNeed::MayStay => {
                    sys::close(tree);
                    Ok(())
                }
            };
        }
        self.tree.store(tree, Ordering::Relaxed);
        Ok(())
    }

    fn attach(&self) -> Result<(), CallFailed> {
        let tree = self.tree.load(Ordering::Relaxed);
        if tree < 0 {
            return Ok(());
        }
        refuse_links(&self.path)?;
        attach(tree, &self.path)?;
        sys::close(tree);
        Ok(())
    }
}

fn map_of(swap: OwnerSwap) -> io::Result<Arc<OwnedFd>> {
    let mut maps = MAPS.lock();
    if let Some((_, map)) = maps.iter().find(|(known, _)| *known == swap) {
        return Ok(map.clone());
    }
    let map = Arc::new(make_map(swap)?);
    maps.push((swap, map.clone()));
    Ok(map)
}

fn make_map(swap: OwnerSwap) -> io::Result<OwnedFd> {
    let (wait, hold) = io::pipe()?;
    let child = match sys::clone(libc::CLONE_NEWUSER) {
        Err(_) => return Err(io::Error::last_os_error()),
        Ok(None) => {
            sys::close(hold.as_raw_fd());
            // Until ralph has opened the namespace, or is gone.
            sys::wait_for_end(wait.as_raw_fd());
            sys::exit(0);
        }
        Ok(Some(child)) => child,
    };
    let made = write_map(child, swap);
    sys::kill(child, libc::SIGKILL);
    sys::wait_for(child);
    made
}

fn write_map(child: pid_t, swap: OwnerSwap) -> io::Result<OwnedFd> {
    let file = |name: &str| format!("/proc/{child}/{name}");
    std::fs::write(file("uid_map"), swapped(swap.user, swap.id))?;
    std::fs::write(file("gid_map"), swapped(swap.group, swap.id))?;
    Ok(std::fs::File::open(file("ns/user"))?.into())
}

/// Lines of a map in which two ids have changed places.
fn swapped(one: u32, other: u32) -> String {
    let (low, high) = (one.min(other), one.max(other));
    let ranges = [
        (0, 0, low),
        (low, high, 1),
        (low + 1, low + 1, (high - low).saturating_sub(1)),
        (high, low, u32::from(high != low)),
        // The last id of all stands for none.
        (high + 1, high + 1, u32::MAX - high - 1),
    ];
    let mut lines = String::new();
    for (inside, outside, count) in ranges {
        if count > 0 {
            let _ = writeln!(lines, "{inside} {outside} {count}");
        }
    }
    lines
}

/// Becomes the user. Runs in C; the C library's own calls would look for other threads.
pub(super) fn become_user(id: u32) -> Result<(), CallFailed> {
    let id = libc::c_long::from(id);
    let no_groups = [0_u32; 0];
    // SAFETY: no group is read; the others have no pointers.
    let done = unsafe {
        libc::syscall(libc::SYS_setgroups, 0, no_groups.as_ptr()) == 0
            && libc::syscall(libc::SYS_setresgid, id, id, id) == 0
            && libc::syscall(libc::SYS_setresuid, id, id, id) == 0
    };
    if done { Ok(()) } else { Err(CallFailed) }
}

/// Gives the user the pipes and sockets that the program is to begin with: opened once more by a name such as
/// `/dev/stderr`, the kernel looks at their owner. Runs in B. Best effort: the descriptors work without.
pub(super) fn give_streams(id: u32) {
    for fd in [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        if is_pipe_or_socket(fd) {
            // SAFETY: no pointers.
            unsafe { libc::fchown(fd, id, id) };
        }
    }
}

fn is_pipe_or_socket(fd: c_int) -> bool {
    // SAFETY: all zeros is a valid value, and is what it stays where the call fails.
    let mode = unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        libc::fstat(fd, &raw mut found);
        found.st_mode
    };
    matches!(mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ids_change_places_and_all_others_stay() {
        assert_eq!(
            swapped(0, 80_001),
            "0 80001 1\n1 1 80000\n80001 0 1\n80002 80002 4294887293\n"
        );
        assert_eq!(
            swapped(1000, 80_001),
            "0 0 1000\n1000 80001 1\n1001 1001 79000\n80001 1000 1\n80002 80002 4294887293\n"
        );
        assert_eq!(swapped(7, 8), "0 0 7\n7 8 1\n8 7 1\n9 9 4294967286\n");
    }
}
