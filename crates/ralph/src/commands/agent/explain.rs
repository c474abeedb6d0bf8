//! `ralph agent explain`: a recorded stream, read as the loop reads a live one.
//!
//! Changes nothing and holds no file in memory: events are printed as they come.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::agent::{AgentEvent, Ending};
use ralph_core::config::AgentChoice;
use ralph_engine::{
    agent::{AgentKind, Conclusion, RecordedEnd, find_kind, kind_of, read_stream},
    process::Ended,
};

use super::outline;
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{self, Project},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The recorded stream; `-` for standard input
    #[arg(value_name = "FILE")]
    stream: PathBuf,

    /// The agent that it is of; without it, the configured one
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The exit code of the agent; 128 and the signal if one killed it
    #[arg(long, value_name = "N", default_value_t = 0)]
    exit_code: u8,

    /// What the agent wrote to standard error
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Of a file with what an agent wrote to stderr, the end is read: its last words count.
const STDERR_BYTES: u64 = 64 * 1024;

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let kind = kind(args, global)?;
    let at = |path: &Path| match &global.directory {
        Some(folder) => folder.join(path),
        None => path.to_owned(),
    };
    let stderr = match &args.stderr {
        Some(path) => read_end(&at(path)).map_err(|error| unreadable(path, &error))?,
        None => Vec::new(),
    };
    let end = RecordedEnd {
        ended: ended(args.exit_code),
        stderr: &stderr,
    };
    let stream: Box<dyn Read + Unpin> = if args.stream.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(at(&args.stream));
        Box::new(file.map_err(|error| unreadable(&args.stream, &error))?)
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let explained = project::block_on(async {
        Ok(if args.json {
            as_json(kind, stream, end, &mut out).await
        } else {
            as_text(kind, stream, end, &mut out).await
        })
    })?;
    match explained.and_then(|()| out.flush().map_err(ExplainError::Write)) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // A reader that went away has seen enough.
        Err(ExplainError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::SUCCESS)
        }
        Err(ExplainError::Write(error)) => Err(CommandError::internal(error)),
        Err(ExplainError::Read(error)) => Err(unreadable(&args.stream, &error)),
    }
}

fn kind(args: &Args, global: &Global) -> Result<&'static AgentKind, CommandError> {
    let unknown = |error| CommandError::user(error).hint("`ralph agent list` shows them");
    if let Some(name) = &args.agent {
        // The name of a program of the user's stands for its dialect.
        if find_kind(name).is_err()
            && let Ok(project) = Project::open(global, Vec::new())
            && let AgentChoice::Custom(custom) = &project.config().agent
            && custom.name == *name
        {
            return find_kind(&custom.dialect).map_err(unknown);
        }
        return find_kind(name).map_err(unknown);
    }
    let project = Project::open(global, Vec::new())?;
    let choice = &project.config().agent;
    kind_of(choice).map_err(unknown)?.ok_or_else(|| {
        let message = format!("the configured agent is {choice}, which is no kind of its own");
        CommandError::user(message).hint("say which one it is of: --agent NAME")
    })
}

/// As a shell tells the end of a program.
fn ended(code: u8) -> Ended {
    const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;
    let code = i32::from(code);
    if SIGNALS.contains(&(code - 128)) {
        Ended::Signal(code - 128)
    } else {
        Ended::Code(code)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    let name = match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    };
    CommandError::user(format!("can't read {name}: {error}"))
}

fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    use io::Seek as _;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(io::SeekFrom::Start(length.saturating_sub(STDERR_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(STDERR_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

enum ExplainError {
    Read(io::Error),
    Write(io::Error),
}

/// Reads the stream; tells what could not be written from what could not be read.
async fn read(
    kind: &AgentKind,
    stream: Box<dyn Read + Unpin>,
    end: RecordedEnd<'_>,
    mut write: impl FnMut(&AgentEvent) -> io::Result<()>,
) -> Result<Conclusion, ExplainError> {
    let mut is_write = false;
    let read = read_stream(kind.dialect, stream, end, |event| {
        write(event).inspect_err(|_| is_write = true)
    });
    read.await.map_err(|error| {
        if is_write {
            ExplainError::Write(error)
        } else {
            ExplainError::Read(error)
        }
    })
}

async fn as_text(
    kind: &AgentKind,
    stream: Box<dyn Read + Unpin>,
    end: RecordedEnd<'_>,
    out: &mut impl Write,
) -> Result<(), ExplainError> {
    let columns = output::width();
    let mut any = false;
    let conclusion = read(kind, stream, end, |event| {
        any = true;
        writeln!(out, "{}", outline::event_line(event, columns))
    })
    .await?;
    let gap = if any { "\n" } else { "" };
    let text = outline::render(&conclusion, columns);
    write!(out, "{gap}{text}").map_err(ExplainError::Write)
}

/// Writes the events as they come, and the rest of the document behind them: a long stream is never
/// held.
async fn as_json(
    kind: &AgentKind,
    stream: Box<dyn Read + Unpin>,
    end: RecordedEnd<'_>,
    out: &mut impl Write,
) -> Result<(), ExplainError> {
    // Nothing is written before something could be read.
    let opening = format!("{{\n  \"agent\": \"{}\",\n  \"events\": [", kind.name);
    let mut before = format!("{opening}\n    ");
    let conclusion = read(kind, stream, end, |event| {
        out.write_all(before.as_bytes())?;
        before = ",\n    ".to_owned();
        serde_json::to_writer(&mut *out, event).map_err(io::Error::from)
    })
    .await?;
    let opening = if before.starts_with(',') {
        "\n  ],\n".to_owned()
    } else {
        format!("{opening}],\n")
    };
    let rest = serde_json::to_string_pretty(&explained(&conclusion));
    let rest = rest.map_err(|error| ExplainError::Write(error.into()))?;
    // The fields of the rest, behind those that are written already.
    let rest = rest.trim_start_matches("{\n");
    writeln!(out, "{opening}{rest}").map_err(ExplainError::Write)
}

/// What ralph makes of a run, behind its events; a contract (docs/json.md).
fn explained(conclusion: &Conclusion) -> serde_json::Value {
    let ending = &conclusion.ending;
    serde_json::json!({
        "outcome": ending.outcome(),
        "message": ending.message(),
        "resetsAt": match ending {
            Ending::Limit { resets_at } => *resets_at,
            _ => None,
        },
        "usage": conclusion.usage,
        "context": conclusion.context,
        "model": conclusion.model,
        "version": conclusion.version,
        "turns": conclusion.turns,
        "denied": conclusion.denied,
        "finalMessage": conclusion.final_message,
    })
}
