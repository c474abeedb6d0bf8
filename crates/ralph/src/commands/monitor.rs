//! `ralph monitor`: watches all loops of this machine from outside, and acts where one hangs or is
//! gone.
//!
//! A process of its own, which the loops need not and which needs nothing of them. Ended, it leaves
//! them as they are.

mod say;
mod tell;

use std::{num::NonZeroU32, process::ExitCode, time::Duration};

use ralph_core::monitor::{ProcessState, Restarting};
use ralph_engine::{
    lock::{Lock, LockError},
    monitor::{self, ChangeKind, Monitor, Starter, look_at_all},
};

use say::MonitorForm;
use tell::Messages;

use crate::{
    error::CommandError,
    output,
    project::{Project, block_on},
    view::screen::{Ends, every},
};

/// Exit code of `--once` where something hangs or is gone.
const UNWELL: u8 = 7;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check once and report without acting; exit code 7 if a loop hangs or its process is gone
    #[arg(long, conflicts_with_all = ["interval", "restart"])]
    once: bool,

    /// Seconds between checks [default: `monitor.interval_seconds`]
    #[arg(long, value_name = "SECONDS")]
    interval: Option<NonZeroU32>,

    /// Restart loops whose process is gone or was terminated, like `ralph resume`
    #[arg(long)]
    restart: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let form = if args.json {
        MonitorForm::Json
    } else {
        MonitorForm::Text
    };
    if args.once {
        return block_on(once(project, form));
    }
    block_on(watch(args, project, form))?;
    Ok(ExitCode::SUCCESS)
}

fn hang_after(project: &Project) -> Duration {
    Duration::from_secs(project.config().monitor.hang_seconds.get().into())
}

async fn once(project: &Project, form: MonitorForm) -> Result<ExitCode, CommandError> {
    let data_dir = project.data_dir()?;
    let Some(mut journal) = project.journal_of_all().await? else {
        say::nothing(form);
        return Ok(ExitCode::SUCCESS);
    };
    let now = Project::now();
    let found = look_at_all(&mut *journal, &data_dir, None, hang_after(project), now).await?;
    if found.is_empty() {
        say::nothing(form);
    }
    let mut all_well = true;
    for one in &found {
        let kind = match one.process {
            ProcessState::Alive => ChangeKind::Watching,
            ProcessState::Hangs => ChangeKind::Hangs,
            ProcessState::Gone => ChangeKind::Gone,
        };
        all_well &= one.process == ProcessState::Alive;
        say::change(&one.described(kind, now), form)?;
    }
    Ok(ExitCode::from(if all_well { 0 } else { UNWELL }))
}

async fn watch(args: &Args, project: &Project, form: MonitorForm) -> Result<(), CommandError> {
    let data_dir = project.data_dir()?;
    let journal = data_dir.open_journal().await?;
    let _lock = Lock::acquire_monitor(&data_dir).map_err(explain)?;
    let config = &project.config().monitor;
    let interval = args.interval.unwrap_or(config.interval_seconds);
    let interval = Duration::from_secs(interval.get().into());
    let restarting = if args.restart {
        Restarting::Automatic
    } else {
        Restarting::Never
    };
    let policy = monitor::policy(config, interval, restarting);
    let program = std::env::current_exe()?;
    let mut monitor = Monitor::new(
        journal,
        data_dir.to_path_buf(),
        policy,
        Starter::new(program),
    );
    let mut messages = Messages::new(project)?;
    let mut ends = Ends::listen()?;
    let mut ticks = every(interval);
    say::begins(interval, form);
    let mut trouble = None;
    loop {
        tokio::select! {
            _ = ends.come() => break,
            said = messages.next() => output::print_warnings(&said),
            _ = ticks.tick() => {
                let found = look(&mut monitor, &mut messages, form).await?;
                // A journal that can't be read is said once, not at each look.
                if let Some(text) = &found && trouble.as_ref() != Some(text) {
                    output::print_warning(text);
                }
                trouble = found;
            }
        }
    }
    tokio::select! {
        _ = ends.come() => {}
        said = messages.finish() => output::print_warnings(&said),
    }
    Ok(())
}

/// Looks once, says what changed, and tells people. Answers with what kept it from looking.
async fn look(
    monitor: &mut Monitor,
    messages: &mut Messages,
    form: MonitorForm,
) -> Result<Option<String>, CommandError> {
    let changes = match monitor.look(Project::now()).await {
        Ok(changes) => changes,
        Err(error) => return Ok(Some(CommandError::internal(error).sentences().join(": "))),
    };
    for change in &changes {
        say::change(change, form)?;
        if let Some(text) = &change.trouble {
            output::print_warning(text);
        }
        messages.tell(change, monitor.journal()).await;
    }
    Ok(None)
}

fn explain(error: LockError) -> CommandError {
    match &error {
        LockError::Held { .. } => CommandError::user(error)
            .hint("one monitor is enough: it watches the loops of all repositories"),
        LockError::Io { .. } => CommandError::internal(error),
    }
}
