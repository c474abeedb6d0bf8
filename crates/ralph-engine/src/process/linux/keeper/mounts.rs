//! A plan of mounts, made into strings and flags before the fork, and performed after it.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_int, c_long, c_uint, c_ulong};
use rustix::fs::StatVfsMountFlags;

use super::sys;
use crate::process::sys::{CallFailed, check};
use crate::process::{
    BindAccess, MountPlan, MountPlanError, MountStep, OverlayMount, OverlaySync, OverlayXattrs,
};

const AT_RECURSIVE: c_uint = 0x8000;
const OPEN_TREE_CLONE: c_uint = 1;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
pub(super) const MOUNT_ATTR_RDONLY: u64 = 1;
pub(super) const MOUNT_ATTR_NOSUID: u64 = 2;
pub(super) const MOUNT_ATTR_NODEV: u64 = 4;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
const RESOLVE_NO_SYMLINKS: u64 = 4;

/// Character devices by which root reaches the bytes of a disk or of the memory.
const RAW_DEVICES: [&str; 9] = [
    "sg", "bsg", "nvme", "ng", "mem", "kmem", "port", "mtd", "nvram",
];

/// Settings of the kernel and of its drivers.
const SETTINGS: [&str; 9] = [
    "/proc/sys",
    "/proc/irq",
    "/proc/fs",
    "/proc/bus",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/asound",
    "/proc/mtrr",
    "/sys",
];

/// The number of the step that failed; the reason is in `errno`.
pub(super) struct FailedStep(pub(super) c_int);

/// A plan ready to be performed. Clones share one list.
#[derive(Clone)]
pub(in crate::process::linux) struct CompiledMounts {
    steps: Arc<[CompiledStep]>,
    cwd: Arc<CStr>,
    max_file: Option<u64>,
}

struct CompiledStep {
    name: String,
    action: MountAction,
    /// The source, found before the first step was performed. Set and read in the child alone.
    source: AtomicI32,
    /// A device or a setting that is not there, or no longer, needs no mount.
    may_be_missing: bool,
}

enum MountAction {
    Overlay {
        target: CString,
        options: CString,
        flags: c_ulong,
        /// A lower folder that an earlier step hides. In `options` it is the current folder.
        lower: Option<CString>,
    },
    Bind {
        from: CString,
        to: CString,
        access: BindAccess,
    },
    Cover {
        path: CString,
    },
    Scratch(ScratchMount),
    /// Shows `/dev/null` instead of a file.
    Empty {
        path: CString,
    },
    /// Lets nothing be written below a folder.
    Protect {
        path: CString,
    },
}

/// An overlay whose upper folder is in memory: mounted at `path` first, and covered by the overlay.
struct ScratchMount {
    path: CString,
    memory: CString,
    upper: CString,
    work: CString,
    /// The lower folder is the current one.
    options: CString,
    flags: c_ulong,
    /// The user that the folder is for, where it is not the one that mounts it.
    owner: Option<u32>,
}

impl CompiledMounts {
    /// `user` is the one that the program becomes, where it is another one.
    pub(in crate::process::linux) fn new(
        plan: &MountPlan,
        cwd: &Path,
        user: Option<u32>,
    ) -> Result<Self, MountPlanError> {
        // First, so that what the plan covers stays covered.
        let mut steps = if user.is_none() && rustix::process::geteuid().is_root() {
            ways_of_root()
        } else {
            Vec::new()
        };
        let mut hidden: Vec<&Path> = Vec::new();
        for step in &plan.steps {
            steps.push(CompiledStep::new(step, &hidden, user)?);
            hidden.push(step.target());
        }
        Ok(Self {
            steps: steps.into(),
            cwd: c_string(cwd)?.into(),
            max_file: plan.max_file,
        })
    }

    /// The name of a step that failed.
    pub(in crate::process::linux) fn step_name(mounts: Option<&Self>, index: usize) -> String {
        mounts
            .and_then(|mounts| mounts.steps.get(index))
            .map_or_else(|| "mounting".to_owned(), |step| step.name.clone())
    }

    pub(super) fn cwd(&self) -> &CStr {
        &self.cwd
    }

    /// Runs in C.
    pub(super) fn limit_files(&self) -> Result<(), CallFailed> {
        match self.max_file {
            Some(most) => sys::limit_files(most),
            None => Ok(()),
        }
    }

