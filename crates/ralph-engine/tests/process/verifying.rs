//! Verify commands as real programs: what is reported, what is logged, what is left.

use std::future::pending;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use ralph_core::allowlist::Allowlist;
use ralph_core::secret::Redaction;
use ralph_core::task::VerifyCommand;
use ralph_core::verify::{CommandOutcome, VerifyReport};
use ralph_engine::process::{CappedLog, Containment, KeeperName, LogCaps};
use ralph_engine::verifier::{TailCaps, VerifyContext, VerifyEvent, run_commands};

use crate::support::{LIMIT, Leash, TREE, tight_containments};

static NO_VALUES: LazyLock<Redaction> = LazyLock::new(Redaction::default);

fn context(dir: &Path, containment: Containment) -> VerifyContext<'static> {
    VerifyContext {
        sandbox: None,
        cwd: dir.to_owned(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        timeout: LIMIT,
        keeper: KeeperName::default(),
        mounts: None,
        written: None,
        containment,
        caps: TailCaps::default(),
        redaction: &NO_VALUES,
        allowed: None,
        own: None,
    }
}

fn shell(line: &str) -> VerifyCommand {
    VerifyCommand::Shell(line.into())
}

fn argv(words: &[&str]) -> VerifyCommand {
    VerifyCommand::Argv(words.iter().map(|&w| w.to_owned()).collect())
}

/// Runs commands without an end to them, and returns the report and the log.
async fn run(commands: &[VerifyCommand], context: &VerifyContext<'_>) -> (VerifyReport, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let mut log = CappedLog::create(&path, LogCaps::default()).unwrap();
    let report = run_commands(commands, context, &mut log, &mut |_| {}, pending()).await;
    log.finish().unwrap();
    (report, std::fs::read_to_string(&path).unwrap())
}

fn outcomes(report: &VerifyReport) -> Vec<CommandOutcome> {
    report.commands.iter().map(|c| c.outcome.clone()).collect()
}

#[tokio::test]
async fn all_commands_run_also_after_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let commands = [
        shell("echo fine"),
        shell("echo out; echo err >&2; exit 3"),
        argv(&["sh", "-c", "kill -TERM $$"]),
        argv(&["printf", "%s|", "a b", "$HOME"]),
    ];
    let context = context(dir.path(), Containment::detect(None).containment);
    let (report, log) = run(&commands, &context).await;
    assert_eq!(
        outcomes(&report),
        [
            CommandOutcome::Passed,
            CommandOutcome::Failed { code: 3 },
            CommandOutcome::Signalled { signal: 15 },
            CommandOutcome::Passed,
        ]
    );
    assert!(!report.passed() && !report.cancelled);
    assert_eq!(report.commands[1].tail, "out\nerr\n");
    assert_eq!(
        log,
        "$ echo fine\nfine\n[passed]\n\
         $ echo out; echo err >&2; exit 3\nout\nerr\n[failed with exit code 3]\n\
         $ sh -c 'kill -TERM $$'\n[ended by signal 15]\n\
         $ printf '%s|' 'a b' '$HOME'\na b|$HOME|[passed]\n"
    );
}

#[tokio::test]
async fn a_command_that_is_not_listed_is_not_started_and_the_rest_still_runs() {
    let dir = tempfile::tempdir().unwrap();
    let commands = [shell("echo a > a; touch b"), shell("echo c > c")];
    for containment in tight_containments() {
        let context = VerifyContext {
            allowed: Allowlist::new(&["cat".to_owned()]),
            ..context(dir.path(), containment)
        };
        let (report, _) = run(&commands, &context).await;
        assert_eq!(
            report.commands[0].outcome,
            CommandOutcome::NotStarted {
                why: "`touch` is not in `safety.allowed_commands` (cat)".into()
            }
        );
        assert!(report.commands[1].passed());
    }
    let made = |name: &str| dir.path().join(name).exists();
    assert!(!made("a") && !made("b") && made("c"));
}

#[tokio::test]
async fn a_missing_program_is_reported_by_name_and_the_rest_still_runs() {
    let dir = tempfile::tempdir().unwrap();
    let commands = [
        argv(&["no-such-program-x", "--all"]),
        argv(&[]),
        shell("true"),
    ];
    let (report, _) = run(&commands, &context(dir.path(), Containment::Subreaper)).await;
    let not_started = |why: &str| CommandOutcome::NotStarted { why: why.into() };
    assert_eq!(
        outcomes(&report),
        [
            not_started("program not found: no-such-program-x"),
            not_started("the command is empty"),
            CommandOutcome::Passed,
        ]
    );
}

