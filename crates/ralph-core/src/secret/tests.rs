//! Secrets that are found, texts that are none, and the rest of a text without them.

mod stream;
mod vendors;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Certainty, NamedValue, REDACTED, Redaction, WeakValue,
    rules::{KeywordPart, TABLES},
};
use vendors::{Numbers, VENDORS, contexts};

/// The samples that each vendor has of each kind of text.
const SAMPLES: u64 = 4;

#[test]
fn at_least_99_of_100_secrets_are_found_whole_wherever_they_stand() {
    let redaction = Redaction::default();
    let (mut all, mut missed) = (0_usize, BTreeMap::<String, usize>::new());
    for (number, vendor) in VENDORS.iter().enumerate() {
        for sample in 0..SAMPLES {
            let value = vendor.make(&mut Numbers(number as u64 * 1000 + sample));
            // Of a longer text, such as a URL, the secret is a part.
            let tail = &value[value.len() - 12..];
            for (kind, text) in contexts(vendor.variable, &value) {
                all += 1;
                let hidden = redaction.hide(&text);
                if !hidden.contains(REDACTED) || hidden.contains(tail) && !is_host(tail) {
                    let place = format!("{} {} {kind}", vendor.variable, vendor.format);
                    *missed.entry(place).or_default() += 1;
                }
            }
        }
    }
    let count: usize = missed.values().sum();
    assert!(VENDORS.len() >= 150 && all > 10_000, "{all}");
    assert!(count * 100 <= all, "{count} of {all} missed: {missed:#?}");
}

/// The end of a value that a host and a path follow.
fn is_host(tail: &str) -> bool {
    tail.contains(":5432/app")
}

#[test]
fn there_are_at_least_150_rules_and_each_is_whole() {
    let rules: Vec<_> = TABLES.iter().flat_map(|table| table.iter()).collect();
    assert!(rules.len() >= 150, "{}", rules.len());
    let names: BTreeSet<&str> = rules.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), rules.len(), "no name twice");
    for rule in rules {
        let regex = regex::bytes::Regex::new(&rule.regex());
        let regex = regex.unwrap_or_else(|error| panic!("{}: {error}", rule.name));
        assert!(!rule.keywords.is_empty(), "{}", rule.name);
        let has_group = matches!(rule.shape, KeywordPart::Lead | KeywordPart::Name);
        assert_eq!(regex.captures_len() > 1, has_group, "{}", rule.name);
        for keyword in rule.keywords {
            assert!(keyword.len() >= 2, "{}: {keyword}", rule.name);
            // A name is looked through from its secret word back, no further than 96 characters.
            let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
            let fits = keyword.len() <= 60 && keyword.bytes().all(is_of_name);
            let is_name = rule.shape == KeywordPart::Name;
            assert!(!is_name || fits, "{}: {keyword}", rule.name);
        }
    }
}

#[test]
fn a_vendor_s_name_is_found_from_the_secret_word_of_its_name() {
    let value = "9f86d081884c7d659a2feaa0c55ad015";
    let far = "x".repeat(30);
    let cases = [
        (format!("TWILIO_AUTH_TOKEN={value}"), true),
        (format!("twilio_{far}key: {value}"), false),
        (format!("twilio{far}key: {value}"), true),
        (
            format!("Twilio.token_of_20_characters \t= \"{value}\""),
            true,
        ),
        (
            format!("twilio_key_with_too_long_an_end_of_it={value}"),
            false,
        ),
        (format!("twilio key={value}"), false),
        (format!("twilio_key {value}"), false),
        (format!("twilio_name={value}"), false),
    ];
    for (text, is_secret) in cases {
        let is_hidden = Redaction::default().hide(&text).contains(REDACTED);
        assert_eq!(is_hidden, is_secret, "{text}");
    }
}

#[test]
fn samples_and_what_only_looks_like_a_name_are_not_found() {
    let redaction = Redaction::default();
    for text in [
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "token: ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "token: ghp_000000000000000000000000000000000000",
        "OPENAI_API_KEY=sk-your-key-here",
        "HEROKU_API_KEY=<your-key>",
        "HEROKU_API_KEY=00000000-0000-0000-0000-000000000000",
        "class=\"sk-circle sk-child\"",
        "ghp_short",
        "-----BEGIN PUBLIC KEY-----",
        "if line == \"-----BEGIN RSA PRIVATE KEY-----\":",
        "postgres://user:password@localhost/db",
        "https://user:${PASSWORD}@host/",
        "git@github.com:owner/name.git",
        "datadog_api_key = os.environ['DATADOG_API_KEY']",
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "task-anthropic-and-others-are-long-names",
        "sha512-4Kq1dXaM8L1rU9BzA5nR0aGvG0u8m1w0k6gQfW5mZqQ0xg==",
    ] {
        assert_eq!(redaction.find(text.as_bytes()), [], "{text}");
    }
}

