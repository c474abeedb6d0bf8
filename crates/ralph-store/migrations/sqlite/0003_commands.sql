-- What a person tells a loop. The queue between terminals: a row is added by whoever asks, and filled
-- in by whoever holds the worktree's lock, in the transaction that obeys.
CREATE TABLE command (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    worktree      TEXT NOT NULL,
    who           TEXT NOT NULL,
    at            TEXT NOT NULL,
    body          TEXT NOT NULL,
    done_at       TEXT,
    result        TEXT
) STRICT;

CREATE INDEX command_waiting ON command (repository_id, worktree, id) WHERE done_at IS NULL;

-- What a person added to prompts. Without a task it is for the next prompt, and belongs to its task
-- from then on: every agent starts afresh, so each attempt at that task has to be told.
CREATE TABLE guidance (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    source        TEXT NOT NULL,
    task_id       TEXT,
    text          TEXT NOT NULL,
    who           TEXT NOT NULL,
    at            TEXT NOT NULL,
    -- The iteration whose prompt was the first to have it.
    iteration     INTEGER
) STRICT;

CREATE INDEX guidance_by_task ON guidance (repository_id, source, task_id, id);

-- Questions to a person, and their answers.
CREATE TABLE escalation (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    source        TEXT NOT NULL,
    task_id       TEXT NOT NULL,
    iteration     INTEGER NOT NULL,
    asked_by      TEXT NOT NULL CHECK (asked_by IN ('agent', 'ralph')),
    question      TEXT NOT NULL,
    -- The agent's block; none where ralph asks.
    body          TEXT,
    asked_at      TEXT NOT NULL,
    answer        TEXT,
    answered_at   TEXT
) STRICT;

CREATE INDEX escalation_by_source ON escalation (repository_id, source, id);

-- Since when the loop pauses.
ALTER TABLE loop ADD COLUMN paused_at TEXT;

-- What a person skipped is in every report: few among all tasks.
CREATE INDEX task_state_skipped ON task_state (repository_id, source)
    WHERE json_extract(state, '$.skipped') IS NOT NULL;
