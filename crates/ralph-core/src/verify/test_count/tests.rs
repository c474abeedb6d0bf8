//! Tests of counts: outputs of runners with what each counts, and what two counts come to.
//!
//! The samples of cargo, nextest, pytest, unittest, jest, vitest, mocha and node were printed by them; the
//! others are written after their formats.

use proptest::prelude::*;

use super::*;

struct Sample {
    name: &'static str,
    output: &'static str,
    /// Passed, failed and skipped.
    counts: [u64; 3],
    skipped: &'static [&'static str],
}

macro_rules! sample {
    ($file:literal, $counts:expr, $skipped:expr) => {
        Sample {
            name: $file,
            output: include_str!(concat!("samples/", $file, ".txt")),
            counts: $counts,
            skipped: &$skipped,
        }
    };
}

#[rustfmt::skip]
const SAMPLES: &[Sample] = &[
    sample!("cargo_ok", [5, 0, 3], ["src/lib.rs - add", "tests::remote", "tests::slow"]),
    sample!("cargo_fail", [4, 1, 3], ["src/lib.rs - add", "tests::remote", "tests::slow"]),
    sample!("cargo_color", [5, 0, 3], ["src/lib.rs - add", "tests::remote", "tests::slow"]),
    sample!("cargo_q", [5, 0, 3], []),
    sample!("nextest_ok", [4, 0, 2], []),
    sample!("nextest_fail", [3, 1, 2], []),
    sample!("nextest_all", [4, 0, 2], ["demo tests::remote", "demo tests::slow"]),
    sample!("nextest_nocapture", [1, 1, 2], []),
    sample!("nextest_none", [0, 0, 6], []),
    sample!("pytest_ok", [1, 0, 0], []),
    sample!("pytest_fail", [5, 1, 4], []),
    sample!("pytest_q", [5, 1, 4], []),
    sample!("pytest_xdist", [5, 1, 4], []),
    sample!("pytest_color", [5, 1, 4], []),
    sample!("pytest_v", [5, 1, 4], ["t/test_a.py::test_skipped", "t/test_a.py::test_xfail", "t/test_b.py::B::test_three", "t/test_b.py::B::test_two"]),
    sample!("pytest_rs", [5, 1, 4], ["t/test_a.py: no network", "t/test_b.py: later"]),
    sample!("pytest_none", [0, 0, 0], []),
    sample!("pytest_empty", [0, 0, 0], []),
    sample!("pytest_junit", [5, 1, 4], ["t.test_a test_skipped", "t.test_a test_xfail", "t.test_b.B test_three", "t.test_b.B test_two"]),
    sample!("unittest_ok", [1, 0, 2], []),
    sample!("unittest_v", [1, 0, 2], ["test_three (test_b.B.test_three)", "test_two (test_b.B.test_two)"]),
    sample!("unittest_fail", [1, 2, 2], []),
    sample!("unittest_none", [0, 0, 0], []),
    sample!("jest_ok", [1, 0, 0], []),
    sample!("jest_fail", [4, 1, 3], []),
    sample!("jest_verbose", [3, 1, 3], ["divides", "subtracts", "x"]),
    sample!("jest_color", [2, 0, 1], ["x"]),
    sample!("jest_none", [0, 0, 0], []),
    sample!("vitest_ok", [2, 0, 0], []),
    sample!("vitest_fail", [3, 1, 2], ["divides", "subtracts"]),
    sample!("vitest_color", [3, 1, 2], ["divides", "subtracts"]),
    sample!("vitest_verbose", [3, 1, 2], ["v/a.test.mjs > sum > divides", "v/a.test.mjs > sum > subtracts"]),
    sample!("vitest_none", [0, 0, 0], []),
    sample!("mocha_ok", [2, 0, 0], []),
    sample!("mocha_fail", [3, 1, 2], ["multiplies", "subtracts"]),
    sample!("mocha_color", [3, 1, 2], ["multiplies", "subtracts"]),
    sample!("mocha_dot", [3, 1, 2], []),
    sample!("mocha_min", [3, 1, 2], []),
    sample!("mocha_tap", [3, 1, 2], ["sum multiplies", "sum subtracts"]),
    sample!("mocha_none", [0, 0, 0], []),
    sample!("node_ok", [1, 0, 0], []),
    sample!("node_fail", [3, 1, 3], ["divides", "off", "subtracts"]),
    sample!("node_tap", [3, 1, 3], ["divides", "off", "subtracts"]),
    sample!("node_spec", [3, 1, 3], ["divides", "off", "subtracts"]),
    sample!("node_junit", [3, 1, 3], ["test divides", "test off", "test subtracts"]),
    sample!("go_plain", [3, 0, 0], []),
    sample!("go_fail", [1, 2, 0], []),
    sample!("go_verbose", [3, 1, 2], ["TestRemote", "TestTable/two_words"]),
    sample!("go_json", [1, 1, 1], ["TestRemote"]),
    sample!("go_none", [0, 0, 0], []),
    sample!("gotestsum", [7, 1, 2], []),
    sample!("phpunit_ok", [15, 0, 0], []),
    sample!("phpunit_fail", [5, 2, 2], ["Tests\\CartTest::testLater", "Tests\\CartTest::testRemote"]),
    sample!("phpunit_issues", [3, 0, 1], []),
    sample!("phpunit_none", [0, 0, 0], []),
    sample!("pest", [5, 1, 2], []),
    sample!("rspec_ok", [4, 0, 0], []),
    sample!("rspec_fail", [2, 1, 1], ["Cart subtracts"]),
    sample!("rspec_documentation", [0, 0, 1], ["subtracts"]),
    sample!("rspec_errors", [0, 1, 0], []),
    sample!("minitest", [3, 1, 1], []),
    sample!("surefire", [5, 0, 1], []),
    sample!("junit4", [2, 1, 0], []),
    sample!("junit_console", [3, 1, 1], []),
    sample!("gradle_fail", [10, 1, 1], ["CartTest > remote()"]),
    sample!("junit_nested", [2, 2, 1], ["C remote"]),
    sample!("junit_suites_only", [3, 1, 1], []),
    sample!("several", [9, 0, 3], []),
    sample!("workspaces", [16, 1, 0], []),
];

