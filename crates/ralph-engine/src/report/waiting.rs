//! The message while a loop waits: the reason, the end, and the time left.

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::{event::WaitReason, figures::whole_seconds};

/// `usage limit, continues at 14:30 (in 2h 13m)`
pub(super) fn sentence(
    reason: WaitReason,
    until: Timestamp,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let left = until.as_second().saturating_sub(now.as_second());
    let left = whole_seconds(u64::try_from(left).unwrap_or(0));
    match reason {
        WaitReason::UsageLimit => {
            format!(
                "usage limit, continues at {} (in {left})",
                clock(until, now, zone)
            )
        }
        WaitReason::Overload => format!("the API is overloaded, retrying in {left}"),
        WaitReason::Budget => format!("a budget is nearly used up, continues in {left}"),
        WaitReason::Breaker => format!("the circuit breaker is open, retrying in {left}"),
    }
}

/// The time, with its day if that is another one.
fn clock(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let local = at.to_zoned(zone.clone());
    let same_day = local.date() == now.to_zoned(zone.clone()).date();
    let shape = if same_day { "%H:%M" } else { "%b %-d, %H:%M" };
    local.strftime(shape).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(reason: WaitReason, until: &str) -> String {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        sentence(reason, time(until), time("2026-11-15T11:17:00Z"), &zone)
    }

    #[test]
    fn a_wait_says_when_it_ends_in_the_readers_own_time() {
        let limit = WaitReason::UsageLimit;
        let today = "usage limit, continues at 14:30 (in 2h 13m)";
        assert_eq!(said(limit, "2026-11-15T13:30:00Z"), today);
        let another_day = "usage limit, continues at Nov 16, 00:30 (in 12h 13m)";
        assert_eq!(said(limit, "2026-11-15T23:30:00Z"), another_day);
        assert_eq!(
            said(limit, "2026-11-15T11:00:00Z"),
            "usage limit, continues at 12:00 (in 0s)"
        );
        let overload = said(WaitReason::Overload, "2026-11-15T11:17:42Z");
        assert_eq!(overload, "the API is overloaded, retrying in 42s");
        let budget = said(WaitReason::Budget, "2026-11-15T11:17:30Z");
        assert_eq!(budget, "a budget is nearly used up, continues in 30s");
        let breaker = said(WaitReason::Breaker, "2026-11-15T11:27:00Z");
        assert_eq!(breaker, "the circuit breaker is open, retrying in 10m 00s");
    }
}
