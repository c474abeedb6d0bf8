//! The lines of `ralph monitor`.

use std::time::Duration;

use ralph_core::sanitize::one_line;
use ralph_engine::monitor::{Change, ChangeKind};

use crate::{
    error::CommandError,
    output,
    view::{Tone, paint},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MonitorForm {
    Text,
    Json,
}

pub(super) fn begins(interval: Duration, form: MonitorForm) {
    if form == MonitorForm::Text {
        let seconds = interval.as_secs();
        output::print(&format!(
            "watching all loops on this machine every {seconds}s; Ctrl-C stops watching, not the loops\n"
        ));
    }
}

pub(super) fn nothing(form: MonitorForm) {
    if form == MonitorForm::Text {
        output::print("no loop is running\n");
    }
}

pub(super) fn change(change: &Change, form: MonitorForm) -> Result<(), CommandError> {
    if form == MonitorForm::Json {
        return output::print_json_line(change);
    }
    let at = change.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let safe = |text: &str| one_line(text, usize::MAX);
    let mut text = format!(
        "{} {} {} {}: {}\n",
        paint(Tone::Faint, &at),
        paint(tone(change.event), change.event.as_str()),
        paint(Tone::Name, &safe(change.loop_id.as_str())),
        safe(&change.worktree),
        safe(&change.sentence),
    );
    if let Some(hint) = &change.hint {
        text.push_str(&format!("  {}\n", safe(hint)));
    }
    output::print(&text);
    Ok(())
}

fn tone(kind: ChangeKind) -> Tone {
    match kind {
        ChangeKind::Watching | ChangeKind::Ended => Tone::Plain,
        ChangeKind::Recovered => Tone::Good,
        ChangeKind::NeedsPerson | ChangeKind::Hangs | ChangeKind::Restarted => Tone::Careful,
        ChangeKind::Escalated
        | ChangeKind::Terminating
        | ChangeKind::Killed
        | ChangeKind::Terminated
        | ChangeKind::Gone => Tone::Bad,
    }
}
