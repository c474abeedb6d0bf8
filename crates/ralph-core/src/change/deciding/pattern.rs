//! Patterns of names: `name`, `start*`, `*end`, `folder/name` and `folder/**`, at any depth and in any case.

use std::path::Path;

/// Tells whether a path is of that pattern.
pub(in crate::change) fn name_matches(pattern: &str, path: &Path) -> bool {
    let parts: Vec<String> = path
        .iter()
        .map(|part| part.to_string_lossy().to_ascii_lowercase())
        .collect();
    let wanted: Vec<&str> = pattern.split('/').collect();
    if let Some((&"**", folders)) = wanted.split_last() {
        let inside = parts.len().saturating_sub(1);
        return parts[..inside]
            .windows(folders.len())
            .any(|window| all_match(folders, window));
    }
    parts.len() >= wanted.len() && all_match(&wanted, &parts[parts.len() - wanted.len()..])
}

fn all_match(wanted: &[&str], parts: &[String]) -> bool {
    wanted
        .iter()
        .zip(parts)
        .all(|(wanted, part)| is_like(wanted, part))
}

fn is_like(wanted: &str, name: &str) -> bool {
    let wanted = wanted.to_ascii_lowercase();
    match wanted.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => wanted == name,
    }
}
