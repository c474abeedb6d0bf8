//! Reads single values: texts, numbers, times, sizes, names.

use std::time::Duration;

use ralph_core::config::{PageSize, TimeText};

use super::{
    fields::{MapFields, meant_by},
    mistakes::MistakeList,
    yaml::{ScalarForm, YamlKind, YamlNode},
};
use crate::flow::{ColorScheme, Emulation, Viewport};

/// The longest name of a flow or of a picture: it becomes a part of the name of a file.
pub(super) const MAX_NAME_BYTES: usize = 100;
/// The end of a range that says only where it begins.
pub(super) const UNBOUNDED: u64 = u32::MAX as u64;
/// The sizes of a page, in pixels.
const SIDES: std::ops::RangeInclusive<u32> = 50..=8192;

/// Says that a value is not what was expected.
pub(super) fn wrong(node: &YamlNode, owner: &str, expected: &str, mistakes: &mut MistakeList) {
    let message = format!("`{owner}`: expected {expected}, found {}", node.describe());
    mistakes.add(node.line, message);
}

/// A scalar as it was written. Numbers and truth values are texts too, so that `404` needs no quotes.
fn scalar_text<'n>(
    node: &'n YamlNode,
    owner: &str,
    expected: &str,
    mistakes: &mut MistakeList,
) -> Option<&'n str> {
    match &node.kind {
        YamlKind::Scalar { text, .. } if text.contains('\0') => {
            let message = format!("`{owner}`: expected {expected}, found a text with a NUL in it");
            mistakes.add(node.line, message);
            None
        }
        YamlKind::Scalar { text, .. } => Some(text),
        YamlKind::Null | YamlKind::List(_) | YamlKind::Map(_) => {
            wrong(node, owner, expected, mistakes);
            None
        }
    }
}

/// A text that is not blank.
pub(super) fn text(
    node: &YamlNode,
    owner: &str,
    expected: &str,
    mistakes: &mut MistakeList,
) -> Option<String> {
    let text = scalar_text(node, owner, expected, mistakes)?;
    if text.trim().is_empty() {
        let message = format!("`{owner}`: expected {expected}, found an empty text");
        mistakes.add(node.line, message);
        return None;
    }
    // The last line of a block ends with a newline that its writer did not mean.
    let is_block = matches!(
        node.kind,
        YamlKind::Scalar {
            form: ScalarForm::Block,
            ..
        }
    );
    let text = if is_block {
        text.trim_end_matches('\n')
    } else {
        text
    };
    Some(text.to_owned())
}

/// A text that may be empty.
pub(super) fn any_text(
    node: &YamlNode,
    owner: &str,
    expected: &str,
    mistakes: &mut MistakeList,
) -> Option<String> {
    scalar_text(node, owner, expected, mistakes).map(str::to_owned)
}

/// A value by itself, or a list of at least one.
pub(super) fn one_or_more<'n, T>(
    node: &'n YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
    mut read: impl FnMut(&'n YamlNode, &mut MistakeList) -> Option<T>,
) -> Option<Vec<T>> {
    let YamlKind::List(items) = &node.kind else {
        return read(node, mistakes).map(|one| vec![one]);
    };
    if items.is_empty() {
        wrong(node, owner, "at least one value", mistakes);
        return None;
    }
    let read: Vec<Option<T>> = items.iter().map(|item| read(item, mistakes)).collect();
    read.into_iter().collect()
}

pub(super) fn texts(
    node: &YamlNode,
    owner: &str,
    expected: &str,
    mistakes: &mut MistakeList,
) -> Option<Vec<String>> {
    one_or_more(node, owner, mistakes, |item, mistakes| {
        text(item, owner, expected, mistakes)
    })
}

