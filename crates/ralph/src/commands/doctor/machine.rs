//! Checks of the machine: its platform, how processes are held together, the journal's folder, room on the disk.

use std::path::Path;

use ralph_engine::{
    git::{GitEnvironment, Repo},
    loop_runner::{WorkspaceFound, WorkspaceLook},
    process::{Containment, PlatformLack, platform_lacks},
};
use rustix::fs::{Access, access, statvfs};

use super::{Check, programs};
use crate::{
    commands::run::detection,
    error::CommandError,
    project::{Project, block_on},
};

const MB: u64 = 1024 * 1024;
/// Below this an iteration may end for want of room.
const LITTLE: u64 = 1024 * MB;
const TOO_LITTLE: u64 = 100 * MB;

pub(super) fn checks(project: &Project) -> Vec<Check> {
    let mut checks = judge_platform(platform_lacks());
    checks.extend([containment(project), sandbox(project.root())]);
    checks.extend(workspace(project));
    checks.extend(data_folder(project));
    checks
}

fn containment(project: &Project) -> Check {
    let found = match detection(project) {
        Ok(found) => found,
        Err(error) => return Check::problem("containment", error.sentences().join(": ")),
    };
    match found.containment {
        Containment::PidNamespace | Containment::UserNamespace => Check::ok(
            "containment",
            format!("nothing outlives a run: {}", found.why),
        ),
        Containment::Subreaper => Check::warning(
            "containment",
            format!("weaker than it could be: {}", found.why),
        )
        .hint("allow user namespaces to this user"),
        Containment::ProcessGroup => Check::warning(
            "containment",
            format!(
                "what leaves its process group outlives a run: {}",
                found.why
            ),
        ),
    }
}

/// Where agents would work. Nothing is said outside of a repository: that is a problem of its own.
fn workspace(project: &Project) -> Option<Check> {
    let (Ok(root), Ok(data_dir), Ok(found)) =
        (project.git_root(), project.data_dir(), detection(project))
    else {
        return None;
    };
    let temp_dir = project.environment(&root).temp_dir();
    let look = WorkspaceLook {
        data_dir: &data_dir,
        temp_dir: &temp_dir,
        containment: found.containment,
        mode: project.config().workspace.mode,
    };
    let git_environment = GitEnvironment::from_vars(project.surroundings.env.iter().cloned());
    let looked = block_on(async {
        let scratch = tempfile::tempdir()?;
        let repo = Repo::open(&root, scratch.path(), &git_environment);
        let repo = repo.await.map_err(CommandError::user)?;
        look.look(&repo).await.map_err(CommandError::user)
    });
    Some(match looked {
        Ok(found) => judge_workspace(&found),
        // Such as a repository without a commit, which has a check of its own.
        Err(error) => Check::note("workspace", error.sentences().join(": ")),
    })
}

fn judge_workspace(found: &WorkspaceFound) -> Check {
    match found {
        WorkspaceFound::Layers { notes, .. } if notes.is_empty() => {
            Check::ok("workspace", found.sentence())
        }
        WorkspaceFound::Layers { notes, .. } => {
            Check::note("workspace", found.sentence()).hint(notes.join("; "))
        }
        WorkspaceFound::Asked => Check::note("workspace", found.sentence()),
        WorkspaceFound::InPlace { reason } => {
            let check = Check::warning("workspace", format!("in place: {reason}"));
            match reason.hint() {
                Some(hint) => check.hint(hint),
                None => check,
            }
        }
    }
}

/// What a sandbox could be made of here. There is none yet, and that has to be said.
fn sandbox(root: &Path) -> Check {
    let word = |there: bool| if there { "yes" } else { "no" };
    let bwrap = programs::find("bwrap", root).is_some();
    let namespaces = Containment::UserNamespace.probe().is_ok();
    let landlock = match std::fs::read_to_string("/sys/kernel/security/lsm") {
        Ok(modules) => word(modules.split(',').any(|m| m.trim() == "landlock")),
        Err(_) => "unknown",
    };
    Check::note(
        "sandbox",
        format!(
            "ralph uses none yet, an agent has your rights (there are: bwrap {}, user namespaces {}, \
             Landlock {landlock})",
            word(bwrap),
            word(namespaces)
        ),
    )
}

