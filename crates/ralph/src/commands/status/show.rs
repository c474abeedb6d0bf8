//! `status` as text: a line for each thing that there is, nothing for what there is not.

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::{
    board::Counts,
    economics::KnownCost,
    sanitize::{columns, one_line, wrapped_lines},
};

pub(super) mod branches;

use super::facts::{Facts, IterationFacts, LoopFacts, LoopState, SyncFacts};
use crate::{
    output,
    view::{
        Table, Tone, cell,
        figures::{ago, ago_text, count, short_commit, whole_seconds},
        paint,
    },
};

/// Tasks that are named as blocked.
const MOST_SHOWN: usize = 10;
const BAR: usize = 24;

pub(crate) fn render(facts: &Facts, now: Timestamp) -> String {
    let mut text = heading(facts);
    text.push_str(&tally(&facts.tasks));
    text.push('\n');
    let mut table = Table::new(1, 0);
    let mut line = |label: &str, tone: Tone, value: &str| {
        table.row([cell(Tone::Faint, label), cell(tone, value)]);
    };
    line("next", Tone::Plain, &next(facts));
    if let Some(last) = &facts.last_iteration {
        let (tone, sentence) = last_iteration(last, facts.running, now);
        line("last", tone, &sentence);
        if let Some(log) = &last.log {
            let more = format!("{log}  (`ralph logs` shows it)");
            line("log", Tone::Faint, &more);
        }
    }
    if let Some(last) = &facts.last_loop {
        let (tone, sentence) = last_loop(last, now);
        line("loop", tone, &sentence);
    } else if facts.running {
        line("loop", Tone::Good, "running");
    } else {
        line("loop", Tone::Plain, "not running; none has run here yet");
    }
    if facts.cost != KnownCost::default() {
        let more = format!("{} by this loop  (`ralph cost` shows it)", facts.cost);
        line("spent", Tone::Faint, &more);
    }
    if let Some(id) = &facts.last_checkpoint {
        let more = format!("{id}  (`ralph checkpoint show` shows it)");
        line("checkpoint", Tone::Faint, &more);
    }
    if let Some(until) = facts.waiting_until.filter(|until| *until > now) {
        let local = until.to_zoned(TimeZone::system());
        let text = match facts.running {
            true => "for the agent's usage limit",
            false => "when it goes on, for the agent's usage limit",
        };
        let when = local.strftime("%a %H:%M");
        line("waits", Tone::Careful, &format!("{text}, until {when}"));
    }
    if facts.reverted_commits > 0 {
        let many = count(facts.reverted_commits, "commit", "commits");
        let how = format!("{many} taken back; `ralph report --all` lists them");
        line("reverted", Tone::Faint, &how);
    }
    if facts.suggestions > 0 {
        let many = count(facts.suggestions, "suggestion", "suggestions");
        let how = format!("{many} of agents: `ralph tasks add --from-suggestions`");
        line("ideas", Tone::Plain, &how);
    }
    if let Some(sync) = &facts.sync {
        let (tone, sentence) = sync_line(sync, now);
        line("sync", tone, &sentence);
    }
    // Not cut at the terminal's edge: the way out stands at the end of a line.
    text.push_str(&table.render_wrapped(output::width()));
    text.push_str(&branches::render(&facts.tree));
    text.push_str(&questions(facts));
    text.push_str(&blocked(facts));
    text.push_str(&skipped(facts));
    for warning in &facts.warnings {
        let label = paint(Tone::Careful, "warning:");
        text.push_str(&format!("\n{label} {}", one_line(warning, usize::MAX)));
    }
    if !facts.warnings.is_empty() {
        text.push('\n');
    }
    match output::width() {
        Some(width) => wrapped_lines(&text, width),
        None => text,
    }
}

fn heading(facts: &Facts) -> String {
    let mut line = paint(Tone::Heading, &one_line(&facts.source, 200));
    if let Some(parent) = &facts.parent {
        let below = format!(" below {} {}", parent.id, one_line(&parent.title, 72));
        line.push_str(&paint(Tone::Faint, &below));
    }
    line.push('\n');
    line
}

