//! Text of the prompt that an agent repeats: it says nothing by that.

use std::collections::HashMap;

/// Lines in a row that are the prompt's and not by chance the same: a claim in the words that were asked for is the
/// agent's own.
const FEWEST_LINES: usize = 4;
/// Places in the prompt that one line is looked for at.
const MOST_PLACES: usize = 64;

/// Blanks every passage of `message` that stands in `prompt` word by word. White space at the ends of lines, and
/// empty lines, make no difference.
pub fn without_prompt(message: &str, prompt: &str) -> String {
    let asked: Vec<&str> = spoken(prompt.lines()).map(|(_, line)| line).collect();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in asked.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    let mut lines: Vec<&str> = message.split('\n').collect();
    let said: Vec<(usize, &str)> = spoken(lines.iter().copied()).collect();
    let mut at = 0;
    while let Some((_, line)) = said.get(at) {
        let found = places.get(line).into_iter().flatten().take(MOST_PLACES);
        let repeated = found.map(|place| {
            let pairs = said[at..].iter().zip(&asked[*place..]);
            pairs
                .take_while(|((_, said), asked)| said == *asked)
                .count()
        });
        let repeated = repeated.max().unwrap_or(0);
        if repeated >= FEWEST_LINES {
            for (number, _) in &said[at..at + repeated] {
                lines[*number] = "";
            }
        }
        at += if repeated >= FEWEST_LINES {
            repeated
        } else {
            1
        };
    }
    lines.join("\n")
}

/// The lines that hold something, with their numbers.
fn spoken<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (usize, &'a str)> {
    let trimmed = lines.map(str::trim).enumerate();
    trimmed.filter(|(_, line)| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "\
# Task A

If you are stuck, end with:

<escalate type=\"stuck\">
<question>What should I do?</question>
</escalate>

When it is done, say:
Task A complete
";

    #[test]
    fn a_repeated_prompt_is_blank_wherever_it_stands() {
        for message in [
            PROMPT.to_owned(),
            format!("Here it is\n{PROMPT}I am at it"),
            PROMPT.replace('\n', "\r\n  "),
            PROMPT.lines().skip(2).collect::<Vec<_>>().join("\n\n"),
        ] {
            let left = without_prompt(&message, PROMPT);
            let left = left.replace("Here it is", "").replace("I am at it", "");
            assert_eq!(left.trim(), "", "{message}");
        }
    }

    #[test]
    fn words_that_were_asked_for_are_the_agents_own() {
        for message in [
            "Task A complete",
            "All tests pass.\n\nWhen it is done, say:\nTask A complete",
            "<escalate type=\"stuck\">\n<question>Which port?</question>\n</escalate>\n",
        ] {
            assert_eq!(without_prompt(message, PROMPT), message);
        }
        let after = format!("{PROMPT}\nDone.\nTask A complete\n");
        let left = without_prompt(&after, PROMPT);
        assert_eq!(left.trim(), "Done.\nTask A complete");
    }
}
