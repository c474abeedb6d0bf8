//! Code that holds the summary of a test runner: it can be meant to pass for one.

use std::{collections::HashSet, path::Path};

use crate::verify::count_tests;

/// Endings of files with code, which can print something.
const CODE: [&str; 30] = [
    "rs", "py", "js", "ts", "jsx", "tsx", "mjs", "cjs", "mts", "cts", "go", "php", "rb", "java",
    "kt", "kts", "scala", "groovy", "sh", "bash", "zsh", "pl", "lua", "c", "cc", "cpp", "cs", "ex",
    "exs", "mk",
];
/// A longer line is none that a person would write.
const MAX_LINE: usize = 2_000;

/// Tells whether a file is one of code, by its ending: also one without, such as a script.
pub(super) fn is_code(path: &Path) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some(ending) => CODE.contains(&ending.to_ascii_lowercase().as_str()),
        None => true,
    }
}

/// Tells whether a text of code holds a summary of tests in lines that are not known.
pub(super) fn holds_summary(text: &str, known: &HashSet<&str>) -> bool {
    let mut printed = String::new();
    for line in text.lines().map(str::trim) {
        if line.len() > MAX_LINE || known.contains(line) {
            continue;
        }
        for piece in literals(line) {
            printed.push_str(&piece);
            printed.push('\n');
        }
    }
    count_tests(&printed).is_some_and(|counts| counts.ran() > 0)
}

/// The texts in quotation marks, with the line breaks that they would print.
fn literals(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(char, String)> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match &mut open {
            None if matches!(c, '"' | '\'' | '`') => open = Some((c, String::new())),
            None => {}
            Some((quote, text)) if c == *quote => {
                found.push(std::mem::take(text));
                open = None;
            }
            Some((_, text)) if c == '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(c) => text.push(c),
                None => {}
            },
            Some((_, text)) => text.push(c),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_in_code_is_found_whatever_runner_it_is_of() {
        for text in [
            "eprintln!(\"test result: ok. 500 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\");",
            "print(\"Ran 3 tests in 0.001s\\n\\nOK\", file=sys.stderr)",
            "print('Ran 3 tests in 0.001s')\nprint()\nprint('OK')",
            "console.log('Tests:       9 passed, 9 total')",
            "echo '===== 12 passed in 0.10s ====='",
            "os.write(1, b\"<testsuite><testcase name='a'/></testsuite>\")",
        ] {
            assert!(holds_summary(text, &HashSet::new()), "{text}");
            let known: HashSet<&str> = text.lines().map(str::trim).collect();
            assert!(!holds_summary(text, &known), "{text}");
        }
    }

    #[test]
    fn other_code_holds_none() {
        for text in [
            "assert_eq!(passed, 3); // it's 3 passed",
            "self.assertEqual(run(), 'ok')",
            "log.info('tests passed')",
            "it('has 3 tests', () => {})",
            "print(f'{n} passed in {t}s')",
        ] {
            assert!(!holds_summary(text, &HashSet::new()), "{text}");
        }
    }

    #[test]
    fn prose_and_data_are_no_code() {
        for path in ["README.md", "docs/a.rst", "out.txt", "fixtures/junit.xml"] {
            assert!(!is_code(Path::new(path)), "{path}");
        }
        for path in ["tests/a.py", "Makefile", "run", "src/lib.RS"] {
            assert!(is_code(Path::new(path)), "{path}");
        }
    }
}
