//! Programs that verify commands need and that are not on this machine: no agent can mend that.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{environment::Environment, sandbox::Sandbox};
use ralph_core::{
    config::{BROWSER_PROGRAMS, QaConfig},
    task::VerifyCommand,
    verify::{VerifyCommandReport, names_program, program_not_found, required_programs},
};

use crate::programs::{find_program, is_executable, path_folders};

/// Where verify commands find their programs.
#[derive(Debug, Clone)]
pub(crate) struct ProgramPath<'a> {
    root: &'a Path,
    /// `None` where a folder on the path can be filled by the work itself.
    folders: Option<Vec<PathBuf>>,
    /// The browser of flows, where one is configured.
    browser: Option<String>,
}

impl<'a> ProgramPath<'a> {
    /// Those of the machine, or none that is known where programs run in an image.
    pub(crate) fn in_environment(environment: &Environment, root: &'a Path, qa: &QaConfig) -> Self {
        let browser = qa.browser.as_ref();
        let browser = browser.map(|browser| browser.to_string_lossy().into_owned());
        let sandbox = environment.sandbox.as_deref();
        if sandbox.and_then(Sandbox::image).is_some() {
            return Self {
                root,
                folders: None,
                browser,
            };
        }
        Self {
            browser,
            ..Self::of(&environment.vars, root)
        }
    }

    fn of(vars: &[(OsString, OsString)], root: &'a Path) -> Self {
        let folders = path_folders(vars);
        let is_fixed = |folder: &PathBuf| folder.is_absolute() && !folder.starts_with(root);
        let is_known = !folders.is_empty() && folders.iter().all(is_fixed);
        let folders = Some(folders).filter(|_| is_known);
        Self {
            root,
            folders,
            browser: None,
        }
    }

    /// Returns a program without which the command can't pass, and that is not there.
    pub(crate) fn missing_for(&self, command: &VerifyCommand) -> Option<String> {
        if command.flows().is_some() {
            return self.missing_browser();
        }
        let mut programs = required_programs(command).into_iter();
        let missing = programs.find(|program| self.is_missing(program));
        missing.map(str::to_owned)
    }

    /// The browser that flows run in, where there is none.
    fn missing_browser(&self) -> Option<String> {
        match &self.browser {
            Some(browser) => self.is_missing(browser).then(|| browser.clone()),
            None => {
                let are_missing = BROWSER_PROGRAMS.iter().all(|name| self.is_missing(name));
                are_missing.then(|| BROWSER_PROGRAMS[0].to_owned())
            }
        }
    }

    /// Returns the program that a command which could not be started lacks, where that is not up to an agent.
    /// `before` is how the same command ended before any work.
    pub(crate) fn missing_in(
        &self,
        report: &VerifyCommandReport,
        before: Option<&VerifyCommandReport>,
    ) -> Option<String> {
        let worked_before = before.is_some_and(|before| !before.outcome.is_not_started());
        if !report.outcome.is_not_started() || worked_before {
            return None;
        }
        if let Some(program) = self.missing_for(&report.command) {
            return Some(program);
        }
        let program = program_not_found(&report.tail)?;
        let is_meant = before.is_some() || names_program(&report.command, program);
        (is_meant && self.is_missing(program)).then(|| program.to_owned())
    }

    /// Returns true if the program is not there and the work can't bring it: a path in the repository, it can.
    fn is_missing(&self, program: &str) -> bool {
        let Some(folders) = &self.folders else {
            return false;
        };
        if !program.contains('/') {
            return find_program(program, folders).is_none();
        }
        let path = Path::new(program);
        path.is_absolute() && !path.starts_with(self.root) && !is_executable(path)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ralph_core::verify::CommandOutcome;

    use super::*;

    fn path_of<'a>(value: &str, root: &'a Path) -> ProgramPath<'a> {
        ProgramPath::of(&[("PATH".into(), value.into())], root)
    }

    fn shell(line: &str) -> VerifyCommand {
        VerifyCommand::Shell(line.into())
    }

    #[test]
    fn only_what_the_work_can_not_bring_is_missing() {
        let root = Path::new("/repo");
        let usual = path_of("/usr/bin:/bin", root);
        let table = [
            ("sh x", None),
            ("nosuch-tool x", Some("nosuch-tool")),
            ("cd web && CI=1 nosuch-tool", Some("nosuch-tool")),
            ("./check.sh", None),
            ("scripts/check.sh", None),
            ("/repo/check.sh", None),
            ("/opt/nosuch/tool", Some("/opt/nosuch/tool")),
            ("/etc/passwd", Some("/etc/passwd")),
        ];
        for (line, missing) in table {
            let found = usual.missing_for(&shell(line));
            assert_eq!(found.as_deref(), missing, "{line}");
        }
        for path in [
            "/usr/bin:/repo/node_modules/.bin",
            "/usr/bin:bin",
            "/usr/bin:",
        ] {
            let filled = path_of(path, root);
            assert_eq!(filled.missing_for(&shell("nosuch-tool")), None, "{path}");
        }
    }

    #[test]
    fn flows_need_a_browser_and_not_a_program_called_ralph() {
        let folder = tempfile::tempdir().unwrap();
        let flow = VerifyCommand::flow("home");
        let root = Path::new("/repo");
        let empty = path_of(folder.path().to_str().unwrap(), root);
        let configured = |browser: &Path| ProgramPath {
            browser: Some(browser.to_string_lossy().into_owned()),
            ..empty.clone()
        };
        let own = folder.path().join("my-browser");
        assert_eq!(
            configured(&own).missing_for(&flow),
            Some(own.to_string_lossy().into_owned())
        );
        std::fs::copy("/bin/true", &own).unwrap();
        assert_eq!(configured(&own).missing_for(&flow), None);
        // What the work brings is not missing.
        let brought = configured(Path::new("node_modules/chrome/chrome"));
        assert_eq!(brought.missing_for(&flow), None);
        std::fs::copy("/bin/true", folder.path().join("chromium")).unwrap();
        assert_eq!(empty.missing_for(&flow), None);
    }

    fn ended(line: &str, code: i32, output: &str) -> VerifyCommandReport {
        let outcome = CommandOutcome::Failed { code };
        VerifyCommandReport::new(shell(line), outcome, Duration::ZERO, output, output.into())
    }

    #[test]
    fn what_an_agent_broke_is_not_missing() {
        let path = path_of("/usr/bin:/bin", Path::new("/repo"));
        let line = "(nosuch-tool)";
        let lacks = ended(line, 127, "/bin/sh: 1: nosuch-tool: not found");
        let found = path.missing_in(&lacks, None);
        assert_eq!(found.as_deref(), Some("nosuch-tool"));
        assert_eq!(
            path.missing_in(&lacks, Some(&lacks)).as_deref(),
            Some("nosuch-tool")
        );
        // It worked before the change, or failed in another way.
        assert_eq!(path.missing_in(&lacks, Some(&ended(line, 1, "no"))), None);
        // A script of the repository's that needs what only the change can bring.
        let nested = ended("npm test", 127, "sh: 1: nosuch-tool: not found");
        assert_eq!(path.missing_in(&nested, None), None);
        let own = ended("./check.sh", 127, "/bin/sh: 1: ./check.sh: not found");
        assert_eq!(path.missing_in(&own, None), None);
        assert_eq!(path.missing_in(&ended("nosuch-tool", 1, ""), None), None);
    }
}
