//! `ralph team questions`: the questions of all machines that wait for an answer.

use std::process::ExitCode;

use jiff::Timestamp;
use ralph_core::{escalation::Answered, sanitize::terminal_safe, signal::Escalation};
use ralph_engine::store::{TeamQuestion, TeamQuestions};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::{Team, TeamListArgs, machine_of, repository_of};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::Project,
    view::{Tone, figures::ago_text, paint},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Include questions that were answered
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    list: TeamListArgs,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct TeamQuestionList {
    questions: Vec<TeamQuestionEntry>,
    more: bool,
}

#[derive(Debug)]
struct TeamQuestionEntry(TeamQuestion);

impl TeamQuestionEntry {
    fn escalation(&self) -> Option<Escalation> {
        serde_json::from_str(self.0.body.as_ref()?).ok()
    }

    fn answered(&self) -> Option<Answered> {
        serde_json::from_str(self.0.answer.as_ref()?).ok()
    }
}

impl Serialize for TeamQuestionEntry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let row = &self.0;
        let value = json!({
            "id": name_of(row), "number": row.id, "machine": machine_of(row.machine.as_deref(), &row.origin),
            "origin": row.origin, "lastSeen": row.last_seen, "repository": repository_of(&row.common_dir),
            "repositoryId": row.repository_id, "worktree": row.worktree, "loopId": row.loop_id,
            "source": row.source, "taskId": row.task_id, "iteration": row.iteration, "askedBy": row.asked_by,
            "askedAt": row.asked_at, "question": row.question, "escalation": self.escalation(),
            "answer": self.answered(),
        });
        value.serialize(to)
    }
}

/// The name of a question that commands take: its machine, and its number there.
pub(super) fn name_of(row: &TeamQuestion) -> String {
    let machine = machine_of(row.machine.as_deref(), &row.origin);
    format!("{machine}/{}", row.id)
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let team = Team::open(global)?;
    let list = &args.list;
    let now = Project::now();
    let which = TeamQuestions {
        all: args.all,
        since: list.since.map(|since| since.at(now)),
        named: None,
        most: list.most + 1,
    };
    let mut found = team.ask(async |view| Ok(view.questions(&which).await?))?;
    let more = found.len() > list.most as usize;
    found.truncate(list.most as usize);
    let listed = TeamQuestionList {
        questions: found.into_iter().map(TeamQuestionEntry).collect(),
        more,
    };
    output::show(list.json, &listed, || render(&listed, args.all, now))
}

fn render(listed: &TeamQuestionList, all: bool, now: Timestamp) -> String {
    if listed.questions.is_empty() {
        let what = if all {
            "no questions"
        } else {
            "no open questions"
        };
        return format!("{what}\n");
    }
    let mut text = String::new();
    for entry in &listed.questions {
        let row = &entry.0;
        let repository = repository_of(&row.common_dir);
        text.push_str(&format!(
            "{} {} · {repository} · asked {}\n",
            paint(Tone::Name, &terminal_safe(&name_of(row))),
            terminal_safe(&row.task_id),
            ago_text(&row.asked_at, now)
        ));
        match entry.escalation() {
            Some(escalation) => {
                for part in [&escalation.summary, &escalation.context] {
                    text.push_str(&indented(part));
                }
                for (i, option) in escalation.options.iter().enumerate() {
                    text.push_str(&terminal_safe(&format!("    {}. {option}\n", i + 1)));
                }
                text.push_str(&indented(&escalation.question));
            }
            None => text.push_str(&indented(&row.question)),
        }
        match entry.answered() {
            Some(answered) => text.push_str(&indented(&format!(
                "answered by {}: {}",
                answered.by,
                answered.how.word()
            ))),
            None => text.push_str(&terminal_safe(&format!(
                "  `ralph team answer {} TEXT | --option N | --skip | --retry`\n",
                name_of(row)
            ))),
        }
    }
    if listed.more {
        text.push_str("there are more: `--most N` shows them\n");
    }
    text
}

fn indented(text: &str) -> String {
    let lines = text.trim().lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| format!("  {}\n", terminal_safe(line)))
        .collect()
}
