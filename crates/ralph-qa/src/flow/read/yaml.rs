//! Reads YAML into nodes that know their lines.
//!
//! Knows nothing of flows. What a node may hold is bounded: its depth, the number of its nodes and the length of its
//! texts, aliases counted as often as they are used.

use std::{borrow::Cow, collections::HashMap};

use ralph_core::sanitize::one_line;
use serde_saphyr::granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, Tag, options,
};

use super::mistakes::MistakeList;

/// The most values of a file, aliases followed.
const MAX_NODES: usize = 20_000;
/// The most bytes of all its texts, aliases followed.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// The deepest nesting of lists and maps, aliases followed.
const MAX_DEPTH: usize = 32;

/// A value with the line that it begins on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlNode {
    pub(super) line: usize,
    pub(super) kind: YamlKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum YamlKind {
    Null,
    /// A text, a number or a truth value, as it was written.
    Scalar {
        text: String,
        form: ScalarForm,
    },
    List(Vec<YamlNode>),
    Map(Vec<YamlEntry>),
}

/// The way in which a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarForm {
    /// Without quotes: it may stand for a number or a truth value.
    Plain,
    Quoted,
    /// Lines behind `|` or `>`.
    Block,
}

/// A key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlEntry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: YamlNode,
}

impl YamlNode {
    /// Returns what this is, in words.
    pub(super) fn describe(&self) -> String {
        match &self.kind {
            YamlKind::Null => "nothing".to_owned(),
            YamlKind::Scalar { text, .. } if text.is_empty() => "an empty text".to_owned(),
            // Spaces at an end can't be seen without quotes.
            YamlKind::Scalar { text, .. } if text.trim() != text && text.len() < 60 => {
                format!("`\"{}\"`", text.escape_debug())
            }
            YamlKind::Scalar { text, .. } => format!("`{}`", one_line(text, 60)),
            YamlKind::List(items) if items.is_empty() => "an empty list".to_owned(),
            YamlKind::List(_) => "a list".to_owned(),
            YamlKind::Map(entries) if entries.is_empty() => "an empty map".to_owned(),
            YamlKind::Map(_) => "a map".to_owned(),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        self.kind == YamlKind::Null
    }

    fn depth(&self) -> usize {
        match &self.kind {
            YamlKind::Null | YamlKind::Scalar { .. } => 0,
            YamlKind::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            YamlKind::Map(entries) => {
                1 + entries
                    .iter()
                    .map(|entry| entry.value.depth())
                    .max()
                    .unwrap_or(0)
            }
        }
    }

    fn weight(&self) -> Weight {
        let mut weight = Weight { nodes: 1, bytes: 0 };
        match &self.kind {
            YamlKind::Null => {}
            YamlKind::Scalar { text, .. } => weight.bytes += text.len(),
            YamlKind::List(items) => {
                for item in items {
                    weight.add(item.weight());
                }
            }
            YamlKind::Map(entries) => {
                for entry in entries {
                    weight.bytes += entry.key.len();
                    weight.add(entry.value.weight());
                }
            }
        }
        weight
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.nodes += other.nodes;
        self.bytes += other.bytes;
    }
}

/// Reads one document. `None` where it holds nothing, or where it can't be read: then there is a mistake.
pub(super) fn read_yaml(source: &str, mistakes: &mut MistakeList) -> Option<YamlNode> {
    let mut builder = TreeBuilder {
        mistakes,
        open: Vec::new(),
        anchors: HashMap::new(),
        weight: Weight::default(),
        documents: 0,
        root: None,
        is_broken: false,
    };
    let settings = options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    for event in Parser::new_from_str_with_options(source, settings) {
        match event {
            Ok((event, span)) => builder.take(event, &span)?,
            Err(error) => {
                let line = error.marker().line();
                let (message, hint) = in_words(&error);
                match hint {
                    Some(hint) => builder.mistakes.hinted(line, message, hint),
                    None => builder.mistakes.add(line, message),
                }
                return None;
            }
        }
    }
    if builder.is_broken {
        None
    } else {
        builder.root
    }
}

/// A list or a map whose end is not reached yet.
struct OpenNode {
    line: usize,
    anchor: usize,
    is_map: bool,
    /// Of a map: a key and its value in turn.
    children: Vec<YamlNode>,
}

struct TreeBuilder<'m> {
    mistakes: &'m mut MistakeList,
    open: Vec<OpenNode>,
    anchors: HashMap<usize, YamlNode>,
    weight: Weight,
    documents: usize,
    root: Option<YamlNode>,
    /// True if a part of the tree is lost: what is missing would be a mistake that is none.
    is_broken: bool,
}

