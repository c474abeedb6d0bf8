//! The folder of the results: made again for each run, and never one that holds something else.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::QaError;

/// A file by which the folder is known again.
const MARK: &str = ".ralph-qa";

/// Makes the folder ready: emptied, unless results join those that are there.
pub(super) fn prepare(folder: &Path, joins: bool) -> Result<(), QaError> {
    prepare_folder(folder, joins).map_err(|source| QaError::Results {
        path: folder.to_owned(),
        source,
    })
}

fn prepare_folder(folder: &Path, joins: bool) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let entries: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    let mark = folder.join(MARK);
    if !entries.is_empty() && !entries.contains(&mark) {
        let other = entries.first().map_or(folder, PathBuf::as_path);
        return Err(io::Error::other(format!(
            "it holds other files, such as {}; ralph empties this folder and keeps to one of its own",
            other.display()
        )));
    }
    if !joins {
        for entry in &entries {
            let is_folder = fs::symlink_metadata(entry)?.is_dir();
            if is_folder {
                fs::remove_dir_all(entry)?;
            } else if *entry != mark {
                fs::remove_file(entry)?;
            }
        }
    }
    fs::write(mark, "Results of `ralph qa`: emptied by each run.\n")?;
    // Results are of this machine, whatever the rules of the project say.
    fs::write(folder.join(".gitignore"), "*\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_results_is_emptied_and_a_folder_of_others_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("a/results");
        prepare_folder(&results, false).unwrap();
        fs::create_dir(results.join("greet")).unwrap();
        fs::write(results.join("greet/failed.png"), "x").unwrap();
        prepare_folder(&results, true).unwrap();
        assert!(results.join("greet/failed.png").exists());
        prepare_folder(&results, false).unwrap();
        assert!(!results.join("greet").exists());

        let others = folder.path().join("src");
        fs::create_dir(&others).unwrap();
        fs::write(others.join("main.rs"), "x").unwrap();
        let error = prepare_folder(&others, false).unwrap_err();
        assert!(error.to_string().contains("src/main.rs"), "{error}");
        assert!(others.join("main.rs").exists());
    }
}
