//! One flow: its steps one after the other, until one fails.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::{
    FlowsRun,
    shots::{Shot, keep_shot, write_picture},
    withheld::without_secrets,
};
use crate::{
    baseline::file_name,
    browser::{FlowPage, PageSettings, QaBrowser, StepDone, failure},
    config::BrowserAutomationConfig,
    flow::{Flow, FlowStep, FlowStepAction, Viewport, Wait},
    result::{
        FailureKind, FlowVerificationResult, PageVerificationResult, StepFailure, StepOutcome,
        StepResult,
    },
};

/// The time beyond its limit after which a step is given up that should have ended by itself.
const OVERTIME: Duration = Duration::from_secs(15);
/// The longest that a picture of a failure may take.
const PICTURE: Duration = Duration::from_secs(5);

/// Runs one flow in a context of its own.
pub(super) async fn run_flow(
    run: &FlowsRun<'_>,
    browser: &QaBrowser,
    flow: &Flow,
    base: Option<&str>,
) -> FlowVerificationResult {
    let started = Instant::now();
    let mut result = unstarted(flow, run.config);
    match browser.open(&page_settings(run, flow, base)).await {
        Ok(page) => {
            run_steps(run, flow, &page, &mut result).await;
            result.console = page.console();
            result.network = page.network();
            page.close().await;
        }
        Err(failure) => {
            if let Some(first) = result.steps.first_mut() {
                first.outcome = StepOutcome::Failed;
                first.failure = Some(failure);
            }
        }
    }
    let mut outcomes = result.steps.iter().map(|step| step.outcome);
    result.passed = outcomes.all(|outcome| outcome == StepOutcome::Passed);
    result.seconds = started.elapsed().as_secs_f64();
    without_secrets(result, run.secrets)
}

/// A flow of which nothing was done.
pub(super) fn unstarted(flow: &Flow, config: &BrowserAutomationConfig) -> FlowVerificationResult {
    let shown_file = flow.file.strip_prefix(&config.root).unwrap_or(&flow.file);
    let steps = flow.steps.iter().enumerate();
    let steps = steps.map(|(index, step)| StepResult {
        number: index + 1,
        line: step.line,
        action: word(&step.action).to_owned(),
        step: step.shown.clone(),
        note: step.note.clone(),
        outcome: StepOutcome::Skipped,
        seconds: 0.0,
        failure: None,
        picture: None,
    });
    FlowVerificationResult {
        flow: flow.name.clone(),
        description: flow.description.clone(),
        file: shown_file.display().to_string(),
        viewport: viewport(flow, config),
        passed: false,
        seconds: 0.0,
        steps: steps.collect(),
        pages: Vec::new(),
        console: Vec::new(),
        network: Vec::new(),
    }
}

fn viewport(flow: &Flow, config: &BrowserAutomationConfig) -> Viewport {
    let device = flow.settings.emulate.device;
    device.or(flow.settings.viewport).unwrap_or(config.viewport)
}

fn page_settings(run: &FlowsRun<'_>, flow: &Flow, base: Option<&str>) -> PageSettings {
    let settings = &flow.settings;
    let base = settings.url.as_deref().or(base);
    PageSettings {
        base: base.map(str::to_owned),
        hosts: run
            .config
            .hosts
            .iter()
            .chain(&settings.hosts)
            .cloned()
            .collect(),
        viewport: viewport(flow, run.config),
        emulate: settings.emulate,
        time: settings.time,
        random: settings.random,
        secrets: run.secrets.to_vec(),
    }
}

