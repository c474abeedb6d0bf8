//! A line of the stream, also one that another event was printed into.

use super::super::wire::Line;

/// The events of one line. Another event can be injected in the middle of a line: what is whole
/// in it is still read.
pub(super) fn parse(line: &[u8]) -> Vec<Result<Line, String>> {
    let text = line.trim_ascii();
    if let Ok(line) = serde_json::from_slice::<Line>(text) {
        return vec![Ok(line)];
    }
    const START: &[u8] = br#"{"type":"#;
    let whole: Vec<_> = memchr::memmem::find_iter(text, START)
        .filter_map(|at| {
            let mut values = serde_json::Deserializer::from_slice(&text[at..]).into_iter::<Line>();
            let line = values.next()?.ok()?;
            // Without its rest, only an event that stood alone is trusted; a nested object is not.
            (line.session_id.is_some() && (at > 0 || values.byte_offset() == text.len()))
                .then_some(Ok(line))
        })
        .take(4)
        .collect();
    if whole.is_empty() {
        vec![Err("broken line".into())]
    } else {
        whole
    }
}

/// The one thing a tool works on, for a person who watches.
pub(super) fn target(input: &serde_json::Map<String, serde_json::Value>) -> String {
    [
        "file_path",
        "command",
        "path",
        "pattern",
        "url",
        "query",
        "description",
        "prompt",
    ]
    .iter()
    .find_map(|key| input.get(*key)?.as_str())
    .map(|text| {
        text.lines()
            .next()
            .unwrap_or("")
            .chars()
            .take(200)
            .collect()
    })
    .unwrap_or_default()
}

/// An error's code, where it is a word.
pub(super) fn code(error: Option<&serde_json::Value>) -> Option<String> {
    error?.as_str().map(str::to_owned)
}
