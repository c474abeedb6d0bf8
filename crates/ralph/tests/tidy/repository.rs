//! The files of the repository, as git tracks them, and what none of them may hold.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The top of the repository.
pub(crate) fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().to_owned()
}

/// Paths that git tracks, and those that are new and not ignored, relative to the top.
pub(crate) fn files() -> Vec<String> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()
        .expect("git is needed for this test");
    assert!(output.status.success(), "git ls-files failed");
    let names = String::from_utf8(output.stdout).unwrap();
    let there = |name: &&str| root().join(name).is_file();
    let files: Vec<String> = names
        .split_terminator('\0')
        .filter(there)
        .map(str::to_owned)
        .collect();
    assert!(files.len() > 50, "only {} files found", files.len());
    files
}

pub(crate) fn read(name: &str) -> String {
    let bytes = std::fs::read(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fails with all findings at once.
#[track_caller]
pub(crate) fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

/// Folders of one machine, and hosts that packages come from: what works here must work elsewhere.
/// Written in two halves, so that this file does not find itself.
const FOREIGN: [&str; 10] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("registry.", "npmjs"),
    concat!("pypi.", "org"),
    concat!("deb.", "debian.org"),
    concat!("files.", "pythonhosted"),
];

/// Places that stand for anybody's: the first in documents, the second in recordings.
const SAMPLES: [&str; 2] = [concat!("/ho", "me/me/"), concat!("/ho", "me/user/")];

#[test]
fn no_file_names_a_place_on_one_machine_or_a_package_host() {
    let mut found = Vec::new();
    for name in files() {
        let mut text = read(&name);
        for sample in SAMPLES {
            text = text.replace(sample, "");
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(foreign) = FOREIGN.iter().find(|foreign| line.contains(*foreign)) {
                found.push(format!("{name}:{}: {foreign}", number + 1));
            }
        }
    }
    assert_none("places that are not everybody's", &found);
}

#[test]
fn nothing_that_a_tool_left_behind_is_tracked() {
    let left = |name: &String| {
        [".pending-snap", ".snap.new", ".orig", ".rej", "~"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let found: Vec<String> = files().into_iter().filter(left).collect();
    assert_none("left behind", &found);
}

#[test]
fn scripts_can_be_started_and_stop_at_the_first_failure() {
    use std::os::unix::fs::PermissionsExt as _;
    let is_script = |name: &String| name.starts_with("scripts/") || name == ".ci/run";
    let scripts: Vec<String> = files().into_iter().filter(is_script).collect();
    assert!(scripts.len() >= 4, "{scripts:?}");
    for name in scripts {
        let mode = std::fs::metadata(root().join(&name)).unwrap().permissions();
        assert_ne!(mode.mode() & 0o111, 0, "{name} can't be started");
        let text = read(&name);
        assert!(text.starts_with("#!/usr/bin/env bash\n"), "{name}");
        assert!(text.contains("\nset -euo pipefail\n"), "{name}");
    }
}
