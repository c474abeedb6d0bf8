//! Tests what may land, told by example.

use super::*;
use crate::secret::NamedValue;

fn changed(path: &str, kind: ChangeKind, entry: EntryKind) -> Changed {
    Changed {
        path: path.into(),
        kind,
        entry,
        size: 10,
    }
}

fn added(path: &str) -> Changed {
    changed(path, ChangeKind::Added, EntryKind::File)
}

fn deleted(path: &str) -> Changed {
    Changed {
        size: 0,
        ..changed(path, ChangeKind::Deleted, EntryKind::Gone)
    }
}

fn inspected(changes: Vec<Changed>, policy: &ChangePolicy, now: &str, before: &str) -> Inspection {
    let policy = policy.compile().unwrap();
    let contents = Contents {
        now: &|_| Some(now.as_bytes().to_vec()),
        before: &|_| Some(before.as_bytes().to_vec()),
    };
    inspect(
        &ChangeSet { changes },
        &policy,
        &DecidingFiles::by_name(),
        &contents,
    )
}

fn refusals(changes: Vec<Changed>, policy: &ChangePolicy, now: &str) -> Vec<String> {
    inspected(changes, policy, now, "")
        .refusals
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn protecting(glob: &str) -> ChangePolicy {
    ChangePolicy {
        protected: vec![glob.to_owned()],
        ..ChangePolicy::default()
    }
}

#[test]
fn refuses_a_protected_path_that_was_deleted_changed_or_added() {
    let policy = protecting("tests/**");
    let changes = vec![
        deleted("tests/a.py"),
        changed("tests/deep/b.py", ChangeKind::Modified, EntryKind::File),
        added("tests/conftest.py"),
        added("src/a.py"),
    ];
    assert_eq!(
        refusals(changes, &policy, ""),
        [
            "tests/a.py is protected and was deleted",
            "tests/deep/b.py is protected and was changed",
            "tests/conftest.py is protected and was added",
        ]
    );
}

#[test]
fn a_folder_can_be_written_in_three_ways_and_a_bare_name_holds_at_any_depth() {
    for glob in ["tests", "tests/", "tests/**", "./tests"] {
        let refused = refusals(vec![deleted("tests/x/a.py")], &protecting(glob), "");
        assert_eq!(refused.len(), 1, "{glob}");
    }
    let bare = protecting("conftest.py");
    assert_eq!(refusals(vec![added("a/b/conftest.py")], &bare, "").len(), 1);
    let rooted = protecting("/conftest.py");
    assert_eq!(
        refusals(vec![added("a/b/conftest.py")], &rooted, "").len(),
        0
    );
    assert_eq!(refusals(vec![added("conftest.py")], &rooted, "").len(), 1);
    let star = protecting("src/*.rs");
    assert_eq!(refusals(vec![added("src/deep/a.rs")], &star, "").len(), 0);
}

#[test]
fn a_wrong_glob_is_an_error_that_names_it() {
    let error = protecting("a[").compile().unwrap_err().to_string();
    assert!(error.starts_with("'a[' is not a glob"), "{error}");
}

#[test]
fn refuses_a_file_over_the_limit_without_reading_it() {
    let policy = ChangePolicy::default().compile().unwrap();
    let big = Changed {
        size: 52_428_801,
        ..added("data.bin")
    };
    let contents = Contents {
        now: &|_| panic!("was read"),
        before: &|_| panic!("was read"),
    };
    let inspection = inspect(
        &ChangeSet { changes: vec![big] },
        &policy,
        &DecidingFiles::by_name(),
        &contents,
    );
    assert_eq!(
        inspection.refusals[0].to_string(),
        "data.bin has 52428801 bytes, more than the 52428800 allowed"
    );
}

#[test]
fn refuses_a_nested_repository_but_not_a_submodule() {
    let change = vec![changed(
        "vendor/lib",
        ChangeKind::Added,
        EntryKind::Repository,
    )];
    let policy = ChangePolicy::default();
    assert_eq!(
        refusals(change.clone(), &policy, ""),
        ["vendor/lib is a git repository of its own that .gitmodules does not name"]
    );
    let modules = "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = ../lib\n";
    let of_base = inspected(change.clone(), &policy, modules, modules);
    assert!(of_base.refusals.is_empty());
    for (dot_git, refused) in [
        (None, true),
        (Some("gitdir: ../../elsewhere\n"), true),
        (Some("gitdir: /repo/.git/modules/lib\n"), true),
        (Some("gitdir: ../../../modules/lib\n"), true),
        // As `git init --separate-git-dir` leaves it.
        (Some("gitdir: ../../.git/modules/made\n"), true),
        (Some("gitdir: ../../.git/modules/lib\n"), false),
        // A linked worktree has them in the folder that it shares.
        (
            Some("gitdir: ../../../main/.git/worktrees/w/modules/lib\n"),
            false,
        ),
    ] {
        let now = |path: &std::path::Path| match path.to_str()? {
            ".gitmodules" => Some(modules.into()),
            "vendor/lib/.git" => dot_git.map(Into::into),
            ".git/modules/lib/config" => {
                Some("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = ../lib\n".into())
            }
            ".git/modules/made/config" => Some("[core]\n\tbare = false\n".into()),
            _ => None,
        };
        let contents = Contents {
            now: &now,
            before: &|_| None,
        };
        let changes = change.clone();
        let policy = policy.compile().unwrap();
        let deciding = DecidingFiles::by_name();
        let found = inspect(&ChangeSet { changes }, &policy, &deciding, &contents).refusals;
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected = "vendor/lib is a git repository of its own that was not added by `git submodule add`: \
                        nothing else may have its commits";
        assert_eq!(
            found.iter().any(|found| found == expected),
            refused,
            "{dot_git:?}"
        );
        assert_eq!(found.is_empty(), !refused, "{dot_git:?}: {found:?}");
    }
}

#[test]
fn refuses_a_pipe_in_place_of_a_file() {
    let change = vec![changed("a", ChangeKind::TypeChanged, EntryKind::Special)];
    let refused = refusals(change, &ChangePolicy::default(), "");
    assert_eq!(refused, ["a is a pipe, socket or device"]);
}

#[test]
fn refuses_symlinks_that_leave_the_tree_and_keeps_those_that_stay() {
    let link = |path: &str, target: &str| {
        changed(
            path,
            ChangeKind::Added,
            EntryKind::Symlink {
                target: target.into(),
            },
        )
    };
    let policy = ChangePolicy::default();
    for (path, target) in [
        ("a", "/etc/passwd"),
        ("a", "../x"),
        ("d/a", "../../x"),
        ("d/a", "b/../../../x"),
        ("a", ".git/config"),
        ("d/a", "../.GIT/hooks"),
    ] {
        let refused = refusals(vec![link(path, target)], &policy, "");
        assert_eq!(
            refused,
            [format!(
                "{path} is a symlink that points out of the tree, to {target}"
            )]
        );
    }
    for (path, target) in [
        ("a", "b"),
        ("d/a", "../b"),
        ("d/e/a", "./../../b/c"),
        ("a", ".github/x"),
    ] {
        assert!(
            refusals(vec![link(path, target)], &policy, "").is_empty(),
            "{path} -> {target}"
        );
    }
}

/// Put together at run time, so that no scanner takes this file for a leak.
fn samples() -> Vec<(&'static str, String)> {
    let letters = |n: usize| "aB3".chars().cycle().take(n).collect::<String>();
    vec![
        (
            "private key",
            format!("-----BEGIN {} KEY-----\\n{}", "RSA PRIVATE", letters(40)),
        ),
        (
            "private key",
            format!("-----BEGIN {} KEY-----\\n{}", "PRIVATE", letters(40)),
        ),
        (
            "AWS access key id",
            format!("AK{}{}", "IA", "A1B2C3D4E5F6G7H8"),
        ),
        ("GitHub token", format!("gh{}{}", "p_", letters(36))),
        (
            "GitHub fine-grained token",
            format!("github_{}{}", "pat_", letters(60)),
        ),
        ("GitLab token", format!("gl{}{}", "pat-", letters(20))),
        ("Slack token", format!("xo{}{}", "xb-", letters(30))),
        ("Anthropic key", format!("sk-{}{}", "ant-", letters(40))),
        ("OpenAI key", format!("sk-{}", letters(48))),
        ("OpenAI key", format!("sk-{}{}", "proj-", letters(60))),
        ("Google API key", format!("AI{}{}", "za", letters(35))),
        ("Stripe live key", format!("sk_{}{}", "live_", letters(24))),
        ("npm token", format!("np{}{}", "m_", letters(36))),
    ]
}

#[test]
fn refuses_each_kind_of_secret_by_rule_and_line_and_never_shows_its_value() {
    for (rule, value) in samples() {
        let text = format!("first\nlet key = \"{value}\";\n");
        let inspection = inspected(vec![added("a.rs")], &ChangePolicy::default(), &text, "");
        let shown = format!("{inspection:?} {}", inspection.refusals[0]);
        assert_eq!(
            inspection.refusals[0].to_string(),
            format!("a.rs has what looks like a secret ({rule}) in line 2")
        );
        assert_eq!(inspection.refusals.len(), 1, "{rule}");
        assert!(!shown.contains(&value), "{rule} is shown");
    }
}

#[test]
fn passes_what_only_resembles_a_secret() {
    for text in [
        "AKIAIOSFODNN7EXAMPLE",
        "class=\"sk-circle sk-child\"",
        "ghp_short",
        "-----BEGIN PUBLIC KEY-----",
        "task-anthropic-and-others-are-long-names",
    ] {
        assert!(
            refusals(vec![added("a")], &ChangePolicy::default(), text).is_empty(),
            "{text}"
        );
    }
}

#[test]
fn passes_a_secret_in_an_allowed_file_or_one_that_was_there_before() {
    let (_, value) = samples().swap_remove(3);
    let plain = format!("k = {value}\n");
    let allowing = ChangePolicy {
        secret_allowlist: vec!["fixtures/".into()],
        ..ChangePolicy::default()
    };
    assert!(refusals(vec![added("tests/fixtures/a")], &allowing, &plain).is_empty());
    assert_eq!(refusals(vec![added("src/a")], &allowing, &plain).len(), 1);

    let modified = vec![changed("a", ChangeKind::Modified, EntryKind::File)];
    let before = format!("old\n{plain}");
    let inspection = inspected(modified, &ChangePolicy::default(), &plain, &before);
    assert!(inspection.refusals.is_empty());
}

#[test]
fn a_mark_counts_only_on_a_line_that_had_it_at_the_base() {
    let (_, value) = samples().swap_remove(3);
    let marked = format!("k = {value} # ralph:allow-secret\n");
    let now = format!("x\n  {marked}");
    assert_eq!(
        refusals(vec![added("a")], &ChangePolicy::default(), &now).len(),
        1
    );
    let with_base = |before: &str| {
        let modified = vec![changed("a", ChangeKind::Modified, EntryKind::File)];
        inspected(modified, &ChangePolicy::default(), &now, before).refusals
    };
    let other = value.replace("aB3", "Zk9");
    assert_eq!(with_base("k = 1 # ralph:allow-secret\n").len(), 1);
    assert_eq!(with_base(&format!("k = {other}\n")).len(), 1);
    assert_eq!(
        with_base(&format!("k = {other} # ralph:allow-secret\n")),
        []
    );
}

#[test]
fn a_secret_in_the_name_of_a_file_is_refused() {
    let (_, value) = samples().swap_remove(3);
    let name = format!("notes-{value}.md");
    let found = inspected(vec![added(&name)], &ChangePolicy::default(), "", "");
    assert_eq!(
        found.refusals[0].to_string(),
        format!("{name} has what looks like a secret (GitHub token) in its name")
    );
}

#[test]
fn a_value_of_a_variable_is_a_secret_in_a_change() {
    let mut policy = ChangePolicy::default().compile().unwrap();
    policy.secrets = Redaction::new([NamedValue::new("DB_PASSWORD", "correct-horse-7")]);
    let contents = Contents {
        now: &|_| Some(b"a = 1\npassword = 'correct-horse-7'\n".to_vec()),
        before: &|_| None,
    };
    let changes = vec![added("a.py")];
    let found = inspect(
        &ChangeSet { changes },
        &policy,
        &DecidingFiles::by_name(),
        &contents,
    );
    assert_eq!(
        found.refusals[0].to_string(),
        "a.py has what looks like a secret (value of DB_PASSWORD) in line 2"
    );
}

#[test]
fn a_key_that_was_indented_or_put_into_json_is_not_new() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";
    let key = |line: &str| {
        format!(
            "-----BEGIN {0} KEY-----{line}{body}{line}-----END {0} KEY-----",
            "PRIVATE"
        )
    };
    for now in [
        format!("  {}\n", key("\n  ")),
        format!("{{\"k\": \"{}\"}}\n", key("\\n")),
    ] {
        let modified = vec![changed("a", ChangeKind::Modified, EntryKind::File)];
        let before = key("\n") + "\n";
        let found = inspected(modified.clone(), &ChangePolicy::default(), &now, &before);
        assert_eq!(found.refusals, [], "{now}");
        let found = inspected(modified, &ChangePolicy::default(), &now, "other\n");
        assert_eq!(found.refusals.len(), 1, "{now}");
    }
}

