//! Checks of the machine: its platform, how processes are held together, the journal's folder, room on the disk.

use std::path::Path;

use ralph_engine::{
    git::Repo,
    loop_runner::{WorkspaceFound, WorkspaceLook},
    process::{Containment, PlatformLack, platform_lacks},
    sandbox::{SandboxFound, SandboxRequest},
};
use rustix::fs::{Access, access, statvfs};

use super::Check;
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
    checks.extend([containment(project), sandbox(project)]);
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
    let git_environment = project.git_environment();
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

/// Tries each means of a sandbox, and says which one a run would have.
fn sandbox(project: &Project) -> Check {
    let root = project.root();
    let (Ok(data_dir), Ok(found)) = (project.data_dir(), detection(project)) else {
        return Check::note("sandbox", "not tried: see the other checks".to_owned());
    };
    let environment = project.environment(root);
    let safety = &project.config().safety;
    let request = SandboxRequest {
        safety,
        vars: &environment.vars,
        root,
        git_folders: &[],
        git_settings: &[],
        allow_hosts: &[],
        verify_network: project.config().verification.network,
        data_dir: &data_dir,
        containment: found.containment,
    };
    let found = block_on(async {
        let tried = SandboxFound::probe(&request).await;
        Ok((tried, SandboxFound::find(&request).await))
    });
    let (tried, found) = match found {
        Ok(found) => found,
        Err(error) => return Check::problem("sandbox", error.sentences().join(": ")),
    };
    let tried: Vec<String> = tried
        .into_iter()
        .map(|(means, tried)| match tried {
            Ok(()) => format!("{means}: it works"),
            Err(failure) => format!("{means}: {failure}"),
        })
        .collect();
    let tried = tried.join("; ");
    match found {
        Ok(found @ SandboxFound::Walls(_)) if found.is_reduced() => {
            Check::note("sandbox", format!("{} ({tried})", found.sentence()))
                .hint("run ralph as a user that is not root, and allow it user namespaces")
        }
        Ok(found @ SandboxFound::Walls(_)) => {
            Check::ok("sandbox", format!("{} ({tried})", found.sentence()))
        }
        Ok(found @ SandboxFound::Off) => {
            Check::note("sandbox", format!("{} ({tried})", found.sentence()))
        }
        Ok(found @ SandboxFound::Absent { .. }) => Check::warning(
            "sandbox",
            format!(
                "agents and verify commands can do what you can: {}",
                found.sentence()
            ),
        ),
        Err(reason) => Check::problem(
            "sandbox",
            format!("there is no sandbox here as the configuration asks for: {reason}"),
        )
        .hint(if safety.container.is_some() {
            "ralph does not start agents without its container"
        } else {
            "`safety.sandbox: auto` works without one where there is none"
        }),
    }
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
        let what = if folder.is_on_server() {
            "the journal is on the server (`store.mode: direct`), and ralph's other data in"
        } else {
            "the journal is in"
        };
        Check::ok("data", format!("{what} {}", folder.display()))
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