#[tokio::test]
async fn a_time_out_leaves_nothing_alive_and_keeps_what_was_said() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let mut context = context(leash.dir(), containment);
        context.timeout = Duration::from_millis(300);
        context
            .env
            .extend(leash.env().map(|(k, v)| (k.into(), v.into())));
        let command = shell(&format!("trap '' TERM INT; echo before; {TREE} sleep 1000"));
        let (report, log) = run(&[command], &context).await;
        assert_eq!(
            outcomes(&report),
            [CommandOutcome::TimedOut {
                after: Duration::from_millis(300)
            }]
        );
        assert_eq!(report.commands[0].tail, "before\n");
        assert!(log.ends_with("before\n[timed out after 0.3 s]\n"), "{log}");
        leash.dead_after_being_up(2, containment.as_str()).await;
    }
}

#[tokio::test]
async fn a_process_left_in_the_background_is_dead_when_its_command_has_passed() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let mut context = context(leash.dir(), containment);
        context
            .env
            .extend(leash.env().map(|(k, v)| (k.into(), v.into())));
        let leave = r#"mkfifo ready; setsid sh -c 'exec 9>"$LEASH"; echo up >&9; echo >ready; sleep 1000' & read x <ready"#;
        let (report, _) = run(&[shell(leave)], &context).await;
        assert!(report.passed(), "{report:?}");
        leash.dead_after_being_up(1, containment.as_str()).await;
    }
}

#[tokio::test]
async fn a_cancelled_run_stops_kills_and_does_not_pass() {
    let mut leash = Leash::new();
    let mut context = context(leash.dir(), Containment::detect(None).containment);
    context
        .env
        .extend(leash.env().map(|(k, v)| (k.into(), v.into())));
    let commands = [
        shell("true"),
        shell(&format!("{TREE} sleep 1000")),
        shell("true"),
    ];
    let file = std::fs::File::options()
        .write(true)
        .open("/dev/null")
        .unwrap();
    let mut log = CappedLog::new(file, LogCaps::default());
    let mut seen = Vec::new();
    let mut watch = |event: VerifyEvent<'_>| match event {
        VerifyEvent::Running { .. } => {}
        VerifyEvent::Started { command } => seen.push(format!("start {command}")),
        VerifyEvent::Finished { report } => {
            seen.push(format!("end {} {}", report.command, report.outcome));
        }
    };
    let report = run_commands(&commands, &context, &mut log, &mut watch, leash.up(2)).await;
    assert_eq!(outcomes(&report), [CommandOutcome::Passed]);
    assert!(report.cancelled && !report.passed());
    let second = format!("start {}", commands[1]);
    assert_eq!(seen, ["start true", "end true passed", second.as_str()]);
    leash.gone("cancelled").await;
}

#[tokio::test]
async fn a_flood_is_trimmed_and_judged_by_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let mut context = context(dir.path(), Containment::detect(None).containment);
    context.caps = TailCaps {
        lines: 2,
        bytes: 1000,
    };
    let flood = |code| {
        shell(&format!(
            "yes flood | head -c 60000000; echo; echo end; exit {code}"
        ))
    };
    let (report, log) = run(&[flood(0), flood(1)], &context).await;
    assert_eq!(
        outcomes(&report),
        [CommandOutcome::Passed, CommandOutcome::Failed { code: 1 }]
    );
    assert_eq!(report.commands[0].tail, "[… 60000000 bytes cut …]\n\nend\n");
    assert!(log.len() < 53_000_000, "{}", log.len());
    assert!(log.contains(" bytes dropped …]\n"));
    assert!(log.ends_with("\nend\n[failed with exit code 1]\n"));
}

#[tokio::test]
async fn a_program_that_closes_its_output_is_still_awaited() {
    let dir = tempfile::tempdir().unwrap();
    let mut context = context(dir.path(), Containment::detect(None).containment);
    context.timeout = Duration::from_millis(200);
    let commands = [
        shell("exec >&- 2>&-; exit 5"),
        shell("exec >&- 2>&-; sleep 1000"),
    ];
    let (report, _) = run(&commands, &context).await;
    assert_eq!(
        outcomes(&report),
        [
            CommandOutcome::Failed { code: 5 },
            CommandOutcome::TimedOut {
                after: Duration::from_millis(200)
            },
        ]
    );
}