/// The bar, and the counts that are not zero.
fn tally(tasks: &Counts) -> String {
    if tasks.total == 0 {
        return "no tasks\n".to_owned();
    }
    let done = BAR * tasks.completed / tasks.total;
    let bar = format!(
        "{}{}",
        paint(Tone::Good, &"█".repeat(done)),
        paint(Tone::Faint, &"░".repeat(BAR - done))
    );
    let others = [tasks.completed, tasks.ready, tasks.asking, tasks.waiting];
    let aside = [tasks.blocked, tasks.failed, tasks.skipped];
    let counted: usize = others.iter().chain(&aside).sum();
    let running = tasks.total.saturating_sub(counted);
    let counts = [
        ("being worked on", running, Tone::Plain),
        ("unverified", tasks.unverified, Tone::Careful),
        ("ready", tasks.ready, Tone::Plain),
        ("with a question", tasks.asking, Tone::Careful),
        ("waiting", tasks.waiting, Tone::Plain),
        ("blocked", tasks.blocked, Tone::Careful),
        ("failed", tasks.failed, Tone::Bad),
        ("skipped", tasks.skipped, Tone::Faint),
    ];
    let first = format!("{} of {} completed", tasks.completed, tasks.total);
    let mut text = format!("{bar}  {first}");
    let room = output::width().map_or(usize::MAX, |width| width.saturating_sub(BAR + 4));
    let mut used = columns(&first);
    for (word, n, tone) in counts.into_iter().filter(|(_, n, _)| *n > 0) {
        let word = format!("{n} {word}");
        let wide = columns(&word) + 2;
        // What does not fit goes on below, and not at the terminal's edge.
        let before = if used + wide > room {
            used = 0;
            format!(",\n{}", " ".repeat(BAR + 2))
        } else {
            ", ".to_owned()
        };
        used += wide;
        text.push_str(&format!("{before}{}", paint(tone, &word)));
    }
    text.push('\n');
    text
}

fn next(facts: &Facts) -> String {
    match &facts.next {
        Some(next) => {
            let attempt = match next.attempt {
                1 => String::new(),
                attempt => format!(" (attempt {attempt})"),
            };
            let (id, title) = (&next.task.id, one_line(&next.task.title, 100));
            format!("{id} {title}{attempt}: {}", next.why)
        }
        None if facts.tasks.total == 0 => "nothing: there are no tasks".into(),
        None if facts.tasks.completed + facts.tasks.skipped == facts.tasks.total => {
            match facts.tasks.unverified {
                0 => "nothing: all tasks are complete".into(),
                n => format!("nothing: all tasks are complete, {n} of them unverified"),
            }
        }
        None => "nothing is ready".into(),
    }
}

fn last_iteration(last: &IterationFacts, running: bool, now: Timestamp) -> (Tone, String) {
    let name = format!("iteration {}, {}", last.iteration, last.task_id);
    match (&last.ended_at, &last.sentence) {
        (Some(ended), sentence) => {
            let verdict = last.verdict.as_deref().unwrap_or("ended");
            let found = sentence.as_deref().unwrap_or(verdict);
            let commit = last.result_commit.as_deref();
            let mut commit = commit.map_or_else(String::new, |c| format!(" ({})", short_commit(c)));
            if last.reverted {
                commit.push_str(", reverted since");
            }
            let tone = match last.outcome.as_deref() {
                Some("success") if !last.reverted => Tone::Good,
                _ => Tone::Careful,
            };
            (
                tone,
                format!("{name}: {found}{commit}, {}", ago_text(ended, now)),
            )
        }
        (None, _) if running => {
            let since = ago_text(&last.started_at, now);
            (Tone::Good, format!("{name}: under way, started {since}"))
        }
        (None, _) => {
            let text = format!("{name}: has no end; `ralph run` looks after it");
            (Tone::Careful, text)
        }
    }
}