#[test]
fn the_output_of_each_runner_is_counted() {
    let mut wrong = Vec::new();
    for sample in SAMPLES {
        let counts = count_tests(sample.output);
        let [passed, failed, skipped] = sample.counts;
        let names = sample.skipped.iter().map(|name| (*name).to_owned());
        let expected = TestCounts {
            passed,
            failed,
            skipped,
            skipped_names: names.collect(),
        };
        if counts.as_ref() != Some(&expected) {
            wrong.push(format!("{}: {counts:?}, not {expected:?}", sample.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_output_that_no_runner_wrote_has_no_count() {
    for output in [
        "",
        "all good\n",
        "12 passed\n",
        "I ran 3 tests in 2s\n",
        "Ran 3 tests in 0.1s\n",
        "OK\n",
        "Tests: all\n",
        "Tests:       many passed, 3 total\n",
        "    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        "error: test result: FAILED\n",
        "   Compiling demo v0.1.0\n    Finished `dev` profile\n",
        "  1) a list\n  - of things\n  2 pending\n",
        "ok then\nFAIL is a word\n",
        "{\"Action\":\"build\"}\n",
        "{\"Action\": broken\n",
        "<html><body><p>no report</p></body></html>\n",
        "if a < b { testcase() }\n",
        "3 examples of this\n",
        include_str!("samples/node_dot.txt"),
        include_str!("samples/pytest_qq.txt"),
    ] {
        assert_eq!(count_tests(output), None, "{output}");
    }
}

#[test]
fn carriage_returns_and_windows_line_ends_do_not_matter() {
    let drawn = "  0 of 3\r  1 of 3\rTests:       3 passed, 3 total\r\n";
    assert_eq!(count_tests(drawn).unwrap().passed, 3);
}

#[test]
fn names_are_bounded_and_the_count_is_not() {
    let output: String = (0..2_000)
        .map(|n| format!("test {}{n} ... ignored\n", "x".repeat(300)))
        .chain([
            "test result: ok. 0 passed; 0 failed; 2000 ignored; 0 measured; 0 filtered out\n"
                .into(),
        ])
        .collect();
    let counts = count_tests(&output).unwrap();
    assert_eq!(counts.skipped, 2_000);
    assert!(counts.skipped_names.len() <= MAX_NAMES);
    assert!(
        counts
            .skipped_names
            .iter()
            .all(|name| name.len() <= MAX_NAME_CHARS)
    );
}

#[test]
fn a_report_beside_the_words_of_its_runner_is_not_counted_again() {
    let words = include_str!("samples/pytest_fail.txt");
    let both = format!("{words}\n{}", include_str!("samples/pytest_junit.txt"));
    assert_eq!(count_tests(&both).unwrap().total(), 10);
}

fn counts(passed: u64, failed: u64, skipped: u64, names: &[&str]) -> TestCounts {
    TestCounts {
        passed,
        failed,
        skipped,
        skipped_names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn fewer_tests_are_flagged_and_none_where_there_were_some_fails() {
    let base = counts(10, 0, 2, &[]);
    for (now, fails, sentences) in [
        (Some(counts(10, 0, 2, &[])), false, &[][..]),
        (Some(counts(12, 1, 2, &[])), false, &[]),
        (Some(counts(9, 1, 2, &[])), false, &[]),
        (Some(counts(12, 0, 0, &[])), false, &[]),
        (
            Some(counts(9, 0, 2, &[])),
            false,
            &["has 11 tests, 12 before"],
        ),
        (
            Some(counts(1, 0, 0, &[])),
            false,
            &["has 1 test, 12 before"],
        ),
        (
            Some(counts(9, 0, 3, &[])),
            false,
            &["skips 3 tests, 2 before"],
        ),
        (
            Some(counts(9, 0, 3, &["a", "b"])),
            false,
            &["skips a, b now"],
        ),
        (
            Some(counts(0, 0, 12, &[])),
            true,
            &["ran no test, 10 before", "skips 12 tests, 2 before"],
        ),
        (
            Some(counts(0, 0, 0, &[])),
            true,
            &["ran no test, 10 before"],
        ),
        (None, true, &["ran no test, 10 before"]),
    ] {
        let found = compare_tests(Some(&base), now.as_ref());
        let said: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(said, sentences, "{now:?}");
        assert_eq!(found.iter().any(TestFinding::fails), fails, "{now:?}");
    }
}

#[test]
fn where_nothing_was_counted_there_is_nothing_to_fall_short_of() {
    let now = counts(3, 0, 1, &["a"]);
    assert_eq!(compare_tests(None, Some(&now)), []);
    assert_eq!(compare_tests(None, None), []);
    assert_eq!(compare_tests(Some(&TestCounts::default()), Some(&now)), []);
    assert_eq!(compare_tests(Some(&TestCounts::default()), None), []);
    // All were skipped before already.
    let skipped = counts(0, 0, 3, &[]);
    assert_eq!(compare_tests(Some(&skipped), Some(&skipped)), []);
}

#[test]
fn only_tests_that_were_not_skipped_before_are_named() {
    let base = counts(5, 0, 2, &["old", "slow"]);
    let now = counts(4, 0, 3, &["new", "old", "slow\u{1b}[2J"]);
    let found = compare_tests(Some(&base), Some(&now));
    let names = vec!["new".to_owned(), "slow\u{1b}[2J".to_owned()];
    assert_eq!(found, [TestFinding::NewlySkipped { names }]);
    assert_eq!(found[0].to_string(), "skips new, slow[2J now");
    let many: Vec<String> = (10..25).map(|n| format!("t{n}")).collect();
    let many = TestFinding::NewlySkipped { names: many };
    assert_eq!(
        many.to_string(),
        "skips t10, t11, t12, t13, t14, t15, t16, t17, t18, t19 and 5 more now"
    );
}

#[test]
fn counts_and_findings_are_written_as_camel_case_json() {
    let some = counts(1, 2, 3, &["a"]);
    assert_eq!(
        serde_json::to_string(&some).unwrap(),
        r#"{"passed":1,"failed":2,"skipped":3,"skippedNames":["a"]}"#
    );
    let back: TestCounts = serde_json::from_str(r#"{"passed":1}"#).unwrap();
    assert_eq!(back, counts(1, 0, 0, &[]));
    let finding = TestFinding::Fewer { before: 2, now: 1 };
    assert_eq!(
        serde_json::to_string(&finding).unwrap(),
        r#"{"kind":"fewer","before":2,"now":1}"#
    );
}

proptest! {
    #[test]
    fn no_output_makes_it_panic(
        text in r#"(<testcase |<testsuite |name="|classname='|"|'|>|/>|<skipped/>|<!\[CDATA\[|\]\]>|<!--|-->|\n|\r|\x1b\[1m|\x1b|Tests: |3 passed|, |4 total|Ran 9 tests in 1s|OK \(|--- SKIP: |# skipped |ok \t|99999999999999999999| |ü|\PC){0,40}"#
    ) {
        count_tests(&text);
    }
}
