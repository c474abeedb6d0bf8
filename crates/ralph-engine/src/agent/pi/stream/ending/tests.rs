//! Tests of how a failure reads.

use super::*;

const AT: i64 = 1_794_725_000;

fn ending(text: &str) -> Ending {
    let at = Timestamp::from_second(AT).ok();
    ApiFailure::read(text).ending(at, false)
}

fn limit_after(seconds: i64) -> Ending {
    Ending::Limit {
        resets_at: Some(Timestamp::from_second(AT + seconds).unwrap()),
    }
}

#[test]
fn both_spellings_of_a_status_are_read() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow\n down"}}"#;
    for text in [format!("429 {body}"), format!("429: {body}")] {
        let message = "429 rate_limit_error: slow down".into();
        assert_eq!(ending(&text), Ending::Overloaded { message }, "{text}");
    }
    let message = "503: upstream".into();
    assert_eq!(ending("503: upstream"), Ending::Overloaded { message });
    let google = r#"{"error":{"code":500,"message":"oh","status":"INTERNAL"}}"#;
    let message = "500 INTERNAL: oh".into();
    assert_eq!(ending(google), Ending::Overloaded { message });
}

#[test]
fn the_status_decides_what_can_be_done() {
    for (text, outcome) in [
        ("401 {}", "auth"),
        ("403: no", "auth"),
        ("400 bad", "api_error"),
        ("413 too large", "api_error"),
        ("404 {}", "api_error"),
        ("402 pay", "api_error"),
        ("529 {}", "overloaded"),
        ("408 {}", "overloaded"),
        (r#"{"error":{"type":"authentication_error"}}"#, "auth"),
        (r#"{"error":{"type":"api_error"}}"#, "overloaded"),
        ("Connection error.", "overloaded"),
        ("Anthropic stream ended before message_stop", "overloaded"),
        ("This operation was aborted", "interrupted"),
        ("something else", "agent_error"),
        ("200 files", "agent_error"),
        ("", "agent_error"),
    ] {
        assert_eq!(ending(text).outcome(), outcome, "{text}");
    }
    assert!(matches!(ending("404 {}"), Ending::Rejected { .. }));
    assert!(matches!(ending("400 {}"), Ending::Api { .. }));
}

#[test]
fn what_pi_asked_for_again_until_it_gave_up_is_something_that_passes() {
    let message = "something odd".to_owned();
    let read = || ApiFailure::read("something odd");
    assert_eq!(
        read().ending(None, true),
        Ending::Overloaded {
            message: message.clone()
        }
    );
    assert_eq!(read().ending(None, false), Ending::Error { message });
}

#[test]
fn a_limit_has_the_time_that_its_words_have() {
    let chat = "You have hit your ChatGPT usage limit (plus plan). Try again in ~12 min.";
    assert_eq!(ending(chat), limit_after(720));
    let gemini = r#"429 {"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 34.5s.","status":"RESOURCE_EXHAUSTED"}}"#;
    assert_eq!(
        ending(gemini),
        Ending::Limit {
            resets_at: Some(Timestamp::from_millisecond(AT * 1000 + 34_500).unwrap())
        }
    );
    let at = r#"429 {"error":{"message":"Monthly usage limit reached, resets at 2026-11-16T00:00:00Z."}}"#;
    let resets_at = Some("2026-11-16T00:00:00Z".parse().unwrap());
    assert_eq!(ending(at), Ending::Limit { resets_at });
    let unknown = r#"429 {"error":{"message":"Monthly usage limit reached"}}"#;
    assert_eq!(ending(unknown), Ending::Limit { resets_at: None });
}

#[test]
fn an_empty_account_is_not_waited_for_and_a_busy_server_is_no_limit() {
    let broke = r#"429 {"error":{"type":"insufficient_quota","message":"You exceeded your current quota, please check your plan and billing details."}}"#;
    assert!(matches!(ending(broke), Ending::Rejected { .. }));
    let busy = r#"429 {"error":{"type":"rate_limit_error","message":"This request would exceed your account's rate limit"}}"#;
    assert!(matches!(ending(busy), Ending::Overloaded { .. }));
    // The words stand in what was sent, not in what the server complains of.
    assert!(matches!(
        ending("400 unknown field `usage_limit`"),
        Ending::Api { .. }
    ));
}

#[test]
fn too_many_requests_at_once_are_no_limit_though_a_bill_is_linked_to() {
    let busy = r#"429: {"error":{"message":"Rate limit reached for gpt-4 in organization org-x on requests per min (RPM): Limit 3. Visit https://platform.openai.com/account/billing to add a payment method.","type":"requests","code":"rate_limit_exceeded"}}"#;
    assert!(matches!(ending(busy), Ending::Overloaded { .. }));
    let link = r#"429 {"error":{"message":"Slow down. See https://example.com/account/billing"}}"#;
    assert!(matches!(ending(link), Ending::Overloaded { .. }));
    let used_up = r#"429 {"error":{"type":"rate_limit_error","message":"Your usage limit is reached. Try again in 5 minutes."}}"#;
    assert_eq!(ending(used_up), limit_after(300));
}

#[test]
fn whoever_may_not_ask_is_not_helped_by_waiting() {
    let denied = r#"403 {"error":{"message":"API usage limits for this key: project not allowed to use model, see usage limit docs"}}"#;
    assert!(matches!(ending(denied), Ending::Auth { .. }));
}

#[test]
fn a_key_that_is_used_up_is_a_limit_though_the_status_is_400() {
    let used_up = r#"400 {"error":{"message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.","type":"invalid_request_error"}}"#;
    let resets_at = Some("2026-12-01T00:00:00Z".parse().unwrap());
    assert_eq!(ending(used_up), Ending::Limit { resets_at });
}

#[test]
fn a_long_account_is_cut_and_any_characters_are_fine() {
    let text = format!("500 {}", "ü".repeat(10_000));
    assert_eq!(ApiFailure::read(&text).message.chars().count(), 300);
}
