//! Rules about what a task says. What words they look for is in `words`.

use std::{collections::HashMap, sync::LazyLock};

use regex::Regex;

use super::{Finding, Rule};
use crate::task::{Task, TaskText};

/// As much as a commit's subject is shown of.
const MAX_TITLE_CHARS: usize = 72;
/// Shorter than both, a description can't stand alone.
const MIN_DESCRIPTION_WORDS: usize = 5;
const MIN_DESCRIPTION_BYTES: usize = 40;
/// With as many criteria as this a short description is enough.
const CRITERIA_THAT_EXPLAIN: usize = 2;
const MAX_CRITERIA: usize = 10;
const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;
/// A title with so many "and"s is a list of tasks.
const MAX_ANDS: usize = 1;
/// Of a text that a message quotes, as many characters are shown.
const MAX_QUOTE_CHARS: usize = 80;

/// Describes what most tasks of a list have: one that lacks it is worth a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits {
    criteria: bool,
    files: bool,
}

impl Habits {
    /// Returns what more than half of the tasks have.
    pub(super) fn of(tasks: &[&Task]) -> Self {
        let most = |has: &dyn Fn(&TaskText) -> bool| {
            let having = tasks.iter().filter(|task| has(&task.text)).count();
            having * 2 > tasks.len()
        };
        Self {
            criteria: most(&|text| criteria(text).next().is_some()),
            files: most(&names_files),
        }
    }
}

pub(super) fn task(task: &Task, habits: Habits) -> Vec<Finding> {
    let text = &task.text;
    let title = title(text);
    let description = description(text);
    let context = hidden_context(&text.description).map(|words| {
        let words = shortened(words);
        let message = format!("the description points at something it does not contain: {words:?}");
        (Rule::HiddenContext, message)
    });
    title
        .into_iter()
        .chain(description)
        .chain(context)
        .chain(acceptance(task, habits))
        .chain(files(text).filter(|_| habits.files))
        .chain(size(text))
        .map(|(rule, message)| Finding::new(rule, task, message))
        .collect()
}

/// Titles that several tasks have, at each but the first of them.
pub(super) fn same_titles(tasks: &[&Task]) -> Vec<Finding> {
    let mut first: HashMap<String, &Task> = HashMap::new();
    let mut findings = Vec::new();
    for task in tasks {
        let words: Vec<String> = task
            .text
            .title
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        if words.is_empty() {
            continue;
        }
        let earlier = *first.entry(words.join(" ")).or_insert(task);
        if earlier.id != task.id {
            let message = format!("it has the same title as {}", earlier.id);
            findings.push(Finding::new(Rule::DuplicateTitle, task, message));
        }
    }
    findings
}

type RuleMessage = (Rule, String);

fn title(text: &TaskText) -> Option<RuleMessage> {
    let chars = text.title.trim().chars().count();
    if chars == 0 {
        return Some((Rule::TitleMissing, "the title is missing".to_owned()));
    }
    (chars > MAX_TITLE_CHARS).then(|| {
        let message = format!("the title has {chars} characters");
        (Rule::TitleTooLong, message)
    })
}

fn description(text: &TaskText) -> Option<RuleMessage> {
    let description = text.description.trim();
    if description.is_empty() {
        return Some(if criteria(text).next().is_none() {
            let message = "there is neither a description nor acceptance criteria".to_owned();
            (Rule::NothingSaid, message)
        } else {
            let message = "the description is missing".to_owned();
            (Rule::DescriptionMissing, message)
        });
    }
    if criteria(text).count() >= CRITERIA_THAT_EXPLAIN {
        return None;
    }
    if description.eq_ignore_ascii_case(text.title.trim()) {
        let message = "the description only repeats the title".to_owned();
        return Some((Rule::DescriptionTooShort, message));
    }
    let words = description.split_whitespace().count();
    let is_short = words < MIN_DESCRIPTION_WORDS && description.len() < MIN_DESCRIPTION_BYTES;
    is_short.then(|| {
        let message = format!("the description is too short to stand alone: {description:?}");
        (Rule::DescriptionTooShort, message)
    })
}

fn acceptance(task: &Task, habits: Habits) -> Vec<RuleMessage> {
    let text = &task.text;
    if criteria(text).next().is_none() {
        // A task that says nothing at all has been told so already; commands are criteria.
        if text.description.trim().is_empty() || !task.verify.is_empty() || !habits.criteria {
            return Vec::new();
        }
        let message = "there are no acceptance criteria, as most tasks here have".to_owned();
        return vec![(Rule::AcceptanceMissing, message)];
    }
    criteria(text)
        .filter_map(|criterion| {
            let words = shortened(vague(criterion)?);
            let quote = shortened(criterion);
            let message = format!("no one can check {words:?} in the criterion {quote:?}");
            Some((Rule::AcceptanceVague, message))
        })
        .collect()
}

