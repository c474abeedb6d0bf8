//! Does what was decided about one loop, and notes it in the journal.
//!
//! Nothing here ends the monitor: what can't be done or noted is said, and the next look comes. A loop
//! that hangs may hold the journal's lock.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    command::Command,
    monitor::{Act, AfterLoss, Loss},
    notification::Occasion,
};
use rustix::process::Signal;

use super::{Change, ChangeKind, Looked, Monitor, Watched, sentences};
use crate::{
    process::ProcessIdentity,
    store::{NoteKind, RepositoryId},
};

/// What is left of a tree whose top is dead dies within this, or is killed.
const DIES_WITHIN: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Who asks, in the queue of commands.
const WHO: &str = "ralph monitor";

impl Monitor {
    pub(super) async fn act(
        &mut self,
        act: Act,
        looked: &Looked,
        watched: &mut Watched,
        changes: &mut Vec<Change>,
        now: Timestamp,
    ) {
        let change = |kind, sentence: String| looked.change(kind, sentence, now);
        let (change, note) = match act {
            Act::Nothing => return,
            Act::Lost { how, then } => {
                return self.lost(looked, watched, (how, then), changes, now).await;
            }
            Act::PassOn => {
                let (sentence, hint) = sentences::needs_person(looked);
                let change = Change {
                    hint: Some(hint),
                    tell: Some(Occasion::Escalation),
                    ..change(ChangeKind::NeedsPerson, sentence)
                };
                (change, None)
            }
            Act::Ask => (self.ask(looked, now).await, Some(NoteKind::Asked)),
            Act::Escalate => {
                let change = Change {
                    hint: Some(sentences::hang_hint(looked, self.policy.escalate_wait)),
                    tell: Some(Occasion::Escalation),
                    ..change(ChangeKind::Escalated, sentences::hangs(looked, now))
                };
                (change, Some(NoteKind::Escalated))
            }
            Act::Terminate => {
                let sentence = format!("{}: told to end", sentences::hangs(looked, now));
                let change = Change {
                    // It may be stopped, and hears nothing until it goes on.
                    trouble: signals(looked, watched, &[Signal::TERM, Signal::CONT]),
                    ..change(ChangeKind::Terminating, sentence)
                };
                (change, Some(NoteKind::Terminating))
            }
            Act::Kill => {
                let grace = sentences::seconds(self.policy.grace);
                let sentence = format!("it did not end within {grace}: killed");
                let change = Change {
                    trouble: signals(looked, watched, &[Signal::KILL]),
                    ..change(ChangeKind::Killed, sentence)
                };
                (change, Some(NoteKind::Killed))
            }
            Act::Recovered => {
                let change = change(ChangeKind::Recovered, "it works again".to_owned());
                (change, Some(NoteKind::Recovered))
            }
            Act::Over => (change(ChangeKind::Ended, "it is over".to_owned()), None),
        };
        changes.push(match note {
            Some(kind) => self.noted(kind, looked, change).await,
            None => change,
        });
    }

    /// Asks whether it listens: by the queue, and with a poke. The next looks see whether it did.
    async fn ask(&mut self, looked: &Looked, now: Timestamp) -> Change {
        let row = &looked.row;
        let repository = RepositoryId(row.repository_id.clone());
        let queued = self
            .journal
            .submit_command(&repository, &row.worktree, &Command::Ping, WHO, now)
            .await;
        let poked = looked.target.map(|target| target.signal(Signal::USR1));
        let sentence = format!("{}: asked", sentences::hangs(looked, now));
        let mut change = looked.change(ChangeKind::Hangs, sentence, now);
        change.trouble = match (queued, poked) {
            (Err(error), _) => Some(format!("can't ask loop {}: {error}", row.id)),
            (Ok(_), Some(Err(error))) => Some(format!("can't poke loop {}: {error}", row.id)),
            (Ok(_), Some(Ok(_)) | None) => None,
        };
        change
    }

