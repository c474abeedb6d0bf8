//! A sandbox, made into strings, numbers and programs for the kernel before the fork, and performed after it.
//!
//! The program gets a root folder in memory that holds what it is shown and nothing else. Parts of the view
//! that the plan of mounts made are taken as they are; then the old root is let go of.

use std::ffi::{CStr, CString};
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_int, c_ulong};
use rustix::fs::{Mode, OFlags};

use super::calls::{CallFilter, CallRights};
use super::capabilities::{self, KeptCapabilities};
use super::mounts::{
    MOUNT_ATTR_NODEV, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY, attach, c_string, clone_tree, features,
    finished, give, mount, push_escaped, refuse_links, set_attributes,
};
use super::owners::{CompiledIdentity, become_user, give_streams};
use super::{rules, sys};
use crate::process::sys::{CallFailed, check};
use crate::process::{
    FILTER_DESCRIPTORS, MountPlanError, SandboxImage, SandboxLimits, SandboxMeans, SandboxNetwork,
    SandboxPlan, ShownAs, ShownPath,
};

/// The folder that the new root is made on. It is there: the keeper mounted it. What it shows is taken before.
const BASE: &CStr = c"/proc";

/// A sandbox ready to be performed. Clones share one list.
#[derive(Clone)]
pub(in crate::process::linux) struct CompiledSandbox(Arc<CompiledWalls>);

struct CompiledWalls {
    means: SandboxMeans,
    entries: Vec<CompiledEntry>,
    /// The options of an overlay over the files of an image.
    image: Option<CString>,
    network: CompiledNetwork,
    limits: CompiledLimits,
    kept: KeptCapabilities,
    identity: Option<CompiledIdentity>,
    filter: CallFilter,
    /// The filters as files, where the program installs them once it has made the walls.
    handed_on: Vec<OwnedFd>,
    /// Rules of Landlock: about files where there are no namespaces, else about sockets without a file.
    rules: Option<OwnedFd>,
}

enum CompiledNetwork {
    Open,
    Own {
        doors: Vec<libc::sockaddr_in>,
        /// The end of a pair of sockets through which the listeners are given to ralph.
        to_ralph: Option<OwnedFd>,
    },
}

struct CompiledLimits {
    processes: Option<u64>,
    cpus: Option<libc::cpu_set_t>,
    group: Option<OwnedFd>,
}

impl CompiledLimits {
    fn new(limits: &SandboxLimits) -> Result<Self, MountPlanError> {
        let open = |path: &PathBuf| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).map_err(|error| MountPlanError::Group {
                path: path.clone(),
                reason: error.to_string(),
            })
        };
        Ok(Self {
            processes: limits.processes,
            cpus: limits.cpus.and_then(choose_cpus),
            group: limits.group.as_ref().map(open).transpose()?,
        })
    }
}

/// Chooses some of the processors that this process may use, not always the same ones; `None` for all of them.
fn choose_cpus(count: NonZeroU32) -> Option<libc::cpu_set_t> {
    // SAFETY: all zeros is an empty set; it is written up to its size.
    unsafe {
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        check(libc::sched_getaffinity(
            0,
            size_of::<libc::cpu_set_t>(),
            &raw mut own,
        ))
        .ok()?;
        let all = 0..libc::CPU_SETSIZE as usize;
        let all: Vec<usize> = all.filter(|cpu| libc::CPU_ISSET(*cpu, &own)).collect();
        let count = count.get() as usize;
        if count >= all.len() {
            return None;
        }
        let first = std::process::id() as usize % all.len();
        let mut chosen: libc::cpu_set_t = std::mem::zeroed();
        for cpu in all.iter().cycle().skip(first).take(count) {
            libc::CPU_SET(*cpu, &mut chosen);
        }
        Some(chosen)
    }
}