    /// Runs in B. Leaves it in any folder.
    pub(super) fn perform(&self) -> Result<(), FailedStep> {
        for (index, step) in (0..).zip(self.steps.iter()) {
            step.find_source().map_err(|_| FailedStep(index))?;
        }
        for (index, step) in (0..).zip(self.steps.iter()) {
            step.perform().map_err(|_| FailedStep(index))?;
        }
        Ok(())
    }
}

impl CompiledStep {
    fn new(step: &MountStep, hidden: &[&Path], user: Option<u32>) -> Result<Self, MountPlanError> {
        let action = match step {
            MountStep::Overlay(overlay) => compile_overlay(overlay, hidden)?,
            MountStep::Bind { from, to, access } => MountAction::Bind {
                from: c_string(from)?,
                to: c_string(to)?,
                access: *access,
            },
            MountStep::Cover { path } => MountAction::Cover {
                path: c_string(path)?,
            },
            MountStep::Scratch { path, xattrs, most } => {
                let mut scratch = compile_scratch(path, *xattrs, *most)?;
                scratch.owner = user;
                MountAction::Scratch(scratch)
            }
        };
        Ok(Self {
            name: step.to_string(),
            action,
            source: AtomicI32::new(-1),
            may_be_missing: false,
        })
    }

    /// A step against a way of root's. What is not there needs none.
    fn against(path: &Path, action: fn(CString) -> MountAction) -> Option<Self> {
        Some(Self {
            name: format!("covering {}", path.display()),
            action: action(c_string(path).ok()?),
            source: AtomicI32::new(-1),
            may_be_missing: true,
        })
    }

    fn find_source(&self) -> Result<(), CallFailed> {
        let found = match &self.action {
            MountAction::Overlay {
                lower: Some(lower), ..
            }
            | MountAction::Scratch(ScratchMount { path: lower, .. }) => {
                let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
                // SAFETY: the string is valid.
                unsafe { libc::open(lower.as_ptr(), flags) }
            }
            MountAction::Bind { from, .. } => clone_tree(from),
            MountAction::Overlay { lower: None, .. }
            | MountAction::Cover { .. }
            | MountAction::Empty { .. }
            | MountAction::Protect { .. } => return Ok(()),
        };
        self.source.store(found, Ordering::Relaxed);
        check(found)
    }

    /// Tells if the call that just failed did so because there is nothing to mount.
    fn is_missing(&self) -> bool {
        // SAFETY: errno of this thread.
        self.may_be_missing && unsafe { *libc::__errno_location() } == libc::ENOENT
    }

    fn perform(&self) -> Result<(), CallFailed> {
        let source = self.source.load(Ordering::Relaxed);
        match &self.action {
            MountAction::Overlay {
                target,
                options,
                flags,
                lower,
            } => {
                if lower.is_some() {
                    // SAFETY: no pointers.
                    check(unsafe { libc::fchdir(source) })?;
                }
                refuse_links(target)?;
                mount(c"overlay", target, *flags, options)?;
            }
            MountAction::Bind { to, access, .. } => {
                refuse_links(to)?;
                if *access == BindAccess::ReadOnly {
                    set_attributes(source, MOUNT_ATTR_RDONLY)?;
                }
                attach(source, to)?;
            }
            MountAction::Cover { path } => {
                let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
                refuse_links(path)?;
                mount(c"tmpfs", path, flags, c"mode=0555,size=4k,nr_inodes=2")?;
            }
            MountAction::Scratch(scratch) => {
                // SAFETY: no pointers.
                check(unsafe { libc::fchdir(source) })?;
                refuse_links(&scratch.path)?;
                let flags = libc::MS_NOSUID | libc::MS_NODEV;
                mount(c"tmpfs", &scratch.path, flags, &scratch.memory)?;
                for folder in [&scratch.upper, &scratch.work] {
                    // SAFETY: the string is valid.
                    check(unsafe { libc::mkdir(folder.as_ptr(), 0o777) })?;
                }
                if let Some(owner) = scratch.owner {
                    give(&scratch.upper, owner)?;
                }
                mount(c"overlay", &scratch.path, scratch.flags, &scratch.options)?;
            }
            MountAction::Empty { path } => match refuse_links(path) {
                Err(_) if self.is_missing() => return Ok(()),
                found => found.and_then(|()| bind(c"/dev/null", path))?,
            },
            MountAction::Protect { path } => match refuse_links(path) {
                Err(_) if self.is_missing() => return Ok(()),
                found => found.and_then(|()| protect(path))?,
            },
        }
        if source >= 0 {
            sys::close(source);
        }
        Ok(())
    }
}

