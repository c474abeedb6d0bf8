//! Recognises files of tests by name and place, and in them the tests that are there, skipped or gone.
//!
//! By the words that runners of each language know, line by line. No parser: a mark in a text is taken for
//! one, and a test that is declared in an unusual way is not seen.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::LazyLock,
};

use regex::Regex;

/// Marks that are told of one file.
const MAX_MARKS: usize = 20;
/// Marks of one file that are looked at.
const MAX_SEEN: usize = 2_000;
/// Lines around a mark in which the name of its test is looked for.
const LINES_BELOW: usize = 8;
const LINES_ABOVE: usize = 60;

/// A test that is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkedTest {
    pub(super) mark: TestMark,
    /// Its name, or the line of the mark where it has none.
    pub(super) test: String,
    pub(super) line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestMark {
    Skip,
    /// All others of its file are skipped.
    Only,
}

/// The languages that tests are written in, as far as they mark them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TestLanguage {
    Rust,
    Python,
    Javascript,
    Go,
    Jvm,
    Php,
    Ruby,
    Dotnet,
    Swift,
    Dart,
    Elixir,
    Cpp,
    Haskell,
    Shell,
    /// Tests are told by name and place alone.
    Other,
}

fn language(path: &Path) -> Option<TestLanguage> {
    let end = path.extension()?.to_string_lossy().to_ascii_lowercase();
    Some(match end.as_str() {
        "rs" => TestLanguage::Rust,
        "py" => TestLanguage::Python,
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte"
        | "coffee" => TestLanguage::Javascript,
        "go" => TestLanguage::Go,
        "java" | "kt" | "kts" | "groovy" | "scala" => TestLanguage::Jvm,
        "php" => TestLanguage::Php,
        "rb" => TestLanguage::Ruby,
        "cs" | "fs" | "vb" => TestLanguage::Dotnet,
        "swift" => TestLanguage::Swift,
        "dart" => TestLanguage::Dart,
        "ex" | "exs" => TestLanguage::Elixir,
        "c" | "cc" | "cpp" | "cxx" | "m" | "mm" => TestLanguage::Cpp,
        "hs" => TestLanguage::Haskell,
        "sh" | "bats" | "bash" => TestLanguage::Shell,
        "t" | "feature" | "robot" | "lua" | "pl" | "clj" | "cljs" | "erl" | "elm" | "zig"
        | "jl" | "r" | "nim" | "ml" => TestLanguage::Other,
        _ => return None,
    })
}

/// Folders whose code is tests, and folders in them whose files are only read by tests.
const TEST_FOLDERS: [&str; 10] = [
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testing",
    "e2e",
    "androidtest",
    "integration_test",
    "t",
];
const DATA_FOLDERS: [&str; 5] = [
    "fixtures",
    "__fixtures__",
    "testdata",
    "__mocks__",
    "node_modules",
];

/// Tells whether a file holds tests, by its name and place.
pub fn is_test_file(path: &Path) -> bool {
    let Some(language) = language(path) else {
        return false;
    };
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let folders: Vec<String> = path
        .parent()
        .into_iter()
        .flat_map(Path::iter)
        .map(|part| part.to_string_lossy().to_ascii_lowercase())
        .collect();
    if folders
        .iter()
        .any(|folder| DATA_FOLDERS.contains(&folder.as_str()))
    {
        return false;
    }
    let stem = name.split('.').next().unwrap_or_default();
    // Go compiles nothing else as a test, wherever it is.
    if language == TestLanguage::Go {
        return name.ends_with("_test.go");
    }
    let in_folder = folders.iter().any(|folder| {
        TEST_FOLDERS.contains(&folder.as_str()) && (folder != "t" || name.ends_with(".t"))
    });
    in_folder
        || [".test.", ".spec.", ".cy.", ".e2e.", ".e2e-spec."]
            .iter()
            .any(|part| name.contains(part))
        || ["test_", "Test_"]
            .iter()
            .any(|start| stem.starts_with(start))
        || [
            "_test",
            "_tests",
            "_spec",
            "_unittest",
            "-test",
            "-spec",
            "Test",
            "Tests",
            "Spec",
            "TestCase",
        ]
        .iter()
        .any(|end| stem.ends_with(end))
        || ["tests", "test"].contains(&stem)
            && matches!(language, TestLanguage::Rust | TestLanguage::Python)
        || stem.ends_with("IT") && language == TestLanguage::Jvm
        || stem.starts_with("Test") && language == TestLanguage::Jvm && stem.len() > 4
        || ["bats", "feature", "robot"]
            .iter()
            .any(|end| path.extension().is_some_and(|e| e == *end))
}

