//! Reads the checks of `verify` and `wait`.

use super::{
    fields::{MapFields, listed, meant_by, unknown_key},
    mistakes::MistakeList,
    target::{TARGET_KINDS, TARGET_REST, one_name, role_problem, shortened, target, target_in},
    values::{
        UNBOUNDED, any_text, one_or_more, only_true, plain_truth, text, texts, transposed, truth,
        whole, wrong,
    },
    yaml::{ScalarForm, YamlKind, YamlNode},
};
use crate::flow::{
    AccessibilityRules, Check, CountRange, ElementState, RequestPattern, Target, TreeLine,
};

/// Reads the value of one check; a list of values is as many checks.
type ReadCheck = fn(&YamlNode, &str, &mut MistakeList) -> Option<Vec<Check>>;

const CHECKS: [(&str, ReadCheck); 23] = [
    ("text", |node, owner, mistakes| {
        let read = texts(node, owner, "a text that must be seen", mistakes)?;
        Some(read.into_iter().map(Check::Text).collect())
    }),
    ("no_text", |node, owner, mistakes| {
        let read = texts(node, owner, "a text that must not be seen", mistakes)?;
        Some(read.into_iter().map(Check::NoText).collect())
    }),
    ("element", |node, owner, mistakes| {
        targets(node, owner, mistakes, Check::Element)
    }),
    ("no_element", |node, owner, mistakes| {
        targets(node, owner, mistakes, Check::NoElement)
    }),
    ("count", |node, owner, mistakes| {
        one_or_more(node, owner, mistakes, |node, mistakes| {
            count(node, owner, mistakes)
        })
    }),
    ("url", |node, owner, mistakes| {
        Some(vec![Check::Url(address(node, owner, mistakes)?)])
    }),
    ("title", |node, owner, mistakes| {
        let title = text(node, owner, "a title; `*` stands for anything", mistakes)?;
        Some(vec![Check::Title(title)])
    }),
    ("value", |node, owner, mistakes| {
        one_or_more(node, owner, mistakes, |node, mistakes| {
            value(node, owner, mistakes)
        })
    }),
    ("checked", |node, owner, mistakes| {
        states(node, owner, mistakes, ElementState::Checked)
    }),
    ("unchecked", |node, owner, mistakes| {
        states(node, owner, mistakes, ElementState::Unchecked)
    }),
    ("enabled", |node, owner, mistakes| {
        states(node, owner, mistakes, ElementState::Enabled)
    }),
    ("disabled", |node, owner, mistakes| {
        states(node, owner, mistakes, ElementState::Disabled)
    }),
    ("focused", |node, owner, mistakes| {
        states(node, owner, mistakes, ElementState::Focused)
    }),
    ("attribute", |node, owner, mistakes| {
        one_or_more(node, owner, mistakes, |node, mistakes| {
            attribute(node, owner, mistakes)
        })
    }),
    ("style", |node, owner, mistakes| {
        one_or_more(node, owner, mistakes, |node, mistakes| {
            style(node, owner, mistakes)
        })
    }),
    ("tree", |node, owner, mistakes| {
        Some(vec![Check::Tree(tree(node, owner, mistakes)?)])
    }),
    ("no_console_errors", |node, owner, mistakes| {
        let except = exceptions(node, owner, mistakes)?;
        Some(vec![Check::NoConsoleErrors { except }])
    }),
    ("network", |node, owner, mistakes| {
        one_or_more(node, owner, mistakes, |node, mistakes| {
            network(node, owner, mistakes)
        })
    }),
    ("no_failed_requests", |node, owner, mistakes| {
        let except = exceptions(node, owner, mistakes)?;
        Some(vec![Check::NoFailedRequests { except }])
    }),
    ("no_broken_links", |node, owner, mistakes| {
        only_true(node, owner, mistakes).map(|()| vec![Check::NoBrokenLinks])
    }),
    ("no_broken_images", |node, owner, mistakes| {
        only_true(node, owner, mistakes).map(|()| vec![Check::NoBrokenImages])
    }),
    ("no_overlap", |node, owner, mistakes| {
        targets(node, owner, mistakes, Check::NoOverlap)
    }),
    ("accessible", |node, owner, mistakes| {
        Some(vec![Check::Accessible(accessible(node, owner, mistakes)?)])
    }),
];

/// The words of all checks.
pub(super) fn check_words() -> Vec<&'static str> {
    CHECKS.iter().map(|(word, _)| *word).collect()
}