/// Ways around a mount that root has without any capability: disks, whose nodes are its own, and the
/// settings of the kernel, some of which name a program that the kernel starts outside.
fn ways_of_root() -> Vec<CompiledStep> {
    let mut nodes = Vec::new();
    let mut folders = vec![PathBuf::from("/dev")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let is_raw = kind.is_char_device() && is_raw_device(&entry.path());
            if kind.is_dir() && !is_mount_of_its_own(&entry.path()) {
                folders.push(entry.path());
            } else if kind.is_block_device() || is_raw {
                nodes.push(entry.path());
            }
        }
    }
    let files = [
        "sysrq-trigger",
        "kcore",
        "keys",
        "latency_stats",
        "timer_list",
    ];
    nodes.extend(files.map(|name| Path::new("/proc").join(name)));
    let empty = nodes
        .iter()
        .filter_map(|path| CompiledStep::against(path, |path| MountAction::Empty { path }));
    let protect = SETTINGS.iter().filter_map(|folder| {
        CompiledStep::against(Path::new(folder), |path| MountAction::Protect { path })
    });
    empty.chain(protect).collect()
}

fn is_raw_device(path: &Path) -> bool {
    let in_dev = path.strip_prefix("/dev").unwrap_or(path);
    let first = in_dev.iter().next().and_then(OsStr::to_str);
    // Such as `ng0n1` and `mtd0ro`.
    let kind = first.and_then(|name| name.split(|c: char| c.is_ascii_digit()).next());
    kind.is_some_and(|kind| RAW_DEVICES.contains(&kind))
}

/// Such as `/dev/pts` and `/dev/shm`, which hold no nodes of devices.
fn is_mount_of_its_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let device = |path: &Path| std::fs::symlink_metadata(path).map(|meta| meta.dev()).ok();
    device(path) != path.parent().and_then(device)
}

fn compile_overlay(
    overlay: &OverlayMount,
    hidden: &[&Path],
) -> Result<MountAction, MountPlanError> {
    let target = &overlay.target;
    let hider = |path: &Path| hidden.iter().find(|by| path.starts_with(by)).copied();
    let mut options = Vec::from(b"lowerdir=");
    let mut in_current_folder = None;
    for (index, lower) in overlay.lowers.iter().enumerate() {
        if index > 0 {
            options.push(b':');
        }
        match (hider(lower), &in_current_folder) {
            (None, _) => push_escaped(&mut options, lower)?,
            (Some(_), None) => {
                options.push(b'.');
                in_current_folder = Some(c_string(lower)?);
            }
            (Some(by), Some(_)) => {
                return Err(MountPlanError::Hidden {
                    path: lower.clone(),
                    by: by.to_owned(),
                });
            }
        }
    }
    if overlay.lowers.is_empty() {
        return Err(MountPlanError::NoLower {
            target: target.clone(),
        });
    }
    for (key, path) in [(",upperdir=", &overlay.upper), (",workdir=", &overlay.work)] {
        if let Some(by) = hider(path) {
            return Err(MountPlanError::Hidden {
                path: path.clone(),
                by: by.to_owned(),
            });
        }
        options.extend_from_slice(key.as_bytes());
        push_escaped(&mut options, path)?;
    }
    options.extend_from_slice(features(overlay.options.xattrs));
    options.extend_from_slice(match overlay.options.sync {
        OverlaySync::Durable => b"",
        OverlaySync::Volatile => b",volatile".as_slice(),
    });
    Ok(MountAction::Overlay {
        target: c_string(target)?,
        options: finished(options, target)?,
        flags: flags_of(target),
        lower: in_current_folder,
    })
}

fn compile_scratch(
    path: &Path,
    xattrs: OverlayXattrs,
    most: Option<u64>,
) -> Result<ScratchMount, MountPlanError> {
    let (upper, work) = (path.join("upper"), path.join("work"));
    let mut options = Vec::from(b"lowerdir=.,upperdir=");
    push_escaped(&mut options, &upper)?;
    options.extend_from_slice(b",workdir=");
    push_escaped(&mut options, &work)?;
    options.extend_from_slice(features(xattrs));
    let size = most.map_or_else(String::new, |most| format!(",size={most}"));
    let memory = format!("mode=0755{size}");
    Ok(ScratchMount {
        path: c_string(path)?,
        memory: finished(memory.into_bytes(), path)?,
        upper: c_string(&upper)?,
        work: c_string(&work)?,
        options: finished(options, path)?,
        flags: flags_of(path),
        owner: None,
    })
}

