//! Keys as a flow names them, and the events that a browser gets for them.

use chromiumoxide::keys::{KeyDefinition, USKEYBOARD_LAYOUT, get_key_definition};
use serde_json::{Value, json};

/// A key with those that are held meanwhile: `Control+Shift+A`.
#[derive(Debug, Clone)]
pub(super) struct KeyPress {
    held: Vec<HeldKey>,
    key: PressedKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldKey {
    Alt,
    Control,
    Meta,
    Shift,
}

impl HeldKey {
    fn of_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "alt" | "option" => Some(Self::Alt),
            "control" | "ctrl" => Some(Self::Control),
            "meta" | "command" | "cmd" => Some(Self::Meta),
            "shift" => Some(Self::Shift),
            _ => None,
        }
    }

    fn bit(self) -> u32 {
        match self {
            Self::Alt => 1,
            Self::Control => 2,
            Self::Meta => 4,
            Self::Shift => 8,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Alt => "Alt",
            Self::Control => "Control",
            Self::Meta => "Meta",
            Self::Shift => "Shift",
        }
    }
}

#[derive(Debug, Clone)]
struct PressedKey {
    key: String,
    code: &'static str,
    number: i64,
    text: Option<String>,
}

impl PressedKey {
    fn of_name(name: &str) -> Option<Self> {
        let name = match name.to_ascii_lowercase().as_str() {
            "esc" => "Escape",
            "return" => "Enter",
            "space" => " ",
            "del" => "Delete",
            "up" => "ArrowUp",
            "down" => "ArrowDown",
            "left" => "ArrowLeft",
            "right" => "ArrowRight",
            _ => name,
        };
        let is_word = name.chars().count() > 1;
        let in_any_case = || {
            let mut keys = USKEYBOARD_LAYOUT.iter();
            keys.find(|key| is_word && key.key.eq_ignore_ascii_case(name))
        };
        let definition = get_key_definition(name).or_else(in_any_case);
        if let Some(definition) = definition {
            return Some(Self::of_definition(definition));
        }
        // A character that no key of this layout has.
        let mut characters = name.chars();
        let only = characters.next().filter(|_| characters.next().is_none())?;
        Some(Self {
            key: only.to_string(),
            code: "",
            number: 0,
            text: Some(only.to_string()),
        })
    }

    fn of_definition(definition: &KeyDefinition) -> Self {
        let is_character = definition.key.chars().count() == 1;
        Self {
            key: definition.key.to_owned(),
            code: definition.code,
            number: definition.key_code,
            text: definition
                .text
                .or(is_character.then_some(definition.key))
                .map(str::to_owned),
        }
    }

    fn event(&self, kind: &str, bits: u32) -> Value {
        json!({
            "type": kind,
            "modifiers": bits,
            "key": self.key,
            "code": self.code,
            "windowsVirtualKeyCode": self.number,
            "nativeVirtualKeyCode": self.number,
        })
    }

    /// The events of a press and a release while others are held.
    fn events(&self, bits: u32) -> [Value; 2] {
        // With Control, Alt or Meta a key writes nothing.
        let writes = bits & !HeldKey::Shift.bit() == 0;
        let mut down = match &self.text {
            Some(text) if writes => {
                let mut down = self.event("keyDown", bits);
                down["text"] = json!(text);
                down["unmodifiedText"] = json!(text);
                down
            }
            _ => self.event("rawKeyDown", bits),
        };
        down["autoRepeat"] = json!(false);
        [down, self.event("keyUp", bits)]
    }
}

