//! Follows commands to the files that they run: scripts, targets, tasks, modules, and what these name.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsStr,
    path::{Component, Path, PathBuf},
};

use serde_json::Value;

use super::{
    DecidingFiles,
    ecosystem::{ALL, Ecosystem},
    pattern::name_matches,
    shell,
};
use crate::task::VerifyCommand;

/// Files that are read, and the bytes of each that are looked at.
const MAX_FILES: usize = 400;
const MAX_BYTES: usize = 512 * 1024;
/// Words of one command and of all, and searches through all files: a script can be written to be long.
const MAX_COMMAND: usize = 300;
const MAX_WORDS: usize = 100_000;
const MAX_SEARCHES: usize = 300;
/// Scripts that start scripts, and so on.
const MAX_DEPTH: usize = 10;

pub(super) fn follow(
    commands: &[VerifyCommand],
    tracked: &[PathBuf],
    read: &dyn Fn(&Path) -> Option<Vec<u8>>,
) -> DecidingFiles {
    let mut walk = Walk {
        files: tracked,
        tracked: tracked.iter().map(|path| path.as_os_str()).collect(),
        read,
        reads: 0,
        words: 0,
        searches: 0,
        derived: BTreeSet::new(),
        missing: BTreeSet::new(),
        tools: BTreeSet::new(),
        done: BTreeSet::new(),
    };
    let top = CommandPlace::default();
    for command in commands {
        match command {
            VerifyCommand::Shell(line) => walk.shell(line, &top),
            VerifyCommand::Argv(words) => walk.command(words, &top),
        }
    }
    let present: Vec<&'static Ecosystem> = ALL.iter().filter(|one| walk.has(one)).collect();
    let is_present = |path: &Path| {
        let mut names = present.iter().flat_map(|one| one.files);
        names.any(|name| name_matches(name, path))
    };
    for path in tracked {
        if is_runner_config(path) && is_present(path) {
            walk.config(path);
        }
    }
    DecidingFiles {
        missing: without_there(walk.missing, tracked),
        derived: walk.derived,
        present,
    }
}

/// Takes out the paths at which there is a file or a folder: none there would be new.
fn without_there(mut paths: BTreeSet<PathBuf>, tracked: &[PathBuf]) -> BTreeSet<PathBuf> {
    let wanted: HashSet<Vec<u8>> = paths.iter().map(|path| bytes_of(path).to_vec()).collect();
    if wanted.is_empty() {
        return paths;
    }
    let mut there: HashSet<&[u8]> = HashSet::new();
    for path in tracked.iter().map(|path| bytes_of(path)) {
        let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
        let prefixes = slashes.chain([path.len()]).map(|end| &path[..end]);
        there.extend(prefixes.filter(|prefix| wanted.contains(*prefix)));
    }
    paths.retain(|path| !there.contains(bytes_of(path)));
    paths
}

fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Where a command runs, and how deep it was found.
#[derive(Debug, Clone, Default)]
struct CommandPlace {
    folder: PathBuf,
    /// The folder of the script that has the command: it may go there first.
    script: PathBuf,
    depth: usize,
}

impl CommandPlace {
    fn at(&self, folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            script: folder.to_owned(),
            depth: self.depth + 1,
        }
    }
}

struct Walk<'a> {
    files: &'a [PathBuf],
    /// The same by their bytes: to compare paths part by part takes long in a large repository.
    tracked: HashSet<&'a OsStr>,
    read: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
    reads: usize,
    words: usize,
    searches: usize,
    derived: BTreeSet<PathBuf>,
    missing: BTreeSet<PathBuf>,
    /// The programs that are named.
    tools: BTreeSet<String>,
    /// Scripts, targets and tasks that were followed.
    done: BTreeSet<(PathBuf, String)>,
}

/// Programs that run the file which is their first argument.
const INTERPRETERS: [&str; 24] = [
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "source",
    ".",
    "exec",
    "python",
    "python3",
    "node",
    "ruby",
    "php",
    "perl",
    "tsx",
    "ts-node",
    "bun",
    "deno",
    "pwsh",
    "powershell",
    "lua",
    "Rscript",
    "bats",
];

/// Options whose value is a file that decides something.
const FILE_OPTIONS: [&str; 22] = [
    "-c",
    "-f",
    "-r",
    "-C",
    "-p",
    "--config",
    "--config-file",
    "--configuration",
    "--file",
    "--rcfile",
    "--settings",
    "--require",
    "--import",
    "--loader",
    "--project",
    "--tsconfig",
    "--setup",
    "--bootstrap",
    "--makefile",
    "--justfile",
    "--env-file",
    "--init-script",
];

