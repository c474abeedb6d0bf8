//! Reports in JUnit's XML that a command wrote to files.

use std::path::Path;

use super::{TestCounts, junit::JunitReader};
use crate::task::VerifyCommand;

/// Counts the tests of a report; none if the text is no report of tests.
pub fn count_report(text: &str) -> Option<TestCounts> {
    if !is_report(text) {
        return None;
    }
    let mut reader = JunitReader::default();
    for line in text.lines() {
        reader.read(line);
    }
    reader.counts()
}

/// Tells whether a file that a command wrote may be its report: by its ending, or as the command names it.
pub fn may_be_report(path: &Path, command: &VerifyCommand) -> bool {
    let ending = path.extension();
    if ending.is_some_and(|ending| ending.eq_ignore_ascii_case("xml")) {
        return true;
    }
    let text = command.to_string();
    let between = |c: char| c.is_whitespace() || "\"'=:,;<>|&()[]".contains(c);
    let mut words = text.split(between).map(|word| word.trim_matches('/'));
    words.any(|word| {
        let word = word.trim_start_matches("./");
        !word.is_empty() && path.ends_with(word)
    })
}

/// Looks at the first tag behind what may stand before it.
fn is_report(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = if rest.starts_with("<?") {
            "?>"
        } else if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<!") {
            ">"
        } else {
            return rest.starts_with("<testsuite");
        };
        let Some(at) = rest.find(end) else {
            return false;
        };
        rest = rest[at + end.len()..].trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_report_of_tests_is_counted() {
        let cases = "<testsuite name=\"a\" tests=\"9\">\n<testcase name=\"x\"/>\n<testcase name=\"y\"><skipped/></testcase>\n</testsuite>";
        for before in [
            "",
            "\u{feff}<?xml version=\"1.0\"?>\n",
            "<?xml version=\"1.0\"?><!-- made\n by > x -->\n<!DOCTYPE testsuite>\n",
        ] {
            let counts = count_report(&format!("{before}{cases}")).unwrap();
            assert_eq!((counts.passed, counts.skipped), (1, 1), "{before}");
        }
        let nested = format!("<testsuites tests=\"2\">\n{cases}\n</testsuites>\n");
        assert_eq!(count_report(&nested).unwrap().total(), 2);
        for other in [
            "",
            "text",
            "<coverage><testsuite tests=\"3\"/></coverage>",
            "<!-- <testsuite tests=\"3\"/>",
            "<project><testcase name=\"x\"/></project>",
        ] {
            assert_eq!(count_report(other), None, "{other}");
        }
    }

    #[test]
    fn a_report_is_known_by_its_ending_or_as_the_command_names_it() {
        let plain = VerifyCommand::Shell("make test".into());
        for path in ["junit.xml", "a/target/surefire-reports/TEST-a.XML"] {
            assert!(may_be_report(Path::new(path), &plain), "{path}");
        }
        assert!(!may_be_report(Path::new("out/result"), &plain));
        for line in [
            "pytest --junitxml=out/result",
            "vitest --reporter=junit --outputFile './out/result'",
            "cd out && go-junit-report > result",
            "t --gtest_output=xml:out/result",
        ] {
            let named = VerifyCommand::Shell(line.into());
            assert!(may_be_report(Path::new("out/result"), &named), "{line}");
            assert!(!may_be_report(Path::new("out/other"), &named), "{line}");
        }
    }
}