/// Tells whether a file can hold tests: in some languages they stand beside the code.
pub(super) fn may_have_tests(path: &Path) -> bool {
    language(path) == Some(TestLanguage::Rust) || is_test_file(path)
}

/// Tells whether code has tests beside it, so that its base is worth reading too. Where all of them are gone
/// the count of tests says so.
pub(super) fn has_inline_tests(text: &[u8]) -> bool {
    [
        &b"test]"[..],
        b"#[ignore",
        b"cfg(any())",
        b"cfg(false)",
        b"test(",
    ]
    .iter()
    .any(|mark| memchr::memmem::find(text, mark).is_some())
}

struct Marks {
    skip: Regex,
    only: Option<Regex>,
}

static MARKS: LazyLock<BTreeMap<TestLanguage, Marks>> = LazyLock::new(|| {
    let skips: [(TestLanguage, &str, Option<&str>); 14] = [
        (
            TestLanguage::Rust,
            r"^\s*(?:#\[[^\]]*\]\s*)*#\[(?:ignore\b|cfg_attr\(.*\bignore\b|cfg\((?:any\(\)|false)\))",
            None,
        ),
        (
            TestLanguage::Python,
            r"(?:@|=\s*\[?\s*|,\s*marks=\[?)\s*(?:pytest\.)?mark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\(|@(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)\b|\bself\.skipTest\(|\braise\s+(?:unittest\.)?SkipTest\b|__test__\s*=\s*False|\bcollect_ignore(?:_glob)?\s*=",
            None,
        ),
        (
            TestLanguage::Javascript,
            r"\b(?:it|test|describe|context|suite|specify)(?:\.\w+)*\.(?:skip|skipIf|todo|fixme|fails|failing)\b|\bx(?:it|test|describe|context|specify)\s*[.(]|\b(?:this|t|ctx|context)\.(?:skip|todo)\(|\b(?:skip|todo):\s*(?:true|['\x22`])|^\s*pending\(",
            Some(
                r"\b(?:it|test|describe|context|suite|specify)(?:\.\w+)*\.only\b|\bf(?:it|describe|context)\s*\(|\bonly:\s*true",
            ),
        ),
        (
            TestLanguage::Go,
            r"\b[tbf]\.Skip(?:f|Now)?\(|^//go:build\b.*\b(?:ignore|never|skip)\b|^// \+build\b.*\bignore\b|\bSkip\(\)|\b(?:PIt|XIt|PDescribe|XDescribe|PContext|XContext)\(",
            Some(r"\bF(?:It|Describe|Context)\("),
        ),
        (
            TestLanguage::Jvm,
            r"@(?:org\.[\w.]+\.)?(?:Disabled\w*|Ignore|IgnoreIf|IgnoreRest|PendingFeature|EnabledIf\w*)\b|\bassum(?:e|ing)(?:True|That)?\(\s*false\b|\bassumeTrue\(|@Test\(.*enabled\s*=\s*false|^\s*ignore\(|\bx(?:it|test|describe)\(",
            None,
        ),
        (
            TestLanguage::Php,
            r"\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\(|#\[(?:Skip|Ignore|Requires)\w*",
            Some(r"->only\("),
        ),
        (
            TestLanguage::Ruby,
            r"^\s*x(?:it|describe|context|specify|example|feature|scenario)\b|^\s*(?:skip|pending)\b|,\s*:?(?:skip|pending)\b",
            Some(r"^\s*f(?:it|describe|context|specify)\b|,\s*:?focus\b"),
        ),
        (
            TestLanguage::Dotnet,
            r"\[(?:Ignore|Explicit)\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive)\(|\bSkip\.(?:If|Always)",
            None,
        ),
        (
            TestLanguage::Swift,
            r"\bXCTSkip\w*|\.disabled\(|\bxit\(|\bxdescribe\(",
            None,
        ),
        (
            TestLanguage::Dart,
            r"\bskip:\s*|@Skip\(",
            Some(r"\bsolo:\s*true"),
        ),
        (
            TestLanguage::Elixir,
            r"@(?:module|describe)?tag\s+(?::skip|skip:)",
            None,
        ),
        (
            TestLanguage::Cpp,
            r"\bGTEST_SKIP\b|\bDISABLED_|\[!?(?:shouldfail|mayfail|hide)\]|\[\.\]|^\s*SKIP\(|\bXCTSkip|disabled\(\)",
            None,
        ),
        (
            TestLanguage::Haskell,
            r"^\s*(?:xit|xdescribe|pending|pendingWith)\b",
            None,
        ),
        (TestLanguage::Shell, r"^\s*skip\b", None),
    ];
    let compile = |pattern: &str| Regex::new(pattern).expect("a pattern of this file");
    skips
        .into_iter()
        .map(|(language, skip, only)| {
            let marks = Marks {
                skip: compile(skip),
                only: only.map(compile),
            };
            (language, marks)
        })
        .collect()
});

