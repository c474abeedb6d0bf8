//! `ralph team answer`, `pause`, `resume` and `say`: what a person wants of a loop on another machine.
//!
//! Written down on the server, for the machine that has the loop. What is not taken within some seconds waits there.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use ralph_core::{
    command::{Answer, Command, CommandState, When},
    sanitize::{one_line, terminal_safe},
};
use ralph_engine::{
    store::{OrderId, OrderStanding, TeamLoop, TeamOrder, TeamQuestion, TeamQuestions},
    team::{TeamView, machine_name},
};
use serde::Serialize;

use super::{Team, find_loop, machine_of, questions::name_of, short_id};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::Project,
    queue::{PATIENCE, words},
    view::figures::ago,
};

#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("answer").required(true),
    override_usage = "ralph team answer <QUESTION> <TEXT|--option <N>|--skip|--retry> [OPTIONS]"
)]
pub(crate) struct TeamAnswerArgs {
    /// The question: its number, MACHINE/NUMBER, or its task
    question: String,

    /// Answer in your own words
    #[arg(group = "answer")]
    text: Option<String>,

    /// Choose one of the agent's options
    #[arg(long, value_name = "N", group = "answer")]
    option: Option<u8>,

    /// Skip the task
    #[arg(long, group = "answer")]
    skip: bool,

