//! Tests of notices: wordings with the moment that each means, and texts that are none.

use proptest::prelude::*;

use super::*;

/// A Sunday, half past six in the morning in UTC, half past seven in Berlin.
const NOW: &str = "2026-11-15T06:30:00Z";

fn berlin() -> TimeZone {
    jiff::tz::TimeZoneDatabase::bundled()
        .get("Europe/Berlin")
        .unwrap()
}

fn read_at(text: &str, now: &str) -> Option<Notice> {
    notice(text, now.parse().unwrap(), &berlin())
}

#[track_caller]
fn resets(text: &str, at: &str) {
    let found = read_at(text, NOW).unwrap_or_else(|| panic!("no notice: {text}"));
    let at: Timestamp = at.parse().unwrap();
    assert_eq!(found.resets_at, Some(at), "{text}");
}

/// The local zone is Berlin's, an hour ahead of UTC in November.
#[rustfmt::skip]
const WORDINGS: [(&str, &str); 46] = [
    ("You've hit your session limit · resets 9:07am (UTC)", "2026-11-15T09:07:00Z"),
    ("You’ve hit your session limit · resets 9:07am (UTC)", "2026-11-15T09:07:00Z"),
    ("You've hit your weekly limit · resets Nov 20, 9am (Europe/Berlin)", "2026-11-20T08:00:00Z"),
    ("You've hit your limit · resets 3pm", "2026-11-15T14:00:00Z"),
    ("You've hit your limit · resets 3PM", "2026-11-15T14:00:00Z"),
    ("You've hit your limit · resets 3 p.m.", "2026-11-15T14:00:00Z"),
    ("You've hit your limit · resets 12am (UTC)", "2026-11-16T00:00:00Z"),
    ("You've hit your limit · resets 12pm (UTC)", "2026-11-15T12:00:00Z"),
    ("You've hit your limit · resets 15:45", "2026-11-15T14:45:00Z"),
    ("You've hit your limit · resets at 23:05 (UTC)", "2026-11-15T23:05:00Z"),
    ("You've hit your Opus limit · resets Oct 6, 1pm", "2027-10-06T11:00:00Z"),
    ("You've hit your limit · resets in 3h 20m", "2026-11-15T09:50:00Z"),
    ("You've hit your limit · resets in 3h20m", "2026-11-15T09:50:00Z"),
    ("You have reached your usage limit. Please try again in 5 minutes.", "2026-11-15T06:35:00Z"),
    ("Claude AI usage limit reached|1794733640", "2026-11-15T09:07:20Z"),
    ("Claude AI usage limit reached|1794733640000", "2026-11-15T09:07:20Z"),
    ("5-hour limit reached ∙ resets 8pm", "2026-11-15T19:00:00Z"),
    ("5-hour limit reached ∙ resets 8pm\n/upgrade to increase your usage limit.", "2026-11-15T19:00:00Z"),
    ("Weekly limit reached ∙ resets Monday 9am (UTC)", "2026-11-16T09:00:00Z"),
    ("Weekly limit reached ∙ resets Sunday 6am (UTC)", "2026-11-22T06:00:00Z"),
    ("Your limit will reset at 7pm (America/Los_Angeles).", "2026-11-16T03:00:00Z"),
    ("Claude usage limit reached. Your limit will reset at 7pm (America/Los_Angeles).", "2026-11-16T03:00:00Z"),
    ("You've reached your usage limit … resets at 2026-11-15T20:00:00Z", "2026-11-15T20:00:00Z"),
    ("You've reached your usage limit. It resets at 2026-11-15T20:00:00+02:00", "2026-11-15T18:00:00Z"),
    ("You've reached your usage limit, resets at 2026-11-15 20:00", "2026-11-15T19:00:00Z"),
    ("You've hit your usage limit. Upgrade to Pro (https://example.com/pricing) or try again in 2 days 3 hours 4 minutes.", "2026-11-17T09:34:00Z"),
    ("You've hit your usage limit. Try again in 2 days 3 hours", "2026-11-17T09:30:00Z"),
    ("You've hit your usage limit. Try again in less than a minute.", "2026-11-15T06:31:00Z"),
    ("You've hit your usage limit. To get more access now, send a request to your admin or try again at Nov 20th, 2026 1:02 PM.", "2026-11-20T12:02:00Z"),
    ("You've hit your usage limit for gpt-5. Switch to another model now, or try again at 1:02 PM.", "2026-11-15T12:02:00Z"),
    ("You've hit your limit · resets tomorrow at 9am (UTC)", "2026-11-16T09:00:00Z"),
    ("You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.", "2026-12-01T00:00:00Z"),
    ("You're out of extra usage · resets Nov 20, 3pm (UTC)", "2026-11-20T15:00:00Z"),
    ("Opus weekly limit reached ∙ resets Nov 20, 1pm (UTC)", "2026-11-20T13:00:00Z"),
    ("You've hit your usage limit for Opus 4.8 · resets 3pm (UTC)", "2026-11-15T15:00:00Z"),
    ("You've hit your limit. Wait until 3pm (UTC) or upgrade to Max.", "2026-11-15T15:00:00Z"),
    ("You've hit your usage limit. You can try again at 3:00 PM (UTC).", "2026-11-15T15:00:00Z"),
    ("You've reached your 5-hour limit. See https://example.com/usage. It resets at 15:00 (UTC)", "2026-11-15T15:00:00Z"),
    ("You've hit your individual spend limit · run /usage-credits to ask your admin for a higher limit · your session limit resets 6:50pm (Asia/Tokyo)", "2026-11-15T09:50:00Z"),
    ("You've hit your monthly spend limit · raise it at claude.ai/settings/usage?from=cc_cli_limit_message · your session limit resets 2:30pm (America/New_York)", "2026-11-15T19:30:00Z"),
    ("You've hit your monthly spend limit · raise it at claude.ai/settings/usage · your weekly limit resets Nov 20, 1am (UTC)", "2026-11-20T01:00:00Z"),
    ("You're out of usage credits · resets Nov 20, 3pm (UTC)", "2026-11-20T15:00:00Z"),
    ("You’re out of extra usage · your limit resets 3pm (UTC)", "2026-11-15T15:00:00Z"),
    ("You've hit your limit for Claude messages. Limits will reset at 9:30 AM. View your usage details.", "2026-11-15T08:30:00Z"),
    ("You've hit your Fable 5 limit · resets 3:45pm (UTC)", "2026-11-15T15:45:00Z"),
    // It is not known this zone: the local one.
    ("You've hit your limit · resets 3pm (Mars/Olympus)", "2026-11-15T14:00:00Z"),
];

