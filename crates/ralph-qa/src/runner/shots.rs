//! Pictures of flows: written below the folder of the results, and compared with their baselines.

use std::{fs, io, path::Path};

use crate::{
    baseline::{self, file_name},
    browser::{TakenPicture, failure},
    config::BrowserAutomationConfig,
    flow::{ColorScheme, Flow, Screenshot, Viewport},
    picture::{PictureRules, compare},
    result::{FailureKind, PageVerificationResult, StepFailure, VisualCompareResult},
};

/// A picture that a step took.
pub(super) struct Shot<'a> {
    pub(super) flow: &'a Flow,
    /// Of the step.
    pub(super) number: usize,
    pub(super) screenshot: &'a Screenshot,
    pub(super) viewport: Viewport,
    pub(super) scheme: Option<ColorScheme>,
    pub(super) taken: TakenPicture,
}

/// A picture that was written, and what is to be told of it.
pub(super) struct KeptShot {
    pub(super) page: PageVerificationResult,
    pub(super) note: Option<String>,
    pub(super) failure: Option<StepFailure>,
}

/// Writes a picture and compares it with its baseline, if it has one.
pub(super) fn keep_shot(
    config: &BrowserAutomationConfig,
    shot: Shot<'_>,
) -> Result<KeptShot, StepFailure> {
    let Shot {
        flow,
        number,
        screenshot,
        viewport,
        scheme,
        taken,
    } = shot;
    let stem = format!(
        "{}/{number}-{}",
        file_name(&flow.name),
        file_name(&screenshot.name)
    );
    let name = format!("{stem}.png");
    let unwritten = |error: io::Error| {
        let folder = config.results.display();
        failure(
            FailureKind::Browser,
            format!("pictures can be written to {folder}"),
            error.to_string(),
        )
    };
    write_picture(&config.results, &name, &taken.png).map_err(unwritten)?;
    let baseline_path = baseline::path_of(&flow.file, &screenshot.name, viewport, scheme);
    let full_path = config.root.join(&baseline_path);
    let mut page = PageVerificationResult {
        name: screenshot.name.clone(),
        url: taken.url,
        title: taken.title,
        viewport,
        passed: true,
        screenshot: name,
        baseline: full_path
            .strip_prefix(&config.root)
            .unwrap_or(&full_path)
            .display()
            .to_string(),
        compared: None,
    };
    let approved = match fs::read(&full_path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(KeptShot {
                page,
                note: Some("no baseline yet: `ralph qa approve`".to_owned()),
                failure: None,
            });
        }
        Err(error) => return Err(unread(&full_path, &error.to_string())),
    };
    let rules = PictureRules {
        threshold: screenshot.threshold.unwrap_or(config.threshold),
        masks: taken.masks,
    };
    let difference = compare(&approved, &taken.png, &rules)
        .map_err(|error| unread(&full_path, &error.to_string()))?;
    let mut compared = difference.result;
    if let Some(picture) = difference.picture {
        let name = format!("{stem}-difference.png");
        write_picture(&config.results, &name, &picture).map_err(unwritten)?;
        compared.picture = Some(name);
        let name = format!("{stem}-baseline.png");
        write_picture(&config.results, &name, &approved).map_err(unwritten)?;
        compared.baseline = Some(name);
    }
    page.passed = compared.matches;
    let failure = (!compared.matches).then(|| differs(&screenshot.name, &compared));
    page.compared = Some(compared);
    Ok(KeptShot {
        page,
        note: None,
        failure,
    })
}

fn differs(name: &str, compared: &VisualCompareResult) -> StepFailure {
    let expected = format!("{name} looks as it was approved");
    let actual = format!(
        "{} ({:.2} % of the pixels differ, {:.2} % may)",
        compared.summary,
        compared.different * 100.0,
        compared.threshold * 100.0
    );
    failure(FailureKind::Picture, expected, actual)
}

fn unread(path: &Path, reason: &str) -> StepFailure {
    let expected = format!("{} can be compared with", path.display());
    failure(FailureKind::Picture, expected, reason)
}

/// Writes a file below the folder of the results.
pub(super) fn write_picture(results: &Path, name: &str, png: &[u8]) -> io::Result<()> {
    let path = results.join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, png)
}
