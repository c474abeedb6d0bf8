//! The table of survivors: for every way in which a run can end, nothing of its tree is left.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_engine::process::{Containment, Ended, Signal, Stdin, StopPlan, spawn};
use tokio::io::AsyncWriteExt;

use crate::support::{LIMIT, Leash, TREE, tight_containments};

const SHORT: Duration = Duration::from_millis(50);

const IMPATIENT: StopPlan = StopPlan {
    first: Signal::INT,
    grace: SHORT,
    term_grace: SHORT,
};

#[tokio::test]
async fn nothing_outlives_a_program_that_exits() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let spec = leash
            .spec(&format!("{TREE} read go; exit 3"))
            .stdin(Stdin::Open);
        let mut running = spawn(&spec, containment).unwrap();
        leash.up(2).await;
        running
            .take_stdin()
            .unwrap()
            .write_all(b"go\n")
            .await
            .unwrap();
        assert_eq!(
            running.wait().await.unwrap(),
            Ended::Code(3),
            "{containment}"
        );
        leash.assert_dead(containment.as_str()).await;
    }
}

#[tokio::test]
async fn a_grandchild_that_holds_the_output_open_does_not_outlive_the_program() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let script = format!("{TREE} echo said; read go; exit 0");
        let spec = leash.spec(&script).stdin(Stdin::Open);
        let mut running = spawn(&spec, containment).unwrap();
        leash.up(2).await;
        drop(running.take_stdin());
        let mut stdout = running.take_stdout().unwrap();
        let mut said = String::new();
        let read = tokio::io::AsyncReadExt::read_to_string(&mut stdout, &mut said);
        tokio::time::timeout(LIMIT, read)
            .await
            .expect("the output ends")
            .unwrap();
        assert_eq!(said, "said\n");
        running.wait().await.unwrap();
        leash.assert_dead(containment.as_str()).await;
    }
}

#[tokio::test]
async fn nothing_outlives_a_stop_although_the_program_ignores_signals() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let script = format!("trap '' INT TERM HUP; {TREE} while :; do sleep 1000; done");
        let mut running = spawn(&leash.spec(&script), containment).unwrap();
        leash.up(2).await;
        assert_eq!(
            running.stop(IMPATIENT).await.unwrap(),
            Ended::Signal(9),
            "{containment}"
        );
        leash.assert_dead(containment.as_str()).await;
    }
}

#[tokio::test]
async fn a_program_that_heeds_the_first_signal_ends_in_its_own_way() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let script = format!("trap 'exit 7' INT; {TREE} sleep 1000 & wait");
        let mut running = spawn(&leash.spec(&script), containment).unwrap();
        leash.up(2).await;
        let plan = StopPlan {
            grace: LIMIT,
            ..IMPATIENT
        };
        assert_eq!(
            running.stop(plan).await.unwrap(),
            Ended::Code(7),
            "{containment}"
        );
        leash.assert_dead(containment.as_str()).await;
    }
}

#[tokio::test]
async fn a_program_that_heeds_only_sigterm_is_stopped_by_it() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let script = format!("trap '' INT; {TREE} exec sleep 1000");
        let mut running = spawn(&leash.spec(&script), containment).unwrap();
        leash.up(2).await;
        let plan = StopPlan {
            term_grace: LIMIT,
            ..IMPATIENT
        };
        assert_eq!(
            running.stop(plan).await.unwrap(),
            Ended::Signal(15),
            "{containment}"
        );
        leash.assert_dead(containment.as_str()).await;
    }
}

#[tokio::test]
async fn dropping_a_running_program_kills_its_tree() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        let running = spawn(&leash.spec(&format!("{TREE} sleep 1000")), containment).unwrap();
        leash.up(2).await;
        drop(running);
        leash.gone(containment.as_str()).await;
    }
}

#[tokio::test]
async fn many_that_fork_all_the_time_are_killed_too() {
    for containment in tight_containments() {
        let mut leash = Leash::new();
        // Each link starts the next in the background and is gone: a moving target.
        let script = r#"
            exec 8>"$LEASH"
            cat > chain.sh <<'E'
exec 9>"$LEASH"
[ -z "$1" ] || echo up >&9
setsid sh chain.sh &
E
            for i in 1 2 3; do setsid sh chain.sh first & done; sleep 1000"#;
        let mut running = spawn(&leash.spec(script), containment).unwrap();
        leash.up(3).await;
        running.stop(StopPlan::KILL).await.unwrap();
        leash.assert_dead(containment.as_str()).await;
    }
}

#[tokio::test]
async fn nothing_outlives_a_killed_ralph() {
    for containment in tight_containments() {
        let exe = std::env::current_exe().unwrap();
        kill_a_harness(Command::new(exe), containment).await;
    }
}

#[tokio::test]
async fn nothing_outlives_a_killed_ralph_of_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() {
        // The test above was that of an ordinary user already.
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let exe = dir.path().join("harness");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // By another program: a child that another test forks meanwhile must not inherit an open file
    // that is about to be run.
    let mut copy = Command::new("install");
    copy.arg("--mode=755")
        .arg(std::env::current_exe().unwrap())
        .arg(&exe);
    assert!(copy.status().unwrap().success());
    for containment in [Containment::UserNamespace, Containment::Subreaper] {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=12345", "--regid=12345", "--clear-groups"])
            .arg(&exe);
        kill_a_harness(command, containment).await;
    }
}

/// Runs this test binary again as a ralph that has a tree, kills it, and looks for survivors.
async fn kill_a_harness(mut command: Command, containment: Containment) {
    let mut leash = Leash::new();
    let mut harness = command
        .args([
            "--exact",
            "survivors::plays_a_ralph_with_a_tree",
            "--ignored",
            "--nocapture",
        ])
        .envs(leash.env())
        .env("HARNESS_CONTAINMENT", containment.as_str())
        .current_dir(leash.dir())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    leash.up(2).await;
    let keeper = BufReader::new(harness.stdout.as_mut().unwrap())
        .lines()
        .find_map(|line| {
            line.unwrap()
                .split_once("KEEPER ")
                .map(|(_, pid)| pid.to_owned())
        })
        .unwrap();
    let pid = rustix::process::Pid::from_raw(keeper.parse().unwrap()).unwrap();
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::NONBLOCK).unwrap();
    harness.kill().unwrap();
    harness.wait().unwrap();
    leash.gone(&format!("{containment}, ralph killed")).await;
    let mut poll = [rustix::event::PollFd::new(
        &pidfd,
        rustix::event::PollFlags::IN,
    )];
    let limit = rustix::event::Timespec {
        tv_sec: 20,
        tv_nsec: 0,
    };
    assert_eq!(
        rustix::event::poll(&mut poll, Some(&limit)).unwrap(),
        1,
        "the keeper is gone"
    );
}

/// No test of its own: what [`kill_a_harness`] kills.
#[tokio::test]
#[ignore = "started by other tests, to be killed"]
#[allow(clippy::print_stdout)]
async fn plays_a_ralph_with_a_tree() {
    let Ok(containment) = std::env::var("HARNESS_CONTAINMENT") else {
        return;
    };
    let mut spec = crate::support::shell(
        &format!("{TREE} sleep 1000"),
        &std::env::current_dir().unwrap(),
    );
    for key in ["LEASH", "RALPH_TEST_MARK"] {
        spec = spec.env(key, std::env::var(key).unwrap());
    }
    let mut running = spawn(&spec, containment.parse().unwrap()).unwrap();
    println!("KEEPER {}", running.pid());
    running.wait().await.unwrap();
}
