//! `results.md`: what a project has come to, for the person who started it and comes back.
//!
//! Facts in, Markdown out. Decides nothing, and says no more than what is known.

use crate::{
    figures::{count, duration, first_of},
    sanitize::one_line,
};

use super::{ProjectName, obstacles::Obstacle};

/// Of a text in a line, at most.
const LINE: usize = 300;
/// Of the files of a commit.
const FILES: usize = 20;

/// All that a report says.
#[derive(Debug, Clone)]
pub struct Results<'a> {
    pub project: &'a ProjectName,
    pub ending: RunEnding,
    pub figures: Figures,
    pub completed: Vec<Completed>,
    pub remaining: Vec<Remaining>,
    pub obstacles: Vec<Obstacle>,
}

/// Why the loop is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnding {
    pub how: RunEndKind,
    /// One sentence without a full stop.
    pub sentence: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEndKind {
    AllComplete,
    /// Work is left.
    Halted,
}

/// Describes what this run of the command came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    pub iterations: u32,
    pub minutes: f64,
    /// As far as agents tell.
    pub cost: Option<String>,
    pub branch: String,
    pub at: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completed {
    pub id: String,
    pub title: String,
    /// The commit, the iteration and the attempt, where ralph landed it.
    pub landed: Option<LandedIn>,
    pub summary: String,
    pub files: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedIn {
    pub iteration: u64,
    pub attempts: u32,
    pub commit: Option<String>,
    pub proof: Proof,
}

/// Describes what stands behind a task that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The commands that ralph ran.
    Verified(Vec<String>),
    Unverified,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remaining {
    pub id: String,
    pub title: String,
    pub status: String,
    pub attempts: u32,
    pub max_attempts: u32,
    /// Why it is not done, as far as that is known.
    pub why: Vec<String>,
}

/// Writes the report.
pub fn render_results(results: &Results<'_>) -> String {
    let mut text = format!("# Results of {}\n\n", results.project.as_str());
    let ending = &results.ending;
    match ending.how {
        RunEndKind::AllComplete => text.push_str("Every task is complete.\n"),
        RunEndKind::Halted => {
            text.push_str(&format!("Stopped with work left: {}.\n", ending.sentence))
        }
    }
    if let Some(hint) = &ending.hint {
        text.push_str(&format!("\nWhat to do: {hint}.\n"));
    }
    text.push_str(&figures(results));
    text.push_str("\n## Completed\n\n");
    if results.completed.is_empty() {
        text.push_str("Nothing yet.\n");
    }
    for task in &results.completed {
        text.push_str(&completed(task));
    }
    if !results.remaining.is_empty() {
        text.push_str("\n## Remaining\n\n");
        for task in &results.remaining {
            text.push_str(&remaining(task));
        }
    }
    if !results.obstacles.is_empty() {
        text.push_str("\n## Open obstacles\n\n");
        for one in &results.obstacles {
            let message = plain(&one.message);
            text.push_str(&format!("- {} (task {}): {message}\n", one.id, one.task_id));
        }
    }
    text.push_str("\nWritten by `ralph execute`, which rewrites it at every end.\n");
    text
}

fn figures(results: &Results<'_>) -> String {
    let figures = &results.figures;
    let (done, left) = (results.completed.len(), results.remaining.len());
    let mut lines = vec![
        format!("{done} of {} tasks are complete", done + left),
        format!(
            "{} in {}, ended {}",
            count(figures.iterations as usize, "iteration", "iterations"),
            duration(figures.minutes * 60.0),
            figures.at
        ),
        format!("on branch `{}`", figures.branch),
    ];
    lines.extend(figures.cost.iter().map(|cost| format!("cost: {cost}")));
    let unverified = results.completed.iter().filter(|task| {
        let landed = task.landed.as_ref();
        landed.is_some_and(|l| l.proof == Proof::Unverified)
    });
    let unverified = unverified.count();
    if unverified > 0 {
        lines.push(format!(
            "{} completed without any verify command: only the agent has checked that",
            count(unverified, "task", "tasks")
        ));
    }
    let lines: String = lines.iter().map(|line| format!("- {line}\n")).collect();
    format!("\n## Summary\n\n{lines}")
}

fn completed(task: &Completed) -> String {
    let mut text = format!("- **{}** {}\n", task.id, plain(&task.title));
    if let Some(landed) = &task.landed {
        let commit = landed.commit.as_ref().map_or_else(
            || "no commit was needed".to_owned(),
            |commit| format!("commit `{}`", &commit[..commit.len().min(12)]),
        );
        text.push_str(&format!(
            "  - {commit}, iteration {}, {}\n",
            landed.iteration,
            count(landed.attempts as usize, "attempt", "attempts")
        ));
        match &landed.proof {
            Proof::Verified(commands) => {
                let commands: Vec<String> = commands.iter().map(|c| format!("`{c}`")).collect();
                text.push_str(&format!("  - verified by {}\n", commands.join(", ")));
            }
            Proof::Unverified => {
                text.push_str("  - **unverified**: there is no verify command for it\n");
            }
        }
    }
    if !task.files.is_empty() {
        let files: Vec<String> = task.files.iter().map(|file| format!("`{file}`")).collect();
        text.push_str(&format!("  - files: {}\n", first_of(&files, FILES)));
    }
    if !task.summary.trim().is_empty() {
        text.push_str(&format!("  - {}\n", plain(&task.summary)));
    }
    text
}

fn remaining(task: &Remaining) -> String {
    let mut text = format!(
        "- **{}** {} ({}, {} of {} attempts)\n",
        task.id,
        plain(&task.title),
        task.status,
        task.attempts,
        task.max_attempts
    );
    for why in &task.why {
        text.push_str(&format!("  - {}\n", plain(why)));
    }
    text
}

fn plain(text: &str) -> String {
    one_line(text.trim(), LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_why_it_stopped_what_is_done_and_what_is_left() {
        let project = ProjectName::parse("shop").unwrap();
        let landed = |proof| {
            Some(LandedIn {
                iteration: 1,
                attempts: 2,
                commit: Some("0123456789abcdef".into()),
                proof,
            })
        };
        let results = Results {
            project: &project,
            ending: RunEnding {
                how: RunEndKind::Halted,
                sentence: "task T3 is out of attempts: 3 of 3 failed".into(),
                hint: Some("`ralph retry --task T3` opens it again".into()),
            },
            figures: Figures {
                iterations: 5,
                minutes: 2.25,
                cost: Some("$1.20".into()),
                branch: "ralph/shop".into(),
                at: "2026-01-02T03:04:05Z".into(),
            },
            completed: vec![
                Completed {
                    id: "T1".into(),
                    title: "Lay the ground".into(),
                    landed: landed(Proof::Verified(vec!["npm test".into()])),
                    summary: "Made it.\nAll of it.".into(),
                    files: vec!["a.js".into(), "b.js".into()],
                },
                Completed {
                    id: "T2".into(),
                    title: "Say hello".into(),
                    landed: landed(Proof::Unverified),
                    ..Completed::default()
                },
            ],
            remaining: vec![Remaining {
                id: "T3".into(),
                title: "Log in".into(),
                status: "blocked".into(),
                attempts: 3,
                max_attempts: 3,
                why: vec!["verification failed: npm test".into()],
            }],
            obstacles: vec![Obstacle {
                id: "O1".into(),
                task_id: "T3".into(),
                message: "no network".into(),
            }],
        };
        insta::assert_snapshot!(render_results(&results));
    }

    #[test]
    fn a_project_that_is_done_has_no_rest() {
        let project = ProjectName::parse("shop").unwrap();
        let results = Results {
            project: &project,
            ending: RunEnding {
                how: RunEndKind::AllComplete,
                sentence: "all tasks are complete".into(),
                hint: None,
            },
            figures: Figures::default(),
            completed: vec![Completed {
                id: "T1".into(),
                title: "One".into(),
                ..Completed::default()
            }],
            remaining: Vec::new(),
            obstacles: Vec::new(),
        };
        let text = render_results(&results);
        assert!(text.starts_with("# Results of shop\n\nEvery task is complete.\n"));
        assert!(
            !text.contains("Remaining") && !text.contains("obstacles"),
            "{text}"
        );
    }
}