/// Said in full: what is not said is as the distribution set it. A file with `metacopy` would be in the upper
/// folder without its content.
pub(super) fn features(xattrs: OverlayXattrs) -> &'static [u8] {
    match xattrs {
        OverlayXattrs::Trusted => b",index=off,metacopy=off,redirect_dir=on",
        OverlayXattrs::User => b",index=off,metacopy=off,userxattr",
    }
}

/// The options of a mount on `target`, as the kernel takes them.
pub(super) fn finished(options: Vec<u8>, target: &Path) -> Result<CString, MountPlanError> {
    let length = options.len();
    let target = target.to_owned();
    if length > MountPlan::LONGEST_OPTIONS {
        return Err(MountPlanError::TooLong { target, length });
    }
    CString::new(options).map_err(|_| MountPlanError::ZeroByte { path: target })
}

/// The kernel splits options at commas and lower folders at colons.
pub(super) fn push_escaped(options: &mut Vec<u8>, path: &Path) -> Result<(), MountPlanError> {
    for &byte in c_string(path)?.as_bytes() {
        if matches!(byte, b'\\' | b',' | b':') {
            options.push(b'\\');
        }
        options.push(byte);
    }
    Ok(())
}

/// An overlay allows no more than the folder that it hides.
fn flags_of(target: &Path) -> c_ulong {
    let Ok(found) = rustix::fs::statvfs(target) else {
        return 0;
    };
    [
        (StatVfsMountFlags::NOSUID, libc::MS_NOSUID),
        (StatVfsMountFlags::NODEV, libc::MS_NODEV),
        (StatVfsMountFlags::NOEXEC, libc::MS_NOEXEC),
        (StatVfsMountFlags::NOATIME, libc::MS_NOATIME),
    ]
    .into_iter()
    .filter(|(flag, _)| found.f_flag.contains(*flag))
    .fold(0, |flags, (_, flag)| flags | flag)
}

pub(super) fn c_string(path: &Path) -> Result<CString, MountPlanError> {
    if !path.is_absolute() {
        return Err(MountPlanError::Relative {
            path: path.to_owned(),
        });
    }
    CString::new(path.as_os_str().as_bytes()).map_err(|_| MountPlanError::ZeroByte {
        path: path.to_owned(),
    })
}

pub(super) fn mount(
    kind: &CStr,
    target: &CStr,
    flags: c_ulong,
    options: &CStr,
) -> Result<(), CallFailed> {
    // SAFETY: all strings are valid.
    check(unsafe {
        libc::mount(
            kind.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    })
}

/// Shows a file or a folder at another path: one call, where a tree that is taken and attached needs three and a
/// namespace of its own.
fn bind(from: &CStr, to: &CStr) -> Result<(), CallFailed> {
    // SAFETY: both strings are valid, the others are not read.
    check(unsafe {
        libc::mount(
            from.as_ptr(),
            to.as_ptr(),
            std::ptr::null(),
            libc::MS_BIND | libc::MS_REC,
            std::ptr::null(),
        )
    })
}

/// Lets nothing be written below a folder. One that is a mount needs no second one.
fn protect(path: &CStr) -> Result<(), CallFailed> {
    if set_attributes_at(path, MOUNT_ATTR_RDONLY).is_ok() {
        return Ok(());
    }
    bind(path, path)?;
    set_attributes_at(path, MOUNT_ATTR_RDONLY)
}

/// Fails where a part of a path is a symbolic link: in a layer it may be an agent's, and lead anywhere.
pub(super) fn refuse_links(path: &CStr) -> Result<(), CallFailed> {
    #[repr(C)]
    struct OpenHow {
        flags: u64,
        mode: u64,
        resolve: u64,
    }
    let how = OpenHow {
        flags: u64::from((libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC).cast_unsigned()),
        mode: 0,
        resolve: RESOLVE_NO_SYMLINKS,
    };
    // SAFETY: the string is valid, and the structure of the size that is given.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw const how,
            size_of::<OpenHow>(),
        )
    };
    if fd < 0 {
        return Err(CallFailed);
    }
    sys::close(fd as c_int);
    Ok(())
}

/// Takes a folder or a file with all that is mounted in it; negative if that fails.
pub(super) fn clone_tree(from: &CStr) -> c_int {
    let flags = OPEN_TREE_CLONE | AT_RECURSIVE | libc::O_CLOEXEC.cast_unsigned();
    // SAFETY: the string is valid.
    let tree = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, from.as_ptr(), flags) };
    tree as c_int
}