#[test]
fn flags_a_web_token_without_refusing_it() {
    let text = format!(
        "t = ey{}.ey{}.{}",
        "JhbGciOiJIUzI1", "JzdWIiOiIxMjM0", "Zq3kWm8LpT2x"
    );
    let inspection = inspected(vec![added("a")], &ChangePolicy::default(), &text, "");
    assert!(inspection.refusals.is_empty());
    assert_eq!(
        inspection.flags[0].to_string(),
        "a has something like a JSON web token in line 1"
    );
}

#[test]
fn flags_what_a_person_should_look_at() {
    let modified = |path: &str| changed(path, ChangeKind::Modified, EntryKind::File);
    let cases = [
        (
            deleted("tests/a.py"),
            "tests/a.py is a test and was deleted",
        ),
        (
            deleted("src/a.test.ts"),
            "src/a.test.ts is a test and was deleted",
        ),
        (
            deleted("pkg/a_test.go"),
            "pkg/a_test.go is a test and was deleted",
        ),
        (
            modified(".github/workflows/ci.yml"),
            ".github/workflows/ci.yml configures CI and was changed",
        ),
        (
            modified("a/__snapshots__/b.snap"),
            "a/__snapshots__/b.snap is a snapshot and was changed",
        ),
        (
            added("conftest.py"),
            "conftest.py decides what verification runs and was changed",
        ),
        (
            modified("Makefile"),
            "Makefile decides what verification runs and was changed",
        ),
    ];
    for (change, flag) in cases {
        let inspection = inspected(vec![change], &ChangePolicy::default(), "", "");
        assert_eq!(
            inspection
                .flags
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            [flag]
        );
        assert!(inspection.refusals.is_empty());
    }
    let quiet = vec![
        added("tests/a.py"),
        modified("tests/b.py"),
        added("src/latest.rs"),
    ];
    assert!(
        inspected(quiet, &ChangePolicy::default(), "", "")
            .flags
            .is_empty()
    );
}

