//! `status.json` against the schema that its readers were written for, field by field.

use serde_json::Value;

use super::{loop_id, loops, two_iterations};

/// The fields of an object, in their order, with the kind of each.
fn kinds(value: &Value) -> Vec<String> {
    let fields = value.as_object().unwrap().iter();
    fields
        .map(|(name, value)| {
            let kind = match value {
                Value::Null => "null",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            format!("{name} {kind}")
        })
        .collect()
}

#[test]
fn every_field_of_the_schema_is_there_with_its_kind_and_nothing_else() {
    let project = two_iterations();
    let ran = project.run(&["--max-iterations", "2"]).expect(3);
    let id = loop_id(&ran.one("loop_started"));
    let folder = project.repo.data_dir().join("ralph-loops").join(&id);
    let text = std::fs::read_to_string(folder.join("status.json")).unwrap();
    let status: Value = serde_json::from_str(&text).unwrap();
    let expected = [
        "loop_id string",
        "task_id string",
        "project_id string",
        "state string",
        "goal string",
        "config object",
        "current_iteration number",
        "iterations array",
        "total_input_tokens number",
        "total_output_tokens number",
        "total_cost number",
        "started_at string",
        "completed_at string",
        "termination_reason string",
        "last_checkpoint_id string",
        "errors array",
    ];
    assert_eq!(kinds(&status), expected);
    let expected = [
        "max_iterations number",
        "max_cost number",
        "max_duration_minutes number",
        "context_threshold number",
        "agent_type string",
        "model string",
    ];
    assert_eq!(kinds(&status["config"]), expected);
    let expected = [
        "iteration number",
        "agent_id string",
        "started_at string",
        "completed_at string",
        "phase string",
        "completed_items array",
        "pending_items array",
        "errors array",
        "checkpoint_id string",
        "input_tokens number",
        "output_tokens number",
        "cost number",
        "handoff_trigger string",
        "health_state string",
    ];
    for one in status["iterations"].as_array().unwrap() {
        assert_eq!(kinds(one), expected);
    }
    let listed = loops(&project, &[])["loops"][0].clone();
    for (field, of_list) in [
        ("loop_id", "id"),
        ("task_id", "taskId"),
        ("project_id", "projectId"),
        ("state", "state"),
        ("goal", "goal"),
        ("current_iteration", "iterations"),
        ("total_input_tokens", "inputTokens"),
        ("total_output_tokens", "outputTokens"),
        ("total_cost", "costUsd"),
        ("started_at", "startedAt"),
        ("termination_reason", "reason"),
        ("last_checkpoint_id", "lastCheckpointId"),
    ] {
        assert_eq!(status[field], listed[of_list], "{field}");
    }
}
