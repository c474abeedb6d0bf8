//! The rules for secrets on ten large source packages of the registries, which hold none: how many lines they find
//! something in all the same.
//!
//! `scripts/secrets-corpus` gets the packages.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it has measured"
)]

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use ralph_core::secret::Redaction;

/// The findings that are allowed for so many lines.
const LINES_A_FINDING: usize = 100_000;

/// Fewer lines than this are not the ten packages.
const FEWEST_LINES: usize = 3_000_000;

fn folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    // Both are relative to the workspace, as for the script.
    match (named("RALPH_CORPUS_DIR"), named("CARGO_TARGET_DIR")) {
        (Some(folder), _) => workspace.join(folder),
        (None, Some(target)) => workspace.join(target).join("secrets-corpus"),
        (None, None) => workspace.join("target/secrets-corpus"),
    }
}

/// Every file of text below a folder.
fn texts(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            texts(&path, found);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            if !bytes.contains(&0) {
                found.push((path, bytes));
            }
        }
    }
}

#[test]
fn at_most_one_finding_in_100_000_lines_of_packages_without_secrets() {
    let folder = folder();
    let packages = fs::read_dir(&folder).into_iter().flatten().flatten();
    let packages: Vec<PathBuf> = packages
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    assert!(
        packages.len() >= 10,
        "the packages are not in {}: run scripts/secrets-corpus",
        folder.display()
    );
    let redaction = Redaction::default();
    let (mut lines, mut bytes, mut findings, mut said) = (0, 0, 0, String::new());
    let mut took = 0.0;
    for package in packages {
        let mut files = Vec::new();
        texts(&package, &mut files);
        let began = Instant::now();
        for (path, text) in files {
            let found = redaction.find(&text);
            findings += found.len();
            lines += text.iter().filter(|byte| **byte == b'\n').count();
            bytes += text.len();
            for finding in found {
                let before = &text[..finding.at.start];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                // The rule and the place, never the value: one of them may be real.
                let path = path.strip_prefix(&folder).unwrap_or(&path).display();
                writeln!(said, "{path}:{line}: {}", finding.rule).unwrap();
            }
        }
        took += began.elapsed().as_secs_f64();
    }
    let summary = format!("{findings} findings in {lines} lines, {bytes} bytes, {took:.1} s");
    assert!(lines >= FEWEST_LINES, "{summary}");
    let allowed = lines / LINES_A_FINDING;
    assert!(findings <= allowed, "{summary}, {allowed} allowed:\n{said}");
    println!("{summary}\n{said}");
}
