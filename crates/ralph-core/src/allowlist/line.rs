//! Reads a line of shell into the simple commands in it, those of substitutions and bodies included.
//!
//! Where shells differ, or a construct is rare, the line is not understood: the reader has no second guess.

use std::collections::BTreeSet;

/// The deepest nesting that is read.
pub(super) const DEEPEST: usize = 40;

/// The number of words that a word becomes when the line runs, as far as its text tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WordCertainty {
    /// It is the text itself.
    Known,
    /// One word with another text.
    One,
    /// Any number of words.
    Any,
}

#[derive(Debug, Clone)]
pub(super) struct Word {
    /// Without quotes; expansions are left out.
    pub(super) text: String,
    pub(super) certainty: WordCertainty,
    /// As it stands in the line.
    pub(super) raw: String,
    is_quoted: bool,
    /// The variable, where the word can be an assignment.
    pub(super) assigns: Option<String>,
}

impl Word {
    pub(super) fn known(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            certainty: WordCertainty::Known,
            raw: text.to_owned(),
            is_quoted: true,
            assigns: None,
        }
    }

    pub(super) fn known_text(&self) -> Option<&str> {
        (self.certainty == WordCertainty::Known).then_some(self.text.as_str())
    }
}

/// A program or builtin with its arguments.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand {
    pub(super) assignments: Vec<Word>,
    pub(super) words: Vec<Word>,
    /// True if its first word is a function that the line has defined before.
    pub(super) calls_function: bool,
}

/// Reads a line, at a depth of nesting that others have reached.
pub(super) fn read_line(line: &str, depth: usize) -> Result<Vec<SimpleCommand>, String> {
    let mut reader = LineReader::new(line, depth)?;
    reader.list(&[], None, true)?;
    Ok(reader.found)
}

struct HereDocument {
    end: String,
    is_quoted: bool,
    strips_tabs: bool,
}

struct LineReader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    pending: Vec<HereDocument>,
    found: Vec<SimpleCommand>,
    /// The functions that are there for sure from here on.
    functions: BTreeSet<String>,
}

type Reading<T = ()> = Result<T, String>;

const RESERVED: [&str; 20] = [
    "if", "then", "elif", "else", "fi", "while", "until", "for", "select", "do", "done", "case",
    "esac", "{", "}", "!", "time", "function", "coproc", "in",
];

/// Names that some shells look up before functions.
const NO_FUNCTIONS: [&str; 18] = [
    ".", ":", "break", "builtin", "command", "continue", "eval", "exec", "exit", "export",
    "readonly", "return", "set", "shift", "source", "times", "trap", "unset",
];

