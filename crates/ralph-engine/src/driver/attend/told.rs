//! What was done about the commands that came while an agent ran, and whose words it was told.

use std::collections::{HashSet, VecDeque};

use ralph_core::{agent::NudgeState, id::CommandId};

use crate::{driver::mind::Minds, store::CommandRow};

/// What was done about the commands that came while the agent ran, and what the agent was told.
#[derive(Default)]
pub(super) struct Told {
    pub(super) seen: HashSet<CommandId>,
    /// Words that the agent was not heard to take yet, with their marks, in the order in which they
    /// were said.
    on_their_way: VecDeque<(u64, Words)>,
    /// Words of the minder's that it took, and may yet say to have read.
    taken: Vec<(u64, Minds)>,
}

/// Whose words were said to the agent.
pub(super) enum Words {
    Persons(Box<CommandRow>),
    Minders(Minds),
}

impl Told {
    pub(super) fn say(&mut self, mark: u64, words: Words) {
        self.on_their_way.push_back((mark, words));
    }

    /// Who is to hear what became of words with this mark. A person hears it once.
    pub(super) fn whose(&mut self, mark: u64, state: NudgeState) -> Option<Words> {
        match state {
            NudgeState::Delivered => {
                let at = self.taken.iter().position(|(of, _)| *of == mark)?;
                Some(Words::Minders(self.taken.remove(at).1))
            }
            NudgeState::Sent | NudgeState::Impossible => {
                let (mark, words) = self.on_their_way.pop_front()?;
                if let Words::Minders(whose) = words {
                    self.taken.push((mark, whose));
                }
                Some(words)
            }
        }
    }
}
