//! The sample repository of `ralph demo`: a greeting in shell, its tests, five tasks, a script.

use std::{path::Path, process::Command};

use crate::error::CommandError;

/// Files of the sample: name, text.
const FILES: [(&str, &str); 5] = [
    ("README.md", include_str!("sample/README.md")),
    ("prd.json", include_str!("sample/prd.json")),
    ("ralph.yaml", include_str!("sample/ralph.yaml")),
    ("agent.yaml", include_str!("sample/agent.yaml")),
    ("check.sh", include_str!("sample/check.sh")),
];

/// Writes the sample and makes its first commit.
pub(crate) fn write(folder: &Path) -> Result<(), CommandError> {
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).map_err(CommandError::user)?;
    }
    git(folder, &["init", "--quiet", "--initial-branch=main"])?;
    // An identity of its own, so that it works on a machine where git has none.
    git(folder, &["config", "user.name", "ralph demo"])?;
    git(folder, &["config", "user.email", "demo@localhost"])?;
    git(folder, &["add", "--all"])?;
    git(
        folder,
        &["commit", "--quiet", "--message", "A sample to try ralph on"],
    )
}

fn git(folder: &Path, args: &[&str]) -> Result<(), CommandError> {
    let output = Command::new("git")
        // Neither the user's hooks nor their signing key have a part in this.
        .args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "commit.gpgSign=false",
        ])
        .args(args)
        .current_dir(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .map_err(|e| CommandError::user(format!("can't start git: {e}")).hint("install git"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(CommandError::user(format!(
        "`git {}` failed: {why}",
        args.join(" ")
    )))
}