#[test]
fn flags_tests_that_are_skipped_focused_or_gone() {
    let policy = ChangePolicy::default();
    let flags = |path: &str, before: &str, now: &str| -> Vec<String> {
        let change = vec![changed(path, ChangeKind::Modified, EntryKind::File)];
        let inspection = inspected(change, &policy, now, before);
        assert!(inspection.refusals.is_empty());
        inspection.flags.iter().map(ToString::to_string).collect()
    };
    let two = "it('a', f);\nit('b', f);\n";
    assert_eq!(
        flags("src/a.test.ts", two, "it('a', f);\nit.skip('b', f);\n"),
        ["src/a.test.ts skips b now, in line 2"]
    );
    assert_eq!(
        flags("src/a.test.ts", two, "it.only('a', f);\nit('b', f);\n"),
        ["src/a.test.ts runs a alone now, in line 1"]
    );
    assert_eq!(
        flags("src/a.test.ts", two, "it('a', f);\n"),
        ["src/a.test.ts has lost the test b"]
    );
    let rust = "fn x() {}\n#[test]\nfn a() {}\n";
    assert_eq!(
        flags(
            "src/a.rs",
            rust,
            "fn x() {}\n#[test]\n#[ignore]\nfn a() {}\n"
        ),
        ["src/a.rs skips a now, in line 3"]
    );
    assert!(flags("src/a.test.ts", two, &format!("{two}it('c', f);\n")).is_empty());
    assert!(flags("src/a.ts", two, "it.skip('a', f);\n").is_empty());
    let new = inspected(
        vec![added("src/new.test.ts")],
        &policy,
        "xit('c', f);\n",
        "",
    );
    assert_eq!(
        serde_json::to_string(&new.flags).unwrap(),
        r#"[{"path":"src/new.test.ts","kind":{"testSkipped":{"test":"c","line":1}}}]"#
    );
}

