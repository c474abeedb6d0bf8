//! The JSON Schema of flow files, for editors.
//!
//! Says what the reader takes, as far as a schema can: that two pictures have different names, or that a file is not
//! too large, only the reader says.

use serde_json::{Map, Value, json};

use super::read::{METHODS, NAMED_KEYS, ROLES};

/// The schema of a flow file.
pub fn flow_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ralph flow",
        "description": "A user's way through an application, step by step, and what must be seen on it.",
        "type": "object",
        "properties": flow_properties(),
        "required": ["steps"],
        "additionalProperties": false,
        "$defs": {
            "step": step(),
            "target": target(),
            "checks": checks(),
            "check": check(),
            "viewport": viewport(),
            "emulation": emulation(),
            "text": text(),
            "time": {
                "type": "string",
                "pattern": "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ms|s|m|h)$",
                "examples": ["10s", "500ms"],
            },
            "address": {
                "description": "A path or an address; `*` stands for anything.",
                "type": "string",
                "allOf": [
                    { "pattern": "^\\S+$" },
                    { "pattern": "^(/|https?://|about:)|\\*" },
                ],
            },
            "key": key(),
            "role": { "enum": ROLES.as_slice() },
            "name": {
                "type": ["string", "number", "boolean"],
                "minimum": 0,
                "maxLength": 100,
                "pattern": "^[\\p{Alphabetic}\\p{N}]([\\p{Alphabetic}\\p{N} _.\\-]*[\\p{Alphabetic}\\p{N}_\\-])?$",
            },
        },
    })
}

fn flow_properties() -> Value {
    let host = json!({ "type": ["string", "number", "boolean"], "pattern": "^[A-Za-z0-9\\-._*:\\[\\]]+$" });
    json!({
        "name": described("name", "Tells it apart from the other flows; the stem of its file if there is none."),
        "description": described("text", "What the flow is for."),
        "url": {
            "description": "The base of relative addresses; the server under test if there is none.",
            "type": "string",
            "pattern": "^https?://[^/?#\\s]+",
        },
        "hosts": {
            "description": "Further hosts that the flow's pages may reach.",
            "anyOf": [host, { "type": "array", "items": host, "minItems": 1 }],
        },
        "viewport": described("viewport", "The size of the pages."),
        "emulate": described("emulation", "What is emulated from the beginning."),
        "time": {
            "description": "The time at which the pages' clock starts.",
            "type": "string",
            "pattern": "^\\d{4}-?\\d{2}-?\\d{2}[Tt ]\\d{2}.*([Zz]|[+-]\\d{2}.*)$",
            "examples": ["2026-01-01T12:00:00Z"],
        },
        "random": {
            "description": "The seed of the pages' random numbers.",
            "type": "integer",
            "minimum": 0,
        },
        "timeout": described("time", "The longest time of a step."),
        "alone": {
            "description": "True if no other flow may run beside it.",
            "type": "boolean",
        },
        "steps": {
            "type": "array",
            "items": definition("step"),
            "minItems": 1,
            "maxItems": 500,
        },
    })
}

fn definition(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn described(name: &str, description: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}"), "description": description })
}

/// A value by itself, or a list of at least one.
fn one_or_more(one: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
}

/// Numbers and truth values are texts too, where a text is meant.
fn text() -> Value {
    json!({ "type": ["string", "number", "boolean"], "pattern": "\\S" })
}

fn any_text() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn whole(from: u32, to: u32) -> Value {
    json!({ "type": "integer", "minimum": from, "maximum": to })
}

/// Letters in any case.
fn any_case(word: &str) -> String {
    word.chars()
        .map(|c| {
            if c.is_ascii_alphabetic() {
                format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase())
            } else {
                c.to_string()
            }
        })
        .collect()
}

fn key() -> Value {
    let modifiers = [
        "Control", "Ctrl", "Shift", "Alt", "Option", "Meta", "Cmd", "Command", "Super", "Win",
    ];
    let others = [
        "F11", "F12", "Return", "Esc", "Del", "Ins", "Up", "Down", "Left", "Right",
    ];
    let any = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| any_case(word)).collect();
        words.join("|")
    };
    let keys = [&NAMED_KEYS[..], &others, &modifiers].concat();
    let pattern = format!(
        "^\\s*(({})\\s*\\+\\s*)*({}|\\S)\\s*$",
        any(&modifiers),
        any(&keys)
    );
    json!({
        "description": "A key by its name in `KeyboardEvent.key`, with modifiers: `Enter`, `Control+A`.",
        "anyOf": [
            { "type": "string", "pattern": pattern },
            whole(0, 9),
        ],
        "examples": ["Enter", "Tab", "Escape", "Control+A"],
    })
}

