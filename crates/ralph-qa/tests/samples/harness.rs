//! Runs flows of the samples in a copy of their folder, with a server and a browser of its own.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_engine::process::Containment;
use ralph_qa::{
    config::{BrowserAutomationConfig, ServerCommand, ServerReady, ServerSettings},
    flow::{Viewport, find_flows},
    result::{FlowVerificationResult, QaReport, StepResult},
    runner::{FlowsRun, run_flows},
    server::{ProgramPlace, Walls},
};
use tempfile::TempDir;

/// The word of the ledger's door; its flows have it as a secret.
pub(crate) const PASSWORD: &str = "lantern-42";

/// The flows of the folder `flows`.
pub(crate) const FLOWS: [&str; 11] = [
    "books-mobile",
    "books-order",
    "gauge-look",
    "gauge-mobile",
    "ledger-dark",
    "ledger-login",
    "repairs-book",
    "repairs-mistakes",
    "sketch-draw",
    "tracker-routes",
    "tracker-work",
];

/// The samples as they are in the repository.
pub(crate) fn samples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

/// A copy of the samples that a test may change.
pub(crate) struct Samples {
    root: PathBuf,
    /// Deletes the copy at the end.
    _folder: Option<TempDir>,
    /// Of one step.
    pub(crate) timeout: Duration,
    pub(crate) jobs: usize,
    /// Chooses how long slow answers take.
    pub(crate) seed: u64,
}

impl Samples {
    pub(crate) fn copied() -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(&samples_folder(), folder.path());
        let root = folder.path().to_owned();
        Self {
            _folder: Some(folder),
            ..Self::at(root)
        }
    }

    /// A copy that is there already, and stays.
    pub(crate) fn at(root: PathBuf) -> Self {
        Self {
            root,
            _folder: None,
            timeout: Duration::from_secs(20),
            jobs: 2,
            seed: 1,
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.root.join(".ralph/qa")
    }

    /// Runs flows: names, or paths from the top of the samples.
    pub(crate) fn run(&self, flows: &[&str]) -> QaReport {
        let names: Vec<String> = flows.iter().map(|name| (*name).to_owned()).collect();
        let flows = find_flows(self.root(), Path::new("flows"), &names).unwrap();
        let config = self.config();
        let place = ProgramPlace {
            folder: self.root().to_owned(),
            env: environment(),
            containment: Containment::detect(None).containment,
            walls: walls(),
        };
        let run = FlowsRun {
            config: &config,
            flows: &flows,
            place: &place,
            url: None,
            secrets: &[("LEDGER_PASSWORD".to_owned(), PASSWORD.to_owned())],
            joins: false,
            ended: &|_| (),
        };
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(run_flows(&run))
            .unwrap()
    }

    fn config(&self) -> BrowserAutomationConfig {
        BrowserAutomationConfig {
            root: self.root().to_owned(),
            flows: self.root().join("flows"),
            results: self.results(),
            browser: None,
            url: None,
            viewport: Viewport::DESKTOP,
            timeout: self.timeout,
            jobs: self.jobs,
            threshold: 0.0,
            hosts: Vec::new(),
            server: Some(ServerSettings {
                command: ServerCommand::Argv(vec!["/usr/bin/python3".into(), "serve.py".into()]),
                ready: ServerReady::Path("/".into()),
                timeout: Duration::from_secs(60),
                port: None,
                env: vec![("SAMPLES_SEED".into(), self.seed.to_string())],
            }),
        }
    }
}

/// The browser makes no sandbox of its own as root, and tests may run as root.
fn walls() -> Walls {
    if rustix::process::geteuid().is_root() {
        Walls::Ralphs
    } else {
        Walls::None
    }
}

fn environment() -> Vec<(OsString, OsString)> {
    ["PATH", "HOME", "LANG", "TMPDIR", "SAMPLES_MARK"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, new): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &new);
        } else {
            std::fs::copy(&path, &new).unwrap();
        }
    }
}

/// The step that failed.
pub(crate) fn failed_step(flow: &FlowVerificationResult) -> Option<&StepResult> {
    flow.steps.iter().find(|step| step.failure.is_some())
}

/// All that a failure says, in one text; empty if nothing failed.
pub(crate) fn sentence(flow: &FlowVerificationResult) -> String {
    let Some((step, failure)) =
        failed_step(flow).and_then(|step| Some((step, step.failure.as_ref()?)))
    else {
        return String::new();
    };
    format!(
        "{}, line {}, {}: expected {}; actually {}; nearest: {}",
        flow.flow,
        step.line,
        step.step,
        failure.expected,
        failure.actual,
        failure.nearest.join(", ")
    )
}