fn data_folder(project: &Project) -> Vec<Check> {
    let folder = match project.data_dir() {
        Ok(folder) => folder,
        Err(error) => {
            let check = Check::problem("data", error.sentences().join(": "));
            return vec![match error.hint_text() {
                Some(hint) => check.hint(hint),
                None => check,
            }];
        }
    };
    // What is not there yet is made in the nearest folder that is.
    let there = folder.ancestors().find(|path| path.exists());
    let there = there.unwrap_or(&folder);
    let writable = there.is_dir() && access(there, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    let data = if writable {
        Check::ok("data", format!("the journal is in {}", folder.display()))
    } else {
        Check::problem("data", format!("{} can't be written", folder.display()))
            .hint("set RALPH_DATA_DIR to a folder that can")
    };
    let mut checks = vec![data, space("disk", project.root())];
    if is_elsewhere(there, project.root()) {
        checks.push(space("disk", there));
    }
    checks
}

fn is_elsewhere(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| std::fs::metadata(path).map(|m| m.dev()).ok();
    device(one) != device(other)
}

fn space(name: &'static str, folder: &Path) -> Check {
    let Ok(found) = statvfs(folder) else {
        return Check::note(
            name,
            format!("can't tell how much room {} has", folder.display()),
        );
    };
    judge_space(name, folder, found.f_bavail.saturating_mul(found.f_frsize))
}

fn judge_space(name: &'static str, folder: &Path, free: u64) -> Check {
    let said = if free >= 10 * LITTLE {
        format!("{} GB free at {}", free / (1024 * MB), folder.display())
    } else {
        format!("{} MB free at {}", free / MB, folder.display())
    };
    if free < TOO_LITTLE {
        Check::problem(name, said).hint("make room: logs and build results need some")
    } else if free < LITTLE {
        Check::warning(name, said).hint("make room: logs and build results need some")
    } else {
        Check::ok(name, said)
    }
}

/// Judges the platform that ralph was built for: what it lacks, by name.
fn judge_platform(lacks: &[PlatformLack]) -> Vec<Check> {
    let platform = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    if lacks.is_empty() {
        let message = format!("{platform}, which has all that ralph uses");
        return vec![Check::ok("platform", message)];
    }
    let said = lacks.iter().map(|lack| {
        let PlatformLack {
            feature,
            consequence,
        } = lack;
        Check::warning(
            "platform",
            format!("{platform} lacks {feature}: {consequence}"),
        )
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn room_is_judged_by_what_an_iteration_needs() {
        for (mb, state, said) in [
            (99, State::Problem, "99 MB free at /x"),
            (100, State::Warning, "100 MB free at /x"),
            (1024, State::Ok, "1024 MB free at /x"),
            (20_480, State::Ok, "20 GB free at /x"),
        ] {
            let check = judge_space("disk", Path::new("/x"), mb * MB);
            assert_eq!((check.state, check.message.as_str()), (state, said));
        }
    }

    #[test]
    fn what_a_platform_lacks_is_said_by_name_with_what_it_means() {
        let lack = PlatformLack {
            feature: "moving parts",
            consequence: "nothing moves",
        };
        let checks = judge_platform(&[lack, lack]);
        assert_eq!(checks.len(), 2);
        assert_eq!(checks[0].state, State::Warning);
        let expected = "lacks moving parts: nothing moves";
        assert!(
            checks[0].message.ends_with(expected),
            "{}",
            checks[0].message
        );
        assert_eq!(judge_platform(&[])[0].state, State::Ok);
    }
}
