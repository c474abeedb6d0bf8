//! The difference that an upper folder makes, from lists of entries.

use super::*;

fn tracked<'a>(paths: &[&'a str]) -> TrackedFiles<'a> {
    let file = |path: &&'a str| TrackedFile {
        path: path.as_bytes(),
        mode: 0o100_644,
        id: Cow::Borrowed(&[0; 20]),
    };
    TrackedFiles(paths.iter().map(file).collect())
}

fn file(path: &str) -> UpperEntry {
    let kind = UpperKind::File {
        mode: 0o644,
        size: 1,
    };
    UpperEntry {
        path: path.into(),
        kind,
    }
}

fn folder(path: &str, lower: Option<&str>) -> UpperEntry {
    let kind = UpperKind::Folder {
        mode: 0o755,
        lower: lower.map(PathBuf::from),
    };
    UpperEntry {
        path: path.into(),
        kind,
    }
}

fn whiteout(path: &str) -> UpperEntry {
    UpperEntry {
        path: path.into(),
        kind: UpperKind::Whiteout,
    }
}

fn names(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Vec<String> {
    let paths = paths.into_iter();
    paths.map(|p| p.as_ref().display().to_string()).collect()
}

#[test]
fn what_is_written_and_deleted_differs_and_nothing_else() {
    let base = tracked(&["a", "dir/b", "dir/c", "dir2/d", "e"]);
    let found = diff_of(
        &base,
        &[
            folder("dir", Some("dir")),
            file("dir/b"),
            file("dir/new"),
            whiteout("dir2"),
            whiteout("e"),
            whiteout("never-tracked"),
        ],
    );
    assert_eq!(names(&found.written), ["dir/b", "dir/new"]);
    assert_eq!(names(&found.gone), ["dir2/d", "e"]);
    assert!(found.moved.is_empty() && found.unstorable.is_empty());
}

#[test]
fn a_folder_made_again_has_only_what_was_written_into_it() {
    let base = tracked(&["dir/b", "dir/sub/c", "dirx"]);
    let found = diff_of(&base, &[folder("dir", None), file("dir/b")]);
    assert_eq!(names(&found.written), ["dir/b"]);
    assert_eq!(names(&found.gone), ["dir/sub/c"]);
}

#[test]
fn a_file_instead_of_a_folder_and_a_folder_instead_of_a_file() {
    let base = tracked(&["dir/b", "file"]);
    let found = diff_of(
        &base,
        &[file("dir"), folder("file", None), file("file/inner")],
    );
    assert_eq!(names(&found.written), ["dir", "file/inner"]);
    assert_eq!(names(&found.gone), ["dir/b", "file"]);
}

#[test]
fn a_renamed_folder_takes_its_tracked_files_along() {
    let base = tracked(&["old/a", "old/b", "old/sub/c", "old/sub/d", "other"]);
    let found = diff_of(
        &base,
        &[
            whiteout("old"),
            folder("new", Some("old")),
            file("new/b"),
            folder("new/sub", Some("old/sub")),
            whiteout("new/sub/d"),
        ],
    );
    assert_eq!(names(&found.written), ["new/b"]);
    assert_eq!(
        names(&found.gone),
        ["old/a", "old/b", "old/sub/c", "old/sub/d"]
    );
    let moved: Vec<(String, String)> = found
        .moved
        .iter()
        .map(|(to, from)| (to.display().to_string(), from.display().to_string()))
        .collect();
    let expected = [("new/a", "old/a"), ("new/sub/c", "old/sub/c")];
    assert_eq!(moved, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn the_git_folder_is_no_work_and_only_what_stands_in_the_way_is_named() {
    let base = tracked(&["a", "pipe"]);
    let special = |path: &str| UpperEntry {
        path: path.into(),
        kind: UpperKind::Other(crate::layer::upper::SpecialFile::Fifo),
    };
    let found = diff_of(
        &base,
        &[
            folder(".git", Some(".git")),
            file(".git/index"),
            folder("nested", None),
            folder("nested/.git", None),
            file("nested/code"),
            special("pipe"),
            special("server.sock"),
        ],
    );
    assert!(found.written.is_empty() && found.gone.is_empty());
    let unstorable: Vec<_> = found.unstorable.into_iter().collect();
    assert_eq!(
        unstorable,
        [
            ("nested".into(), EntryKind::Repository),
            ("pipe".into(), EntryKind::Special)
        ]
    );
}

#[test]
fn a_submodule_that_is_renamed_is_moved_as_the_commit_that_it_is() {
    let mut base = tracked(&["lib", "other"]);
    base.0[0].mode = SUBMODULE;
    let found = diff_of(
        &base,
        &[
            whiteout("lib"),
            folder("deep", None),
            folder("deep/lib", Some("lib")),
            file("deep/lib/.git"),
        ],
    );
    assert_eq!(names(&found.gone), ["lib"]);
    assert_eq!(names(found.moved.keys()), ["deep/lib"]);
    assert!(
        found.written.is_empty() && found.unstorable.is_empty(),
        "{found:?}"
    );
}
