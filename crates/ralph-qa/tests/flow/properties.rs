//! What holds for any text: reading it never panics, and says what is wrong where it returns no flow.

use std::path::Path;

use proptest::prelude::*;
use ralph_qa::flow::{MAX_FLOW_BYTES, read_flow};

use super::{bad, good};

/// Texts that are right, and those that are not.
fn texts() -> Vec<String> {
    let bad = bad::samples()
        .into_iter()
        .map(|sample| sample.text.to_owned());
    let good = good::steps().into_iter().map(|(step, ..)| {
        let step = step.replace('\n', "\n    ");
        format!("steps:\n  - {step}\n")
    });
    bad.chain(good)
        .chain([good::WHOLE_FLOW.to_owned()])
        .collect()
}

fn holds(text: &str) {
    // For YAML each of the two begins a line.
    let last = 1 + text.matches(['\n', '\r']).count();
    match read_flow(text, Path::new("greet.yaml")) {
        Ok(flow) => {
            assert!(!flow.steps.is_empty());
            for step in flow.steps {
                assert!((1..=last).contains(&step.line), "{text:?}: {}", step.line);
                assert!(!step.shown.contains(char::is_control), "{text:?}");
            }
        }
        Err(mistakes) => {
            assert!(!mistakes.mistakes.is_empty(), "{text:?}");
            for mistake in mistakes.mistakes {
                let line = mistake.line;
                assert!((1..=last).contains(&line), "{text:?}: {mistake:?}");
                assert!(mistake.to_string().len() < 2000, "{mistake}");
                assert!(!mistake.to_string().contains('\n'), "{mistake}");
            }
        }
    }
}

/// Pieces that flow files are made of, and some that are not.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "steps",
        "click",
        "type",
        "verify",
        "text",
        "role",
        "button",
        "name",
        "tree",
        "wait",
        "count",
        "is",
        "screenshot",
        "mask",
        "within",
        "nth",
        "<<",
        "true",
        "null",
        "0.5",
        "10s",
        ": ",
        ":\n",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "\"",
        "'",
        "|\n",
        ">",
        "&a ",
        "*a",
        "!t ",
        "# c\n",
        "---\n",
        "\t",
        "\\0",
        "\u{1b}",
        "ä",
        "\u{202e}",
        "%",
        "? ",
    ];
    prop_oneof![
        4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|c| c.to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        // What fails is added to the samples, and not left in a file of its own.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_text_of_pieces_panics(pieces in prop::collection::vec(piece(), 0..40)) {
        holds(&pieces.concat());
        holds(&format!("steps:\n  - {}", pieces.concat()));
    }

    #[test]
    fn no_sample_with_a_part_taken_out_or_put_in_panics(
        which in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        length in 0usize..20,
        put in piece(),
    ) {
        let texts = texts();
        let mut chars: Vec<char> = which.get(&texts).chars().collect();
        let from = from.index(chars.len() + 1);
        let to = (from + length).min(chars.len());
        chars.splice(from..to, put.chars());
        holds(&chars.into_iter().collect::<String>());
    }
}

#[test]
fn the_largest_files_are_read_at_once() {
    let fill = |line: &str| line.repeat(MAX_FLOW_BYTES / line.len());
    for line in [
        "[",
        "{a: ",
        "- ",
        "a: &a\n",
        "- *a\n",
        "x: y\n",
        "- - - -\n",
        "#\n",
        "? ",
        "\"\\u0041",
    ] {
        holds(&fill(line));
        holds(&format!("steps:\n{}", fill(line)));
    }
    let keys: String = (0..9000).map(|n| format!("key{n}: x\n")).collect();
    holds(&keys);
}
