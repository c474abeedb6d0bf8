//! Cuts a text down to its beginning, at a line where it can, and says that it did. Its end is cut by
//! `verify`.

/// The beginning of `text`, at most `max_bytes` of it.
pub(crate) fn head_within(text: &str, max_bytes: usize) -> String {
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
