//! Sync beside a loop: on a thread of its own, which the loop never waits for until it is over.
//!
//! Starts no process: programs come from the loop's thread alone. What is to be said goes to the loop's reporter, with the
//! next event. A server that is gone is said once; the loop goes on.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use ralph_core::event::Event;
use tokio::sync::{oneshot, watch};

use super::{SyncPlan, Syncing, TeamError, open_sync, sync_standing};
use crate::{
    clock::{Clock as _, SystemClock},
    named_lock::NamedLock,
    report::Reporter,
};

/// The longest that the end of a loop waits for the last round.
const LAST_ROUND: Duration = Duration::from_secs(5);
/// Between two looks whether another process still syncs this data folder.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Something about sync that a person may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncNotice {
    /// Good to know.
    Note(String),
    Warning(String),
}

impl SyncNotice {
    fn event(self) -> Event {
        match self {
            Self::Note(message) => Event::Notice { message },
            Self::Warning(message) => Event::Warning { message },
        }
    }
}

/// Sync that runs, or will once the loop has begun.
pub struct SyncBeside {
    shared: Arc<SyncShared>,
}

/// State that the loop's thread and that of sync share.
struct SyncShared {
    notices: NamedLock<Vec<SyncNotice>>,
    thread: NamedLock<Option<SyncThread>>,
}

impl Default for SyncShared {
    fn default() -> Self {
        Self {
            notices: NamedLock::new("notices of sync", Vec::new()),
            thread: NamedLock::new("the thread of sync", None),
        }
    }
}

impl SyncShared {
    fn say(&self, notice: SyncNotice) {
        self.notices.lock().push(notice);
    }

    fn take_notices(&self) -> Vec<SyncNotice> {
        std::mem::take(&mut *self.notices.lock())
    }

    fn take_thread(&self) -> Option<SyncThread> {
        self.thread.lock().take()
    }

    fn keep_thread(&self, started: SyncThread) {
        *self.thread.lock() = Some(started);
    }
}

/// The ways to a thread that syncs.
struct SyncThread {
    /// Dropped or set, it ends sync.
    stop: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

/// Puts sync beside a loop: it starts when the loop has begun.
pub fn sync_beside(reporter: Box<dyn Reporter>, plan: SyncPlan) -> (Box<dyn Reporter>, SyncBeside) {
    let shared = Arc::new(SyncShared::default());
    let listener = SyncListener {
        shown: reporter,
        plan: Some(plan),
        shared: shared.clone(),
    };
    (Box::new(listener), SyncBeside { shared })
}

impl SyncBeside {
    /// Ends sync after a last round, unless that takes too long. Returns what was not said yet.
    pub async fn end(self) -> Vec<SyncNotice> {
        if let Some(SyncThread { stop, ended }) = self.shared.take_thread() {
            let _ = stop.send(true);
            // One that hangs in a connection goes away with the process.
            let _ = tokio::time::timeout(LAST_ROUND, ended).await;
        }
        self.shared.take_notices()
    }
}

/// Starts sync with the loop, and says in its place what sync has to say.
struct SyncListener {
    shown: Box<dyn Reporter>,
    plan: Option<SyncPlan>,
    shared: Arc<SyncShared>,
}

impl SyncListener {
    fn say(&mut self, at: Timestamp) {
        for notice in self.shared.take_notices() {
            self.shown.report(&notice.event(), at);
        }
    }
}

impl Reporter for SyncListener {
    fn report(&mut self, event: &Event, at: Timestamp) {
        self.say(at);
        self.shown.report(event, at);
        if matches!(event, Event::LoopStarted { .. })
            && let Some(plan) = self.plan.take()
        {
            start(plan, &self.shared);
        }
    }

    fn report_all(&mut self, events: &[Event], at: Timestamp) {
        if self.plan.is_some() {
            for event in events {
                self.report(event, at);
            }
            return;
        }
        self.say(at);
        self.shown.report_all(events, at);
    }

    fn tick(&mut self, now: Timestamp) {
        self.shown.tick(now);
    }

    fn wants_ticks(&self) -> bool {
        self.shown.wants_ticks()
    }

    fn begin(&mut self, what: &str) {
        self.shown.begin(what);
    }

