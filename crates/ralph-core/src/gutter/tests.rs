//! Tables of the three rules: what fires, and what only looks like it.

mod diff;

use super::*;

const LIMITS: GutterLimits = GutterLimits {
    same_failure: Some(3),
    churn: Some(2),
    oscillations: Some(2),
};

fn only(rule: fn(&mut GutterLimits) -> &mut Option<u32>, limit: u32) -> GutterLimits {
    let mut limits = GutterLimits {
        same_failure: None,
        churn: None,
        oscillations: None,
    };
    *rule(&mut limits) = Some(limit);
    limits
}

/// A failed attempt: its tree, the files it changed, (failing commands, first failing, failing tests).
fn failed(tree: &str, files: &[&str], (commands, first, tests): (usize, usize, u64)) -> Attempt {
    Attempt {
        state: AttemptState::Failed(Failing {
            commands,
            first,
            tests: (tests > 0).then_some(tests),
        }),
        trace: Some(Trace {
            tree: tree.into(),
            files: files.iter().map(|f| (*f).to_owned()).collect(),
            hunks: Vec::new(),
        }),
    }
}

fn not_failed(state: AttemptState) -> Attempt {
    Attempt { state, trace: None }
}

/// A failed attempt with hunks of `removed>added`.
fn with_hunks(tree: &str, hunks: &[&str]) -> Attempt {
    let mut attempt = failed(tree, &["a.rs"], (1, 0, 0));
    let hunks = hunks.iter().map(|hunk| {
        let (removed, added) = hunk.split_once('>').unwrap();
        HunkHash {
            removed: removed.into(),
            added: added.into(),
        }
    });
    if let Some(trace) = attempt.trace.as_mut() {
        trace.hunks = hunks.collect();
    }
    attempt
}

#[test]
fn the_same_failure_fires_at_its_limit_and_not_before() {
    let table = [(1, false), (2, false), (3, true), (4, true)];
    for (count, fires) in table {
        let repeated = Repeated {
            command: "make",
            signature: "s",
            count,
        };
        let expected = fires.then(|| Gutter::SameFailure {
            command: "make".into(),
            signature: "s".into(),
            count,
        });
        assert_eq!(evaluate(Some(repeated), &[], &LIMITS), expected, "{count}");
    }
    assert_eq!(evaluate(None, &[], &LIMITS), None);
}

#[test]
fn a_diagnosis_comes_one_step_before_but_never_after_a_first_failure() {
    let limits = |same, churn, oscillations| GutterLimits {
        same_failure: same,
        churn,
        oscillations,
    };
    let table = [
        (LIMITS, limits(Some(2), Some(1), Some(1))),
        (limits(Some(2), Some(1), Some(1)), limits(None, None, None)),
        (
            limits(Some(9), Some(5), Some(4)),
            limits(Some(8), Some(4), Some(3)),
        ),
        (limits(Some(1), None, None), limits(None, None, None)),
    ];
    for (all, before) in table {
        assert_eq!(all.one_before(), before, "{all:?}");
    }
}

#[test]
fn the_window_holds_all_that_a_limit_needs_within_bounds() {
    let churn = |limit| only(|l| &mut l.churn, limit).window();
    assert_eq!(
        [churn(2), churn(8), churn(20), churn(5_000)],
        [10, 10, 22, 100]
    );
}

/// An attempt that changed `a.rs`.
fn a(score: (usize, usize, u64)) -> Attempt {
    failed("t", &["a.rs"], score)
}

/// Three and more attempts in a row at `a.rs`, or none.
fn churns(attempts: u32) -> Option<Gutter> {
    (attempts > 0).then(|| Gutter::Churn {
        files: vec!["a.rs".into()],
        attempts,
    })
}

#[test]
fn churn_is_over_as_soon_as_something_gets_better() {
    type Scores = &'static [(usize, usize, u64)];
    #[rustfmt::skip]
    let table: [(&str, Scores, u32); 11] = [
        ("two are too few", &[(1, 0, 0), (1, 0, 0)], 0),
        ("three", &[(1, 0, 0), (1, 0, 0), (1, 0, 0)], 3),
        ("four", &[(1, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0)], 4),
        ("it gets worse", &[(1, 2, 0), (2, 1, 0), (3, 0, 0)], 3),
        ("back where it was is no better than the best", &[(1, 1, 0), (2, 0, 0), (1, 1, 0)], 3),
        ("fewer commands fail", &[(2, 0, 0), (2, 0, 0), (1, 0, 0)], 0),
        ("the first to fail comes later", &[(1, 0, 0), (1, 0, 0), (1, 1, 0)], 0),
        ("fewer tests fail", &[(1, 0, 9), (1, 0, 9), (1, 0, 4)], 0),
        ("as many tests fail", &[(1, 0, 9), (1, 0, 9), (1, 0, 9)], 3),
        ("the output stops saying how many", &[(1, 0, 9), (1, 0, 0), (1, 0, 0)], 3),
        ("it got better at first", &[(2, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0)], 3),
    ];
    for (what, scores, attempts) in table {
        let row: Vec<Attempt> = scores.iter().copied().map(a).collect();
        let limits = only(|l| &mut l.churn, 2);
        assert_eq!(evaluate(None, &row, &limits), churns(attempts), "{what}");
    }
}

