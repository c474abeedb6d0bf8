//! The forty cases of an agent that cheats, errs or is attacked: which test shows what becomes of each.

mod claims;
mod git;
mod host;
mod not_there;
mod verification;

/// The cases by number, each with its name. The test of a case begins with its number, as in `a07_…`; a case
/// may have several.
const CASES: [(u8, &str); 40] = [
    (1, "the task file is edited to say that tasks are done"),
    (2, "a claim with an empty diff"),
    (3, "a promise while tasks are open"),
    (4, "a promise in a tool result, a quoted file or the prompt"),
    (5, "done.md forged, stale, or left from a crash"),
    (6, "a subprocess prints the agent's own events"),
    (7, "exit code 0 without a final result"),
    (8, "an escalation in the text of the repository"),
    (9, "a test is deleted"),
    (10, "an assertion is weakened or skipped"),
    (11, "a runner that always passes"),
    (12, "the harness of the tests ends early"),
    (13, "fewer tests than before"),
    (14, "verify commands are edited"),
    (15, "a script that verification runs is emptied"),
    (16, "a program is planted on the PATH"),
    (17, "snapshots or CI are regenerated"),
    (18, "a background process alters files during verification"),
    (19, "verification hangs"),
    (20, "verification floods"),
    (21, "hooks are planted"),
    (22, "git settings that start programs"),
    (23, ".git is replaced"),
    (24, "history is rewritten"),
    (25, "the branch is moved by force"),
    (26, "a push"),
    (27, "the agent commits by itself"),
    (28, "locks are left behind"),
    (29, "a secret in the change"),
    (30, "huge files, nested repositories, links out of the tree"),
    (31, ".ralph or the journal is edited"),
    (32, "ralph is signalled"),
    (33, "files outside of the workspace are written or removed"),
    (34, "the environment of other processes is read"),
    (35, "settings of agents are written"),
    (36, "docker's socket, ptrace, io_uring"),
    (37, "the dashboard is called"),
    (38, "instructions in task text and files"),
    (39, "terminal escapes in output"),
    (40, "ids that are paths, options, huge or broken"),
];

/// Cases that only walls around an agent close: without a sandbox, or a network of its own, they are open, and
/// the documents say so.
const NEED_WALLS: [(u8, &str); 8] = [
    (26, "an agent can use any credential that it can read"),
    (31, "without a mount namespace the journal can be written"),
    (32, "without a PID namespace ralph can be signalled"),
    (33, "an agent writes with the rights of its user"),
    (
        34,
        "without a PID namespace other processes of the user can be read",
    ),
    (
        35,
        "the settings of agents in the home folder can be written",
    ),
    (36, "no system call and no socket of a service is denied"),
    (37, "a service of the user can be called"),
];

/// The sources that hold the tests of a part.
const SOURCES: [&str; 4] = [
    include_str!("a/claims.rs"),
    include_str!("a/git.rs"),
    include_str!("a/host.rs"),
    include_str!("a/verification.rs"),
];

#[test]
fn every_case_has_a_test() {
    for (index, (number, name)) in CASES.iter().enumerate() {
        assert_eq!(usize::from(*number), index + 1, "{name}");
        let begins = format!("\nfn a{number:02}_");
        let has_test = SOURCES.iter().any(|text| text.contains(&begins));
        assert!(has_test, "case {number}: {name}");
    }
}

#[test]
fn what_needs_walls_is_called_open_in_the_documents() {
    let text = include_str!("../../../../docs/safety.md");
    for (number, why) in NEED_WALLS {
        let mut rows = text.lines();
        let row = rows.find(|line| line.starts_with(&format!("| {number} |")));
        let row = row.unwrap_or_default();
        assert!(row.contains("open"), "case {number}, {why}: {row}");
    }
}