    fn make_room(&mut self) {
        self.shown.make_room();
    }

    fn finish(&mut self) {
        self.shown.finish();
    }
}

fn start(plan: SyncPlan, shared: &Arc<SyncShared>) {
    let (stop, stopping) = watch::channel(false);
    let (done, ended) = oneshot::channel();
    let own = shared.clone();
    let started = std::thread::Builder::new()
        .name("sync".to_owned())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            match runtime {
                Ok(runtime) => {
                    runtime.block_on(work(&plan, &own, stopping));
                    // A look-up of a name that hangs must not hold up the end.
                    runtime.shutdown_background();
                }
                Err(error) => own.say(SyncNotice::Warning(format!("sync can't start: {error}"))),
            }
            let _ = done.send(());
        });
    match started {
        Ok(_) => shared.keep_thread(SyncThread { stop, ended }),
        Err(error) => shared.say(SyncNotice::Warning(format!("sync can't start: {error}"))),
    }
}

/// Syncs until it is told to stop, and then once more.
async fn work(plan: &SyncPlan, shared: &SyncShared, mut stopping: watch::Receiver<bool>) {
    let first = sync_standing(&plan.data_dir, SystemClock.now()).await;
    let mut telling = Telling {
        shared,
        server: plan.address.shown(),
        failing: false,
    };
    let mut opened: Option<Box<dyn Syncing>> = None;
    loop {
        if opened.is_none() {
            opened = match open_sync(plan).await {
                Ok(syncing) => {
                    if matches!(first, Ok(None)) {
                        telling.first(plan);
                    }
                    Some(syncing)
                }
                // It does all that this one would.
                Err(TeamError::Busy { .. }) => None,
                Err(error) => {
                    telling.failed(&error);
                    None
                }
            };
        }
        if let Some(syncing) = &mut opened {
            let _ = once(syncing.as_mut(), &mut telling).await;
        }
        let due = async {
            match &mut opened {
                Some(syncing) => syncing.wait().await,
                None => tokio::time::sleep(LOOK_AGAIN).await,
            }
        };
        tokio::select! {
            // Also where it is gone: nothing waits for this thread any more.
            _ = stopping.changed() => break,
            () = due => {}
        }
    }
    let Some(mut syncing) = opened else {
        return;
    };
    while once(syncing.as_mut(), &mut telling).await == Rest::Some {}
    syncing.close().await;
}

/// The rest that is to be sent after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    Some,
    /// Nothing can be sent now.
    Unknown,
}

async fn once(syncing: &mut dyn Syncing, telling: &mut Telling<'_>) -> Rest {
    match syncing.round().await {
        Ok(round) => {
            telling.went_well(&round.findings);
            if round.more {
                Rest::Some
            } else {
                Rest::Nothing
            }
        }
        Err(error) => {
            telling.failed(&error);
            Rest::Unknown
        }
    }
}

/// Says what changes: a failure once, and that it is over.
struct Telling<'a> {
    shared: &'a SyncShared,
    server: String,
    failing: bool,
}

impl Telling<'_> {
    fn first(&self, plan: &SyncPlan) {
        let parts: Vec<&str> = plan.include.iter().map(|part| part.as_str()).collect();
        let (server, tenant) = (&self.server, &plan.tenant);
        self.shared.say(SyncNotice::Note(format!(
            "the journal is sent to {server} from now on, tenant {tenant}: {} (`store.include`)",
            parts.join(", ")
        )));
    }

    fn went_well(&mut self, findings: &[String]) {
        if self.failing {
            self.failing = false;
            let note = format!("sync with {} goes on", self.server);
            self.shared.say(SyncNotice::Note(note));
        }
        for finding in findings {
            self.shared.say(SyncNotice::Warning(finding.clone()));
        }
    }

    fn failed(&mut self, error: &TeamError) {
        if self.failing {
            return;
        }
        self.failing = true;
        let hint = error
            .hint()
            .map_or_else(String::new, |hint| format!(" ({hint})"));
        self.shared.say(SyncNotice::Warning(format!(
            "not synced: {error}{hint}; the loop goes on, and what waits is sent later"
        )));
    }
}
