//! Sync of a journal in SQLite with a team's store in PostgreSQL: facts go up; commands, answers and budgets come down.
//!
//! A round asks the server where it stands, decides by that what follows (`decide`), and sends what changed since in
//! batches, each one transaction of the server's that also moves its cursor: nothing is lost, nothing is there twice,
//! whatever dies in between. Nothing of the journal is locked while the server is asked something, nothing depends on
//! a clock, and no text leaves but through the filter (`outgoing`). What is synced is in one table (`tables`).

mod decide;
mod listen;
mod local;
mod lock;
mod outgoing;
mod server;
mod tables;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use ralph_core::command::{Command, CommandReport};

pub use self::{
    decide::SyncFinding,
    local::{SyncLag, SyncPreview, SyncStatus, WaitingLog, status},
    lock::LockError,
    outgoing::TextFilter,
    tables::Include,
};
use self::{
    decide::{Cursor, Outcome, decide, judge_skew},
    listen::Listener,
    local::{IncomingCommand, Kept, Local},
    lock::SyncLock,
    outgoing::Outgoing,
    server::{Sent, Server, Standing},
};
use crate::{
    JournalError,
    failpoint::failpoint,
    postgres::{StoreError, StoreUrl},
};

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The way a data folder is synced.
#[derive(Clone)]
pub struct SyncOptions {
    pub url: StoreUrl,
    /// The name of the tenant.
    pub tenant: String,
    /// The name of this machine, for people.
    pub machine: String,
    pub include: BTreeSet<Include>,
    pub filter: TextFilter,
    pub clock: Clock,
    /// Asked where logs or prompts are included.
    pub logs: Option<Arc<dyn LogSource>>,
}

/// Where logs and prompts of iterations are.
pub trait LogSource: Send + Sync {
    /// Returns what is there of an iteration; nothing of what is gone.
    fn logs_of(&self, of: &WaitingLog) -> std::io::Result<Vec<(LogKind, String)>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    Log,
    Prompt,
}

/// Sync that can't go on.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(
        "the team's store has changes up to {server_seq} of this journal that this journal does not know: \
         it was restored from a backup, or its data folder was copied; nothing was sent"
    )]
    Diverged { server_seq: i64 },
    #[error("the team's store did not answer for {seconds} s")]
    NoAnswer { seconds: u64 },
    #[error("the team's store gave an answer that can't be read")]
    Answer { source: serde_json::Error },
    #[error("the team's store was written to by others {times} times while a batch was sent")]
    Contended { times: u32 },
}

impl SyncError {
    /// A way out, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint().map(str::to_owned),
            Self::Store(error) => error.hint().map(Into::into),
            Self::Diverged { .. } => Some(
                "`ralph sync --new-identity` sends everything under a new name; what the store has stays there"
                    .to_owned(),
            ),
            Self::Lock(_) | Self::NoAnswer { .. } | Self::Answer { .. } | Self::Contended { .. } => {
                None
            }
        }
    }

    /// The error with its causes, in one line.
    fn line(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let said = error.to_string();
            if !line.contains(&said) {
                line = format!("{line}: {said}");
            }
            cause = error.source();
        }
        line.replace('\n', " ")
    }
}

/// A command that came down, and waits in the queue of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenCommand {
    pub id: String,
    pub repository_id: String,
    pub worktree: String,
    /// Its number in the queue.
    pub number: i64,
}

/// The result of a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Rows that were sent, by table.
    pub rows: BTreeMap<&'static str, u64>,
    pub batches: u64,
    /// Commands that came down, oldest first: the loop that carries them out can be poked.
    pub commands: Vec<TakenCommand>,
    /// Results of commands that went up.
    pub results: u64,
    /// Logs and prompts that were sent.
    pub logs: u64,
    /// The lag of the server now.
    pub lag: SyncLag,
    /// Milliseconds that its clock is ahead.
    pub server_ahead_ms: i64,
    pub findings: Vec<SyncFinding>,
    /// There is more to send: the next round need not be waited for.
    pub more: bool,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// There may be a command.
    Command,
    Time,
}

/// Batches that are sent before commands are looked for again.
const BATCHES_A_ROUND: u32 = 8;
/// The times that the server may be found somewhere else in one round: another syncer writes.
const MOST_MOVES: u32 = 5;
/// Iterations whose logs are sent in a round.
const LOGS_A_ROUND: u32 = 20;
/// The time between two rounds.
const POLL: Duration = Duration::from_secs(2);
/// The same while the server is gone.
const LONGEST_POLL: Duration = Duration::from_secs(60);
/// The time after which it is written down again that all is well, where nothing else is.
const TELL_OK_MS: i64 = 30_000;

