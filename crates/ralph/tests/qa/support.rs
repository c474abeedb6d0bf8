//! A project with a page, a server for it and flows; and `ralph` run in it.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use ralph_testkit::TestRepo;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Far more than any run here takes, on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(120);
/// The end of a killed tree takes a moment, and no longer.
const DEATH: Duration = Duration::from_secs(20);

/// A page with a form: who is named is greeted.
pub(crate) const PAGE: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Greetings</title><link rel="icon" href="data:,"></head>
<body style="font-family: 'DejaVu Sans'">
<h1>Greetings</h1>
<form><label for="name">Name</label> <input id="name"> <button>Greet</button></form>
<p id="out"></p>
<script>
document.querySelector('form').addEventListener('submit', event => {
  event.preventDefault();
  document.getElementById('out').textContent = 'Hello ' + document.getElementById('name').value;
});
</script>
</body></html>
"#;

pub(crate) const GREET: &str = "\
name: greet
steps:
  - navigate: /
  - type: {label: Name, text: Ada}
  - click: {role: button, name: Greet}
  - verify: {text: Hello Ada}
  - screenshot: home
";

/// A server of files on the port that it is given.
pub(crate) const SERVER: &str = "\
qa:
  server:
    command: [python3, -m, http.server, $PORT, --bind, 127.0.0.1, --directory, site]
";

pub(crate) struct Site {
    pub(crate) repo: TestRepo,
}

impl Site {
    /// A project without flows.
    pub(crate) fn bare() -> Self {
        let repo = TestRepo::new();
        repo.file("site/index.html", PAGE)
            .file("ralph.yaml", SERVER)
            .commit("site");
        Self { repo }
    }

    /// The same with these flows.
    pub(crate) fn with_flows(flows: &[(&str, &str)]) -> Self {
        let site = Self::bare();
        for (name, text) in flows {
            site.flow(name, text);
        }
        site.repo.commit("flows");
        site
    }

    pub(crate) fn greeting() -> Self {
        Self::with_flows(&[("greet", GREET)])
    }

    pub(crate) fn flow(&self, name: &str, text: &str) {
        self.repo.file(format!(".ralph/flows/{name}.yaml"), text);
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.repo.command(env!("CARGO_BIN_EXE_ralph"));
        // Also what is given a home of its own has a path of the project in its environment, by which it is found.
        let path = std::env::var("PATH").unwrap();
        let own = self.repo.outside().join("programs");
        command
            .arg("qa")
            .args(args)
            .env("PATH", format!("{path}:{}", own.display()))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn qa(&self, args: &[&str]) -> QaRan {
        self.qa_with(args, &[])
    }

    pub(crate) fn qa_with(&self, args: &[&str], vars: &[(&str, &str)]) -> QaRan {
        let mut command = self.command(args);
        command.envs(vars.iter().copied());
        Started::new(command).wait()
    }

    pub(crate) fn start(&self, args: &[&str]) -> Started {
        Started::new(self.command(args))
    }

    pub(crate) fn results(&self, name: &str) -> PathBuf {
        self.repo.path(".ralph/qa").join(name)
    }

    pub(crate) fn report(&self) -> Value {
        let text = std::fs::read_to_string(self.results("report.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Command lines of what was started for this project and still lives.
    pub(crate) fn alive(&self) -> Vec<String> {
        let mark = self.repo.outside().display().to_string();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            // One that ends while we look has neither.
            let Ok(environment) = std::fs::read(entry.path().join("environ")) else {
                continue;
            };
            let mut parts = environment.windows(mark.len());
            let is_ours = parts.any(|part| part == mark.as_bytes());
            if is_ours {
                let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(String::from_utf8_lossy(&command).replace('\0', " "));
            }
        }
        found
    }

    #[track_caller]
    pub(crate) fn assert_nothing_alive(&self) {
        let until = Instant::now() + DEATH;
        loop {
            let alive = self.alive();
            if alive.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "still alive: {alive:?}");
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    /// No profile of a browser is left beside the project, nor a file in a home of a program.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        let mut left = files_in(&self.repo.outside().join("tmp"));
        let homes = files_in(&self.repo.data_dir().join("homes"));
        // A home whose program was killed is swept by the next one. In it are ralph's own files.
        let own = [".lock", "/group", "/passwd", "/hosts"];
        let is_own = |name: &String| own.iter().any(|end| name.ends_with(end));
        left.extend(homes.into_iter().filter(|name| !is_own(name)));
        assert_eq!(left, [""; 0]);
    }
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < until, "waited too long: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// A run while it lasts.
pub(crate) struct Started {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<std::thread::JoinHandle<String>>,
    out: String,
    until: Instant,
}

impl Started {
    pub(crate) fn new(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|read| read > 0) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Self {
            child,
            lines,
            stderr: Some(stderr),
            out: String::new(),
            until: Instant::now() + LIMIT,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The next line that it prints; none once there will be no more.
    pub(crate) fn line(&mut self) -> Option<String> {
        let left = self.until.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => {
                self.out.push_str(&line);
                Some(line)
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                panic!("ralph took too long: {}", self.out);
            }
        }
    }

    pub(crate) fn wait(mut self) -> QaRan {
        while self.line().is_some() {}
        let status = self.child.wait().unwrap();
        QaRan {
            code: status.code(),
            out: std::mem::take(&mut self.out),
            err: self.stderr.take().unwrap().join().unwrap(),
        }
    }
}

impl Drop for Started {
    /// A test that fails leaves no ralph behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct QaRan {
    /// None where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl QaRan {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// All of these stand in its output, in this order.
    #[track_caller]
    pub(crate) fn prints(self, texts: &[&str]) -> Self {
        find_in_order(&self.out, texts);
        self
    }

    /// The same for its errors.
    #[track_caller]
    pub(crate) fn complains(self, texts: &[&str]) -> Self {
        find_in_order(&self.err, texts);
        self
    }
}

#[track_caller]
fn find_in_order(all: &str, texts: &[&str]) {
    let mut rest = all;
    for text in texts {
        let at = rest
            .find(text)
            .unwrap_or_else(|| panic!("{text:?} is missing in:\n{all}"));
        rest = &rest[at + text.len()..];
    }
}

/// All files below a folder, relative to it.
pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap();
                found.push(name.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}
