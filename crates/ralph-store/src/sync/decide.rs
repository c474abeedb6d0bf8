//! Decides what follows from where the server stands: pure, from the server's cursor and what is known here.
//!
//! Never looks at a clock, asks no database.

use std::fmt;

/// A place in the history of a journal: the last change of a batch, and the hash over all batches up to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cursor {
    pub(super) seq: i64,
    pub(super) hash: String,
}

/// The state here, as far as it is about a cursor of the server's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LocalState {
    /// The last batch that the server is known to have.
    pub(super) acked: Option<Cursor>,
    /// Batches that were written down before they were sent, of those that end where the server stands.
    pub(super) sent: Vec<Cursor>,
    /// Changes up to this one are not kept any more.
    pub(super) pruned_to: i64,
}

/// The consequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The server is where it was left.
    GoOn,
    /// A batch arrived, and the answer to it did not.
    AnswerWasLost(Cursor),
    /// The server came back from an older backup. It is sent what it misses, which is still known.
    SendFrom(Cursor),
    /// The server came back from an older backup, or is another one: it is sent everything.
    SendAll(Option<Cursor>),
    /// This journal was restored from a backup, or copied, and the server knows more of it.
    Refuse(Cursor),
}

pub(super) fn decide(server: Option<&Cursor>, here: &LocalState) -> Outcome {
    let Some(server) = server else {
        return match here.acked {
            Some(_) => Outcome::SendAll(None),
            None => Outcome::GoOn,
        };
    };
    if here.acked.as_ref() == Some(server) {
        return Outcome::GoOn;
    }
    if !here.sent.contains(server) {
        return Outcome::Refuse(server.clone());
    }
    match &here.acked {
        Some(acked) if server.seq <= acked.seq && here.pruned_to <= server.seq => {
            Outcome::SendFrom(server.clone())
        }
        Some(acked) if server.seq <= acked.seq => Outcome::SendAll(Some(server.clone())),
        Some(_) | None => Outcome::AnswerWasLost(server.clone()),
    }
}

/// Something that a round found, and that a person may want to know: one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncFinding {
    /// A batch had arrived whose answer was lost.
    AnswerWasLost,
    /// The server came back from an older backup.
    ServerIsOlder {
        /// The change that it has last.
        at: i64,
        /// Everything is sent again, not only what it misses.
        is_all: bool,
    },
    /// The server knows nothing of this journal any more: it is another database, or its data was lost.
    ServerIsEmpty,
    /// The clocks differ by this much; the server's is ahead where it is above 0. Nothing depends on them.
    ClocksDiffer { server_ahead_ms: i64 },
    /// A command from the server that can't be queued here; the server has the reason.
    CommandRefused { id: String, why: String },
}

impl fmt::Display for SyncFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnswerWasLost => write!(
                f,
                "the server had the last batch already: only its answer was lost"
            ),
            Self::ServerIsOlder { at, is_all } => {
                let what = if *is_all {
                    "everything"
                } else {
                    "what it misses"
                };
                write!(
                    f,
                    "the server came back from an older backup (at change {at}): {what} is sent again"
                )
            }
            Self::ServerIsEmpty => write!(
                f,
                "the server knows nothing of this journal any more: everything is sent again"
            ),
            Self::ClocksDiffer { server_ahead_ms } => {
                // To the nearest.
                let minutes = (server_ahead_ms.abs() + 30_000) / 60_000;
                let side = if *server_ahead_ms > 0 {
                    "ahead of"
                } else {
                    "behind"
                };
                write!(
                    f,
                    "the clock of the server is {minutes} minutes {side} the one here: nothing depends on it, \
                     but times of the two can't be compared"
                )
            }
            Self::CommandRefused { id, why } => {
                write!(f, "command {id} of the team's store was refused: {why}")
            }
        }
    }
}

/// The difference of clocks from which on it is said.
const TELLING_SKEW_MS: i64 = 5 * 60 * 1_000;

/// Says what is to be said of the difference of two clocks.
pub(super) fn judge_skew(server_ahead_ms: i64) -> Option<SyncFinding> {
    (server_ahead_ms.abs() >= TELLING_SKEW_MS)
        .then_some(SyncFinding::ClocksDiffer { server_ahead_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(seq: i64, hash: &str) -> Cursor {
        Cursor {
            seq,
            hash: hash.to_owned(),
        }
    }

    fn here(acked: Option<(i64, &str)>, sent: &[(i64, &str)], pruned_to: i64) -> LocalState {
        LocalState {
            acked: acked.map(|(seq, hash)| cursor(seq, hash)),
            sent: sent.iter().map(|(seq, hash)| cursor(*seq, hash)).collect(),
            pruned_to,
        }
    }

    #[test]
    fn each_place_of_the_server_has_its_outcome() {
        let at = cursor(20, "b");
        let cases = [
            (
                "usual",
                Some(&at),
                here(Some((20, "b")), &[(20, "b")], 0),
                Outcome::GoOn,
            ),
            ("new", None, here(None, &[], 0), Outcome::GoOn),
            (
                "new, a first batch did not arrive",
                None,
                here(None, &[(5, "a")], 0),
                Outcome::GoOn,
            ),
            (
                "the answer got lost",
                Some(&at),
                here(Some((10, "a")), &[(20, "b")], 0),
                Outcome::AnswerWasLost(at.clone()),
            ),
            (
                "the first answer got lost, and another batch was made to that place since",
                Some(&at),
                here(None, &[(20, "x"), (20, "b")], 0),
                Outcome::AnswerWasLost(at.clone()),
            ),
            (
                "another server, or its data is lost",
                None,
                here(Some((30, "c")), &[], 0),
                Outcome::SendAll(None),
            ),
            (
                "an older backup, and what it misses is kept",
                Some(&at),
                here(Some((30, "c")), &[(20, "b")], 20),
                Outcome::SendFrom(at.clone()),
            ),
            (
                "an older backup, and not all that it misses is kept",
                Some(&at),
                here(Some((30, "c")), &[(20, "b")], 21),
                Outcome::SendAll(Some(at.clone())),
            ),
            (
                "another history with the same number",
                Some(&at),
                here(Some((20, "x")), &[(20, "x"), (20, "b")], 0),
                Outcome::SendFrom(at.clone()),
            ),
            (
                "ahead: restored here",
                Some(&at),
                here(Some((10, "a")), &[], 0),
                Outcome::Refuse(at.clone()),
            ),
            (
                "a copy was synced first",
                Some(&at),
                here(Some((30, "c")), &[(20, "x")], 0),
                Outcome::Refuse(at.clone()),
            ),
            (
                "never synced here",
                Some(&at),
                here(None, &[], 0),
                Outcome::Refuse(at.clone()),
            ),
        ];
        for (what, server, here, expected) in cases {
            assert_eq!(decide(server, &here), expected, "{what}");
        }
    }

    #[test]
    fn clocks_that_differ_by_minutes_are_told_of() {
        assert_eq!(judge_skew(299_999), None);
        assert_eq!(judge_skew(-299_999), None);
        let day = judge_skew(-86_400_000).map(|found| found.to_string());
        let expected = "the clock of the server is 1440 minutes behind the one here: nothing depends on it, \
                        but times of the two can't be compared";
        assert_eq!(day.as_deref(), Some(expected));
        assert!(judge_skew(300_000).is_some());
    }
}
