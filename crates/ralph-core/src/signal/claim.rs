//! Finds the claims in a line: sentences that say of a task that it is complete.
//!
//! A sentence claims something if it begins with the task and ends with its completion. A condition, a
//! question or a "no" behind it takes the claim away. Quoted text is hidden before.

use std::sync::LazyLock;

use regex::Regex;

/// A claim that a line makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Claimed {
    /// "Task complete"
    Plain,
    /// "Task US-001 complete", for the agent's own task.
    Own,
    /// The same for another task.
    Other(String),
}

/// Returns the claims of a line, in its order, for an agent that was given `task`.
pub(super) fn claims(line: &str, task: &str) -> Vec<Claimed> {
    sentences(line)
        .into_iter()
        .filter_map(|sentence| read_sentence(&sentence, task))
        .collect()
}

/// Tells whether a line announces what will be said rather than saying it: the line before a claim that
/// only repeats the instructions.
pub(super) fn announces(line: &str) -> bool {
    line.trim_end().ends_with(':') && CONDITION_BEFORE.is_match(line) && SAYING.is_match(line)
}

static SAYING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i)\b(?:says?|print|prints|write|output|repl(?:y|ies)|respond|end with|emit)\b")
});

static CONDITION_BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i)^(?:when|once|if|after|as soon as)\b|\b(?:will|must|should)\b")
});

/// Words before a comma or a dash after which a claim is only spoken of.
static MENTIONS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)\b(?: once|when|whenever|if|until|till|unless|after|before|will|would|should|must|shall
        | say|says|saying|print|prints|output|outputs|write|writes|respond|reply|emit|tell|claim|claims
        | not|cannot|never|need|needs|expect|expects|example|instead|waiting|phrase|wording
        )\b|n't\b",
    )
});

/// The end of a sentence, with the marks that may close it.
static HARD_END: LazyLock<Regex> =
    LazyLock::new(|| compiled(r#"[.!?;…]+[)\]"'*_”’»]*\s+|[✅✔☑✓🎉🏁🚀]\x{FE0F}?\s*"#));

/// The end of a part of a sentence that another sentence can follow.
static SOFT_END: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i),\s+(?:and |so |thus |hence |therefore )?|\s(?:[-–—]{1,3}|→)\s|,? so\s")
});

static ABBREVIATION: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)\b(?:e\.g|i\.e|eg|ie|etc|cf|vs|ex)$"));

/// A word that announces a state, and not an instruction.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)^\W*(?:final |overall |current )?(?:status|state|result|summary|outcome|conclusion|update|verdict|done|finished)\W*:\W*\s",
    )
});

/// Marks before the words of a line: bullets, headings, numbers, boxes.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| compiled(r"^[\s>*_#+•-]*\(?\d{1,3}[.)]\s+"));
static BOX: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^[\s>*_#+•|-]*(?:\[(.?)\x{FE0F}?\]|([☑☐✅⬜]))\s*"));

/// Marks that say "not done".
const DENIALS: &str = "❌✗✘✖☐⬜🚫⏳🔄🚧";
/// Marks that say "done".
const CHECKS: &str = "✅✔☑✓🎉🏁🚀✨👍💯";

/// Bytes of a sentence that are looked at. A line can be as long as a message, and has many sentences.
const MAX_SENTENCE: usize = 600;

/// Sentences of a line that are looked at, at its beginning and at its end.
const MAX_SENTENCES: usize = 200;

/// Longest id of another task that is told of.
const MAX_ID: usize = 130;

struct Sentence<'a> {
    /// From its first word to the end of the line.
    text: &'a str,
    is_first: bool,
}

/// The places of a line where a claim can begin.
fn sentences(line: &str) -> Vec<Sentence<'_>> {
    let (begin, is_open) = begin(line);
    if is_open {
        return later_sentences(line, begin);
    }
    let mut found = vec![Sentence {
        text: &line[begin..],
        is_first: true,
    }];
    if let Some(label) = LABEL.find(&line[begin..]) {
        found.push(Sentence {
            text: &line[begin + label.end()..],
            is_first: false,
        });
    }
    found.extend(later_sentences(line, begin));
    found
}

