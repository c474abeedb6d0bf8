//! `ralph answer`: what a person says to a question that an agent, or ralph itself, has asked.

use std::process::ExitCode;

use ralph_core::command::{Amendment, Answer, Command};

use crate::{cli::Global, error::CommandError, queue};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("answer").required(true))]
pub(crate) struct Args {
    /// Number of the question, or its task; needed only if several questions are open
    id: Option<String>,

    /// Choose one of the agent's options
    #[arg(long, value_name = "N", group = "answer")]
    option: Option<u8>,

    /// Answer in your own words
    #[arg(long, value_name = "TEXT", group = "answer")]
    guidance: Option<String>,

    /// Skip the task
    #[arg(long, group = "answer")]
    skip: bool,

    /// Let the agent try again without an answer
    #[arg(long, group = "answer")]
    retry: bool,

    /// Stop the loop; the question stays open
    #[arg(long, group = "answer")]
    abort: bool,

    /// Replace a wrong acceptance criterion: TEXT, or 2=TEXT for the second one
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["skip", "abort"])]
    amend: Option<String>,

    #[command(flatten)]
    said: queue::AnswerForm,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let answer = match (args.option, &args.guidance, args.skip, args.retry) {
        (Some(number), ..) => Answer::Option { number },
        (None, Some(text), ..) => Answer::Guidance {
            text: queue::words("--guidance", text)?,
        },
        (None, None, true, _) => Answer::Skip,
        (None, None, false, true) => Answer::Retry,
        // One of the five is there, or clap had refused it.
        (None, None, false, false) => Answer::Abort,
    };
    let amend = args.amend.as_ref();
    let amend = amend.map(|text| queue::words("--amend", text));
    let command = Command::Answer {
        of: args.id.clone(),
        answer,
        amend: amend.transpose()?.map(amendment),
    };
    queue::send(global, &command, &args.said, queue::PATIENCE)
}

/// `2=TEXT` is about the second criterion, anything else about the only one.
pub(crate) fn amendment(text: String) -> Amendment {
    let numbered = text
        .split_once('=')
        .and_then(|(number, rest)| Some((number.trim().parse().ok()?, rest.trim().to_owned())));
    match numbered {
        Some((number, text)) => Amendment {
            number: Some(number),
            text,
        },
        None => Amendment { number: None, text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amendment_may_say_which_criterion_it_is_about() {
        let table = [
            ("2=v2 is used", Some(2), "v2 is used"),
            ("v2 is used", None, "v2 is used"),
            ("x=1 is shown", None, "x=1 is shown"),
        ];
        for (text, number, says) in table {
            let read = amendment(text.to_owned());
            assert_eq!((read.number, read.text.as_str()), (number, says));
        }
    }
}