const SCRIPT_ENDS: [&str; 8] = [
    ".sh", ".bash", ".zsh", ".ps1", ".bat", ".cmd", ".mk", ".bats",
];

impl Walk<'_> {
    /// Tells whether an ecosystem is used by a command, or there by one of its files.
    fn has(&self, one: &Ecosystem) -> bool {
        let used = one.tools.iter().any(|tool| self.tools.contains(*tool));
        let there = |path: &PathBuf| one.markers.iter().any(|marker| name_matches(marker, path));
        used || self.files.iter().any(there)
    }

    fn is_tracked(&self, path: &Path) -> bool {
        self.tracked.contains(path.as_os_str())
    }

    /// The tracked files that are so.
    fn all(&mut self, is: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        self.searches += 1;
        if self.searches > MAX_SEARCHES {
            return Vec::new();
        }
        self.files.iter().filter(|path| is(path)).cloned().collect()
    }

    fn text(&mut self, path: &Path) -> Option<String> {
        if self.reads >= MAX_FILES || !self.is_tracked(path) {
            return None;
        }
        self.reads += 1;
        let bytes = (self.read)(path)?;
        let end = bytes.len().min(MAX_BYTES);
        (!bytes[..end].contains(&0)).then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn shell(&mut self, text: &str, place: &CommandPlace) {
        if place.depth > MAX_DEPTH {
            return;
        }
        let mut place = place.clone();
        for words in shell::commands(text) {
            if let ["cd" | "pushd", to] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                // Most often a script goes to its own folder like that.
                place.folder = if to.contains(['$', '`']) {
                    place.script.clone()
                } else {
                    joined(&place.folder, to).unwrap_or_default()
                };
            } else {
                self.command(&words, &place);
            }
        }
    }

    /// Looks at each word of a command: what wraps it (`env`, `timeout`, `poetry run`) is any program.
    fn command(&mut self, words: &[String], place: &CommandPlace) {
        let words = &words[..words.len().min(MAX_COMMAND)];
        self.words += words.len();
        if self.words > MAX_WORDS {
            return;
        }
        let first = words.iter().position(|word| !is_assignment(word));
        for (at, word) in words.iter().enumerate() {
            let rest = &words[at + 1..];
            let before = at.checked_sub(1).map(|at| words[at].as_str());
            let is_run = Some(at) == first || is_run_by(words, at) || has_script_end(word);
            let option = word.split_once('=').filter(|(key, _)| key.starts_with('-'));
            if let Some((_, value)) = option.filter(|(key, _)| FILE_OPTIONS.contains(key)) {
                self.found(value, place);
            } else if is_run {
                self.named(word, place);
            } else if before.is_some_and(|before| FILE_OPTIONS.contains(&before)) {
                self.found(word, place);
            }
            // A command line in quotation marks: `sh -c "make test"`, `concurrently "npm:lint"`.
            if word.contains(char::is_whitespace) && word != words[0].as_str() {
                let place = CommandPlace {
                    depth: place.depth + 1,
                    ..place.clone()
                };
                self.shell(word, &place);
            }
            self.tool(program(word), rest, place);
        }
    }

    /// Takes a file that a command runs; where there is none, a new one would be run.
    fn named(&mut self, name: &str, place: &CommandPlace) {
        // A bare word is most often a program of the machine.
        if !self.found(name, place) && name.contains(['/', '.']) {
            let paths = places_of(name, place);
            paths.into_iter().for_each(|path| self.would_decide(path));
        }
    }

    /// Takes a file that a command runs or is configured by; tells if it is there.
    fn found(&mut self, name: &str, place: &CommandPlace) -> bool {
        let mut paths = places_of(name, place).into_iter();
        let path = paths.find(|path| self.is_tracked(path));
        if let Some(path) = &path {
            self.script(path, place);
        }
        path.is_some()
    }

    /// Notes a path at which a new file or folder would decide something.
    fn would_decide(&mut self, path: PathBuf) {
        if !path.as_os_str().is_empty() && !path.to_string_lossy().contains('$') {
            self.missing.insert(path);
        }
    }

    fn script(&mut self, path: &Path, place: &CommandPlace) {
        let is_new = self.derived.insert(path.to_owned());
        if !is_new || place.depth > MAX_DEPTH {
            return;
        }
        let Some(text) = self.text(path) else {
            return;
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let place = CommandPlace {
            folder: place.folder.clone(),
            script: folder.to_owned(),
            depth: place.depth + 1,
        };
        match language(path, &text) {
            Language::Shell => self.shell(&text, &place),
            Language::Program => self.program(&text, &place),
            Language::Configuration => self.shell(&shell::values(&text), &place),
        }
    }

    /// A script in another language starts programs by their names and imports files beside it.
    fn program(&mut self, text: &str, place: &CommandPlace) {
        for words in shell::program_lines(text) {
            let words = &words[..words.len().min(MAX_COMMAND)];
            self.words += words.len();
            if self.words > MAX_WORDS {
                return;
            }
            let imports = [
                "import",
                "from",
                "require",
                "require_relative",
                "include",
                "load",
            ];
            let is_import = words.iter().any(|word| imports.contains(&word.as_str()));
            for (at, word) in words.iter().enumerate() {
                if is_import && word.starts_with('.') {
                    self.import(word, place);
                } else if has_script_end(word) || word.starts_with("./") || is_run_by(words, at) {
                    self.named(word, place);
                }
                self.tool(program(word), &words[at + 1..], place);
            }
        }
    }

    fn import(&mut self, word: &str, place: &CommandPlace) {
        for end in [
            "",
            ".js",
            ".ts",
            ".mjs",
            ".cjs",
            ".rb",
            ".php",
            "/index.js",
            "/index.ts",
        ] {
            let Some(path) = joined(&place.script, &format!("{word}{end}")) else {
                continue;
            };
            if self.is_tracked(&path) {
                self.script(&path, place);
                return;
            }
            self.would_decide(path);
        }
    }

    fn tool(&mut self, tool: &str, rest: &[String], place: &CommandPlace) {
        let known = |one: &Ecosystem| one.tools.contains(&tool);
        if ALL.iter().any(known) {
            self.tools.insert(tool.to_owned());
        }
        match tool {
            "npm" | "pnpm" | "yarn" | "bun" | "npm-run-all" | "run-s" | "run-p" | "turbo"
            | "nx" | "lerna" | "concurrently" | "wireit" => self.node(tool, rest, place),
            "make" | "gmake" => self.make(rest, place),
            "just" => self.just(rest, place),
            "composer" => self.composer(rest, place),
            "cargo" => self.cargo(rest),
            "go" => self.go(rest, place),
            "python" | "python3" | "uv" | "coverage" => self.module(rest, place),
            "task" | "go-task" => self.whole(&["Taskfile*.yml", "Taskfile*.yaml"], place),
            "tox" => self.whole(&["tox.ini", "tox.toml"], place),
            "nox" => self.whole(&["noxfile.py"], place),
            "pre-commit" => self.whole(&[".pre-commit-config.yaml"], place),
            "poe" | "hatch" | "pdm" | "taskipy" | "rye" => self.whole(&["pyproject.toml"], place),
            "rake" => self.whole(&["Rakefile"], place),
            _ => {}
        }
    }

    /// Follows everything that files of these names run.
    fn whole(&mut self, names: &[&str], place: &CommandPlace) {
        if !self.done.insert((PathBuf::from(names[0]), String::new())) {
            return;
        }
        for path in self.all(|path| names.iter().any(|name| name_matches(name, path))) {
            let folder = path.parent().unwrap_or(Path::new(""));
            self.script(&path, &place.at(folder));
        }
    }

    fn node(&mut self, tool: &str, rest: &[String], place: &CommandPlace) {
        const EVERYWHERE: [&str; 17] = [
            "-w",
            "--workspace",
            "--workspaces",
            "-ws",
            "-r",
            "--recursive",
            "--filter",
            "-F",
            "--prefix",
            "--cwd",
            "-C",
            "workspace",
            "workspaces",
            "foreach",
            "run-many",
            "affected",
            "--dir",
        ];
        let everywhere = ["turbo", "nx", "lerna"].contains(&tool)
            || rest
                .iter()
                .any(|word| EVERYWHERE.contains(&word.split('=').next().unwrap_or("")));
        let near = place
            .folder
            .ancestors()
            .map(|folder| folder.join("package.json"))
            .find(|path| self.is_tracked(path));
        let packages: Vec<PathBuf> = match near {
            Some(near) if !everywhere => vec![near],
            _ => self.all(|path| name_matches("package.json", path)),
        };
        for package in packages {
            let Some(scripts) = self.scripts(&package) else {
                continue;
            };
            let asked = |name: &str| rest.iter().any(|word| asks_for(word, name));
            let folder = package.parent().unwrap_or(Path::new("")).to_owned();
            for (name, text) in &scripts {
                let base = name
                    .strip_prefix("pre")
                    .or_else(|| name.strip_prefix("post"));
                let around = base.is_some_and(|base| scripts.contains_key(base) && asked(base));
                let implied = match name.as_str() {
                    "test" | "pretest" | "posttest" => rest.iter().any(|w| w == "t" || w == "tst"),
                    "preinstall" | "install" | "postinstall" | "prepare" => rest
                        .iter()
                        .any(|w| ["ci", "install", "i"].contains(&w.as_str())),
                    _ => false,
                };
                if asked(name) || around || implied {
                    self.derived.insert(package.clone());
                    if self.done.insert((package.clone(), name.clone())) {
                        self.shell(text, &place.at(&folder));
                    }
                }
            }
        }
    }

    fn scripts(&mut self, package: &Path) -> Option<BTreeMap<String, String>> {
        let json: Value = serde_json::from_str(&self.text(package)?).ok()?;
        let scripts = json.get("scripts")?.as_object()?;
        let one = |(name, value): (&String, &Value)| {
            let text = match value {
                Value::Array(lines) => {
                    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                    lines.join("\n")
                }
                other => other.as_str()?.to_owned(),
            };
            Some((name.clone(), text))
        };
        Some(scripts.iter().filter_map(one).collect())
    }

    fn composer(&mut self, rest: &[String], place: &CommandPlace) {
        let path = place.folder.join("composer.json");
        let Some(scripts) = self.scripts(&path) else {
            return;
        };
        let mut open: Vec<String> = rest.to_vec();
        while let Some(name) = open.pop() {
            let Some(text) = scripts.get(&name) else {
                continue;
            };
            if !self.done.insert((path.clone(), name)) {
                continue;
            }
            self.derived.insert(path.clone());
            let words = text.split_whitespace();
            open.extend(
                words
                    .filter_map(|word| word.strip_prefix('@'))
                    .map(str::to_owned),
            );
            let text = text.replace("@php ", "php ");
            self.shell(&text, &place.at(&place.folder));
        }
    }

    fn make(&mut self, rest: &[String], place: &CommandPlace) {
        let asked = option_value(rest, &["-C", "--directory"]).unwrap_or(".");
        let file = option_value(rest, &["-f", "--file", "--makefile"]);
        let names = file.map_or(vec!["GNUmakefile", "makefile", "Makefile"], |file| {
            vec![file]
        });
        let top = PathBuf::new();
        let folders = [&place.folder, &place.script, &top];
        for folder in folders.into_iter().filter_map(|from| joined(from, asked)) {
            let paths = names.iter().filter_map(|name| joined(&folder, name));
            let found = paths.into_iter().find(|path| self.is_tracked(path));
            if let Some(path) = found {
                return self.rules(&path, rest, &place.at(&folder));
            }
        }
    }

    fn just(&mut self, rest: &[String], place: &CommandPlace) {
        let given = option_value(rest, &["-f", "--justfile"]);
        let given = given.and_then(|name| joined(&place.folder, name));
        let mut near = place
            .folder
            .ancestors()
            .flat_map(|folder| ["justfile", "Justfile", ".justfile"].map(|name| folder.join(name)));
        let found = given.or_else(|| near.find(|path| self.is_tracked(path)));
        if let Some(path) = found {
            self.rules(&path, rest, &place.at(&place.folder));
        }
    }

    /// Follows the rules of a makefile or justfile for the targets among `words`, or all of it where they
    /// are none of its own.
    fn rules(&mut self, path: &Path, words: &[String], place: &CommandPlace) {
        self.derived.insert(path.to_owned());
        if place.depth > MAX_DEPTH || !self.done.insert((path.to_owned(), words.join(" "))) {
            return;
        }
        let Some(text) = self.text(path) else {
            return;
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let (rules, rest) = read_rules(&text);
        let mut asked: Vec<String> = words
            .iter()
            .filter(|word| !word.starts_with('-') && !is_assignment(word))
            .cloned()
            .collect();
        if asked.is_empty() {
            asked.extend(first_target(&text));
        }
        let all = asked.iter().any(|name| !rules.contains_key(name));
        let mut lines = rest.clone();
        let mut seen = BTreeSet::new();
        let mut targets = Vec::new();
        while let Some(name) = asked.pop().filter(|_| !all) {
            if let Some(rule) = rules.get(&name)
                && seen.insert(name.clone())
            {
                lines.push_str(&rule.recipe);
                targets.push(name.clone());
                asked.extend(rule.needs.iter().cloned());
                // A file that a target is made from is one that its recipe may run.
                for need in &rule.needs {
                    if has_script_end(need) {
                        self.named(need, &place.at(&folder));
                    }
                }
            }
        }
        // To make, a target that is there as a file or a folder is done.
        let phony = rules.get(".PHONY").map_or(&[][..], |rule| &rule.needs);
        for target in targets.iter().filter(|name| !phony.contains(name)) {
            let path = joined(&place.folder, target).filter(|_| is_makefile(path));
            path.into_iter().for_each(|path| self.would_decide(path));
        }
        let followed = if all { &text } else { &lines };
        self.shell(&without_marks(followed), &place.at(&folder));
        for name in included(&rest) {
            self.include(&name, &folder, words, place);
        }
    }

    fn include(&mut self, name: &str, folder: &Path, words: &[String], place: &CommandPlace) {
        let Some(pattern) = joined(folder, name) else {
            return;
        };
        let last = pattern
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is = |path: &Path| path.parent() == pattern.parent() && name_matches(&last, path);
        self.would_decide(pattern.clone());
        for path in self.all(is) {
            let place = place.at(folder);
            self.rules(&path, words, &place);
        }
    }

    /// An alias or `run` leads to a package of the workspace whose code then decides.
    fn cargo(&mut self, rest: &[String]) {
        let Some(command) = rest.iter().find(|word| !word.starts_with(['-', '+'])) else {
            return;
        };
        let config = [".cargo/config.toml", ".cargo/config"].map(Path::new);
        let texts: Vec<String> = config.iter().filter_map(|path| self.text(path)).collect();
        let alias = texts.iter().find_map(|text| alias(text, command));
        let words = match &alias {
            Some(words) => words.as_slice(),
            None => rest,
        };
        if !words.iter().any(|word| word == "run" || word == "r") {
            return;
        }
        let name = option_value(
            words,
            &["-p", "--package", "--bin", "--example", "--manifest-path"],
        );
        let Some(name) = name else {
            return;
        };
        let name = name.trim_end_matches("/Cargo.toml");
        let bins = [format!("bin/{name}.rs"), format!("examples/{name}.rs")];
        let folder = format!("{name}/src/");
        let found = self.all(|path| {
            let text = path.to_string_lossy();
            let inside = text.starts_with(&folder) || text.contains(&format!("/{folder}"));
            inside || bins.iter().any(|end| path.ends_with(end))
        });
        self.derived.extend(found);
    }

    /// `go run ./tools/check` compiles that folder and runs it.
    fn go(&mut self, rest: &[String], place: &CommandPlace) {
        let [command, rest @ ..] = rest else {
            return;
        };
        let target = rest.iter().find(|word| !word.starts_with('-'));
        let Some(folder) = target.and_then(|name| joined(&place.folder, name)) else {
            return;
        };
        if command == "run" {
            let files = self.all(|path| {
                let is_go = path.extension().is_some_and(|end| end == "go");
                is_go && (path.parent() == Some(&folder) || path == folder)
            });
            self.derived.extend(files);
        }
    }

    /// `python -m pkg.mod`
    fn module(&mut self, rest: &[String], place: &CommandPlace) {
        let Some(module) = option_value(rest, &["-m"]) else {
            return;
        };
        let path = module.replace('.', "/");
        for name in [
            format!("{path}.py"),
            format!("{path}/__init__.py"),
            format!("{path}/__main__.py"),
            format!("src/{path}.py"),
            format!("src/{path}/__main__.py"),
        ] {
            self.named(&name, place);
        }
    }

    /// Takes the files that a runner's configuration loads: set-up files, reporters, presets.
    fn config(&mut self, path: &Path) {
        let Some(text) = self.text(path) else {
            return;
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut key = String::new();
        let marks = |c: char| c.is_whitespace() || "\"'`,()[]{};=".contains(c);
        let words: Vec<&str> = text.split(marks).filter(|word| !word.is_empty()).collect();
        for (at, word) in words.iter().enumerate() {
            let bare = word.trim_end_matches(':').to_ascii_lowercase();
            let is_key = word.ends_with(':') || words.get(at + 1) == Some(&":");
            if (is_key || is_config_key(&bare)) && !bare.is_empty() {
                key = bare;
                continue;
            }
            if !is_config_key(&key) {
                continue;
            }
            let name = word
                .trim_start_matches("<rootDir>/")
                .trim_start_matches("file:");
            for end in ["", ".js", ".ts", ".mjs", ".cjs", ".json"] {
                let found = joined(&folder, &format!("{name}{end}"));
                let found = found.filter(|path| self.is_tracked(path));
                if let Some(found) = found.filter(|found| found != path) {
                    self.derived.insert(found);
                    break;
                }
            }
        }
    }
}

/// Keys of configurations whose values are files that are loaded and run.
fn is_config_key(key: &str) -> bool {
    const WHOLE: [&str; 4] = ["require", "import", "from", "extends"];
    const PARTS: [&str; 13] = [
        "setup",
        "reporter",
        "transform",
        "resolver",
        "environment",
        "preset",
        "runner",
        "plugin",
        "loader",
        "sequencer",
        "teardown",
        "bootstrap",
        "supportfile",
    ];
    WHOLE.contains(&key) || PARTS.iter().any(|part| key.contains(part)) && !key.contains(['/', '.'])
}

fn is_runner_config(path: &Path) -> bool {
    const NAMES: [&str; 20] = [
        "jest.config.*",
        "jest.*.config.*",
        "jest-*.json",
        "vitest.config.*",
        "vitest.*.config.*",
        "vitest.workspace.*",
        ".mocharc*",
        "mocha.opts",
        "ava.config.*",
        "karma.conf.*",
        "playwright.config.*",
        "cypress.config.*",
        "cypress.json",
        "wdio.conf.*",
        "tsconfig*.json",
        ".eslintrc*",
        "babel.config.*",
        "phpunit*",
        ".phpunit.xml",
        ".rspec",
    ];
    let is_package = path.ends_with("package.json");
    is_package || NAMES.iter().any(|name| name_matches(name, path))
}

#[derive(Debug, Clone, Copy)]
enum Language {
    Shell,
    Program,
    Configuration,
}

fn language(path: &Path, text: &str) -> Language {
    let end = path
        .extension()
        .map(|end| end.to_string_lossy().to_ascii_lowercase());
    match end.as_deref() {
        Some("sh" | "bash" | "zsh" | "ksh" | "mk" | "bats" | "bat" | "cmd" | "ps1") => {
            Language::Shell
        }
        Some("yml" | "yaml" | "toml" | "ini" | "cfg" | "json" | "xml") => Language::Configuration,
        Some("py" | "js" | "ts" | "mjs" | "cjs" | "rb" | "php" | "pl" | "lua" | "go" | "rs") => {
            Language::Program
        }
        _ => {
            let first = text.lines().next().unwrap_or("");
            let is_shell = !first.starts_with("#!") || first.trim_end().ends_with("sh");
            if is_shell {
                Language::Shell
            } else {
                Language::Program
            }
        }
    }
}

/// Tells whether a word is the file that an interpreter before it runs.
fn is_run_by(words: &[String], at: usize) -> bool {
    let before = words[..at].iter().rev();
    let mut before = before.skip_while(|word| word.starts_with('-'));
    before.next().is_some_and(|word| {
        let name = program(word);
        INTERPRETERS.contains(&name) || name.starts_with("python3.") || name == "run"
    })
}

fn has_script_end(word: &str) -> bool {
    SCRIPT_ENDS.iter().any(|end| word.ends_with(end))
}

/// The name of the program that a word can be.
fn program(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.trim_end_matches(".cmd").trim_end_matches(".exe");
    // `$(MAKE)` and `${NPM}` are the programs that they are named after.
    match name.trim_matches(['$', '{', '}', '@']) {
        "MAKE" => "make",
        name => name,
    }
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Tells whether a word asks for a script of that name: by it, with a prefix, or by a glob.
fn asks_for(word: &str, name: &str) -> bool {
    let word = word
        .trim_start_matches("npm:")
        .trim_start_matches("--target=");
    match word.strip_suffix('*') {
        Some(start) => !start.is_empty() && name.starts_with(start),
        None => word == name || word.split_once(':').is_some_and(|(_, task)| task == name),
    }
}

fn option_value<'a>(words: &'a [String], names: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        let after = || words.get(at + 1).map(String::as_str);
        names
            .iter()
            .find_map(|name| match word.strip_prefix(name)? {
                "" => after(),
                rest if name.starts_with("--") => rest.strip_prefix('='),
                rest => Some(rest),
            })
    })
}

