//! Describes what an agent is told when it is to wrap up.
//!
//! The same for every agent: only the reason differs.

use super::Handover;

/// The request to wrap up.
pub fn wrap_up(why: &Handover) -> String {
    let (trigger, sentence) = (why.trigger.as_str(), &why.sentence);
    format!(
        "A message from ralph, which drives this loop: please wrap up now. The reason: {sentence}.\n\
         \n\
         What happens: a fresh agent goes on with this task, from the files as they are. It knows \
         nothing of this conversation but what you write in your next message, and your run ends \
         with that message.\n\
         \n\
         What to do: stop here. Start nothing new, use no more tools (one that you start now is cut \
         off), and leave the working tree as it is, finished or not. If the task is done already, and \
         its verify commands pass, say so in the way that your prompt asks for. If it is not, claim \
         nothing, and end your message with this block:\n\
         \n\
         <ralph>\n\
         summary: what is done, and what state the files are in\n\
         decisions:\n\
         \x20 - what you decided, and why\n\
         next: what the next agent should do first, exactly\n\
         handoff: {trigger}\n\
         </ralph>"
    )
}
