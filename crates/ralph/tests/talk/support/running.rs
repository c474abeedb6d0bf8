//! A loop in a real terminal: a repository with tasks, an agent, and the line that starts it.

use std::{os::unix::fs::PermissionsExt as _, process::Command};

use super::{Pane, Scene, ralph};

impl Scene {
    /// A repository with a `prd.json` and a `ralph.yaml`, committed.
    pub(crate) fn with_tasks(tasks: &str, config: &str) -> Self {
        let scene = Self::new();
        scene.write("repo/prd.json", tasks);
        scene.write("repo/ralph.yaml", config);
        scene.write(
            "home/.gitconfig",
            "[user]\n\tname = T\n\temail = t@test.invalid\n",
        );
        for args in [
            &["init", "-qb", "main"][..],
            &["add", "."],
            &["commit", "-qm", "s"],
        ] {
            assert!(scene.clean("git").args(args).status().unwrap().success());
        }
        scene
    }

    /// A program in the repository, with nothing of the environment of this process.
    pub(crate) fn clean(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder().join("home"))
            .env("RALPH_DATA_DIR", self.folder().join("data"))
            .envs([self.notes()])
            .current_dir(self.repo());
        command
    }

    /// What `ralph` says from another terminal.
    pub(crate) fn told(&self, args: &[&str]) -> String {
        let output = self
            .clean(ralph().to_str().unwrap())
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Writes the file that `. ../start` runs: a loop with this shell script as its agent. `before` are variables.
    pub(crate) fn prepare(&self, agent: &str, before: &str) {
        let path = self.folder().join("agent.sh");
        std::fs::write(&path, format!("#!/bin/bash\n{agent}")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let agent = format!("command:{}", path.display());
        self.prepare_with(&agent, before);
    }

    /// The same with any agent.
    pub(crate) fn prepare_with(&self, agent: &str, before: &str) {
        let (data, mark) = (self.folder().join("data"), self.mark());
        let (data, ralph) = (data.display(), ralph());
        let line = format!(
            "RALPH_DATA_DIR={data} {mark} RALPH_VERIFICATION_CLEAN_CHECK=off {before} {} run --agent {agent}",
            ralph.display()
        );
        self.write("start", &format!("{line}\necho code=$?\n"));
        self.write("background", &format!("{line} &\n"));
    }

    /// Starts the loop in a new terminal.
    pub(crate) fn start(&self) -> Pane {
        let pane = self.shell();
        pane.line(". ../start");
        pane
    }
}
