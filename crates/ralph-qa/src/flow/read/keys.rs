//! Reads the names of keys: `Enter`, `Control+A`.

use super::{fields::meant_by, mistakes::MistakeList, values::text, yaml::YamlNode};

/// The modifiers, with the names that people use for them.
const MODIFIERS: [(&str, &str); 10] = [
    ("Control", "Control"),
    ("Ctrl", "Control"),
    ("Shift", "Shift"),
    ("Alt", "Alt"),
    ("Option", "Alt"),
    ("Meta", "Meta"),
    ("Cmd", "Meta"),
    ("Command", "Meta"),
    ("Super", "Meta"),
    ("Win", "Meta"),
];

/// The keys that write no sign, by their names in `KeyboardEvent.key`; `Space` writes one, and is hard to see.
pub(in crate::flow) const NAMED_KEYS: [&str; 30] = [
    "Enter",
    "Tab",
    "Escape",
    "Backspace",
    "Delete",
    "Insert",
    "Space",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "ContextMenu",
    "Control",
    "Shift",
    "Alt",
    "Meta",
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
];

/// Further names of keys.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("F11", "F11"),
    ("F12", "F12"),
    ("Return", "Enter"),
    ("Esc", "Escape"),
    ("Del", "Delete"),
    ("Ins", "Insert"),
    ("Up", "ArrowUp"),
    ("Down", "ArrowDown"),
    ("Left", "ArrowLeft"),
    ("Right", "ArrowRight"),
];

/// Reads a key with its modifiers, and returns it by its usual names: `ctrl+a` is `Control+a`.
pub(super) fn key(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<String> {
    let expected = "a key, such as `Enter`, `a` or `Control+A`";
    let written = text(node, owner, expected, mistakes)?;
    match normal_key(&written) {
        Ok(key) => Some(key),
        Err(unknown) => {
            let message = format!("`{owner}`: expected {expected}, found {}", node.describe());
            let hint = key_hint(&written, unknown);
            mistakes.hinted(node.line, message, hint);
            None
        }
    }
}

fn key_hint(written: &str, unknown: &str) -> String {
    if written.ends_with('+') {
        return "name a key behind the last `+`".to_owned();
    }
    // The part before a `+` is a modifier.
    if written.contains('+') && !written.ends_with(unknown) {
        return "the modifiers are `Control`, `Shift`, `Alt` and `Meta`".to_owned();
    }
    let keys: Vec<&'static str> = NAMED_KEYS.into_iter().chain(["F11", "F12"]).collect();
    match meant_by(unknown, &keys) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if unknown.chars().count() > 1 => {
            "`type` types a text; keys have their names in `KeyboardEvent.key`".to_owned()
        }
        None => "keys have their names in `KeyboardEvent.key`".to_owned(),
    }
}

/// The part that is not known, where there is one.
fn normal_key(written: &str) -> Result<String, &str> {
    // `Control++` is the key `+` with a modifier, `+` the key itself.
    let (modifiers, last) = match written.strip_suffix('+') {
        Some("") => ("", "+"),
        Some(rest) => match rest.strip_suffix('+') {
            Some(modifiers) if !modifiers.is_empty() => (modifiers, "+"),
            _ => return Err(written),
        },
        None => written.rsplit_once('+').unwrap_or(("", written)),
    };
    let mut parts: Vec<String> = Vec::new();
    if !modifiers.is_empty() {
        for part in modifiers.split('+') {
            let part = part.trim();
            let known = MODIFIERS
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(part));
            let (_, modifier) = known.ok_or(part)?;
            if !parts.iter().any(|there| there == modifier) {
                parts.push((*modifier).to_owned());
            }
        }
    }
    let last = if last.trim().is_empty() {
        last
    } else {
        last.trim()
    };
    parts.push(one_key(last).ok_or(last)?);
    Ok(parts.join("+"))
}

fn one_key(name: &str) -> Option<String> {
    let mut chars = name.chars();
    if let (Some(sign), None) = (chars.next(), chars.next()) {
        return (!sign.is_control()).then(|| {
            if sign == ' ' {
                "Space".to_owned()
            } else {
                sign.to_string()
            }
        });
    }
    let plain = NAMED_KEYS
        .iter()
        .find(|key| key.eq_ignore_ascii_case(name))
        .copied();
    let other = || {
        let names = OTHER_NAMES.iter().chain(MODIFIERS.iter());
        let mut names = names.filter(|(other, _)| other.eq_ignore_ascii_case(name));
        names.next().map(|(_, key)| *key)
    };
    plain.or_else(other).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_get_their_usual_names() {
        let table = [
            ("Enter", Ok("Enter")),
            ("enter", Ok("Enter")),
            ("Esc", Ok("Escape")),
            ("Up", Ok("ArrowUp")),
            ("F12", Ok("F12")),
            ("a", Ok("a")),
            ("A", Ok("A")),
            ("ä", Ok("ä")),
            ("+", Ok("+")),
            ("Control++", Ok("Control++")),
            ("Control+A", Ok("Control+A")),
            ("ctrl+shift+Tab", Ok("Control+Shift+Tab")),
            ("Ctrl + a", Ok("Control+a")),
            ("Cmd+Enter", Ok("Meta+Enter")),
            ("Shift", Ok("Shift")),
            ("Control+Ctrl+a", Ok("Control+a")),
            ("Control+", Err("Control+")),
            ("++", Err("++")),
            ("Hyper+a", Err("Hyper")),
            ("Entre", Err("Entre")),
            ("Control+Ab", Err("Ab")),
            ("\u{7}", Err("\u{7}")),
        ];
        for (written, key) in table {
            assert_eq!(normal_key(written), key.map(str::to_owned), "{written}");
        }
    }
}
