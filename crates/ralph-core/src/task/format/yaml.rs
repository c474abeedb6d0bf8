//! Reads YAML into a tree of spans, from the events of the parser under `serde-saphyr`.
//!
//! One document a file. Aliases are followed up to a limit, so that a small file can't become a
//! large tree. Merge keys (`<<`) are left to the reader of fields.

use std::collections::HashMap;

use serde_saphyr::granit_parser::{
    Event, Parser, ScalarStyle, ScanError, Span, StructureStyle, options,
};

use super::Syntax;
use super::error::{Fault, FormatResult};
use super::tree::{At, Content, Kind, Style, Tree};

/// The number of nodes aliases may add to a file.
const MAX_REPEATED: usize = 100_000;

/// Reads the whole of `source`. `None`: nothing but comments and space.
pub(super) fn build(source: &str) -> FormatResult<Option<Tree<'_>>> {
    let mut builder = Builder {
        tree: Tree::new(Syntax::Yaml, source),
        open: Vec::new(),
        anchors: HashMap::new(),
        repeated: 0,
        documents: 0,
    };
    let settings = options! { emit_comments: false };
    for event in Parser::new_from_str_with_options(source, settings) {
        let taken = match event {
            Ok((event, span)) => builder.take(event, &span),
            Err(error) => Err(syntax_fault(&error, source)),
        };
        taken.map_err(|fault| builder.name_task(fault))?;
    }
    Ok((builder.tree.len() > 0).then_some(builder.tree))
}

fn syntax_fault(error: &ScanError, source: &str) -> Box<Fault> {
    let offset = error.marker().byte_offset().unwrap_or(source.len());
    Fault::at(offset, format!("expected YAML: {}", error.info()))
}

/// A collection whose end is not reached yet.
struct Open {
    at: At,
    anchor: usize,
    children: usize,
    /// The value of its member `id`, to name the task in errors.
    id: Option<At>,
    last: Option<At>,
}

struct Builder<'a> {
    tree: Tree<'a>,
    open: Vec<Open>,
    anchors: HashMap<usize, At>,
    repeated: usize,
    documents: usize,
}

impl<'a> Builder<'a> {
    fn take(&mut self, event: Event<'a>, span: &Span) -> FormatResult<()> {
        let bytes = self.bytes(span);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "expected one document in the file, found a second (write the tasks as a list)";
                    return Err(Fault::at(bytes.0, message));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let at = self.scalar(text, style, tag.is_some(), bytes);
                self.place(at, anchor);
            }
            Event::SequenceStart(style, anchor, _) => self.start(Kind::List, style, anchor, bytes),
            Event::MappingStart(style, anchor, _) => self.start(Kind::Map, style, anchor, bytes),
            Event::SequenceEnd | Event::MappingEnd => self.end(bytes),
            Event::Alias(id) => {
                let target = self.anchors.get(&id).copied();
                let Some(target) = target else {
                    return Err(Fault::at(bytes.0, "expected an alias to a finished value"));
                };
                self.repeated += self.tree.node(target).next as usize - target;
                if self.repeated > MAX_REPEATED {
                    return Err(Fault::at(bytes.0, "expected fewer aliases, found too many"));
                }
                let at = self.tree.repeat(target, bytes);
                self.place(at, 0);
            }
            _ => {}
        }
        Ok(())
    }

    fn bytes(&self, span: &Span) -> (usize, usize) {
        let start = span.start.byte_offset().unwrap_or(0);
        let end = span.end.byte_offset().unwrap_or(start);
        (start, end.max(start))
    }

    fn scalar(
        &mut self,
        text: std::borrow::Cow<'a, str>,
        style: ScalarStyle,
        tagged: bool,
        span: (usize, usize),
    ) -> At {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::Single,
            ScalarStyle::DoubleQuoted => Style::Double,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        let empty = style == Style::Plain && span.0 == span.1;
        let kind = match style {
            _ if empty => Kind::Null,
            Style::Plain if !tagged => plain_kind(&text),
            _ => Kind::Text,
        };
        let source = self.tree.source;
        let quotes = usize::from(matches!(style, Style::Single | Style::Double));
        let inner = source.get(span.0 + quotes..span.1.saturating_sub(quotes));
        let content = if empty || (style != Style::Block && inner == Some(&*text)) {
            Content::Source
        } else {
            self.tree.decode(text)
        };
        self.tree.push(kind, style, span, content)
    }

    fn start(&mut self, kind: Kind, style: StructureStyle, anchor: usize, span: (usize, usize)) {
        let style = match style {
            StructureStyle::Block => Style::Block,
            StructureStyle::Flow => Style::Flow,
        };
        let at = self.tree.push(kind, style, span, Content::Source);
        self.open.push(Open {
            at,
            anchor,
            children: 0,
            id: None,
            last: None,
        });
    }

    fn end(&mut self, span: (usize, usize)) {
        let Some(done) = self.open.pop() else { return };
        // A block ends with its last value: the parser's own end lies behind comments and space.
        let end = match (self.tree.node(done.at).style, done.last) {
            (Style::Block, Some(last)) => self.tree.end(last),
            (Style::Block, None) => self.tree.start(done.at),
            (_, _) => span.1,
        };
        self.tree.close(done.at, end);
        self.place(done.at, done.anchor);
    }

    /// Tells the collection around it that a value is complete.
    fn place(&mut self, at: At, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, at);
        }
        let tree = &self.tree;
        let Some(parent) = self.open.last_mut() else {
            return;
        };
        let is_value = parent.children % 2 == 1;
        if is_value
            && tree.kind(parent.at) == Kind::Map
            && parent.last.is_some_and(|key| {
                !matches!(tree.kind(key), Kind::List | Kind::Map) && tree.text(key) == "id"
            })
        {
            parent.id = Some(at);
        }
        parent.children += 1;
        parent.last = Some(at);
    }

    fn name_task(&self, fault: Box<Fault>) -> Box<Fault> {
        match self.open.iter().rev().find_map(|open| open.id) {
            Some(id) => fault.of_task(self.tree.text(id)),
            None => fault,
        }
    }
}

/// Returns what an unquoted word is, by YAML's core schema.
pub(super) fn plain_kind(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::True,
        "false" | "False" | "FALSE" => Kind::False,
        _ if is_number(text) => Kind::Number,
        _ => Kind::Text,
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.contains(|c: char| c.is_ascii_digit())
        && text.parse::<f64>().is_ok()
}
