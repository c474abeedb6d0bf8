//! Flow files with mistakes: `bad.txt` has each with all that is said of it.

use std::path::Path;

use ralph_qa::flow::{MAX_FLOW_BYTES, read_flow, read_step, read_target};

/// A flow file that is wrong.
pub(crate) struct BadFlow {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) says: &'static str,
}

/// The samples of `bad.txt`.
pub(crate) fn samples() -> Vec<BadFlow> {
    let sample = |sample: &'static str| {
        let (name, rest) = sample.split_once('\n').unwrap();
        let (text, says) = rest.split_once("--- says\n").unwrap();
        BadFlow { name, text, says }
    };
    include_str!("bad.txt")
        .split("=== ")
        .skip(1)
        .map(sample)
        .collect()
}

/// The mistakes of a text, as they are shown.
fn said(text: &str) -> String {
    match read_flow(text, Path::new("greet.yaml")) {
        Ok(flow) => panic!("{flow:?}"),
        Err(mistakes) => mistakes.to_string(),
    }
}

#[test]
fn every_mistake_of_a_file_is_said_with_its_line() {
    let samples = samples();
    assert!(samples.len() >= 60, "{}", samples.len());
    for sample in samples {
        assert_eq!(
            format!("{}\n", said(sample.text)),
            sample.says,
            "{}",
            sample.name
        );
    }
}

#[test]
fn what_is_no_text_or_too_much_is_refused() {
    assert_eq!(
        said("steps:\n  - click: a\0b\n"),
        "greet.yaml:2: expected text, found a NUL byte"
    );
    let large = format!(
        "# {}\nsteps:\n  - navigate: /\n",
        "x".repeat(MAX_FLOW_BYTES)
    );
    assert_eq!(
        said(&large),
        "greet.yaml:1: expected a flow of at most 256 KiB, found 257; make several flows of it"
    );
    let long = format!("steps:\n{}", "  - navigate: /\n".repeat(501));
    assert_eq!(
        said(&long),
        "greet.yaml:2: `steps`: expected at most 500 steps, found 501; make several flows of it"
    );
    let many = format!("steps: [{}]\n", "x, ".repeat(20_000));
    assert_eq!(
        said(&many),
        "greet.yaml:1: expected at most 20000 values and 1024 KiB of text in a flow, aliases followed, found more"
    );
    // A text that is used again and again: few values, and much to hold.
    let texts = format!(
        "a: &a {}\nsteps: [{}]\n",
        "x".repeat(200_000),
        "*a, ".repeat(9)
    );
    assert!(said(&texts).contains("1024 KiB of text"));
    // Each list holds the one above it: few values, and deep.
    let mut chain = "a0: &a0 [[[[[[[[[[x]]]]]]]]]]\n".to_owned();
    for level in 1..100 {
        chain += &format!("a{level}: &a{level} [[[[[[[[[[*a{}]]]]]]]]]]\n", level - 1);
    }
    assert!(said(&chain).contains("greet.yaml:4: expected lists and maps nested at most 32 deep"));
}

#[test]
fn of_very_many_mistakes_the_rest_is_counted() {
    let text: String = (0..80).map(|n| format!("  - do{n}x: y\n")).collect();
    let said = said(&format!("steps:\n{text}"));
    assert_eq!(said.lines().count(), 51);
    assert_eq!(
        said.lines().last(),
        Some("greet.yaml: and 30 more mistakes")
    );
}

#[test]
fn a_file_whose_name_can_t_be_that_of_a_flow_needs_a_name_of_its_own() {
    let text = "steps: [{navigate: /}]\n";
    let read = read_flow(text, Path::new("flows/-x-.yaml"));
    assert_eq!(
        read.unwrap_err().to_string(),
        "flows/-x-.yaml:1: expected a flow with a name; that of its file, `-x-`, does not begin with a letter or a digit; add `name:` with letters, digits, `-` and `_`"
    );
    let named = format!("name: greet\n{text}");
    let flow = read_flow(&named, Path::new("flows/-x-.yaml")).unwrap();
    assert_eq!(flow.name, "greet");
}

#[test]
fn a_secret_in_the_place_of_a_variable_is_not_repeated() {
    let text = "steps:\n  - type: {label: Password, secret: \"hunter2 forever\"}\n";
    assert!(!said(text).contains("hunter2"), "{}", said(text));
}

#[test]
fn steps_and_targets_are_read_by_themselves() {
    let step = read_step("click: {role: button, name: Save}").unwrap();
    assert_eq!(step.shown, "click button \"Save\"");
    let mistakes = read_step("clik: Save").unwrap_err();
    assert_eq!(
        mistakes[0].to_string(),
        "unknown action `clik`; did you mean `click`?"
    );
    assert_eq!(read_target("Save").unwrap().to_string(), "\"Save\"");
    assert_eq!(
        read_target("{css: a, label: b}").unwrap_err()[0].to_string(),
        "`target`: expected one of `role`, `text`, `label`, `placeholder`, `testid`, `css` or `any`, found `label` and `css`; `within` names an element around the one that is meant"
    );
}