pub(super) fn truth(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<bool> {
    let truth = plain_truth(node);
    if truth.is_none() {
        wrong(node, owner, "`true` or `false`", mistakes);
    }
    truth
}

/// A truth value, as YAML writes it.
pub(super) fn plain_truth(node: &YamlNode) -> Option<bool> {
    let YamlKind::Scalar {
        text,
        form: ScalarForm::Plain,
    } = &node.kind
    else {
        return None;
    };
    match text.as_str() {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// `true`, where `false` would say nothing.
pub(super) fn only_true(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<()> {
    let (message, hint) = match plain_truth(node) {
        Some(true) => return Some(()),
        Some(false) => (
            "`false`".to_owned(),
            "take the key out where it is not wanted",
        ),
        None => (node.describe(), "write `true`"),
    };
    let message = format!("`{owner}`: expected `true`, found {message}");
    mistakes.hinted(node.line, message, hint);
    None
}

/// A whole number in a range.
pub(super) fn whole(
    node: &YamlNode,
    owner: &str,
    range: std::ops::RangeInclusive<u64>,
    mistakes: &mut MistakeList,
) -> Option<u64> {
    if let YamlKind::Scalar {
        text,
        form: ScalarForm::Plain,
    } = &node.kind
    {
        let number = text.parse().ok().filter(|number| range.contains(number));
        if number.is_some() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return number;
        }
    }
    let (from, to) = (range.start(), range.end());
    let expected = if *to >= UNBOUNDED {
        format!("a whole number, at least {from}")
    } else {
        format!("a whole number from {from} to {to}")
    };
    wrong(node, owner, &expected, mistakes);
    None
}

/// The share of a picture's pixels.
pub(super) fn share(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<f64> {
    if let YamlKind::Scalar {
        text,
        form: ScalarForm::Plain,
    } = &node.kind
    {
        let is_plain = |c: char| c.is_ascii_digit() || ".eE-+".contains(c);
        let share = text
            .parse::<f64>()
            .ok()
            .filter(|_| text.chars().all(is_plain));
        if let Some(share) = share.filter(|share| (0.0..=1.0).contains(share)) {
            return Some(share);
        }
        if let Some(percent) = text.strip_suffix('%').and_then(|p| p.parse::<f64>().ok()) {
            let message = format!("`{owner}`: expected a share from 0 to 1, found `{text}`");
            mistakes.hinted(node.line, message, format!("write {}", percent / 100.0));
            return None;
        }
    }
    wrong(node, owner, "a share from 0 to 1, such as 0.01", mistakes);
    None
}

pub(super) fn time(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Duration> {
    let expected = "a time with its unit, such as `10s`, `500ms` or `2m`";
    let written = text(node, owner, expected, mistakes)?;
    match TimeText::try_from(written) {
        Ok(time) => Some(time.duration()),
        Err(message) => {
            mistakes.add(node.line, format!("`{owner}`: {message}"));
            None
        }
    }
}

pub(super) const VIEWPORT_NAMES: [(&str, Viewport); 3] = [
    ("desktop", Viewport::DESKTOP),
    ("tablet", Viewport::TABLET),
    ("mobile", Viewport::MOBILE),
];

pub(super) fn viewport(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
) -> Option<Viewport> {
    let expected = "`desktop`, `tablet`, `mobile`, a size such as `1280x720`, or a map with `width` and `height`";
    let keys = ["width", "height", "mobile"];
    if let Some(fields) = MapFields::of(node, owner, &[&keys], mistakes) {
        return viewport_map(&fields, mistakes);
    }
    let written = text(node, owner, expected, mistakes)?;
    if let Some((_, viewport)) = VIEWPORT_NAMES.iter().find(|(name, _)| *name == written) {
        return Some(*viewport);
    }
    let looks_like_size = written.starts_with(|c: char| c.is_ascii_digit());
    if looks_like_size {
        return match PageSize::try_from(written) {
            Ok(size) => Some(Viewport {
                width: size.width,
                height: size.height,
                mobile: false,
            }),
            Err(message) => {
                mistakes.add(node.line, format!("`{owner}`: {message}"));
                None
            }
        };
    }
    let names = VIEWPORT_NAMES.map(|(name, _)| name);
    let message = format!("`{owner}`: expected {expected}, found {}", node.describe());
    match meant_by(&written, &names) {
        Some(name) => mistakes.hinted(node.line, message, format!("did you mean `{name}`?")),
        None => mistakes.add(node.line, message),
    }
    None
}

fn viewport_map(fields: &MapFields<'_>, mistakes: &mut MistakeList) -> Option<Viewport> {
    let mut side = |key: &str| {
        let Some(node) = fields.get(key) else {
            if !fields.has_unknown {
                let message = format!(
                    "`{}`: expected `width` and `height`, found no `{key}`",
                    fields.owner
                );
                mistakes.add(fields.line, message);
            }
            return None;
        };
        let range = u64::from(*SIDES.start())..=u64::from(*SIDES.end());
        let side = whole(node, &fields.name(key), range, mistakes)?;
        u32::try_from(side).ok()
    };
    let (width, height) = (side("width"), side("height"));
    let mobile = fields
        .get("mobile")
        .map(|node| truth(node, &fields.name("mobile"), mistakes));
    Some(Viewport {
        width: width?,
        height: height?,
        mobile: transposed(mobile)?.unwrap_or_default(),
    })
}

pub(super) fn emulation(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
) -> Option<Emulation> {
    let keys = ["scheme", "reduced_motion", "device", "offline"];
    let expected =
        "a map such as `{scheme: dark}`, with `scheme`, `reduced_motion`, `device` or `offline`";
    let Some(fields) = MapFields::of(node, owner, &[&keys], mistakes) else {
        wrong(node, owner, expected, mistakes);
        return None;
    };
    if fields.present(&keys).is_empty() {
        if !fields.has_unknown {
            let message = format!("`{owner}`: expected {expected}, found an empty map");
            mistakes.add(node.line, message);
        }
        return None;
    }
    let scheme = fields
        .get("scheme")
        .map(|node| color_scheme(node, &fields.name("scheme"), mistakes));
    let reduced_motion = fields
        .get("reduced_motion")
        .map(|node| truth(node, &fields.name("reduced_motion"), mistakes));
    let device = fields
        .get("device")
        .map(|node| viewport(node, &fields.name("device"), mistakes));
    let offline = fields
        .get("offline")
        .map(|node| truth(node, &fields.name("offline"), mistakes));
    // `Some(None)` is a value that was wrong.
    Some(Emulation {
        scheme: transposed(scheme)?,
        reduced_motion: transposed(reduced_motion)?,
        device: transposed(device)?,
        offline: transposed(offline)?,
    })
}

/// A key that may be absent: `None` if it is there and wrong.
pub(super) fn transposed<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(None) => None,
        Some(some) => Some(some),
    }
}

fn color_scheme(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<ColorScheme> {
    one_of(
        node,
        owner,
        &[("light", ColorScheme::Light), ("dark", ColorScheme::Dark)],
        mistakes,
    )
}

/// One of a few words.
pub(super) fn one_of<T: Copy>(
    node: &YamlNode,
    owner: &str,
    choices: &[(&'static str, T)],
    mistakes: &mut MistakeList,
) -> Option<T> {
    let words: Vec<&'static str> = choices.iter().map(|(word, _)| *word).collect();
    if let YamlKind::Scalar { text, .. } = &node.kind {
        if let Some((_, value)) = choices.iter().find(|(word, _)| word == text) {
            return Some(*value);
        }
        if let Some(word) = meant_by(text, &words) {
            let message = format!(
                "`{owner}`: expected {}, found {}",
                either(&words),
                node.describe()
            );
            mistakes.hinted(node.line, message, format!("did you mean `{word}`?"));
            return None;
        }
    }
    wrong(node, owner, &either(&words), mistakes);
    None
}

/// Words to choose from: "`a`, `b` or `c`".
pub(super) fn either(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

/// Why a text can't be a part of the name of a file, if it can't.
pub(super) fn name_problem(name: &str) -> Option<&'static str> {
    let is_part = |c: char| c.is_alphanumeric() || " -_.".contains(c);
    if name.len() > MAX_NAME_BYTES {
        return Some("is longer than 100 bytes");
    }
    if !name.chars().all(is_part) {
        return Some("has a sign that is no letter, digit, space, `-`, `_` or `.`");
    }
    if !name.starts_with(char::is_alphanumeric) {
        return Some("does not begin with a letter or a digit");
    }
    if name.ends_with([' ', '.']) {
        return Some("ends with a space or a full stop");
    }
    None
}

/// A name that becomes a part of the names of files.
pub(super) fn file_name(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
) -> Option<String> {
    let name = text(node, owner, "a name, such as `home`", mistakes)?;
    let Some(problem) = name_problem(&name) else {
        return Some(name);
    };
    let message = format!(
        "`{owner}`: expected a name that can be a part of the name of a file, found {}, which {problem}",
        node.describe()
    );
    mistakes.hinted(node.line, message, "use letters, digits, `-` and `_`");
    None
}
