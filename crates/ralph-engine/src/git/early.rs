//! A scan of the working tree that is started before it is asked for.
//!
//! Between two iterations the journal waits for the disk; git can look at the tree meanwhile. What
//! was seen early is used for the very next look alone, and only while it is fresh: a file that a
//! person makes while the loop waits is the person's, and must be seen. Where git looked at the tree
//! when its verification had ended, that look will do.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::call::Answer;
use super::repo::State;
use super::status::{SCAN, Seen, StatusEntry, read_seen};
use super::{GitError, Oid, Repo};

/// Far longer than it takes to write an iteration down, far shorter than any wait.
const FRESH: Duration = Duration::from_secs(1);

/// Landings after which git looks at the tree again, and notes what it saw in its index: until then it reads
/// each file again that has landed since.
const MOST_KNOWN: u32 = 16;

/// A look at the working tree after verification that found the staged tree and nothing else.
#[derive(Debug)]
pub(super) struct VerifiedLook {
    pub(super) tree: Oid,
    pub(super) seen: Seen,
    pub(super) began: Instant,
}

/// The working tree as it is known to be, without a scan.
#[derive(Debug)]
pub(super) struct KnownLook {
    of: Oid,
    seen: Seen,
    began: Instant,
}

impl KnownLook {
    fn is_fresh(&self) -> bool {
        self.began.elapsed() < FRESH
    }
}

#[derive(Debug)]
pub(super) struct EarlyScan {
    running: JoinHandle<Result<Answer, GitError>>,
    of: Oid,
    began: Instant,
}

impl EarlyScan {
    /// Returns what was seen, and against which commit. `None` if it is of no use.
    pub(super) async fn finish(mut self) -> Option<(Seen, Oid)> {
        let answer = (&mut self.running).await;
        let seen = read_seen(&answer.ok()?.ok()?.into_result().ok()?).ok()?;
        (self.began.elapsed() < FRESH).then(|| (seen, self.of.clone()))
    }
}

impl Drop for EarlyScan {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl State {
    /// Returns what was seen early, and against which commit. `None` if it is of no use: the caller looks
    /// itself, and then also meets what went wrong. Nothing runs any more when this returns.
    pub(super) async fn finish_early(&mut self) -> Option<(Seen, Oid)> {
        let known = self.known.take().filter(KnownLook::is_fresh);
        let scanned = match self.early.take() {
            Some(scan) => scan.finish().await,
            None => None,
        };
        known.map(|look| (look.seen, look.of)).or(scanned)
    }

    /// Takes over what was seen after verification, once that tree has landed with files of ralph's own.
    pub(super) fn know_landed(&mut self, commit: &Oid, look: VerifiedLook, own: &[PathBuf]) {
        let VerifiedLook {
            mut seen, began, ..
        } = look;
        // What was staged is committed, and so are these files.
        let is_changed = |entry: &StatusEntry| entry.worktree != b'.' && !own.contains(&entry.path);
        seen.changed.retain(is_changed);
        for entry in &mut seen.changed {
            entry.staged = b'.';
        }
        // The first one is for git to look at: its index may be as old as all the files it knows.
        if self.landings_known > 0 {
            let of = commit.clone();
            self.known = Some(KnownLook { of, seen, began });
        }
        self.landings_known = (self.landings_known + 1) % MOST_KNOWN;
    }
}

impl Repo {
    /// Starts what the next [`Repo::status`] will ask for. For a caller that will have changed
    /// nothing in the working tree by then but files of ralph's own. What goes wrong is not said
    /// here: the look itself meets it again.
    pub async fn start_status(&self) {
        let known = |state: &State| state.known.as_ref().is_some_and(KnownLook::is_fresh);
        if known(&*self.state.lock().await) {
            return;
        }
        let mut state = self.in_order().await;
        if let Ok(early) = self.start_scan(&mut state, &SCAN).await {
            state.early = Some(early);
        }
    }

    /// The same, and other calls go on meanwhile: nothing is written by it.
    pub async fn start_status_beside(&self) {
        let mut state = self.in_order().await;
        let scan: Vec<&str> = ["--no-optional-locks"].into_iter().chain(SCAN).collect();
        if let Ok(scan) = self.start_scan(&mut state, &scan).await {
            state.beside = Some(scan);
        }
    }

    async fn start_scan(&self, state: &mut State, scan: &[&str]) -> Result<EarlyScan, GitError> {
        let (head, _) = self.current()?;
        self.take_over_index(state, &head).await?;
        Ok(EarlyScan {
            running: tokio::spawn(self.git(scan).into_answer()),
            of: head,
            began: Instant::now(),
        })
    }
}