#[test]
fn code_without_tests_is_not_read_at_its_base() {
    let policy = ChangePolicy::default().compile().unwrap();
    let contents = Contents {
        now: &|_| Some(b"fn main() {}\n".to_vec()),
        before: &|path| panic!("{} was read", path.display()),
    };
    let changes = vec![changed(
        "src/main.rs",
        ChangeKind::Modified,
        EntryKind::File,
    )];
    let found = inspect(
        &ChangeSet { changes },
        &policy,
        &DecidingFiles::by_name(),
        &contents,
    );
    assert_eq!(found, Inspection::default());
}

#[test]
fn services_that_test_elsewhere_are_known_by_their_files() {
    for path in [
        ".github/workflows/ci.yml",
        ".github/actions/setup/action.yml",
        ".gitlab-ci.yml",
        "ci/deploy.gitlab-ci.yml",
        ".gitlab/ci/test.yml",
        ".circleci/config.yml",
        ".buildkite/pipeline.yml",
        ".forgejo/workflows/ci.yaml",
        ".gitea/workflows/ci.yaml",
        ".woodpecker.yml",
        ".woodpecker/test.yaml",
        ".drone.yml",
        ".travis.yml",
        "Jenkinsfile",
        "Jenkinsfile.nightly",
        "azure-pipelines.yml",
        "azure-pipelines-nightly.yaml",
        "bitbucket-pipelines.yml",
        "appveyor.yml",
        ".cirrus.yml",
        ".semaphore/semaphore.yml",
        ".teamcity/settings.kts",
        ".ci/test.sh",
        "cloudbuild.yaml",
        "buildspec.yml",
        "codecov.yml",
    ] {
        let change = vec![changed(path, ChangeKind::Modified, EntryKind::File)];
        let flags = inspected(change, &ChangePolicy::default(), "", "").flags;
        assert_eq!(flags[0].kind, FlagKind::CiChanged, "{path}");
    }
    for path in [
        ".github/CODEOWNERS",
        ".github/ISSUE_TEMPLATE/bug.md",
        "docs/ci.md",
        "src/ci.rs",
    ] {
        let change = vec![changed(path, ChangeKind::Modified, EntryKind::File)];
        let flags = inspected(change, &ChangePolicy::default(), "", "").flags;
        assert_eq!(flags, [], "{path}");
    }
}

