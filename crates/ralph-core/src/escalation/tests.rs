//! Tests of questions: which one is meant, and what an answer tells the next agent.

use super::*;
use crate::signal::EscalationKind;

fn question(id: u64, task: &str, options: &[&str]) -> Question {
    Question {
        id: QuestionId::new(id),
        task_id: TaskId::parse(task).unwrap(),
        iteration: 4,
        asked_by: AskedBy::Agent,
        asked_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        question: "the agent asks a person".into(),
        escalation: Some(Escalation {
            kind: EscalationKind::Deviation,
            summary: "Old API".into(),
            context: String::new(),
            options: options.iter().map(|o| (*o).to_owned()).collect(),
            question: "Which one?".into(),
            raw: String::new(),
        }),
        answer: None,
    }
}

fn answered(mut question: Question) -> Question {
    question.answer = Some(Answered {
        how: AnswerKind::Option { number: 1 },
        by: "ann".into(),
        at: question.asked_at,
        told: None,
        amended: None,
    });
    question
}

#[test]
fn a_question_is_found_by_its_number_by_its_task_and_when_it_is_the_only_one() {
    let all = [
        answered(question(1, "A", &[])),
        question(2, "B", &[]),
        question(3, "2", &[]),
    ];
    let id = |named| find(&all, named).map(|q| q.id.get());
    assert_eq!(id(Some("B")), Ok(2));
    assert_eq!(id(Some("3")), Ok(3));
    assert_eq!(id(Some("2")), Ok(2), "a question's number before a task's");
    assert_eq!(find(&all[..2], None).map(|q| q.id.get()), Ok(2));
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let one = answered(question(1, "A", &[]));
    let all = [one.clone(), question(2, "B", &[]), question(3, "C", &[])];
    let table: [(&[Question], Option<&str>, &str); 6] = [
        (&[], None, "no question is open: there is nothing to answer"),
        (
            &[],
            Some("7"),
            "there is no question 7: no question is open",
        ),
        (
            &all,
            None,
            "2 questions are open, and it is not said which one is answered: 2 (B), 3 (C)",
        ),
        (
            &all,
            Some("9"),
            "there is no question 9; open: 2 (B), 3 (C)",
        ),
        (
            &all,
            Some("1"),
            "question 1 is answered already (option 1 by ann)",
        ),
        (
            &all,
            Some("A"),
            "question A is answered already (option 1 by ann)",
        ),
    ];
    for (all, named, said) in table {
        let error = find(all, named).unwrap_err().to_string();
        assert_eq!(error, said);
    }
}

#[test]
fn an_answer_tells_the_next_agent_what_was_asked_and_what_was_said() {
    let asked = question(1, "A", &["Use v2", "Use v1"]);
    let told = |answer: Answer| asked.told(&answer).map_err(|e| e.to_string());
    assert_eq!(
        told(Answer::Option { number: 2 }),
        Ok(Some(
            "Asked: Which one?\nProceed with option 2: Use v1".into()
        ))
    );
    assert_eq!(
        told(Answer::Guidance { text: "v3!".into() }),
        Ok(Some("Asked: Which one?\nv3!".into()))
    );
    for quiet in [Answer::Skip, Answer::Retry, Answer::Abort] {
        assert_eq!(told(quiet), Ok(None));
    }
}

#[test]
fn an_option_that_was_not_offered_is_refused() {
    let table: [(&[&str], u8, &str); 3] = [
        (&["a", "b"], 3, "question 1 has no option 3, only 1 to 2"),
        (&["a"], 0, "question 1 has no option 0, only 1"),
        (&[], 1, "question 1 has no option 1, it has none at all"),
    ];
    for (options, number, said) in table {
        let error = question(1, "A", options).told(&Answer::Option { number });
        assert_eq!(error.unwrap_err().to_string(), said);
    }
}

#[test]
fn a_question_of_ralphs_own_is_told_in_its_own_words() {
    let mut asked = question(1, "A", &[]);
    (asked.escalation, asked.asked_by) = (None, AskedBy::Ralph);
    asked.question = "`make` failed the same way 3 times in a row: how to proceed?".into();
    let told = asked.told(&Answer::Guidance {
        text: "try x".into(),
    });
    assert_eq!(
        told,
        Ok(Some(
            "Asked: `make` failed the same way 3 times in a row: how to proceed?\ntry x".into()
        ))
    );
}
