//! Rules that ignore files, read far enough to tell for certain that they do not ignore a path.
//!
//! Few new files match a rule. Names are compared by how they begin and end alone: where that does not rule a
//! match out, git is asked. Rules that take paths back from others are left out, which can only lead to a
//! question more.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::config::{Setting, last_value};
use super::environment::GitEnvironment;

/// The file of a person's own rules.
#[derive(Debug)]
pub(super) enum ExcludesFile {
    At(PathBuf),
    /// Git knows.
    Unknown,
}

impl ExcludesFile {
    pub(super) fn of(settings: &[Setting], environment: &GitEnvironment) -> Self {
        let var = |name: &str| {
            let mut vars = environment.vars();
            let found = vars.find(|(key, value)| *key == name && !value.is_empty());
            found.map(|(_, value)| PathBuf::from(value))
        };
        let path = match last_value(settings, "core.excludesfile") {
            Some(set) => {
                let path = PathBuf::from(OsString::from_vec(set.to_vec()));
                match path.strip_prefix("~") {
                    Ok(rest) => var("HOME").map(|home| home.join(rest)),
                    Err(_) => Some(path),
                }
            }
            None => var("XDG_CONFIG_HOME")
                .or_else(|| Some(var("HOME")?.join(".config")))
                .map(|folder| folder.join("git/ignore")),
        };
        match path.filter(|path| path.is_absolute()) {
            Some(path) => Self::At(path),
            None => Self::Unknown,
        }
    }
}

/// Rules, as far as they are understood.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    names: Vec<NameRule>,
    /// One of them may match anything.
    may_ignore_all: bool,
}

/// The names that a rule can match.
#[derive(Debug, PartialEq, Eq)]
enum NameRule {
    Exact(Vec<u8>),
    Like {
        start: Vec<u8>,
        /// The longest text between the two.
        within: Vec<u8>,
        end: Vec<u8>,
    },
}

impl NameRule {
    fn may_match(&self, name: &[u8]) -> bool {
        match self {
            Self::Exact(exact) => name == exact,
            Self::Like { start, within, end } => {
                name.len() >= start.len() + within.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
                    && memchr::memmem::find(name, within).is_some()
            }
        }
    }
}

