//! `ralph sync`: sends the journal of this machine to the store of a team, and takes what came for its loops.
//!
//! Works outside of a repository too: it is about the whole data folder.

use std::{path::PathBuf, process::ExitCode};

use ralph_core::{config::StoreMode, sanitize::terminal_safe};
use ralph_engine::{
    report::Reporter,
    team::{
        SyncBeside, SyncNotice, SyncPlan, SyncRound, TeamError, WouldSync, open_sync, sync_beside,
        sync_standing,
    },
};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::{CommandAccess, db::refuse_unbuilt};
use crate::{
    cli::Global,
    error::CommandError,
    hangup::Hangup,
    output,
    project::{Project, block_on},
    view::{
        Table, Tone, cell,
        figures::{count, duration, whole_seconds},
    },
};

/// `ralph run`, `ralph execute` and `ralph loop` do the same beside the loop. One process at a time syncs a data folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Send and take what there is, and end; the default
    #[arg(long, conflicts_with = "watch")]
    once: bool,

    /// Go on until Ctrl-C
    #[arg(long)]
    watch: bool,

    /// Show what would be sent, and send nothing; with --json also some of the rows
    #[arg(long, conflicts_with_all = ["watch", "new_identity"])]
    dry_run: bool,

    /// Send everything under a new name: for a journal that was restored from a backup, or a copied data folder
    #[arg(long)]
    new_identity: bool,

    /// Print JSON: one document, or with --watch one line a round that did something
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(self.dry_run)
    }
}

/// Rows of each kind that are shown by a dry run, as they would be sent.
const SAMPLES: u32 = 3;

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    refuse_unbuilt()?;
    let project = Project::look(global, Vec::new())?;
    let Some(plan) = project.sync_plan()? else {
        return Err(nothing_to_sync(&project));
    };
    if args.dry_run {
        let found = block_on(async { Ok(plan.preview(SAMPLES).await?) })?;
        let would = WouldSend::new(&plan, found);
        return output::show(args.json, &would, || would.render());
    }
    block_on(async {
        if args.new_identity {
            let origin = plan.take_new_identity().await?;
            output::print_to_stderr(&format!(
                "this journal is {origin} on the server from now on, and is sent as a whole\n"
            ));
        }
        if args.watch {
            watch(&plan, args.json).await
        } else {
            once(&plan, args.json).await
        }
    })
}

/// Puts sync beside a loop, where the settings say so.
pub(crate) fn attach(
    project: &Project,
    reporter: Box<dyn Reporter>,
) -> Result<(Box<dyn Reporter>, Option<SyncBeside>), CommandError> {
    Ok(match project.sync_plan()? {
        Some(plan) => {
            let (reporter, beside) = sync_beside(reporter, plan);
            (reporter, Some(beside))
        }
        None => (reporter, None),
    })
}

/// Waits for the last round, and says what was not said yet.
pub(crate) async fn close(beside: Option<SyncBeside>) {
    let Some(beside) = beside else {
        return;
    };
    for notice in beside.end().await {
        match notice {
            SyncNotice::Note(text) => {
                output::print_to_stderr(&format!("{}\n", terminal_safe(&text)));
            }
            SyncNotice::Warning(text) => output::print_warning(&text),
        }
    }
}

fn nothing_to_sync(project: &Project) -> CommandError {
    match project.config().store.mode() {
        StoreMode::Direct => CommandError::user(
            "the journal is on the server itself (`store.mode: direct`): there is nothing to sync",
        ),
        StoreMode::Local | StoreMode::Sync if project.config().store.url.is_some() => {
            CommandError::user("sync is turned off (`store.mode: local`)")
                .hint("leave `store.mode` out, or set it to `sync`")
        }
        StoreMode::Local | StoreMode::Sync => TeamError::NoServer.into(),
    }
}

async fn once(plan: &SyncPlan, json: bool) -> Result<ExitCode, CommandError> {
    let mut syncing = match open_sync(plan).await {
        Ok(syncing) => syncing,
        Err(TeamError::Busy { line }) => return busy(plan, &line, json).await,
        Err(error) => return Err(error.into()),
    };
    let mut sum = SyncRound::default();
    loop {
        let round = syncing.round().await?;
        let more = round.more;
        add(&mut sum, round);
        if !more {
            break;
        }
    }
    syncing.close().await;
    let done = DoneSync::new(plan, sum);
    output::show(json, &done, || done.render())
}

