//! An agent that is a real process, takes Claude Code's flags, speaks its stream-json and misbehaves
//! on request.
//!
//! `FAKE_AGENT_SCENARIO` names a JSON file, see [`FakeAgentScenario`]. Which part of it runs can depend on
//! `RALPH_TASK_ID`, `RALPH_ATTEMPT` and `RALPH_RUN`. Unknown flags are ignored. It knows nothing of
//! ralph but these three names.

mod action;
mod binary;
mod input;
mod interpreter;
mod process;
mod scenario;
mod stream;
mod tools;

pub use action::{Action, ApiRetry, Child, FakeAgentUsage, RateLimit, ResultFields};
pub use binary::fake_agent;
pub use scenario::{Case, FakeAgentError, FakeAgentScenario};

use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use input::Input;
use interpreter::Interpreter;
use stream::Stream;

pub const VERSION: &str = "2.1.197";

/// Set once the signals are ignored, so that it happens only once.
const SIGNALS_DONE: &str = "FAKE_AGENT_SIGNALS_IGNORED";

/// All of the binary.
pub fn main() -> ExitCode {
    match play() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            complain(&format!("fake-agent: {error}"));
            ExitCode::from(70)
        }
    }
}

fn play() -> Result<u8, FakeAgentError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--version" || arg == "-v") {
        Stream::new(String::new()).raw(format!("{VERSION} (Claude Code)\n").as_bytes());
        return Ok(0);
    }
    let scenario = FakeAgentScenario::from_env()?;
    if !scenario.ignore_signals.is_empty() && std::env::var_os(SIGNALS_DONE).is_none() {
        return Err(ignore_signals(&scenario.ignore_signals, &args));
    }
    let model = value_of(&args, "--model").unwrap_or("claude-opus-4-8[1m]");
    let mut stream = Stream::new(model.to_owned());
    // One that ignores signals ignores this as well.
    let obeys = scenario.ignore_signals.is_empty();
    let aborted = stream.aborted();
    let interrupted = move || {
        if obeys {
            must(
                std::io::stdout().lock().write_all(aborted.as_bytes()),
                "stdout",
            );
            std::process::exit(1);
        }
    };
    let messages = value_of(&args, "--input-format") == Some("stream-json");
    let input = Input::open(messages, interrupted);
    if scenario.init {
        stream.init();
    }
    Ok(Interpreter::new(stream, input).run(scenario.actions()))
}

/// Starts this program again with signals ignored, which an exec inherits. The shell does it, since
/// the standard library can't.
fn ignore_signals(signals: &[String], args: &[String]) -> FakeAgentError {
    let script = format!("trap '' {}; exec \"$0\" \"$@\"", signals.join(" "));
    let failed = std::env::current_exe().map(|exe| {
        Command::new("sh")
            .arg("-c")
            .arg(script)
            .arg(exe)
            .args(args)
            .env(SIGNALS_DONE, "1")
            .exec()
    });
    FakeAgentError::Signals(match failed {
        Ok(error) | Err(error) => error,
    })
}

fn value_of<'a>(args: &'a [String], flag: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == flag)?;
    args.get(at + 1).map(String::as_str)
}

/// Puts the environment's values in the place of `{{NAME}}`.
fn expand(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        done.push_str(before);
        done.push_str(&std::env::var(name).unwrap_or_default());
        rest = after;
    }
    done + rest
}

/// Bookkeeping that fails would make tests pass for the wrong reason.
fn must(done: std::io::Result<()>, what: &str) {
    if let Err(error) = done {
        complain(&format!("fake-agent: {what}: {error}"));
        std::process::exit(70);
    }
}

#[allow(clippy::print_stderr)]
fn complain(text: &str) {
    eprintln!("{text}");
}