#[test]
fn flags_a_package_file_only_if_its_scripts_changed() {
    let change = || {
        vec![changed(
            "web/package.json",
            ChangeKind::Modified,
            EntryKind::File,
        )]
    };
    let policy = ChangePolicy::default();
    let before = r#"{"scripts":{"test":"jest"},"dependencies":{}}"#;
    let dependency = r#"{"scripts":{"test":"jest"},"dependencies":{"a":"1"}}"#;
    let emptied = r#"{"scripts":{"test":"true"},"dependencies":{}}"#;
    assert!(
        inspected(change(), &policy, dependency, before)
            .flags
            .is_empty()
    );
    assert_eq!(inspected(change(), &policy, emptied, before).flags.len(), 1);
    assert_eq!(
        inspected(change(), &policy, "not json", before).flags.len(),
        1
    );
}

#[test]
fn escapes_what_could_drive_a_terminal_in_a_path() {
    let refusal = refusals(vec![deleted("t/\u{1b}[2Ja\n")], &protecting("t"), "");
    assert_eq!(refusal, ["t/\\u{1b}[2Ja\\n is protected and was deleted"]);
}

#[test]
fn writes_findings_as_camel_case_json() {
    let refusal = Refusal {
        path: "a".into(),
        reason: RefusalReason::TooLarge { bytes: 2, limit: 1 },
    };
    assert_eq!(
        serde_json::to_string(&refusal).unwrap(),
        r#"{"path":"a","reason":{"tooLarge":{"bytes":2,"limit":1}}}"#
    );
}

#[test]
fn a_line_with_a_secret_that_was_moved_is_not_new() {
    let token = format!("token = \"ghp_{}\"\n", "R4lph".repeat(7) + "x");
    let moved = |before: &str| {
        let policy = ChangePolicy::default().compile().unwrap();
        let contents = Contents {
            now: &|_| Some(format!("  {token}").into_bytes()),
            before: &|path| (path == Path::new("old.py")).then(|| before.as_bytes().to_vec()),
        };
        let changes = vec![deleted("old.py"), added("new.py")];
        inspect(
            &ChangeSet { changes },
            &policy,
            &DecidingFiles::by_name(),
            &contents,
        )
    };
    assert_eq!(moved(&token).refusals, []);
    assert_eq!(moved("nothing\n").refusals.len(), 1);
}

#[test]
fn tests_and_deciding_files_are_refused_flagged_or_left_alone_as_configured() {
    let changes = || vec![deleted("tests/a_test.py"), added("Makefile"), added("a.py")];
    let with = |protect_tests| ChangePolicy {
        protect_tests,
        ..ChangePolicy::default()
    };
    let said = |protect| {
        let found = inspected(changes(), &with(protect), "x = 1\n", "");
        let refusals = found.refusals.iter().map(ToString::to_string);
        let flags = found.flags.iter().map(ToString::to_string);
        (
            refusals.collect::<Vec<String>>(),
            flags.collect::<Vec<String>>(),
        )
    };
    let both = [
        "tests/a_test.py is a test and was deleted".to_owned(),
        "Makefile decides what verification runs and was changed".to_owned(),
    ];
    assert_eq!(said(ProtectTests::Off), (vec![], vec![]));
    assert_eq!(said(ProtectTests::Flag), (vec![], both.to_vec()));
    assert_eq!(said(ProtectTests::Block), (both.to_vec(), vec![]));
}
