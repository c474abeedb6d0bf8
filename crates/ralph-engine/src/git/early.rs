//! A scan of the working tree that is started before it is asked for.
//!
//! Between two iterations the journal waits for the disk; git can look at the tree meanwhile. What
//! was seen early is used for the very next look alone, and only while it is fresh: a file that a
//! person makes while the loop waits is the person's, and must be seen.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::call::Answer;
use super::repo::State;
use super::status::{SCAN, Seen, read_seen};
use super::{GitError, Oid, Repo};

/// Far longer than it takes to write an iteration down, far shorter than any wait.
const FRESH: Duration = Duration::from_secs(1);

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
        self.early.take()?.finish().await
    }
}

impl Repo {
    /// Starts what the next [`Repo::status`] will ask for. For a caller that will have changed
    /// nothing in the working tree by then but files of ralph's own. What goes wrong is not said
    /// here: the look itself meets it again.
    pub async fn start_status(&self) {
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
        self.adopt_real_index(state)?;
        self.shadow.set_head(&head)?;
        self.ensure_index(&head).await?;
        Ok(EarlyScan {
            running: tokio::spawn(self.git(scan).into_answer()),
            of: head,
            began: Instant::now(),
        })
    }
}
