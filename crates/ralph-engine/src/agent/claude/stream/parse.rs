//! Single fields of events, in words.

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