impl TreeBuilder<'_> {
    /// `None` ends the reading: there is a mistake behind which nothing can be read.
    fn take(&mut self, event: Event<'_>, span: &Span) -> Option<()> {
        let line = span.start.line();
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "expected one flow in a file, found a second document (`---`)";
                    self.mistakes
                        .hinted(line, message, "give each flow a file of its own");
                    return None;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tagged = self.is_text_by_tag(tag.as_deref(), line);
                let node = scalar(text, style, tagged, line);
                self.charge(node.weight(), line)?;
                self.place(node, anchor);
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.is_text_by_tag(tag.as_deref(), line);
                self.start(line, anchor, false)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.is_text_by_tag(tag.as_deref(), line);
                self.start(line, anchor, true)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(id) => self.alias(id, line)?,
            _ => {}
        }
        Some(())
    }

    fn start(&mut self, line: usize, anchor: usize, is_map: bool) -> Option<()> {
        self.charge(Weight { nodes: 1, bytes: 0 }, line)?;
        if self.open.len() >= MAX_DEPTH {
            self.too_deep(line);
            return None;
        }
        self.open.push(OpenNode {
            line,
            anchor,
            is_map,
            children: Vec::new(),
        });
        Some(())
    }

    fn end(&mut self) {
        let Some(done) = self.open.pop() else { return };
        let kind = if done.is_map {
            YamlKind::Map(self.entries(done.children))
        } else {
            YamlKind::List(done.children)
        };
        let node = YamlNode {
            line: done.line,
            kind,
        };
        self.place(node, done.anchor);
    }

    fn alias(&mut self, id: usize, line: usize) -> Option<()> {
        let Some(target) = self.anchors.get(&id) else {
            let message = "expected an alias to a complete value, found one to a value around it";
            self.mistakes.add(line, message);
            return None;
        };
        // Weighed before it is copied: a few lines of aliases can stand for more than memory holds.
        let (weight, depth) = (target.weight(), target.depth());
        if self.open.len() + depth > MAX_DEPTH {
            self.too_deep(line);
            return None;
        }
        self.charge(weight, line)?;
        if let Some(mut node) = self.anchors.get(&id).cloned() {
            node.line = line;
            self.place(node, 0);
        }
        Some(())
    }

    fn charge(&mut self, weight: Weight, line: usize) -> Option<()> {
        self.weight.add(weight);
        if self.weight.nodes <= MAX_NODES && self.weight.bytes <= MAX_TEXT_BYTES {
            return Some(());
        }
        let message = format!(
            "expected at most {MAX_NODES} values and {} KiB of text in a flow, aliases followed, found more",
            MAX_TEXT_BYTES / 1024
        );
        self.mistakes.add(line, message);
        None
    }

    fn too_deep(&mut self, line: usize) {
        let message =
            format!("expected lists and maps nested at most {MAX_DEPTH} deep, found more");
        self.mistakes.add(line, message);
    }

    /// Puts a complete value into the collection around it.
    fn place(&mut self, node: YamlNode, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            Some(parent) => parent.children.push(node),
            None => self.root = Some(node),
        }
    }

    fn entries(&mut self, children: Vec<YamlNode>) -> Vec<YamlEntry> {
        let mut entries: Vec<YamlEntry> = Vec::with_capacity(children.len() / 2);
        let mut merged = Vec::new();
        let mut children = children.into_iter();
        while let (Some(key), Some(value)) = (children.next(), children.next()) {
            let line = key.line;
            match key.kind {
                YamlKind::Scalar {
                    text,
                    form: ScalarForm::Plain,
                } if text == "<<" => merged.push(value),
                YamlKind::Scalar { text: key, .. } => {
                    if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                        let (key, first) = (one_line(&key, 60), first.line);
                        let message =
                            format!("the key `{key}` is given twice, first on line {first}");
                        self.mistakes.add(line, message);
                    } else {
                        entries.push(YamlEntry { key, line, value });
                    }
                }
                YamlKind::Null => {
                    self.is_broken = true;
                    let message = "expected a key before `:`, found nothing";
                    self.mistakes.add(line, message);
                }
                YamlKind::List(_) | YamlKind::Map(_) => {
                    self.is_broken = true;
                    let message = "expected a text as a key, found a list or a map";
                    let hint = "a text that begins with `{` or `[` must be in quotes";
                    self.mistakes.hinted(line, message, hint);
                }
            }
        }
        for value in merged {
            self.merge(value, &mut entries);
        }
        entries
    }

    /// Adds the entries of a merge key (`<<`) that are not there yet.
    fn merge(&mut self, from: YamlNode, into: &mut Vec<YamlEntry>) {
        match from.kind {
            YamlKind::Map(entries) => {
                for entry in entries {
                    if !into.iter().any(|there| there.key == entry.key) {
                        into.push(entry);
                    }
                }
            }
            YamlKind::List(items) => {
                for item in items {
                    self.merge(item, into);
                }
            }
            YamlKind::Null | YamlKind::Scalar { .. } => {
                let message = format!(
                    "`<<`: expected an alias to a map, found {}",
                    from.describe()
                );
                self.mistakes.add(from.line, message);
            }
        }
    }

    /// True if a tag says that the value is a text, whatever it looks like.
    fn is_text_by_tag(&mut self, tag: Option<&Tag>, line: usize) -> bool {
        let Some(tag) = tag else { return false };
        match tag.core_suffix() {
            Some(suffix) => suffix == "str",
            None => {
                let tag = one_line(&tag.to_string(), 40);
                let message = format!("expected a plain value, found the tag `{tag}`");
                let hint = "take it out, or put a text that begins with `!` in quotes";
                self.mistakes.hinted(line, message, hint);
                false
            }
        }
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tagged: bool, line: usize) -> YamlNode {
    let form = match style {
        ScalarStyle::Plain if tagged => ScalarForm::Quoted,
        ScalarStyle::Plain => ScalarForm::Plain,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => ScalarForm::Quoted,
        ScalarStyle::Literal | ScalarStyle::Folded => ScalarForm::Block,
    };
    let is_null = matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
    let kind = if form == ScalarForm::Plain && is_null {
        YamlKind::Null
    } else {
        YamlKind::Scalar {
            text: text.into_owned(),
            form,
        }
    };
    YamlNode { line, kind }
}

