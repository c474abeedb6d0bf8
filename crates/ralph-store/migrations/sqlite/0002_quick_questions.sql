-- Tasks that wait for a person are few among all that were ever worked on: `status` asks for them
-- alone.
CREATE INDEX task_state_held ON task_state (repository_id, source)
    WHERE json_extract(state, '$.question') IS NOT NULL OR json_extract(state, '$.blocked') IS NOT NULL;

-- The history of one task, newest first.
CREATE INDEX iteration_by_task ON iteration (repository_id, task_id, n);
