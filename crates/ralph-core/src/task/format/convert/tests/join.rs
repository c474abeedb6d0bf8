//! The files of a folder as one.

use super::super::*;

fn files(texts: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    let file = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
    texts.iter().map(file).collect()
}

#[test]
fn the_tasks_of_all_files_stand_in_one() {
    let text = join(&files(&[
        ("a.yaml", "id: a\ntitle: A\nextra: 1\n"),
        ("b.yaml", "# none\n"),
        ("c.json", r#"{"project": "p", "tasks": [{"id": "c"}]}"#),
    ]));
    let expected = serde_json::json!({
        "tasks": [{"id": "a", "title": "A", "extra": 1}, {"id": "c"}],
        "project": "p",
    });
    let found: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn files_that_disagree_are_not_joined() {
    let error = |texts| join(&files(texts)).unwrap_err().to_string();
    assert_eq!(
        error(&[
            ("a.json", r#"{"project": "p", "tasks": []}"#),
            ("b.json", r#"{"project": "q", "tasks": []}"#)
        ]),
        "b.json: expected the same `project` as in the files before it, found another"
    );
    assert_eq!(
        error(&[
            ("a.json", "[]"),
            ("b.json", r#"[{"id": "b", "passes": true}]"#)
        ]),
        "b.json: expected a file in the format native like those before it, found prd"
    );
}
