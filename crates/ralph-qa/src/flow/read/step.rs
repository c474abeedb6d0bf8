//! Reads the steps of a flow.

use std::path::PathBuf;

use super::{
    check::{check_map, check_words, checks},
    fields::{MapFields, listed, meant_by},
    keys::key,
    mistakes::MistakeList,
    target::{
        TARGET_KINDS, TARGET_REST, TYPE_TARGET_KINDS, is_plain, plain_target, shortened, target,
        target_in,
    },
    values::{
        any_text, emulation, file_name, one_of, one_or_more, share, text, texts, time, transposed,
        truth, viewport, wrong,
    },
    yaml::{YamlEntry, YamlKind, YamlNode},
};
use crate::flow::{
    FixtureCommand, FlowStep, FlowStepAction, LoadState, MouseButton, Screenshot, Target,
    TypedText, Wait,
};

type ReadAction = fn(&YamlNode, &mut MistakeList) -> Option<FlowStepAction>;

const ACTIONS: [(&str, ReadAction); 13] = [
    ("navigate", navigate),
    ("click", click),
    ("type", type_text),
    ("press", press),
    ("select", select),
    ("hover", |node, mistakes| {
        Some(FlowStepAction::Hover {
            target: target(node, "hover", mistakes)?,
        })
    }),
    ("upload", upload),
    ("wait", wait),
    ("verify", |node, mistakes| {
        Some(FlowStepAction::Verify(checks(node, "verify", mistakes)?))
    }),
    ("resize", |node, mistakes| {
        Some(FlowStepAction::Resize(viewport(node, "resize", mistakes)?))
    }),
    ("emulate", |node, mistakes| {
        Some(FlowStepAction::Emulate(emulation(
            node, "emulate", mistakes,
        )?))
    }),
    ("screenshot", screenshot),
    ("fixture", fixture),
];

/// The keys beside an action.
const BESIDE: [&str; 2] = ["note", "timeout"];

/// The words of all actions.
pub(super) fn action_words() -> Vec<&'static str> {
    ACTIONS.iter().map(|(word, _)| *word).collect()
}

/// Reads one step.
pub(super) fn step(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStep> {
    let YamlKind::Map(entries) = &node.kind else {
        not_a_step(node, mistakes);
        return None;
    };
    let note = beside(entries, "note").map(|node| text(node, "note", "a text", mistakes));
    let timeout = beside(entries, "timeout").map(|node| time(node, "timeout", mistakes));
    let action = action(node, entries, mistakes);
    Some(FlowStep::new(
        node.line,
        transposed(note)?,
        transposed(timeout)?,
        action?,
    ))
}

fn beside<'n>(entries: &'n [YamlEntry], key: &str) -> Option<&'n YamlNode> {
    let entry = entries.iter().find(|entry| entry.key == key)?;
    Some(&entry.value)
}

fn not_a_step(node: &YamlNode, mistakes: &mut MistakeList) {
    let message = format!(
        "expected a step, such as `click: Sign in`, found {}",
        node.describe()
    );
    let first_word = match &node.kind {
        YamlKind::Scalar { text, .. } => text.split_whitespace().next(),
        YamlKind::Null | YamlKind::List(_) | YamlKind::Map(_) => None,
    };
    let word = first_word.and_then(|word| meant_by(word, &action_words()));
    match word {
        Some(word) => mistakes.hinted(
            node.line,
            message,
            format!("write `{word}: …`, with a colon"),
        ),
        None => mistakes.add(node.line, message),
    }
}

