//! A new task at the end of a file, written the way its siblings are: their names for fields, the
//! order they have them in, their indentation. Or a file of its own.
//!
//! Never touches the tasks that are there.

use super::error::{Fault, FormatResult};
use super::fields::Field;
use super::layout::{self, Layout};
use super::render::{Value, yaml_member_value, yaml_scalar};
use super::rules::{self, NamedFile, NamedFormat};
use super::splice::{self, BracketLayout, Splice, spliced};
use super::status::Vocabulary;
use super::tree::{At, Kind, Style, Tree};
use super::{Document, Format, FormatError, Syntax, checked_text, parse_bytes, parse_tree};
use crate::task::{Status, Task, TaskId, VerifyCommand};

/// A task to be written for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    pub id: TaskId,
    pub title: String,
    pub description: String,
    pub acceptance: Vec<String>,
    pub verify: Vec<VerifyCommand>,
    pub depends_on: Vec<TaskId>,
    pub labels: Vec<String>,
    pub priority: Option<i64>,
}

/// The file with the task added at its end.
pub fn append(file_name: &str, bytes: &[u8], task: &NewTask) -> Result<Vec<u8>, FormatError> {
    appended(file_name, bytes, task)
        .map_err(|fault| fault.of(&task.id).into_error(file_name, bytes))
}

/// A native YAML file that holds one task.
pub fn render_new(task: &NewTask) -> String {
    let members = SiblingMembers::default().of(task, Format::Native);
    let mut text = block_lines(&members, "", "\n", Style::Plain);
    text.push('\n');
    text
}

fn appended(file_name: &str, bytes: &[u8], task: &NewTask) -> FormatResult<Vec<u8>> {
    let before = parse_bytes(file_name, 0, bytes)?;
    if before.tasks.iter().any(|known| known.id == task.id) {
        return Err(Fault::nowhere(
            "expected an id of its own, found one that is taken",
        ));
    }
    if let Some(own) = rules::named(file_name) {
        return appended_by(own, file_name, &before, (bytes, task));
    }
    let text = match parse_tree(file_name, bytes)? {
        Some(tree) => {
            let layout = layout::detect(&tree)?;
            let splice = splice_in(&tree, &layout, task)?;
            spliced(tree.source, 0, tree.source.len(), &[splice])
        }
        None => first_of_yaml(bytes, task),
    };
    let after = parse_bytes(file_name, 0, text.as_bytes()).ok();
    let good = after.is_some_and(|after| {
        let same =
            |(a, b): (&Task, &Task)| (&a.id, &a.text, a.status) == (&b.id, &b.text, b.status);
        after.tasks.len() == before.tasks.len() + 1
            && after.meta == before.meta
            && before.tasks.iter().zip(&after.tasks).all(same)
            && after.tasks.last().is_some_and(|last| says(last, task))
    });
    if good {
        Ok(text.into_bytes())
    } else {
        Err(Fault::nowhere(
            "can't be added without touching other tasks",
        ))
    }
}

/// The same for a format with a writer of its own: the first text that says what was meant.
fn appended_by(
    own: &NamedFormat,
    file_name: &str,
    before: &Document,
    (bytes, task): (&[u8], &NewTask),
) -> FormatResult<Vec<u8>> {
    let file = NamedFile::one(file_name, checked_text(bytes)?);
    let mut texts = (own.appended)(&file, task)?.into_iter();
    let good = texts.find(|text| {
        let Ok(mut after) = parse_bytes(file_name, 0, text.as_bytes()) else {
            return false;
        };
        let Some(at) = after.tasks.iter().position(|found| found.id == task.id) else {
            return false;
        };
        let new = after.tasks.remove(at);
        let same = |(a, b): (&Task, &Task)| {
            (&a.id, &a.text, a.status, &a.links) == (&b.id, &b.text, b.status, &b.links)
        };
        after.tasks.len() == before.tasks.len()
            && after.meta == before.meta
            && before.tasks.iter().zip(&after.tasks).all(same)
            && says_in_words(&new, task)
    });
    good.map(String::into_bytes)
        .ok_or_else(|| Fault::nowhere("can't be added without touching other tasks"))
}