/// A path of the repository, without steps up and down; none if it leaves it.
fn joined(folder: &Path, name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.starts_with('/') || name.len() > 1_000 {
        return None;
    }
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// The paths that a command can mean by the name of a file.
fn places_of(name: &str, place: &CommandPlace) -> Vec<PathBuf> {
    let name = name
        .trim_start_matches("$(pwd)/")
        .trim_start_matches("$PWD/");
    let folders = [&place.folder, &place.script, &PathBuf::new()];
    let paths = folders
        .into_iter()
        .filter_map(|folder| joined(folder, name));
    paths.collect()
}

#[derive(Debug, Default)]
struct FileRule {
    needs: Vec<String>,
    recipe: String,
}

/// The rules of a makefile or justfile, and the lines that belong to none.
fn read_rules(text: &str) -> (BTreeMap<String, FileRule>, String) {
    let mut rules: BTreeMap<String, FileRule> = BTreeMap::new();
    let mut rest = String::new();
    let mut targets: Vec<String> = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        if line.starts_with(['\t', ' ']) && !targets.is_empty() {
            for target in &targets {
                let rule = rules.entry(target.clone()).or_default();
                rule.recipe.push_str(line.trim_start());
                rule.recipe.push('\n');
            }
        } else if let Some((names, needs)) = rule_head(line) {
            targets = names;
            for target in &targets {
                let rule = rules.entry(target.clone()).or_default();
                rule.needs.extend(needs.iter().cloned());
            }
        } else if !line.trim().is_empty() {
            targets.clear();
            rest.push_str(line);
            rest.push('\n');
        }
    }
    (rules, rest)
}