#[test]
fn churn_is_about_files_that_all_attempts_in_a_row_changed() {
    let other = || not_failed(AttemptState::Other);
    let nothing = || not_failed(AttemptState::Nothing);
    let bad = (1, 0, 0);
    let of = |files: &[&str]| failed("t", files, bad);
    #[rustfmt::skip]
    let table: [(&str, Vec<Attempt>, u32); 7] = [
        ("another file in between", vec![a(bad), of(&["b.rs"]), a(bad)], 0),
        ("one in common", vec![of(&["a.rs", "b.rs"]), of(&["a.rs", "c.rs"]), of(&["d.rs", "a.rs"])], 3),
        ("one in common with the next, none with all", vec![of(&["a.rs", "b.rs"]), of(&["b.rs", "c.rs"]), of(&["c.rs"])], 0),
        ("nothing was changed", vec![of(&[]), of(&[]), of(&[])], 0),
        ("what was refused ends the row", vec![a(bad), other(), a(bad), a(bad)], 0),
        ("a stop does not", vec![a(bad), nothing(), a(bad), nothing(), a(bad)], 3),
        ("the last one did not fail", vec![a(bad), a(bad), a(bad), other()], 0),
    ];
    for (what, row, attempts) in table {
        let limits = only(|l| &mut l.churn, 2);
        assert_eq!(evaluate(None, &row, &limits), churns(attempts), "{what}");
    }
}

#[test]
fn how_many_tests_failed_is_read_where_it_is_said() {
    let table = [
        (
            "test result: FAILED. 3 passed; 2 failed; 0 ignored",
            Some(2),
        ),
        (
            "test result: FAILED. 1 failed\ntest result: FAILED. 4 failed",
            Some(5),
        ),
        ("Tests: 1 failed, 7 passed, 8 total", Some(1)),
        ("==== 12 failed, 3 passed in 0.4s ====", Some(12)),
        ("  4 failing", Some(4)),
        ("FAILED (failures=3)", Some(3)),
        ("10 examples, 2 failures", Some(2)),
        ("5 tests failed", Some(5)),
        ("make: *** [Makefile:3: test] Error 1", None),
        ("error[E0308]: mismatched types", None),
        ("", None),
    ];
    for (tail, expected) in table {
        assert_eq!(failing_tests(tail), expected, "{tail}");
    }
}

#[test]
fn oscillation_is_two_states_in_turns() {
    let row = |trees: &[&str]| -> Vec<Attempt> {
        trees
            .iter()
            .map(|t| failed(t, &["a.rs"], (1, 0, 0)))
            .collect()
    };
    let fires = |count: u32, trees: [&str; 2]| {
        Some(Gutter::Oscillation {
            count,
            attempts: count + 2,
            trees: trees.map(str::to_owned),
        })
    };
    let table: [(&[&str], u32, Option<Gutter>); 9] = [
        (&["A", "B", "A"], 1, fires(1, ["B", "A"])),
        (&["A", "B", "A"], 2, None),
        (&["A", "B", "A", "B"], 2, fires(2, ["A", "B"])),
        (&["X", "A", "B", "A", "B"], 2, fires(2, ["A", "B"])),
        (&["A", "B", "A", "B", "C"], 1, None),
        (&["A", "A", "A"], 1, None),
        (&["A", "B", "C"], 1, None),
        (&["A", "B", "C", "A"], 1, None),
        (&["A", "B"], 1, None),
    ];
    for (trees, limit, expected) in table {
        let limits = only(|l| &mut l.oscillations, limit);
        assert_eq!(
            evaluate(None, &row(trees), &limits),
            expected,
            "{trees:?} at {limit}"
        );
    }
}

