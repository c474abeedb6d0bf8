//! A project's own templates, in `.ralph/prompts/`. Only reads; what they are filled with is said
//! elsewhere.

use std::{
    io,
    path::{Path, PathBuf},
};

use ralph_core::{artefacts::template::TemplateKind, prompt::Template};

use crate::{dot_ralph, plain_file};

#[derive(Debug, thiserror::Error)]
#[error("can't read the prompt template {}", path.display())]
pub struct PromptFileError {
    path: PathBuf,
    source: io::Error,
}

/// The template that replaces the built-in one of this kind, if the project has one.
pub fn read_own(root: &Path, kind: TemplateKind) -> Result<Option<Template>, PromptFileError> {
    let name = Path::new(dot_ralph::FOLDER)
        .join("prompts")
        .join(kind.file_name());
    let path = root.join(&name);
    let text = plain_file::read_if_there(&path).and_then(|bytes| {
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    let text = text.map_err(|source| PromptFileError { path, source })?;
    let name = name.display().to_string();
    Ok(text.map(|text| Template { name, text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_read_by_its_kind_and_one_that_is_no_text_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        assert!(
            read_own(root.path(), TemplateKind::Execute)
                .unwrap()
                .is_none()
        );
        let folder = root.path().join(".ralph/prompts");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("execute.md"), "Do {{ project }}.").unwrap();
        std::fs::write(folder.join("init.md"), b"\xff\xfe").unwrap();
        let own = read_own(root.path(), TemplateKind::Execute)
            .unwrap()
            .unwrap();
        assert_eq!(own.name, ".ralph/prompts/execute.md");
        assert_eq!(own.text, "Do {{ project }}.");
        assert!(
            read_own(root.path(), TemplateKind::Interview)
                .unwrap()
                .is_none()
        );
        let error = read_own(root.path(), TemplateKind::Init)
            .unwrap_err()
            .to_string();
        assert!(error.ends_with(".ralph/prompts/init.md"), "{error}");
    }
}
