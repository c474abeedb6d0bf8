//! Tests of what is a test file, and of tests that are skipped, focused or gone.

use proptest::prelude::*;

use super::*;

#[test]
fn a_test_file_is_known_by_its_name_and_place() {
    let missed: Vec<&str> = [
        "tests/api.rs",
        "crates/core/src/parse/tests.rs",
        "crates/core/src/parse/tests/lists.rs",
        "tests/test_api.py",
        "shop/cart_test.py",
        "shop/tests.py",
        "pkg/cart_test.go",
        "src/cart.test.ts",
        "src/cart.spec.tsx",
        "src/__tests__/cart.js",
        "cypress/e2e/login.cy.ts",
        "e2e/login.ts",
        "test/cart.mjs",
        "src/test/java/shop/CartTest.java",
        "app/src/androidTest/kotlin/LoginTest.kt",
        "src/main/java/shop/CartIT.java",
        "src/TestCart.java",
        "tests/Unit/CartTest.php",
        "spec/cart_spec.rb",
        "test/models/cart_test.rb",
        "features/login.feature",
        "Shop.Tests/CartTests.cs",
        "Tests/ShopTests/CartTests.swift",
        "test/cart_test.dart",
        "test/shop/cart_test.exs",
        "test/test_cart.cpp",
        "src/cart_unittest.cc",
        "test/CartSpec.hs",
        "test/run.bats",
        "t/basic.t",
        "tests/login.robot",
    ]
    .into_iter()
    .filter(|path| !is_test_file(Path::new(path)))
    .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn code_and_the_data_of_tests_are_no_test_files() {
    let taken: Vec<&str> = [
        "src/latest.rs",
        "src/contest.py",
        "src/attest.go",
        "src/Contest.java",
        "src/Manifest.kt",
        "src/greatest.ts",
        "src/inspect.rs",
        "src/spectrum.py",
        "src/respec.rb",
        "tests/README.md",
        "tests/fixtures/cart.json",
        "tests/fixtures/cart.py",
        "pkg/testdata/input.go",
        "pkg/testing/helper.go",
        "spec/openapi.yaml",
        "specs/design.md",
        "tests/__snapshots__/a.snap",
        "src/__mocks__/fs.js",
        "docs/testing.md",
        "assets/test.png",
        "src/Testable.swift",
    ]
    .into_iter()
    .filter(|path| is_test_file(Path::new(path)))
    .collect();
    assert!(taken.is_empty(), "{taken:#?}");
}

/// A mark in a file: the file, what it has, and the test that is skipped.
#[rustfmt::skip]
const SKIPPED: &[(&str, &str, &str)] = &[
    ("src/a.rs", "#[test]\n#[ignore]\nfn slow() {}\n", "slow"),
    ("src/a.rs", "    #[ignore = \"needs network\"]\n    #[test]\n    fn remote() {}\n", "remote"),
    ("tests/a.rs", "#[test] #[ignore] fn one() {}\n", "one"),
    ("src/a.rs", "#[cfg_attr(windows, ignore)]\n#[tokio::test]\nasync fn waits() {}\n", "waits"),
    ("src/a.rs", "#[cfg(any())]\nmod tests {\n", "tests"),
    ("t/test_a.py", "@pytest.mark.skip\ndef test_a(): pass\n", "test_a"),
    ("t/test_a.py", "@pytest.mark.skip(reason='x')\n@other\ndef test_b(): pass\n", "test_b"),
    ("t/test_a.py", "@pytest.mark.skipif(True, reason='x')\ndef test_c(): pass\n", "test_c"),
    ("t/test_a.py", "@pytest.mark.xfail\ndef test_d(): pass\n", "test_d"),
    ("t/test_a.py", "@mark.skip\ndef test_e(): pass\n", "test_e"),
    ("t/test_a.py", "def test_f():\n    x = 1\n    pytest.skip('later')\n", "test_f"),
    ("t/test_a.py", "@unittest.skip('later')\ndef test_g(self): pass\n", "test_g"),
    ("t/test_a.py", "@unittest.skipUnless(False, 'x')\nclass Big(TestCase):\n", "Big"),
    ("t/test_a.py", "@unittest.expectedFailure\ndef test_h(self): pass\n", "test_h"),
    ("t/test_a.py", "def test_i(self):\n    self.skipTest('x')\n", "test_i"),
    ("t/test_a.py", "pytestmark = pytest.mark.skip\n", "pytestmark = pytest.mark.skip"),
    ("a.test.js", "it.skip('adds', () => {});\n", "adds"),
    ("a.test.js", "  test.skip(\"adds\", () => {});\n", "adds"),
    ("a.test.ts", "describe.skip('sum', () => {\n", "sum"),
    ("a.test.ts", "describe.skip.each([1])('sum', () => {\n", "describe.skip.each([1])('sum', () => {"),
    ("a.test.ts", "it.concurrent.skip('sum', () => {\n", "sum"),
    ("a.test.ts", "xit('adds', () => {});\n", "adds"),
    ("a.test.ts", "xdescribe('sum', () => {});\n", "sum"),
    ("a.test.ts", "test.todo('divides');\n", "divides"),
    ("a.test.ts", "test.fixme('divides', () => {});\n", "divides"),
    ("a.test.ts", "it.failing('divides', () => {});\n", "divides"),
    ("a.test.mjs", "test('off', { skip: true }, () => {});\n", "off"),
    ("a.test.mjs", "test('off', { skip: 'no network' }, () => {});\n", "off"),
    ("test/a.js", "it('waits', function () {\n  this.skip();\n});\n", "waits"),
    ("a_test.go", "func TestAdd(t *testing.T) {\n\tt.Skip(\"later\")\n}\n", "TestAdd"),
    ("a_test.go", "func TestAdd(t *testing.T) {\n\tt.Skipf(\"%d\", 1)\n}\n", "TestAdd"),
    ("a_test.go", "func TestAdd(t *testing.T) {\n\tt.SkipNow()\n}\n", "TestAdd"),
    ("a_test.go", "//go:build ignore\n\npackage a\n", "//go:build ignore"),
    ("src/test/java/ATest.java", "@Disabled\n@Test\nvoid adds() {}\n", "adds"),
    ("src/test/java/ATest.java", "@Disabled(\"later\")\n@Test\npublic void adds() {}\n", "adds"),
    ("src/test/java/ATest.java", "@Ignore\n@Test\npublic void adds() {}\n", "adds"),
    ("src/test/kotlin/ATest.kt", "@DisabledOnOs(OS.LINUX)\n@Test\nfun adds() {}\n", "adds"),
    ("src/test/java/ATest.java", "@Test(enabled = false)\npublic void adds() {}\n", "adds"),
    ("tests/ATest.php", "public function testAdd() {\n  $this->markTestSkipped('x');\n", "testAdd"),
    ("tests/ATest.php", "test('adds', function () {})->skip('later');\n", "adds"),
    ("spec/a_spec.rb", "  xit 'adds' do\n", "adds"),
    ("spec/a_spec.rb", "  it 'adds', skip: true do\n", "adds"),
    ("spec/a_spec.rb", "  it 'adds' do\n    pending 'later'\n", "adds"),
    ("spec/a_spec.rb", "  it 'adds', :skip do\n", "adds"),
    ("Shop.Tests/A.cs", "[Fact(Skip = \"later\")]\npublic void Adds() {}\n", "Adds"),
    ("Shop.Tests/A.cs", "[Test]\n[Ignore(\"later\")]\npublic void Adds() {}\n", "Adds"),
    ("Tests/ATests.swift", "func testAdd() throws {\n  throw XCTSkip(\"later\")\n", "testAdd"),
    ("test/a_test.dart", "test('adds', () {}, skip: true);\n", "adds"),
    ("test/a_test.exs", "@tag :skip\ntest \"adds\" do\n", "adds"),
    ("test/a_test.cc", "TEST(Cart, DISABLED_Adds) {}\n", "Cart, DISABLED_Adds"),
    ("test/a_test.cc", "TEST(Cart, Adds) {\n  GTEST_SKIP();\n}\n", "Cart, Adds"),
    ("test/a.bats", "@test \"adds\" {\n  skip later\n}\n", "adds"),
];

#[test]
fn a_test_that_is_newly_skipped_is_named() {
    let mut wrong = Vec::new();
    for (path, now, test) in SKIPPED {
        let path = Path::new(path);
        let found = newly_marked(path, "", now);
        let named = found.iter().map(|one| (one.mark, one.test.as_str()));
        if named.collect::<Vec<_>>() != [(TestMark::Skip, *test)] {
            wrong.push(format!("{now:?}: {found:?}"));
        }
        let again = newly_marked(path, now, &format!("\n\n{now}"));
        if !again.is_empty() {
            wrong.push(format!("it was there before: {now:?}: {again:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_test_that_others_are_skipped_for_is_named() {
    for (path, now, test) in [
        ("a.test.ts", "it.only('adds', () => {});\n", "adds"),
        ("a.test.ts", "fdescribe('sum', () => {});\n", "sum"),
        ("a.test.ts", "test('x', { only: true }, () => {});\n", "x"),
        ("spec/a_spec.rb", "  fit 'adds' do\n", "adds"),
        ("spec/a_spec.rb", "  it 'adds', focus: true do\n", "adds"),
        (
            "tests/ATest.php",
            "test('adds', fn () => 1)->only();\n",
            "adds",
        ),
    ] {
        let found = newly_marked(Path::new(path), "", now);
        let named: Vec<_> = found
            .iter()
            .map(|one| (one.mark, one.test.as_str()))
            .collect();
        assert_eq!(named, [(TestMark::Only, test)], "{now}");
    }
}

#[test]
fn code_that_only_has_such_words_marks_nothing() {
    for (path, now) in [
        (
            "src/a.rs",
            "// #[ignore]\nlet x = \"#[ignore]\";\nfn ignore() {}\n",
        ),
        ("src/a.rs", "#[test]\nfn skips_a_task() { iter.skip(1); }\n"),
        (
            "src/a.rs",
            "#[cfg(test)]\nmod tests {}\n#[test]\n#[should_panic]\nfn panics() {}\n",
        ),
        (
            "t/test_a.py",
            "# @pytest.mark.skip\ndef test_skip(): assert skip(1)\n",
        ),
        (
            "t/test_a.py",
            "@pytest.mark.parametrize('n', [1])\ndef test_a(n): pass\n",
        ),
        (
            "a.test.ts",
            "// it.skip('x')\nit('skips the line', () => { list.skip(2); });\n",
        ),
        (
            "a.test.ts",
            "expect(query.skip).toBe(3);\nconst page = { skip: 10 };\n",
        ),
        (
            "a_test.go",
            "// t.Skip(1)\nfunc TestSkip(t *testing.T) { list.Skipped() }\n",
        ),
        (
            "src/test/java/ATest.java",
            "// @Disabled\n@Test\nvoid disabled() {}\n",
        ),
        (
            "spec/a_spec.rb",
            "  it 'skips the line' do\n    list.skip(1)\n",
        ),
        (
            "tests/ATest.php",
            "public function testSkip() { $list->skipped(); }\n",
        ),
        ("notes.txt", "it.skip('x')\n"),
    ] {
        assert_eq!(newly_marked(Path::new(path), "", now), [], "{now}");
    }
}

#[test]
fn a_mark_that_moved_or_stayed_is_not_new_and_a_second_one_is() {
    let path = Path::new("a.test.js");
    let before = "it('a', f);\nit.skip('b', f);\n";
    let now = "it.skip('b', f);\n\nit.skip('a', f);\n";
    let found = newly_marked(path, before, now);
    let expected = MarkedTest {
        mark: TestMark::Skip,
        test: "a".into(),
        line: 3,
    };
    assert_eq!(found, [expected]);
    assert_eq!(newly_marked(path, now, before), []);
}

#[test]
fn a_test_that_is_gone_is_named_where_the_file_has_fewer() {
    for (path, before, now, gone) in [
        (
            "src/a.rs",
            "#[test]\nfn a() {}\n#[test]\nfn b() {}\n",
            "#[test]\nfn a() {}\n",
            &["b"][..],
        ),
        (
            "src/a.rs",
            "#[test] fn a() {}\n#[tokio::test]\nasync fn b() {}\n",
            "fn a() {}\n",
            &["a", "b"],
        ),
        (
            "src/a.rs",
            "#[test]\n#[ignore]\nfn a() {}\nfn help() {}\n",
            "fn help() {}\n",
            &["a"],
        ),
        (
            "src/a.rs",
            "#[test]\nfn a() {}\n",
            "#[test]\nfn renamed() {}\n",
            &[],
        ),
        ("src/a.rs", "fn a() {}\nfn b() {}\n", "fn a() {}\n", &[]),
        (
            "t/test_a.py",
            "def test_a(): pass\nasync def test_b(): pass\n",
            "def test_a(): pass\n",
            &["test_b"],
        ),
        (
            "t/test_a.py",
            "def test_a(): pass\n",
            "# def test_a(): pass\n",
            &["test_a"],
        ),
        (
            "a.test.ts",
            "it('a', f);\n  test(\"b\", f);\n",
            "it('a', f);\n",
            &["b"],
        ),
        ("a.test.ts", "it('a', f);\n", "it.skip('a', f);\n", &[]),
        (
            "a_test.go",
            "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n",
            "func TestA(t *testing.T) {}\n",
            &["TestB"],
        ),
        (
            "src/test/java/ATest.java",
            "@Test\nvoid a() {}\n@Test\nvoid b() {}\n",
            "@Test\nvoid a() {}\n",
            &["b"],
        ),
        (
            "tests/ATest.php",
            "public function testA() {}\n",
            "",
            &["testA"],
        ),
        (
            "spec/a_spec.rb",
            "it 'a' do\nend\nit 'b' do\nend\n",
            "it 'a' do\nend\n",
            &["b"],
        ),
        (
            "Shop.Tests/A.cs",
            "[Fact]\npublic void A() {}\n",
            "",
            &["A"],
        ),
        (
            "test/a_test.cc",
            "TEST(Cart, Adds) {}\n",
            "",
            &["Cart, Adds"],
        ),
        ("test/a.bats", "@test \"adds\" {\n}\n", "", &["adds"]),
    ] {
        let found = removed_tests(Path::new(path), before, now);
        assert_eq!(found, gone, "{before}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        before in r#"(#\[test\]|fn a\(|it\('|\.skip|'|"|\n|@Test|void |ü| |\PC){0,30}"#,
        now in r#"(#\[ignore\]|#\[test\]|fn ü|it\.skip\("|\n|xit|t\.Skip\(|ü| |\PC){0,30}"#,
    ) {
        for path in ["a.rs", "a.test.ts", "test_a.py", "a_test.go", "tests/a.rb"] {
            newly_marked(Path::new(path), &before, &now);
            removed_tests(Path::new(path), &before, &now);
        }
    }
}
