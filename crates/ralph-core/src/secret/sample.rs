//! Tells samples from secrets: what stands in manuals, templates and tests in the place of a value.

/// Words that a person writes where a value belongs.
const WORDS: &[&[u8]] = &[
    b"example",
    b"sample",
    b"placeholder",
    b"changeme",
    b"change_me",
    b"change-me",
    b"dummy",
    b"your_",
    b"your-",
    b"yourkey",
    b"yourtoken",
    b"yoursecret",
    b"insert_",
    b"replace_",
    b"redacted",
    b"xxxx",
    b"....",
    b"****",
    b"${",
    b"{{",
    b"0123456789",
    b"1234567890",
    b"0000000000",
    b"abcdefghij",
    b"deadbeef",
    b"aaaaaaaa",
    b"foobar",
    b"fake",
    b"mocked",
    // The subject 1234567890 of the token in every introduction to web tokens.
    b"eyjzdwiioiixmjm0nty3odkwii",
];

/// The fewest characters that differ in anything random.
const FEWEST_DIFFERENT: usize = 3;

pub(super) fn is_sample(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    WORDS
        .iter()
        .any(|word| memchr::memmem::find(&lower, word).is_some())
        || different(value) < FEWEST_DIFFERENT
}

fn different(value: &[u8]) -> usize {
    counts(value).iter().filter(|count| **count > 0).count()
}

/// The entropy of a text, in bits for each of its bytes.
pub(super) fn entropy(value: &[u8]) -> f32 {
    let length = value.len() as f32;
    let part = |count: u32| {
        let share = count as f32 / length;
        share * share.log2()
    };
    let sum: f32 = counts(value)
        .into_iter()
        .filter(|count| *count > 0)
        .map(part)
        .sum();
    -sum
}

fn counts(value: &[u8]) -> [u32; 256] {
    let mut counts = [0; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    counts
}