impl KeyPress {
    /// Reads `Enter`, `a`, `Control+A`, `Shift+Tab`, `+`; None for a key that there is not.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (before, name) = match text.strip_suffix('+') {
            Some("") => (None, "+"),
            Some(rest) => (Some(rest.strip_suffix('+')?), "+"),
            None => match text.rsplit_once('+') {
                Some((before, name)) => (Some(before), name),
                None => (None, text),
            },
        };
        let mut held = Vec::new();
        for name in before.into_iter().flat_map(|before| before.split('+')) {
            held.push(HeldKey::of_name(name.trim())?);
        }
        let name = if name == " " { name } else { name.trim() };
        let mut key = match HeldKey::of_name(name) {
            Some(key) => PressedKey::of_name(key.name())?,
            None => PressedKey::of_name(name)?,
        };
        let is_shifted = held.contains(&HeldKey::Shift);
        let is_letter =
            key.key.len() == 1 && key.key.starts_with(|c: char| c.is_ascii_alphabetic());
        if is_letter && (is_shifted || !held.is_empty()) {
            let letter = if is_shifted {
                key.key.to_ascii_uppercase()
            } else {
                key.key.to_ascii_lowercase()
            };
            key.text = Some(letter.clone());
            key.key = letter;
        }
        Some(Self { held, key })
    }

    /// The events in their order, as `Input.dispatchKeyEvent` takes them.
    pub(super) fn events(&self) -> Vec<Value> {
        let mut events = Vec::new();
        let mut bits = 0;
        let held = || {
            let keys = self.held.iter();
            keys.filter_map(|held| Some((held, PressedKey::of_name(held.name())?)))
        };
        for (held, key) in held() {
            bits |= held.bit();
            events.push(key.event("rawKeyDown", bits));
        }
        events.extend(self.key.events(bits));
        for (held, key) in held().collect::<Vec<_>>().into_iter().rev() {
            bits &= !held.bit();
            events.push(key.event("keyUp", bits));
        }
        events
    }
}

/// The events of typing one character; None for one that no key writes.
pub(super) fn typed(character: char) -> Option<[Value; 2]> {
    if character == '\n' {
        return PressedKey::of_name("Enter").map(|key| key.events(0));
    }
    let definition = get_key_definition(character.to_string())?;
    let bits = if character.is_ascii_uppercase() {
        HeldKey::Shift.bit()
    } else {
        0
    };
    Some(PressedKey::of_definition(definition).events(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let press = KeyPress::parse(text).unwrap_or_else(|| panic!("{text}"));
        let events = press.events();
        let shown = events.iter().map(|event| {
            let kind = event["type"].as_str().unwrap();
            let text = event.get("text").and_then(Value::as_str).unwrap_or("-");
            format!(
                "{kind} {} {} {text:?}",
                event["key"].as_str().unwrap(),
                event["modifiers"]
            )
        });
        shown.collect()
    }

    #[test]
    fn a_key_goes_down_and_up() {
        assert_eq!(
            shown("Enter"),
            ["keyDown Enter 0 \"\\r\"", "keyUp Enter 0 \"-\""]
        );
        assert_eq!(shown("a"), ["keyDown a 0 \"a\"", "keyUp a 0 \"-\""]);
        assert_eq!(
            shown("esc"),
            ["rawKeyDown Escape 0 \"-\"", "keyUp Escape 0 \"-\""]
        );
        assert_eq!(shown("ü"), ["keyDown ü 0 \"ü\"", "keyUp ü 0 \"-\""]);
        assert_eq!(shown("arrowdown")[0], "rawKeyDown ArrowDown 0 \"-\"");
        assert_eq!(shown("+")[0], "keyDown + 0 \"+\"");
    }

    #[test]
    fn others_are_held_meanwhile() {
        assert_eq!(
            shown("Control+A"),
            [
                "rawKeyDown Control 2 \"-\"",
                "rawKeyDown a 2 \"-\"",
                "keyUp a 2 \"-\"",
                "keyUp Control 0 \"-\""
            ]
        );
        assert_eq!(shown("Shift+a")[1], "keyDown A 8 \"A\"");
        assert_eq!(shown("Ctrl+Shift+ArrowLeft").len(), 6);
        assert_eq!(shown("Control++")[1], "rawKeyDown + 2 \"-\"");
    }

    #[test]
    fn a_key_that_there_is_not_is_none() {
        assert!(KeyPress::parse("Entre").is_none());
        assert!(KeyPress::parse("Hyper+A").is_none());
        assert!(KeyPress::parse("").is_none());
    }
}