struct CompiledEntry {
    name: String,
    /// Relative to the new root.
    at: CString,
    /// Folders to make for it, relative to the new root.
    folders: Vec<CString>,
    /// An empty file or folder to make for it to be mounted on.
    point: Option<MountPoint>,
    action: EntryAction,
    /// The user that folders and files are made for, where it is not the one that makes them.
    owner: Option<u32>,
    /// The source, once found. Set and read in the child alone.
    source: AtomicI32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MountPoint {
    File,
    Folder,
}

enum EntryAction {
    Show { from: CString, attributes: u64 },
    Instead { from: CString },
    Memory { options: CString },
    Terminals,
    Link { target: CString },
}

impl CompiledSandbox {
    /// `to_ralph` takes the listeners of its doors.
    pub(in crate::process::linux) fn new(
        plan: &SandboxPlan,
        to_ralph: Option<OwnedFd>,
    ) -> Result<Self, MountPlanError> {
        let owner = plan.identity.as_ref().map(|identity| identity.id);
        let mut entries = Vec::with_capacity(plan.shown.len());
        for (index, shown) in plan.shown.iter().enumerate() {
            entries.push(CompiledEntry::new(shown, plan.above(index), owner)?);
        }
        let identity = plan.identity.as_ref();
        let identity = identity.map(CompiledIdentity::new).transpose()?;
        let rules = match plan.means {
            SandboxMeans::Namespaces | SandboxMeans::Bwrap | SandboxMeans::Container => {
                rules::without_outside_sockets()
            }
            SandboxMeans::Landlock => rules::about_files(&plan.shown),
        };
        let filter = CallFilter::new(CallRights {
            nested: plan.nested,
            chooses_cpus: plan.limits.cpus.is_none(),
            sets_user: plan.identity.is_none(),
        })?;
        Ok(Self(Arc::new(CompiledWalls {
            means: plan.means,
            entries,
            image: plan.image.as_ref().map(compile_image).transpose()?,
            network: compile_network(&plan.network, to_ralph),
            limits: CompiledLimits::new(&plan.limits)?,
            kept: match (plan.means, &identity) {
                // Its program drops them, once it has made the walls.
                (SandboxMeans::Container, _) => KeptCapabilities::All,
                (_, Some(_)) => KeptCapabilities::AnotherUser,
                (_, None) if plan.overrides_owners => KeptCapabilities::Owners,
                (SandboxMeans::Namespaces | SandboxMeans::Bwrap | SandboxMeans::Landlock, None) => {
                    KeptCapabilities::None
                }
            },
            identity,
            handed_on: match plan.means {
                SandboxMeans::Bwrap => filter.as_files()?,
                SandboxMeans::Namespaces | SandboxMeans::Landlock | SandboxMeans::Container => {
                    Vec::new()
                }
            },
            filter,
            rules,
        })))
    }

    pub(in crate::process::linux) fn step_name(sandbox: Option<&Self>, index: usize) -> String {
        let Some(Self(walls)) = sandbox else {
            return "making a root folder".to_owned();
        };
        if let Some(entry) = walls.entries.get(index) {
            return format!("showing {}", entry.name);
        }
        let owned = index.checked_sub(walls.entries.len() + 1);
        let identity = walls.identity.as_ref();
        let step = identity.and_then(|identity| identity.step_name(owned?));
        step.unwrap_or_else(|| "making a root folder".to_owned())
    }

