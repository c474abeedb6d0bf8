//! The check of the browser that flows run in.

use ralph_core::task::VerifyCommand;
use ralph_qa::{
    HAS_BROWSER,
    program::{BrowserProgram, TESTED_VERSIONS, find_browser},
    server::{ProgramPlace, Walls},
};

use super::Check;
use crate::{
    commands::run::detection,
    error::CommandError,
    project::{Project, block_on},
};

const NAME: &str = "browser";

pub(super) fn checks(project: &Project) -> Vec<Check> {
    let config = project.config();
    let browser = config.qa.browser.as_deref();
    let found = block_on(async {
        let place = ProgramPlace {
            folder: project.root().to_owned(),
            env: project.environment(project.root()).vars,
            containment: detection(project)?.containment,
            walls: Walls::None,
        };
        let found = find_browser(browser, &place);
        found.await.map_err(CommandError::user)
    });
    match found {
        Ok(program) if HAS_BROWSER => vec![judge(&program)],
        Ok(program) => {
            let message = format!("{program} is here, and this build of ralph has no browser QA");
            vec![Check::note(NAME, message).hint("one with `--features qa` or `full` has")]
        }
        Err(error) if is_needed(project) => {
            vec![Check::problem(NAME, error.sentences().join(": "))]
        }
        Err(_) => vec![Check::note(
            NAME,
            "none is found; only flows in a browser (`ralph qa`) need one",
        )],
    }
}

fn judge(program: &BrowserProgram) -> Check {
    let (first, last) = (TESTED_VERSIONS.start(), TESTED_VERSIONS.end());
    let tested = if first == last {
        format!("tested with version {first}")
    } else {
        format!("tested with versions {first} to {last}")
    };
    let message = format!("{program} at {}; {tested}", program.path.display());
    if program.is_tested() {
        Check::ok(NAME, message)
    } else {
        Check::note(NAME, message).hint("another version most likely works too")
    }
}

/// Tells whether the project has flows, or says which browser they run in.
fn is_needed(project: &Project) -> bool {
    let config = project.config();
    let commands = config.verification.commands.iter();
    let is_verified = commands.filter_map(VerifyCommand::flows).next().is_some();
    config.qa.browser.is_some() || is_verified || project.root().join(&config.qa.flows).is_dir()
}
