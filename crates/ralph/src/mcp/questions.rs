//! The tools for questions: `questions_list` and `question_answer`.
//!
//! Without an answer in the call, the person at the client is asked, where that is possible. What they decline or close
//! changes nothing.

use ralph_core::{
    command::{Answer, Command},
    escalation::Question,
    sanitize::one_line,
};
use ralph_engine::mcp::{
    ArgumentKind, FormField, FormKind, FormReply, PersonForm, PersonReach, ToolDefinition,
    ToolEffect, ToolReply,
};
use serde_json::{Map, Value, json};

use super::{Asked, Done, NotDone, WORD, WORDS, done, optional};
use crate::{
    commands::{answer::amendment, escalations},
    error::CommandError,
    queue::{self, PATIENCE},
};

/// Questions of a list.
const MOST_QUESTIONS: usize = 50;

pub(super) const LIST: ToolDefinition = ToolDefinition {
    name: "questions_list",
    title: "List questions",
    description: "Questions of agents, or of ralph, that wait for a person, with their options. The same as `ralph \
        escalations --json`; the newest 50.",
    effect: ToolEffect::Reads,
    arguments: &[optional(
        "all",
        ArgumentKind::Flag,
        "Include those that were answered.",
    )],
};

pub(super) async fn list(asked: &Asked<'_>) -> Done {
    let mut listed = escalations::gather(asked.project, asked.arguments.flag("all")).await?;
    let more = listed.questions.len().saturating_sub(MOST_QUESTIONS);
    listed.questions.drain(..more);
    done(&listed)
}

pub(super) const ANSWER: ToolDefinition = ToolDefinition {
    name: "question_answer",
    title: "Answer a question",
    description: "Answers an open question for the person: one of its options, guidance in their words, or an action. \
        Without any of these the person is asked in the client, where it can; else the question is returned. Never \
        make up an answer.",
    effect: ToolEffect::Changes,
    arguments: &[
        optional(
            "question",
            WORD,
            "Number of the question, or its task; needed only if several are open.",
        ),
        optional(
            "option",
            ArgumentKind::Number {
                least: 1,
                most: u8::MAX as i64,
            },
            "One of the options, by its number from 1.",
        ),
        optional("guidance", WORDS, "The person's answer in their own words."),
        optional(
            "action",
            ArgumentKind::Choice(&["skip", "retry", "abort"]),
            "Skip the task, let the agent try again without an answer, or stop the loop.",
        ),
        optional(
            "amend",
            ArgumentKind::Text { most: 2_000 },
            "With `option`, `guidance` or `retry`: replace a wrong acceptance criterion by TEXT, or 2=TEXT for the second one.",
        ),
    ],
};

pub(super) async fn answer(asked: &Asked<'_>) -> Done {
    let arguments = asked.arguments;
    let given = given(asked)?;
    let amend = arguments
        .text("amend")
        .map(|text| amendment(text.to_owned()));
    if amend.is_some() && matches!(given, None | Some(Answer::Skip | Answer::Abort)) {
        let message = "`amend` needs `option`, `guidance` or the action `retry`";
        return Err(NotDone::Reply(ToolReply::BadArguments(message.to_owned())));
    }
    if let Some(answer) = given {
        let of = arguments.text("question").map(str::to_owned);
        return send(asked, Command::Answer { of, answer, amend }).await;
    }
    match asked.person {
        PersonReach::Replied { about, reply } => {
            let question = open(asked, Some(about)).await?;
            match reply {
                FormReply::Accepted(fields) => {
                    let answer = chosen(&question, fields)?;
                    let of = Some(question.id.to_string());
                    let amend = None;
                    send(asked, Command::Answer { of, answer, amend }).await
                }
                FormReply::Declined => Ok(not_answered(&question, "the person declined to answer")),
                FormReply::Cancelled => {
                    Ok(not_answered(&question, "the person closed the question"))
                }
            }
        }
        PersonReach::Yes => {
            let question = open(asked, arguments.text("question")).await?;
            Err(NotDone::Reply(ToolReply::Ask(form(&question))))
        }
        PersonReach::No => {
            let question = open(asked, arguments.text("question")).await?;
            let why = "this client can't ask the person: show them the question, then call `question_answer` again \
                       with `option`, `guidance` or `action` as they decide";
            Ok(not_answered(&question, why))
        }
    }
}

async fn send(asked: &Asked<'_>, command: Command) -> Done {
    done(&queue::deliver(asked.project, &command, PATIENCE).await?)
}