    /// The control group that the tree is started in.
    pub(super) fn group(&self) -> Option<c_int> {
        self.0.limits.group.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The namespaces that it needs besides those of the containment.
    pub(super) fn namespaces(&self) -> c_int {
        let network = match &self.0.network {
            CompiledNetwork::Open => 0,
            CompiledNetwork::Own { .. } => libc::CLONE_NEWNET,
        };
        match self.0.means {
            SandboxMeans::Namespaces => libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | network,
            SandboxMeans::Container => network,
            SandboxMeans::Bwrap | SandboxMeans::Landlock => 0,
        }
    }

    /// Tells whether an ordinary user is root in the user namespace, as who makes mounts there has to be.
    pub(super) fn has_root(&self) -> bool {
        self.0.means == SandboxMeans::Container
    }

    /// Shows what is to be the program's own as its own. Runs in B, before anything else is mounted. A path that
    /// fails has its number behind those of all entries, and of the root folder.
    pub(super) fn map_owners(&self) -> Result<(), usize> {
        let Some(identity) = &self.0.identity else {
            return Ok(());
        };
        give_streams(identity.id);
        let mapped = identity.map_paths();
        mapped.map_err(|index| self.0.entries.len() + 1 + index)
    }

    /// Runs in C: becomes the user that the program is to be.
    pub(super) fn become_user(&self) -> Result<(), CallFailed> {
        match &self.0.identity {
            Some(identity) => become_user(identity.id),
            None => Ok(()),
        }
    }

    /// Runs in B, once the program is another user's: keeps no more than it takes to signal it.
    pub(super) fn drop_to_signals(&self) -> Result<(), CallFailed> {
        match &self.0.identity {
            Some(_) => capabilities::drop_all_but(KeptCapabilities::Signals),
            None => Ok(()),
        }
    }

    /// Finds what the plan of mounts may hide. Runs in B, before that plan.
    pub(super) fn find_own(&self) -> Result<(), usize> {
        for (index, entry) in self.0.entries.iter().enumerate() {
            if let EntryAction::Instead { from } = &entry.action {
                let found = clone_tree(from);
                if found < 0 {
                    return Err(index);
                }
                entry.source.store(found, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Runs in B, after the plan of mounts: makes the root folder and moves into it.
    pub(super) fn enter(&self) -> Result<(), usize> {
        let walls = &*self.0;
        let whole = walls.entries.len();
        if walls.means == SandboxMeans::Namespaces {
            for (index, entry) in walls.entries.iter().enumerate() {
                entry.find().map_err(|_| index)?;
            }
            make_base(walls.image.as_deref()).map_err(|_| whole)?;
            for (index, entry) in walls.entries.iter().enumerate() {
                entry.perform().map_err(|_| index)?;
            }
            leave_old_root().map_err(|_| whole)?;
        }
        if let CompiledNetwork::Own { doors, to_ralph } = &walls.network {
            sys::raise_loopback();
            for door in doors {
                let Some(to_ralph) = to_ralph else { break };
                sys::open_door(door, to_ralph.as_raw_fd()).map_err(|_| whole)?;
            }
        }
        Ok(())
    }

    pub(super) fn drop_capabilities(&self) -> Result<(), CallFailed> {
        capabilities::drop_all_but(self.0.kept)
    }

    /// Runs in C, last: gives up the calls that a program in a sandbox may not make.
    pub(super) fn close(&self) -> Result<(), CallFailed> {
        let walls = &*self.0;
        set_limit(libc::RLIMIT_NPROC as c_int, walls.limits.processes)?;
        set_limit(libc::RLIMIT_CORE as c_int, Some(0))?;
        if let Some(cpus) = &walls.limits.cpus {
            let length = size_of::<libc::cpu_set_t>();
            // SAFETY: a set of the size that is given.
            check(unsafe { libc::sched_setaffinity(0, length, cpus) })?;
        }
        // SAFETY: no pointers.
        check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
        if let Some(rules) = &walls.rules {
            // SAFETY: no pointers.
            let done =
                unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) };
            check(done as c_int)?;
        } else if walls.means == SandboxMeans::Landlock {
            return Err(CallFailed);
        }
        if walls.means != SandboxMeans::Bwrap {
            return walls.filter.install();
        }
        for (file, descriptor) in walls.handed_on.iter().zip(FILTER_DESCRIPTORS) {
            // SAFETY: no pointers. The copy stays open in the program.
            check(unsafe { libc::dup2(file.as_raw_fd(), descriptor) })?;
        }
        Ok(())
    }
}

fn compile_network(network: &SandboxNetwork, to_ralph: Option<OwnedFd>) -> CompiledNetwork {
    let SandboxNetwork::Own { doors } = network else {
        return CompiledNetwork::Open;
    };
    let address = |door: &std::net::SocketAddrV4| libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: door.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(door.ip().octets()),
        },
        sin_zero: [0; 8],
    };
    CompiledNetwork::Own {
        doors: doors.iter().map(address).collect(),
        to_ralph,
    }
}

impl CompiledEntry {
    fn new(
        shown: &ShownPath,
        above: Option<&ShownPath>,
        owner: Option<u32>,
    ) -> Result<Self, MountPlanError> {
        let ShownPath { path, kind } = shown;
        let is_folder = match kind {
            ShownAs::ReadOnly | ShownAs::ReadWrite | ShownAs::Device => path.is_dir(),
            ShownAs::Instead { from } => from.is_dir(),
            ShownAs::Memory | ShownAs::Terminals => true,
            ShownAs::Link { .. } => false,
        };
        // In a folder that is as it is on the machine nothing is made.
        let is_made = above.is_none_or(|above| match above.kind {
            ShownAs::Memory | ShownAs::Instead { .. } => true,
            ShownAs::ReadOnly
            | ShownAs::ReadWrite
            | ShownAs::Device
            | ShownAs::Terminals
            | ShownAs::Link { .. } => false,
        });
        let top = above.map_or(Path::new("/"), |above| &above.path);
        let between = path.ancestors().skip(1).take_while(|folder| *folder != top);
        let mut folders = between
            .filter(|_| is_made)
            .map(in_root)
            .collect::<Result<Vec<_>, _>>()?;
        folders.reverse();
        let point = match kind {
            ShownAs::Link { .. } => None,
            _ if !is_made => None,
            _ if is_folder => Some(MountPoint::Folder),
            _ => Some(MountPoint::File),
        };
        Ok(Self {
            name: path.display().to_string(),
            at: in_root(path)?,
            folders,
            point,
            action: action(path, kind, owner)?,
            owner,
            source: AtomicI32::new(-1),
        })
    }