fn action(
    node: &YamlNode,
    entries: &[YamlEntry],
    mistakes: &mut MistakeList,
) -> Option<FlowStepAction> {
    let words = action_words();
    let find = |entry: &YamlEntry| ACTIONS.iter().find(|(word, _)| *word == entry.key);
    let actions: Vec<_> = entries
        .iter()
        .filter_map(|entry| Some((find(entry)?, entry)))
        .collect();
    let unknown: Vec<&YamlEntry> = entries
        .iter()
        .filter(|entry| find(entry).is_none() && !BESIDE.contains(&entry.key.as_str()))
        .collect();
    match actions.as_slice() {
        [] => {
            match unknown.split_first() {
                None => {
                    let message = "expected a step with an action, found none";
                    let hint = format!("the actions are {}", listed(&words));
                    mistakes.hinted(node.line, message, hint);
                }
                Some((first, rest)) => {
                    unknown_action(first, &words, mistakes);
                    for entry in rest {
                        let message = format!("unknown key `{}` in a step", shortened(&entry.key));
                        mistakes.add(entry.line, message);
                    }
                }
            }
            None
        }
        [((word, read), entry)] => {
            if !unknown.is_empty() {
                if entry.value.is_null() {
                    not_indented(word, entry, &unknown, mistakes);
                } else {
                    for entry in unknown {
                        unknown_beside(word, entry, mistakes);
                    }
                    read(&entry.value, mistakes);
                }
                return None;
            }
            read(&entry.value, mistakes)
        }
        several => {
            let found: Vec<&str> = several.iter().map(|((word, _), _)| *word).collect();
            let message = format!("expected one action in a step, found {}", listed(&found));
            let hint = "begin each step with `- ` on a line of its own";
            mistakes.hinted(node.line, message, hint);
            for ((_, read), entry) in several {
                read(&entry.value, mistakes);
            }
            for entry in unknown {
                let message = format!("unknown key `{}` in a step", shortened(&entry.key));
                mistakes.add(entry.line, message);
            }
            None
        }
    }
}

fn unknown_action(entry: &YamlEntry, words: &[&'static str], mistakes: &mut MistakeList) {
    let message = format!("unknown action `{}`", shortened(&entry.key));
    if check_words().contains(&entry.key.as_str()) {
        let hint = format!("it is a check: write `verify: {{{}: …}}`", entry.key);
        mistakes.hinted(entry.line, message, hint);
        return;
    }
    match meant_by(&entry.key, words) {
        Some(word) => mistakes.hinted(entry.line, message, format!("did you mean `{word}`?")),
        None => {
            let hint = format!("the actions are {}", listed(words));
            mistakes.hinted(entry.line, message, hint);
        }
    }
}

/// The keys of an action that are indented as the action itself.
fn not_indented(word: &str, entry: &YamlEntry, unknown: &[&YamlEntry], mistakes: &mut MistakeList) {
    let keys: Vec<&str> = unknown.iter().map(|entry| entry.key.as_str()).collect();
    let message = format!(
        "`{word}`: expected its keys below it, found {} beside it",
        shortened(&listed(&keys))
    );
    let hint =
        format!("indent them further than `{word}`, or write them in braces: `{word}: {{…}}`");
    mistakes.hinted(entry.line, message, hint);
}

fn unknown_beside(word: &str, entry: &YamlEntry, mistakes: &mut MistakeList) {
    let message = format!("unknown key `{}` beside `{word}`", shortened(&entry.key));
    let hint = match meant_by(&entry.key, &BESIDE) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!(
            "a step has one action, with `note` and `timeout` beside it; what belongs to `{word}` stands in its braces"
        ),
    };
    mistakes.hinted(entry.line, message, hint);
}

fn navigate(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    let Some(fields) = MapFields::of(node, "navigate", &[&["url", "until"]], mistakes) else {
        return Some(FlowStepAction::Navigate {
            url: page_address(node, "navigate", mistakes)?,
            until: LoadState::default(),
        });
    };
    let until = fields.get("until").map(|node| {
        let states = [
            ("load", LoadState::Load),
            ("dom", LoadState::Dom),
            ("idle", LoadState::Idle),
        ];
        one_of(node, &fields.name("until"), &states, mistakes)
    });
    let url = match fields.get("url") {
        Some(node) => page_address(node, &fields.name("url"), mistakes),
        None => {
            if !fields.has_unknown {
                mistakes.add(node.line, "`navigate`: expected the key `url`, found none");
            }
            return None;
        }
    };
    Some(FlowStepAction::Navigate {
        url: url?,
        until: transposed(until)?.unwrap_or_default(),
    })
}