/// Another process does it: what waits is said, and nothing failed.
async fn busy(plan: &SyncPlan, line: &str, json: bool) -> Result<ExitCode, CommandError> {
    let found = sync_standing(&plan.data_dir, Project::now()).await?;
    let found = found.map(|standing| SyncRound {
        waiting: standing.waiting,
        waiting_seconds: standing.waiting_seconds,
        server_ahead_ms: standing.server_ahead_ms,
        ..SyncRound::default()
    });
    output::print_to_stderr(&format!("{line}: it sends what there is\n"));
    let done = DoneSync::new(plan, found.unwrap_or_default());
    output::show(json, &done, || done.waiting() + "\n")
}

fn add(sum: &mut SyncRound, round: SyncRound) {
    for (kind, rows) in round.sent {
        match sum.sent.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known += rows,
            None => sum.sent.push((kind, rows)),
        }
    }
    sum.results += round.results;
    sum.logs += round.logs;
    sum.commands.extend(round.commands);
    sum.findings.extend(round.findings);
    sum.waiting = round.waiting;
    sum.waiting_seconds = round.waiting_seconds;
    sum.server_ahead_ms = round.server_ahead_ms;
}

/// Syncs until it is told to stop. A server that is gone is said once, and waited for.
async fn watch(plan: &SyncPlan, json: bool) -> Result<ExitCode, CommandError> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = Hangup::listen()?;
    let mut syncing = open_sync(plan).await?;
    if !json {
        output::print(&format!("syncing with {}, until Ctrl-C\n", place(plan)));
    }
    let mut failing = false;
    loop {
        let round = async {
            let ended = syncing.round().await;
            told(plan, ended, &mut failing, json)?;
            syncing.wait().await;
            Ok::<(), CommandError>(())
        };
        // What is under way when it is stopped is sent again by the next one.
        tokio::select! {
            ended = round => ended?,
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            () = hangup.recv() => break,
        }
    }
    syncing.close().await;
    Ok(ExitCode::SUCCESS)
}

fn told(
    plan: &SyncPlan,
    ended: Result<SyncRound, TeamError>,
    failing: &mut bool,
    json: bool,
) -> Result<(), CommandError> {
    match ended {
        Ok(round) => {
            if std::mem::take(failing) {
                output::print_to_stderr("the server is there again\n");
            }
            let is_quiet = round.sent.is_empty()
                && round.commands.is_empty()
                && round.findings.is_empty()
                && round.results + round.logs == 0;
            if is_quiet {
                return Ok(());
            }
            let done = DoneSync::new(plan, round);
            if json {
                output::print_json_line(&done)?;
            } else {
                output::print(&done.line());
            }
            Ok(())
        }
        // It does not get better by waiting.
        Err(error) if error.is_users() => Err(error.into()),
        Err(error) => {
            if !std::mem::replace(failing, true) {
                output::print_warning(&format!("{error}; it is tried again"));
            }
            Ok(())
        }
    }
}

fn place(plan: &SyncPlan) -> String {
    format!("{}, tenant {}", plan.address.shown(), plan.tenant)
}

/// Rows of one kind.
#[derive(Debug, Serialize)]
struct SentRows {
    kind: String,
    rows: u64,
}

fn sent_rows(rows: Vec<(String, u64)>) -> Vec<SentRows> {
    let rows = rows.into_iter();
    rows.map(|(kind, rows)| SentRows { kind, rows }).collect()
}

/// The result of sync; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DoneSync {
    server: String,
    tenant: String,
    sent: Vec<SentRows>,
    /// Results of commands, and logs and prompts.
    results: u64,
    logs: u64,
    /// Working trees whose loops got a command.
    commands: Vec<PathBuf>,
    waiting: u64,
    waiting_seconds: u64,
    server_ahead_ms: i64,
    findings: Vec<String>,
}

impl DoneSync {
    fn new(plan: &SyncPlan, round: SyncRound) -> Self {
        Self {
            server: plan.address.shown(),
            tenant: plan.tenant.clone(),
            sent: sent_rows(round.sent),
            results: round.results,
            logs: round.logs,
            commands: round.commands,
            waiting: round.waiting,
            waiting_seconds: round.waiting_seconds,
            server_ahead_ms: round.server_ahead_ms,
            findings: round.findings,
        }
    }