/// The answer that the call itself has.
fn given(asked: &Asked<'_>) -> Result<Option<Answer>, NotDone> {
    let arguments = asked.arguments;
    let option = arguments.number("option");
    let option = option.and_then(|number| u8::try_from(number).ok());
    match (option, arguments.text("guidance"), arguments.text("action")) {
        (None, None, None) => Ok(None),
        (Some(number), None, None) => Ok(Some(Answer::Option { number })),
        (None, Some(text), None) => Ok(Some(Answer::Guidance {
            text: text.to_owned(),
        })),
        (None, None, Some("skip")) => Ok(Some(Answer::Skip)),
        (None, None, Some("retry")) => Ok(Some(Answer::Retry)),
        (None, None, Some(_)) => Ok(Some(Answer::Abort)),
        (_, _, _) => Err(super::contradiction(
            "more than one of `option`, `guidance` and `action`",
        )),
    }
}

/// Finds the open question that is meant: by its number or its task, or the only one.
async fn open(asked: &Asked<'_>, named: Option<&str>) -> Result<Question, CommandError> {
    let listed = escalations::gather(asked.project, false).await?;
    let named_or_any = |question: &Question| {
        named
            .is_none_or(|name| question.id.to_string() == name || question.task_id.as_str() == name)
    };
    let mut found = listed.questions.into_iter().filter(named_or_any);
    let hint = "`questions_list` lists the open ones";
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(CommandError::user("several questions are open")
            .hint("say which one by `question`; `questions_list` lists them")),
        (None, _) => Err(match named {
            Some(name) => {
                let name = one_line(name, 60);
                CommandError::user(format!("there is no open question {name}")).hint(hint)
            }
            None => CommandError::user("no question is open"),
        }),
    }
}

fn not_answered(question: &Question, why: &str) -> Value {
    json!({ "answered": false, "why": why, "question": question })
}

/// Names of the fields of the form.
const CHOICE: &str = "answer";
const TEXT: &str = "text";

/// Choices besides the options.
const OWN_WORDS: &str = "Answer in my own words (below)";
const RETRY: &str = "Try again without an answer";
const SKIP: &str = "Skip the task";
const ABORT: &str = "Stop the loop";

/// Columns of an option, and characters of a question and of an own answer.
const MOST_OPTION: usize = 200;
const MOST_MESSAGE: usize = 4_000;
const MOST_TEXT: usize = 8_000;

fn form(question: &Question) -> PersonForm {
    PersonForm {
        about: question.id.to_string(),
        message: message(question),
        fields: vec![
            FormField {
                name: CHOICE,
                title: "Your answer".to_owned(),
                kind: FormKind::Choice(choices(question)),
            },
            FormField {
                name: TEXT,
                title: "In your own words".to_owned(),
                kind: FormKind::Text { most: MOST_TEXT },
            },
        ],
    }
}

/// The question as a person reads it: who asks, then what.
fn message(question: &Question) -> String {
    let mut text = format!(
        "Question {} of task {}, iteration {}:\n\n",
        question.id, question.task_id, question.iteration
    );
    match &question.escalation {
        Some(escalation) => {
            let parts = [
                &escalation.summary,
                &escalation.context,
                &escalation.question,
            ];
            let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
            let parts: Vec<&str> = parts.map(|part| part.trim()).collect();
            if parts.is_empty() {
                text.push_str(escalation.raw.trim());
            } else {
                text.push_str(&parts.join("\n\n"));
            }
        }
        None => text.push_str(question.question.trim()),
    }
    let text = ralph_core::sanitize::terminal_safe(&text);
    match text.char_indices().nth(MOST_MESSAGE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

/// The options with their numbers, then what can always be said.
fn choices(question: &Question) -> Vec<String> {
    let options = question.options().iter().enumerate();
    let options =
        options.map(|(i, option)| format!("{}. {}", i + 1, one_line(option, MOST_OPTION)));
    let always = [OWN_WORDS, RETRY, SKIP, ABORT].map(str::to_owned);
    options.chain(always).collect()
}

/// The answer that a reply to the form gives.
fn chosen(question: &Question, fields: &Map<String, Value>) -> Result<Answer, CommandError> {
    let text = |name| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let words = text(TEXT).trim();
    let choice = text(CHOICE);
    let by_number = choice
        .split_once('.')
        .and_then(|(number, _)| number.parse().ok());
    let number =
        by_number.filter(|n: &u8| (1..=question.options().len()).contains(&usize::from(*n)));
    match (choice, number) {
        (_, Some(number)) => Ok(Answer::Option { number }),
        (OWN_WORDS, None) if words.is_empty() => Err(CommandError::user(
            "the person chose to answer in their own words and wrote none",
        )
        .hint("nothing was changed; call it again to ask again")),
        (OWN_WORDS, None) => Ok(Answer::Guidance {
            text: words.chars().take(MOST_TEXT).collect(),
        }),
        (RETRY, None) => Ok(Answer::Retry),
        (SKIP, None) => Ok(Answer::Skip),
        (ABORT, None) => Ok(Answer::Abort),
        (_, None) => Err(CommandError::user("the reply is none of the choices")
            .hint("nothing was changed; call it again to ask again")),
    }
}