    fn find(&self) -> Result<(), CallFailed> {
        let EntryAction::Show { from, attributes } = &self.action else {
            return Ok(());
        };
        let found = clone_tree(from);
        if found < 0 {
            // SAFETY: errno of this thread.
            let is_gone = unsafe { *libc::__errno_location() } == libc::ENOENT;
            return if is_gone { Ok(()) } else { Err(CallFailed) };
        }
        self.source.store(found, Ordering::Relaxed);
        set_attributes(found, *attributes)
    }

    fn perform(&self) -> Result<(), CallFailed> {
        let source = self.source.load(Ordering::Relaxed);
        if matches!(self.action, EntryAction::Show { .. }) && source < 0 {
            return Ok(());
        }
        for folder in &self.folders {
            make_folder(folder, self.owner)?;
        }
        match self.point {
            Some(MountPoint::Folder) => make_folder(&self.at, self.owner)?,
            Some(MountPoint::File) => make_file(&self.at, self.owner)?,
            None => {}
        }
        match &self.action {
            EntryAction::Show { .. } | EntryAction::Instead { .. } => {
                refuse_links(&self.at)?;
                attach(source, &self.at)?;
                sys::close(source);
                Ok(())
            }
            EntryAction::Memory { options } => {
                refuse_links(&self.at)?;
                let flags = libc::MS_NOSUID | libc::MS_NODEV;
                mount(c"tmpfs", &self.at, flags, options)
            }
            EntryAction::Terminals => {
                let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
                let options = c"newinstance,ptmxmode=0666,mode=0620";
                refuse_links(&self.at)?;
                mount(c"devpts", &self.at, flags, options)
            }
            EntryAction::Link { target } => {
                // SAFETY: both strings are valid. What is there already is the same link, or is shown.
                let made = check(unsafe { libc::symlink(target.as_ptr(), self.at.as_ptr()) });
                made.or_else(|_| exists())
            }
        }
    }
}

fn action(path: &Path, kind: &ShownAs, owner: Option<u32>) -> Result<EntryAction, MountPlanError> {
    let show = |attributes| {
        Ok(EntryAction::Show {
            from: c_string(path)?,
            attributes,
        })
    };
    match kind {
        ShownAs::ReadOnly => show(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV),
        ShownAs::ReadWrite => show(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV),
        ShownAs::Device => show(MOUNT_ATTR_NOSUID),
        ShownAs::Instead { from } => Ok(EntryAction::Instead {
            from: c_string(from)?,
        }),
        ShownAs::Memory => {
            let owner = owner.map(|id| format!(",uid={id},gid={id}"));
            // In a folder that all may write to, the kernel lets no one open another's device to create it, which
            // is how a shell opens `/dev/null`.
            let holds_devices = path == Path::new("/dev");
            let mode = if holds_devices { "0755" } else { "1777" };
            let options = format!("mode={mode}{}", owner.unwrap_or_default());
            Ok(EntryAction::Memory {
                options: plain_string(Path::new(&options))?,
            })
        }
        ShownAs::Terminals => Ok(EntryAction::Terminals),
        ShownAs::Link { target } => Ok(EntryAction::Link {
            target: plain_string(target)?,
        }),
    }
}

/// The path within the new root, which is the current folder.
fn in_root(path: &Path) -> Result<CString, MountPlanError> {
    c_string(path)?;
    plain_string(path.strip_prefix("/").unwrap_or(path))
}

fn plain_string(path: &Path) -> Result<CString, MountPlanError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| MountPlanError::ZeroByte {
        path: path.to_owned(),
    })
}