    fn sent(&self) -> String {
        let mut parts: Vec<String> = self
            .sent
            .iter()
            .map(|sent| format!("{} {}", sent.kind.replace('_', " "), sent.rows))
            .collect();
        if self.results > 0 {
            parts.push(format!("results of commands {}", self.results));
        }
        if self.logs > 0 {
            parts.push(format!("logs {}", self.logs));
        }
        if parts.is_empty() {
            return "nothing new".to_owned();
        }
        parts.join(", ")
    }

    fn received(&self) -> String {
        if self.commands.is_empty() {
            return "no commands".to_owned();
        }
        let mut trees: Vec<String> = self
            .commands
            .iter()
            .map(|p| p.display().to_string())
            .collect();
        trees.dedup();
        let commands = count(self.commands.len(), "command", "commands");
        format!("{commands}, for {}", trees.join(", "))
    }

    fn waiting(&self) -> String {
        if self.waiting == 0 {
            return "nothing waits to be sent".to_owned();
        }
        let changes = usize::try_from(self.waiting).unwrap_or(usize::MAX);
        format!(
            "{} to be sent, the oldest for {}",
            if changes == 1 {
                "1 change waits".to_owned()
            } else {
                format!("{changes} changes wait")
            },
            whole_seconds(self.waiting_seconds)
        )
    }

    fn clock(&self) -> String {
        let seconds = self.server_ahead_ms.unsigned_abs() as f64 / 1000.0;
        match self.server_ahead_ms {
            -999..=999 => "as the server's, within a second".to_owned(),
            1_000.. => format!("{} behind the server's", duration(seconds)),
            ..=-1_000 => format!("{} ahead of the server's", duration(seconds)),
        }
    }

    fn render(&self) -> String {
        let mut table = Table::new(1, 0);
        let mut line = |label: &str, value: &str| {
            table.row([cell(Tone::Faint, label), cell(Tone::Plain, value)]);
        };
        line(
            "server",
            &format!("{}, tenant {}", self.server, self.tenant),
        );
        line("sent", &self.sent());
        line("received", &self.received());
        line("lag", &self.waiting());
        line("clock", &self.clock());
        let mut text = table.render_wrapped(output::width());
        for finding in &self.findings {
            text.push_str(finding);
            text.push('\n');
        }
        text
    }

    /// One round, on one line.
    fn line(&self) -> String {
        let mut parts = Vec::new();
        if !self.sent.is_empty() || self.results + self.logs > 0 {
            parts.push(format!("sent: {}", self.sent()));
        }
        if !self.commands.is_empty() {
            parts.push(format!("received: {}", self.received()));
        }
        parts.extend(self.findings.iter().cloned());
        parts.join("; ") + "\n"
    }
}

/// Rows that would be sent; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WouldSend {
    server: String,
    tenant: String,
    would_send: Vec<SentRows>,
    samples: Vec<SampleRow>,
}

#[derive(Debug, Serialize)]
struct SampleRow {
    kind: String,
    row: serde_json::Value,
}

impl WouldSend {
    fn new(plan: &SyncPlan, found: WouldSync) -> Self {
        let samples = found.samples.into_iter().map(|(kind, row)| SampleRow {
            kind,
            row: serde_json::from_str(&row).unwrap_or(serde_json::Value::String(row)),
        });
        Self {
            server: plan.address.shown(),
            tenant: plan.tenant.clone(),
            would_send: sent_rows(found.rows),
            samples: samples.collect(),
        }
    }

    fn render(&self) -> String {
        let place = format!("{}, tenant {}", self.server, self.tenant);
        if self.would_send.is_empty() {
            return format!("nothing would be sent to {place}\n");
        }
        let mut table = Table::new(0, 2);
        for sent in &self.would_send {
            table.row([
                cell(Tone::Plain, sent.kind.replace('_', " ")),
                cell(Tone::Plain, sent.rows.to_string()),
            ]);
        }
        format!(
            "would be sent to {place}:\n{}nothing was sent\n",
            table.render(output::width())
        )
    }
}
