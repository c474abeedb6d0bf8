//! Tests of how the machine takes an agent that hands over.

use super::*;
use crate::{
    handoff::{HandoffTrigger, Handover},
    signal::{Escalation, EscalationKind},
};

fn policy(purpose: Purpose, lands: Lands, handoffs: Handoffs) -> IterationPolicy {
    IterationPolicy {
        max_verify_retries: 1,
        max_overload_retries: 2,
        expects_change: true,
        purpose,
        lands,
        handoffs,
    }
}

fn handing_over(ending: Ending, claim: Option<Claim>) -> AgentEnded {
    let StepDone::AgentEnded(mut step) = ended(ending, claim) else {
        panic!("an agent that ended");
    };
    step.handoff = Some(Handover {
        trigger: HandoffTrigger::ContextThreshold,
        sentence: "71 % of its context are in use".into(),
    });
    *step
}

fn next_after(policy: IterationPolicy, agent: AgentEnded) -> Action {
    let mut it = Iteration::new(policy);
    run(&mut it, &[BUNDLED, StepDone::AgentEnded(Box::new(agent))])
}

const CUT: Ending = Ending::HandedOff {
    trigger: HandoffTrigger::ContextThreshold,
};

fn handoff() -> Action {
    Action::Keep {
        verdict: Verdict::Handoff {
            trigger: HandoffTrigger::ContextThreshold,
        },
    }
}

#[test]
fn work_is_handed_over_unless_the_agent_claims_or_asks() {
    let allowed = |lands| policy(Purpose::Attempt, lands, Handoffs::Allowed);
    for lands in [Lands::Claimed, Lands::Each] {
        let cut = handing_over(CUT, None);
        assert_eq!(next_after(allowed(lands), cut), handoff());
        let wrapped_up = handing_over(Ending::Finished, None);
        assert_eq!(next_after(allowed(lands), wrapped_up), handoff());
        let claimed = handing_over(Ending::Finished, Some(Claim::ById));
        assert_eq!(next_after(allowed(lands), claimed), Action::Inspect);
        let mut asks = handing_over(Ending::Finished, None);
        asks.signals.escalation = Some(Escalation {
            kind: EscalationKind::Stuck,
            summary: String::new(),
            context: String::new(),
            options: Vec::new(),
            question: "Which way?".into(),
            raw: String::new(),
        });
        assert_eq!(next_after(allowed(lands), asks), Action::Inspect);
    }
}

#[test]
fn an_agent_that_failed_after_it_was_asked_has_failed() {
    let failed = Ending::Error {
        message: "crashed".into(),
    };
    let agent = handing_over(failed, None);
    let verdict = Verdict::AgentError {
        message: "crashed".into(),
    };
    let allowed = policy(Purpose::Attempt, Lands::Claimed, Handoffs::Allowed);
    assert_eq!(next_after(allowed, agent), Action::Keep { verdict });
}

#[test]
fn one_handoff_too_many_is_a_failure_that_is_charged() {
    let used_up = Handoffs::UsedUp { in_a_row: 10 };
    for ending in [CUT, Ending::Finished] {
        let policy = policy(Purpose::Attempt, Lands::Claimed, used_up);
        let Action::Keep { verdict } = next_after(policy, handing_over(ending, None)) else {
            panic!("kept");
        };
        assert!(verdict.is_charged());
        assert_eq!(
            verdict.sentence(),
            "the agent failed: it was handed over 10 times in a row already, which is all that \
             `handoff.max_in_a_row` allows, and again because its context was nearly full"
        );
    }
}

#[test]
fn a_diagnosis_is_never_handed_over() {
    for ending in [CUT, Ending::Finished] {
        let policy = policy(Purpose::Diagnosis, Lands::Claimed, Handoffs::Allowed);
        assert_eq!(
            next_after(policy, handing_over(ending, None)),
            Action::Inspect
        );
    }
}

#[test]
fn a_journal_from_before_handoffs_reads_as_one_without() {
    let StepDone::AgentEnded(step) = ended(Ending::Finished, None) else {
        panic!("an agent that ended");
    };
    let written = serde_json::to_value(&*step).unwrap();
    assert_eq!(written.get("handoff"), None);
    let read: AgentEnded = serde_json::from_value(written).unwrap();
    assert_eq!(read.handoff, None);
}

#[test]
fn folding_the_journal_gives_the_same_handoff() {
    let steps = [
        BUNDLED,
        StepDone::AgentEnded(Box::new(handing_over(Ending::Finished, None))),
    ];
    let written = serde_json::to_string(&steps).unwrap();
    let read: Vec<StepDone> = serde_json::from_str(&written).unwrap();
    let mut it = machine();
    assert_eq!(run(&mut it, &read), handoff());
}
