//! A sandbox by `bwrap`, for machines that refuse namespaces to ralph's own binary and allow them to that one.
//!
//! Shows the same as a sandbox of namespaces, in the words of `bwrap`. It can't be laid over a layer: where ralph
//! may not mount, there is none.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use crate::process::{
    BindAccess, CommandSpec, FILTER_DESCRIPTORS, MountStep, SandboxNetwork, SandboxPlan, ShownAs,
    ShownPath, TrialFailure,
};
use crate::programs::{find_program, path_folders};

/// Settings of the kernel and of its drivers: root writes them without any right.
const SETTINGS: [&str; 8] = [
    "/proc/sys",
    "/proc/irq",
    "/proc/fs",
    "/proc/bus",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/asound",
    "/proc/mtrr",
];

/// Files by which root reaches the kernel and its memory.
const HIDDEN: [&str; 5] = [
    "/proc/sysrq-trigger",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
];

/// Finds the program.
pub(super) fn find(vars: &[(OsString, OsString)]) -> Result<PathBuf, TrialFailure> {
    find_program("bwrap", path_folders(vars)).ok_or_else(|| TrialFailure {
        step: "looking for bwrap".to_owned(),
        source: io::Error::new(io::ErrorKind::NotFound, "it is not on the PATH"),
    })
}

/// Has `bwrap` run the program of a specification in what the plan shows.
pub(super) fn wrap(bwrap: &Path, spec: &mut CommandSpec, plan: &SandboxPlan) -> io::Result<()> {
    let mut args: Vec<OsString> = [
        "--die-with-parent",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    .map(OsString::from)
    .into();
    if rustix::process::geteuid().is_root() {
        args.extend(["--cap-drop", "ALL"].map(OsString::from));
        if plan.overrides_owners {
            for right in ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"] {
                args.extend(["--cap-add", right].map(OsString::from));
            }
        }
    }
    if let SandboxNetwork::Own { .. } = &plan.network {
        args.push("--unshare-net".into());
    }
    for descriptor in FILTER_DESCRIPTORS {
        args.extend(["--add-seccomp-fd".into(), descriptor.to_string().into()]);
    }
    for (index, shown) in plan.shown.iter().enumerate() {
        args.extend(entry(shown, plan.above(index)));
    }
    if let Some(mut mounts) = spec.mounts.take() {
        // A mount on what is not shown would show it.
        for step in mounts
            .steps
            .drain(..)
            .filter(|step| plan.shows(step.target()))
        {
            args.extend(binding(&step)?);
        }
        // Its keeper takes them away.
        spec.mounts = mounts.placeholders.is_some().then_some(mounts);
    }
    args.extend(["--remount-ro".into(), "/".into()]);
    args.extend(["--chdir".into(), spec.cwd.clone().into()]);
    args.push("--".into());
    args.push(std::mem::take(&mut spec.program));
    args.append(&mut spec.args);
    spec.program = bwrap.into();
    spec.args = args;
    Ok(())
}

/// One path that is shown. `--proc` and `--dev` make all that is in them.
fn entry(shown: &ShownPath, above: Option<&ShownPath>) -> Vec<OsString> {
    let ShownPath { path, kind } = shown;
    let two = |option: &str, from: &Path| vec![option.into(), from.into(), path.into()];
    let one = |option: &str| vec![option.into(), path.into()];
    let is_device = path.starts_with("/dev") && path != Path::new("/dev");
    match kind {
        ShownAs::ReadWrite if path == Path::new("/proc") => {
            let mut args = one("--proc");
            for path in SETTINGS {
                args.extend(["--ro-bind-try", path, path].map(OsString::from));
            }
            for path in HIDDEN.iter().filter(|path| Path::new(path).exists()) {
                args.extend(["--ro-bind", "/dev/null", path].map(OsString::from));
            }
            args
        }
        ShownAs::Memory if path == Path::new("/dev") => one("--dev"),
        ShownAs::Device | ShownAs::Terminals | ShownAs::Link { .. } if is_device => Vec::new(),
        ShownAs::ReadOnly => two("--ro-bind-try", path),
        ShownAs::ReadWrite => two("--bind-try", path),
        ShownAs::Device => two("--dev-bind-try", path),
        ShownAs::Instead { from } => two("--bind", from),
        ShownAs::Memory => {
            let mut args = ["--perms", "1777"].map(OsString::from).to_vec();
            args.extend(one("--tmpfs"));
            args
        }
        ShownAs::Terminals => Vec::new(),
        ShownAs::Link { target } => {
            // In a folder that is as it is on the machine, the link is there.
            let is_there = above
                .is_some_and(|above| matches!(above.kind, ShownAs::ReadOnly | ShownAs::ReadWrite));
            if is_there {
                return Vec::new();
            }
            two("--symlink", target)
        }
    }
}

/// A mount of the workspace: files that can only be read where programs work in the person's own folder.
fn binding(step: &MountStep) -> io::Result<Vec<OsString>> {
    match step {
        MountStep::Bind { from, to, access } => {
            let option = match access {
                BindAccess::ReadOnly => "--ro-bind-try",
                BindAccess::ReadWrite => "--bind-try",
            };
            Ok(vec![option.into(), from.into(), to.into()])
        }
        MountStep::Cover { path } => Ok(vec![
            "--tmpfs".into(),
            path.into(),
            "--remount-ro".into(),
            path.into(),
        ]),
        MountStep::Overlay(_) | MountStep::Scratch { .. } => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a sandbox by bwrap has no layers",
        )),
    }
}