fn later_sentences(line: &str, begin: usize) -> Vec<Sentence<'_>> {
    let mut starts = Vec::new();
    let mut hard = vec![begin];
    for end in HARD_END.find_iter(line).filter(|end| end.end() > begin) {
        if !ABBREVIATION.is_match(last_bytes(&line[..end.start()], 8)) {
            hard.push(end.end());
            starts.push(end.end());
        }
    }
    for end in SOFT_END.find_iter(line).filter(|end| end.start() >= begin) {
        let from = hard.iter().rev().find(|at| **at <= end.start());
        let before = &line[from.copied().unwrap_or(begin)..end.start()];
        if !MENTIONS.is_match(last_bytes(before, MAX_SENTENCE)) {
            starts.push(end.end());
        }
    }
    starts.sort_unstable();
    starts.dedup();
    if starts.len() > 2 * MAX_SENTENCES {
        starts.drain(MAX_SENTENCES..starts.len() - MAX_SENTENCES);
    }
    starts
        .into_iter()
        .filter(|at| *at > begin)
        .map(|at| Sentence {
            text: &line[at..],
            is_first: false,
        })
        .collect()
}

fn last_bytes(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

/// Where the words of a line begin, and whether a box before them is open.
fn begin(line: &str) -> (usize, bool) {
    let at = NUMBER.find(line).map_or(0, |number| number.end());
    let Some(found) = BOX.captures(&line[at..]) else {
        return (at, false);
    };
    let mark = found.get(1).or_else(|| found.get(2));
    // "[1]" is a number, and "[x]" a box that is ticked.
    let is_open = mark.is_none_or(|mark| {
        let mark = mark.as_str();
        !mark.starts_with(char::is_alphanumeric) && !["✓", "✔", "✅", "☑"].contains(&mark)
    });
    (at + found.get(0).map_or(0, |whole| whole.len()), is_open)
}

fn read_sentence(sentence: &Sentence<'_>, task: &str) -> Option<Claimed> {
    let end = sentence.text.floor_char_boundary(MAX_SENTENCE);
    let text = sentence.text[..end]
        .trim_start_matches(|c: char| !c.is_alphanumeric() && !DENIALS.contains(c));
    if text.starts_with(|c| DENIALS.contains(c)) {
        return None;
    }
    if is_telling(task)
        && let Some(rest) = strip_id(text, task)
    {
        return completes(rest).then_some(Claimed::Own);
    }
    let article = ["the", "this", "my", "our"]
        .iter()
        .find_map(|article| strip_word(text, article));
    let subject = article.map_or(text, str::trim_start);
    let (noun, rest) = ["user story", "story", "task"]
        .iter()
        .find_map(|noun| strip_word(subject, noun).map(|rest| (*noun, rest)))?;
    if let Some(rest) = strip_id(rest, task) {
        let complete = match article {
            Some(_) => has_verb(after_marks(rest)) && completes(rest),
            None => completes(rest),
        };
        return complete.then_some(Claimed::Own);
    }
    let rest = rest.trim_start_matches([' ', '\t', ':', '*', '_', '#']);
    if article.is_some() {
        return (has_verb(rest) && ends_claim(rest)).then_some(Claimed::Plain);
    }
    if ends_claim(rest) {
        return Some(Claimed::Plain);
    }
    let id = other_id(rest)?;
    let named = (noun == "task" && sentence.is_first) || id.contains(|c: char| c.is_ascii_digit());
    named.then(|| Claimed::Other(id.to_owned()))
}

/// Tells whether an id is one by its look, so that it needs no "Task" before it.
fn is_telling(id: &str) -> bool {
    let has = |is: fn(&char) -> bool| id.chars().any(|c| is(&c));
    id.chars().count() >= 3 && has(|c| c.is_alphabetic()) && has(char::is_ascii_digit)
}

/// Strips the id of the own task, and the marks around it.
fn strip_id<'a>(text: &'a str, id: &str) -> Option<&'a str> {
    let mut rest = text;
    loop {
        if let Some(head) = rest.get(..id.len())
            && head.eq_ignore_ascii_case(id)
            && ends_id(&rest[id.len()..])
        {
            return Some(&rest[id.len()..]);
        }
        let mark = rest.chars().next()?;
        if !" \t:*_#`[(\"'“‘«".contains(mark) {
            return None;
        }
        rest = &rest[mark.len_utf8()..];
    }
}