/// An error of the parser in the words of a person who writes a flow, with a way out where there is a usual one.
fn in_words(error: &ScanError) -> (String, Option<&'static str>) {
    let quotes = "put a text with `:`, `#`, `,` or brackets in quotes";
    match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInPlainScalar => (
            "expected spaces, found a tab".to_owned(),
            Some("YAML is indented by spaces"),
        ),
        ErrorKind::UnknownAnchor => (
            "expected an alias (`*`) to a value that is defined above it, found none of its name"
                .to_owned(),
            Some("put a text that begins with `*` in quotes"),
        ),
        ErrorKind::UnexpectedCharacter { character } => (
            format!(
                "expected a value, found `{}`",
                one_line(&character.to_string(), 8)
            ),
            Some("put a text that begins with a sign in quotes"),
        ),
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => (
            "expected one `key: value`, found a second `:` behind it".to_owned(),
            Some("put a text with `: ` in quotes, and begin each key on a line of its own"),
        ),
        ErrorKind::UnclosedQuotedScalar => (
            "expected the end of a text in quotes, found the end of the file".to_owned(),
            Some("close the quote"),
        ),
        ErrorKind::InvalidQuotedScalarIndent => (
            "expected the end of a text in quotes, found a line that is indented less".to_owned(),
            Some("close the quote on the line on which it begins"),
        ),
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry => (
            "expected a key or `- ` as indented as those above it, found something else".to_owned(),
            Some("check the indentation of this line and the one above it"),
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => (
            "expected `:` behind a key, found none".to_owned(),
            Some("check the indentation of this line and the one above it"),
        ),
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => (
            "expected `,` or `}` in a map in braces, found something else".to_owned(),
            Some(quotes),
        ),
        ErrorKind::ExpectedFlowSequenceSeparator | ErrorKind::UnexpectedEofFlowSequence => (
            "expected `,` or `]` in a list in brackets, found something else".to_owned(),
            Some(quotes),
        ),
        ErrorKind::UnclosedFlowCollection { open } => (
            format!("expected the end of what `{open}` begins, found none"),
            Some(quotes),
        ),
        ErrorKind::MisplacedFlowCollectionEnd | ErrorKind::MismatchedFlowCollectionEnd { .. } => {
            ("found a bracket that closes none".to_owned(), Some(quotes))
        }
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidUnicodeEscape => (
            "found an unknown escape in a text in double quotes".to_owned(),
            Some("write `\\\\` for a backslash, or use single quotes"),
        ),
        ErrorKind::RecursionLimitExceeded => (
            format!("expected lists and maps nested at most {MAX_DEPTH} deep, found more"),
            None,
        ),
        _ => (
            format!("expected YAML: {}", one_line(&error.info(), 160)),
            None,
        ),
    }
}
