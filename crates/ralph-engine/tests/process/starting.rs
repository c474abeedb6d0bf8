//! What a program gets when it starts, how its end is reported, and what is said when it can't start.

use std::path::Path;

use ralph_engine::process::{CommandSpec, Containment, Ended, SpawnError, spawn};
use tokio::io::AsyncReadExt;

use crate::support::{containments, shell};

async fn output_of(spec: &CommandSpec, containment: Containment) -> String {
    let mut running = spawn(spec, containment).unwrap();
    let mut text = String::new();
    running
        .take_stdout()
        .unwrap()
        .read_to_string(&mut text)
        .await
        .unwrap();
    assert_eq!(running.wait().await.unwrap(), Ended::Code(0));
    text
}

#[tokio::test]
async fn the_exit_code_and_the_signal_are_reported_exactly() {
    let cases = [
        ("exit 0", Ended::Code(0)),
        ("exit 3", Ended::Code(3)),
        ("exit 137", Ended::Code(137)),
        ("exit 255", Ended::Code(255)),
        ("kill -TERM $$", Ended::Signal(15)),
        ("kill -KILL $$", Ended::Signal(9)),
        ("ulimit -c 0; kill -SEGV $$", Ended::Signal(11)),
    ];
    for containment in containments() {
        for (script, expected) in cases {
            let mut running = spawn(&shell(script, Path::new("/")), containment).unwrap();
            assert_eq!(
                running.wait().await.unwrap(),
                expected,
                "{containment}: {script}"
            );
            assert_eq!(running.wait().await.unwrap(), expected, "asked again");
        }
    }
}

#[tokio::test]
async fn a_missing_program_is_named() {
    for containment in containments() {
        let error = spawn(&CommandSpec::new("no-such-program-x", "/"), containment).unwrap_err();
        assert!(
            matches!(error, SpawnError::ProgramNotFound { .. }),
            "{error:?}"
        );
        assert_eq!(error.to_string(), "program not found: no-such-program-x");
    }
}

#[tokio::test]
async fn a_program_that_may_not_run_is_named_with_the_reason() {
    for containment in containments() {
        let error = spawn(&CommandSpec::new("/etc/passwd", "/"), containment).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot run /etc/passwd: Permission denied (os error 13)"
        );
    }
}

#[tokio::test]
async fn a_missing_folder_is_not_taken_for_a_missing_program() {
    let error = spawn(
        &shell("true", Path::new("/no/such/folder")),
        Containment::Subreaper,
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "working folder is missing or not a folder: /no/such/folder"
    );
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_nothing_else() {
    for containment in containments() {
        let spec = CommandSpec::new("/usr/bin/env", "/")
            .env("A", "1")
            .env("B", "two words");
        assert_eq!(output_of(&spec, containment).await, "A=1\nB=two words\n");
    }
}

#[tokio::test]
async fn the_tree_keeps_its_user_and_cannot_read_ralphs_environment() {
    assert!(
        std::env::var_os("PATH").is_some(),
        "there is something to hide"
    );
    let user = rustix::process::geteuid().as_raw();
    for containment in containments() {
        if matches!(
            containment,
            Containment::Subreaper | Containment::ProcessGroup
        ) {
            // Their trees share the processes of the outside; pid 1 is the machine's.
            continue;
        }
        let script =
            "id -u; ls /proc | grep -c '^1$'; tr -d '\\0' < /proc/1/environ 2>/dev/null; :";
        let text = output_of(&shell(script, Path::new("/")), containment).await;
        assert_eq!(text, format!("{user}\n1\n"), "{containment}");
    }
}

#[tokio::test]
async fn a_tree_in_a_namespace_sees_only_itself() {
    for containment in [Containment::PidNamespace, Containment::UserNamespace] {
        if containment.probe().is_err() {
            continue;
        }
        let text = output_of(&shell("echo /proc/[0-9]*", Path::new("/")), containment).await;
        assert_eq!(text, "/proc/1 /proc/2\n", "{containment}");
    }
}

#[tokio::test]
async fn detection_says_in_a_sentence_what_is_used_and_why() {
    let forced = Containment::detect(Some(Containment::Subreaper));
    assert_eq!(forced.containment, Containment::Subreaper);
    assert_eq!(forced.why, "subreaper is used because it was asked for");
    let found = Containment::detect(None);
    assert!(
        found
            .why
            .starts_with(&format!("{} is used because ", found.containment))
    );
    assert_ne!(found.containment, Containment::ProcessGroup);
    assert_eq!("subreaper".parse(), Ok(Containment::Subreaper));
    assert_eq!("process-group".parse(), Ok(Containment::ProcessGroup));
    assert_eq!(
        "cgroup".parse::<Containment>().unwrap_err().to_string(),
        "unknown containment \"cgroup\" (one of: pid-namespace, user-namespace, subreaper, process-group)"
    );
}

#[tokio::test]
async fn spawning_from_two_threads_is_caught_in_debug_builds() {
    let start = || spawn(&shell("exit 0", Path::new("/")), Containment::Subreaper).map(drop);
    start().unwrap();
    let elsewhere = tokio::task::spawn_blocking(start).await;
    assert_eq!(elsewhere.is_err(), cfg!(debug_assertions));
}
