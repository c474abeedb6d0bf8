//! Writes `results.md` when a loop ends, from the journal and the files. Whatever ended it.

use std::collections::HashMap;

use ralph_core::{
    artefacts::{
        obstacles::Obstacles,
        results::{
            Completed, Figures, LandedIn, Proof, Remaining, Results, RunEndKind, RunEnding,
            render_results,
        },
    },
    figures,
    memory::first_words,
    record::IterationRecord,
    task::{Status, Task},
    termination::Stop,
};

use super::{Changed, LoopError, LoopRunner};
use crate::{
    artefacts::read,
    disk_fault::DiskFault,
    source::{Source, write_atomically},
    store::LoopRow,
};

impl LoopRunner {
    /// The hint of a stop, for the command that was typed.
    pub(super) fn hint(&self, stop: &Stop) -> Option<String> {
        let hint = match (stop, self.board.for_person().next()) {
            (Stop::NothingReady, Some(task)) => format!(
                "{id} is for a person: `ralph tasks done {id}` when it is done, then `ralph run` goes on; \
                 `ralph status` shows what blocks what",
                id = task.id
            ),
            (_, _) => stop.hint()?.to_owned(),
        };
        Some(match (&self.files.artefacts, &self.settings.goal) {
            (Some(_), _) => {
                let execute = format!("`{}", self.command());
                hint.replace("`ralph run", &execute)
                    .replace("--max-iterations", "--iterations")
            }
            // A goal is too long to type again, and `resume` has only what is left.
            (None, Some(_)) => match more_for_goal(stop) {
                Some(more) => more.to_owned(),
                None => hint
                    .replace("`ralph run --once`", "`ralph run`")
                    .replace("`ralph run`", "`ralph resume`"),
            },
            (None, None) => hint,
        })
    }

    /// The way out where the disk is at fault, and what is kept.
    pub(super) fn hint_of_fault(&self, fault: DiskFault) -> String {
        let (remedy, command) = (fault.remedy(), self.command());
        match self.changed {
            Changed::Nothing => format!("{remedy}, then `{command}` again: no task was begun"),
            Changed::Something => format!(
                "{remedy}, then `{command}` continues: everything that landed is on {}, and what an agent that \
                 was cut off had done is kept",
                self.place.branch
            ),
        }
    }

    /// Returns what was typed, as far as it says what is worked at.
    pub(super) fn command(&self) -> String {
        match (&self.files.artefacts, &self.settings.goal) {
            (Some(artefacts), _) => format!("ralph execute {}", artefacts.name()),
            (None, Some(_)) => "ralph loop".to_owned(),
            (None, None) => "ralph run".to_owned(),
        }
    }

    /// Sums up the project that is executed, and says where.
    pub(super) async fn write_results(&mut self, stop: &Stop) -> Result<(), LoopError> {
        let records = match &self.files.artefacts {
            Some(_) => self.landings().await?,
            None => return Ok(()),
        };
        let Some(artefacts) = &self.files.artefacts else {
            return Ok(());
        };
        let read_now = Source::read(self.board.source.path(), &self.place.root).ok();
        let tasks = read_now.map_or_else(|| self.board.graph().tasks().to_vec(), |(_, now)| now);
        let leaves = tasks
            .iter()
            .filter(|task| self.board.graph().is_leaf(&task.id));
        let (done, left): (Vec<&Task>, Vec<&Task>) =
            leaves.partition(|task| task.status == Status::Completed);
        let obstacles = read(&artefacts.folder().obstacles(), Obstacles::parse);
        let results = Results {
            project: artefacts.project(),
            ending: RunEnding {
                how: match stop {
                    Stop::AllComplete => RunEndKind::AllComplete,
                    _ => RunEndKind::Halted,
                },
                sentence: stop.sentence(),
                hint: self.hint(stop),
            },
            figures: self.figures(),
            completed: done
                .iter()
                .map(|task| completed(task, records.get(task.id.as_str())))
                .collect(),
            remaining: left.iter().map(|task| self.remaining(task)).collect(),
            obstacles: obstacles.ok().flatten().unwrap_or_default().open(),
        };
        let path = artefacts.folder().results();
        let text = render_results(&results);
        write_atomically(&path, self.redaction().hide(&text).as_bytes())?;
        let shown = path.strip_prefix(&self.place.root).unwrap_or(&path);
        self.notice(format!("the results are in {}", shown.display()));
        Ok(())
    }