/// "US-001" is not the beginning of "US-001-b", nor "1" that of "1.2".
fn ends_id(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        None => true,
        Some(c) if c.is_alphanumeric() => false,
        Some(c) if "-_.:#+@".contains(c) => !chars.next().is_some_and(char::is_alphanumeric),
        Some(_) => true,
    }
}

/// An id may hold spaces: every cut before a word that could end the claim is tried.
fn other_id(text: &str) -> Option<&str> {
    const NO_ID: [&str; 16] = [
        "not",
        "isn't",
        "never",
        "no",
        "nearly",
        "almost",
        "partially",
        "partly",
        "are",
        "were",
        "aren't",
        "mostly",
        "as",
        "is",
        "has",
        "was",
    ];
    let mut at = 0;
    while let Some(step) = text[at..].find(char::is_whitespace) {
        at += step;
        if at > MAX_ID {
            return None;
        }
        if ends_claim(text[at..].trim_start()) {
            let id = text[..at]
                .trim_matches(|c: char| "[]()*_`\"':|—–".contains(c) || c.is_whitespace())
                .trim_end_matches([' ', '-']);
            let is_id = !id
                .split_whitespace()
                .any(|word| NO_ID.contains(&word.to_ascii_lowercase().as_str()));
            return (!id.is_empty() && is_id).then_some(id);
        }
        at += text[at..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

fn after_marks(text: &str) -> &str {
    text.trim_start_matches(|c: char| {
        c.is_whitespace() || "`*_])\"'”’»:|-–—→=\u{fe0f}".contains(c) || CHECKS.contains(c)
    })
}

/// Reads what stands behind the id: its completion, at once or behind the task's title.
fn completes(rest: &str) -> bool {
    if ends_claim(after_marks(rest)) {
        return true;
    }
    let rest = rest.trim_start_matches(['`', '*', '_', ']', ')', '"', '\'']);
    let title = rest.trim_start();
    if let Some(inside) = title.strip_prefix('(') {
        let after = inside.find(')').map(|end| &inside[end + 1..]);
        return after.is_some_and(|after| ends_claim(after_marks(after)));
    }
    if !title.starts_with([':', '-', '–', '—']) {
        return false;
    }
    let title = title.trim_start_matches([':', '-', '–', '—', ' ']);
    // A title may hold such a word itself: it counts only behind a mark.
    TITLE_END
        .find_iter(title)
        .any(|end| ends_claim(after_marks(&title[end.end()..])))
}

static TITLE_END: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"\s(?:[-–—]{1,3}|→|\|)\s|:\s|[✅✔☑✓]"));

fn has_verb(text: &str) -> bool {
    ["is", "has", "was"]
        .iter()
        .any(|verb| strip_word(text, verb).is_some())
}

/// `[is|has been] [now] complete|completed|done|finished`, and then the end of the sentence.
fn ends_claim(text: &str) -> bool {
    const SKIPPED: [&str; 13] = [
        "is",
        "has",
        "was",
        "been",
        "now",
        "fully",
        "successfully",
        "all",
        "officially",
        "already",
        "marked as",
        "marked",
        "100%",
    ];
    let mut rest = text;
    while let Some(after) = SKIPPED.iter().find_map(|word| strip_word(rest, word)) {
        rest = after.trim_start_matches(|c: char| {
            c.is_whitespace() || "*_:".contains(c) || CHECKS.contains(c)
        });
    }
    ["completed", "complete", "done", "finished"]
        .iter()
        .find_map(|word| strip_word(rest, word))
        .is_some_and(ends_sentence)
}

/// Tells whether the words behind the completion leave it standing.
fn ends_sentence(after: &str) -> bool {
    let tail =
        after.trim_start_matches(|c: char| c.is_whitespace() || "*_])`\"'”’»\u{fe0f}".contains(c));
    let Some(mark) = tail.chars().next() else {
        return true;
    };
    let behind = &tail[mark.len_utf8()..];
    match mark {
        '?' => ANSWERED.is_match(behind),
        // "Task T1 done.md" names a file.
        '.' => !behind.starts_with(char::is_alphanumeric),
        '!' | ';' | '…' => true,
        ',' | '(' => !DENIED.is_match(behind) && !CONDITION.is_match(behind) && is_whole(behind),
        '-' if !behind.starts_with([' ', '-']) => false,
        ':' | '-' | '–' | '—' | '|' | '=' | '→' => {
            !DENIED.is_match(behind) && is_whole(behind)
        }
        c if CHECKS.contains(c) => true,
        _ => ["successfully", "now", "already", "today"]
            .iter()
            .find_map(|word| strip_word(tail, word))
            .map_or_else(
                || ADDED.is_match(tail) && !is_conditional(tail),
                ends_sentence,
            ),
    }
}

/// Words that may go on behind a completion: "complete and verified", "done with all tests passing".
static ADDED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)^(?:and|with|without|as|in full|in time|per)\b"));

