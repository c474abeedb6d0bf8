//! A loop of another user: what belongs to it is given to that user, and ralph is started as them.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Live, Project, Ran};

/// An ordinary user, who need not be in any list.
pub(crate) const ORDINARY: u32 = 1234;

pub(crate) fn tool(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The same files at another place, as links where that is the same disk. Nothing may change their owners or modes.
pub(crate) fn link(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let [from, to] = [from, to].map(|path| path.to_str().unwrap());
    let linked = Command::new("cp").args(["-al", from, to]).output().unwrap();
    if !linked.status.success() {
        tool("rm", &["-rf", to]);
        tool("cp", &["-a", from, to]);
    }
}

impl Project {
    /// Gives everything of the project to a user. Before anything is linked into it: those files are the machine's.
    pub(crate) fn give_to(&self, user: u32) {
        assert!(
            rustix::process::geteuid().is_root(),
            "run the tests as root: this one starts ralph as another user"
        );
        let outside = self.repo.outside();
        tool(
            "chown",
            &["-hR", &format!("{user}:{user}"), outside.to_str().unwrap()],
        );
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(outside, open).unwrap();
    }

    /// Runs the loop to its end as a user; as the one of the tests where there is none.
    pub(crate) fn run_as(&self, user: Option<u32>) -> Ran {
        // A folder of the build may be closed to others.
        let ralph = self.outside("ralph");
        link(Path::new(env!("CARGO_BIN_EXE_ralph")), &ralph);
        let made = self.run_command(&[]);
        let mut command = Command::new(&ralph);
        command
            .args(made.get_args())
            .env_clear()
            .envs(
                made.get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(self.repo.root());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        Live::start(command).wait()
    }
}
