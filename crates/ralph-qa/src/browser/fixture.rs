//! Commands that a flow runs beside its page, to bring the application into a known state.

use ralph_engine::process::{CommandSpec, Ended, Output, Tail, spawn};
use tokio::time::Instant;

use super::{failure::failure, hosts::HostPort, page::FlowPage};
use crate::{
    flow::FixtureCommand,
    result::{FailureKind, StepFailure},
};

/// The end of its output that is kept, and the lines of it that are shown.
const OUTPUT_BYTES: usize = 16 * 1024;
const OUTPUT_LINES: usize = 20;

impl FlowPage {
    /// Runs a command in the project, with the page's server in `PORT` and `URL`.
    pub(super) async fn run_fixture(
        &self,
        command: &FixtureCommand,
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        let (shown, program, args) = match command {
            FixtureCommand::Shell(line) => {
                let args = vec!["-c".to_owned(), line.clone()];
                (line.clone(), "/bin/sh".to_owned(), args)
            }
            FixtureCommand::Argv(words) => {
                let program = words.first().cloned().unwrap_or_default();
                (
                    words.join(" "),
                    program,
                    words.iter().skip(1).cloned().collect(),
                )
            }
        };
        let failed = |actual: String, nearest: Vec<String>| StepFailure {
            nearest,
            ..failure(
                FailureKind::Fixture,
                format!("`{shown}` ends with exit code 0"),
                actual,
            )
        };
        let mut spec = CommandSpec::new(program, &self.place.folder)
            .args(args)
            .output(Output::Merged);
        spec.env.clone_from(&self.place.env);
        if let Some(base) = &self.settings.base {
            spec.env.retain(|(name, _)| name != "PORT" && name != "URL");
            spec.env.push(("URL".into(), base.into()));
            if let Some(at) = HostPort::of_url(base) {
                spec.env.push(("PORT".into(), at.port.to_string().into()));
            }
        }
        let running = spawn(&spec, self.place.containment);
        let mut running = running.map_err(|error| failed(error.to_string(), Vec::new()))?;
        let mut tail = Tail::new(OUTPUT_BYTES);
        let limit = deadline.saturating_duration_since(Instant::now());
        let ended = running
            .finish_within(limit, &mut |bytes| tail.push(bytes))
            .await;
        let lines = last_lines(&tail);
        let actual = match ended {
            Some(Ok(Ended::Code(0))) => return Ok(()),
            Some(Ok(Ended::Code(code))) => format!("it ended with exit code {code}"),
            Some(Ok(Ended::Signal(signal))) => format!("it was ended by signal {signal}"),
            Some(Err(error)) => format!("its end could not be awaited ({error})"),
            None => format!(
                "it was not over after {} s, and was ended",
                limit.as_secs_f64().round()
            ),
        };
        let actual = match lines.as_slice() {
            [] => format!("{actual}; it printed nothing"),
            _ => format!("{actual}; its output ends with the lines below"),
        };
        Err(failed(actual, lines))
    }
}

fn last_lines(tail: &Tail) -> Vec<String> {
    let text = tail.text();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(OUTPUT_LINES)..];
    last.iter().map(|line| (*line).to_owned()).collect()
}
