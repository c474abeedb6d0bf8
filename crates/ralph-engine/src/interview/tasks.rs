//! Whether the tasks that an interview made can be worked from: their shape, their links, and what
//! the linter says.
//!
//! Only looks. An error of the linter or of the shape makes them wrong, a warning does not.

use std::path::Path;

use ralph_core::{
    artefacts::{Folder, ProjectName, shape_problems, status_problems},
    board::Board,
    lint::{Finding, LintContext, Severity, lint},
    task::{format::line_column, graph::Graph},
};

use super::InterviewError;
use crate::{
    plain_file::read_if_there,
    source::{Source, SourceError},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundTasks {
    /// They can be worked from; what is worth a look is said.
    Good { warnings: Vec<String> },
    /// They are missing or can't be worked from, for these reasons.
    Wrong { problems: Vec<String> },
}

/// The tasks as they were before work on them began, if there were any.
pub fn tasks_before(folder: &Folder) -> Option<Vec<u8>> {
    read_if_there(&folder.tasks()).ok().flatten()
}

/// Looks at the tasks of a project; `before` is what they were before the interview wrote them.
pub fn look_at_tasks(
    folder: &Folder,
    name: &ProjectName,
    root: &Path,
    before: Option<&[u8]>,
    context: &LintContext,
) -> Result<FoundTasks, InterviewError> {
    let path = folder.tasks();
    let shown = path.strip_prefix(root).unwrap_or(&path).display();
    let Some(bytes) = read_if_there(&path).map_err(InterviewError::read(path.clone()))? else {
        let problems = vec![format!("{shown} is not there: it must be written")];
        return Ok(FoundTasks::Wrong { problems });
    };
    let mut of_shape = shape_problems(&bytes, name);
    of_shape.extend(status_problems(before, &bytes));
    if !of_shape.is_empty() {
        let problems = of_shape.iter().map(|p| format!("{shown}: {p}")).collect();
        return Ok(FoundTasks::Wrong { problems });
    }
    let (source, tasks) = match Source::read(&path, root) {
        Ok(read) => read,
        Err(SourceError::Format(error)) => {
            let problems = vec![error.to_string()];
            return Ok(FoundTasks::Wrong { problems });
        }
        Err(error) => {
            let message = error.to_string();
            return Err(InterviewError::Broken { path, message });
        }
    };
    let (graph, problems) = Graph::build(tasks);
    let findings = lint(&Board::of_all(graph), &problems, context);
    let of = |severity: Severity| -> Vec<String> {
        let those = findings.iter().filter(|f| f.severity == severity);
        those.map(|finding| sentence(&source, finding)).collect()
    };
    let errors = of(Severity::Error);
    Ok(if errors.is_empty() {
        FoundTasks::Good {
            warnings: of(Severity::Warning),
        }
    } else {
        FoundTasks::Wrong { problems: errors }
    })
}

/// `tasks.json:3:5: task T1: what is wrong; what to do about it`.
fn sentence(source: &Source, finding: &Finding) -> String {
    let file = &source.files()[0];
    let Finding {
        task,
        place,
        message,
        hint,
        ..
    } = finding;
    let Some(task) = task else {
        return format!("{}: {message}; {hint}", file.name);
    };
    let (line, column) = line_column(file.bytes(), place.offset as usize);
    // Some sentences begin with the task already.
    let who = if message.starts_with(&format!("task {task} ")) {
        String::new()
    } else {
        format!("task {task}: ")
    };
    format!("{}:{line}:{column}: {who}{message}; {hint}", file.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn task(id: &str, dependencies: &[&str]) -> Value {
        json!({
            "id": id, "title": format!("Add the part {id} to the shop"),
            "description": format!("Write src/{id}.py with a function that adds two numbers."),
            "acceptance": ["`python3 src/x.py` prints 3"], "verify": ["python3 src/x.py"],
            "status": "pending", "dependencies": dependencies, "attempts": 0, "max_attempts": 3,
            "blocked": false,
        })
    }

    fn found(text: Option<&str>) -> FoundTasks {
        let root = tempfile::tempdir().unwrap();
        let name = ProjectName::parse("shop").unwrap();
        let folder = Folder::new(root.path(), &name);
        std::fs::create_dir_all(folder.path()).unwrap();
        if let Some(text) = text {
            std::fs::write(folder.tasks(), text).unwrap();
        }
        let context = LintContext {
            configured_verify: false,
        };
        look_at_tasks(&folder, &name, root.path(), None, &context).unwrap()
    }

    fn file(tasks: &[Value]) -> String {
        json!({"project_name": "shop", "version": 1, "tasks": tasks}).to_string()
    }

    #[test]
    fn tasks_that_can_be_worked_from_are_good_and_warnings_are_kept() {
        let good = file(&[task("T1", &[]), task("T2", &["T1"])]);
        let expected = FoundTasks::Good {
            warnings: Vec::new(),
        };
        assert_eq!(found(Some(&good)), expected);
        let mut long = task("T1", &[]);
        long["title"] = json!("Add the part of the shop ".repeat(4));
        let FoundTasks::Good { warnings } = found(Some(&file(&[long]))) else {
            panic!("a warning is no error");
        };
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].starts_with(".artefacts/shop/tasks.json:1:"),
            "{warnings:?}"
        );
    }

    #[test]
    fn missing_misshapen_and_unfollowable_tasks_are_wrong() {
        let wrong = |text: Option<&str>| match found(text) {
            FoundTasks::Wrong { problems } => problems,
            good @ FoundTasks::Good { .. } => panic!("{good:?}"),
        };
        assert_eq!(
            wrong(None),
            [".artefacts/shop/tasks.json is not there: it must be written"]
        );
        let half = wrong(Some("{\"project_name\": \"shop\", \"tasks\": ["));
        let begins = ".artefacts/shop/tasks.json: it is not valid JSON: EOF";
        assert!(half[0].starts_with(begins), "{half:?}");
        let lost = wrong(Some(&file(&[task("T1", &["T9"])])));
        let says = "45: task T1 depends on T9, which does not exist";
        assert!(lost[0].contains(says), "{lost:?}");
        let circle = wrong(Some(&file(&[task("T1", &["T2"]), task("T2", &["T1"])])));
        assert!(circle[0].contains("T1 → T2 → T1"), "{circle:?}");
    }
}