const SIDE: &str = "([5-9][0-9]|[1-9][0-9]{2}|[1-7][0-9]{3}|80[0-9]{2}|81[0-8][0-9]|819[0-2])";

fn viewport() -> Value {
    let sides = json!({
        "width": whole(50, 8192),
        "height": whole(50, 8192),
        "mobile": { "type": "boolean", "description": "True for a device with touch." },
    });
    json!({
        "anyOf": [
            { "enum": ["desktop", "tablet", "mobile"] },
            { "type": "string", "pattern": format!("^{SIDE}x{SIDE}$") },
            object(&sides, &["width", "height"]),
        ],
    })
}

fn emulation() -> Value {
    json!({
        "type": "object",
        "properties": {
            "scheme": { "enum": ["light", "dark"] },
            "reduced_motion": { "type": "boolean" },
            "device": definition("viewport"),
            "offline": { "type": "boolean" },
        },
        "additionalProperties": false,
        "minProperties": 1,
    })
}

/// The keys that say which element is meant.
fn target_kinds() -> Map<String, Value> {
    let kinds = json!({
        "role": described("role", "The role of ARIA, such as `button`; with `name`."),
        "text": described("text", "A visible text."),
        "label": described("text", "The label of a field."),
        "placeholder": described("text", "The placeholder of a field."),
        "testid": described("text", "The attribute `data-testid`."),
        "css": described("text", "A selector of CSS."),
        "any": described("text", "The same as a plain text: a name, a visible text, a label, a test id."),
    });
    kinds.as_object().cloned().unwrap_or_default()
}

/// Where `text` is not a way to name an element, but the text that is typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKey {
    Target,
    Typed,
}

/// Says if an element must be named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetNeed {
    Required,
    Optional,
}

/// A map that names an element, with other keys beside.
fn target_with(rest: &Value, required: &[&str], text: TextKey, need: TargetNeed) -> Value {
    let mut properties = target_kinds();
    if text == TextKey::Typed {
        properties.shift_remove("text");
    }
    let kinds: Vec<String> = properties.keys().cloned().collect();
    let others = json!({
        "name": described("text", "The accessible name, beside `role`."),
        "nth": {
            "description": "The one of several that match, from 1.",
            "type": "integer",
            "minimum": 1,
            "maximum": u32::MAX,
        },
        "within": described("target", "An element around it."),
        "exact": {
            "description": "The whole text, and not a part of it in any case.",
            "type": "boolean",
        },
    });
    for more in [&others, rest] {
        let more = more.as_object().into_iter().flatten();
        properties.extend(more.map(|(key, value)| (key.clone(), value.clone())));
    }
    let mut one_kind: Vec<Value> = kinds
        .iter()
        .map(|kind| json!({ "required": [kind] }))
        .collect();
    if need == TargetNeed::Optional {
        let none: Vec<Value> = kinds
            .iter()
            .map(String::as_str)
            .chain(["name", "nth", "within", "exact"])
            .map(|key| json!({ "required": [key] }))
            .collect();
        one_kind.push(json!({ "not": { "anyOf": none } }));
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
        "oneOf": one_kind,
        "dependentRequired": { "name": ["role"] },
        "allOf": [
            { "not": { "required": ["exact", "css"] } },
            { "not": { "required": ["exact", "testid"] } },
            {
                "if": { "required": ["exact", "role"] },
                "then": { "required": ["name"] },
            },
        ],
    })
}

fn target() -> Value {
    json!({
        "description": "A name of something that can be acted on, a visible text, a label or a test id; or a map that says which.",
        "anyOf": [
            text(),
            target_with(&json!({}), &[], TextKey::Target, TargetNeed::Required),
        ],
    })
}

fn step() -> Value {
    let actions = actions();
    let words: Vec<Value> = actions
        .keys()
        .map(|word| json!({ "required": [word] }))
        .collect();
    let mut properties = actions;
    properties.insert(
        "note".into(),
        described("text", "What the step is for; stands in the results."),
    );
    properties.insert(
        "timeout".into(),
        described("time", "The longest time of this step."),
    );
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "oneOf": words,
    })
}

