//! The image that tests run containers of: where `scripts/test-image` put it.

use std::path::{Path, PathBuf};

/// The name by which podman knows it.
pub const IMAGE: &str = "localhost/ralph-test";

/// The folder with podman's `store` of the image, and `storage.conf`, which leads podman there.
///
/// # Panics
///
/// If it was not made, because a test that needs it can't go on.
#[must_use]
pub fn image_folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = workspace.canonicalize().expect("the workspace is there");
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    // Both are relative to the workspace, as for the script.
    let folder = match (named("RALPH_IMAGE_DIR"), named("CARGO_TARGET_DIR")) {
        (Some(folder), _) => workspace.join(folder),
        (None, Some(target)) => workspace.join(target).join("test-image"),
        (None, None) => workspace.join("target/test-image"),
    };
    assert!(
        folder.join("pin").exists(),
        "there is no image in {}: run scripts/test-image",
        folder.display()
    );
    folder
}
