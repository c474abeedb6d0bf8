//! The findings: the shapes of `report.json`, which are a contract (docs/json.md).

use serde::{Deserialize, Serialize};

use crate::flow::Viewport;

/// The version of the shapes.
pub const VERSION: u32 = 1;

/// All flows of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QaReport {
    pub version: u32,
    pub passed: bool,
    /// The name and the version of the browser.
    pub browser: Option<String>,
    pub flows: Vec<FlowVerificationResult>,
    pub seconds: f64,
    /// The last lines of the application under test; empty if nothing failed.
    pub server_log: Vec<String>,
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowVerificationResult {
    pub flow: String,
    pub description: Option<String>,
    pub file: String,
    pub viewport: Viewport,
    pub passed: bool,
    pub seconds: f64,
    pub steps: Vec<StepResult>,
    pub pages: Vec<PageVerificationResult>,
    pub console: Vec<ConsoleMessage>,
    pub network: Vec<NetworkRequest>,
}

/// One step. Steps behind one that failed are `skipped`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// From 1.
    pub number: usize,
    pub line: usize,
    /// The word of the flow file: `click`.
    pub action: String,
    pub step: String,
    pub note: Option<String>,
    pub outcome: StepOutcome,
    pub seconds: f64,
    pub failure: Option<StepFailure>,
    /// A picture of the page, relative to the folder of the results.
    pub picture: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepOutcome {
    Passed,
    Failed,
    Skipped,
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepFailure {
    pub kind: FailureKind,
    /// Tells what was looked for or expected, in a sentence.
    pub expected: String,
    /// Tells what was there instead.
    pub actual: String,
    /// Things on the page that are nearest to what was looked for.
    pub nearest: Vec<String>,
}

/// The kind of fault that a failure is a sign of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No element as it was named.
    NotFound,
    /// Several, where one was meant.
    Ambiguous,
    /// It is there, and can't be acted on: hidden, covered, disabled, moving.
    NotActionable,
    /// A condition that does not hold.
    Expectation,
    /// The picture differs from its baseline.
    Picture,
    /// The page could not be reached, or did not load.
    Navigation,
    /// The page's process died.
    Crashed,
    /// A host that the flow does not list.
    Host,
    /// A fixture failed.
    Fixture,
    /// The browser itself, and not the page.
    Browser,
}

/// A picture of a page, and what became of comparing it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageVerificationResult {
    /// The name of the picture.
    pub name: String,
    pub url: String,
    pub title: String,
    pub viewport: Viewport,
    pub passed: bool,
    /// Relative to the folder of the results.
    pub screenshot: String,
    /// Where its baseline lies, or would lie, relative to the project.
    pub baseline: String,
    pub compared: Option<VisualCompareResult>,
}

/// Two pictures compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VisualCompareResult {
    pub matches: bool,
    pub verdict: VisualVerdict,
    /// The part of the pixels that differ noticeably, from 0 to 1, without those of masks.
    pub different: f64,
    pub threshold: f64,
    /// Structural similarity, from 0 to 1.
    pub similarity: f64,
    /// The areas that differ, largest first.
    pub regions: Vec<PixelArea>,
    /// A sentence that says what differs: `the area at 40,120 (300x40) moved by 8 px down`.
    pub summary: String,
    /// The difference as a picture, relative to the folder of the results.
    pub picture: Option<String>,
    /// The baseline as it was compared, relative to the folder of the results.
    pub baseline: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VisualVerdict {
    /// Not one pixel differs.
    Same,
    /// Only anti-aliasing or the rendering of fonts.
    Noise,
    /// Within the threshold.
    Within,
    /// Something moved, came, went, or changed its size.
    Layout,
    /// Colours or contents of areas that stayed where they are.
    Content,
    /// The pictures have different sizes.
    Size,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PixelArea {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleMessage {
    pub level: ConsoleLevel,
    pub text: String,
    /// Address and line, where the browser says so.
    pub from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsoleLevel {
    Debug,
    Info,
    Warning,
    Error,
    /// An error that nothing caught, or a rejection that nothing handled.
    Uncaught,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRequest {
    pub method: String,
    pub url: String,
    pub kind: String,
    /// None if there was no answer.
    pub status: Option<u16>,
    /// The error, where it failed.
    pub error: Option<String>,
    pub milliseconds: Option<u64>,
}