/// Reads one map of checks, or a list of such maps.
pub(super) fn checks(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
) -> Option<Vec<Check>> {
    let all = one_or_more(node, owner, mistakes, |node, mistakes| {
        check_map(node, owner, mistakes)
    })?;
    Some(all.into_iter().flatten().collect())
}

/// Reads a map of one or more checks.
pub(super) fn check_map(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
) -> Option<Vec<Check>> {
    let YamlKind::Map(entries) = &node.kind else {
        let message = format!(
            "`{owner}`: expected a check, such as `{{text: Hello}}`, found {}",
            node.describe()
        );
        mistakes.hinted(node.line, message, not_a_map_hint(node, owner));
        return None;
    };
    if entries.is_empty() {
        wrong(
            node,
            owner,
            "at least one check, such as `{text: Hello}`",
            mistakes,
        );
        return None;
    }
    let words = check_words();
    let mut read = Some(Vec::new());
    for entry in entries {
        let known = CHECKS.iter().find(|(word, _)| *word == entry.key);
        let checks = match known {
            Some((word, read)) => read(&entry.value, &format!("{owner}.{word}"), mistakes),
            None => {
                unknown_key(entry, "check", owner, &words, mistakes);
                None
            }
        };
        read = match (read, checks) {
            (Some(mut read), Some(checks)) => {
                read.extend(checks);
                Some(read)
            }
            _ => None,
        };
    }
    read
}

fn not_a_map_hint(node: &YamlNode, owner: &str) -> String {
    let YamlKind::Scalar { text, .. } = &node.kind else {
        return "indent the checks further than the word before them".to_owned();
    };
    let words = check_words();
    match words.iter().find(|word| **word == text.as_str()) {
        Some(word) if word.starts_with("no_") || *word == "accessible" => {
            format!("write `{owner}: {{{word}: true}}`")
        }
        Some(word) => format!("write `{owner}: {{{word}: …}}`"),
        None => format!("write `{owner}: {{text: {}}}`", shortened(text)),
    }
}

fn targets(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
    check: fn(Target) -> Check,
) -> Option<Vec<Check>> {
    one_or_more(node, owner, mistakes, |node, mistakes| {
        target(node, owner, mistakes).map(check)
    })
}

fn states(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
    state: ElementState,
) -> Option<Vec<Check>> {
    one_or_more(node, owner, mistakes, |node, mistakes| {
        let target = target(node, owner, mistakes)?;
        Some(Check::State { target, state })
    })
}

/// The keys of a check that has a target and something beside it.
fn target_and<'n>(
    node: &'n YamlNode,
    owner: &str,
    keys: &[&'static str],
    mistakes: &mut MistakeList,
) -> Option<(MapFields<'n>, Option<Target>)> {
    let known = [&TARGET_KINDS[..], &TARGET_REST, keys];
    let Some(fields) = MapFields::of(node, owner, &known, mistakes) else {
        let example = match keys {
            ["attribute", ..] => "{css: a, attribute: href, is: /x}",
            ["property", ..] => "{css: h1, property: color, is: red}",
            ["is"] => "{label: Name, is: Ada}",
            _ => "{role: listitem, is: 3}",
        };
        let expected = format!("a map such as `{example}`");
        wrong(node, owner, &expected, mistakes);
        return None;
    };
    let target = target_in(&fields, &TARGET_KINDS, mistakes);
    Some((fields, target))
}

/// Reads a key that must be there.
fn required<T>(
    fields: &MapFields<'_>,
    key: &str,
    mistakes: &mut MistakeList,
    read: impl FnOnce(&YamlNode, &str, &mut MistakeList) -> Option<T>,
) -> Option<T> {
    if let Some(node) = fields.get(key) {
        return read(node, &fields.name(key), mistakes);
    }
    if !fields.has_unknown {
        let message = format!("`{}`: expected the key `{key}`, found none", fields.owner);
        mistakes.add(fields.line, message);
    }
    None
}