#[test]
fn the_wordings_of_programs_say_when_they_reset() {
    for (text, at) in WORDINGS {
        resets(text, at);
    }
}

#[test]
fn a_time_of_day_that_is_over_means_tomorrow() {
    resets(
        "You've hit your limit · resets 6:29am (UTC)",
        "2026-11-16T06:29:00Z",
    );
    resets(
        "You've hit your limit · resets 6:30am (UTC)",
        "2026-11-15T06:30:00Z",
    );
}

#[test]
fn a_program_that_writes_no_seconds_means_the_minute_that_is_on() {
    let text = "You've hit your limit · resets 6:30am (UTC)";
    let found = read_at(text, "2026-11-15T06:30:40Z").unwrap();
    assert_eq!(
        found.resets_at,
        Some("2026-11-15T06:30:00Z".parse().unwrap())
    );
}

#[test]
fn a_time_that_the_clocks_leave_out_is_the_next_one_there_is() {
    // In Berlin, on 29 March 2026, two o'clock is followed by three.
    let found = read_at(
        "You've hit your limit · resets 2:30am",
        "2026-03-28T23:00:00Z",
    )
    .unwrap();
    assert_eq!(
        found.resets_at,
        Some("2026-03-29T01:30:00Z".parse().unwrap())
    );
}

