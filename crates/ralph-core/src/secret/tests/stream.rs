//! Secrets that come in pieces.

use super::super::{NamedValue, RedactedStream, Redaction};

fn streamed(redaction: &Redaction, pieces: &[&[u8]]) -> String {
    let mut stream = RedactedStream::new(redaction.clone());
    let mut out = Vec::new();
    for piece in pieces {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    String::from_utf8(out).unwrap()
}

fn redaction() -> Redaction {
    Redaction::new([NamedValue::new("DEPLOY_TOKEN", "correct-horse-7")])
}

#[test]
fn a_secret_is_hidden_wherever_a_stream_is_cut() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let key = format!(
        "-----BEGIN {0} KEY-----\n{1}\n{1}\nQUJD\n-----END {0} KEY-----",
        "PRIVATE", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
    );
    let text = format!("one {token} two\nthree correct-horse-7\n{key}\nlast line\n");
    for at in 0..text.len() {
        for second in [1, 40] {
            let end = (at + second).min(text.len());
            let pieces = [
                &text.as_bytes()[..at],
                &text.as_bytes()[at..end],
                &text.as_bytes()[end..],
            ];
            let out = streamed(&redaction(), &pieces);
            assert!(
                out.starts_with("one [redacted] two\nthree [redacted]\n"),
                "{at}: {out}"
            );
            assert!(out.ends_with("\nlast line\n"), "{at}: {out}");
            for part in ["ghp_", "correct", "MIIE", "QUJD"] {
                assert!(!out.contains(part), "{at}: {part} in {out}");
            }
        }
    }
}

#[test]
fn every_byte_alone_gives_the_same() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("a {token}\nb correct-horse-7");
    let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(
        streamed(&redaction(), &pieces),
        "a [redacted]\nb [redacted]"
    );
}

#[test]
fn a_line_without_an_end_is_given_on_and_little_of_it_is_held() {
    let mut stream = RedactedStream::new(redaction());
    let mut out = Vec::new();
    let noise = vec![b'.'; 1000];
    for _ in 0..1000 {
        stream.push(&noise, &mut out);
    }
    assert!(out.len() > 900_000, "{}", out.len());
    stream.push(b"correct-ho", &mut out);
    stream.push(b"rse-7", &mut out);
    stream.push(&vec![b'.'; 200_000], &mut out);
    stream.finish(&mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.len(), 1_200_000 + "[redacted]".len());
    assert!(!text.contains("correct"));
}

#[test]
fn what_is_no_secret_passes_unchanged_with_any_bytes() {
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let mut stream = RedactedStream::new(Redaction::default());
    let mut out = Vec::new();
    for piece in bytes.chunks(77) {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    assert_eq!(out, bytes);
}

#[test]
fn lines_behind_a_key_that_has_no_end_are_shown_again() {
    let text = format!(
        "-----BEGIN {} KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n\nerror: no end\n",
        "PRIVATE"
    );
    let pieces: Vec<&[u8]> = text.split_inclusive('\n').map(str::as_bytes).collect();
    let out = streamed(&Redaction::default(), &pieces);
    assert!(out.ends_with("[redacted]\nerror: no end\n"), "{out}");
    assert!(!out.contains("MIIE"), "{out}");
}
