//! Starts this program again inside of a sandbox, where server and browser have a network of their own, and passes on
//! what it prints, the signals that come, and its exit code.

use std::{ffi::OsString, path::Path, process::ExitCode};

use ralph_core::{
    config::{Config, VerifyNetwork},
    secret::{RedactedStream, Redaction},
};
use ralph_engine::{
    agent::StopRequest,
    dot_ralph,
    environment::Environment,
    inbox::Inbox,
    process::{CommandSpec, Ended, Running, Signal, StopPlan, spawn},
    sandbox::SandboxUser,
    verifier::{RUN_QA, RUN_QA_WALLS},
};
use ralph_qa::flow::Flow;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{results, run::FlowsWanted};
use crate::{
    commands::run::{detection, listen_for_signals},
    error::CommandError,
    output,
    project::{self, Project},
    sandboxed::sandboxed_by,
};

/// Tells the program inside that a person looks on.
pub(super) const BY_HAND: &str = "RALPH_RUN_QA_BY_HAND";

/// Asks for another way of keeping processes together, here and inside.
pub(super) const CONTAINMENT: &str = "RALPH_CONTAINMENT";

/// The time that the program inside has to end what it started, once it is asked to.
const GRACE: std::time::Duration = std::time::Duration::from_secs(10);

const READ_SIZE: usize = 64 * 1024;

pub(super) fn run(
    project: &Project,
    config: &Config,
    wanted: &FlowsWanted,
) -> Result<ExitCode, CommandError> {
    run_to_code(project, config, wanted).map(ExitCode::from)
}

/// The same, and returns the exit code as a number.
pub(super) fn run_to_code(
    project: &Project,
    config: &Config,
    wanted: &FlowsWanted,
) -> Result<u8, CommandError> {
    let root = project.root();
    // What is wrong with them is said before anything is started.
    let flows = results::flows(root, &config.qa, &wanted.flows)?;
    dot_ralph::ensure(root)?;
    project::block_on(async {
        let stop = listen_for_signals(Inbox::default())?;
        let walls = with_network_for(config, &flows);
        let environment = project.environment(root);
        let environment = sandboxed_by(project, &walls, environment, "the application").await?;
        let mut spec = spec(root, config, wanted, &environment)?;
        let containment = project.variable(CONTAINMENT);
        let containment = containment.map(|word| (CONTAINMENT.into(), word.into()));
        spec.env.extend(containment);
        let ended = start(project, spec, &environment, stop.clone()).await?;
        if let Some(file) = &wanted.junit {
            results::copy_junit(root, file)?;
        }
        Ok(match (ended, stop.asked()) {
            (Ended::Code(code), _) => u8::try_from(code).unwrap_or(1),
            (Ended::Signal(_), Some(asked)) => code_of_signal(asked),
            (Ended::Signal(signal), None) => {
                let message = format!("the flows were ended by signal {signal}");
                return Err(CommandError::internal(message));
            }
        })
    })
}

/// The exit code of a program that was ended by a signal.
pub(super) fn by_signal(signal: i32) -> ExitCode {
    ExitCode::from(code_of_signal(signal))
}

fn code_of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(130)
}

/// A server of their own is all that flows need, unless they list hosts. Pages are kept to those by the browser.
fn with_network_for(config: &Config, flows: &[Flow]) -> Config {
    let mut walls = config.clone();
    let lists_hosts =
        !config.qa.hosts.is_empty() || flows.iter().any(|flow| !flow.settings.hosts.is_empty());
    let is_elsewhere =
        config.qa.server.command.is_none() || flows.iter().any(|flow| flow.settings.url.is_some());
    if walls.verification.network == VerifyNetwork::Auto && (lists_hosts || is_elsewhere) {
        walls.verification.network = VerifyNetwork::Open;
    }
    walls
}

fn spec(
    root: &Path,
    config: &Config,
    wanted: &FlowsWanted,
    environment: &Environment,
) -> Result<CommandSpec, CommandError> {
    let mut args: Vec<OsString> = vec!["qa".into(), "run".into()];
    if wanted.json {
        args.push("--json".into());
    }
    args.push("--".into());
    args.extend(wanted.flows.iter().map(OsString::from));
    let mut spec = CommandSpec::new(std::env::current_exe()?, root).args(args);
    spec.env.clone_from(&environment.vars);
    let settings = serde_json::to_string(&config.qa)?;
    let mut set = |name: &str, value: OsString| spec.env.push((name.into(), value));
    set(RUN_QA, settings.into());
    set(BY_HAND, "1".into());
    if environment.sandbox().is_some() {
        set(RUN_QA_WALLS, "1".into());
    }
    if output::stdout_is_terminal() && console::colors_enabled() {
        set("CLICOLOR_FORCE", "1".into());
    }
    Ok(spec)
}

async fn start(
    project: &Project,
    mut spec: CommandSpec,
    environment: &Environment,
    stop: StopRequest,
) -> Result<Ended, CommandError> {
    let sandbox = environment.sandbox();
    let enclosed = sandbox.map(|sandbox| sandbox.enclose(&mut spec, SandboxUser::Command));
    // Its home is there as long as this is.
    let _enclosure = enclosed.transpose()?;
    let containment = detection(project)?.containment;
    let mut running = spawn(&spec, containment).map_err(CommandError::internal)?;
    let (out, err) = (running.take_stdout(), running.take_stderr());
    let redaction = environment.redaction();
    let (ended, (), ()) = tokio::join!(
        finish(&mut running, stop),
        pass_on(out, redaction, output::print),
        pass_on(err, redaction, output::print_to_stderr),
    );
    Ok(ended?)
}

/// Waits until it has ended, by itself or because it is asked to.
async fn finish(running: &mut Running, mut stop: StopRequest) -> std::io::Result<Ended> {
    let asked = tokio::select! {
        biased;
        ended = running.wait() => return ended,
        asked = stop.until_asked() => asked,
    };
    let plan = StopPlan {
        first: Signal::from_named_raw(asked).unwrap_or(Signal::TERM),
        grace: GRACE,
        term_grace: std::time::Duration::ZERO,
    };
    running.stop(plan).await
}

/// Passes on what is printed, as it comes and without secrets.
async fn pass_on(from: Option<impl AsyncRead + Unpin>, redaction: &Redaction, print: fn(&str)) {
    let Some(mut from) = from else { return };
    let mut stream = RedactedStream::new(redaction.clone());
    let mut buffer = Vec::with_capacity(READ_SIZE);
    let mut shown = Vec::new();
    loop {
        buffer.clear();
        let read = from.read_buf(&mut buffer).await;
        let is_over = !matches!(read, Ok(1..));
        if is_over {
            stream.finish(&mut shown);
        } else {
            stream.push(&buffer, &mut shown);
        }
        // A character may be cut in two.
        let whole = if is_over {
            shown.len()
        } else {
            whole_characters(&shown)
        };
        let rest = shown.split_off(whole);
        if !shown.is_empty() {
            print(&String::from_utf8_lossy(&shown));
        }
        shown = rest;
        if is_over {
            return;
        }
    }
}

/// The bytes up to a character that is not whole yet.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_cut_in_two_waits_for_its_end() {
        let text = "a ✓".as_bytes();
        assert_eq!(whole_characters(text), text.len());
        assert_eq!(whole_characters(&text[..3]), 2);
        assert_eq!(whole_characters(b"a\xff"), 2);
    }
}
