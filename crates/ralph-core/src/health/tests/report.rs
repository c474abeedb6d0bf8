//! The shape of `health.json`.

use super::*;

#[test]
fn health_json_is_a_contract_and_the_documents_have_it_word_for_word() {
    let time = |clock: &str| format!("2026-01-02T{clock}Z").parse().unwrap();
    let report = HealthReport {
        loop_id: "0190c0de-0000-7000-8000-000000000001".into(),
        pid: 4711,
        pid_started: 815,
        worktree: "/srv/shop".into(),
        written_at: time("04:01:00"),
        doing: "agent".into(),
        quiet_until: None,
        iteration: Some(3),
        task_id: Some("A".into()),
        agent: Some("claude".into()),
        state: HealthState::Stuck,
        since: time("03:30:00"),
        last_heartbeat: Some(time("04:00:59")),
        last_progress: Some(time("03:00:00")),
        errors: 1,
        steps: 12,
        repeats: 4,
        nudges: 3,
        intervention: Some(InterventionLevel::Escalate),
        answer_until: Some(time("04:15:00")),
        breaker: crate::breaker::BreakerState::Closed,
    };
    let document = include_str!("../../../../../docs/json.md");
    let (_, section) = document.split_once("\n## health.json\n").unwrap();
    let (_, example) = section.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let documented: serde_json::Value = serde_json::from_str(example).unwrap();
    assert_eq!(serde_json::to_value(&report).unwrap(), documented);
    assert_eq!(
        serde_json::from_value::<HealthReport>(documented).unwrap(),
        report
    );
}
