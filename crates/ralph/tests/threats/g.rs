//! The classes of tricks that go around the claim, each with neighbours: agent code that runs while ralph
//! verifies, commits that are not what was verified, the index, the task graph, the voice of a person, objects
//! and refs, links, secrets, wedges, blame, and what has to be flagged. The twelfth class, honest work that is
//! refused, is in [`crate::honest`].

mod flags;
mod graph;
mod refs;
mod secrets;
mod verified;
mod voice;
mod wedges;

/// The classes by number. The test of a class begins with its number, as in `g03_…`.
const CLASSES: [(u8, &str); 11] = [
    (1, "agent code that runs during verification or formatting"),
    (2, "what is verified is not what is committed"),
    (3, "the index"),
    (4, "the task graph"),
    (5, "the agent speaks as a person"),
    (6, "objects and refs"),
    (7, "links"),
    (8, "secrets besides the diff"),
    (9, "wedges"),
    (10, "blame"),
    (11, "no flag where there should be one"),
];

const SOURCES: [&str; 7] = [
    include_str!("g/flags.rs"),
    include_str!("g/graph.rs"),
    include_str!("g/refs.rs"),
    include_str!("g/secrets.rs"),
    include_str!("g/verified.rs"),
    include_str!("g/voice.rs"),
    include_str!("g/wedges.rs"),
];

#[test]
fn every_class_has_a_test() {
    for (index, (number, name)) in CLASSES.iter().enumerate() {
        assert_eq!(usize::from(*number), index + 1, "{name}");
        let begins = [
            format!("modes!(g{number:02}_"),
            format!("modes!(\n    g{number:02}_"),
            format!("#[test]\nfn g{number:02}_"),
        ];
        let has_test = |text: &str| begins.iter().any(|begin| text.contains(begin));
        assert!(
            SOURCES.iter().any(|text| has_test(text)),
            "{number}: {name}"
        );
    }
}