#[test]
fn hunks_that_undo_each_other_are_an_oscillation_too() {
    let first = || with_hunks("1", &["o>x"]);
    let table: [(&str, Vec<Attempt>, bool); 7] = [
        (
            "undone",
            vec![
                first(),
                with_hunks("2", &["a>b"]),
                with_hunks("3", &["b>a"]),
            ],
            true,
        ),
        (
            "most of it is undone",
            vec![
                first(),
                with_hunks("2", &["a>b", "c>d", "e>f"]),
                with_hunks("3", &["b>a", "d>c", "p>q"]),
            ],
            true,
        ),
        (
            "undone, and something else tried",
            vec![
                first(),
                with_hunks("2", &["a>b"]),
                with_hunks("3", &["b>a", "p>q"]),
            ],
            false,
        ),
        (
            "half of it is undone",
            vec![
                first(),
                with_hunks("2", &["a>b", "c>d"]),
                with_hunks("3", &["b>a"]),
            ],
            false,
        ),
        (
            "the same again is no undoing",
            vec![
                first(),
                with_hunks("2", &["a>b"]),
                with_hunks("3", &["a>b"]),
            ],
            false,
        ),
        (
            "the first attempt is taken back",
            vec![with_hunks("1", &["a>b"]), with_hunks("2", &["b>a"])],
            false,
        ),
        (
            "nothing is known of either",
            vec![first(), with_hunks("2", &[]), with_hunks("3", &[])],
            false,
        ),
    ];
    let limits = only(|l| &mut l.oscillations, 1);
    for (what, attempts, fires) in table {
        let found = evaluate(None, &attempts, &limits);
        assert_eq!(found.is_some(), fires, "{what}: {found:?}");
    }
}

#[test]
fn the_most_telling_rule_speaks() {
    let row: Vec<Attempt> = ["A", "B", "A", "B"]
        .iter()
        .map(|t| failed(t, &["a.rs"], (1, 0, 0)))
        .collect();
    let repeated = |count| {
        Some(Repeated {
            command: "make",
            signature: "s",
            count,
        })
    };
    let rule = |count| evaluate(repeated(count), &row, &LIMITS).map(|g| g.key());
    assert_eq!(rule(3), Some("loop.gutter.max_same_failure"));
    assert_eq!(rule(1), Some("loop.gutter.max_oscillations"));
    let churns = GutterLimits {
        oscillations: None,
        ..LIMITS
    };
    let found = evaluate(None, &row, &churns).map(|g| g.key());
    assert_eq!(found, Some("loop.gutter.max_churn_commits"));
}

#[test]
fn each_rule_says_its_figures_in_one_sentence() {
    let files = ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"]
        .map(str::to_owned)
        .to_vec();
    let table = [
        (
            Gutter::SameFailure {
                command: "make test".into(),
                signature: "s".into(),
                count: 3,
            },
            "`make test` failed the same way 3 times in a row",
        ),
        (
            Gutter::Churn { files, attempts: 3 },
            "3 attempts in a row changed a.rs, b.rs, c.rs and 2 more, and nothing got better",
        ),
        (
            Gutter::Oscillation {
                count: 1,
                attempts: 3,
                trees: ["a".into(), "b".into()],
            },
            "the last 3 attempts go back and forth: what one changed, the next undid, once",
        ),
    ];
    for (gutter, sentence) in table {
        assert_eq!(gutter.sentence(), sentence);
    }
}

#[test]
fn a_question_has_the_diagnosis_and_its_options() {
    let gutter = Gutter::SameFailure {
        command: "make".into(),
        signature: "s".into(),
        count: 3,
    };
    let diagnosis = Diagnosis {
        iteration: 7,
        gutter: gutter.clone(),
        text: "the cause".into(),
        escalation: None,
    };
    let asked = diagnosis.escalation_about(&gutter);
    assert_eq!(asked.summary, "`make` failed the same way 3 times in a row");
    assert_eq!(asked.context, "Diagnosis of iteration 7:\nthe cause");
    assert_eq!(
        asked.question,
        "`make` failed the same way 3 times in a row: how to proceed?"
    );
    assert_eq!(asked.options, [""; 0]);
}

#[test]
fn a_diagnosis_is_what_was_written_down_else_what_was_said_within_its_bound() {
    assert_eq!(Diagnosis::text_of(Some(" written\n"), "said"), "written");
    assert_eq!(Diagnosis::text_of(Some(" \n"), "said\n"), "said");
    assert_eq!(Diagnosis::text_of(None, "said"), "said");
    assert_eq!(
        Diagnosis::text_of(None, &"ä".repeat(20_000))
            .chars()
            .count(),
        12_000
    );
}
