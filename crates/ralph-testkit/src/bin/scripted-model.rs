//! The scripted model as a program, for trying an agent by hand:
//! `scripted-model SCENARIO [--port N] [--log FILE]`.
//!
//! Prints its address and serves until its standard input closes or SIGTERM comes. Starts no agent.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use ralph_testkit::model::{Scenario, ScriptedModel, ServeOptions};
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "usage: scripted-model SCENARIO [--port N] [--log FILE]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "scripted-model: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (path, options) = arguments()?;
    let text = std::fs::read_to_string(&path)
        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let scenario = Scenario::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let port = options.port;
    let model = ScriptedModel::start_with(scenario, options)
        .map_err(|e| format!("cannot listen on port {port}: {e}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("cannot wait for signals: {e}"))?;
    runtime.block_on(async {
        // Before the address is printed: its reader may send the signal at once.
        let mut terminated =
            signal(SignalKind::terminate()).map_err(|e| format!("cannot wait for SIGTERM: {e}"))?;
        writeln!(std::io::stdout(), "{}", model.url()).map_err(|e| e.to_string())?;
        tokio::select! {
            _ = terminated.recv() => {}
            _ = end_of_input() => {}
        }
        Ok(())
    })
}

fn arguments() -> Result<(PathBuf, ServeOptions), String> {
    let mut path = None;
    let mut options = ServeOptions::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--port" => {
                let port = words.next().ok_or("--port needs a number")?;
                options.port = port.parse().map_err(|_| format!("{port} is no port"))?;
            }
            "--log" => {
                let file = words.next().ok_or("--log needs a file")?;
                let log = File::create(&file).map_err(|e| format!("cannot write {file}: {e}"))?;
                options.log = Some(log);
            }
            flag if flag.starts_with('-') => return Err(format!("unknown flag {flag}; {USAGE}")),
            _ if path.is_none() => path = Some(PathBuf::from(word)),
            _ => return Err(format!("one scenario at a time; {USAGE}")),
        }
    }
    let path = path.ok_or(USAGE)?;
    Ok((path, options))
}

/// A thread of its own, because a read of a terminal can't be called off.
async fn end_of_input() {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut rest = [0; 4096];
        while matches!(std::io::stdin().read(&mut rest), Ok(read) if read > 0) {}
        let _ = ended.send(());
    });
    let _ = end.await;
}