/// Syncs one data folder.
pub struct Syncer {
    options: SyncOptions,
    out: Outgoing,
    local: Local,
    /// Its name on the server: nothing else may change it while this holds the lock.
    origin: String,
    server: Option<Server>,
    listener: Listener,
    failures: u32,
    has_more: bool,
    told_skew: bool,
    told_ok: Option<Timestamp>,
    _lock: Option<SyncLock>,
}

impl Syncer {
    /// Opens the journal of a data folder, and turns sync on for it. The server is connected by the first round.
    pub async fn open(data_dir: &Path, options: SyncOptions) -> Result<Self, SyncError> {
        // The folder is made with the journal.
        let mut local = Local::open(data_dir).await?;
        let lock = SyncLock::take(data_dir)?;
        let server = options.url.to_string();
        local
            .enable(&options.include, &server, &options.tenant)
            .await?;
        let origin = local.state().await?.origin;
        Ok(Self::with(local, origin, options, Some(lock)))
    }

    fn with(local: Local, origin: String, options: SyncOptions, lock: Option<SyncLock>) -> Self {
        let out = Outgoing {
            include: options.include.clone(),
            filter: options.filter.clone(),
        };
        Self {
            out,
            local,
            origin,
            server: None,
            listener: Listener::default(),
            failures: 0,
            has_more: false,
            told_skew: false,
            told_ok: None,
            _lock: lock,
            options,
        }
    }

    /// One round: what waits on either side goes to the other. After an error it can be called again.
    pub async fn round(&mut self) -> Result<SyncReport, SyncError> {
        let mut report = SyncReport::default();
        match self.try_round(&mut report).await {
            Ok(()) => {
                self.failures = 0;
                self.has_more = report.more;
                self.note_ok(&report).await?;
                Ok(report)
            }
            Err(error) => {
                // In whatever state it is: a new one is made for the next round.
                self.server = None;
                self.failures += 1;
                self.has_more = false;
                self.told_ok = None;
                let now = (self.options.clock)();
                // A journal that can't be written to is what the error is about.
                let _ = self.local.note_error(&error.line(), now).await;
                Err(error)
            }
        }
    }

    /// Waits until the next round is due: a command came, or its time has.
    pub async fn wait(&mut self) -> Wake {
        if self.has_more {
            return Wake::Time;
        }
        let limit = POLL
            .saturating_mul(1 << self.failures.min(5))
            .min(LONGEST_POLL);
        if self.server.is_none() {
            // The listener would not reach it either.
            tokio::time::sleep(limit).await;
            return Wake::Time;
        }
        let heard = self.listener.heard(&self.options.url, &self.origin);
        match tokio::time::timeout(limit, heard).await {
            Ok(()) => Wake::Command,
            Err(_) => Wake::Time,
        }
    }

    /// Ends the connections in order.
    pub async fn close(self) -> Result<(), SyncError> {
        if let Some(server) = self.server {
            server.close().await?;
        }
        Ok(self.local.close().await?)
    }

    async fn try_round(&mut self, report: &mut SyncReport) -> Result<(), SyncError> {
        let mut from = self.settle(report).await?;
        // Changes that come later are for the next round, so that this one ends.
        let last = self.local.state().await?.last_change;
        let mut moves = 0;
        for _ in 0..BATCHES_A_ROUND {
            match self.send_next(from.clone(), last, report).await? {
                Next::Sent(to) => from = Some(to),
                Next::Nothing => break,
                Next::Moved if moves < MOST_MOVES => {
                    moves += 1;
                    from = self.settle(report).await?;
                }
                Next::Moved => return Err(SyncError::Contended { times: moves }),
            }
        }
        report.more = from.map_or(0, |from| from.seq) < last;
        self.tell_results(report).await?;
        self.send_logs(report).await?;
        report.lag = self.local.lag((self.options.clock)()).await?;
        Ok(())
    }

    async fn connected(&mut self) -> Result<&mut Server, SyncError> {
        let server = match self.server.take() {
            Some(server) => server,
            None => Server::connect(&self.options.url, &self.options.tenant, &self.origin).await?,
        };
        Ok(self.server.insert(server))
    }