/// Returns true if a task says what was meant, its commands in whatever form.
fn says_in_words(task: &Task, new: &NewTask) -> bool {
    let same = |(a, b): (&VerifyCommand, &VerifyCommand)| a.to_string() == b.to_string();
    let as_meant = Task {
        verify: new.verify.clone(),
        ..task.clone()
    };
    task.verify.len() == new.verify.len()
        && task.verify.iter().zip(&new.verify).all(same)
        && says(&as_meant, new)
}

fn says(task: &Task, new: &NewTask) -> bool {
    task.id == new.id
        && task.status == Status::Open
        && task.text.title == new.title
        && task.text.acceptance == new.acceptance
        && task.verify == new.verify
        && task.links.depends_on == new.depends_on
}

fn first_of_yaml(bytes: &[u8], task: &NewTask) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    let newline = splice::newline(&text);
    if !text.is_empty() && !text.ends_with(['\n', '\u{feff}']) {
        text.push_str(newline);
    }
    let members = SiblingMembers::default().of(task, Format::Native);
    text.push_str("- ");
    text.push_str(&block_lines(&members, "  ", newline, Style::Plain));
    text.push_str(newline);
    text
}

fn splice_in(tree: &Tree<'_>, layout: &Layout, task: &NewTask) -> FormatResult<Splice> {
    let Some(list) = layout.list else {
        return Err(Fault::nowhere(
            "can't be added to a file that holds one task; put it into a file of its own",
        ));
    };
    if tree.kind(list) == Kind::Map {
        return Err(Fault::at(
            tree.start(list),
            "can't be added to tasks that stand in an object; write it into the file by hand",
        ));
    }
    let members = SiblingMembers::like(tree, layout).of(task, layout.format);
    let Some(last) = tree.children(list).last() else {
        return Ok(into_empty_list(tree, list, &members));
    };
    if !splice::is_block(tree, list) {
        let brackets = BracketLayout::of(tree, last);
        let object = brackets.object(&members);
        // A single element on the line of its bracket does not show what is between two.
        let gap = splice::element_gap(tree, list, last).filter(|gap| !gap.is_empty());
        let gap = gap.unwrap_or(&brackets.comma[1..]);
        let end = tree.end(last);
        return Ok(at(end, format!(",{gap}{object}")));
    }
    let source = tree.source;
    let newline = splice::newline(source);
    let mut indent = splice::column(source, tree.start(last));
    let line = source[..tree.start(last)]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let before = &source[line..tree.start(last)];
    let dash = if before.trim() == "-" {
        before.to_owned()
    } else {
        format!("{}- ", indent.get(2..).unwrap_or_default())
    };
    let element = if splice::is_block(tree, last) {
        let key_style = tree.node(last + 1).style;
        block_lines(&members, &indent, newline, key_style)
    } else {
        indent.clear();
        BracketLayout::of(tree, last).object(&members)
    };
    let end = source[..tree.end(last)].trim_end().len();
    // An empty value ends before its colon.
    let end = splice::line_end(source, end);
    Ok(at(end, format!("{newline}{dash}{element}")))
}

fn at(offset: usize, text: String) -> Splice {
    Splice {
        start: offset,
        end: offset,
        text,
    }
}

