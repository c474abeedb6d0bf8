//! What the tests of flows are made with.

use std::{fs, path::Path, time::Duration};

use ralph_engine::process::Containment;
use ralph_qa::{
    config::BrowserAutomationConfig,
    flow::{
        Check, Flow, FlowSettings, FlowStep, FlowStepAction, LoadState, MouseButton, Screenshot,
        Target, TargetKind, TypedText, Viewport,
    },
    result::QaReport,
    runner::{FlowsRun, QaError, run_flows},
    server::{ProgramPlace, Walls},
};
use tempfile::TempDir;

/// The longest that a run may take.
const LIMIT: Duration = Duration::from_secs(180);

/// A project with flows.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) config: BrowserAutomationConfig,
    pub(crate) place: ProgramPlace,
    pub(crate) secrets: Vec<(String, String)>,
}

impl Bench {
    pub(crate) fn new(url: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        let config = BrowserAutomationConfig {
            flows: root.join(".ralph/flows"),
            results: root.join(".ralph/qa"),
            browser: None,
            url,
            viewport: Viewport::DESKTOP,
            timeout: Duration::from_secs(15),
            jobs: 2,
            threshold: 0.0,
            hosts: Vec::new(),
            server: None,
            root: root.clone(),
        };
        Self {
            config,
            place: ProgramPlace {
                folder: root,
                env: vec![("PATH".into(), "/usr/bin:/bin".into())],
                containment: Containment::detect(None).containment,
                walls: Walls::Ralphs,
            },
            secrets: Vec::new(),
            folder,
        }
    }

    pub(crate) async fn try_run(&self, flows: &[Flow]) -> Result<QaReport, QaError> {
        let run = FlowsRun {
            config: &self.config,
            flows,
            place: &self.place,
            url: None,
            secrets: &self.secrets,
            joins: false,
            ended: &|_| {},
        };
        tokio::time::timeout(LIMIT, run_flows(&run)).await.unwrap()
    }

    pub(crate) async fn run(&self, flows: &[Flow]) -> QaReport {
        self.try_run(flows).await.unwrap()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn result(&self, name: &str) -> std::path::PathBuf {
        self.config.results.join(name)
    }
}

/// A flow with these steps.
pub(crate) fn flow(name: &str, steps: Vec<FlowStepAction>) -> Flow {
    let steps = steps.into_iter().enumerate();
    let steps = steps.map(|(index, action)| FlowStep {
        line: index + 3,
        shown: format!("step {}", index + 1),
        note: None,
        timeout: None,
        action,
    });
    Flow {
        name: name.to_owned(),
        description: None,
        file: Path::new(".ralph/flows").join(format!("{name}.yaml")),
        settings: FlowSettings::default(),
        steps: steps.collect(),
    }
}

pub(crate) fn navigate(url: &str) -> FlowStepAction {
    FlowStepAction::Navigate {
        url: url.to_owned(),
        until: LoadState::Load,
    }
}

pub(crate) fn any(text: &str) -> Target {
    Target {
        by: TargetKind::Any(text.to_owned()),
        nth: None,
        within: None,
        exact: false,
    }
}

pub(crate) fn click(text: &str) -> FlowStepAction {
    FlowStepAction::Click {
        target: any(text),
        button: MouseButton::Left,
        double: false,
    }
}

pub(crate) fn type_into(label: &str, text: &str) -> FlowStepAction {
    FlowStepAction::Type {
        target: any(label),
        text: TypedText::Plain(text.to_owned()),
        append: false,
        press: None,
    }
}

pub(crate) fn text(text: &str) -> FlowStepAction {
    FlowStepAction::Verify(vec![Check::Text(text.to_owned())])
}

pub(crate) fn shot(name: &str) -> FlowStepAction {
    FlowStepAction::Screenshot(Screenshot {
        name: name.to_owned(),
        of: None,
        full: false,
        mask: Vec::new(),
        threshold: None,
    })
}
