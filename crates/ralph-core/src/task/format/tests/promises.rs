//! Checks what holds for every file, whatever is in it: no bytes make a reader panic, a completion changes what it may
//! and nothing else, and what is written reads back. The tests run it on changed samples, `fuzz/` on anything.

use super::api::{
    Change, Edit, Format, Status, Syntax, Task, apply, convert, fix, parse, parse_loosely,
    undo_tampering,
};

/// Tasks of a file that are completed one by one; more would only take longer.
const MAX_TASKS: usize = 6;
/// The lines that a completion may change.
const MAX_LINES: usize = 3;
/// The bytes of the mark of a checkbox, with space around it.
const MAX_MARK: usize = 8;

/// Panics where a file breaks what is promised. Returns the number of completions that were made in it.
pub(crate) fn check(file: &str, bytes: &[u8]) -> usize {
    let _ = parse_loosely(file, bytes);
    let Ok(before) = parse(file, 0, bytes) else {
        return 0;
    };
    for (format, syntax) in [(Format::Native, Syntax::Yaml), (Format::Prd, Syntax::Json)] {
        // A refusal is fine.
        let _ = convert(file, bytes, format, syntax);
    }
    if let Ok(fixed) = fix(file, bytes) {
        let after = parse(file, 0, &fixed.bytes).expect("what was put right can be read");
        assert_eq!(after.tasks.len(), before.tasks.len());
    }
    let mut completed = 0;
    for task in before.tasks.iter().take(MAX_TASKS) {
        let edits = [Edit {
            task: task.id.clone(),
            change: Change::Status(Status::Completed),
        }];
        let Ok(after) = apply(file, bytes, &edits) else {
            continue;
        };
        completed += 1;
        match before.syntax {
            Syntax::Json | Syntax::Yaml => check_lines(bytes, &after, MAX_LINES),
            Syntax::JsonLines => check_lines(bytes, &after, 1),
            Syntax::Markdown => check_marks(bytes, &after, task),
        }
        let now = parse(file, 0, &after).expect("what was written can be read");
        check_tasks(&before.tasks, &now.tasks, task, before.syntax);
        if task.status != Status::Completed {
            let back = undo_tampering(file, bytes, &after, &task.id);
            let back = parse(file, 0, &back.bytes).expect("what was put back can be read");
            let same = before.tasks.iter().zip(&back.tasks);
            same.for_each(|(was, is)| assert_eq!((&was.id, was.status), (&is.id, is.status)));
        }
    }
    completed
}

fn check_tasks(before: &[Task], now: &[Task], completed: &Task, syntax: Syntax) {
    assert_eq!(before.len(), now.len());
    for (was, is) in before.iter().zip(now) {
        let status = if was.id == completed.id {
            Status::Completed
        } else {
            was.status
        };
        assert_eq!((&is.id, is.status), (&was.id, status));
        let mut text = is.text.clone();
        if was.id == completed.id && syntax == Syntax::Markdown {
            // It says which criteria are ticked already, while not all are.
            text.description.clone_from(&was.text.description);
        }
        assert_eq!((&text, &is.links), (&was.text, &was.links));
    }
}

/// A completion changes the mark of the task, or of each of its criteria, and no other byte.
fn check_marks(before: &[u8], after: &[u8], task: &Task) {
    let old: Vec<&[u8]> = before.split(|b| *b == b'\n').collect();
    let new: Vec<&[u8]> = after.split(|b| *b == b'\n').collect();
    assert_eq!(old.len(), new.len());
    let changed = old.iter().zip(&new).filter(|(a, b)| a != b);
    let mut lines = 0;
    for (old, new) in changed {
        lines += 1;
        let head = old.iter().zip(*new).take_while(|(a, b)| a == b).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = tail.take_while(|(a, b)| a == b).count();
        let (gone, come) = (old.len() - head - tail, new.len() - head - tail);
        assert!(
            gone <= MAX_MARK && come <= MAX_MARK,
            "{gone} bytes of a line became {come}"
        );
    }
    assert!(
        lines <= 1 + task.text.acceptance.len(),
        "{lines} lines changed"
    );
}

fn check_lines(before: &[u8], after: &[u8], most: usize) {
    let old: Vec<&[u8]> = before.split(|b| *b == b'\n').collect();
    let new: Vec<&[u8]> = after.split(|b| *b == b'\n').collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev());
    let tail = tail.take_while(|(a, b)| a == b).count();
    let (gone, come) = (old.len() - tail, new.len() - tail);
    assert!(gone <= most && come <= most, "{gone} lines became {come}");
}