fn into_empty_list(tree: &Tree<'_>, list: At, members: &[(String, Value)]) -> Splice {
    let source = tree.source;
    let indent = splice::indentation(source, tree.start(list));
    let newline = splice::newline(source);
    let parent_is_block = list > 0 && splice::is_block(tree, 0);
    let (start, text) = if parent_is_block {
        let lines = block_lines(members, &format!("{indent}    "), newline, Style::Plain);
        let key_end = tree.end(list - 1);
        let colon = source[key_end..]
            .find(':')
            .map_or(key_end, |at| key_end + at + 1);
        (colon, format!("{newline}{indent}  - {lines}"))
    } else if tree.syntax == Syntax::Yaml && list == 0 {
        let lines = block_lines(members, "  ", newline, Style::Plain);
        (tree.start(list), format!("- {lines}"))
    } else {
        let unit = if list > 0 {
            BracketLayout::of(tree, 0).unit
        } else {
            "  ".to_owned()
        };
        let mut brackets = BracketLayout::fresh(source, tree.syntax, &format!("{indent}{unit}"));
        brackets.members = brackets.members.map(|_| format!("{indent}{unit}{unit}"));
        brackets.unit = unit;
        let object = brackets.object(members);
        let text = match &brackets.members {
            Some(_) => format!("[{newline}{}{object}{newline}{indent}]", brackets.close),
            None => format!("[{object}]"),
        };
        (tree.start(list), text)
    };
    Splice {
        start,
        end: tree.end(list),
        text,
    }
}

/// Members as lines of a YAML block. The first has no indentation: a dash or nothing precedes it.
fn block_lines(
    members: &[(String, Value)],
    indent: &str,
    newline: &str,
    key_style: Style,
) -> String {
    let lines: Vec<String> = members
        .iter()
        .map(|(name, value)| {
            let value = yaml_member_value(value, Style::Plain, indent, newline);
            format!("{}:{value}", yaml_scalar(name, key_style))
        })
        .collect();
    lines.join(&format!("{newline}{indent}"))
}

/// The members that siblings have, in order: what a new task should have too.
#[derive(Default)]
struct SiblingMembers {
    known: Vec<(Field, String, Sibling)>,
    open_word: Option<String>,
    /// They say that they are done in another way than by `passes`.
    says_otherwise: bool,
}

/// Describes what a sibling has in the place.
#[derive(Clone, Copy, PartialEq)]
enum Sibling {
    Number(Option<i64>),
    List,
    Other,
    /// No sibling has it.
    Absent,
}

impl SiblingMembers {
    fn like(tree: &Tree<'_>, layout: &Layout) -> Self {
        let maps = layout
            .tasks
            .iter()
            .rev()
            .filter(|at| tree.kind(**at) == Kind::Map);
        let mut known: Vec<(Field, String, Sibling)> = Vec::new();
        for &map in maps.take(50) {
            let first = known.is_empty();
            for (key, value) in tree.members(map) {
                let name = tree.text(key).into_owned();
                let Some(field) = Field::of(&name) else {
                    continue;
                };
                // The last sibling gives the order; earlier ones only names it does not have.
                let wanted = first || !is_state(field);
                if wanted && known.iter().all(|(seen, ..)| *seen != field) {
                    let sibling = match tree.kind(value) {
                        Kind::Number => Sibling::Number(tree.text(value).parse().ok()),
                        Kind::List => Sibling::List,
                        _ => Sibling::Other,
                    };
                    known.push((field, name, sibling));
                }
            }
        }
        let is_word = |field: Field| matches!(field, Field::Status | Field::State);
        let has_word = known.iter().any(|(field, ..)| is_word(*field));
        let rules = layout.format.rules();
        let file = Vocabulary::of(tree, layout);
        let word = || match rules.open_word {
            Some(open) => file.word(Status::Open, open),
            None => (rules.word)(Status::Open).to_owned(),
        };
        let by_passes = file.done_flag().map(|(field, _)| field == Field::Passes);
        // A flag in an outer item would make inner ones without any its text.
        let by_share = matches!(file.measure(), Some((Field::Progress, _)));
        let silent = file.word_member().is_none() && !layout.is_nested() && !by_share;
        Self {
            says_otherwise: !by_passes.unwrap_or(silent),
            known,
            open_word: has_word.then(word),
        }
    }

