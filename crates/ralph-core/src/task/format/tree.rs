//! A file's text as a flat tree of spans: what is where, in JSON and YAML alike.
//!
//! Both the reading of tasks and the surgical writing stand on it. Holds no copies of the text
//! where a slice of it will do, and knows nothing of tasks.

use std::borrow::Cow;

use super::Syntax;

/// Index of a node.
pub(super) type At = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Number,
    Text,
    List,
    Map,
}

/// The way a node is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    /// A `|` or `>` scalar, or a collection by indentation.
    Block,
    /// A collection in brackets; all of JSON's are.
    Flow,
    /// `*name`, and everything that it stands for.
    Alias,
}

/// One value or key. Its children follow it; `next` is the first node that is no longer inside.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeNode {
    pub(super) kind: Kind,
    pub(super) style: Style,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) next: u32,
    content: Content,
}

/// Where the text of a scalar is to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// In the source as it stands, quotes aside.
    Source,
    /// In the source, with JSON escapes.
    Escaped,
    /// Decoded by the YAML parser.
    Decoded(u32),
}

#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) syntax: Syntax,
    pub(super) source: &'a str,
    nodes: Vec<TreeNode>,
    decoded: Vec<Cow<'a, str>>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(syntax: Syntax, source: &'a str) -> Self {
        Self {
            syntax,
            source,
            nodes: Vec::with_capacity(source.len() / 16),
            decoded: Vec::new(),
        }
    }

    /// For a tree that holds little of its source.
    pub(super) fn of_part(syntax: Syntax, source: &'a str) -> Self {
        Self {
            syntax,
            source,
            nodes: Vec::new(),
            decoded: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, at: At) -> &TreeNode {
        &self.nodes[at]
    }

    pub(super) fn kind(&self, at: At) -> Kind {
        self.nodes[at].kind
    }

    pub(super) fn start(&self, at: At) -> usize {
        self.nodes[at].start as usize
    }

    pub(super) fn end(&self, at: At) -> usize {
        self.nodes[at].end as usize
    }

    /// Adds a node that has no children yet.
    pub(super) fn push(
        &mut self,
        kind: Kind,
        style: Style,
        span: (usize, usize),
        content: Content,
    ) -> At {
        let at = self.nodes.len();
        self.nodes.push(TreeNode {
            kind,
            style,
            // The size of the source was checked against u32 before.
            start: span.0 as u32,
            end: span.1 as u32,
            next: at as u32 + 1,
            content,
        });
        at
    }

    /// Ends a collection: what was pushed since is its content.
    pub(super) fn close(&mut self, at: At, end: usize) {
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[at];
        node.end = end as u32;
        node.next = next;
    }

    pub(super) fn decode(&mut self, text: Cow<'a, str>) -> Content {
        self.decoded.push(text);
        Content::Decoded(self.decoded.len() as u32 - 1)
    }

    /// Repeats a finished subtree where an alias to it stands.
    pub(super) fn repeat(&mut self, of: At, span: (usize, usize)) -> At {
        let at = self.nodes.len();
        for from in of..self.nodes[of].next as usize {
            let mut node = self.nodes[from];
            node.next = (node.next as usize - of + at) as u32;
            node.style = Style::Alias;
            (node.start, node.end) = (span.0 as u32, span.1 as u32);
            // The text can't be taken from the span any more.
            if matches!(
                node.kind,
                Kind::Text | Kind::Number | Kind::True | Kind::False
            ) {
                let text = self.text(from).into_owned();
                node.content = self.decode(Cow::Owned(text));
            }
            self.nodes.push(node);
        }
        at
    }

    /// The text of a scalar, as its reader sees it; empty for collections.
    pub(super) fn text(&self, at: At) -> Cow<'a, str> {
        let node = &self.nodes[at];
        let (start, end) = (node.start as usize, node.end as usize);
        match (node.content, node.style) {
            (Content::Decoded(index), _) => self.decoded[index as usize].clone(),
            (Content::Escaped, _) => serde_json::from_str::<String>(&self.source[start..end])
                .map_or(Cow::Borrowed(""), Cow::Owned),
            (Content::Source, Style::Double | Style::Single) => {
                Cow::Borrowed(&self.source[start + 1..end - 1])
            }
            (Content::Source, Style::Plain | Style::Alias | Style::Block) => {
                Cow::Borrowed(&self.source[start..end])
            }
            (Content::Source, Style::Flow) => Cow::Borrowed(""),
        }
    }

    /// True if a scalar's text is this one.
    pub(super) fn is_text(&self, at: At, text: &str) -> bool {
        self.text(at) == text
    }

    pub(super) fn children(&self, at: At) -> impl Iterator<Item = At> + use<'_, 'a> {
        let end = self.nodes[at].next as usize;
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let here = next;
            (here < end).then(|| {
                next = self.nodes[here].next as usize;
                here
            })
        })
    }

    /// The elements of a list; of a map its values.
    pub(super) fn items(&self, at: At) -> impl Iterator<Item = At> + use<'_, 'a> {
        let is_map = self.kind(at) == Kind::Map;
        let children = self.children(at).enumerate();
        children.filter_map(move |(n, child)| (!is_map || n % 2 == 1).then_some(child))
    }

    /// Key and value of every member of a map. A key that is itself a collection is passed over.
    pub(super) fn members(&self, at: At) -> impl Iterator<Item = (At, At)> + use<'_, 'a> {
        let mut children = self.children(at);
        std::iter::from_fn(move || {
            loop {
                let (key, value) = (children.next()?, children.next()?);
                if !matches!(self.kind(key), Kind::List | Kind::Map) {
                    return Some((key, value));
                }
            }
        })
    }

    /// The value of the last member with this key.
    pub(super) fn member(&self, at: At, key: &str) -> Option<At> {
        if self.kind(at) != Kind::Map {
            return None;
        }
        self.members(at)
            .filter(|(name, _)| self.is_text(*name, key))
            .map(|(_, value)| value)
            .last()
    }

    /// Returns true if two subtrees say the same, however they are written.
    pub(super) fn says_the_same(&self, at: At, other: &Tree<'_>, there: At) -> bool {
        let size = self.nodes[at].next as usize - at;
        // Nodes stand in reading order, so equal shapes are equal runs of nodes.
        size == other.nodes[there].next as usize - there
            && (0..size).all(|i| {
                let (a, b) = (&self.nodes[at + i], &other.nodes[there + i]);
                a.kind == b.kind
                    && a.next as usize - at == b.next as usize - there
                    && (matches!(a.kind, Kind::List | Kind::Map)
                        || self.text(at + i) == other.text(there + i))
            })
    }
}
