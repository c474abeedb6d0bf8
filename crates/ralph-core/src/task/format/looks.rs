//! Tells from the members of an object whether it looks like work: a text that could be its title, and
//! something that says how it stands or how one can tell that it is done.

use super::fields::{Field, Fields};
use super::layout::inner_looks;
use super::read;
use super::tree::{At, Kind, Tree};

/// Names of texts that can stand for a title where there is none.
pub(super) const HEADLINES: &[&str] = &[
    "task",
    "summary",
    "feature",
    "story",
    "userStory",
    "user_story",
    "goal",
    "desc",
    "requirement",
    "objective",
    "subject",
    "text",
    "content",
    "issue",
    "what",
    "epic",
    "phase",
    "milestone",
    "section",
    "module",
    "iWant",
    "i_want",
    "want",
    "action",
    "item",
    "todo",
    "heading",
    "headline",
    "label",
    "step",
    "deliverable",
    "behavior",
    "behaviour",
    "user_visible_behavior",
    "bug",
    "problem",
    "request",
    "scenario",
    "check",
    "criterion",
    "group",
    "category",
];

/// Describes what the items of a list look like.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Looks {
    /// It has items.
    pub(super) any: bool,
    pub(super) objects: bool,
    /// Some item has a text like a title.
    pub(super) titled: bool,
    /// Some item says whether it is done.
    pub(super) marked: bool,
    /// Some item has a text like a title and more that belongs to work.
    pub(super) work: bool,
}

impl Looks {
    pub(super) fn of_list(tree: &Tree<'_>, list: At) -> Self {
        let mut looks = Self {
            any: tree.items(list).next().is_some(),
            ..Self::default()
        };
        for item in tree.items(list).filter(|at| tree.kind(*at) == Kind::Map) {
            looks.objects = true;
            looks.join(Self::of_item(tree, item));
            if looks.work && looks.marked {
                break;
            }
        }
        if looks.objects && !(looks.work && looks.marked) {
            let inner = inner_looks(tree, list);
            looks.marked |= inner.marked;
            looks.work |=
                (looks.titled && (looks.marked || inner.any)) || inner.work && inner.marked;
        }
        looks
    }

    pub(super) fn of_item(tree: &Tree<'_>, item: At) -> Self {
        let fields = Fields::of(tree, item);
        let has = |field: Field| fields.get(tree, field);
        let is_text = |at: At| tree.kind(at) == Kind::Text;
        let marked = [Field::Passes, Field::Done]
            .into_iter()
            .any(|f| has(f).is_some())
            || [Field::Status, Field::State]
                .into_iter()
                .any(|f| has(f).is_some_and(is_text));
        let signs = [
            Field::Steps,
            Field::Acceptance,
            Field::Criteria,
            Field::ExitCriteria,
            Field::Priority,
            Field::DependsOn,
            Field::After,
            Field::Skipped,
            Field::CompletedAt,
            Field::Progress,
        ];
        let titled = headline(tree, &fields, item).is_some();
        let sign = marked || signs.into_iter().any(|field| has(field).is_some());
        Self {
            any: true,
            objects: true,
            titled,
            marked,
            work: titled && sign,
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.any |= other.any;
        self.objects |= other.objects;
        self.titled |= other.titled;
        self.marked |= other.marked;
        self.work |= other.work;
    }
}

/// The text that says in short what an item is about: its title, else its description, else a text under
/// another name.
pub(super) fn headline(tree: &Tree<'_>, fields: &Fields, item: At) -> Option<At> {
    let says = |at: &At| tree.kind(*at) == Kind::Text && !tree.text(*at).trim().is_empty();
    let known = [Field::Title, Field::Description].into_iter();
    let mut known = known.filter_map(|field| fields.get(tree, field));
    known.find(says).or_else(|| {
        let named = |name: &&str| {
            let mut members = tree.members(item);
            let found = members.find(|(key, _)| tree.text(*key).eq_ignore_ascii_case(name));
            found.map(|(_, value)| value)
        };
        let mut others = HEADLINES.iter().filter_map(named);
        others.find(says)
    })
}

/// Returns true for an item without an id, or with an empty one.
pub(super) fn has_no_id(tree: &Tree<'_>, item: At) -> bool {
    let blank = |at: At| match tree.kind(at) {
        Kind::Null => true,
        Kind::Text => tree.text(at).trim().is_empty(),
        _ => false,
    };
    tree.kind(item) == Kind::Map && Fields::of(tree, item).own(Field::Id).is_none_or(blank)
}

/// Returns true for an item that has no id and looks like work.
pub(super) fn is_work_without_id(tree: &Tree<'_>, item: At) -> bool {
    has_no_id(tree, item) && Looks::of_item(tree, item).work
}

/// Returns true for a task with values that only other tools write: a flag for done, a date of completion or
/// a share of progress without a status, criteria as objects, or a priority that is neither an integer nor one
/// of the usual words.
pub(super) fn has_odd_values(tree: &Tree<'_>, item: At) -> bool {
    if tree.kind(item) != Kind::Map {
        return false;
    }
    let fields = Fields::of(tree, item);
    let criteria = [Field::Acceptance, Field::Criteria].into_iter();
    let mut criteria = criteria.filter_map(|field| fields.get(tree, field));
    let is_odd = |at: At| tree.children(at).any(|item| tree.kind(item) == Kind::Map);
    let has = |field: Field| fields.get(tree, field).is_some();
    let measured = (has(Field::CompletedAt) || has(Field::Progress)) && !has(Field::Status);
    measured
        || has(Field::Done)
        || criteria.any(|at| tree.kind(at) == Kind::List && is_odd(at))
        || fields.get(tree, Field::Priority).is_some_and(|at| {
            matches!(tree.kind(at), Kind::Number | Kind::Text) && read::priority(tree, at).is_err()
        })
}