/// Returns the marks of `now` that stood not in `before`, each with the test that it is for.
pub(super) fn newly_marked(path: &Path, before: &str, now: &str) -> Vec<MarkedTest> {
    let Some(marks) = language(path).and_then(|language| MARKS.get(&language)) else {
        return Vec::new();
    };
    let comment = comment_of(path);
    let kind = |line: &str| {
        if is_comment(line, comment) {
            return None;
        }
        if marks.only.as_ref().is_some_and(|only| only.is_match(line)) {
            return Some(TestMark::Only);
        }
        marks.skip.is_match(line).then_some(TestMark::Skip)
    };
    let marked = |text: &str| -> Vec<MarkedTest> {
        let lines: Vec<&str> = text.lines().collect();
        let found = lines.iter().enumerate().filter_map(|(at, line)| {
            Some(MarkedTest {
                mark: kind(line)?,
                test: test_at(&lines, at),
                line: at + 1,
            })
        });
        found.take(MAX_SEEN).collect()
    };
    let mut known: Vec<MarkedTest> = marked(before);
    let mut new = Vec::new();
    for found in marked(now) {
        let same = |old: &MarkedTest| old.mark == found.mark && old.test == found.test;
        match known.iter().position(same) {
            Some(at) => {
                known.swap_remove(at);
            }
            None if new.len() < MAX_MARKS => new.push(found),
            None => {}
        }
    }
    new
}

/// The name of a test where it is declared: `fn name(`, `def name(`, `it('name'`, `TEST(A, name)`.
static DECLARED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)\b(?:fn|def|func|fun|function|class|void|Task|mod)\s+`?(?P<name>[^\W\d][\w.]*)
        | (?:\b(?:x|f|p|P|X|F)?(?:it|test|describe|context|suite|specify|It|Describe|Context|scenario|feature|example)(?:\.\w+)*\s*\(?\s*(?:\w+\(\s*)?)["'`](?P<title>[^"'`]+)["'`]
        | @test\s+["'](?P<bats>[^"']+)["']
        | \bTEST\w*\(\s*(?P<cpp>\w+(?:,\s*\w+)?)"#,
    )
    .expect("a pattern of this file")
});

fn declared(line: &str) -> Option<String> {
    let found = DECLARED.captures(line)?;
    let name = ["name", "title", "bats", "cpp"]
        .iter()
        .find_map(|group| found.name(group))?;
    Some(name.as_str().chars().take(120).collect())
}