fn names_files(text: &TaskText) -> bool {
    !text.files.is_empty()
        || names_a_file(&text.title)
        || names_a_file(&text.description)
        || text.notes.as_deref().is_some_and(names_a_file)
        || criteria(text).any(names_a_file)
}

fn files(text: &TaskText) -> Option<RuleMessage> {
    (!names_files(text) && text.expects_change).then(|| {
        let message = "no file or folder is named, as in most tasks here".to_owned();
        (Rule::NoFiles, message)
    })
}

fn size(text: &TaskText) -> Vec<RuleMessage> {
    let count = criteria(text).count();
    let ands = text
        .title
        .split_whitespace()
        .filter(|word| word.eq_ignore_ascii_case("and") || matches!(*word, "&" | "+"))
        .count();
    let bytes = text.description.len();
    let reasons = [
        (count > MAX_CRITERIA).then(|| format!("it has {count} acceptance criteria")),
        (bytes > MAX_DESCRIPTION_BYTES).then(|| format!("its description has {bytes} bytes")),
        (ands > MAX_ANDS).then(|| "its title joins several jobs".to_owned()),
    ];
    let said = reasons.into_iter().flatten();
    said.map(|reason| {
        (
            Rule::TooLarge,
            format!("it is large for one task: {reason}"),
        )
    })
    .collect()
}