/// The answer to "Task US-001 complete?".
static ANSWERED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)^\W{0,4}(?:yes|true)\b|^\s*[✅✔☑✓]"));

/// Words that take a claim back, behind a mark.
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)^[\s:*_`(-]*(?:
          (?:no|nope|false|n/?a|tbd|todo|wip|pending|blocked|failed|failing|partial|partially|partly
             |unknown|unclear|incomplete|unfinished|maybe|in\ progress|almost|nearly|mostly)
          \s*(?:$|[.,;:!?)*_`|—–(-]|because\b|since\b|yet\b)
        | not\b | never\b | once\b | unless\b | until\b | if\b | except\b | assuming\b | provided\b
        | as\ soon\ as\b | subject\ to\b | waiting\b | pending\b | [?❌✗✘✖☐⬜🚫⏳🔄🚧] )",
    )
});

/// Words that make a condition behind a comma; behind a colon they begin to tell what was done.
static CONDITION: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)^\s*(?:when|after|before|as long as)\b"));

fn is_conditional(tail: &str) -> bool {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        compiled(
            r"(?i)^[^.!;]*(?:\?|\b(?:once|when|if|unless|until|after|before|soon|only|pending|except|not|never|far|long|theory|principle|part|almost|nearly)\b)",
        )
    });
    WORDS.is_match(tail)
}

/// "80%" and "2/3" are less than the whole.
fn is_whole(text: &str) -> bool {
    static SHARE: LazyLock<Regex> =
        LazyLock::new(|| compiled(r"^[\s:*_(-]*(\d{1,6})\s*(?:(%)|(?:/|of)\s*(\d{1,6})\b)"));
    let Some(found) = SHARE.captures(text) else {
        return true;
    };
    let number = |at: usize| found.get(at).and_then(|n| n.as_str().parse::<u32>().ok());
    let whole = if found.get(2).is_some() {
        Some(100)
    } else {
        number(3)
    };
    number(1) >= whole
}

/// Strips a leading word, whatever its case, if it ends there.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    let rest = &text[word.len()..];
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric());
    (head.eq_ignore_ascii_case(word) && ends).then_some(rest)
}

/// Written in this file and tested: a pattern that does not compile fails every test.
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file")
}