#[test]
fn a_date_without_a_year_is_the_next_of_its_name() {
    let new_year = "You've hit your weekly limit · resets Jan 2, 9am (UTC)";
    resets(new_year, "2027-01-02T09:00:00Z");
}

#[test]
fn a_notice_without_a_time_is_one_all_the_same() {
    for text in [
        "You've hit your limit",
        "You've hit your usage limit.",
        "You're out of extra usage",
        "Claude AI usage limit reached",
        "You've hit your limit · resets 25pm",
        "You've hit your limit · resets 31:99",
        "You've hit your individual spend limit",
        "You've hit your individual spend limit for this account.",
        "You've hit your individual spend limit · run /usage-credits to raise it, or visit claude.ai/admin-settings/usage",
        "You've hit your individual usage limit",
        "You've hit your org's monthly spend limit · contact your admin",
        "You've hit your channel's monthly spend limit",
        "You've hit your team's shared budget",
        "You've hit your usage credit limit · run /usage-credits",
        "You've hit your monthly spend limit. Run /usage-credits to manage your limit and keep using Fable 5 or switch models to continue this chat.",
        "You've hit your monthly spend limit. /model to switch models.",
        "You've reached your Fable 5 limit.",
        "Your individual spend limit has been reached.",
        "Individual spend limit reached",
        "Monthly spend limit reached · contact your admin",
        "You're out of extra usage. Please retry later.",
        "You're out of extra usage. Add more at claude.ai/settings/usage and keep going.",
        "You're out of usage credits. Run /usage-credits to keep using Fable 5 or /model to switch models.",
        "You're out of usage credits. /model to switch models.",
        "You've run out of usage credits.",
        "Your org is out of usage · contact your admin",
        "Your organization is out of usage credits. Contact your admin to add more.",
        "Your organization's usage credit cap is reached for this period. Contact your admin to raise it.",
    ] {
        let found = read_at(text, NOW).unwrap_or_else(|| panic!("no notice: {text}"));
        assert_eq!(found.resets_at, None, "{text}");
    }
}

#[test]
fn the_window_is_read_where_it_is_named() {
    let which = |text: &str| read_at(text, NOW).unwrap().which;
    assert_eq!(
        which("You've hit your session limit"),
        Some(Window::Session)
    );
    assert_eq!(
        which("5-hour limit reached ∙ resets 8pm"),
        Some(Window::Session)
    );
    assert_eq!(which("You've hit your weekly limit"), Some(Window::Weekly));
    assert_eq!(
        which("You've hit your org's monthly usage limit"),
        Some(Window::Monthly)
    );
    assert_eq!(which("You've hit your limit"), None);
    assert_eq!(which("You've hit your individual spend limit"), None);
    // The one that was hit, and not the one that resets.
    assert_eq!(
        which("You've hit your monthly spend limit · your weekly limit resets 8pm"),
        Some(Window::Monthly)
    );
}

