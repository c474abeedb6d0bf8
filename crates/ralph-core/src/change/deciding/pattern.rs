//! Patterns of names: `name`, `start*`, `*end`, `folder/name` and `folder/**`, at any depth and in any case.

use std::path::Path;

/// Tells whether a path is of that pattern. Asked of every file of a repository: it allocates nothing for
/// a pattern without a folder.
pub(in crate::change) fn name_matches(pattern: &str, path: &Path) -> bool {
    if !pattern.contains('/') {
        let name = path.file_name().unwrap_or_default();
        return is_like(pattern, &name.to_string_lossy());
    }
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let wanted: Vec<&str> = pattern.split('/').collect();
    let all_like = |wanted: &[&str], parts: &[std::borrow::Cow<'_, str>]| {
        wanted
            .iter()
            .zip(parts)
            .all(|(wanted, part)| is_like(wanted, part))
    };
    if let Some((&"**", folders)) = wanted.split_last() {
        let inside = parts.len().saturating_sub(1);
        return parts[..inside]
            .windows(folders.len())
            .any(|window| all_like(folders, window));
    }
    parts.len() >= wanted.len() && all_like(&wanted, &parts[parts.len() - wanted.len()..])
}

fn is_like(wanted: &str, name: &str) -> bool {
    let Some((start, end)) = wanted.split_once('*') else {
        return wanted.eq_ignore_ascii_case(name);
    };
    let (name, start, end) = (name.as_bytes(), start.as_bytes(), end.as_bytes());
    name.len() >= start.len() + end.len()
        && name[..start.len()].eq_ignore_ascii_case(start)
        && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_holds_at_any_depth_and_in_any_case() {
        for (pattern, path, holds) in [
            ("Makefile", "Makefile", true),
            ("Makefile", "a/b/makefile", true),
            ("Makefile", "Makefile/a", false),
            ("Makefile", "Makefile.md", false),
            ("jest.config.*", "web/jest.config.ts", true),
            ("jest.config.*", "jest.config", false),
            ("*.mk", "mk/rules.mk", true),
            ("*.mk", "rules.mk.txt", false),
            ("a*a", "a", false),
            (".cargo/config.toml", ".cargo/config.toml", true),
            (".cargo/config.toml", "sub/.cargo/config.toml", true),
            (".cargo/config.toml", "config.toml", false),
            (".husky/**", ".husky/pre-commit", true),
            (".husky/**", "a/.husky/_/husky.sh", true),
            (".husky/**", ".husky", false),
            ("gradle/wrapper/**", "gradle/wrapper/x.jar", true),
            ("gradle/wrapper/**", "gradle/x.jar", false),
        ] {
            assert_eq!(
                name_matches(pattern, Path::new(path)),
                holds,
                "{pattern}: {path}"
            );
        }
    }
}