    /// Let the agent try again without an answer
    #[arg(long, group = "answer")]
    retry: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TeamPauseArgs {
    /// The loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    of_loop: String,

    /// Stop the running agent cleanly; its work is kept and no attempt is charged
    #[arg(long)]
    now: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TeamResumeArgs {
    /// The loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    of_loop: String,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TeamSayArgs {
    /// The loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    of_loop: String,

    /// The message, for the next agent and later ones that work on the same task
    text: String,

    /// Send it to the running agent; if that is not possible, it goes into the next prompt
    #[arg(long)]
    now: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn answer(args: &TeamAnswerArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let answer = match (args.option, &args.text, args.skip) {
        (Some(number), ..) => Answer::Option { number },
        (None, Some(text), _) => Answer::Guidance {
            text: words("the answer", text)?,
        },
        (None, None, true) => Answer::Skip,
        // One of the four is there, or clap had refused it.
        (None, None, false) => Answer::Retry,
    };
    let team = Team::open(global)?;
    let told = team.ask(async |view| {
        let row = find_question(view, &args.question).await?;
        let command = Command::Answer {
            of: Some(row.id.to_string()),
            answer: answer.clone(),
            amend: None,
        };
        let target = ToldMachine::of_question(row)?;
        tell(&team.project, view, target, &command).await
    })?;
    told.show(args.json)
}

pub(crate) fn pause(args: &TeamPauseArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let when = if args.now { When::Now } else { When::InTurn };
    to_loop(global, &args.of_loop, &Command::Pause { when })?.show(args.json)
}

pub(crate) fn resume(args: &TeamResumeArgs, global: &Global) -> Result<ExitCode, CommandError> {
    to_loop(global, &args.of_loop, &Command::Resume)?.show(args.json)
}

pub(crate) fn say(args: &TeamSayArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let command = Command::Say {
        text: words("what is to be said", &args.text)?,
        when: if args.now { When::Now } else { When::InTurn },
    };
    to_loop(global, &args.of_loop, &command)?.show(args.json)
}

fn to_loop(global: &Global, id: &str, command: &Command) -> Result<ToldLoop, CommandError> {
    let team = Team::open(global)?;
    team.ask(async |view| {
        let target = ToldMachine::of_loop(find_loop(view, id).await?)?;
        tell(&team.project, view, target, command).await
    })
}

/// Questions that are looked at for the one that is meant.
const MOST_MEANT: u32 = 100;

/// The one open question that a person means.
async fn find_question(view: &mut dyn TeamView, named: &str) -> Result<TeamQuestion, CommandError> {
    let (machine, number) = match named.rsplit_once('/') {
        Some((machine, number)) if number.parse::<u64>().is_ok() => (Some(machine), number),
        Some(_) | None => (None, named),
    };
    let which = TeamQuestions {
        named: Some(number.to_owned()),
        most: MOST_MEANT,
        ..TeamQuestions::default()
    };
    let mut found = view.questions(&which).await?;
    if let Some(machine) = machine {
        found.retain(|row| {
            let name = machine_of(row.machine.as_deref(), &row.origin);
            name == machine || (!machine.is_empty() && row.origin.starts_with(machine))
        });
    }
    match (found.pop(), found.as_slice()) {
        (Some(row), []) => Ok(row),
        (None, _) => Err(CommandError::user(format!(
            "the team has no open question {}",
            one_line(named, 80)
        ))
        .hint("`ralph team questions` lists them")),
        (Some(last), others) => {
            let names = others.iter().chain([&last]).map(|row| {
                let (name, origin) = (name_of(row), short_id(&row.origin));
                // Two machines may have the same name.
                let twice = others.iter().filter(|other| name_of(other) == name).count() > 1
                    || (name_of(&last) == name && others.iter().any(|o| name_of(o) == name));
                if twice {
                    format!("{origin}/{} ({name})", row.id)
                } else {
                    name
                }
            });
            let names: Vec<String> = names.collect();
            Err(CommandError::user(format!(
                "{} open questions are named {}: {}",
                names.len(),
                one_line(named, 80),
                names.join(", ")
            ))
            .hint("name one of them as it stands there"))
        }
    }
}

/// The machine and the working tree that a command is for.
struct ToldMachine {
    origin: String,
    machine: String,
    last_seen: Option<Timestamp>,
    repository_id: String,
    worktree: String,
    source: String,
    /// The loop or the question, for people.
    subject: String,
}

impl ToldMachine {
    fn of_loop(row: TeamLoop) -> Result<Self, CommandError> {
        let id = short_id(row.id.as_str()).to_owned();
        if row.ended_at.is_some() {
            return Err(CommandError::user(format!("loop {id} has ended"))
                .hint("`ralph team loops --open` lists those that have not"));
        }
        Ok(Self {
            machine: machine_of(row.machine.as_deref(), &row.origin),
            subject: format!("loop {id}"),
            origin: row.origin,
            last_seen: row.last_seen,
            repository_id: row.repository_id,
            worktree: row.worktree,
            source: row.source,
        })
    }

    fn of_question(row: TeamQuestion) -> Result<Self, CommandError> {
        let subject = format!("question {} about {}", row.id, row.task_id);
        let Some(worktree) = row.worktree else {
            return Err(CommandError::user(format!(
                "the server does not know which loop asked {subject}"
            ))
            .hint("answer it on its machine with `ralph answer`"));
        };
        Ok(Self {
            machine: machine_of(row.machine.as_deref(), &row.origin),
            subject,
            origin: row.origin,
            last_seen: row.last_seen,
            repository_id: row.repository_id,
            worktree,
            source: row.source,
        })
    }
}

/// The time between two looks whether the machine has done it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

async fn tell(
    project: &Project,
    view: &mut dyn TeamView,
    target: ToldMachine,
    command: &Command,
) -> Result<ToldLoop, CommandError> {
    let command = output::without_secrets_in(command.clone());
    let order = TeamOrder {
        origin: target.origin.clone(),
        repository_id: target.repository_id,
        worktree: target.worktree,
        source: target.source,
        who: format!("{}@{}", project.who(), machine_name()),
        body: serde_json::to_string(&command)?,
        at: Project::now(),
    };
    let id = view.tell(&order).await?;
    let until = Instant::now() + PATIENCE;
    let standing = loop {
        let standing = view.standing_of(&id).await?;
        if matches!(standing, OrderStanding::Done(_)) || Instant::now() > until {
            break standing;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    };
    let (state, sentence, hint) = match standing {
        OrderStanding::Done(report) if report.state == CommandState::Refused => {
            return Err(CommandError::user(format!(
                "{} refused it: {}",
                target.machine, report.sentence
            ))
            .hint_opt(report.hint));
        }
        OrderStanding::Done(report) => (ToldState::Done, report.sentence, report.hint),
        OrderStanding::Taken => (
            ToldState::Taken,
            "it is in the queue of the loop there".to_owned(),
            Some("the loop does it after its current iteration; without a loop, the next `ralph run` there".to_owned()),
        ),
        OrderStanding::Waiting => (
            ToldState::Waiting,
            format!("it waits on the server: {} takes it with its next sync", target.machine),
            None,
        ),
    };
    Ok(ToldLoop {
        id: match id {
            OrderId::Synced(id) => id,
            OrderId::Direct(number) => number.to_string(),
        },
        command: command.word(),
        subject: target.subject,
        machine: target.machine,
        origin: target.origin,
        last_seen: target.last_seen,
        state,
        sentence,
        hint,
    })
}

/// The result of a command; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldLoop {
    id: String,
    command: &'static str,
    subject: String,
    machine: String,
    origin: String,
    last_seen: Option<Timestamp>,
    state: ToldState,
    sentence: String,
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ToldState {
    Waiting,
    Taken,
    Done,
}

impl ToldLoop {
    fn show(&self, json: bool) -> Result<ExitCode, CommandError> {
        output::show(json, self, || {
            let seen = self.last_seen.map_or_else(String::new, |seen| {
                format!(", seen {}", ago(seen, Project::now()))
            });
            let mut text = format!(
                "{} for {} on {}{seen}\n  {}\n",
                self.command, self.subject, self.machine, self.sentence
            );
            if let Some(hint) = &self.hint {
                text.push_str(&format!("  {hint}\n"));
            }
            terminal_safe(&text).into_owned()
        })
    }
}