fn unclear<T>(what: &str) -> Reading<T> {
    Err(what.to_owned())
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn ends_word(c: char) -> bool {
    is_blank(c) || matches!(c, '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl LineReader {
    fn new(text: &str, depth: usize) -> Reading<Self> {
        if depth > DEEPEST {
            return unclear("it is nested too deeply");
        }
        if text.contains('\0') {
            return unclear("it has a null character");
        }
        Ok(Self {
            chars: text.chars().collect(),
            at: 0,
            depth,
            pending: Vec::new(),
            found: Vec::new(),
            functions: BTreeSet::new(),
        })
    }

    fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn looks_at(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(ahead, c)| self.peek_at(ahead) == Some(c))
    }

    /// Reads something one level further down.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Reading<T>) -> Reading<T> {
        if self.depth >= DEEPEST {
            return unclear("it is nested too deeply");
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Reads a text that the line holds in another form.
    fn within(&mut self, text: &str, read: impl FnOnce(&mut Self) -> Reading) -> Reading {
        let mut inner = Self::new(text, self.depth + 1)?;
        read(&mut inner)?;
        self.found.append(&mut inner.found);
        Ok(())
    }

    fn skip_blanks(&mut self) -> Reading {
        loop {
            match self.peek() {
                Some(c) if is_blank(c) => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.continued()?,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn continued(&mut self) -> Reading {
        self.at += 2;
        self.refuse_pending()
    }

    /// Shells do not agree on where the text of a here-document begins then.
    fn refuse_pending(&self) -> Reading {
        if self.pending.is_empty() {
            return Ok(());
        }
        unclear("a here-document begins in the middle of a command")
    }

    fn skip_lines(&mut self) -> Reading {
        self.skip_blanks()?;
        while self.peek() == Some('\n') {
            self.newline()?;
            self.skip_blanks()?;
        }
        Ok(())
    }

    fn newline(&mut self) -> Reading {
        self.at += 1;
        for document in std::mem::take(&mut self.pending) {
            self.here_document(&document)?;
        }
        Ok(())
    }

    fn here_document(&mut self, document: &HereDocument) -> Reading {
        let mut text = String::new();
        loop {
            if self.at >= self.chars.len() {
                return unclear("a here-document has no end");
            }
            let rest = self.chars.get(self.at..).unwrap_or_default();
            let line: String = rest.iter().take_while(|c| **c != '\n').collect();
            self.at += line.chars().count() + 1;
            let bare = if document.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                line.as_str()
            };
            if bare == document.end {
                break;
            }
            let behind = bare.strip_prefix(document.end.as_str());
            let is_ambiguous = behind.is_some_and(|rest| rest.trim_start().starts_with(')'));
            let continues = line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
            if is_ambiguous || (continues && !document.is_quoted) {
                return unclear("the end of a here-document is not clear (quote its delimiter)");
            }
            text.push_str(&line);
            text.push('\n');
        }
        // The line break that ends it is the one that ends a command.
        self.at = self.at.min(self.chars.len());
        if document.is_quoted {
            return Ok(());
        }
        self.within(&text, |inner| {
            while let Some(c) = inner.peek() {
                match c {
                    '\\' => inner.at += 2,
                    '$' => {
                        inner.expansion(true, &mut String::new())?;
                    }
                    '`' => inner.backticks(true)?,
                    _ => inner.at += 1,
                }
            }
            Ok(())
        })
    }

    /// Reads commands up to the end, a closing character, or one of some words, which is returned.
    fn list(
        &mut self,
        stops: &[&'static str],
        close: Option<char>,
        is_top: bool,
    ) -> Reading<&'static str> {
        loop {
            self.skip_lines()?;
            match self.peek() {
                None if close.is_none() && stops.is_empty() => {
                    self.refuse_pending_at_end()?;
                    return Ok("");
                }
                None => return unclear("it ends too early"),
                Some(')') if close == Some(')') => {
                    self.refuse_pending()?;
                    self.at += 1;
                    return Ok("");
                }
                Some(';') if stops.contains(&";;") && self.looks_at(";;") => return Ok(";;"),
                Some(';') if stops.contains(&";;") && self.looks_at(";&") => return Ok(";;"),
                _ => {}
            }
            if let Some(word) = self.reserved()
                && let Some(stop) = stops.iter().find(|stop| **stop == word)
            {
                self.at += word.len();
                return Ok(stop);
            }
            let function = self.and_or()?;
            self.skip_blanks()?;
            let is_background = self.peek() == Some('&');
            match self.peek() {
                None | Some(')' | '\n') => {}
                Some(';') if self.looks_at(";;") || self.looks_at(";&") => {
                    if !stops.contains(&";;") {
                        return unclear("there is a `;` too many");
                    }
                }
                Some(';' | '&') => self.at += 1,
                Some(c) => return unclear(&format!("`{c}` is not expected here")),
            }
            if let Some(name) = function.filter(|_| is_top && !is_background) {
                self.functions.insert(name);
            }
        }
    }

    fn refuse_pending_at_end(&self) -> Reading {
        if self.pending.is_empty() {
            return Ok(());
        }
        unclear("a here-document has no end")
    }

    /// The reserved word that is next, where a command begins.
    fn reserved(&self) -> Option<&'static str> {
        RESERVED.into_iter().find(|word| {
            let behind = self.peek_at(word.len());
            self.looks_at(word) && behind.is_none_or(ends_word)
        })
    }

    /// Returns the function that it defines, if that is all it does.
    fn and_or(&mut self) -> Reading<Option<String>> {
        let mut function = self.pipeline()?;
        loop {
            self.skip_blanks()?;
            if !self.looks_at("&&") && !self.looks_at("||") {
                return Ok(function);
            }
            self.at += 2;
            self.skip_lines()?;
            self.pipeline()?;
            function = None;
        }
    }

    fn pipeline(&mut self) -> Reading<Option<String>> {
        let mut function = self.command()?;
        loop {
            self.skip_blanks()?;
            if self.peek() != Some('|') || self.looks_at("||") {
                return Ok(function);
            }
            self.at += if self.looks_at("|&") { 2 } else { 1 };
            self.skip_lines()?;
            self.command()?;
            function = None;
        }
    }

    fn command(&mut self) -> Reading<Option<String>> {
        self.deeper(Self::command_here)
    }

    fn command_here(&mut self) -> Reading<Option<String>> {
        self.skip_blanks()?;
        if self.looks_at("((") {
            return unclear("`((`");
        }
        if self.peek() == Some('(') {
            self.at += 1;
            self.list(&[], Some(')'), false)?;
            return self.redirections();
        }
        let Some(word) = self.reserved() else {
            return self.simple();
        };
        self.at += word.len();
        match word {
            "!" => return self.command(),
            "time" => {
                self.skip_blanks()?;
                if self.looks_at("-p") && self.peek_at(2).is_none_or(ends_word) {
                    self.at += 2;
                }
                return self.command();
            }
            "{" => {
                self.list(&["}"], None, false)?;
            }
            "if" => {
                self.list(&["then"], None, false)?;
                loop {
                    match self.list(&["elif", "else", "fi"], None, false)? {
                        "elif" => self.list(&["then"], None, false)?,
                        "else" => {
                            self.list(&["fi"], None, false)?;
                            break;
                        }
                        _ => break,
                    };
                }
            }
            "while" | "until" => {
                self.list(&["do"], None, false)?;
                self.list(&["done"], None, false)?;
            }
            "for" | "select" => self.for_loop()?,
            "case" => self.case()?,
            "function" => {
                self.skip_blanks()?;
                let name = self.word()?;
                self.skip_blanks()?;
                if self.peek() == Some('(') {
                    return self.function(name);
                }
                return self.function_body(name);
            }
            other => return unclear(&format!("`{other}` at this place")),
        }
        self.redirections()
    }

    fn for_loop(&mut self) -> Reading {
        self.skip_blanks()?;
        let name = self.word()?;
        if !name.known_text().is_some_and(is_name) {
            return unclear("the variable of a `for`");
        }
        let assignment = Word {
            assigns: Some(name.text.clone()),
            ..name
        };
        self.found.push(SimpleCommand {
            assignments: vec![assignment],
            ..SimpleCommand::default()
        });
        self.skip_lines()?;
        if self.looks_at("in") && self.peek_at(2).is_none_or(ends_word) {
            self.at += 2;
            loop {
                self.skip_blanks()?;
                match self.peek() {
                    Some(';' | '\n') => break,
                    Some(c) if !ends_word(c) || self.is_process_substitution() => {
                        self.word()?;
                    }
                    _ => return unclear("the words of a `for`"),
                }
            }
        }
        if self.peek() == Some(';') {
            self.at += 1;
        }
        self.skip_lines()?;
        if self.reserved() != Some("do") {
            return unclear("a `for` without `do`");
        }
        self.at += 2;
        self.list(&["done"], None, false)?;
        Ok(())
    }

    fn case(&mut self) -> Reading {
        self.skip_blanks()?;
        self.word()?;
        self.skip_lines()?;
        if self.reserved() != Some("in") {
            return unclear("a `case` without `in`");
        }
        self.at += 2;
        loop {
            self.skip_lines()?;
            if self.reserved() == Some("esac") {
                self.at += 4;
                return Ok(());
            }
            if self.peek() == Some('(') {
                self.at += 1;
            }
            loop {
                self.skip_blanks()?;
                self.word()?;
                self.skip_blanks()?;
                match self.peek() {
                    Some('|') => self.at += 1,
                    Some(')') => break,
                    _ => return unclear("a pattern of a `case`"),
                }
            }
            self.at += 1;
            if self.list(&[";;", "esac"], None, false)? == "esac" {
                return Ok(());
            }
            self.at += if self.looks_at(";;&") { 3 } else { 2 };
        }
    }

    /// From the `(` behind the name.
    fn function(&mut self, name: Word) -> Reading<Option<String>> {
        self.at += 1;
        self.skip_blanks()?;
        if self.peek() != Some(')') {
            return unclear("a `(` behind a word");
        }
        self.at += 1;
        self.function_body(name)
    }

    fn function_body(&mut self, name: Word) -> Reading<Option<String>> {
        let text = name.known_text().filter(|_| !name.is_quoted);
        if text.is_none_or(|text| text.is_empty() || NO_FUNCTIONS.contains(&text)) {
            return unclear("the name of a function");
        }
        self.skip_lines()?;
        if self.peek() != Some('(') && self.reserved().is_none() {
            return unclear("the body of a function");
        }
        self.command()?;
        Ok(Some(name.text))
    }

    fn redirections(&mut self) -> Reading<Option<String>> {
        loop {
            self.skip_blanks()?;
            let digits =
                (0..).take_while(|ahead| self.peek_at(*ahead).is_some_and(|c| c.is_ascii_digit()));
            let digits = digits.count();
            let is_redirection = matches!(self.peek_at(digits), Some('<' | '>'));
            if !is_redirection && !self.looks_at("&>") {
                return Ok(None);
            }
            self.at += digits;
            self.redirection()?;
        }
    }

    fn is_process_substitution(&self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.peek_at(1) == Some('(')
    }

    fn redirection(&mut self) -> Reading {
        const OPERATORS: [&str; 12] = [
            "&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">",
        ];
        let operator = OPERATORS
            .into_iter()
            .find(|operator| self.looks_at(operator));
        let Some(operator) = operator else {
            return unclear("a redirection");
        };
        self.at += operator.len();
        self.skip_blanks()?;
        if operator == "<<" || operator == "<<-" {
            let document = self.delimiter(operator == "<<-")?;
            self.pending.push(document);
            return Ok(());
        }
        if self.peek().is_none_or(ends_word) && !self.is_process_substitution() {
            return unclear("a redirection without a file");
        }
        self.word()?;
        Ok(())
    }

    fn delimiter(&mut self, strips_tabs: bool) -> Reading<HereDocument> {
        let mut end = String::new();
        let mut is_quoted = false;
        while let Some(c) = self.peek().filter(|c| !ends_word(*c)) {
            self.at += 1;
            match c {
                '\'' | '"' => {
                    is_quoted = true;
                    loop {
                        let next = self.peek();
                        self.at += 1;
                        match next {
                            Some(inner) if inner == c => break,
                            Some(inner) if !matches!(inner, '\n' | '\\' | '$' | '`') => {
                                end.push(inner);
                            }
                            _ => return unclear("the delimiter of a here-document"),
                        }
                    }
                }
                '\\' if self.peek().is_some_and(|next| next != '\n') => {
                    is_quoted = true;
                    end.extend(self.peek());
                    self.at += 1;
                }
                '\\' | '$' | '`' => return unclear("the delimiter of a here-document"),
                c => end.push(c),
            }
        }
        if end.is_empty() {
            return unclear("the delimiter of a here-document");
        }
        Ok(HereDocument {
            end,
            is_quoted,
            strips_tabs,
        })
    }

    fn simple(&mut self) -> Reading<Option<String>> {
        let mut command = SimpleCommand::default();
        let mut is_closed = false;
        let began = self.at;
        loop {
            self.skip_blanks()?;
            let Some(c) = self.peek() else { break };
            if self.looks_at("&>") {
                // In some shells this ends the command, and begins another one.
                is_closed = true;
                self.redirection()?;
                continue;
            }
            if matches!(c, '<' | '>') && !self.is_process_substitution() {
                self.redirection()?;
                continue;
            }
            if c == '('
                && command.words.len() == 1
                && command.assignments.is_empty()
                && let Some(name) = command.words.pop()
            {
                return self.function(name);
            }
            if c == '(' {
                return unclear("a `(` behind a word");
            }
            if ends_word(c) && !self.is_process_substitution() {
                break;
            }
            if is_closed {
                return unclear("words behind `&>`");
            }
            let word = self.word()?;
            let is_number = !word.is_quoted && word.raw.chars().all(|c| c.is_ascii_digit());
            if is_number && matches!(self.peek(), Some('<' | '>')) {
                continue;
            }
            if !command.words.is_empty() && matches!(word.raw.as_str(), "{" | "}") {
                return unclear("a brace among the words of a command");
            }
            if command.words.is_empty() && word.assigns.is_some() {
                command.assignments.push(word);
            } else {
                command.words.push(word);
            }
        }
        if self.at == began {
            return unclear("a command is missing");
        }
        let name = command.words.first().and_then(Word::known_text);
        command.calls_function = name.is_some_and(|name| self.functions.contains(name));
        self.found.push(command);
        Ok(None)
    }

    fn word(&mut self) -> Reading<Word> {
        let began = self.at;
        let mut word = Word {
            text: String::new(),
            certainty: WordCertainty::Known,
            raw: String::new(),
            is_quoted: false,
            assigns: None,
        };
        while let Some(c) = self.peek() {
            if self.is_process_substitution() {
                self.at += 2;
                self.deeper(|reader| reader.list(&[], Some(')'), false))?;
                word.certainty = WordCertainty::Any;
                continue;
            }
            if c == '(' && word.assigns.is_some() && word.raw_ends_with_equals(&self.chars, self.at)
            {
                self.array()?;
                word.certainty = WordCertainty::Any;
                continue;
            }
            if ends_word(c) {
                break;
            }
            self.part(c, &mut word)?;
        }
        if self.at == began {
            return unclear("a word is missing");
        }
        word.raw = self
            .chars
            .get(began..self.at)
            .unwrap_or_default()
            .iter()
            .collect();
        if matches!(word.raw.as_str(), "[" | "[[" | "{" | "}") {
            word.certainty = WordCertainty::Known;
        }
        Ok(word)
    }

    /// The elements of `a=(…)`.
    fn array(&mut self) -> Reading {
        self.at += 1;
        loop {
            self.skip_lines()?;
            match self.peek() {
                Some(')') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(c) if !ends_word(c) || self.is_process_substitution() => {
                    self.deeper(Self::word)?;
                }
                _ => return unclear("the words of an array"),
            }
        }
    }

    fn part(&mut self, c: char, word: &mut Word) -> Reading {
        match c {
            '\\' if self.peek_at(1) == Some('\n') => return self.continued(),
            '\\' => {
                let Some(next) = self.peek_at(1) else {
                    return unclear("it ends with a backslash");
                };
                word.is_quoted = true;
                word.text.push(next);
                self.at += 2;
            }
            '\'' => {
                word.is_quoted = true;
                self.at += 1;
                loop {
                    let next = self.peek();
                    self.at += 1;
                    match next {
                        None => return unclear("a quote is not closed"),
                        Some('\'') => break,
                        Some('\n') => {
                            self.refuse_pending()?;
                            word.text.push('\n');
                        }
                        Some(next) => word.text.push(next),
                    }
                }
            }
            '"' => {
                word.is_quoted = true;
                let certainty = self.double_quoted(&mut word.text)?;
                word.certainty = word.certainty.max(certainty);
            }
            '$' => {
                let certainty = self.expansion(false, &mut word.text)?;
                word.certainty = word.certainty.max(certainty);
            }
            '`' => {
                self.backticks(false)?;
                word.certainty = WordCertainty::Any;
            }
            '{' if self.peek_at(1) == Some('}') => {
                word.text.push_str("{}");
                self.at += 2;
            }
            '=' => {
                let before = word.text.strip_suffix('+').unwrap_or(&word.text);
                let can_assign = !word.is_quoted && word.certainty == WordCertainty::Known;
                if word.assigns.is_none() && can_assign && is_name(before) {
                    word.assigns = Some(before.to_owned());
                }
                if word.text.is_empty() {
                    word.certainty = WordCertainty::Any;
                }
                word.text.push('=');
                self.at += 1;
            }
            c => {
                let is_home = c == '~' && word.text.is_empty();
                if is_home || matches!(c, '*' | '?' | '[' | '{') {
                    word.certainty = WordCertainty::Any;
                }
                word.text.push(c);
                self.at += 1;
            }
        }
        Ok(())
    }

    /// From the opening quote on, behind the closing one.
    fn double_quoted(&mut self, text: &mut String) -> Reading<WordCertainty> {
        self.at += 1;
        let mut certainty = WordCertainty::Known;
        loop {
            let Some(c) = self.peek() else {
                return unclear("a quote is not closed");
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(certainty);
                }
                '\\' => {
                    match self.peek_at(1) {
                        Some('\n') => self.refuse_pending()?,
                        Some(next @ ('$' | '`' | '"' | '\\')) => text.push(next),
                        Some(next) => text.extend(['\\', next]),
                        None => return unclear("a quote is not closed"),
                    }
                    self.at += 2;
                }
                '$' => certainty = certainty.max(self.expansion(true, text)?),
                '`' => {
                    self.backticks(true)?;
                    certainty = certainty.max(WordCertainty::One);
                }
                c => {
                    if c == '\n' {
                        self.refuse_pending()?;
                    }
                    text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    /// From the dollar sign on.
    fn expansion(&mut self, in_quotes: bool, text: &mut String) -> Reading<WordCertainty> {
        let usual = if in_quotes {
            WordCertainty::One
        } else {
            WordCertainty::Any
        };
        match self.peek_at(1) {
            Some('(') if self.peek_at(2) == Some('(') => self.arithmetic()?,
            Some('(') => {
                self.at += 2;
                self.deeper(|reader| reader.list(&[], Some(')'), false))?;
            }
            Some('{') => return Ok(self.parameter()?.max(usual)),
            Some('[') => return unclear("`$[`"),
            Some('\'') if !in_quotes => {
                self.at += 2;
                loop {
                    let next = self.peek();
                    self.at += 1;
                    match next {
                        None => return unclear("a quote is not closed"),
                        Some('\'') => return Ok(WordCertainty::One),
                        Some('\\') if self.peek() == Some('\'') => {
                            return unclear("a quote in `$'…'`");
                        }
                        Some('\\') => self.at += 1,
                        Some('\n') => self.refuse_pending()?,
                        Some(_) => {}
                    }
                }
            }
            Some('"') if !in_quotes => {
                self.at += 1;
                return self.double_quoted(text);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                self.at += 1;
                while self
                    .peek()
                    .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
                {
                    self.at += 1;
                }
            }
            Some('@') => {
                self.at += 2;
                return Ok(WordCertainty::Any);
            }
            Some(c) if c.is_ascii_digit() || "*#?-$!".contains(c) => self.at += 2,
            _ => {
                text.push('$');
                self.at += 1;
                return Ok(WordCertainty::Known);
            }
        }
        Ok(usual)
    }

    /// `$((…))` with numbers, variables and operators.
    fn arithmetic(&mut self) -> Reading {
        self.at += 3;
        let mut open = 2_usize;
        loop {
            let Some(c) = self.peek() else {
                return unclear("`$((` is not closed");
            };
            self.at += 1;
            match c {
                '(' => open += 1,
                ')' => {
                    open -= 1;
                    match (open, self.peek()) {
                        (0, _) => return Ok(()),
                        (1, Some(')')) | (2.., _) => {}
                        _ => return unclear("`$((`"),
                    }
                }
                '$' if self
                    .peek()
                    .is_some_and(|c| c.is_ascii_alphanumeric() || "_#?".contains(c)) => {}
                c if c.is_ascii_alphanumeric() || " \t_+-*/%<>=!&|^~?:,#".contains(c) => {}
                _ => return unclear("what stands in `$((…))`"),
            }
        }
    }

    /// `${…}`.
    fn parameter(&mut self) -> Reading<WordCertainty> {
        self.at += 2;
        let began = self.at;
        if self.peek().is_none_or(|c| c.is_whitespace() || c == '|') {
            return unclear("`${` with a space");
        }
        let mut certainty = WordCertainty::One;
        loop {
            let Some(c) = self.peek() else {
                return unclear("`${` is not closed");
            };
            match c {
                '}' => break,
                '$' => {
                    self.deeper(|reader| reader.expansion(true, &mut String::new()))?;
                }
                '`' => self.backticks(true)?,
                '\\' if self.peek_at(1).is_some_and(|c| !"'\"{}\n".contains(c)) => self.at += 2,
                '\'' | '"' | '\\' | '{' | '(' | ')' | '\n' => {
                    return unclear(&format!("`{c}` in `${{…}}`").replace('\n', "a line break"));
                }
                c => {
                    if c == '@' {
                        certainty = WordCertainty::Any;
                    }
                    self.at += 1;
                }
            }
        }
        let inner = self.chars.get(began..self.at).unwrap_or_default();
        if inner.ends_with(&['@', 'P']) {
            return unclear("`@P`");
        }
        self.at += 1;
        Ok(certainty)
    }

    fn backticks(&mut self, in_quotes: bool) -> Reading {
        self.at += 1;
        let mut text = String::new();
        loop {
            let next = self.peek();
            self.at += 1;
            match (next, self.peek()) {
                (None, _) => return unclear("a backtick is not closed"),
                (Some('`'), _) => break,
                (Some('\\'), Some(escaped)) => {
                    let is_escaped = "`\\$".contains(escaped) || (in_quotes && escaped == '"');
                    if !is_escaped {
                        text.push('\\');
                    }
                    text.push(escaped);
                    self.at += 1;
                }
                (Some(c), _) => text.push(c),
            }
        }
        self.within(&text, |inner| inner.list(&[], None, false).map(|_| ()))
    }
}

impl Word {
    /// True right behind the `=` of an assignment.
    fn raw_ends_with_equals(&self, chars: &[char], at: usize) -> bool {
        self.text.ends_with('=') && at > 0 && chars.get(at - 1) == Some(&'=')
    }
}