    async fn standing(&mut self) -> Result<Standing, SyncError> {
        let clock = self.options.clock.clone();
        if let Some(server) = &mut self.server {
            // A connection that was lost while nothing was asked is no reason to tell anybody.
            if let Ok(standing) = server.standing(&*clock).await {
                return Ok(standing);
            }
            self.server = None;
        }
        self.connected().await?.standing(&*clock).await
    }

    /// Finds out where the server stands, and does what follows. Returns where the next batch begins.
    async fn settle(&mut self, report: &mut SyncReport) -> Result<Option<Cursor>, SyncError> {
        // What is known here comes first: of two that sync at once, none may take the other's batch for an older one.
        let state = self.local.state().await?;
        let standing = self.standing().await?;
        report.server_ahead_ms = standing.ahead_ms;
        if !self.told_skew
            && let Some(found) = judge_skew(standing.ahead_ms)
        {
            self.told_skew = true;
            report.findings.push(found);
        }
        let known = self.local.known(&state, standing.cursor.as_ref()).await?;
        let at = match decide(standing.cursor.as_ref(), &known) {
            Outcome::GoOn => standing.cursor,
            Outcome::AnswerWasLost(at) => {
                self.local.acknowledge(&at).await?;
                report.findings.push(SyncFinding::AnswerWasLost);
                Some(at)
            }
            Outcome::SendFrom(at) => {
                self.local.go_back(Some(&at), false).await?;
                let found = SyncFinding::ServerIsOlder {
                    at: at.seq,
                    is_all: false,
                };
                report.findings.push(found);
                Some(at)
            }
            Outcome::SendAll(at) => {
                self.local.go_back(at.as_ref(), true).await?;
                report.findings.push(match &at {
                    Some(at) => SyncFinding::ServerIsOlder {
                        at: at.seq,
                        is_all: true,
                    },
                    None => SyncFinding::ServerIsEmpty,
                });
                at
            }
            Outcome::Refuse(at) => return Err(SyncError::Diverged { server_seq: at.seq }),
        };
        self.take_commands(standing.commands, report).await?;
        let now = (self.options.clock)();
        self.local.keep_shares(&standing.shares, now).await?;
        Ok(at)
    }

    async fn send_next(
        &mut self,
        from: Option<Cursor>,
        last: i64,
        report: &mut SyncReport,
    ) -> Result<Next, SyncError> {
        let Some(batch) = self.local.next_batch(from, last, &self.out).await? else {
            return Ok(Next::Nothing);
        };
        // Before it is sent: the answer may not come, and then this is how it is known again.
        self.local.note_sent(&batch.to).await?;
        let machine = self.options.machine.clone();
        let server = self.connected().await?;
        match server
            .send(&batch, &machine, report.server_ahead_ms)
            .await?
        {
            Sent::Committed => {}
            Sent::CursorMoved => return Ok(Next::Moved),
        }
        self.local.acknowledge(&batch.to).await?;
        for (place, rows) in &batch.tables {
            let name = tables::TABLES[*place].name;
            *report.rows.entry(name).or_default() += rows.count as u64;
        }
        report.batches += 1;
        Ok(Next::Sent(batch.to))
    }

    /// Puts commands into the queue, oldest first, and tells the server.
    async fn take_commands(
        &mut self,
        commands: Vec<IncomingCommand>,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for command in commands {
            if let Err(error) = serde_json::from_str::<Command>(&command.body) {
                let why = format!("it can't be read by this ralph ({error})");
                refused.push((command.id, why));
                continue;
            }
            let now = (self.options.clock)();
            match self.local.keep_command(&command, now).await? {
                Kept::Queued(number) => {
                    taken.push(command.id.clone());
                    report.commands.push(TakenCommand {
                        id: command.id,
                        repository_id: command.repository_id,
                        worktree: command.worktree,
                        number,
                    });
                }
                Kept::Before => taken.push(command.id),
                Kept::NoRepository => {
                    let why = format!("there is no repository {} here", command.repository_id);
                    refused.push((command.id, why));
                }
            }
        }
        if !taken.is_empty() {
            self.connected().await?.note_taken(&taken).await?;
        }
        if !refused.is_empty() {
            let result = |(id, why): &(String, String)| {
                let report = serde_json::to_string(&CommandReport::refused(why.clone(), None));
                Some((id.clone(), report.ok()?))
            };
            let results: Vec<(String, String)> = refused.iter().filter_map(result).collect();
            self.connected().await?.tell_results(&results).await?;
            let told = refused.into_iter();
            let told = told.map(|(id, why)| SyncFinding::CommandRefused { id, why });
            report.findings.extend(told);
        }
        Ok(())
    }