/// The test that a mark in that line is for: declared in the line itself, right below an attribute, or
/// above a statement in its body.
fn test_at(lines: &[&str], at: usize) -> String {
    let line = lines[at].trim();
    if let Some(name) = declared(line) {
        return name;
    }
    let is_attribute = line.starts_with(['#', '@', '[']) && !line.starts_with("# ");
    let below = lines
        .iter()
        .skip(at + 1)
        .take(LINES_BELOW)
        .find_map(|line| declared(line));
    let above = lines[..at]
        .iter()
        .rev()
        .take(LINES_ABOVE)
        .find_map(|line| declared(line));
    let found = if is_attribute { below } else { above };
    found.unwrap_or_else(|| line.chars().take(120).collect())
}

fn comment_of(path: &Path) -> &'static str {
    match language(path) {
        Some(
            TestLanguage::Python | TestLanguage::Ruby | TestLanguage::Elixir | TestLanguage::Shell,
        ) => "#",
        Some(TestLanguage::Haskell) => "--",
        _ => "//",
    }
}

fn is_comment(line: &str, comment: &str) -> bool {
    let line = line.trim_start();
    // What tells a compiler to leave a file out is written as a comment.
    let is_directive = line.starts_with("//go:build") || line.starts_with("// +build");
    (line.starts_with(comment) || line.starts_with("* ") || line.starts_with("/*")) && !is_directive
}

/// The names of tests that are gone from a file that has fewer of them. A file with as many as before has
/// renamed some.
pub(super) fn removed_tests(path: &Path, before: &str, now: &str) -> Vec<String> {
    let (had, has) = (test_names(path, before), test_names(path, now));
    if has.len() >= had.len() {
        return Vec::new();
    }
    let left: BTreeSet<&String> = has.iter().collect();
    let gone = had.iter().filter(|name| !left.contains(name));
    gone.take(MAX_MARKS).cloned().collect()
}

/// The tests that a file declares.
fn test_names(path: &Path, text: &str) -> Vec<String> {
    let Some(language) = language(path) else {
        return Vec::new();
    };
    let comment = comment_of(path);
    let mut names = Vec::new();
    let mut attribute = false;
    for line in text.lines().filter(|line| !is_comment(line, comment)) {
        let code = line.trim_start();
        let is_test = match language {
            TestLanguage::Rust | TestLanguage::Jvm | TestLanguage::Dotnet => {
                let is_marked = attribute || is_test_attribute(code);
                attribute = is_marked && declared(code).is_none();
                is_marked
            }
            TestLanguage::Python | TestLanguage::Php | TestLanguage::Swift => {
                declared(code).is_some_and(|name| name.starts_with("test"))
            }
            TestLanguage::Go => code.starts_with("func Test") || code.starts_with("func Fuzz"),
            TestLanguage::Javascript
            | TestLanguage::Ruby
            | TestLanguage::Dart
            | TestLanguage::Elixir => ["it", "test", "xit", "fit", "specify", "testWidgets"]
                .iter()
                .any(|word| {
                    let rest = code.strip_prefix(word);
                    rest.is_some_and(|rest| rest.starts_with(['(', '.', ' ', '"', '\'']))
                }),
            TestLanguage::Cpp => code.starts_with("TEST"),
            TestLanguage::Shell => code.starts_with("@test"),
            TestLanguage::Haskell | TestLanguage::Other => false,
        };
        if is_test && let Some(name) = declared(code) {
            names.push(name);
        }
    }
    names
}

/// `#[test]`, `#[tokio::test]`, `@Test`, `[Fact]`
fn is_test_attribute(code: &str) -> bool {
    static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^(?:#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b|@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b|\[(?:Fact|Theory|Test|TestCase|TestMethod)\b)",
        )
        .expect("a pattern of this file")
    });
    ATTRIBUTE.is_match(code)
}

#[cfg(test)]
mod tests;
