//! The settings of flows: those of the project, or those that a run hands to its verify commands.

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use ralph_core::{
    config::{self, PageUrl, QaConfig},
    task::VerifyCommand,
};
use ralph_engine::{dot_ralph::FLOW_RESULTS, verifier::RUN_QA};
use ralph_qa::{
    config::{BrowserAutomationConfig, ServerCommand, ServerReady, ServerSettings},
    flow::Viewport,
};

use crate::{cli::Global, error::CommandError, project::Project};

/// The most flows beside each other where the configuration does not say.
const MOST_JOBS: usize = 4;

/// The flags that stand above the configuration.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct QaFlags {
    /// Run against what answers here, and start no server
    #[arg(long, value_name = "URL", value_parser = page_url)]
    pub(super) url: Option<PageUrl>,

    /// The most flows beside each other [default: one on each processor, and four at most]
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<NonZeroU32>,
}

fn page_url(text: &str) -> Result<PageUrl, String> {
    PageUrl::try_from(text.to_owned())
}

impl QaFlags {
    pub(super) fn apply(&self, config: &mut QaConfig) {
        if let Some(url) = &self.url {
            config.url = Some(url.clone());
            config.server.command = None;
        }
        config.jobs = self.jobs.or(config.jobs);
    }
}

/// The settings that a run handed to this command, if it is one of its verify commands.
pub(super) fn of_run() -> Result<Option<QaConfig>, CommandError> {
    let Some(text) = std::env::var_os(RUN_QA) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    let read = serde_json::from_str(&text);
    read.map(Some).map_err(|error| {
        CommandError::internal(format!(
            "{RUN_QA} holds no settings of this version: {error}"
        ))
    })
}

/// The folder of a project and its settings of flows.
pub(super) struct QaPlace {
    pub(super) root: PathBuf,
    pub(super) config: QaConfig,
}

impl QaPlace {
    /// That of the run, or of the project.
    pub(super) fn find(global: &Global) -> Result<Self, CommandError> {
        Ok(match of_run()? {
            Some(config) => Self {
                root: global.surroundings()?.start,
                config,
            },
            None => {
                let project = Project::open(global, Vec::new())?;
                Self {
                    root: project.root().to_owned(),
                    config: project.config().qa.clone(),
                }
            }
        })
    }
}

/// The folder that results are written to.
pub(super) fn results_folder(root: &Path) -> PathBuf {
    root.join(FLOW_RESULTS)
}

/// Makes the settings ready for use.
pub(super) fn automation(config: &QaConfig, root: &Path) -> BrowserAutomationConfig {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = config
        .jobs
        .and_then(|jobs| usize::try_from(jobs.get()).ok())
        .unwrap_or_else(|| processors.min(MOST_JOBS));
    BrowserAutomationConfig {
        root: root.to_owned(),
        flows: root.join(&config.flows),
        results: results_folder(root),
        browser: config.browser.clone(),
        url: config.url.as_ref().map(|url| url.as_str().to_owned()),
        viewport: Viewport {
            width: config.viewport.width,
            height: config.viewport.height,
            mobile: false,
        },
        timeout: config.timeout.duration(),
        jobs,
        threshold: config.threshold.share(),
        hosts: hosts_of(config),
        server: server(config),
    }
}

fn hosts_of(config: &QaConfig) -> Vec<String> {
    let hosts = config.hosts.iter();
    hosts.map(|host| host.as_str().to_owned()).collect()
}

fn server(config: &QaConfig) -> Option<ServerSettings> {
    let server = &config.server;
    let command = match server.command.clone()? {
        VerifyCommand::Argv(words) => ServerCommand::Argv(words),
        VerifyCommand::Shell(line) => ServerCommand::Shell(line),
    };
    let env = server.env.iter();
    Some(ServerSettings {
        command,
        ready: match &server.ready {
            config::ServerReady::Port => ServerReady::Port,
            config::ServerReady::Address(address) => ServerReady::Path(address.clone()),
            config::ServerReady::Line(line) => ServerReady::Log(line.clone()),
        },
        timeout: server.timeout.duration(),
        port: match server.port {
            config::ServerPort::Auto => None,
            config::ServerPort::Fixed(port) => Some(port),
        },
        env: env
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    })
}