fn actions() -> Map<String, Value> {
    let mut actions = acts();
    let others = json!({
        "wait": {
            "description": "Waits for a check, until an element is gone, until no request is under way (`idle`), or for a time.",
            "anyOf": [
                { "const": "idle" },
                definition("time"),
                object(&json!({ "gone": definition("target") }), &["gone"]),
                definition("checks"),
            ],
        },
        "verify": described("checks", "What must be seen."),
        "resize": described("viewport", "Makes the page as large."),
        "emulate": described("emulation", "Changes what is emulated."),
        "screenshot": screenshot(),
        "fixture": {
            "description": "A command that runs before the flow goes on: a line for the shell, or a list of words.",
            "anyOf": [
                text(),
                {
                    "type": "array",
                    "prefixItems": [text()],
                    "items": any_text(),
                    "minItems": 1,
                },
            ],
        },
    });
    actions.extend(others.as_object().cloned().unwrap_or_default());
    actions
}

/// The actions of a user.
fn acts() -> Map<String, Value> {
    let page = json!({
        "type": "string",
        "pattern": "^(https?://[^/?#\\s]\\S*|/([^/\\s]\\S*)?|[?#]\\S*)$",
    });
    let target_and = |rest: &Value, required: &[&str]| {
        target_with(rest, required, TextKey::Target, TargetNeed::Required)
    };
    let texts = one_or_more(&definition("text"));
    let acts = json!({
        "navigate": {
            "description": "Opens a page: a path such as `/login`, or an address.",
            "anyOf": [
                page,
                object(&json!({ "url": page, "until": { "enum": ["load", "dom", "idle"] } }), &["url"]),
            ],
        },
        "click": {
            "description": "Clicks an element.",
            "anyOf": [
                text(),
                target_and(&json!({
                    "button": { "enum": ["left", "middle", "right"] },
                    "double": { "type": "boolean" },
                }), &[]),
            ],
        },
        "type": type_text(),
        "press": {
            "description": "Presses a key.",
            "anyOf": [
                definition("key"),
                target_with(
                    &json!({ "key": definition("key") }),
                    &["key"],
                    TextKey::Target,
                    TargetNeed::Optional,
                ),
            ],
        },
        "select": {
            "description": "Selects options of a list, by their labels or values.",
            "anyOf": [
                target_and(&json!({ "option": texts }), &["option"]),
                target_and(&json!({ "options": texts }), &["options"]),
            ],
        },
        "hover": described("target", "Moves the pointer over an element."),
        "upload": {
            "description": "Chooses files, relative to the project.",
            "anyOf": [
                target_and(&json!({ "file": texts }), &["file"]),
                target_and(&json!({ "files": texts }), &["files"]),
            ],
        },
    });
    acts.as_object().cloned().unwrap_or_default()
}

fn type_text() -> Value {
    let typed = |key: &str, value: Value| {
        let mut rest = Map::new();
        rest.insert(key.to_owned(), value);
        rest.insert(
            "append".into(),
            json!({ "type": "boolean", "description": "Keeps what is there, and adds to it." }),
        );
        rest.insert(
            "press".into(),
            described("key", "A key that is pressed afterwards."),
        );
        let rest = Value::Object(rest);
        target_with(&rest, &[key], TextKey::Typed, TargetNeed::Required)
    };
    let secret = json!({
        "description": "The name of a variable whose value is typed, and never shown.",
        "type": ["string", "boolean"],
        "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
    });
    json!({
        "description": "Types a text into a field, in the place of what is there.",
        "anyOf": [typed("text", any_text()), typed("secret", secret)],
    })
}

fn screenshot() -> Value {
    let map = json!({
        "type": "object",
        "properties": {
            "name": definition("name"),
            "of": described("target", "The element that is shown; the viewport if there is none."),
            "full": { "type": "boolean", "description": "The whole page." },
            "mask": one_or_more(&described("target", "An element that is not compared.")),
            "threshold": {
                "description": "The share of the pixels that may differ.",
                "type": "number",
                "minimum": 0,
                "maximum": 1,
            },
        },
        "required": ["name"],
        "additionalProperties": false,
        "not": {
            "required": ["of", "full"],
            "properties": { "full": { "const": true } },
        },
    });
    json!({
        "description": "Takes a picture, and compares it with the one that was approved.",
        "anyOf": [definition("name"), map],
    })
}

