//! Reads lines into events, also lines that other events were printed into.
//!
//! Writers that share a pipe can interleave: an event stands whole in the middle of another
//! one, with a newline behind it or without. Both are read. Out of a torn line only events of the run's
//! own session are taken, and of what can't be put together nothing is guessed.

use std::{borrow::Cow, ops::Range};

use memchr::memmem;
use serde::de::IgnoredAny;

use crate::agent::{fields, json::Json};

/// A part of a line.
pub(super) enum LinePart<'a> {
    Event(Json<'a>),
    /// It says that the run has ended, and not readably how.
    BrokenResult,
    Broken,
}

/// A reader of lines, with the beginning of one whose rest has not come.
#[derive(Default)]
pub(super) struct InterleavedLines {
    head: Vec<u8>,
    /// The number of lines that can still be its rest.
    tries: u32,
}

/// Keys under which nothing is ever read: pieces of what comes again as a whole, and copies.
const SKIPPED: [&str; 3] = ["tool_use_result", "delta", "content_block"];
const START: &[u8] = br#"{"type":"#;
const RESULT: &[u8] = br#"{"type":"result""#;
/// A longer beginning is not kept, and a longer line not put together.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Lines that are looked at for the rest of a torn one.
const TRIES: u32 = 8;
/// Events in the middle of one line.
const MAX_INNER: usize = 8;

impl InterleavedLines {
    /// The events of a line; none for one that is not an event of any kind.
    pub(super) fn read<'a>(&mut self, line: &'a [u8], session: Option<&str>) -> Vec<LinePart<'a>> {
        let line = line.trim_ascii_end();
        let mut text = line.trim_ascii_start();
        if text.starts_with(b"{")
            && let Some(event) = parse(text)
        {
            return vec![LinePart::Event(event)];
        }
        if let Some(pieces) = self.join(line, session) {
            return pieces;
        }
        // Something that is no event, and has none: a flood of it must be cheap.
        if !text.starts_with(b"{") {
            match memmem::find(text, START) {
                Some(at) if mentions(text, session) => text = &text[at..],
                _ => return Vec::new(),
            }
            if let Some(event) = parse_own(text, session) {
                return vec![LinePart::Event(event)];
            }
        }
        self.split(Cow::Borrowed(text), session)
    }

    /// Tells whether no beginning waits for its rest.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Takes the line as the rest of the torn one, if it is that.
    fn join(&mut self, rest: &[u8], session: Option<&str>) -> Option<Vec<LinePart<'static>>> {
        if self.head.is_empty() || self.head.len() + rest.len() > MAX_BYTES {
            return None;
        }
        let whole = [&self.head[..], rest].concat();
        if let Some(event) = parse_own(&whole, session) {
            self.head.clear();
            return Some(vec![LinePart::Event(event.into_owned())]);
        }
        if find_inner(&whole, session, EndedInside::No).is_some() {
            // The rest was torn too.
            self.head.clear();
            return Some(self.split(Cow::Owned(whole), session));
        }
        self.tries = self.tries.saturating_sub(1);
        if self.tries == 0 {
            self.head.clear();
        }
        is_result(&whole, session).then(|| vec![LinePart::BrokenResult])
    }

    /// Takes the events out of the middle of a line, and reads what they were printed into.
    fn split(&mut self, mut text: Cow<'_, [u8]>, session: Option<&str>) -> Vec<LinePart<'static>> {
        let mut inner = Vec::new();
        let mut ends = EndedInside::No;
        while inner.len() < MAX_INNER
            && let Some(found) = find_inner(&text, session, ends)
        {
            let Range { start, end } = found.at;
            let event = LinePart::Event(found.event);
            if text[end..].trim_ascii().is_empty() {
                ends = EndedInside::Yes;
                inner.insert(0, event);
                text = Cow::Owned(text[..start].to_vec());
            } else {
                inner.push(event);
                text = Cow::Owned([&text[..start], &text[end..]].concat());
            }
            if let Some(outer) = parse_own(&text, session) {
                // It was begun before what was printed into it.
                inner.insert(0, LinePart::Event(outer.into_owned()));
                return inner;
            }
        }
        match ends {
            EndedInside::Yes => self.hold(&text),
            EndedInside::No if is_result(&text, session) => inner.push(LinePart::BrokenResult),
            EndedInside::No if inner.is_empty() => inner.push(LinePart::Broken),
            EndedInside::No => {}
        }
        inner
    }

    fn hold(&mut self, head: &[u8]) {
        let head = head.trim_ascii_start();
        self.head.clear();
        if head.starts_with(b"{") && head.len() <= MAX_BYTES {
            self.head.extend_from_slice(head);
            self.tries = TRIES;
        }
    }
}

/// Tells whether a line was ended by an event in its middle, so that its rest is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndedInside {
    Yes,
    No,
}

struct InnerEvent {
    at: Range<usize>,
    event: Json<'static>,
}

/// The event that was printed into a line: where the line stops to be readable. An object that belongs
/// to the line can look like an event too, but does not break it.
fn find_inner(text: &[u8], session: Option<&str>, ends: EndedInside) -> Option<InnerEvent> {
    if !mentions(text, session) {
        return None;
    }
    let error = serde_json::from_slice::<IgnoredAny>(text).err()?;
    if !error.is_eof() {
        let reached = (error.column() + START.len()).min(text.len());
        let starts = memmem::rfind_iter(&text[..reached], START);
        let mut found = starts.filter_map(|start| own_at(text, start, session));
        let broken_by = |inner: &InnerEvent| inner.at.end + 2 >= error.column();
        if let Some(inner) = found.find(broken_by) {
            return Some(inner);
        }
    }
    // Where a value can stand, it breaks nothing.
    let mut found = memmem::rfind_iter(text, START).filter_map(|at| own_at(text, at, session));
    let is_last = |inner: &InnerEvent| text[inner.at.end..].trim_ascii().is_empty();
    match ends {
        EndedInside::No => found.find(is_last),
        EndedInside::Yes => None,
    }
}

/// The whole event that begins there, if one of the run's own does.
fn own_at(text: &[u8], start: usize, session: Option<&str>) -> Option<InnerEvent> {
    let mut values = serde_json::Deserializer::from_slice(&text[start..]).into_iter::<Json<'_>>();
    let event = values.next()?.ok()?;
    let at = start..start + values.byte_offset();
    is_own(&event, session).then(|| InnerEvent {
        at,
        event: event.into_owned(),
    })
}

fn parse(text: &[u8]) -> Option<Json<'_>> {
    fields::parse(text, &SKIPPED).filter(Json::is_object)
}

fn parse_own<'a>(text: &'a [u8], session: Option<&str>) -> Option<Json<'a>> {
    parse(text).filter(|event| is_own(event, session))
}

fn is_own(event: &Json<'_>, session: Option<&str>) -> bool {
    match (event["session_id"].as_str(), session) {
        (Some(said), Some(own)) => said == own,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// Tells whether an event of the run's own can be in a text at all.
fn mentions(text: &[u8], session: Option<&str>) -> bool {
    session.is_none_or(|own| memmem::find(text, own.as_bytes()).is_some())
}

/// Tells whether a line that can't be read is a result of the run's own.
fn is_result(text: &[u8], session: Option<&str>) -> bool {
    let own = session.map(|own| format!(r#""session_id":"{own}""#));
    text.starts_with(RESULT) && own.is_some_and(|own| memmem::find(text, own.as_bytes()).is_some())
}
