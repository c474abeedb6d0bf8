//! The end of an iteration: the commit, the verdict and its figures, the failure's last lines.

use jiff::Timestamp;
use ralph_core::{
    agent::Usage,
    economics::KnownCost,
    event::Event,
    figures::{duration, short_commit, used},
    verdict::Verdict,
};

use super::{HumanText, agent::usage_in_full, safe};
use crate::report::{
    Verbosity,
    page::{Extent, Page},
    paint::{Mark, Tone},
};

/// Last lines of a failure; `-v` shows more, `-vv` all.
const TAIL_LINES: usize = 15;
const VERBOSE_TAIL_LINES: usize = 60;

impl HumanText {
    pub(super) fn landed(&mut self, page: &mut Page, event: &Event) {
        let Event::Landed {
            task,
            commit,
            subject,
            unverified,
        } = event
        else {
            return;
        };
        let text = match commit {
            Some(commit) => {
                let commit = page.paint().text(Tone::Name, short_commit(&safe(commit)));
                format!("landed {commit} {}", safe(subject))
            }
            None => format!("{} needs no commit", safe(task)),
        };
        if *unverified {
            self.memory.unverified_tasks += 1;
            page.marked(Mark::Look, &text);
            let words = "unverified: no verify command for it";
            page.more(&format!("  {}", page.paint().text(Tone::Careful, words)));
        } else {
            page.marked(Mark::Good, &text);
        }
    }

    pub(super) fn iteration_ended(&mut self, page: &mut Page, event: &Event) {
        let Event::IterationEnded {
            task,
            verdict,
            seconds,
            usage,
            cost,
            tail,
            log,
            ..
        } = event
        else {
            return;
        };
        let (mark, sentence) = self.sentence(verdict);
        let refusal = self.memory.refusal.take();
        if let (Some(reason), false) = (refusal, matches!(verdict, Verdict::Refused { .. })) {
            page.indented(Mark::Look, &format!("would be refused: {}", safe(&reason)));
        }
        let task = page.paint().text(Tone::Heading, &safe(task));
        let figures = page
            .paint()
            .text(Tone::Faint, &figures(*seconds, usage, cost));
        let colon = if mark == Mark::Good { "" } else { ":" };
        page.marked(
            mark,
            &format!("{task}{colon} {} · {figures}", safe(&sentence)),
        );
        if self.shows(Verbosity::Verbose) && usage.total_tokens() > 0 {
            page.more(&format!(
                "  {}",
                page.paint().text(Tone::Faint, &usage_in_full(usage))
            ));
        }
        let failed = !verdict.lands();
        let is_shown = std::mem::take(&mut self.memory.failure_shown)
            && matches!(verdict, Verdict::Failed { .. });
        if failed && !is_shown {
            let extent = match self.look.verbosity {
                Verbosity::Quiet | Verbosity::Normal => Extent::Last(TAIL_LINES),
                Verbosity::Verbose => Extent::Last(VERBOSE_TAIL_LINES),
                Verbosity::VeryVerbose => Extent::All,
            };
            page.quote(tail, extent);
        }
        if !log.is_empty() && (failed && !is_shown || self.shows(Verbosity::Verbose)) {
            page.more(&format!("  log {}", safe(log)));
        }
    }

    fn sentence(&self, verdict: &Verdict) -> (Mark, String) {
        match verdict {
            Verdict::Verified | Verdict::Progress => (Mark::Good, verdict.sentence()),
            Verdict::LimitHit {
                resets_at: Some(at),
            } => (
                Mark::Look,
                format!("usage limit reached, resets {}", self.local(*at)),
            ),
            Verdict::Unverified
            | Verdict::UnverifiedProgress
            | Verdict::Unclaimed
            | Verdict::Escalated
            | Verdict::Diagnosed
            | Verdict::LimitHit { resets_at: None }
            | Verdict::Budget { .. }
            | Verdict::Handoff { .. }
            | Verdict::Overtaken { .. }
            | Verdict::Interrupted => (Mark::Look, verdict.sentence()),
            Verdict::Failed { .. }
            | Verdict::NoChange { .. }
            | Verdict::Refused { .. }
            | Verdict::TimedOut { .. }
            | Verdict::Terminated { .. }
            | Verdict::AgentError { .. }
            | Verdict::Overloaded { .. }
            | Verdict::AgentUnavailable { .. } => (Mark::Bad, verdict.sentence()),
        }
    }

    /// `Sun 14:30`: a limit may reset on another day.
    pub(super) fn local(&self, at: Timestamp) -> String {
        at.to_zoned(self.look.time_zone.clone())
            .strftime("%a %H:%M")
            .to_string()
    }
}

/// `1m 12s · 12.3k tokens · $0.42`; what is not known is left out.
pub(super) fn figures(seconds: f64, usage: &Usage, cost: &KnownCost) -> String {
    let mut parts = vec![duration(seconds)];
    parts.extend(used(usage, cost));
    parts.join(" · ")
}
