//! `ralph mcp`: a server of the Model Context Protocol for the program that started it.
//!
//! Prints nothing itself: standard output belongs to the protocol.

use std::{process::ExitCode, rc::Rc};

use ralph_engine::mcp::{McpError, ServerEnd, ServerIdentity, serve};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    cli::Global,
    error::CommandError,
    hangup::Hangup,
    mcp::{BrowserOffer, INSTRUCTIONS, QA_INSTRUCTIONS, RalphTools},
};

/// A client starts it, such as `claude mcp add ralph -- ralph mcp`; it ends with its input. Every call looks at the
/// project again. Inside a run of an agent it has only the tools that read, and `note`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Offer the tools of a browser too: open pages of the application, act on them, look at them
    #[arg(long)]
    qa: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let mut instructions = INSTRUCTIONS.to_owned();
    let browser = if args.qa {
        instructions.push_str(QA_INSTRUCTIONS);
        BrowserOffer::Yes
    } else {
        BrowserOffer::No
    };
    let identity = ServerIdentity {
        name: "ralph",
        version: env!("CARGO_PKG_VERSION"),
        instructions,
    };
    let tools = Rc::new(RalphTools::new(global, browser)?);
    let kept = Rc::clone(&tools);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        // While a call holds the worktree's lock, others poke this process, which must not die of it.
        let _poked = signal(SignalKind::user_defined1())?;
        let stop = stop_signal()?;
        let ended = serve(tools, identity, stop).await;
        kept.close().await;
        ended.map_err(explain)
    });
    // A thread may wait for input that never comes.
    runtime.shutdown_background();
    Ok(match ended? {
        ServerEnd::Closed => ExitCode::SUCCESS,
        ServerEnd::Stopped(number) => ExitCode::from(128 + number),
    })
}

fn explain(error: McpError) -> CommandError {
    match error {
        McpError::NotBuilt => CommandError::user(error),
        McpError::Client(_) => CommandError::internal(error),
    }
}

/// Waits for the signal that ends the server; returns its number.
fn stop_signal() -> Result<impl Future<Output = u8>, CommandError> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = Hangup::listen()?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => 2,
            _ = terminate.recv() => 15,
            () = hangup.recv() => 1,
        }
    })
}