    fn of(mut self, task: &NewTask, format: Format) -> Vec<(String, Value)> {
        let fresh = self.known.is_empty();
        for (field, name) in format.rules().members {
            let stands_in = |seen: Field| match field {
                Field::Acceptance => matches!(seen, Field::Criteria | Field::ExitCriteria),
                Field::Dependencies => matches!(seen, Field::DependsOn | Field::After),
                Field::DependsOn => matches!(seen, Field::Dependencies | Field::After),
                _ => false,
            };
            let has = |seen: Field| seen == *field || stands_in(seen);
            let is_flag = *field == Field::Passes && !self.says_otherwise;
            let state = is_state(*field) && !is_flag && (!fresh || self.says_otherwise);
            if !state && !self.known.iter().any(|(seen, ..)| has(*seen)) {
                self.known
                    .push((*field, (*name).to_owned(), Sibling::Absent));
            }
        }
        let has = |field: Field| self.known.iter().any(|(seen, ..)| *seen == field);
        let (has_acceptance, has_criteria) = (has(Field::Acceptance), has(Field::Criteria));
        let (has_depends, has_dependencies) = (has(Field::DependsOn), has(Field::Dependencies));
        let known = self.known.iter().filter(|(field, ..)| match field {
            Field::Criteria => !has_acceptance,
            Field::ExitCriteria => !has_acceptance && !has_criteria,
            Field::Dependencies => !has_depends,
            Field::After => !has_depends && !has_dependencies,
            _ => true,
        });
        let word = self.open_word.as_deref();
        known
            .filter_map(|(field, name, sibling)| {
                let value = value_of(task, *field, *sibling, word)?;
                Some((name.clone(), value))
            })
            .collect()
    }
}

fn is_state(field: Field) -> bool {
    use Field::{Attempts, Blocked, Done, MaxAttempts, Notes, Passes, State, Status};
    matches!(
        field,
        Passes | Done | Status | State | Blocked | Attempts | MaxAttempts | Notes
    )
}

fn value_of(task: &NewTask, field: Field, sibling: Sibling, word: Option<&str>) -> Option<Value> {
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    // A list that siblings have is written even when empty; one that only we would add is not.
    let list = |items: &[String]| {
        (!items.is_empty() || sibling == Sibling::List).then(|| Value::texts(items))
    };
    match field {
        Field::Id => match (sibling, task.id.as_str().parse::<i64>()) {
            (Sibling::Number(_), Ok(id)) if id.to_string() == task.id.as_str() => {
                Some(Value::integer(id))
            }
            _ => text(task.id.as_str()),
        },
        Field::Title => text(&task.title),
        Field::Description => text(&task.description),
        Field::Acceptance | Field::Criteria | Field::ExitCriteria if sibling == Sibling::Other => {
            text(&task.acceptance.join("\n"))
        }
        Field::Acceptance | Field::Criteria | Field::ExitCriteria => list(&task.acceptance),
        Field::DependsOn | Field::Dependencies | Field::After => {
            let ids: Vec<String> = task.depends_on.iter().map(TaskId::to_string).collect();
            match (sibling, ids.is_empty()) {
                (Sibling::List | Sibling::Absent, _) => list(&ids),
                (_, true) => Some(Value::Null),
                (_, false) => text(&ids.join(", ")),
            }
        }
        Field::Verify => (!task.verify.is_empty()).then(|| commands(&task.verify)),
        Field::Labels => (!task.labels.is_empty()).then(|| Value::texts(&task.labels)),
        Field::Priority => task.priority.map(Value::integer),
        Field::Passes | Field::Done => Some(Value::Bool(false)),
        Field::Status | Field::State => text(word.unwrap_or("open")),
        Field::Blocked => Some(Value::Bool(false)),
        Field::Attempts => Some(Value::integer(0)),
        Field::MaxAttempts => match sibling {
            Sibling::Number(Some(max)) => Some(Value::integer(max)),
            _ => None,
        },
        Field::Notes => text(""),
        _ => None,
    }
}

fn commands(verify: &[VerifyCommand]) -> Value {
    let command = |command: &VerifyCommand| match command {
        VerifyCommand::Shell(line) => Value::Text(line.clone()),
        VerifyCommand::Argv(argv) => Value::texts(argv),
    };
    Value::List(verify.iter().map(command).collect())
}