    async fn tell_results(&mut self, report: &mut SyncReport) -> Result<(), SyncError> {
        let found = self.local.results().await?;
        if found.is_empty() {
            return Ok(());
        }
        let hidden = found
            .iter()
            .map(|(id, result)| (id.clone(), self.out.json(result).into_owned()));
        let hidden: Vec<(String, String)> = hidden.collect();
        self.connected().await?.tell_results(&hidden).await?;
        let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        self.local.note_told(&ids).await?;
        report.results += found.len() as u64;
        Ok(())
    }

    async fn send_logs(&mut self, report: &mut SyncReport) -> Result<(), SyncError> {
        let Some(source) = self.options.logs.clone() else {
            return Ok(());
        };
        let include = self.options.include.clone();
        let is_included = |kind: LogKind| include.contains(&kind.group());
        if !is_included(LogKind::Log) && !is_included(LogKind::Prompt) {
            return Ok(());
        }
        for of in self.local.waiting_logs(LOGS_A_ROUND).await? {
            // Logs are tidied away after a while: what can't be read any more is not waited for.
            let found = source.logs_of(&of).unwrap_or_default();
            let found = found.into_iter().filter(|(kind, _)| is_included(*kind));
            let logs: Vec<(&str, String)> = found
                .map(|(kind, text)| (kind.as_str(), self.out.text(&text).into_owned()))
                .collect();
            if !logs.is_empty() {
                let server = self.connected().await?;
                server.send_logs(&of.iteration_id, &logs).await?;
                report.logs += logs.len() as u64;
            }
            self.local.note_log(&of.iteration_id).await?;
        }
        Ok(())
    }

    /// Writes down that all is well; now and then, where it was so before and nothing was sent.
    async fn note_ok(&mut self, report: &SyncReport) -> Result<(), SyncError> {
        let now = (self.options.clock)();
        let since = |told: Timestamp| (now.as_millisecond() - told.as_millisecond()).abs();
        let is_told = self.told_ok.is_some_and(|told| since(told) < TELL_OK_MS);
        if is_told && report.batches == 0 {
            return Ok(());
        }
        self.local.note_ok(now, report.server_ahead_ms).await?;
        self.told_ok = Some(now);
        Ok(())
    }
}

/// A place between two steps, where a test can have all of it end.
async fn pass(place: &'static str) {
    failpoint(place);
    #[cfg(test)]
    tests::interrupt::pass(place).await;
    // Without tests there is nothing to wait for.
    #[cfg(not(test))]
    std::future::ready(()).await;
}

/// The fate of the next batch.
enum Next {
    Sent(Cursor),
    Nothing,
    /// Another one has written meanwhile.
    Moved,
}

impl LogKind {
    fn group(self) -> Include {
        match self {
            Self::Log => Include::Logs,
            Self::Prompt => Include::Prompts,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Prompt => "prompt",
        }
    }
}

/// Looks what a round would send. Sends nothing, changes nothing.
pub async fn preview(
    data_dir: &Path,
    include: &BTreeSet<Include>,
    filter: &TextFilter,
    samples: u32,
) -> Result<SyncPreview, SyncError> {
    let mut local = Local::open(data_dir).await?;
    let out = Outgoing {
        include: include.clone(),
        filter: filter.clone(),
    };
    let preview = local.preview(&out, samples).await?;
    local.close().await?;
    Ok(preview)
}

/// Gives the journal of a data folder a new name on the server, under which the next round sends everything. Returns it.
pub async fn new_identity(data_dir: &Path) -> Result<String, SyncError> {
    let mut local = Local::open(data_dir).await?;
    let _lock = SyncLock::take(data_dir)?;
    let origin = local.new_identity().await?;
    local.close().await?;
    Ok(origin)
}

/// Turns sync off: changes are not written down any more. Turned on again, it sends everything again.
pub async fn disable(data_dir: &Path) -> Result<(), SyncError> {
    let mut local = Local::open(data_dir).await?;
    let _lock = SyncLock::take(data_dir)?;
    local.disable().await?;
    Ok(local.close().await?)
}
