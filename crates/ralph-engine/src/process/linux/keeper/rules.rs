//! Rules of Landlock, made before the fork. The child only puts itself under them.

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::process::{ShownAs, ShownPath};

/// The version from which on a program under rules can't move files out of its folders or truncate others.
const LEAST: ABI = ABI::V3;
/// Rights beyond these come in where the kernel has them.
const BEST: ABI = ABI::V6;

/// Keeps a program that shares the network of the machine from sockets without a file, such as those of
/// a desktop's services. `None` where the kernel does not know such rules.
pub(super) fn without_outside_sockets() -> Option<OwnedFd> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::AbstractUnixSocket)
        .and_then(Ruleset::create);
    rules.ok().and_then(Into::into)
}

/// Lets a program read and write the files that it is shown, and no others.
pub(super) fn about_files(shown: &[ShownPath]) -> Option<OwnedFd> {
    files(shown).ok().and_then(Into::into)
}

fn files(shown: &[ShownPath]) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(BEST))?
        .scope(Scope::AbstractUnixSocket)?
        .scope(Scope::Signal)?
        .create()?;
    for ShownPath { path, kind } in shown {
        let access = match kind {
            ShownAs::ReadOnly => AccessFs::from_read(BEST),
            ShownAs::ReadWrite => AccessFs::from_all(BEST),
            ShownAs::Device => AccessFs::from_file(BEST),
            ShownAs::Memory
            | ShownAs::Terminals
            | ShownAs::Instead { .. }
            | ShownAs::Link { .. } => continue,
        };
        // What is gone by now can't be shown.
        let Ok(file) = PathFd::new(path) else {
            continue;
        };
        let access = if path.is_dir() {
            access
        } else {
            access & AccessFs::from_file(BEST)
        };
        rules = rules.add_rule(PathBeneath::new(file, access))?;
    }
    Ok(rules)
}