fn last_loop(last: &LoopFacts, now: Timestamp) -> (Tone, String) {
    let on = format!("on {} with {}", last.branch, last.agent);
    match last.state {
        LoopState::Running => {
            let since = ago_text(&last.started_at, now);
            match &last.paused_at {
                Some(at) => {
                    let paused = ago_text(at, now);
                    let text = format!("paused {on} since {paused}; `ralph resume` goes on");
                    (Tone::Careful, text)
                }
                None => (Tone::Good, format!("running {on}, started {since}")),
            }
        }
        LoopState::Interrupted => {
            let since = ago_text(&last.started_at, now);
            let text = format!(
                "not running; interrupted {on}, started {since}; `ralph run` goes on with it"
            );
            (Tone::Careful, text)
        }
        LoopState::Ended => {
            let when = last.ended_at.as_deref().unwrap_or_default();
            let why = last.sentence.as_deref().unwrap_or("for a reason unknown");
            let text = format!("not running; ended {}: {why} ({on})", ago_text(when, now));
            (Tone::Plain, text)
        }
    }
}

/// Says what waits for the store of a team, by what is known here.
fn sync_line(sync: &SyncFacts, now: Timestamp) -> (Tone, String) {
    let place = format!("{}, tenant {}", sync.server, sync.tenant);
    let last = sync.last_ok_at.map(|at| ago(at, now));
    let waiting = match sync.waiting {
        0 => None,
        1 => Some("1 change waits".to_owned()),
        many => Some(format!("{many} changes wait")),
    };
    let oldest = whole_seconds(sync.waiting_seconds);
    match (waiting, &sync.error, last) {
        (None, None, Some(last)) => {
            let text = format!("nothing waits for {place}, asked {last}");
            (Tone::Faint, text)
        }
        (_, None, None) => {
            let text = format!("not synced with {place} yet  (`ralph sync` does it)");
            (Tone::Careful, text)
        }
        (Some(waiting), None, Some(_)) => {
            let text = format!("{waiting} for {place}, the oldest for {oldest}");
            (Tone::Plain, text)
        }
        (waiting, Some(error), last) => {
            let waiting = waiting.map_or_else(
                || "nothing waits".to_owned(),
                |waiting| format!("{waiting}, the oldest for {oldest}"),
            );
            let last = last.map_or_else(
                || "never synced".to_owned(),
                |last| format!("last synced {last}"),
            );
            let error = one_line(error, 200);
            (Tone::Careful, format!("{waiting}, {last}: {error}"))
        }
    }
}

fn questions(facts: &Facts) -> String {
    let mut text = String::new();
    for held in &facts.questions {
        let id = paint(Tone::Name, held.task_id.as_str());
        text.push_str(&format!("\n{} {id}\n", paint(Tone::Careful, "question")));
        text.push_str(&indented(&held.question));
        if let Some(id) = held.id {
            text.push_str(&format!(
                "  `ralph escalations` shows all of it, `ralph answer {id}` answers\n"
            ));
        }
    }
    text
}

fn skipped(facts: &Facts) -> String {
    let lines = facts.skipped.iter().filter_map(|one| {
        let reason = one_line(one.reason.as_ref()?, 200);
        let id = paint(Tone::Name, one.task_id.as_str());
        let label = paint(Tone::Faint, "skipped");
        Some(format!("\n{label} {id}: {reason}"))
    });
    let mut text: String = lines.collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The first lines of a text, each of a bounded length.
fn indented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .take(6)
        .map(|line| format!("  {}\n", one_line(line, 200)))
        .collect()
}

fn blocked(facts: &Facts) -> String {
    if facts.blocked.is_empty() {
        return String::new();
    }
    let mut table = Table::new(1, 2);
    for one in facts.blocked.iter().take(MOST_SHOWN) {
        let mut why = one.by.join("; ");
        if columns(&why) > 300 {
            why = one_line(&why, 300);
        }
        table.row([
            cell(Tone::Name, one.task_id.as_str()),
            cell(Tone::Plain, why),
        ]);
    }
    let mut text = format!("\n{}\n", paint(Tone::Heading, "not to be taken"));
    text.push_str(&table.render_wrapped(output::width()));
    let more = facts.blocked.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        text.push_str(&format!("  … {more} more; `ralph tasks list` shows all\n"));
    }
    text
}