/// `test unit: build | fixtures`, and just's `test arg="x": build`.
fn rule_head(line: &str) -> Option<(Vec<String>, Vec<String>)> {
    if line.starts_with(['#', '\t', ' ', '@']) || line.contains(":=") {
        return None;
    }
    let (head, needs) = line.split_once(':')?;
    if head.split('"').next()?.contains('=') && !head.contains('"') {
        return None;
    }
    let names = head.split_whitespace().map(str::to_owned).collect();
    let needs = needs
        .split('#')
        .next()
        .unwrap_or("")
        .split(['|', ':', ' ', '\t']);
    let needs = needs
        .filter(|word| !word.is_empty())
        .map(|word| word.trim_matches(['(', ')', ';']));
    Some((names, needs.map(str::to_owned).collect()))
}

fn first_target(text: &str) -> Option<String> {
    let heads = text.lines().filter_map(rule_head);
    heads
        .flat_map(|(names, _)| names)
        .find(|name| !name.starts_with('.'))
}

/// The files that a makefile or justfile takes in.
fn included(text: &str) -> Vec<String> {
    let words = [
        "include", "-include", "sinclude", "import", "import?", "mod",
    ];
    text.lines()
        .filter_map(|line| {
            let (first, rest) = line.trim().split_once(char::is_whitespace)?;
            words.contains(&first).then_some(rest)
        })
        .flat_map(str::split_whitespace)
        .map(|word| word.trim_matches(['"', '\'']).to_owned())
        .collect()
}

fn is_makefile(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.to_ascii_lowercase().contains("just")
}

/// A recipe without the marks that make it quiet or go on.
fn without_marks(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.trim_start().trim_start_matches(['@', '-', '+']));
    lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace("$(MAKE)", "make")
        .replace("${MAKE}", "make")
}

/// The words of an alias of cargo: `xtask = "run --package xtask --"`, or a list of them.
fn alias(text: &str, name: &str) -> Option<Vec<String>> {
    let mut in_table = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_table = line == "[alias]";
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let key = key.trim();
        let is_named = (in_table && key == name) || key == format!("alias.{name}");
        if is_named {
            let words = value.split(|c: char| c.is_whitespace() || "\"',[]".contains(c));
            return Some(
                words
                    .filter(|word| !word.is_empty())
                    .map(str::to_owned)
                    .collect(),
            );
        }
    }
    None
}
