//! Writes a report to a file: as a whole, so that no reader sees half of one.

use std::path::Path;

use crate::error::CommandError;

pub(super) fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let is_special = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    // A pipe or a device is written to; replacing it would take it away from others.
    let written = if is_special {
        std::fs::write(path, text)
    } else {
        ralph_engine::atomic::write(path, text.as_bytes())
    };
    written.map_err(|error| {
        let message = format!("can't write {}: {error}", path.display());
        CommandError::user(message)
    })
}
