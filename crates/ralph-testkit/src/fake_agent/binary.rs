//! Where the fake agent's binary is, for the tests of other crates.

use std::path::{Path, PathBuf};

/// The command that builds the binary; cargo builds no binaries of a dependency by itself.
const BUILD: &str = "cargo build -p ralph-testkit --bins";

/// The path of the `fake-agent` binary, beside the test that asks.
///
/// # Panics
///
/// If it was not built; a test that needs it can't go on, and must not build it in the middle of others.
#[must_use]
pub fn fake_agent() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    binary_beside(&test)
}

/// Test binaries are in `target/debug/deps`, the others in `target/debug`.
fn binary_beside(test: &Path) -> PathBuf {
    let folder = test.parent().expect("a test lies in a folder");
    let folder = match folder.file_name() {
        Some(name) if name == "deps" => folder.parent().expect("a profile has a folder"),
        _ => folder,
    };
    let path = folder.join("fake-agent");
    assert!(
        path.is_file(),
        "{} is not built: run `{BUILD}` (with the profile of the tests)",
        path.display()
    );
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(
        expected = "debug/fake-agent is not built: run `cargo build -p ralph-testkit --bins`"
    )]
    fn a_binary_that_is_missing_is_said_to_be_so_and_how_to_build_it() {
        let target = tempfile::tempdir().unwrap();
        let _ = binary_beside(&target.path().join("debug/deps/some-test"));
    }

    #[test]
    fn the_binary_is_found_beside_the_tests() {
        let target = tempfile::tempdir().unwrap();
        let binary = target.path().join("debug/fake-agent");
        std::fs::create_dir_all(binary.parent().unwrap()).unwrap();
        std::fs::write(&binary, "").unwrap();
        for test in ["debug/deps/some-test", "debug/some-test"] {
            assert_eq!(binary_beside(&target.path().join(test)), binary);
        }
    }
}
