//! Hides what a message quotes: fenced code, code spans, block quotes, quotations.
//!
//! Hidden text becomes spaces, so that lines and offsets stay what they were.

/// `text` with everything quoted in it blanked out.
pub(super) fn hide_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let body = line.trim_start();
        let mark = body.chars().next().unwrap_or(' ');
        let run = body.chars().take_while(|c| *c == mark).count();
        let is_fence = matches!(mark, '`' | '~') && run >= 3;
        match fence {
            Some((open, length)) => {
                if is_fence
                    && mark == open
                    && run >= length
                    && body.trim_end().chars().all(|c| c == mark)
                {
                    fence = None;
                }
                blank(line, &mut out);
            }
            None if is_fence => {
                fence = Some((mark, run));
                blank(line, &mut out);
            }
            None if mark == '>' => blank(line, &mut out),
            None => hide_spans(line, &mut out),
        }
    }
    out
}

/// Blanks `code spans` and "quotations" within one line. An opening mark without a closing one is
/// only a mark.
fn hide_spans(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let closing = match c {
            '`' => {
                let ticks = rest.chars().take_while(|c| *c == '`').count();
                let open = &rest[..ticks];
                rest[ticks..].find(open).map(|i| ticks + i + ticks)
            }
            '"' => rest[1..].find('"').map(|i| i + 2),
            '“' => rest[c.len_utf8()..]
                .find('”')
                .map(|i| c.len_utf8() + i + '”'.len_utf8()),
            '«' => rest[c.len_utf8()..]
                .find('»')
                .map(|i| c.len_utf8() + i + '»'.len_utf8()),
            _ => None,
        };
        if let Some(end) = closing {
            if is_name(&rest[..end]) {
                out.push_str(&rest[..end]);
            } else {
                blank(&rest[..end], out);
            }
            rest = &rest[end..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
}

/// A quoted word is how people write a name ("Task `US-001` complete"): it says nothing by itself,
/// and hiding it would turn a claim for one task into a claim for any.
fn is_name(quoted: &str) -> bool {
    !quoted.contains(|c: char| c.is_whitespace() || c == '<' || c == '>')
}

fn blank(text: &str, out: &mut String) {
    out.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}
