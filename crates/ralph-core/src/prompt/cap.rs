//! Cuts text to a cap, at a line where it can, and says that it did.

/// The beginning of `text`, at most `max_bytes` of it.
pub fn head_within(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').map_or(end, |i| i + 1);
    format!(
        "{}\n[… {} bytes cut]",
        text[..end].trim_end(),
        text.len() - end
    )
}

/// The end of `text`, at most `max_lines` lines and `max_bytes` bytes of it.
pub fn tail_within(text: &str, max_lines: usize, max_bytes: usize) -> String {
    let text = text.trim_end();
    let mut start = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    if start > 0 {
        start = text[start..].find('\n').map_or(start, |i| start + i + 1);
    }
    let by_lines = text
        .rmatch_indices('\n')
        .nth(max_lines.saturating_sub(1))
        .map_or(0, |(i, _)| i + 1);
    let start = start.max(by_lines);
    if start == 0 {
        return text.to_owned();
    }
    format!("[… {start} bytes cut]\n{}", &text[start..])
}