/// Performs steps until one fails; a picture that differs stops nothing, since the page is as it was.
async fn run_steps(
    run: &FlowsRun<'_>,
    flow: &Flow,
    page: &FlowPage,
    result: &mut FlowVerificationResult,
) {
    for (step, told) in flow.steps.iter().zip(&mut result.steps) {
        let started = Instant::now();
        let limit = step
            .timeout
            .or(flow.settings.timeout)
            .unwrap_or(run.config.timeout);
        let done = perform(page, step, limit).await;
        let end = match done {
            Ok(done) => finish_step(run, flow, (step, told.number), page, done),
            Err(failure) => StepEnd {
                notes: page.take_notes(),
                failure: Some(failure),
                picture: None,
            },
        };
        told.seconds = started.elapsed().as_secs_f64();
        let notes: Vec<String> = told.note.take().into_iter().chain(end.notes).collect();
        told.note = (!notes.is_empty()).then(|| notes.join("; "));
        if let Some(picture) = end.picture {
            told.picture = Some(picture.screenshot.clone());
            result.pages.push(picture);
        }
        let Some(failure) = end.failure else {
            told.outcome = StepOutcome::Passed;
            continue;
        };
        told.outcome = StepOutcome::Failed;
        let goes_on = failure.kind == FailureKind::Picture;
        told.failure = Some(failure);
        if !goes_on {
            told.picture = picture_of_failure(run, flow, page).await;
            return;
        }
    }
}

async fn perform(
    page: &FlowPage,
    step: &FlowStep,
    limit: Duration,
) -> Result<StepDone, StepFailure> {
    let waits = match &step.action {
        FlowStepAction::Wait(Wait::Time(time)) => *time,
        _ => Duration::ZERO,
    };
    let done = timeout(limit + waits + OVERTIME, page.perform(&step.action, limit)).await;
    done.unwrap_or_else(|_| {
        let actual = "it neither succeeded nor failed, and was given up".to_owned();
        Err(failure(
            FailureKind::Browser,
            "the step ends within its time",
            actual,
        ))
    })
}

/// The outcome of a step besides its page: notes, and a picture that is not as it should be.
#[derive(Default)]
struct StepEnd {
    notes: Vec<String>,
    failure: Option<StepFailure>,
    picture: Option<PageVerificationResult>,
}

/// Keeps the picture of a step, if it took one.
fn finish_step(
    run: &FlowsRun<'_>,
    flow: &Flow,
    (step, number): (&FlowStep, usize),
    page: &FlowPage,
    done: StepDone,
) -> StepEnd {
    let mut end = StepEnd {
        notes: done.notes,
        ..StepEnd::default()
    };
    let (Some(taken), FlowStepAction::Screenshot(screenshot)) = (done.picture, &step.action) else {
        return end;
    };
    let shot = Shot {
        flow,
        number,
        screenshot,
        viewport: page.viewport(),
        scheme: page.scheme(),
        taken,
    };
    match keep_shot(run.config, shot) {
        Ok(kept) => {
            end.notes.extend(kept.note);
            end.picture = Some(kept.page);
            end.failure = kept.failure;
        }
        Err(failure) => end.failure = Some(failure),
    }
    end
}

/// Takes a picture of the page in which a step failed, where it can be taken.
async fn picture_of_failure(run: &FlowsRun<'_>, flow: &Flow, page: &FlowPage) -> Option<String> {
    if page.has_crashed() {
        return None;
    }
    let png = page.picture(PICTURE).await.ok()?;
    let name = format!("{}/failed.png", file_name(&flow.name));
    write_picture(&run.config.results, &name, &png).ok()?;
    Some(name)
}

/// The word of a flow file for an action.
fn word(action: &FlowStepAction) -> &'static str {
    match action {
        FlowStepAction::Navigate { .. } => "navigate",
        FlowStepAction::Click { .. } => "click",
        FlowStepAction::Type { .. } => "type",
        FlowStepAction::Press { .. } => "press",
        FlowStepAction::Select { .. } => "select",
        FlowStepAction::Hover { .. } => "hover",
        FlowStepAction::Upload { .. } => "upload",
        FlowStepAction::Wait(_) => "wait",
        FlowStepAction::Verify(_) => "verify",
        FlowStepAction::Resize(_) => "resize",
        FlowStepAction::Emulate(_) => "emulate",
        FlowStepAction::Screenshot(_) => "screenshot",
        FlowStepAction::Fixture(_) => "fixture",
    }
}