    async fn lost(
        &mut self,
        looked: &Looked,
        watched: &mut Watched,
        (how, then): (Loss, AfterLoss),
        changes: &mut Vec<Change>,
        now: Timestamp,
    ) {
        let (mut sentence, hint) = sentences::lost(looked, how, then);
        if let Some(target) = watched.target.take() {
            let tree = std::mem::take(&mut watched.tree);
            let rest = clear(&tree).await;
            sentence.push_str(&format!(" (process {}): {rest}", target.pid));
        }
        let (event, kind) = match (how, then) {
            (_, AfterLoss::GiveUp) => (ChangeKind::Gone, NoteKind::GivenUp),
            (Loss::Crashed, _) => (ChangeKind::Gone, NoteKind::Gone),
            (Loss::Terminated, _) => (ChangeKind::Terminated, NoteKind::Terminated),
        };
        let mut change = looked.change(event, sentence, now);
        change.hint = hint;
        if self.was_told(looked, then).await {
            changes.push(change);
        } else {
            change.tell = Some(Occasion::Halt);
            changes.push(self.noted(kind, looked, change).await);
        }
        if then == AfterLoss::Restart {
            changes.push(self.restart(looked, now).await);
        }
    }

    /// Returns whether an earlier monitor has said that this loop is lost, and nothing has happened since.
    async fn was_told(&mut self, looked: &Looked, then: AfterLoss) -> bool {
        if then == AfterLoss::Restart {
            return false;
        }
        let Ok(Some(note)) = self.journal.last_note(&looked.row.id).await else {
            return false;
        };
        let is_loss = [NoteKind::Gone, NoteKind::Terminated, NoteKind::GivenUp]
            .iter()
            .any(|kind| kind.as_str() == note.kind);
        let noted_at: Option<Timestamp> = note.at.parse().ok();
        // A sign of life that came later is of another process, and so is its loss.
        is_loss && noted_at >= looked.last_seen()
    }

    async fn restart(&mut self, looked: &Looked, now: Timestamp) -> Change {
        let started = self.starter.start(&self.data_dir, &looked.row);
        let change = match started {
            Ok(pid) => {
                let sentence = format!("started again as process {pid}");
                Change {
                    pid: Some(pid),
                    ..looked.change(ChangeKind::Restarted, sentence, now)
                }
            }
            Err(error) => Change {
                trouble: Some(format!("can't start loop {}: {error}", looked.row.id)),
                tell: Some(Occasion::Halt),
                ..looked.change(ChangeKind::Gone, "it can't be started again", now)
            },
        };
        // One that failed counts as a try too: the hour's number of them must end.
        self.noted(NoteKind::Restarted, looked, change).await
    }

    async fn noted(&mut self, kind: NoteKind, looked: &Looked, mut change: Change) -> Change {
        let noted = self
            .journal
            .add_note(&looked.row, kind, &change.sentence, change.at)
            .await;
        if let Err(error) = noted {
            change.trouble = Some(format!("loop {}: {error}", looked.row.id));
        }
        change
    }
}

/// Signals the process of a loop, and remembers all that is below it. Says what went wrong.
fn signals(looked: &Looked, watched: &mut Watched, all: &[Signal]) -> Option<String> {
    let target = looked.target.or(watched.target)?;
    watched.target = Some(target);
    for below in target.descendants() {
        if !watched.tree.contains(&below) {
            watched.tree.push(below);
        }
    }
    for signal in all {
        if let Err(error) = target.signal(*signal) {
            return Some(format!("can't signal process {}: {error}", target.pid));
        }
    }
    None
}

/// Waits until all that was below a dead process is dead; what is left then is killed.
async fn clear(tree: &[ProcessIdentity]) -> String {
    let left = |tree: &[ProcessIdentity]| -> Vec<ProcessIdentity> {
        let alive = tree.iter().filter(|one| one.is_alive());
        alive.copied().collect()
    };
    let wait = async {
        while !left(tree).is_empty() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    let _ = tokio::time::timeout(DIES_WITHIN, wait).await;
    let rest = left(tree);
    for one in &rest {
        let _ = one.signal(Signal::KILL);
    }
    match rest.len() {
        0 => "nothing that it had started is left".to_owned(),
        left => format!("{left} processes that it had started were left and are killed"),
    }
}
