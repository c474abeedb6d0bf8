//! Runs flows: the application under test is started, a browser beside it, each flow in a context of its own.
//!
//! Must not print, and writes nothing but pictures below the folder of the results: reports are the caller's.

#[cfg(feature = "browser")]
mod all_flows;
#[cfg(feature = "browser")]
mod flow_run;
#[cfg(feature = "browser")]
mod results;
#[cfg(feature = "browser")]
mod shots;
#[cfg(feature = "browser")]
mod withheld;

use std::{io, path::PathBuf};

use thiserror::Error;

use crate::{
    config::BrowserAutomationConfig,
    flow::Flow,
    program::BrowserError,
    result::{FlowVerificationResult, QaReport},
    server::{ProgramPlace, ServerError},
};

/// The flows of a run, and all that they need.
pub struct FlowsRun<'a> {
    pub config: &'a BrowserAutomationConfig,
    pub flows: &'a [Flow],
    pub place: &'a ProgramPlace,
    /// Instead of a server that is started, and of `qa.url`. A flow's own `url` stays.
    pub url: Option<&'a str>,
    /// Values of the variables that steps name as secrets.
    pub secrets: &'a [(String, String)],
    /// Keeps the results that are there.
    pub joins: bool,
    /// Is told of each flow as it ends.
    pub ended: &'a dyn Fn(&FlowVerificationResult),
}

impl std::fmt::Debug for FlowsRun<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowsRun")
            .field("flows", &self.flows.len())
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Why flows could not be run at all. What fails within a flow is a result.
#[derive(Debug, Error)]
pub enum QaError {
    #[error(
        "this build of ralph has no browser QA; build it with the feature `qa`, or with `full`"
    )]
    NotBuilt,
    #[error(transparent)]
    Browser(#[from] BrowserError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("nothing answers at {url}, which flow {flow:?} goes to: {reason}")]
    Unreachable {
        url: String,
        flow: String,
        reason: String,
    },
    #[error(
        "{}:{line}: {address:?} is relative, and there is no address that it could be relative to: set `qa.server`, \
         `qa.url`, or `url` in the flow",
        file.display()
    )]
    NoUrl {
        file: PathBuf,
        line: usize,
        address: String,
    },
    #[error("{}:{line}: the variable {variable} is not set", file.display())]
    Secret {
        file: PathBuf,
        line: usize,
        variable: String,
    },
    #[error("two flows have the name {name:?}: {} and {}", first.display(), second.display())]
    SameName {
        name: String,
        first: PathBuf,
        second: PathBuf,
    },
    #[error("the results can't be written to {}", path.display())]
    Results { path: PathBuf, source: io::Error },
}

/// Runs flows, and returns what was found. Pictures are written below the folder of the results.
#[cfg_attr(
    not(feature = "browser"),
    expect(
        clippy::unused_async,
        reason = "there is nothing to wait for without a browser"
    )
)]
pub async fn run_flows(run: &FlowsRun<'_>) -> Result<QaReport, QaError> {
    #[cfg(feature = "browser")]
    let report = all_flows::run_all_flows(run).await;
    #[cfg(not(feature = "browser"))]
    let report = {
        let _ = run;
        Err(QaError::NotBuilt)
    };
    report
}
