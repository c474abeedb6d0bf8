//! The queue of commands, guidance and questions.

use ralph_core::{
    command::{Command, CommandReport, When},
    escalation::{AnswerKind, Answered, AskedBy},
    id::CommandId,
    task::TaskId,
};

use super::*;

fn say(text: &str) -> Command {
    Command::Say {
        text: text.into(),
        when: When::InTurn,
    }
}

async fn submit(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    worktree: &str,
    text: &str,
) -> CommandId {
    let command = say(text);
    let submitted = journal.submit_command(repository, worktree, &command, "ann", at());
    submitted.await.unwrap()
}

async fn told(journal: &mut dyn Journal, repository: &RepositoryId, id: &str) -> Vec<String> {
    let found = journal.guidance(repository, "prd.json", &task(id)).await;
    found.unwrap().into_iter().map(|found| found.text).collect()
}

fn task(id: &str) -> TaskId {
    TaskId::parse(id).unwrap()
}

async fn finish(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    id: CommandId,
    effects: &CommandEffects,
) {
    let report = CommandReport::done(format!("did {id}"));
    let ended = CommandEnd {
        id,
        report: &report,
        at: at(),
    };
    journal
        .finish_command(repository, "prd.json", ended, effects)
        .await
        .unwrap();
}

fn guidance(task: Option<&str>, text: &str) -> NewGuidance {
    NewGuidance {
        task: task.map(|id| TaskId::parse(id).unwrap()),
        text: text.into(),
        who: "ann".into(),
        at: at(),
        iteration: None,
    }
}

pub(crate) async fn commands_wait_in_their_order_over_a_restart_until_they_are_ended(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    for text in ["one", "two"] {
        submit(&mut *journal, &repository, "/w", text).await;
    }
    submit(&mut *journal, &repository, "/other", "x").await;
    drop(journal);
    let mut journal = store.open().await;
    let waiting = journal.waiting_commands(&repository, "/w").await.unwrap();
    let seen: Vec<_> = waiting.iter().map(|row| (row.id, &row.command)).collect();
    let (one, two) = (CommandId::new(1), CommandId::new(2));
    assert_eq!(seen, [(one, &say("one")), (two, &say("two"))]);
    assert_eq!(journal.command_result(one).await.unwrap(), None);
    finish(&mut *journal, &repository, one, &CommandEffects::default()).await;
    assert_eq!(
        journal.command_result(one).await.unwrap(),
        Some(CommandReport::done("did 1"))
    );
    let waiting = journal.waiting_commands(&repository, "/w").await.unwrap();
    assert_eq!(waiting.len(), 1);
}

pub(crate) async fn a_command_that_is_ended_twice_has_its_effects_once(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let id = submit(&mut *journal, &repository, "/w", "one").await;
    let effects = CommandEffects {
        guidance: vec![guidance(None, "one")],
        ..CommandEffects::default()
    };
    for _ in 0..2 {
        finish(&mut *journal, &repository, id, &effects).await;
    }
    assert_eq!(told(&mut *journal, &repository, "A").await, ["one"]);
}

pub(crate) async fn guidance_for_the_next_prompt_belongs_to_its_task_from_then_on(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    let id = submit(&mut *journal, &repository, "/w", "x").await;
    let effects = CommandEffects {
        guidance: vec![guidance(None, "all"), guidance(Some("B"), "only B")],
        ..CommandEffects::default()
    };
    finish(&mut *journal, &repository, id, &effects).await;
    let a = journal
        .use_guidance(&repository, "prd.json", &task("A"), 7)
        .await
        .unwrap();
    let texts: Vec<_> = a.iter().map(|g| g.text.as_str()).collect();
    assert_eq!(texts, ["all"]);
    for (id, expected) in [("A", "all"), ("B", "only B")] {
        assert_eq!(told(&mut *journal, &repository, id).await, [expected]);
    }
}

pub(crate) async fn guidance_can_be_kept_without_a_command(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let new = guidance(None, "noted");
    let added = journal.add_guidance(&repository, "prd.json", &new);
    added.await.unwrap();
    assert_eq!(told(&mut *journal, &repository, "A").await, ["noted"]);
    let a = task("A");
    let other = journal.guidance(&repository, "other.json", &a);
    assert_eq!(other.await.unwrap(), []);
}

pub(crate) async fn a_question_and_its_answer_are_kept(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let new = NewQuestion {
        task: task("A"),
        iteration: 4,
        asked_by: AskedBy::Ralph,
        question: "how?".into(),
        escalation: None,
        at: at(),
    };
    let mut state = TaskHistory::default();
    let id = journal
        .ask_question(&repository, "prd.json", &new, &mut state)
        .await
        .unwrap();
    assert_eq!(
        (state.asked, state.question.as_deref()),
        (Some(id), Some("how?"))
    );
    let states = journal.task_states(&repository, "prd.json").await.unwrap();
    assert_eq!(states, [("A".to_owned(), state)]);
    let command = submit(&mut *journal, &repository, "/w", "x").await;
    let answered = Answered {
        how: AnswerKind::Guidance,
        by: "ann".into(),
        at: at(),
        told: Some("so".into()),
        amended: None,
    };
    let effects = CommandEffects {
        answered: Some((id, answered.clone())),
        ..CommandEffects::default()
    };
    finish(&mut *journal, &repository, command, &effects).await;
    let all = journal.questions(&repository, "prd.json").await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].answer, Some(answered));
}