    fn figures(&self) -> Figures {
        Figures {
            iterations: self.machine.tally().iterations,
            minutes: self.began.elapsed().as_secs_f64() / 60.0,
            cost: self.machine.tally().usage.cost_usd.map(figures::usd),
            branch: self.place.branch.clone(),
            at: self.now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        }
    }

    /// The loops over this source in this worktree.
    pub(super) async fn loops_of_source(&mut self) -> Result<Vec<LoopRow>, LoopError> {
        let worktree = self.place.root.to_string_lossy();
        let source = self.board.source.name();
        let loops = self
            .journal
            .loops_of(&self.place.repository, &worktree, source);
        Ok(loops.await?)
    }

    /// The iteration that completed each task, over all loops of the project.
    async fn landings(&mut self) -> Result<HashMap<String, IterationRecord>, LoopError> {
        let loops = self.loops_of_source().await?;
        let mut found = HashMap::new();
        for row in loops {
            for record in self.journal.records_of(&row.id).await? {
                if record.verdict.completes() {
                    found.insert(record.task_id.clone(), record);
                }
            }
        }
        Ok(found)
    }

    fn remaining(&self, task: &Task) -> Remaining {
        let state = self.board.state(&task.id).cloned().unwrap_or_default();
        let waits = self.board.blocked();
        let waits = waits.into_iter().find(|b| b.task == task.id.as_str());
        let reasons = [
            state.blocked,
            state
                .question
                .map(|question| format!("a person is asked: {question}")),
            state.skipped.map(|reason| format!("skipped: {reason}")),
            waits.map(|waits| format!("waits: {}", waits.by.join(", "))),
        ];
        let mut why: Vec<String> = reasons.into_iter().flatten().collect();
        if why.is_empty() {
            let last = state
                .last_verdict
                .map(|last| format!("the last attempt: {last}"));
            why.extend(last);
        }
        Remaining {
            id: task.id.to_string(),
            title: task.text.title.clone(),
            status: task.status.to_string(),
            attempts: task.attempts.made.unwrap_or(state.attempts),
            max_attempts: self.board.max_attempts(&task.id, &self.settings.config),
            why,
        }
    }
}

/// The way to go on towards a goal after a limit of the loop.
fn more_for_goal(stop: &Stop) -> Option<&'static str> {
    match stop {
        Stop::Iterations { .. } => Some("`ralph resume --max-iterations N` goes on"),
        Stop::Minutes { .. } => Some("`ralph resume --max-minutes N` goes on"),
        Stop::Budget { budget: None, .. } => {
            Some("`ralph resume --max-cost N` goes on with the work that was kept")
        }
        _ => None,
    }
}

fn completed(task: &Task, record: Option<&IterationRecord>) -> Completed {
    let done = Completed {
        id: task.id.to_string(),
        title: task.text.title.clone(),
        ..Completed::default()
    };
    // Completed by another tool, or a person.
    let Some(record) = record else {
        return done;
    };
    let last = record.runs.last().map_or(0, |run| run.run);
    let commands = record.verification.iter().filter(|v| v.run == last);
    Completed {
        landed: Some(LandedIn {
            iteration: record.iteration,
            attempts: task.attempts.made.unwrap_or(record.attempt),
            commit: record.git.result_commit.clone(),
            proof: if record.unverified {
                Proof::Unverified
            } else {
                Proof::Verified(commands.map(|v| v.command.clone()).collect())
            },
        }),
        summary: {
            let own = record.said.block.summary.clone();
            own.unwrap_or_else(|| first_words(&record.said.final_message))
        },
        files: {
            let files = record.git.files_changed.iter();
            files.map(|file| file.path.clone()).collect()
        },
        ..done
    }
}
