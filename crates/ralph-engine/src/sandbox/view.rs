//! The part of the machine that programs in a sandbox see: the system, toolchains, and what a person allows.
//!
//! Made once for a loop. Everything here is read-only or thrown away; the repository, the home and temporary
//! folders are added for each program.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io::Read as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::toolchains::{
    CACHE_VARIABLES, CACHES, DEVICE_LINKS, DEVICES, MOVED, PROGRAM_VARIABLES, PROGRAMS, SYSTEM,
};
use crate::{
    environment::walk_links,
    process::{SandboxMeans, SandboxPlan, ShownAs, ShownPath},
};

/// The largest script that is looked into for the program that it starts.
const LARGEST_STARTER: u64 = 8 * 1024;
/// The most files of `/etc` that are hidden from root one by one.
const MOST_HIDDEN: usize = 2_000;

/// Paths with the way in which each is shown. A later word about a path replaces an earlier one.
#[derive(Debug, Clone)]
pub(super) struct SandboxView {
    means: SandboxMeans,
    shown: BTreeMap<PathBuf, ShownAs>,
    /// Folders whose changes are thrown away with the program.
    caches: BTreeSet<PathBuf>,
    /// Paths of the system, which belong to no one in particular.
    system: BTreeSet<PathBuf>,
}

/// A file or folder that is not the system's, from which a program is shown something.
pub(super) enum ViewSource<'a> {
    Writable(&'a Path),
    Readable(&'a Path),
}

/// The rights of the programs that a view is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViewRights {
    /// Those of root: what only root reads is hidden one by one.
    Root,
    Ordinary,
}

impl SandboxView {
    /// Nothing of the machine: the system is that of an image.
    pub(super) fn of_image() -> Self {
        let own = ["/tmp", "/var/tmp"];
        Self {
            means: SandboxMeans::Container,
            shown: own.map(|path| (path.into(), ShownAs::Memory)).into(),
            caches: BTreeSet::new(),
            system: BTreeSet::new(),
        }
    }

    /// The same where ralph makes the container itself.
    pub(super) fn of_image_files() -> Self {
        let mut view = Self::of_image();
        view.means = SandboxMeans::Namespaces;
        view.add_devices();
        view.add_own_folders();
        view.set("/run", ShownAs::Memory);
        view.system = view.shown.keys().cloned().collect();
        view
    }

    fn add_devices(&mut self) {
        for path in DEVICES {
            if Path::new(path).exists() {
                self.set(path, ShownAs::Device);
            }
        }
    }

    /// The system, without anyone's home.
    pub(super) fn of_system(means: SandboxMeans, rights: ViewRights) -> Self {
        let mut view = Self {
            means,
            shown: BTreeMap::new(),
            caches: BTreeSet::new(),
            system: BTreeSet::new(),
        };
        for path in SYSTEM {
            view.add(Path::new(path), &ShownAs::ReadOnly);
        }
        view.add_devices();
        if means.has_own_root() {
            view.add_own_folders();
        } else {
            view.set("/proc", ShownAs::ReadOnly);
            for path in ["/dev/pts", "/dev/shm", "/dev/ptmx"] {
                view.add(Path::new(path), &ShownAs::ReadWrite);
            }
        }
        // A name server of the machine's own writes where the link leads.
        view.add(Path::new("/etc/resolv.conf"), &ShownAs::ReadOnly);
        if rights == ViewRights::Root {
            view.hide_what_only_root_reads(Path::new("/etc"));
        }
        view.system = view.shown.keys().cloned().collect();
        view
    }