fn checks() -> Value {
    one_or_more(&definition("check"))
}

fn check() -> Value {
    let mut properties = page_checks();
    properties.extend(element_checks());
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "minProperties": 1,
    })
}

/// Checks on the page as a whole, and on what it asked for.
fn page_checks() -> Map<String, Value> {
    let texts = |description: &str| one_or_more(&described("text", description));
    let exceptions = |description: &str| {
        let except = one_or_more(&definition("text"));
        json!({
            "description": description,
            "anyOf": [
                { "const": true },
                object(&json!({ "except": except }), &["except"]),
            ],
        })
    };
    let methods: Vec<String> = METHODS.iter().map(|method| any_case(method)).collect();
    let request = json!({
        "url": definition("address"),
        "method": { "type": "string", "pattern": format!("^({})$", methods.join("|")) },
        "status": whole(100, 599),
        "count": whole(0, u32::MAX),
    });
    let page = json!({
        "text": texts("A text that must be seen."),
        "no_text": texts("A text that must not be seen."),
        "url": described("address", "The page's address; a path is compared with path and query."),
        "title": described("text", "The page's title; `*` stands for anything."),
        "tree": {
            "description": "Lines of the accessibility tree: a role and a name in quotes, indented by two spaces.",
            "anyOf": [
                text(),
                { "type": "array", "items": any_text(), "minItems": 1 },
            ],
        },
        "no_console_errors": exceptions("No error in the console since the flow began."),
        "network": one_or_more(&json!({
            "description": "A request that must have been made.",
            "anyOf": [definition("address"), object(&request, &["url"])],
        })),
        "no_failed_requests": exceptions("No request that failed since the flow began."),
        "no_broken_links": { "const": true, "description": "Every link of the page leads somewhere." },
        "no_broken_images": { "const": true, "description": "Every image of the page is shown." },
        "accessible": {
            "description": "Elements have names, and texts have enough contrast.",
            "anyOf": [{ "const": true }, accessibility()],
        },
    });
    page.as_object().cloned().unwrap_or_default()
}

fn accessibility() -> Value {
    json!({
        "type": "object",
        "properties": {
            "names": { "type": "boolean" },
            "contrast": { "type": "boolean" },
            "except": one_or_more(&described("text", "A selector of what is left out.")),
        },
        "additionalProperties": false,
        "minProperties": 1,
        "not": {
            "required": ["names", "contrast"],
            "properties": { "names": { "const": false }, "contrast": { "const": false } },
        },
    })
}

/// Checks on elements.
fn element_checks() -> Map<String, Value> {
    let targets = |description: &str| one_or_more(&described("target", description));
    let target_and = |rest: &Value, required: &[&str]| {
        let map = target_with(rest, required, TextKey::Target, TargetNeed::Required);
        one_or_more(&map)
    };
    let number = whole(0, u32::MAX);
    let count = |required: &str, keys: &[&str]| {
        let keys: Map<String, Value> = keys
            .iter()
            .map(|key| ((*key).to_owned(), number.clone()))
            .collect();
        let keys = Value::Object(keys);
        target_with(&keys, &[required], TextKey::Target, TargetNeed::Required)
    };
    let elements = json!({
        "element": targets("An element that must be seen."),
        "no_element": targets("An element that must not be seen."),
        "count": one_or_more(&json!({
            "description": "The number of elements.",
            "anyOf": [
                count("is", &["is"]),
                count("least", &["least", "most"]),
                count("most", &["least", "most"]),
            ],
        })),
        "value": target_and(&json!({ "is": any_text() }), &["is"]),
        "checked": targets("A box that must be checked."),
        "unchecked": targets("A box that must not be checked."),
        "enabled": targets("An element that must be enabled."),
        "disabled": targets("An element that must be disabled."),
        "focused": targets("The element that must have the focus."),
        "attribute": target_and(&json!({
            "attribute": {
                "type": ["string", "number", "boolean"],
                "pattern": "^[^\\s\"'<>/=]+$",
            },
            "is": any_text(),
        }), &["attribute", "is"]),
        "style": target_and(&json!({
            "property": {
                "type": ["string", "boolean"],
                "pattern": "^(--\\S+|-?[a-z][a-z0-9\\-]*)$",
            },
            "is": text(),
        }), &["property", "is"]),
        "no_overlap": targets("An element that nothing may overlap."),
    });
    elements.as_object().cloned().unwrap_or_default()
}