impl IgnoreRules {
    /// Adds the rules of a file; one that is not there has none.
    pub(super) fn add_file(&mut self, path: &Path) {
        match fs::read(path) {
            Ok(text) => self.add(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.may_ignore_all = true,
        }
    }

    pub(super) fn add_excludes(&mut self, file: &ExcludesFile) {
        match file {
            ExcludesFile::At(path) => self.add_file(path),
            ExcludesFile::Unknown => self.may_ignore_all = true,
        }
    }

    pub(super) fn add(&mut self, text: &[u8]) {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for line in text.split(|byte| *byte == b'\n') {
            match rule_of(line) {
                Line::Empty => {}
                Line::Rule(rule) => self.names.push(rule),
                Line::Unknown => self.may_ignore_all = true,
            }
        }
    }

    /// Returns false only where none of the rules matches the path or a folder that it lies in.
    pub(super) fn may_ignore(&self, path: &Path) -> bool {
        let mut names = path.iter().map(OsStrExt::as_bytes);
        self.may_ignore_all || names.any(|name| self.names.iter().any(|rule| rule.may_match(name)))
    }
}

enum Line {
    Empty,
    Rule(NameRule),
    Unknown,
}

fn rule_of(line: &[u8]) -> Line {
    if line.contains(&b'\\') || line.contains(&b'\r') {
        return Line::Unknown;
    }
    let end = line.iter().rposition(|byte| *byte != b' ');
    let line = end.and_then(|end| line.get(..=end)).unwrap_or_default();
    if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"!") {
        return Line::Empty;
    }
    let line = line.strip_suffix(b"/").unwrap_or(line);
    let set = memchr::memchr(b'[', line);
    let slash = memchr::memrchr(b'/', line);
    // A slash in a set of characters would not part names.
    if set.is_some_and(|set| slash.is_some_and(|slash| slash > set)) {
        return Line::Unknown;
    }
    let name = slash.map_or(line, |slash| &line[slash + 1..]);
    let is_special = |byte: &u8| b"*?[]".contains(byte);
    if !name.iter().any(is_special) {
        return Line::Rule(NameRule::Exact(name.to_vec()));
    }
    let parts =
        |text: &[u8]| -> Vec<Vec<u8>> { text.split(is_special).map(<[u8]>::to_vec).collect() };
    // From the first set of characters to the last nothing is read.
    let mut parts = match name.iter().position(|byte| *byte == b'[') {
        Some(set) => {
            let end = name.iter().rposition(|byte| *byte == b']');
            let rest = end.filter(|end| *end > set).map(|end| &name[end + 1..]);
            [parts(&name[..set]), parts(rest.unwrap_or_default())].concat()
        }
        None => parts(name),
    };
    let end = parts.pop().unwrap_or_default();
    let mut parts = parts.into_iter();
    let start = parts.next().unwrap_or_default();
    let within = parts.max_by_key(Vec::len);
    Line::Rule(NameRule::Like {
        start,
        within: within.unwrap_or_default(),
        end,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const PATHS: [&str; 22] = [
        "a",
        "b.log",
        "src/a.rs",
        "src/b.log",
        "target/debug/x",
        "crates/a/target/x",
        "node_modules/m/index.js",
        "x.pyc",
        "x.pyo",
        "Bin/out",
        "docs/a.html",
        "docs/deep/a.html",
        "foo/x/bar",
        "foo/bar",
        "trailing ",
        "#hash",
        "!bang",
        "[set]",
        "a]b",
        "é.txt",
        "q?mark",
        ".env.local",
    ];

    /// The paths that git ignores by these rules.
    fn ignored_by_git(rules: &str) -> Vec<&'static str> {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.args(args).current_dir(folder.path());
            command
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap());
            command.env("HOME", folder.path());
            command
        };
        assert!(git(&["init", "-q"]).status().unwrap().success());
        fs::write(folder.path().join(".gitignore"), rules).unwrap();
        let mut asked = git(&["check-ignore", "--no-index", "-z", "--stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let list = PATHS.map(|path| format!("./{path}\0")).concat();
        let mut stdin = asked.stdin.take().unwrap();
        stdin.write_all(list.as_bytes()).unwrap();
        drop(stdin);
        let output = asked.wait_with_output().unwrap().stdout;
        let said = String::from_utf8(output).unwrap();
        let is_said = |path: &str| said.split('\0').any(|one| one == format!("./{path}"));
        PATHS.into_iter().filter(|path| is_said(path)).collect()
    }

    #[test]
    fn nothing_is_ruled_out_that_git_ignores() {
        for rules in [
            "*.log",
            "/target",
            "target/",
            "node_modules",
            "*.py[co]",
            "[Bb]in/",
            "docs/*.html",
            "docs/**",
            "foo/**/bar",
            "**/bar",
            "a",
            "*",
            "?",
            "**",
            "/*",
            "src/",
            "trailing\\ ",
            "trailing ",
            "\\#hash",
            "#hash",
            "\\!bang",
            "!bang",
            "[[]set]",
            "[a/b]x",
            "a[]]b",
            "a]b",
            "*.txt",
            "é*",
            "q\\?mark",
            "q?mark",
            ".env*",
            "\u{feff}a",
            "a\r",
            "*.log\n!b.log",
            "x.py[!d]",
            "*a*.[a-z]tml",
            "d*s/*e*/*",
            "f*o/bar",
            "doc?/deep/a.html",
            "*/",
            "/",
            "//",
            " a",
        ] {
            let mut known = IgnoreRules::default();
            known.add(rules.as_bytes());
            for path in ignored_by_git(rules) {
                assert!(
                    known.may_ignore(Path::new(path)),
                    "{rules:?} ignores {path}"
                );
            }
        }
    }

    #[test]
    fn usual_rules_rule_usual_paths_out() {
        let mut known = IgnoreRules::default();
        known.add(
            b"# made\n\n/target\nnode_modules/\n*.log\n.env*\n__pycache__/\n*.py[cod]\ndist/**/x\n!keep.log\nbuild/\n",
        );
        for path in [
            "src/main.rs",
            "README.md",
            "a/b/c.txt",
            "logs",
            "environment",
            "x.pl",
        ] {
            assert!(!known.may_ignore(Path::new(path)), "{path}");
        }
        for path in ["target/x", "a/node_modules/b", "x.log", ".envrc", "x.pyc"] {
            assert!(known.may_ignore(Path::new(path)), "{path}");
        }
        known.add(b"odd\\ one\n");
        assert!(known.may_ignore(Path::new("src/main.rs")));
    }

    #[test]
    fn a_persons_own_rules_are_found_where_git_finds_them() {
        let environment = |vars: &[(&str, &str)]| {
            GitEnvironment::from_vars(
                vars.iter()
                    .map(|(n, v)| (OsString::from(n), OsString::from(v))),
            )
        };
        let set = |value: &str| {
            vec![Setting {
                scope: super::super::config::ConfigScope::User,
                key: "core.excludesfile".into(),
                value: Some(value.as_bytes().to_vec()),
            }]
        };
        let home = [("HOME", "/h/p")];
        for (settings, vars, expected) in [
            (vec![], &home[..], Some("/h/p/.config/git/ignore")),
            (
                vec![],
                &[("HOME", "/h/p"), ("XDG_CONFIG_HOME", "/c")],
                Some("/c/git/ignore"),
            ),
            (vec![], &[], None),
            (set("/etc/rules"), &home, Some("/etc/rules")),
            (set("~/rules"), &home, Some("/h/p/rules")),
            (set("~other/rules"), &home, None),
            (set("rules"), &home, None),
        ] {
            let found = match ExcludesFile::of(&settings, &environment(vars)) {
                ExcludesFile::At(path) => Some(path),
                ExcludesFile::Unknown => None,
            };
            assert_eq!(
                found.as_deref(),
                expected.map(Path::new),
                "{settings:?} {vars:?}"
            );
        }
    }
}
