//! A real browser against small sites of the tests' own.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may")]

#[path = "browser/acts.rs"]
mod acts;
#[path = "browser/asked.rs"]
mod asked;
#[path = "browser/faults.rs"]
mod faults;
#[path = "browser/killed.rs"]
mod killed;
#[path = "browser/newer.rs"]
mod newer;
#[path = "browser/reach.rs"]
mod reach;
#[path = "browser/roads.rs"]
mod roads;
#[path = "browser/site.rs"]
mod site;
#[path = "browser/worlds.rs"]
mod worlds;

use std::{path::PathBuf, time::Duration};

use ralph_engine::process::Containment;
use ralph_qa::{
    browser::{BrowserProgram, FlowPage, PageSettings, QaBrowser, find_browser, with_browser},
    flow::{Check, FlowStepAction, LoadState, Target, TargetKind},
    result::StepFailure,
    server::{ProgramPlace, Walls},
};

use site::Site;

/// The longest that a test may take.
const LIMIT: Duration = Duration::from_secs(120);
/// Of one step.
const STEP: Duration = Duration::from_secs(20);

fn place() -> ProgramPlace {
    place_in(std::env::temp_dir())
}

fn place_in(folder: PathBuf) -> ProgramPlace {
    ProgramPlace {
        folder,
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        containment: Containment::detect(None).containment,
        walls: Walls::Ralphs,
    }
}

/// Does something with a browser, within the limit of tests.
async fn browse<T>(work: impl AsyncFnOnce(&QaBrowser) -> T) -> T {
    let place = place();
    let whole = async {
        let program = find_browser(None, &place).await.unwrap();
        with_browser(&program, &place, work).await.unwrap()
    };
    tokio::time::timeout(LIMIT, whole).await.unwrap()
}

fn settings(site: &Site) -> PageSettings {
    PageSettings {
        base: Some(site.url()),
        ..PageSettings::default()
    }
}

async fn open(browser: &QaBrowser, site: &Site, path: &str) -> FlowPage {
    let page = browser.open(&settings(site)).await.unwrap();
    page.perform(&navigate(path), STEP).await.unwrap();
    page
}

fn navigate(url: &str) -> FlowStepAction {
    FlowStepAction::Navigate {
        url: url.to_owned(),
        until: LoadState::Load,
    }
}

fn target(by: TargetKind) -> Target {
    Target {
        by,
        nth: None,
        within: None,
        exact: false,
    }
}

fn any(text: &str) -> Target {
    target(TargetKind::Any(text.to_owned()))
}

fn label(text: &str) -> Target {
    target(TargetKind::Label(text.to_owned()))
}

fn css(selector: &str) -> Target {
    target(TargetKind::Css(selector.to_owned()))
}

fn verify(check: Check) -> FlowStepAction {
    FlowStepAction::Verify(vec![check])
}

/// Performs an action that must succeed, and returns what is told of it.
async fn act(page: &FlowPage, action: FlowStepAction) -> Vec<String> {
    let done = page.perform(&action, STEP).await;
    done.unwrap_or_else(|failure| panic!("{action:?}: {failure:?}"))
        .notes
}

/// Performs an action that must fail soon.
async fn fails(page: &FlowPage, action: FlowStepAction) -> StepFailure {
    let limit = Duration::from_millis(1500);
    page.perform(&action, limit)
        .await
        .map(|_| panic!("{action:?} succeeded"))
        .unwrap_err()
}

/// Waits for a text, which scripts of these sites write.
async fn sees(page: &FlowPage, text: &str) {
    act(page, verify(Check::Text(text.to_owned()))).await;
}