#[test]
fn a_private_key_is_hidden_whole_as_it_is_in_json_and_in_source() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";
    let (begin, end) = (
        format!("-----BEGIN {} KEY-----", "RSA PRIVATE"),
        format!("-----END {} KEY-----", "RSA PRIVATE"),
    );
    for text in [
        format!("a\n{begin}\n{body}\n{body}\n{end}\nb"),
        format!("{{\"private_key\": \"{begin}\\n{body}\\n{body}\\n{end}\\n\"}}"),
        format!("    {begin}\n    {body}\n    {body}\n    {end}\n"),
        format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n{body}\n{end}"),
        format!("key = (\"{begin}\\n\"\n       \"{body}\\n\"\n       \"{end}\\n\")"),
        format!("{begin}\n{body}"),
    ] {
        let hidden = Redaction::default().hide(&text).into_owned();
        assert!(hidden.contains(REDACTED), "{hidden}");
        assert!(
            !hidden.contains("MIIE") && !hidden.contains("-----END"),
            "{hidden}"
        );
    }
}

#[test]
fn the_rule_is_named_and_the_value_is_not() {
    let value = format!("ghp_{}", "a1B2".repeat(9));
    let redaction = Redaction::new([NamedValue::new("DEPLOY_TOKEN", "correct-horse-7")]);
    let text = format!("a {value} b correct-horse-7 c");
    let found = redaction.find(text.as_bytes());
    let rules: Vec<&str> = found.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(rules, ["GitHub token", "value of DEPLOY_TOKEN"]);
    assert_eq!(found[0].certainty, Certainty::Secret);
    assert_eq!(redaction.hide(&text), "a [redacted] b [redacted] c");
    let shown = format!("{redaction:?} {found:?} {:?}", NamedValue::new("A", "b"));
    assert!(shown.starts_with("Redaction(1 values)"), "{shown}");
    assert!(
        !shown.contains("correct") && !shown.contains(&value),
        "{shown}"
    );
}

#[test]
fn a_value_is_found_in_a_url_in_json_and_in_base64_wherever_it_begins() {
    let redaction = Redaction::new([NamedValue::new("DB_PASSWORD", "p@ss/w\"rd 19")]);
    for text in [
        "p@ss/w\"rd 19",
        r#"{"password":"p@ss/w\"rd 19"}"#,
        "https://x.invalid/?p=p%40ss%2Fw%22rd%2019",
        "https://x.invalid/?p=p%40ss%2fw%22rd%2019",
        // base64 of "p@ss/w\"rd 19", of "xp@ss…", of "xxp@ss…", each with more behind it.
        "cEBzcy93InJkIDE5eA==",
        "eHBAc3MvdyJyZCAxOXg=",
        "eHhwQHNzL3cicmQgMTl4",
    ] {
        let hidden = redaction.hide(text);
        assert!(hidden.contains(REDACTED), "{text} -> {hidden}");
    }
    let url_safe = Redaction::new([NamedValue::new("KEY", "~~~???>>>~~~")]);
    assert!(url_safe.hide("fn5-Pz8_Pj4-fn5-").contains(REDACTED));
    assert!(url_safe.hide("fn5+Pz8/Pj4+fn5+").contains(REDACTED));
}

#[test]
fn a_value_that_honest_texts_hold_is_not_looked_for_and_said_to_be_weak() {
    let weakness = |value: &str| NamedValue::new("A_TOKEN", value).weakness();
    assert_eq!(weakness("hunter2"), Some(WeakValue::Short));
    assert_eq!(weakness("  on  "), Some(WeakValue::Short));
    assert_eq!(weakness("postgres"), Some(WeakValue::Word));
    assert_eq!(weakness("Development"), Some(WeakValue::Word));
    assert_eq!(weakness("/home/me/.config/key.json"), Some(WeakValue::Path));
    assert_eq!(weakness("~/keys/a"), Some(WeakValue::Path));
    assert_eq!(weakness("hunter22"), None);
    assert_eq!(weakness("correcthorsebatterystaple"), None);
    assert_eq!(weakness("/wJalrXUtnFEMI/K7MDENG9bPxRfiCY"), None);
    let redaction = Redaction::new([NamedValue::new("DB_PASSWORD", "postgres")]);
    assert_eq!(redaction.hide("psql -U postgres"), "psql -U postgres");
}

#[test]
fn a_token_is_found_behind_an_escape_a_colour_and_an_encoded_sign() {
    let value = format!("ghp_{}", "a1B2".repeat(9));
    for before in [
        "\\n",
        "\\t",
        "%3D",
        "\u{1b}[31m",
        "\\u001b[1;32m",
        "=",
        "\"",
        "x/",
    ] {
        let text = format!("{before}{value}");
        assert_eq!(
            Redaction::default().hide(&text),
            format!("{before}{REDACTED}")
        );
    }
    let text = format!("x{value}");
    assert_eq!(Redaction::default().hide(&text), text);
}

#[test]
fn texts_within_a_value_are_hidden_and_the_rest_stays() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Record {
        title: String,
        flags: Vec<String>,
        count: u32,
    }
    let value = format!("ghp_{}", "a1B2".repeat(9));
    let record = Record {
        title: format!("use {value}"),
        flags: vec!["one".into(), value],
        count: 3,
    };
    let hidden = Record {
        title: "use [redacted]".into(),
        flags: vec!["one".into(), REDACTED.into()],
        count: 3,
    };
    assert_eq!(Redaction::default().hide_in(record), hidden);
}