    /// The files that programs are shown something of, those of the system left out.
    pub(super) fn sources(&self) -> impl Iterator<Item = ViewSource<'_>> {
        let others = self.shown.iter();
        let others = others.filter(|(path, _)| !self.system.contains(*path));
        others.filter_map(|(path, kind)| match kind {
            ShownAs::ReadOnly => Some(ViewSource::Readable(path)),
            ShownAs::ReadWrite => Some(ViewSource::Writable(path)),
            ShownAs::Instead { from } => Some(ViewSource::Writable(from)),
            ShownAs::Device | ShownAs::Memory | ShownAs::Terminals | ShownAs::Link { .. } => None,
        })
    }

    /// The folders that each program has for itself.
    fn add_own_folders(&mut self) {
        self.set("/proc", ShownAs::ReadWrite);
        for path in ["/tmp", "/var/tmp", "/dev", "/dev/shm"] {
            self.set(path, ShownAs::Memory);
        }
        self.set("/dev/pts", ShownAs::Terminals);
        for (path, target) in DEVICE_LINKS {
            let target = PathBuf::from(target);
            self.set(path, ShownAs::Link { target });
        }
    }

    /// Compilers, interpreters and downloads, in the home and where variables say that they are.
    pub(super) fn add_toolchains(&mut self, home: Option<&Path>, vars: &[(OsString, OsString)]) {
        if let Some(home) = home {
            self.add_below(home, PROGRAMS, "", Self::add_readable);
            self.add_below(home, CACHES, "", Self::add_cache);
        }
        for (name, value) in vars {
            let Some(name) = name.to_str() else { continue };
            let folders = std::env::split_paths(value).filter(|path| is_narrow(path, home));
            for folder in folders {
                if let Some((_, usual)) = MOVED.iter().find(|(variable, _)| *variable == name) {
                    self.add_below(&folder, PROGRAMS, usual, Self::add_readable);
                    self.add_below(&folder, CACHES, usual, Self::add_cache);
                } else if PROGRAM_VARIABLES.contains(&name) {
                    self.add(&folder, &ShownAs::ReadOnly);
                } else if CACHE_VARIABLES.contains(&name) {
                    self.add_cache(&folder);
                } else if name == "PATH" {
                    self.add_programs(&folder, home);
                }
            }
        }
    }

    /// The parts of a home, or of a folder that stands for `usual` in one.
    fn add_below(&mut self, folder: &Path, names: &[&str], usual: &str, add: fn(&mut Self, &Path)) {
        for name in names {
            if let Ok(below) = Path::new(name).strip_prefix(usual)
                && below.components().next().is_some()
            {
                add(self, &folder.join(below));
            }
        }
    }

    fn add_readable(&mut self, path: &Path) {
        self.add(path, &ShownAs::ReadOnly);
    }

    /// A folder that can be written, and whose changes are thrown away; where that can't be, it can be read.
    fn add_cache(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else {
            return;
        };
        if self.means == SandboxMeans::Namespaces && real.is_dir() {
            self.add(path, &ShownAs::ReadWrite);
            self.caches.insert(real);
        } else {
            self.add_readable(path);
        }
    }

    /// Shows them to read alone.
    pub(super) fn read_caches(&mut self) {
        for path in std::mem::take(&mut self.caches) {
            self.set(path, ShownAs::ReadOnly);
        }
    }

    pub(super) fn caches(&self) -> impl Iterator<Item = &Path> {
        self.caches.iter().map(PathBuf::as_path)
    }

    /// A folder of programs, and the libraries beside it where it is one of an installation.
    pub(super) fn add_programs(&mut self, folder: &Path, home: Option<&Path>) {
        self.add(folder, &ShownAs::ReadOnly);
        let Ok(real) = folder.canonicalize() else {
            return;
        };
        let prefix = real.parent().filter(|_| real.ends_with("bin"));
        // `~/.local/share` holds the data of everything.
        let is_local = |prefix: &Path| home.is_some_and(|home| prefix == home.join(".local"));
        let Some(prefix) = prefix.filter(|prefix| is_narrow(prefix, home) && !is_local(prefix))
        else {
            return;
        };
        for name in ["lib", "lib64", "libexec", "share", "Cellar", "opt"] {
            self.add(&prefix.join(name), &ShownAs::ReadOnly);
        }
    }

    /// A program and what it can't be without: the packages that it lies in.
    pub(super) fn add_program(&mut self, program: &Path, home: Option<&Path>) {
        self.add(program, &ShownAs::ReadOnly);
        self.add_packages(program, home);
        self.add_named_programs(program, home);
    }

    /// The packages that a program lies in.
    fn add_packages(&mut self, program: &Path, home: Option<&Path>) {
        let Ok(real) = program.canonicalize() else {
            return;
        };
        let packages = real
            .ancestors()
            .filter(|path| path.ends_with("node_modules"));
        if let Some(packages) = packages.last() {
            self.add(packages, &ShownAs::ReadOnly);
        } else if let Some(folder) = real.parent().filter(|folder| folder.ends_with("bin")) {
            self.add_programs(folder, home);
        }
    }

    /// A program that is a script often only starts another one: shows what it names in full.
    fn add_named_programs(&mut self, script: &Path, home: Option<&Path>) {
        let mut start = Vec::new();
        let read = std::fs::File::open(script)
            .and_then(|file| file.take(LARGEST_STARTER + 1).read_to_end(&mut start));
        if read.is_err() || !start.starts_with(b"#!") || start.len() as u64 > LARGEST_STARTER {
            return;
        }
        let text = String::from_utf8_lossy(&start).into_owned();
        let words = text.split(|c: char| c.is_whitespace() || "'\"=;:()".contains(c));
        for word in words.filter(|word| word.starts_with('/')) {
            let path = Path::new(word);
            if path.is_file() && is_narrow(path, home) {
                self.add(path, &ShownAs::ReadOnly);
                self.add_packages(path, home);
            }
        }
    }

    /// Shows a path to read, also where it is a part of the system that not all may read.
    pub(super) fn allow_reads(&mut self, path: &Path) {
        self.add(path, &ShownAs::ReadOnly);
        if let Ok(real) = path.canonicalize()
            && !self.has(&real)
            && real != Path::new("/")
        {
            self.set(real, ShownAs::ReadOnly);
        }
    }

    /// Shows a path to write, with all that lies in it.
    pub(super) fn allow_writes(&mut self, path: &Path) {
        self.add(path, &ShownAs::ReadWrite);
        if let Ok(real) = path.canonicalize() {
            let is_in = |path: &Path| path.starts_with(&real) && path != real;
            self.shown
                .retain(|path, kind| !is_in(path) || *kind != ShownAs::ReadOnly);
            self.caches.retain(|path| !path.starts_with(&real));
        }
    }

    /// Shows a path as it is found: its links as links, and what they lead to. What is not there is not shown.
    pub(super) fn add(&mut self, path: &Path, kind: &ShownAs) {
        let Ok(real) = path.canonicalize() else {
            return;
        };
        if real == Path::new("/") {
            return;
        }
        for (at, target) in links_of(path) {
            if !self.holds(&at) {
                self.set(at, ShownAs::Link { target });
            }
        }
        if *kind == ShownAs::ReadOnly && self.holds(&real) {
            return;
        }
        self.set(real, kind.clone());
    }

    pub(super) fn set(&mut self, path: impl Into<PathBuf>, kind: ShownAs) {
        let path = path.into();
        self.system.remove(&path);
        self.shown.insert(path, kind);
    }

    /// Tells whether this very path is shown already.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.shown.contains_key(path)
    }

    /// Tells whether a path is seen already as it is on the machine.
    fn holds(&self, path: &Path) -> bool {
        let mut above = path.ancestors().filter_map(|folder| self.shown.get(folder));
        above.next().is_some_and(|nearest| match nearest {
            ShownAs::ReadOnly | ShownAs::ReadWrite | ShownAs::Device => true,
            ShownAs::Memory
            | ShownAs::Terminals
            | ShownAs::Instead { .. }
            | ShownAs::Link { .. } => false,
        })
    }

    /// Root reads what is no one else's to read, and may be what an agent must not: other users' passwords,
    /// keys of this machine.
    fn hide_what_only_root_reads(&mut self, top: &Path) {
        let mut folders = vec![top.to_owned()];
        let mut hidden = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                let is_private = meta.uid() == 0 && meta.permissions().mode() & 0o004 == 0;
                if meta.is_symlink() {
                    continue;
                }
                if is_private && hidden < MOST_HIDDEN {
                    hidden += 1;
                    let kind = if meta.is_dir() {
                        ShownAs::Memory
                    } else {
                        ShownAs::Instead {
                            from: PathBuf::from("/dev/null"),
                        }
                    };
                    self.set(entry.path(), kind);
                } else if meta.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }

    /// The paths, each before what lies in it.
    pub(super) fn into_plan(self, plan: &mut SandboxPlan) {
        let paths = self.shown.into_iter();
        plan.shown = paths.map(|(path, kind)| ShownPath { path, kind }).collect();
        plan.sort();
    }
}

/// Tells whether a folder can be shown without showing far more than it is for: not the home, and nothing that
/// the home lies in.
pub(super) fn is_narrow(path: &Path, home: Option<&Path>) -> bool {
    let Ok(real) = path.canonicalize() else {
        return false;
    };
    let is_wide = |folder: &Path| {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        folder.starts_with(&real)
    };
    path.is_absolute()
        && ![
            "/tmp", "/var", "/run", "/dev", "/proc", "/home", "/mnt", "/media",
        ]
        .iter()
        .any(|folder| is_wide(Path::new(folder)))
        && !home.is_some_and(is_wide)
}

/// The symbolic links on the way to an absolute path, with their targets as they are written.
fn links_of(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut links = Vec::new();
    walk_links(path, &mut |at, target| {
        links.extend(target.map(|target| (at.to_owned(), target.to_owned())));
        false
    });
    links
}
