//! Commands that hold the worktree's lock for a while: other commands poke them and `ralph stop` leaves them alone.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{beside::waiting, landed};
use crate::support::{Live, Project, good_script, story, wait_until, write_program};

/// A `git` that waits as long as the file `hold` is there, and says so by the file `held`.
fn slow_git(project: &Project) -> PathBuf {
    let folder = project.outside("bin");
    std::fs::create_dir(&folder).unwrap();
    let real = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&real).map(|one| one.join("git"));
    let real = real.into_iter().find(|git| git.exists()).unwrap();
    write_program(
        &folder.join("git"),
        &format!(
            "if [ -e {hold} ]; then echo x > {held}; while [ -e {hold} ]; do sleep 0.02; done; fi\n\
             exec {git} \"$@\"",
            hold = project.outside("hold").display(),
            held = project.outside("held").display(),
            git = real.display(),
        ),
    );
    folder
}

fn with_slow_git(project: &Project, args: &[&str], folder: &std::path::Path) -> Command {
    let mut command = project.ralph(args);
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).unwrap());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn survives_a_poke_and_a_stop(project: &Project, args: &[&str]) {
    let folder = slow_git(project);
    std::fs::write(project.outside("hold"), "").unwrap();
    let held = Live::start(with_slow_git(project, args, &folder));
    wait_until("the command holds the lock", || {
        project.outside("held").exists() && project.status()["running"] == true
    });
    let say = project.order(&["say", "Use tabs, please."]);
    wait_until("the message is in the queue", || waiting(project) == 1);
    assert_eq!(project.told(&["stop"]), "no loop is running here\n");
    held.signal(rustix::process::Signal::USR1);
    std::fs::remove_file(project.outside("hold")).unwrap();
    held.wait().expect(0);
    assert_eq!(
        crate::intervening::said(say.wait_with_output().unwrap()),
        "it will be in the next prompt\n"
    );
}

#[test]
fn revert_is_poked_and_not_stopped() {
    survives_a_poke_and_a_stop(&landed(), &["revert", "--iteration", "2"]);
}

#[test]
fn squash_is_poked_and_not_stopped() {
    survives_a_poke_and_a_stop(&landed(), &["squash"]);
}

#[test]
fn checkpoint_restore_is_poked_and_not_stopped() {
    let project = landed();
    let list = project.told(&["checkpoint", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let mut of_first = list["checkpoints"].as_array().unwrap().iter();
    let of_first = of_first.rfind(|one| one["iteration"] == 1);
    let id = of_first.unwrap()["id"].as_str().unwrap();
    survives_a_poke_and_a_stop(&project, &["checkpoint", "restore", id]);
}

#[test]
fn skip_is_poked_and_not_stopped() {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    project.run(&["--once"]).expect(0);
    let skip = ["skip", "--task", "B", "--reason", "not needed"];
    survives_a_poke_and_a_stop(&project, &skip);
}
