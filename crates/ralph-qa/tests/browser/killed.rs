//! SIGKILL of ralph, and a browser that dies.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use ralph_engine::process::Containment;
use ralph_qa::result::FailureKind;

use super::{STEP, act, navigate, open, sees, site::Site};

const TEMP: &str = "RALPH_TEST_TEMP";
const HELD_BY: &str = "RALPH_TEST_CONTAINMENT";

/// The processes that have a text in their command line.
fn processes_with(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(text)).collect()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::yield_now();
    }
}

/// The folders and locks of profiles.
fn profiles(temp: &Path) -> usize {
    let folders = std::fs::read_dir(temp).unwrap().flatten();
    let inside = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap());
    inside.count()
}

fn files_below(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let counts = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => files_below(&entry.path()),
        false => 1,
    });
    counts.sum()
}

/// Not a test by itself: the process that is killed.
#[tokio::test]
#[ignore = "is started by the test below"]
async fn holds_a_browser_until_it_is_killed() {
    let Some(temp) = std::env::var_os(TEMP) else {
        return;
    };
    let mut place = super::place();
    place.env.push(("TMPDIR".into(), temp));
    place.containment = std::env::var(HELD_BY).unwrap().parse().unwrap();
    let program = super::find_browser(None, &place).await.unwrap();
    let work = async |browser: &super::QaBrowser| {
        let page = browser.open(&super::PageSettings::default()).await.unwrap();
        act(&page, navigate("data:text/html,<h1>Here</h1>")).await;
        sees(&page, "Here").await;
        println!("it is there");
        std::future::pending::<()>().await;
    };
    super::with_browser(&program, &place, work).await.unwrap();
}

#[tokio::test]
async fn sigkill_leaves_no_browser_and_its_profile_goes_with_the_next_start() {
    let strongest = Containment::detect(None).containment;
    for containment in [strongest, Containment::Subreaper] {
        let temp = tempfile::tempdir().unwrap();
        let mark = temp.path().to_str().unwrap().to_owned();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "--nocapture",
                "killed::holds_a_browser_until_it_is_killed",
            ])
            .env(TEMP, temp.path())
            .env(HELD_BY, containment.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_there = lines
            .map_while(Result::ok)
            .any(|line| line.contains("it is there"));
        assert!(is_there, "{containment}");
        assert!(processes_with(&mark).len() > 2);
        assert!(profiles(temp.path()) > 0);
        child.kill().unwrap();
        child.wait().unwrap();
        until("a browser outlives ralph", || {
            processes_with(&mark).is_empty()
        });
        if containment.has_mount_namespace() {
            assert_eq!(files_below(temp.path()), 1, "only the lock is left");
        }

        let mut place = super::place();
        place.env.push(("TMPDIR".into(), temp.path().into()));
        let program = super::find_browser(None, &place).await.unwrap();
        let during = super::with_browser(&program, &place, async |_| profiles(temp.path())).await;
        // Its own folder and lock, and none of the other's.
        assert_eq!(during.unwrap(), 2);
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_browser_that_dies_is_told_and_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let mark = temp.path().to_str().unwrap().to_owned();
    let mut place = super::place();
    place.env.push(("TMPDIR".into(), temp.path().into()));
    place.containment = Containment::Subreaper;
    let site = Site::one("<h1>Here</h1>");
    let whole = async {
        let program = super::find_browser(None, &place).await.unwrap();
        let work = async |browser: &super::QaBrowser| {
            let page = open(browser, &site, "/").await;
            for entry in std::fs::read_dir("/proc").unwrap().flatten() {
                let line =
                    std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
                let is_browser = line.contains(&mark) && !line.contains("--type=");
                if is_browser && let Ok(id) = entry.file_name().to_str().unwrap().parse() {
                    let id = rustix::process::Pid::from_raw(id).unwrap();
                    let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
                }
            }
            let started = Instant::now();
            let failure = page.perform(&navigate("/"), STEP).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Browser, "{failure:?}");
            assert!(started.elapsed() < Duration::from_secs(10));
            assert!(browser.is_gone());
            let failure = browser
                .open(&super::PageSettings::default())
                .await
                .unwrap_err();
            assert_eq!(failure.kind, FailureKind::Browser, "{failure:?}");
        };
        super::with_browser(&program, &place, work).await.unwrap();
    };
    tokio::time::timeout(super::LIMIT, whole).await.unwrap();
    assert!(processes_with(&mark).is_empty());
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
}
