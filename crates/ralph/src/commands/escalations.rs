//! `ralph escalations`: the questions that wait for an answer, or all that were ever asked.
//!
//! Only reads.

use std::process::ExitCode;

use ralph_core::{
    escalation::{AskedBy, Question},
    sanitize::terminal_safe,
    signal::EscalationKind,
    task::Status,
};
use serde::Serialize;

use crate::{
    error::CommandError,
    output,
    project::{Project, SourceUse, block_on},
    queue,
    view::figures::ago,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Include questions that were answered
    #[arg(long)]
    all: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
pub(crate) struct ListedQuestions {
    source: Option<String>,
    pub(crate) questions: Vec<Question>,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let listed = block_on(gather(project, args.all))?;
    output::show(args.json, &listed, || match listed.questions.as_slice() {
        [] if args.all => "no questions\n".to_owned(),
        [] => "no open questions\n".to_owned(),
        questions => terminal_safe(&questions.iter().map(shown).collect::<String>()).into_owned(),
    })
}

pub(crate) async fn gather(project: &Project, all: bool) -> Result<ListedQuestions, CommandError> {
    let Some((mut journal, repository)) = project.journal().await? else {
        return Ok(ListedQuestions {
            source: None,
            questions: Vec::new(),
        });
    };
    let usage = SourceUse::Look(SourceUse::CHOOSE);
    let path = queue::source_path(project, &mut *journal, &repository, usage).await?;
    let (source, graph, _) = project.read_source(&path)?;
    let mut questions = journal.questions(&repository, source.name()).await?;
    if !all {
        questions.retain(|q| {
            let status = graph.get(&q.task_id).map(|t| t.status);
            // Questions of tasks that have ended or are gone are not shown.
            let over = matches!(status, None | Some(Status::Completed | Status::Skipped));
            q.answer.is_none() && !over
        });
    }
    Ok(ListedQuestions {
        source: Some(source.name().to_owned()),
        questions,
    })
}

fn shown(question: &Question) -> String {
    let by = match question.asked_by {
        AskedBy::Agent => "the agent",
        AskedBy::Ralph => "ralph",
    };
    let kind = question
        .escalation
        .as_ref()
        .map(|escalation| escalation.kind);
    let kind = match kind {
        Some(EscalationKind::Stuck) => " · stuck",
        Some(EscalationKind::Deviation) => " · deviation",
        Some(EscalationKind::Other) | None => "",
    };
    let mut text = format!(
        "question {} · {}{kind} · asked by {by} in iteration {}, {}\n",
        question.id,
        question.task_id,
        question.iteration,
        ago(question.asked_at, Project::now())
    );
    match &question.escalation {
        Some(escalation) => {
            let whole = [
                &escalation.summary,
                &escalation.context,
                &escalation.question,
            ];
            let read = whole.into_iter().any(|part| !part.trim().is_empty());
            if read || !escalation.options.is_empty() {
                for part in [&escalation.summary, &escalation.context] {
                    text.push_str(&indented(part));
                }
                for (i, option) in escalation.options.iter().enumerate() {
                    text.push_str(&format!("    {}. {option}\n", i + 1));
                }
                text.push_str(&indented(&escalation.question));
            } else {
                text.push_str(&indented(&escalation.raw));
            }
        }
        None => text.push_str(&indented(&question.question)),
    }
    match &question.answer {
        None => {
            let options = match question.options().len() {
                0 => String::new(),
                1 => "--option 1 | ".to_owned(),
                n => format!("--option 1…{n} | "),
            };
            text.push_str(&format!(
                "  `ralph answer {} {options}--guidance TEXT | --skip | --retry | --abort`\n",
                question.id
            ));
        }
        Some(answered) => {
            text.push_str(&format!(
                "  answered by {}, {}: {}\n",
                answered.by,
                ago(answered.at, Project::now()),
                answered.how.word()
            ));
            let told = answered.told.iter().flat_map(|told| told.lines().skip(1));
            for line in told {
                text.push_str(&format!("    {line}\n"));
            }
        }
    }
    text
}

fn indented(text: &str) -> String {
    text.trim()
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect()
}
