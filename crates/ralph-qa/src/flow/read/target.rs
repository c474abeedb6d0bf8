//! Reads how an element of a page is named.

use ralph_core::sanitize::one_line;

use super::{
    fields::{MapFields, listed, meant_by},
    mistakes::MistakeList,
    values::{UNBOUNDED, either, text, transposed, truth, whole},
    yaml::{YamlKind, YamlNode},
};
use crate::flow::{Target, TargetKind};

/// The keys that say which element is meant; a target has one of them.
pub(super) const TARGET_KINDS: [&str; 7] = [
    "role",
    "text",
    "label",
    "placeholder",
    "testid",
    "css",
    "any",
];
/// The same where `text` is the text that is typed.
pub(super) const TYPE_TARGET_KINDS: [&str; 6] =
    ["role", "label", "placeholder", "testid", "css", "any"];
/// The keys beside it.
pub(super) const TARGET_REST: [&str; 4] = ["name", "nth", "within", "exact"];

/// The roles that the library of pages knows: those of ARIA 1.2, of HTML's elements by later versions, and synonyms.
/// An element with another one has the role of its tag.
pub(in crate::flow) const ROLES: [&str; 90] = [
    "alert",
    "alertdialog",
    "application",
    "article",
    "banner",
    "blockquote",
    "button",
    "caption",
    "cell",
    "checkbox",
    "code",
    "columnheader",
    "combobox",
    "comment",
    "complementary",
    "contentinfo",
    "definition",
    "deletion",
    "dialog",
    "directory",
    "document",
    "emphasis",
    "feed",
    "figure",
    "form",
    "generic",
    "graphics-document",
    "graphics-object",
    "graphics-symbol",
    "grid",
    "gridcell",
    "group",
    "heading",
    "iframe",
    "image",
    "img",
    "insertion",
    "link",
    "list",
    "listbox",
    "listitem",
    "log",
    "main",
    "mark",
    "marquee",
    "math",
    "menu",
    "menubar",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "meter",
    "navigation",
    "none",
    "note",
    "option",
    "paragraph",
    "presentation",
    "progressbar",
    "radio",
    "radiogroup",
    "region",
    "row",
    "rowgroup",
    "rowheader",
    "scrollbar",
    "search",
    "searchbox",
    "separator",
    "slider",
    "spinbutton",
    "status",
    "strong",
    "subscript",
    "suggestion",
    "superscript",
    "switch",
    "tab",
    "table",
    "tablist",
    "tabpanel",
    "term",
    "textbox",
    "time",
    "timer",
    "toolbar",
    "tooltip",
    "tree",
    "treegrid",
    "treeitem",
];

