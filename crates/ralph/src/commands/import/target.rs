//! Where a task file goes: the place that its format has in a project, or the one that was named.
//!
//! Nothing that is there is written over without being told to.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ralph_core::task::format::{Format, Syntax, UsualPlace};
use ralph_engine::{dot_ralph, source::write_atomically};

use crate::{error::CommandError, project::Project};

/// Reads a format by the word that the command line has for it.
pub(crate) fn format_words(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let words = formats
        .iter()
        .map(|format| PossibleValue::new(format.as_str()).help(format.about()));
    PossibleValuesParser::new(words).try_map(|word| {
        let found = formats.iter().find(|one| one.as_str() == word);
        found.copied().ok_or("no such format")
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}

/// Whether a file that is there may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite {
    Never,
    Forced,
}

impl Overwrite {
    pub(crate) fn by_flag(force: bool) -> Self {
        if force { Self::Forced } else { Self::Never }
    }
}

impl Target {
    /// The place that was named; else the one of the format, for tasks called `name`.
    pub(crate) fn choose(
        project: &Project,
        named: Option<&Path>,
        format: Format,
        name: &str,
    ) -> Self {
        if let Some(named) = named {
            if named == Path::new("-") {
                return Self::Stdout;
            }
            return Self::File(project.surroundings.start.join(named));
        }
        let root = project.root();
        let name = file_name(name);
        Self::File(match format.usual_place() {
            UsualPlace::TaskFolder => root
                .join(&project.config().tasks.path)
                .join(format!("{name}.yaml")),
            UsualPlace::File(file) => root.join(file),
            UsualPlace::ProjectFolder { below, file } => root.join(below).join(name).join(file),
        })
    }

    /// By the ending of the file's name; else as the format is usually written. A name by which the file would
    /// be read as another format is refused.
    pub(crate) fn syntax(&self, format: Format) -> Result<Syntax, CommandError> {
        let Self::File(path) = self else {
            return Ok(format.usual_syntax());
        };
        let name = path.to_string_lossy();
        format.syntax_of(&name).ok_or_else(|| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let message = format!("{file} would not be read as {}", format.as_str());
            let endings = format.endings().join(" or ");
            CommandError::user(message).hint(format!("name a file that ends in {endings}"))
        })
    }

    pub(crate) fn shown(&self, project: &Project) -> String {
        match self {
            Self::Stdout => "-".to_owned(),
            Self::File(path) => project.shown(path),
        }
    }

    /// Before anything is begun: whether the file is in the way.
    pub(crate) fn check(
        &self,
        project: &Project,
        overwrite: Overwrite,
    ) -> Result<(), CommandError> {
        let Self::File(path) = self else {
            return Ok(());
        };
        // Also a link that leads nowhere is somebody's.
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let shown = project.shown(path);
        if path.is_dir() {
            let message = format!("{shown} is a folder");
            return Err(CommandError::user(message).hint("name a file: `--output FILE`"));
        }
        match overwrite {
            Overwrite::Forced => Ok(()),
            Overwrite::Never => Err(CommandError::user(format!("{shown} is there already"))
                .hint("`--force` writes over it; `--output` names another file")),
        }
    }

    /// Writes the file as a whole.
    pub(crate) fn write(
        project: &Project,
        path: &Path,
        text: &str,
        overwrite: Overwrite,
    ) -> Result<(), CommandError> {
        // Somebody may have made it since it was looked for.
        Self::File(path.to_owned()).check(project, overwrite)?;
        let failed = |error: std::io::Error| {
            CommandError::user(format!("can't write {}: {error}", project.shown(path)))
        };
        if path.starts_with(project.root().join(dot_ralph::FOLDER)) {
            dot_ralph::ensure(project.root()).map_err(failed)?;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        write_atomically(path, text.as_bytes()).map_err(CommandError::user)
    }
}

/// A name that is one on every file system: letters, digits, `-`, `_` and `.` inside.
fn file_name(name: &str) -> String {
    let plain: String = name
        .trim()
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let plain = plain.trim_matches(['-', '.', '_']);
    if plain.is_empty() {
        "tasks".to_owned()
    } else {
        plain.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_elsewhere() {
        for (name, file) in [
            ("prd", "prd"),
            ("../../etc/passwd", "etc-passwd"),
            ("Shop: the café", "Shop--the-café"),
            ("..", "tasks"),
            ("", "tasks"),
            ("a\nb", "a-b"),
        ] {
            assert_eq!(file_name(name), file, "{name:?}");
        }
    }
}
