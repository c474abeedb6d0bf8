//! The settings of all flows: the `qa` section of the configuration, made ready for use.

use std::{path::PathBuf, time::Duration};

use crate::flow::Viewport;

/// The settings of browsers, flows and the application under test.
#[derive(Debug, Clone, PartialEq)]
pub struct BrowserAutomationConfig {
    /// The top of the project: fixtures and the server run in it.
    pub root: PathBuf,
    /// The folder of the flows.
    pub flows: PathBuf,
    /// The folder that results are written to.
    pub results: PathBuf,
    /// The browser; looked for if there is none.
    pub browser: Option<PathBuf>,
    /// The base of relative addresses where no server is started.
    pub url: Option<String>,
    pub viewport: Viewport,
    /// Of one step.
    pub timeout: Duration,
    /// The most flows beside each other.
    pub jobs: usize,
    /// The part of a picture's pixels that may differ, from 0 to 1.
    pub threshold: f64,
    /// Hosts that every flow may reach.
    pub hosts: Vec<String>,
    pub server: Option<ServerSettings>,
}

/// The application under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    pub command: ServerCommand,
    pub ready: ServerReady,
    pub timeout: Duration,
    /// One that is free if there is none.
    pub port: Option<u16>,
    pub env: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerCommand {
    Argv(Vec<String>),
    Shell(String),
}

/// The sign by which a server is known to be ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerReady {
    /// Its port accepts connections.
    Port,
    /// It answers here with a status below 500.
    Path(String),
    /// A line of its output that holds this text.
    Log(String),
}
