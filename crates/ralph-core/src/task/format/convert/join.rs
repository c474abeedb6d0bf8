//! The files of a folder as one file: its tasks one after the other.
//!
//! Only files of one format, and only if what stands around their tasks does not disagree: nothing
//! is left out, and nothing decided.

use super::load::{self, Doc, FileShape};
use super::value;
use crate::task::format::error::{Fault, FormatResult};
use crate::task::format::layout::TASKS;
use crate::task::format::{FormatError, Syntax, parse_tree};

/// One JSON text with the tasks of all files, which are given by name and content.
pub fn join(files: &[(String, Vec<u8>)]) -> Result<String, FormatError> {
    let mut whole: Option<Doc> = None;
    for (name, bytes) in files {
        let added = add(&mut whole, name, bytes);
        added.map_err(|fault| fault.into_error(name, bytes))?;
    }
    let whole = whole.map_or_else(|| value::Value::List(Vec::new()), |doc| load::unload(&doc));
    Ok(value::render(&whole, Syntax::Json))
}

fn add(whole: &mut Option<Doc>, name: &str, bytes: &[u8]) -> FormatResult<()> {
    let Some(tree) = parse_tree(name, bytes)? else {
        return Ok(());
    };
    let mut doc = load::load(&tree)?;
    // A list at the root has no room for what another file says about the project.
    if !matches!(doc.shape, FileShape::Named { .. }) {
        doc.shape = FileShape::Named {
            list: TASKS.to_owned(),
            before: 0,
        };
    }
    let Some(known) = whole else {
        *whole = Some(doc);
        return Ok(());
    };
    if known.format != doc.format {
        let (one, other) = (known.format.as_str(), doc.format.as_str());
        let message =
            format!("expected a file in the format {one} like those before it, found {other}");
        return Err(Fault::nowhere(message));
    }
    for (name, said) in doc.header {
        match value::get(&known.header, &name) {
            None => known.header.push((name, said)),
            Some(already) if *already == said => {}
            Some(_) => {
                let message =
                    format!("expected the same `{name}` as in the files before it, found another");
                return Err(Fault::nowhere(message));
            }
        }
    }
    known.tasks.append(&mut doc.tasks);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