/// The address of a page: complete, or a path below the flow's own.
fn page_address(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<String> {
    let expected = "a path such as `/login`, or an address with `http://` or `https://`";
    let url = text(node, owner, expected, mistakes)?;
    let complete = ["http://", "https://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    let is_right = match complete {
        Some(rest) => !rest.is_empty() && !rest.starts_with(['/', '?', '#']),
        None => url.starts_with(['/', '?', '#']) && !url.starts_with("//"),
    };
    let is_plain = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    if is_right && is_plain {
        return Some(url);
    }
    let message = format!("`{owner}`: expected {expected}, found {}", node.describe());
    let hint = if !is_plain {
        "write a space as `%20`".to_owned()
    } else if let Some(rest) = url.strip_prefix("//") {
        format!("did you mean `http://{}`?", shortened(rest))
    } else if complete.is_some() {
        "name a host: `http://localhost:3000/`".to_owned()
    } else if url.contains("://") {
        "only pages of `http` and `https` can be opened".to_owned()
    } else if url.starts_with("localhost") || url.contains(':') {
        format!("did you mean `http://{}`?", shortened(&url))
    } else {
        format!(
            "did you mean `/{}`?",
            shortened(url.trim_start_matches("./"))
        )
    };
    mistakes.hinted(node.line, message, hint);
    None
}

fn click(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    let known = [&TARGET_KINDS[..], &TARGET_REST, &["button", "double"]];
    let Some(fields) = MapFields::of(node, "click", &known, mistakes) else {
        return Some(FlowStepAction::Click {
            target: plain_target(node, "click", mistakes)?,
            button: MouseButton::default(),
            double: false,
        });
    };
    let button = fields.get("button").map(|node| {
        let buttons = [
            ("left", MouseButton::Left),
            ("middle", MouseButton::Middle),
            ("right", MouseButton::Right),
        ];
        one_of(node, &fields.name("button"), &buttons, mistakes)
    });
    let double = fields
        .get("double")
        .map(|node| truth(node, &fields.name("double"), mistakes));
    let target = target_in(&fields, &TARGET_KINDS, mistakes);
    Some(FlowStepAction::Click {
        target: target?,
        button: transposed(button)?.unwrap_or_default(),
        double: transposed(double)?.unwrap_or_default(),
    })
}

fn type_text(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    let rest = ["text", "secret", "append", "press"];
    let known = [&TYPE_TARGET_KINDS[..], &TARGET_REST, &rest];
    let Some(fields) = MapFields::of(node, "type", &known, mistakes) else {
        let expected = "a map such as `{label: Name, text: Ada}`";
        wrong(node, "type", expected, mistakes);
        return None;
    };
    let target = target_in(&fields, &TYPE_TARGET_KINDS, mistakes);
    let append = fields
        .get("append")
        .map(|node| truth(node, &fields.name("append"), mistakes));
    let press = fields
        .get("press")
        .map(|node| key(node, &fields.name("press"), mistakes));
    let typed = typed_text(&fields, mistakes);
    Some(FlowStepAction::Type {
        target: target?,
        text: typed?,
        append: transposed(append)?.unwrap_or_default(),
        press: transposed(press)?,
    })
}

fn typed_text(fields: &MapFields<'_>, mistakes: &mut MistakeList) -> Option<TypedText> {
    match (fields.get("text"), fields.get("secret")) {
        (Some(node), None) => {
            let expected = "the text that is typed, `\"\"` to empty the field";
            any_text(node, &fields.name("text"), expected, mistakes).map(TypedText::Plain)
        }
        (None, Some(node)) => {
            variable(node, &fields.name("secret"), mistakes).map(TypedText::SecretVariable)
        }
        (Some(_), Some(_)) => {
            let message = "`type`: expected `text` or `secret`, found both";
            mistakes.add(fields.line, message);
            None
        }
        (None, None) => {
            if !fields.has_unknown {
                let message = "`type`: expected `text` (what is typed) or `secret` (the name of a variable), found none";
                mistakes.add(fields.line, message);
            }
            None
        }
    }
}

/// The name of an environment variable. What is there instead is not repeated: it may be the secret itself.
fn variable(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<String> {
    let expected = "the name of a variable, such as `TEST_PASSWORD`";
    let name = text(node, owner, expected, mistakes)?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(is_part)
            && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    if is_name(&name) {
        return Some(name);
    }
    let without = name
        .trim_start_matches('$')
        .trim_start_matches('{')
        .trim_end_matches('}');
    let message = format!("`{owner}`: expected {expected}, found another text");
    if name.starts_with('$') && is_name(without) {
        mistakes.hinted(
            node.line,
            message,
            format!("write `{without}`, without `$`"),
        );
    } else {
        let hint = "the value stands in the environment, and never in the flow";
        mistakes.hinted(node.line, message, hint);
    }
    None
}

fn press(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    let known = [&["key"][..], &TARGET_KINDS, &TARGET_REST];
    let Some(fields) = MapFields::of(node, "press", &known, mistakes) else {
        return Some(FlowStepAction::Press {
            key: key(node, "press", mistakes)?,
            target: None,
        });
    };
    let has_target = [&TARGET_KINDS[..], &TARGET_REST]
        .iter()
        .any(|keys| !fields.present(keys).is_empty());
    let target: Option<Option<Target>> =
        has_target.then(|| target_in(&fields, &TARGET_KINDS, mistakes));
    let key = match fields.get("key") {
        Some(node) => key(node, &fields.name("key"), mistakes),
        None => {
            if !fields.has_unknown {
                mistakes.add(node.line, "`press`: expected the key `key`, found none");
            }
            None
        }
    };
    Some(FlowStepAction::Press {
        key: key?,
        target: transposed(target)?,
    })
}

/// Reads a key that is written in the singular for one, and in the plural for several.
fn one_or_list(
    fields: &MapFields<'_>,
    (one, several): (&'static str, &'static str),
    what: &str,
    mistakes: &mut MistakeList,
) -> Option<Vec<String>> {
    match fields.present(&[one, several]).as_slice() {
        [] => {
            if !fields.has_unknown {
                let owner = &fields.owner;
                let message = format!("`{owner}`: expected `{one}` or `{several}`, found none");
                mistakes.add(fields.line, message);
            }
            None
        }
        [key] => {
            let node = fields.get(key)?;
            texts(node, &fields.name(key), what, mistakes)
        }
        _ => {
            let owner = &fields.owner;
            let message = format!("`{owner}`: expected `{one}` or `{several}`, found both");
            mistakes.add(fields.line, message);
            None
        }
    }
}

fn select(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    let known = [&TARGET_KINDS[..], &TARGET_REST, &["option", "options"]];
    let Some(fields) = MapFields::of(node, "select", &known, mistakes) else {
        wrong(
            node,
            "select",
            "a map such as `{label: Size, option: Large}`",
            mistakes,
        );
        return None;
    };
    let target = target_in(&fields, &TARGET_KINDS, mistakes);
    let names = ("option", "options");
    let options = one_or_list(&fields, names, "the label of an option", mistakes);
    Some(FlowStepAction::Select {
        target: target?,
        options: options?,
    })
}

fn upload(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    let known = [&TARGET_KINDS[..], &TARGET_REST, &["file", "files"]];
    let Some(fields) = MapFields::of(node, "upload", &known, mistakes) else {
        wrong(
            node,
            "upload",
            "a map such as `{label: Photo, file: cat.png}`",
            mistakes,
        );
        return None;
    };
    let target = target_in(&fields, &TARGET_KINDS, mistakes);
    let files = one_or_list(&fields, ("file", "files"), "the path of a file", mistakes);
    Some(FlowStepAction::Upload {
        target: target?,
        files: files?.into_iter().map(PathBuf::from).collect(),
    })
}

fn wait(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    let wait = match &node.kind {
        YamlKind::Scalar { text, .. } if text == "idle" => Wait::Idle,
        YamlKind::Scalar { text, .. }
            if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') =>
        {
            Wait::Time(time(node, "wait", mistakes)?)
        }
        YamlKind::Null | YamlKind::Scalar { .. } => {
            let expected = "a time such as `500ms`, `idle`, or a check such as `{text: Hello}`";
            let message = format!("`wait`: expected {expected}, found {}", node.describe());
            match &node.kind {
                YamlKind::Scalar { text, .. } => {
                    let hint = format!("write `wait: {{text: {}}}`", shortened(text));
                    mistakes.hinted(node.line, message, hint);
                }
                YamlKind::Null | YamlKind::List(_) | YamlKind::Map(_) => {
                    mistakes.add(node.line, message);
                }
            }
            return None;
        }
        YamlKind::List(_) => Wait::Until(checks(node, "wait", mistakes)?),
        YamlKind::Map(entries) => match entries.iter().find(|entry| entry.key == "gone") {
            None => Wait::Until(check_map(node, "wait", mistakes)?),
            Some(entry) => {
                for other in entries.iter().filter(|other| other.key != "gone") {
                    let other_key = shortened(&other.key);
                    let message =
                        format!("`wait`: expected `gone` by itself, found `{other_key}` beside it");
                    mistakes.hinted(other.line, message, "make two steps of it");
                }
                let gone = target(&entry.value, "wait.gone", mistakes)?;
                if entries.len() > 1 {
                    return None;
                }
                Wait::Gone(gone)
            }
        },
    };
    Some(FlowStepAction::Wait(wait))
}

fn screenshot(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    const KEYS: [&str; 5] = ["name", "of", "full", "mask", "threshold"];
    let Some(fields) = MapFields::of(node, "screenshot", &[&KEYS], mistakes) else {
        return Some(FlowStepAction::Screenshot(Screenshot {
            name: file_name(node, "screenshot", mistakes)?,
            of: None,
            full: false,
            mask: Vec::new(),
            threshold: None,
        }));
    };
    let name = match fields.get("name") {
        Some(node) => file_name(node, &fields.name("name"), mistakes),
        None => {
            if !fields.has_unknown {
                mistakes.add(
                    node.line,
                    "`screenshot`: expected the key `name`, found none",
                );
            }
            None
        }
    };
    let of = fields
        .get("of")
        .map(|node| target(node, &fields.name("of"), mistakes));
    let full = fields
        .get("full")
        .map(|node| truth(node, &fields.name("full"), mistakes));
    let mask = fields.get("mask").map(|node| {
        let owner = fields.name("mask");
        one_or_more(node, &owner, mistakes, |node, mistakes| {
            target(node, &owner, mistakes)
        })
    });
    let threshold = fields
        .get("threshold")
        .map(|node| share(node, &fields.name("threshold"), mistakes));
    let (of, full) = (transposed(of)?, transposed(full)?.unwrap_or_default());
    if full && of.is_some() {
        let message =
            "`screenshot`: expected `of` (an element) or `full` (the whole page), found both";
        mistakes.add(node.line, message);
        return None;
    }
    Some(FlowStepAction::Screenshot(Screenshot {
        name: name?,
        of,
        full,
        mask: transposed(mask)?.unwrap_or_default(),
        threshold: transposed(threshold)?,
    }))
}

fn fixture(node: &YamlNode, mistakes: &mut MistakeList) -> Option<FlowStepAction> {
    let expected = "a line for the shell, or a list of words such as `[./seed.sh, --small]`";
    if is_plain(node) {
        let line = text(node, "fixture", expected, mistakes)?;
        return Some(FlowStepAction::Fixture(FixtureCommand::Shell(line)));
    }
    let YamlKind::List(items) = &node.kind else {
        wrong(node, "fixture", expected, mistakes);
        return None;
    };
    let Some((program, _)) = items.split_first() else {
        wrong(node, "fixture", expected, mistakes);
        return None;
    };
    text(program, "fixture", "the name of a program", mistakes)?;
    let words: Vec<Option<String>> = items
        .iter()
        .map(|item| any_text(item, "fixture", "a word", mistakes))
        .collect();
    let words: Option<Vec<String>> = words.into_iter().collect();
    Some(FlowStepAction::Fixture(FixtureCommand::Argv(words?)))
}
