//! Reads commands out of a text, roughly as a shell would: enough to see what they name.

/// The commands of a text, each as its words. Of pipes, lists and substitutions every part is one.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        let line = line.trim_start();
        if !line.starts_with('#') {
            split_line(line, &mut found);
        }
    }
    found
}

fn split_line(line: &str, found: &mut Vec<Vec<String>>) {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                // A quoted text is one word, and kept whole: it can be a command line itself.
                quoted = true;
                for inner in chars.by_ref() {
                    if inner == c {
                        break;
                    }
                    word.push(inner);
                }
            }
            '\\' => word.extend(chars.next()),
            c if c.is_whitespace() => end_word(&mut word, &mut quoted, &mut words),
            '#' if word.is_empty() && !quoted => break,
            ';' | '|' | '&' | '(' | ')' | '`' | '\n' => {
                end_word(&mut word, &mut quoted, &mut words);
                end_command(&mut words, found);
            }
            '$' if chars.peek() == Some(&'(') => {}
            '<' | '>' => end_word(&mut word, &mut quoted, &mut words),
            c => word.push(c),
        }
    }
    end_word(&mut word, &mut quoted, &mut words);
    end_command(&mut words, found);
}

fn end_word(word: &mut String, quoted: &mut bool, words: &mut Vec<String>) {
    if !word.is_empty() || *quoted {
        words.push(std::mem::take(word));
    }
    *quoted = false;
}

fn end_command(words: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if !words.is_empty() {
        found.push(std::mem::take(words));
    }
}

/// The words of a program in another language, line by line: marks of its syntax only part them.
pub(super) fn program_lines(text: &str) -> Vec<Vec<String>> {
    text.lines()
        .map(|line| {
            line.split(|c: char| c.is_whitespace() || "\"'`,()[]{};=".contains(c))
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect::<Vec<String>>()
        })
        .filter(|words| !words.is_empty())
        .collect()
}

/// The values of a configuration as command lines: `entry: ./check.sh`, `commands = pytest`, `- make test`.
pub(super) fn values(text: &str) -> String {
    let value = |line: &str| {
        let line = line.trim().trim_start_matches("- ").trim_start();
        let key = line.find(|c: char| !(c.is_alphanumeric() || "-_.\"@".contains(c)));
        let rest = match key {
            Some(at) if line[at..].trim_start().starts_with([':', '=']) => {
                line[at..].trim_start()[1..].trim()
            }
            _ => line,
        };
        let rest = rest
            .trim_end_matches([',', ']'])
            .trim_start_matches('[')
            .trim();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let inside = quote.and_then(|q| rest.strip_prefix(q)?.strip_suffix(q));
        inside.unwrap_or(rest).to_owned()
    };
    text.lines().map(value).collect::<Vec<_>>().join("\n")
}