#[test]
fn the_same_words_in_an_answer_are_no_notice() {
    for text in [
        "",
        "Task A complete",
        "The screen now says: You've hit your session limit · resets 9:07am (UTC)",
        "\"You've hit your limit\"",
        "`You've hit your session limit · resets 9:07am (UTC)`",
        "You've hit your limit screens: I changed all of them. Task A complete",
        "You've hit your session limit · resets 9:07am (UTC)\n\nis what notice.txt says. Task A complete",
        "You've hit your limit. Task A complete",
        "You've hit your limit. I wrote the handler and its tests",
        "You've hit your limit is what users will see now",
        "> You've hit your limit",
        "Usage limit reached handling is in place, with tests",
        "Your limit will reset the counter, as asked. Task A complete",
        "Your limit will reset the counter",
        "Approaching usage limit · resets at 7pm",
        "API Error: Server is temporarily limiting requests (not your usage limit)",
        "Rate limit reached for requests. Try again in 20s",
        "The weekly limit reached its end",
        "Usage limit reached: you can now see the banner in settings.",
        "You've hit your daily limit. See docs/limits.md and wait for review.",
        "You've hit your daily limit: see the new page in settings",
        "Usage limit reached. Wait for the review of the banner",
        "Daily usage limit reached. Try again with the new flag; it resets the counter",
        "Your limit will reset the page at 5pm",
        "You've reached your 5 item limit. Upgrade banner is shown.",
        "You've reached your 5 item limit.",
        "Usage limit reached: you can upgrade the banner later",
        "Usage limit reached. And the tests pass",
        "Usage limit reached. To use it, call check()",
        "The individual spend limit is enforced now. Task A complete",
        "Individual spend limit added to the settings page.",
        "Individual spend limit reached: the banner is shown",
        "You've hit your individual spend limit page is done",
        "You've hit your individual spend limit. The dialog shows it now.",
        "You've hit your team's shared budget chart: done",
        "You're out of extra usage examples, so I removed them. Task A complete",
        "You're out of extra usage is what the dialog says",
        "You're out of usage. I wrote that into the banner",
        "You're out of usage credits: the new text of the dialog. Task A complete",
        "I added the message: You're out of extra usage",
        "Your org is out of usage examples",
        "Your organization's usage cap is reached in the test. Task A complete",
        "Your spend limit has been reached and the test shows it",
        "Spend limit reached handling is in place",
        "Run /usage-credits to raise it",
        "You've run out of usage examples",
        "You've reached your Chapter 5 limit of pages",
        "Out of extra usage",
    ] {
        assert_eq!(read_at(text, NOW), None, "{text}");
    }
}

#[test]
fn a_long_text_is_no_notice() {
    let long = format!("You've hit your limit. {}", "Try again later. ".repeat(40));
    assert_eq!(read_at(&long, NOW), None);
}

proptest! {
    #[test]
    fn no_text_at_all_makes_it_panic(text in "\\PC{0,80}", seconds in -9_000_000_000i64..99_000_000_000) {
        let now = Timestamp::from_second(seconds).unwrap();
        notice(&text, now, &TimeZone::UTC);
        notice(&format!("You've hit your limit · resets {text}"), now, &berlin());
    }

    #[test]
    fn no_time_at_all_makes_it_panic(
        text in "(jan|feb|Nov|Mon|tomorrow|in)? ?[0-9]{0,7}(st|th|, |:| )?[0-9]{0,7}(am|PM|h|days|:00)? ?(\\(UTC\\)|Z|\\|[0-9]{0,14})?",
        seconds in -9_000_000_000i64..99_000_000_000,
    ) {
        let now = Timestamp::from_second(seconds).unwrap();
        notice(&format!("You've hit your limit · resets {text}"), now, &berlin());
        notice(&format!("Claude AI usage limit reached|{text}"), now, &berlin());
    }
}

#[test]
fn words_that_are_known_to_be_about_a_limit_need_not_be_a_notice() {
    let now = "2026-11-15T12:00:00Z".parse().unwrap();
    let zone = TimeZone::fixed(jiff::tz::offset(1));
    let read = |text: &str| reset_time(text, now, &zone).map(|at| at.to_string());
    for (text, moment) in [
        (
            "You’ve hit your usage limit. Upgrade to Pro or try again at Jan 15th, 2030 6:54 PM.",
            Some("2030-01-15T17:54:00Z"),
        ),
        (
            "Try again later, or try again at 6:54 PM.",
            Some("2026-11-15T17:54:00Z"),
        ),
        ("try again at 12:05 AM.", Some("2026-11-15T23:05:00Z")),
        ("try again at 1:00 AM.", Some("2026-11-16T00:00:00Z")),
        ("Please retry in 34.5s.", Some("2026-11-15T12:00:34.5Z")),
        ("You've hit your usage limit. Try again later.", None),
        ("try again at noon.", None),
        ("try again at 25:00 PM.", None),
    ] {
        assert_eq!(read(text).as_deref(), moment, "{text}");
    }
}