/// Reads a target: a plain text or a map.
pub(super) fn target(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Target> {
    if let Some(fields) = MapFields::of(node, owner, &[&TARGET_KINDS, &TARGET_REST], mistakes) {
        return target_in(&fields, &TARGET_KINDS, mistakes);
    }
    plain_target(node, owner, mistakes)
}

/// Reads a target that is a text and not a map.
pub(super) fn plain_target(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
) -> Option<Target> {
    let expected = "a target, such as `Sign in` or `{role: button, name: Sign in}`";
    if node.is_null() {
        let message = format!("`{owner}`: expected {expected}, found nothing");
        let hint = "indent the keys of a target further than the word before them, and put a text that begins with `#` in quotes";
        mistakes.hinted(node.line, message, hint);
        return None;
    }
    let name = text(node, owner, expected, mistakes)?;
    Some(Target {
        by: TargetKind::Any(name),
        nth: None,
        within: None,
        exact: false,
    })
}

/// Reads a target off a map that may have other keys too. `kinds`: the keys that say which element is meant.
pub(super) fn target_in(
    fields: &MapFields<'_>,
    kinds: &[&'static str],
    mistakes: &mut MistakeList,
) -> Option<Target> {
    let by = kind(fields, kinds, mistakes);
    let nth = fields.get("nth").map(|node| {
        let nth = whole(node, &fields.name("nth"), 1..=UNBOUNDED, mistakes)?;
        usize::try_from(nth).ok()
    });
    let within = fields
        .get("within")
        .map(|node| target(node, &fields.name("within"), mistakes));
    let exact = fields
        .get("exact")
        .map(|node| truth(node, &fields.name("exact"), mistakes));
    let (by, nth) = (by?, transposed(nth)?);
    if let (Some(node), Some(reason)) = (fields.get("exact"), not_inexact(&by)) {
        let message = format!(
            "`{}`: `exact` says how a text is compared, found it {reason}",
            fields.owner
        );
        mistakes.hinted(node.line, message, "take it out");
        return None;
    }
    Some(Target {
        by,
        nth,
        within: transposed(within)?.map(Box::new),
        exact: transposed(exact)?.unwrap_or_default(),
    })
}

fn not_inexact(by: &TargetKind) -> Option<&'static str> {
    match by {
        TargetKind::Role { name: None, .. } => Some("beside a `role` without a `name`"),
        TargetKind::TestId(_) => Some("beside `testid`, which is always compared as a whole"),
        TargetKind::Css(_) => Some("beside `css`"),
        TargetKind::Any(_)
        | TargetKind::Role { .. }
        | TargetKind::Text(_)
        | TargetKind::Label(_)
        | TargetKind::Placeholder(_) => None,
    }
}

fn kind(
    fields: &MapFields<'_>,
    kinds: &[&'static str],
    mistakes: &mut MistakeList,
) -> Option<TargetKind> {
    let present = fields.present(kinds);
    let has_name = fields.get("name").is_some();
    let owner = &fields.owner;
    let kind = match present.as_slice() {
        [one] => *one,
        [] => {
            if has_name {
                let message = format!("`{owner}`: expected `role` beside `name`, found none");
                let hint =
                    "write `{role: button, name: …}`, or a plain text for anything of that name";
                mistakes.hinted(fields.line, message, hint);
            } else if !fields.has_unknown {
                let message = format!(
                    "`{owner}`: expected a target ({}), found none",
                    either(kinds)
                );
                mistakes.add(fields.line, message);
            }
            return None;
        }
        several => {
            let message = format!(
                "`{owner}`: expected one of {}, found {}",
                either(kinds),
                listed(several)
            );
            if several == ["role", "text"] {
                let hint = "the name of a `role` is `name`: `{role: button, name: Sign in}`";
                mistakes.hinted(fields.line, message, hint);
            } else {
                let hint = "`within` names an element around the one that is meant";
                mistakes.hinted(fields.line, message, hint);
            }
            return None;
        }
    };
    let value = fields.get(kind)?;
    let key = fields.name(kind);
    if kind == "role" {
        let role = role(value, &key, mistakes);
        let name = fields
            .get("name")
            .map(|node| text(node, &fields.name("name"), "a name", mistakes));
        return Some(TargetKind::Role {
            role: role?,
            name: transposed(name)?,
        });
    }
    if has_name {
        let message =
            format!("`{owner}`: `name` is the name of a `role`, found it beside `{kind}`");
        mistakes.hinted(fields.line, message, "write `{role: button, name: …}`");
        return None;
    }
    let value = text(value, &key, "a text", mistakes)?;
    Some(match kind {
        "text" => TargetKind::Text(value),
        "label" => TargetKind::Label(value),
        "placeholder" => TargetKind::Placeholder(value),
        "testid" => TargetKind::TestId(value),
        "css" => TargetKind::Css(value),
        _ => TargetKind::Any(value),
    })
}

fn role(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<String> {
    let role = text(node, owner, "a role, such as `button`", mistakes)?;
    match role_problem(&role) {
        None => Some(one_name(role)),
        Some(hint) => {
            let message = format!(
                "`{owner}`: expected a role of ARIA, found {}",
                node.describe()
            );
            mistakes.hinted(node.line, message, hint);
            None
        }
    }
}

/// Synonyms of roles, and the names that they go by.
const SYNONYMS: [(&str, &str); 3] = [
    ("image", "img"),
    ("directory", "list"),
    ("presentation", "none"),
];

/// One name for a role that has several.
pub(super) fn one_name(role: String) -> String {
    let known = SYNONYMS.iter().find(|(synonym, _)| *synonym == role);
    known.map_or(role, |(_, name)| (*name).to_owned())
}

/// A way out for a text that is no role.
pub(super) fn role_problem(role: &str) -> Option<String> {
    if ROLES.contains(&role) {
        return None;
    }
    Some(element_role(role).map_or_else(
        || match meant_by(role, &ROLES) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "roles are such as `button`, `link`, `textbox`, `heading`".to_owned(),
        },
        |(element, role)| format!("`<{element}>` has the role `{role}`"),
    ))
}

/// The role of an element of HTML, for those who write the element's name.
fn element_role(name: &str) -> Option<(&'static str, &'static str)> {
    const ELEMENTS: [(&str, &str); 18] = [
        ("a", "link"),
        ("input", "textbox"),
        ("textarea", "textbox"),
        ("select", "combobox"),
        ("h1", "heading"),
        ("h2", "heading"),
        ("h3", "heading"),
        ("h4", "heading"),
        ("h5", "heading"),
        ("h6", "heading"),
        ("nav", "navigation"),
        ("header", "banner"),
        ("footer", "contentinfo"),
        ("ul", "list"),
        ("ol", "list"),
        ("li", "listitem"),
        ("p", "paragraph"),
        ("tr", "row"),
    ];
    ELEMENTS.into_iter().find(|(element, _)| *element == name)
}

/// True for a plain text, and not a list or a map.
pub(super) fn is_plain(node: &YamlNode) -> bool {
    matches!(node.kind, YamlKind::Null | YamlKind::Scalar { .. })
}

/// Shortens a text of the file for a message.
pub(super) fn shortened(text: &str) -> String {
    one_line(text, 60)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The text between a start and an end in the library of pages.
    fn library(start: &str, end: &str) -> &'static str {
        let library = include_str!("../../page/roles.js");
        let rest = library.split_once(start).unwrap().1;
        rest.split_once(end).unwrap().0
    }

    #[test]
    fn roles_are_those_that_the_library_of_pages_knows() {
        let known = library("const ROLES = new Set(\n  `", "`").split_whitespace();
        let mut known: BTreeSet<&str> = known.collect();
        assert!(known.len() > 80, "{known:?}");
        // A tag has it, and no author can give it.
        known.insert("iframe");
        known.extend(SYNONYMS.map(|(synonym, _)| synonym));
        assert_eq!(ROLES.into_iter().collect::<BTreeSet<_>>(), known);

        let synonyms = library("const ROLE_SYNONYMS = {", "}");
        for (synonym, name) in SYNONYMS {
            let entry = format!("{synonym}: \"{name}\"");
            assert!(synonyms.contains(&entry), "{entry}");
        }
    }
}