/// Gives what was made to a user and the group of the same number.
pub(super) fn give(path: &CStr, user: u32) -> Result<(), CallFailed> {
    // SAFETY: the string is valid.
    check(unsafe { libc::lchown(path.as_ptr(), user, user) })
}

/// Limits what a mount that was taken allows.
pub(super) fn set_attributes(tree: c_int, set: u64) -> Result<(), CallFailed> {
    change_attributes(tree, c"", set, 0)
}

/// Limits what the mount at a path allows, and those below it.
fn set_attributes_at(path: &CStr, set: u64) -> Result<(), CallFailed> {
    change_attributes(libc::AT_FDCWD, path, set, 0)
}

/// Changes the owners of all that a mount shows, by the map of a user namespace.
pub(super) fn map_owners(tree: c_int, user_namespace: c_int) -> Result<(), CallFailed> {
    let user_namespace = user_namespace.unsigned_abs().into();
    change_attributes(tree, c"", MOUNT_ATTR_IDMAP, user_namespace)
}

fn change_attributes(
    folder: c_int,
    path: &CStr,
    set: u64,
    user_namespace: u64,
) -> Result<(), CallFailed> {
    #[repr(C)]
    struct MountAttributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = MountAttributes {
        set,
        clear: 0,
        propagation: 0,
        user_namespace,
    };
    // SAFETY: the string is valid, and the structure of the size that is given.
    let done: c_long = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder,
            path.as_ptr(),
            AT_RECURSIVE | libc::AT_EMPTY_PATH.cast_unsigned(),
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    check(done as c_int)
}

pub(super) fn attach(tree: c_int, to: &CStr) -> Result<(), CallFailed> {
    // SAFETY: both strings are valid.
    let done: c_long = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree,
            c"".as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    check(done as c_int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::OverlayOptions;

    fn overlay(lowers: &[&str]) -> OverlayMount {
        OverlayMount {
            target: PathBuf::from("/repo"),
            lowers: lowers.iter().map(PathBuf::from).collect(),
            upper: PathBuf::from("/la,yers/u:1"),
            work: PathBuf::from("/layers/w\\"),
            options: OverlayOptions {
                xattrs: OverlayXattrs::User,
                sync: OverlaySync::Volatile,
            },
        }
    }

    #[test]
    fn options_are_escaped_and_a_hidden_lower_is_the_current_folder() {
        let compiled = compile_overlay(&overlay(&["/a:b", "/repo/sub"]), &[Path::new("/repo")]);
        let Ok(MountAction::Overlay { options, lower, .. }) = compiled else {
            panic!("not an overlay");
        };
        let expected = c"lowerdir=/a\\:b:.,upperdir=/la\\,yers/u\\:1,workdir=/layers/w\\\\,index=off,metacopy=off,userxattr,volatile";
        assert_eq!(options.as_c_str(), expected);
        assert_eq!(lower.as_deref(), Some(c"/repo/sub"));
    }

    #[test]
    fn plans_that_can_not_work_are_refused_before_the_fork() {
        let refused = |overlay: &OverlayMount, hidden: &[&Path]| {
            compile_overlay(overlay, hidden).err().unwrap().to_string()
        };
        assert_eq!(
            refused(&overlay(&[]), &[]),
            "an overlay on /repo has no lower folder"
        );
        assert_eq!(
            refused(&overlay(&["a"]), &[]),
            "a path of a mount is not absolute: a"
        );
        assert_eq!(
            refused(&overlay(&["/x/a", "/x/b"]), &[Path::new("/x")]),
            "/x/b is hidden by the mount on /x before the overlay that needs it"
        );
        assert_eq!(
            refused(&overlay(&["/x"]), &[Path::new("/layers")]),
            "/layers/w\\ is hidden by the mount on /layers before the overlay that needs it"
        );
        let long = format!("/{}", "x".repeat(5000));
        let error = refused(&overlay(&[&long]), &[]);
        assert!(error.ends_with("of 4095"), "{error}");
    }

    #[test]
    fn raw_devices_are_known_by_their_kind() {
        for name in [
            "sg0",
            "bsg/0:0:0:0",
            "nvme0",
            "ng0n1",
            "mem",
            "port",
            "mtd0ro",
        ] {
            assert!(is_raw_device(&Path::new("/dev").join(name)), "{name}");
        }
        for name in ["null", "tty1", "memory", "ptmx", "kvm", "fuse", "nvidia0"] {
            assert!(!is_raw_device(&Path::new("/dev").join(name)), "{name}");
        }
    }
}
