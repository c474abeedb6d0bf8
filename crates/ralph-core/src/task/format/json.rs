//! Reads JSON into a tree of spans, and checks it on the way: all of it, unknown fields too.
//!
//! Takes exactly what `serde_json` takes (a test holds the two together), but says where, in which
//! task, and what was expected. Nesting is limited, so that no file can exhaust the stack.

use super::Syntax;
use super::error::{Fault, FormatResult};
use super::tree::{At, Content, Kind, Style, Tree};

/// Deepest nesting that is read; `serde_json` stops at the same depth.
const MAX_DEPTH: usize = 127;

/// Reads the whole of `source` from `from` on.
pub(super) fn scan(source: &str, from: usize) -> FormatResult<Tree<'_>> {
    let tree = Tree::new(Syntax::Json, source);
    let mut scanner = Scanner::new(tree, from);
    scanner.value(0)?;
    scanner.end()?;
    Ok(scanner.tree)
}

/// Reads the one value of `source` that begins at `from`.
pub(super) fn scan_value(source: &str, from: usize) -> FormatResult<Tree<'_>> {
    let mut scanner = Scanner::new(Tree::of_part(Syntax::Json, source), from);
    scanner.value(0)?;
    Ok(scanner.tree)
}

/// Goes through a text from one place on, and adds what it finds to a tree.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    tree: Tree<'a>,
}

impl<'a> Scanner<'a> {
    fn new(tree: Tree<'a>, at: usize) -> Self {
        Self {
            bytes: tree.source.as_bytes(),
            at,
            tree,
        }
    }

    /// Checks that nothing but space is left.
    fn end(&mut self) -> FormatResult<()> {
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.expected("the end of the file"));
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn expected(&self, what: &str) -> Box<Fault> {
        Fault::at(
            self.at,
            format!("expected {what}, found {}", self.found_here()),
        )
    }

    fn found_here(&self) -> String {
        let rest = &self.tree.source[self.at..];
        match rest.chars().next() {
            None => "the end of the file".to_owned(),
            Some('"') => "a text".to_owned(),
            Some(c) if c.is_alphanumeric() => {
                let word: String = rest
                    .chars()
                    .take_while(|c| c.is_alphanumeric())
                    .take(20)
                    .collect();
                format!("`{word}`")
            }
            Some(c) => format!("`{}`", c.escape_debug()),
        }
    }

    fn value(&mut self, depth: usize) -> FormatResult<At> {
        self.space();
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Kind::True),
            Some(b'f') => self.word("false", Kind::False),
            Some(b'n') => self.word("null", Kind::Null),
            Some(_) | None => Err(self.expected("a value")),
        }
    }

    fn word(&mut self, word: &str, kind: Kind) -> FormatResult<At> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.expected("a value"));
        }
        let span = (self.at, self.at + word.len());
        self.at = span.1;
        Ok(self.tree.push(kind, Style::Plain, span, Content::Source))
    }

    fn open(&mut self, kind: Kind, depth: usize) -> FormatResult<At> {
        if depth >= MAX_DEPTH {
            return Err(Fault::at(
                self.at,
                format!("expected at most {MAX_DEPTH} levels of nesting, found more"),
            ));
        }
        let span = (self.at, self.at + 1);
        self.at += 1;
        Ok(self.tree.push(kind, Style::Flow, span, Content::Source))
    }

    fn list(&mut self, depth: usize) -> FormatResult<At> {
        let list = self.open(Kind::List, depth)?;
        self.space();
        if self.peek() != Some(b']') {
            loop {
                self.value(depth + 1)?;
                if !self.goes_on(b']')? {
                    break;
                }
            }
        }
        self.at += 1;
        self.tree.close(list, self.at);
        Ok(list)
    }

    fn map(&mut self, depth: usize) -> FormatResult<At> {
        let map = self.open(Kind::Map, depth)?;
        let mut id = None;
        // Most callers are a list of tasks, so an error inside is named after the nearest id.
        self.map_members(depth, &mut id).map_err(|fault| match id {
            Some(id) => fault.of_task(self.tree.text(id)),
            None => fault,
        })?;
        self.at += 1;
        self.tree.close(map, self.at);
        Ok(map)
    }

    fn map_members(&mut self, depth: usize, id: &mut Option<At>) -> FormatResult<()> {
        self.space();
        if self.peek() == Some(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            let value = self.value(depth + 1)?;
            let scalar = matches!(self.tree.kind(value), Kind::Text | Kind::Number);
            if scalar && self.tree.is_text(key, "id") {
                *id = Some(value);
            }
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    /// The name of a member, and the colon behind it.
    fn key(&mut self) -> FormatResult<At> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a name in double quotes"));
        }
        let key = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.at += 1;
        Ok(key)
    }

    /// After an element: whether another follows. Stops before the closing bracket.
    fn goes_on(&mut self, close: u8) -> FormatResult<bool> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space();
                if self.peek() == Some(close) {
                    let what = "another element after `,` (JSON allows no comma at the end)";
                    return Err(self.expected(what));
                }
                Ok(true)
            }
            Some(b) if b == close => Ok(false),
            Some(_) | None => {
                Err(self.expected(&format!("`,` or `{}` after the value", close as char)))
            }
        }
    }

    fn string(&mut self) -> FormatResult<At> {
        let start = self.at;
        let mut at = start + 1;
        let mut content = Content::Source;
        let mut hex = false;
        loop {
            at = plain_end(self.bytes, at);
            match self.bytes.get(at) {
                None => return Err(Fault::at(start, "expected a closing `\"`, found none")),
                Some(b'"') => break,
                Some(..0x20) => {
                    let message = "expected the text to end on its line (a line break within it is written \\n), found a control character";
                    return Err(Fault::at(at, message));
                }
                Some(_) => {
                    content = Content::Escaped;
                    let escape = self.bytes.get(at + 1).copied();
                    if !escape.is_some_and(|b| b"\"\\/bfnrtu".contains(&b)) {
                        return Err(Fault::at(
                            at,
                            "expected an escape that JSON knows after `\\`",
                        ));
                    }
                    hex |= escape == Some(b'u');
                    at += 2;
                }
            }
        }
        self.at = at + 1;
        let span = (start, self.at);
        if hex {
            // Hex digits and surrogate pairs are left to the library.
            let raw = &self.tree.source[span.0..span.1];
            serde_json::from_str::<String>(raw)
                .map_err(|_| Fault::at(start, "expected a text with valid \\u escapes"))?;
        }
        Ok(self.tree.push(Kind::Text, Style::Double, span, content))
    }

    fn number(&mut self) -> FormatResult<At> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(_) | None => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        if self.peek().is_some_and(|b| b.is_ascii_alphanumeric()) {
            return Err(self.expected("the number to end"));
        }
        let span = (start, self.at);
        Ok(self
            .tree
            .push(Kind::Number, Style::Plain, span, Content::Source))
    }

    fn digits(&mut self) -> FormatResult<()> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.expected("a digit"));
        }
        Ok(())
    }
}

/// The offset where a text stops being plain: at its end, an escape or a control character.
fn plain_end(bytes: &[u8], at: usize) -> usize {
    let ends = |b: &u8| matches!(*b, b'"' | b'\\' | ..0x20);
    let rest = &bytes[at..];
    at + rest.iter().position(ends).unwrap_or(rest.len())
}
