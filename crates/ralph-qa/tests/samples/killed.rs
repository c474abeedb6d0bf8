//! The runner killed at random moments: no browser, no server and no profile is left.
//!
//! `RALPH_QA_KILLS` says how often, `RALPH_QA_SEED` repeats a storm that failed. What is killed is this test's own program,
//! or with `RALPH_QA_PROGRAM` that ralph, as `ralph qa run`.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::harness::{PASSWORD, Samples};

/// Kills without RALPH_QA_KILLS.
const KILLS: u64 = 4;
/// The variable that all that is started inherits, with a value of its own for each kill.
const MARK: &str = "SAMPLES_MARK";
/// The longest until everything is gone.
const GONE: Duration = Duration::from_secs(20);
/// The flows that run when the kill comes; they take longer than the longest wait for it.
const FLOWS: [&str; 4] = ["tracker-work", "repairs-book", "ledger-login", "gauge-look"];
/// The copy of the samples that the runner below works in.
const PLACE: &str = "SAMPLES_PLACE";

/// What is killed: started by the storm below, and by nothing else.
#[test]
#[ignore = "it is a part of the storm, which starts it"]
fn runner_that_is_killed() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let samples = Samples::at(place.into());
    let report = samples.run(&FLOWS);
    assert!(report.passed);
}

#[test]
fn killed_at_random_moments_it_leaves_no_browser_no_server_and_no_profile() {
    let kills = number("RALPH_QA_KILLS").unwrap_or(KILLS);
    let seed = number("RALPH_QA_SEED").unwrap_or_else(|| {
        use std::hash::{BuildHasher as _, Hasher as _};
        std::hash::RandomState::new().build_hasher().finish()
    });
    for kill in 0..kills {
        let seed = seed.wrapping_add(kill);
        #[allow(clippy::print_stdout, reason = "a storm that fails must be repeatable")]
        {
            println!("kill {kill} of {kills}: RALPH_QA_SEED={seed}");
        }
        kill_once(seed);
    }
}

fn kill_once(seed: u64) {
    let samples = Samples::copied();
    let temp = tempfile::tempdir().unwrap();
    let mark = format!("{}-{seed}", std::process::id());
    let mut runner = start(&samples, temp.path(), &mark);
    // From before the browser is there to the middle of the flows.
    let mut dice = Dice(seed | 1);
    let moment = Duration::from_millis(dice.roll(6000));
    wait_at_most(&mut runner, moment);
    runner.kill().unwrap();
    runner.wait().unwrap();

    let began = Instant::now();
    loop {
        let processes = alive(&mark, temp.path());
        let profiles = profiles(temp.path());
        if processes.is_empty() && profiles.is_empty() {
            return;
        }
        assert!(
            began.elapsed() < GONE,
            "seed {seed}, killed after {moment:?}: {processes:#?} are alive, {profiles:#?} are there"
        );
        std::thread::yield_now();
    }
}

fn start(samples: &Samples, temp: &Path, mark: &str) -> Child {
    let mut command = if let Some(ralph) = std::env::var_os("RALPH_QA_PROGRAM") {
        repository(samples.root());
        let mut command = Command::new(ralph);
        command.args(["qa", "run"]).args(FLOWS);
        command
    } else {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "killed::runner_that_is_killed"]);
        command
    };
    command
        .current_dir(samples.root())
        .env("TMPDIR", temp)
        .env("LEDGER_PASSWORD", PASSWORD)
        .env(MARK, mark)
        .env(PLACE, samples.root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Makes a git repository of a folder: `ralph` wants one.
fn repository(folder: &Path) {
    let person = [
        "-c",
        "user.name=Test Person",
        "-c",
        "user.email=person@test.invalid",
    ];
    for args in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "samples"],
    ] {
        let status = Command::new("git")
            .args(person)
            .args(args)
            .current_dir(folder)
            .status();
        assert!(status.unwrap().success());
    }
}

fn wait_at_most(child: &mut Child, limit: Duration) {
    let began = Instant::now();
    while began.elapsed() < limit && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
}

/// Processes that have the mark in their environment, or the folder in their arguments.
fn alive(mark: &str, temp: &Path) -> Vec<String> {
    let mark = format!("{MARK}={mark}");
    let temp = temp.to_string_lossy();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let arguments = std::fs::read(process.path().join("cmdline")).ok()?;
            let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
            let is_marked = environment
                .split(|byte| *byte == 0)
                .any(|one| one == mark.as_bytes());
            (is_marked || arguments.contains(&*temp))
                .then(|| format!("{}: {arguments}", process.path().display()))
        })
        .collect()
}

/// Files of a browser's profile in a folder, at any depth.
fn profiles(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else if entry
                .path()
                .components()
                .any(|part| part.as_os_str() == "profile")
            {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

/// A small generator of numbers, so that a seed gives the same moment everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        // Near seeds must not give near moments.
        self.0 = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
        self.0 = self.0.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.0 ^= self.0 >> 32;
        self.0 % below
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