fn count(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Check> {
    const KEYS: [&str; 3] = ["is", "least", "most"];
    let (fields, target) = target_and(node, owner, &KEYS, mistakes)?;
    let mut bound = |key: &str| {
        let node = fields.get(key)?;
        let number = whole(node, &fields.name(key), 0..=UNBOUNDED, mistakes);
        Some(number.and_then(|number| usize::try_from(number).ok()))
    };
    let (is, least, most) = (bound("is"), bound("least"), bound("most"));
    let range = match (is, least, most) {
        (Some(is), None, None) => {
            let is = is?;
            CountRange {
                least: is,
                most: Some(is),
            }
        }
        (None, None, None) => {
            if !fields.has_unknown {
                let message = format!("`{owner}`: expected `is`, `least` or `most`, found none");
                mistakes.add(fields.line, message);
            }
            return None;
        }
        (Some(_), _, _) => {
            let message = format!("`{owner}`: expected `is`, or `least` and `most`, found both");
            mistakes.add(fields.line, message);
            return None;
        }
        (None, least, most) => CountRange {
            least: least.unwrap_or(Some(0))?,
            most: match most {
                Some(most) => Some(most?),
                None => None,
            },
        },
    };
    if range.most.is_some_and(|most| most < range.least) {
        let message = format!("`{owner}`: expected `least` to be at most `most`, found it larger");
        mistakes.add(fields.line, message);
        return None;
    }
    Some(Check::Count {
        target: target?,
        range,
    })
}

/// A path or an address, with `*` for anything.
fn address(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<String> {
    let expected = "a path such as `/home`, or an address; `*` stands for anything";
    let url = text(node, owner, expected, mistakes)?;
    if can_be_address(&url) {
        return Some(url);
    }
    let message = format!("`{owner}`: expected {expected}, found {}", node.describe());
    let hint = format!("write `/{0}` or `*{0}*`", shortened(&url));
    mistakes.hinted(node.line, message, hint);
    None
}

fn can_be_address(url: &str) -> bool {
    let begins = ["/", "http://", "https://", "about:"];
    let begins_well = begins.iter().any(|start| url.starts_with(start));
    (begins_well || url.contains('*'))
        && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn value(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Check> {
    let (fields, target) = target_and(node, owner, &["is"], mistakes)?;
    let is = required(&fields, "is", mistakes, |node, key, mistakes| {
        any_text(node, key, "a text, `\"\"` for an empty field", mistakes)
    });
    Some(Check::Value {
        target: target?,
        is: is?,
    })
}

fn attribute(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Check> {
    let (fields, target) = target_and(node, owner, &["attribute", "is"], mistakes)?;
    let name = required(&fields, "attribute", mistakes, |node, key, mistakes| {
        let expected = "the name of an attribute, such as `href`";
        let name = text(node, key, expected, mistakes)?;
        if name.contains(|c: char| c.is_whitespace() || "\"'<>/=".contains(c)) {
            wrong(node, key, expected, mistakes);
            return None;
        }
        Some(name)
    });
    let is = required(&fields, "is", mistakes, |node, key, mistakes| {
        any_text(node, key, "a text", mistakes)
    });
    Some(Check::Attribute {
        target: target?,
        name: name?,
        is: is?,
    })
}

fn style(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Check> {
    let (fields, target) = target_and(node, owner, &["property", "is"], mistakes)?;
    let name = required(&fields, "property", mistakes, property);
    let is = required(&fields, "is", mistakes, |node, key, mistakes| {
        text(node, key, "a value of CSS", mistakes)
    });
    Some(Check::Style {
        target: target?,
        name: name?,
        is: is?,
    })
}

fn property(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<String> {
    let expected = "a property of CSS, such as `background-color`";
    let name = text(node, owner, expected, mistakes)?;
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_own = name.len() > 2 && name.starts_with("--");
    let has_no_space = !name.contains(char::is_whitespace);
    let begins_well = name
        .trim_start_matches('-')
        .starts_with(|c: char| c.is_ascii_lowercase());
    let is_known_form = begins_well && !name.starts_with("--") && name.chars().all(is_part);
    if (is_own && has_no_space) || is_known_form {
        return Some(name);
    }
    let message = format!("`{owner}`: expected {expected}, found {}", node.describe());
    if name.chars().all(|c| c.is_ascii_alphanumeric()) {
        let mut written = String::new();
        for c in name.chars() {
            if c.is_ascii_uppercase() {
                written.push('-');
            }
            written.push(c.to_ascii_lowercase());
        }
        mistakes.hinted(node.line, message, format!("did you mean `{written}`?"));
    } else {
        mistakes.add(node.line, message);
    }
    None
}

/// `true`, or a map of what is let pass.
fn exceptions(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Vec<String>> {
    let Some(fields) = MapFields::of(node, owner, &[&["except"]], mistakes) else {
        return true_or_map(node, owner, "{except: [text]}", mistakes).map(|()| Vec::new());
    };
    required(&fields, "except", mistakes, |node, key, mistakes| {
        texts(node, key, "a part of a message or an address", mistakes)
    })
}

/// `true`, where a map of more would be right too.
fn true_or_map(node: &YamlNode, owner: &str, map: &str, mistakes: &mut MistakeList) -> Option<()> {
    match plain_truth(node) {
        Some(_) => only_true(node, owner, mistakes),
        None => {
            wrong(node, owner, &format!("`true` or `{map}`"), mistakes);
            None
        }
    }
}

fn accessible(
    node: &YamlNode,
    owner: &str,
    mistakes: &mut MistakeList,
) -> Option<AccessibilityRules> {
    const KEYS: [&str; 3] = ["names", "contrast", "except"];
    let mut rules = AccessibilityRules {
        names: true,
        contrast: true,
        except: Vec::new(),
    };
    let Some(fields) = MapFields::of(node, owner, &[&KEYS], mistakes) else {
        return true_or_map(node, owner, "{names, contrast, except: [css]}", mistakes)
            .map(|()| rules);
    };
    if fields.present(&KEYS).is_empty() && !fields.has_unknown {
        wrong(
            node,
            owner,
            "`true`, or a map with `names`, `contrast` or `except`",
            mistakes,
        );
        return None;
    }
    let mut switch = |key: &str| {
        let node = fields.get(key)?;
        Some(truth(node, &fields.name(key), mistakes))
    };
    let (names, contrast) = (switch("names"), switch("contrast"));
    let except = fields
        .get("except")
        .map(|node| texts(node, &fields.name("except"), "a selector of CSS", mistakes));
    rules.names = transposed(names)?.unwrap_or(true);
    rules.contrast = transposed(contrast)?.unwrap_or(true);
    rules.except = transposed(except)?.unwrap_or_default();
    if !rules.names && !rules.contrast {
        let message = format!(
            "`{owner}`: expected `names` or `contrast` to be looked at, found both `false`"
        );
        mistakes.hinted(
            node.line,
            message,
            "take the check out where it is not wanted",
        );
        return None;
    }
    Some(rules)
}

/// The methods of HTTP.
pub(in crate::flow) const METHODS: [&str; 7] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

fn network(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Check> {
    const KEYS: [&str; 4] = ["url", "method", "status", "count"];
    let pattern = |url| RequestPattern {
        url,
        method: None,
        status: None,
        count: None,
    };
    let Some(fields) = MapFields::of(node, owner, &[&KEYS], mistakes) else {
        return address(node, owner, mistakes).map(|url| Check::Network(pattern(url)));
    };
    let url = required(&fields, "url", mistakes, address);
    let method = fields
        .get("method")
        .map(|node| method(node, &fields.name("method"), mistakes));
    let mut number = |key: &str, range| match fields.get(key) {
        Some(node) => whole(node, &fields.name(key), range, mistakes).map(Some),
        None => Some(None),
    };
    let status = number("status", 100..=599);
    let count = number("count", 0..=UNBOUNDED);
    Some(Check::Network(RequestPattern {
        method: transposed(method)?,
        status: status?.and_then(|status| u16::try_from(status).ok()),
        count: count?.and_then(|count| usize::try_from(count).ok()),
        ..pattern(url?)
    }))
}

fn method(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<String> {
    let expected = "a method of HTTP, such as `POST`";
    let method = text(node, owner, expected, mistakes)?.to_ascii_uppercase();
    if METHODS.contains(&method.as_str()) {
        return Some(method);
    }
    let message = format!("`{owner}`: expected {expected}, found {}", node.describe());
    match meant_by(&method, &METHODS) {
        Some(meant) => mistakes.hinted(node.line, message, format!("did you mean `{meant}`?")),
        None => mistakes.hinted(
            node.line,
            message,
            format!("methods are {}", listed(&METHODS)),
        ),
    }
    None
}

/// The deepest line of an accessibility tree, and the most lines.
const MAX_TREE_DEPTH: usize = 32;
const MAX_TREE_LINES: usize = 1000;

fn tree(node: &YamlNode, owner: &str, mistakes: &mut MistakeList) -> Option<Vec<TreeLine>> {
    let expected =
        "lines such as `heading \"Welcome\"`, indented by two spaces below what they are in";
    let mut lines: Vec<(usize, &str)> = Vec::new();
    match &node.kind {
        YamlKind::Scalar { text, form } => {
            // A block begins on the line of its first sign, behind empty lines that are a part of it.
            let empty = text.len() - text.trim_start_matches('\n').len();
            let first = node.line.saturating_sub(empty);
            let is_block = *form == ScalarForm::Block;
            let number = |index| if is_block { first + index } else { node.line };
            lines.extend(
                text.lines()
                    .enumerate()
                    .map(|(index, line)| (number(index), line)),
            );
        }
        YamlKind::List(items) => {
            for item in items {
                match &item.kind {
                    YamlKind::Scalar { text, .. } => lines.push((item.line, text)),
                    YamlKind::Null | YamlKind::List(_) | YamlKind::Map(_) => {
                        wrong(item, owner, expected, mistakes);
                        return None;
                    }
                }
            }
        }
        YamlKind::Null | YamlKind::Map(_) => {
            wrong(node, owner, expected, mistakes);
            return None;
        }
    }
    lines.retain(|(_, line)| !line.trim().is_empty());
    if lines.is_empty() {
        let message = format!("`{owner}`: expected {expected}, found none");
        mistakes.add(node.line, message);
        return None;
    }
    if lines.len() > MAX_TREE_LINES {
        let message = format!("`{owner}`: expected at most {MAX_TREE_LINES} lines, found more");
        mistakes.add(node.line, message);
        return None;
    }
    let mut read: Vec<TreeLine> = Vec::new();
    let mut is_right = true;
    let mut above: Option<usize> = None;
    for (number, line) in lines {
        match tree_line(line, above) {
            Ok(line) => {
                above = Some(line.depth);
                read.push(line);
            }
            Err((message, hint)) => {
                is_right = false;
                mistakes.hinted(number, format!("`{owner}`: {message}"), hint);
                // What follows is compared with a line that could be read.
                above = above.or(Some(0)).max(Some(line_depth(line)));
            }
        }
    }
    is_right.then_some(read)
}

fn line_depth(line: &str) -> usize {
    (line.len() - line.trim_start_matches(' ').len()) / 2
}

/// Reads a line below one of a depth. What is wrong with it, and a way out, where it can't be read.
fn tree_line(line: &str, above: Option<usize>) -> Result<TreeLine, (String, String)> {
    let content = line.trim_start_matches(' ');
    let spaces = line.len() - content.len();
    let depth = spaces / 2;
    let deepest = above.map_or(0, |above| above + 1);
    let found = shortened(content);
    if !spaces.is_multiple_of(2) || depth > deepest || depth > MAX_TREE_DEPTH {
        let message = format!(
            "expected two spaces for each level, {} at most here, found {spaces} before `{found}`",
            deepest * 2
        );
        let hint = "a line is one level deeper than the line that it is in".to_owned();
        return Err((message, hint));
    }
    if let Some(rest) = content.strip_prefix("- ") {
        let message = format!("expected a role of ARIA first, found `{found}`");
        return Err((
            message,
            format!("write `{}`, without `- `", shortened(rest)),
        ));
    }
    let content = content.trim_end();
    let (role, rest) = content
        .split_once(|c: char| c.is_whitespace())
        .unwrap_or((content, ""));
    // A text by itself is a line of the tree, and not an element that could be a target.
    let problem = if role == "text" {
        None
    } else {
        role_problem(role)
    };
    if let Some(hint) = problem {
        let message = format!("expected a role of ARIA first, found `{found}`");
        return Err((message, hint));
    }
    let name = match rest.trim_start() {
        "" => None,
        rest => match quoted(rest) {
            Some(name) => Some(name),
            None => {
                let hint = match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
                    Some((name, _)) => format!(
                        "write `{role} \"{name}\"`; states and values are checks of their own"
                    ),
                    None => format!("write `{role} \"{}\"`", rest.trim_matches('"')),
                };
                let message =
                    format!("expected a role and a name in double quotes, found `{found}`");
                return Err((message, hint));
            }
        },
    };
    Ok(TreeLine {
        depth,
        role: one_name(role.to_owned()),
        name,
    })
}

/// The text between double quotes; `\"` and `\\` stand for a quote and a backslash.
fn quoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?;
    let mut name = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return chars.next().is_none().then_some(name),
            '\\' => match chars.next()? {
                c @ ('"' | '\\') => name.push(c),
                other => {
                    name.push('\\');
                    name.push(other);
                }
            },
            c => name.push(c),
        }
    }
    None
}