fn criteria(text: &TaskText) -> impl Iterator<Item = &str> {
    text.acceptance
        .iter()
        .map(|criterion| criterion.trim())
        .filter(|criterion| !criterion.is_empty())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Points at something outside the task, wherever it stands.
const HIDDEN_CONTEXT: &[&str] = &[
    r"as (?:we |was |already )*(?:discussed|agreed|talked about)",
    r"as (?:mentioned|described|explained|specified) (?:earlier|before|previously|in (?:the |our )?(?:chat|meeting|call|thread))",
    r"mentioned (?:earlier|previously)",
    r"(?:same|just) (?:as|like) (?:the )?(?:last|previous) (?:one|time|task|story|ticket)",
    r"the (?:previous|prior) (?:task|story|user story|ticket)",
    r"our (?:previous |prior |last )?(?:conversation|chat|meeting|call|discussion)",
    r"like (?:last time|we did|I said)",
    r"you (?:already )?know (?:what|how|which|where)",
    r"(?:what|the one|the thing) (?:we|I) (?:discussed|talked about|agreed|said)",
];

/// Points at something outside the task only if it stands at the beginning of a sentence: "the
/// output is the same as before" says something.
const HIDDEN_AT_SENTENCE_START: &[&str] = &[
    r"same as (?:before|above|last time)",
    r"as (?:before|usual)",
    r"ditto",
];

/// Points outside the task only in its first paragraph: further down there is something above.
const HIDDEN_IN_FIRST_PARAGRAPH: &[&str] = &[
    r"see above",
    r"as (?:mentioned|described|explained|specified|stated|shown) above",
    r"the above (?:task|story|feature|changes?)",
];

/// Words that no one can check, unless something in the same criterion can be.
const VAGUE: &[&str] = &[
    r"works? (?:well|fine|great|nicely|correctly|properly|as (?:expected|intended|it should))",
    r"(?:looks?|feels?) (?:good|nice|great|fine|right|professional|modern)",
    r"user[- ]friendly",
    r"intuitive(?:ly)?",
    r"properly",
    r"appropriate(?:ly)?",
    r"reasonabl[ey]",
    r"seamless(?:ly)?",
    r"smoothly",
    r"robust(?:ly)?",
    r"elegant(?:ly)?",
    r"polished",
    r"performant",
    r"fast enough",
    r"(?:is|are) (?:very |really )?(?:fast|quick|efficient|scalable|readable|maintainable|clear|simple)",
    r"easy to (?:use|read|understand|maintain|extend)",
    r"clean (?:and \w+ )?(?:code|design|ui|interface|implementation|architecture|layout|structure)",
    r"(?:code|design|ui|interface|implementation|architecture|layout|structure) (?:is|are|looks|stays) clean",
    r"(?:good|nice|great|decent) (?:performance|ux|ui|quality|design|experience|code)",
    r"high[- ]quality",
    r"well[- ](?:tested|documented|structured|designed|written|organi[sz]ed)",
    r"best practices?",
    r"production[- ]ready",
    r"as (?:needed|necessary|appropriate)",
];

/// Leaves the criterion open, whatever else is in it.
const OPEN_ENDED: &[&str] = &[
    r"etc",
    r"and so (?:on|forth)",
    r"tbd",
    r"to be (?:decided|determined)",
];

/// Something in a criterion that can be checked: a number, code, a quoted text.
const CHECKABLE: &str = r#"\d|`[^`]+`|"[^"]+"|“[^”]+”|(?:^|\s)'[^']+'"#;

/// Ends of file names. A list, because "e.g." and "i.e." look like file names too.
const EXTENSIONS: &str = "astro|bash|bat|bzl|c|cc|cfg|cjs|clj|cmake|conf|cpp|cs|css|csv|cts|cxx|dart|ejs|env|erb|erl|ex|\
    exs|fs|go|gql|gradle|graphql|h|hbs|hpp|hs|html|hxx|ini|ipynb|java|jl|js|json|json5|jsonc|jsonl|jsx|kt|kts|\
    less|lock|lua|m|md|mdx|mjs|ml|mod|mts|nim|nix|php|pl|prisma|properties|proto|ps1|py|pyi|r|rb|rs|rst|sass|\
    scala|scss|sh|sol|sql|svelte|svg|swift|tf|toml|ts|tsx|txt|vue|wasm|wgsl|xml|yaml|yml|zig|zsh";

/// A file by its extension or by its well-known name; a path of three parts, or one that begins or
/// ends like a path, or one in code: "and/or" and "input/output" are none of these.
const FILE: &[&str] = &[
    r"\b(?:Makefile|Dockerfile|Justfile|Gemfile|Rakefile|Procfile|README|CHANGELOG|LICENSE)\b",
    r"[\w@.-]+(?:/[\w@.*-]+){2,}",
    r"(?:^|[\s(`'\x22])(?:\.{0,2}/|~/)[\w@.-]+",
    r"\b[\w@.-]+/(?:[\s)`'\x22,;:]|$)",
    r"`[\w@.*-]+(?:/[\w@.*-]+)+/?`",
    r"\b(?:src|lib|app|apps|crates|packages|tests?|docs?|pkg|cmd|internal|scripts|public|components)/[\w@.*-]+",
    r"(?:^|[\s(`'\x22])\.(?:gitignore|github|env|editorconfig|dockerignore)\b",
];

/// Defines what looks like a file and is none: addresses, and products that are named like one.
const NOT_A_FILE: &str =
    r"\b\w+://\S+|\b(?:Node|Next|Nuxt|Nest|Vue|React|Express|Three|Chart|D3|Discord)\.js\b";

/// The words with which a description points at something that it does not contain.
pub(super) fn hidden_context(description: &str) -> Option<&str> {
    static ANYWHERE: LazyLock<Regex> = LazyLock::new(|| words(HIDDEN_CONTEXT));
    static AT_START: LazyLock<Regex> = LazyLock::new(|| {
        compile(&format!(
            r"(?im)(?:^|[.!?]\s+)\s*(?P<found>(?:{})\b)",
            HIDDEN_AT_SENTENCE_START.join("|")
        ))
    });
    static FIRST: LazyLock<Regex> = LazyLock::new(|| words(HIDDEN_IN_FIRST_PARAGRAPH));
    let description = description.trim();
    let first_paragraph = description.split("\n\n").next().unwrap_or(description);
    ANYWHERE
        .find(description)
        .map(|found| found.as_str())
        .or_else(|| {
            let found = AT_START.captures(description)?.name("found")?;
            Some(found.as_str())
        })
        .or_else(|| FIRST.find(first_paragraph).map(|found| found.as_str()))
}

/// The words of a criterion that no one can check.
pub(super) fn vague(criterion: &str) -> Option<&str> {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| words(VAGUE));
    // Not in `/etc/hosts`.
    static OPEN: LazyLock<Regex> = LazyLock::new(|| {
        let any = OPEN_ENDED.join("|");
        compile(&format!(
            r"(?i)(?:^|[\s,(…])(?P<found>(?:{any}))(?:[\s.,;:)…!]|$)"
        ))
    });
    static CAN_CHECK: LazyLock<Regex> = LazyLock::new(|| compile(CHECKABLE));
    if let Some(found) = OPEN.captures(criterion).and_then(|all| all.name("found")) {
        return Some(found.as_str());
    }
    if CAN_CHECK.is_match(criterion) || names_a_file(criterion) {
        return None;
    }
    WORDS.find(criterion).map(|found| found.as_str())
}

/// Returns true if a text names a file or a folder.
pub(super) fn names_a_file(text: &str) -> bool {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        let by_extension = format!(r"[\w*-]+\.(?:{EXTENSIONS})\b");
        compile(&format!("{}|{by_extension}", FILE.join("|")))
    });
    static NONE: LazyLock<Regex> = LazyLock::new(|| compile(NOT_A_FILE));
    NAMED.is_match(&NONE.replace_all(text, " "))
}

/// Matches whole words, in any case. English only: a task in another language passes.
fn words(table: &[&str]) -> Regex {
    compile(&format!(r"(?i)\b(?:{})\b", table.join("|")))
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the tables above are valid patterns; a test compiles them all")
}
