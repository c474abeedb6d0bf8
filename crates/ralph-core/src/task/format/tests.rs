//! Tests of the formats, by what they are about. The helpers here only shorten calls; expectations
//! stand in the tests.

mod appending;
mod errors;
mod fixing;
mod mutations;
mod named;
mod promises;
mod properties;
mod putting_back;
mod shapes;
mod speed;
mod taskmaster;
mod wild;
mod writing;
mod writing_named;
mod writing_yaml;

/// The part of the formats that `promises` asks: it is also part of the programs in `fuzz/`.
mod api {
    pub(super) use crate::task::{
        Status, Task,
        format::{
            Change, Edit, Format, Syntax, apply, convert, fix, parse, parse_loosely, undo_tampering,
        },
    };
}

use super::{Change, Document, Edit, apply, parse};
use crate::task::{Status, TaskId};
use wild::samples;

fn read(file: &str, text: &str) -> Document {
    parse(file, 0, text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn error(file: &str, text: &str) -> String {
    match parse(file, 0, text.as_bytes()) {
        Ok(document) => panic!("should not be read: {document:?}"),
        Err(error) => error.to_string(),
    }
}

fn id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

fn edit(task: &str, change: Change) -> Edit {
    Edit {
        task: id(task),
        change,
    }
}

fn change(file: &str, text: &str, task: &str, change: Change) -> String {
    let bytes = apply(file, text.as_bytes(), &[edit(task, change)])
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    String::from_utf8(bytes).unwrap()
}

fn set(file: &str, text: &str, task: &str, status: Status) -> String {
    change(file, text, task, Change::Status(status))
}

/// The lines that are only in the one and only in the other of two texts, in order.
fn diff<'a>(old: &'a str, new: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let same =
        |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    (
        old[head..old.len() - tail].to_vec(),
        new[head..new.len() - tail].to_vec(),
    )
}

/// The id and the text of each task.
fn leaves_text(document: &Document) -> Vec<(String, String)> {
    let tasks = document.tasks.iter();
    tasks
        .map(|task| (task.id.to_string(), task.text.description.clone()))
        .collect()
}
