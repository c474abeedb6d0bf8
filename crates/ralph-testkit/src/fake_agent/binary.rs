//! Where the fake agent's binary is, for the tests of other crates.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// The path of the `fake-agent` binary, built first: cargo builds no binaries of dependencies.
///
/// # Panics
///
/// If it can't be built; a test that needs it can't go on.
pub fn fake_agent() -> PathBuf {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(build);
    BUILT.clone()
}

fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    // target/debug/deps/test-1234 or target/debug/test
    let profile = test
        .ancestors()
        .skip(1)
        .find(|dir| {
            dir.file_name()
                .is_some_and(|name| name != "deps" && name != "examples")
        })
        .expect("a test lives in a target folder");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--quiet",
            "--package",
            "ralph-testkit",
            "--bin",
            "fake-agent",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg("--target-dir")
        .arg(
            profile
                .parent()
                .expect("a profile's folder is below the target folder"),
        );
    if profile.file_name().is_some_and(|name| name == "release") {
        command.arg("--release");
    }
    let status = command.status().expect("cargo can be run");
    assert!(status.success(), "fake-agent could not be built");
    profile.join("fake-agent")
}