/// The options of the overlay that is the new root: changes are made in memory, at the new root itself.
fn compile_image(image: &SandboxImage) -> Result<CString, MountPlanError> {
    let mut options = Vec::from(b"lowerdir=");
    push_escaped(&mut options, &image.folder)?;
    options.extend_from_slice(b",upperdir=/proc/upper,workdir=/proc/work");
    options.extend_from_slice(features(image.xattrs));
    finished(options, &image.folder)
}

/// Mounts the new root, and goes there.
fn make_base(image: Option<&CStr>) -> Result<(), CallFailed> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    mount(c"tmpfs", BASE, flags, c"mode=0755")?;
    if let Some(options) = image {
        for folder in [c"/proc/upper", c"/proc/work"] {
            make_folder(folder, None)?;
        }
        mount(c"overlay", BASE, flags, options)?;
    }
    sys::change_folder(BASE)
}

/// Makes the current folder the root, which nothing can be written to from here on.
fn leave_old_root() -> Result<(), CallFailed> {
    // SAFETY: constant strings.
    unsafe {
        let here = c".".as_ptr();
        check(libc::syscall(libc::SYS_pivot_root, here, here) as c_int)?;
        check(libc::umount2(here, libc::MNT_DETACH))?;
    }
    sys::change_folder(c"/")?;
    let flags: c_ulong = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
    mount(c"", c"/", flags | libc::MS_NOSUID | libc::MS_NODEV, c"")
}

fn make_folder(path: &CStr, owner: Option<u32>) -> Result<(), CallFailed> {
    // SAFETY: the string is valid.
    if check(unsafe { libc::mkdir(path.as_ptr(), 0o755) }).is_err() {
        return exists();
    }
    owner.map_or(Ok(()), |owner| give(path, owner))
}

fn make_file(path: &CStr, owner: Option<u32>) -> Result<(), CallFailed> {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the string is valid.
    let fd = unsafe { libc::open(path.as_ptr(), flags, 0o644) };
    check(fd)?;
    sys::close(fd);
    owner.map_or(Ok(()), |owner| give(path, owner))
}

/// Passes a call that failed because what it makes is there.
fn exists() -> Result<(), CallFailed> {
    // SAFETY: errno of this thread.
    match unsafe { *libc::__errno_location() } {
        libc::EEXIST => Ok(()),
        _ => Err(CallFailed),
    }
}

/// Lowers a limit of the process; one that is lower already stays.
fn set_limit(resource: c_int, most: Option<u64>) -> Result<(), CallFailed> {
    let Some(most) = most else { return Ok(()) };
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let none = std::ptr::null::<libc::rlimit64>();
    // SAFETY: the structures are valid for writing and reading, or not given.
    unsafe {
        let own = 0;
        let read = libc::syscall(libc::SYS_prlimit64, own, resource, none, &raw mut limit);
        check(read as c_int)?;
        let most = most.min(limit.rlim_max);
        limit.rlim_cur = most;
        limit.rlim_max = most;
        let set = libc::syscall(libc::SYS_prlimit64, own, resource, &raw const limit, none);
        check(set as c_int)
    }
}
