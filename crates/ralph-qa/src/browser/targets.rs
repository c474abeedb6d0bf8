//! Targets and checks as the page library takes them.

use serde_json::{Value, json};

use crate::flow::{Check, ElementState, Target, TargetKind};

pub(super) fn target_json(target: &Target) -> Value {
    let (by, value) = match &target.by {
        TargetKind::Any(text) => ("any", text.as_str()),
        TargetKind::Role { role, .. } => ("role", role.as_str()),
        TargetKind::Text(text) => ("text", text.as_str()),
        TargetKind::Label(text) => ("label", text.as_str()),
        TargetKind::Placeholder(text) => ("placeholder", text.as_str()),
        TargetKind::TestId(text) => ("testid", text.as_str()),
        TargetKind::Css(text) => ("css", text.as_str()),
    };
    let mut json = json!({"by": by, "value": value, "exact": target.exact});
    if let TargetKind::Role { role, name } = &target.by {
        json["role"] = json!(role);
        json["name"] = json!(name);
    }
    if let Some(nth) = target.nth {
        json["nth"] = json!(nth);
    }
    if let Some(within) = &target.within {
        json["within"] = target_json(within);
    }
    json
}

/// A check of the document; None for one that the browser's side answers.
pub(super) fn check_json(check: &Check) -> Option<Value> {
    Some(match check {
        Check::Text(text) => json!({"kind": "text", "text": text}),
        Check::NoText(text) => json!({"kind": "no_text", "text": text}),
        Check::Element(target) => json!({"kind": "element", "target": target_json(target)}),
        Check::NoElement(target) => json!({"kind": "no_element", "target": target_json(target)}),
        Check::Count { target, range } => json!({
            "kind": "count",
            "target": target_json(target),
            "least": range.least,
            "most": range.most,
        }),
        Check::Title(is) => json!({"kind": "title", "is": is}),
        Check::Value { target, is } => {
            json!({"kind": "value", "target": target_json(target), "is": is})
        }
        Check::State { target, state } => {
            let state = match state {
                ElementState::Checked => "checked",
                ElementState::Unchecked => "unchecked",
                ElementState::Enabled => "enabled",
                ElementState::Disabled => "disabled",
                ElementState::Focused => "focused",
            };
            json!({"kind": "state", "target": target_json(target), "state": state})
        }
        Check::Attribute { target, name, is } => {
            json!({"kind": "attribute", "target": target_json(target), "name": name, "is": is})
        }
        Check::Style { target, name, is } => {
            json!({"kind": "style", "target": target_json(target), "name": name, "is": is})
        }
        Check::Tree(lines) => {
            let lines = lines
                .iter()
                .map(|line| json!({"depth": line.depth, "role": line.role, "name": line.name}));
            json!({"kind": "tree", "lines": lines.collect::<Vec<_>>()})
        }
        Check::NoBrokenImages => json!({"kind": "no_broken_images"}),
        Check::NoOverlap(target) => {
            json!({"kind": "no_overlap", "target": target_json(target)})
        }
        Check::Accessible(rules) => json!({
            "kind": "accessible",
            "names": rules.names,
            "contrast": rules.contrast,
            "except": rules.except,
        }),
        Check::Url(_)
        | Check::NoConsoleErrors { .. }
        | Check::Network(_)
        | Check::NoFailedRequests { .. }
        | Check::NoBrokenLinks => return None,
    })
}
