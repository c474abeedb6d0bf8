//! Tests of what `ralph lint --fix` puts right, and what it leaves.

use super::{diff, leaves_text, read, samples};
use crate::task::format::{FixedValue, fix};

fn fixed(file: &str, text: &str) -> (String, Vec<String>) {
    let fixed = fix(file, text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let shown = |change: &FixedValue| {
        let FixedValue {
            task,
            place,
            message,
        } = change;
        format!("{}:{} {task}: {message}", place.line, place.column)
    };
    let changes = fixed.changes.iter().map(shown).collect();
    (String::from_utf8(fixed.bytes).unwrap(), changes)
}

#[test]
fn ids_are_written_as_they_were_read() {
    let text = "[\n  {\n    \"title\": \"Add the cart\",\n    \"passes\": false\n  },\n  {\"title\": \"Add the cart\", \"passes\": true},\n  {\"id\": \"X\", \"title\": \"Pay\", \"passes\": false}\n]\n";
    let (now, changes) = fixed("prd.json", text);
    assert_eq!(
        changes,
        [
            "2:3 add-the-cart: wrote its id, add-the-cart",
            "6:3 add-the-cart-2: wrote its id, add-the-cart-2",
        ]
    );
    let (removed, added) = diff(text, &now);
    assert_eq!(
        removed,
        [
            "    \"passes\": false",
            "  },",
            "  {\"title\": \"Add the cart\", \"passes\": true},"
        ]
    );
    assert_eq!(
        added,
        [
            "    \"id\": \"add-the-cart\",",
            "    \"passes\": false",
            "  },",
            "  {\"title\": \"Add the cart\", \"id\": \"add-the-cart-2\", \"passes\": true},"
        ]
    );
    assert_eq!(
        leaves_text(&read("prd.json", text)),
        leaves_text(&read("prd.json", &now))
    );
}

#[test]
fn an_id_that_is_taken_gets_a_number_unless_something_depends_on_it() {
    let text = "{\"userStories\": [\n{\"id\": \"A\", \"title\": \"One\", \"passes\": false},\n{\"id\": \"A\", \"title\": \"Two\", \"passes\": false},\n{\"id\": \"A-2\", \"title\": \"Three\", \"passes\": false}\n]}";
    let (now, changes) = fixed("prd.json", text);
    assert_eq!(
        changes,
        ["3:1 A-3: gave it an id of its own, A-3: A is another task's"]
    );
    assert_eq!(
        now,
        text.replace("\"A\", \"title\": \"Two\"", "\"A-3\", \"title\": \"Two\"")
    );
    let needed = text.replace("\"Three\",", "\"Three\", \"dependsOn\": [\"A\"],");
    assert!(fix("prd.json", needed.as_bytes()).is_ok_and(|fixed| fixed.changes.is_empty()));
}

#[test]
fn a_misspelled_status_becomes_the_word_of_the_file() {
    let text = "tasks:\n  - id: a # first\n    title: One\n    status: Done\n  - id: b\n    title: Two\n    status: complted # soon\n  - id: c\n    title: Three\n    status: purple\n";
    let (now, changes) = fixed("tasks.yaml", text);
    assert_eq!(
        changes,
        ["5:5 b: its status is \"Done\" instead of \"complted\""]
    );
    assert_eq!(now, text.replace("complted", "Done"));
}

#[test]
fn nothing_is_touched_in_files_that_have_ids_and_known_words() {
    let mut fixed_ones = 0;
    for sample in samples() {
        let (now, changes) = fixed(sample.file, &sample.text);
        let name = sample.name;
        if changes.is_empty() {
            assert_eq!(now, sample.text, "{name}");
            continue;
        }
        fixed_ones += 1;
        let (was, is) = (read(sample.file, &sample.text), read(sample.file, &now));
        let ids = |document: &crate::task::format::Document| -> Vec<String> {
            document
                .tasks
                .iter()
                .map(|task| task.id.to_string())
                .collect()
        };
        assert_eq!(ids(&was), ids(&is), "{name}");
        let (again, more) = fixed(sample.file, &now);
        assert!(more.is_empty() && again == now, "{name}: {more:?}");
        let reading = is.reading.unwrap_or_default();
        assert!(!reading.contains("titles"), "{name}: {reading}\n{now}");
    }
    assert!(fixed_ones >= 30, "{fixed_ones}");
}
