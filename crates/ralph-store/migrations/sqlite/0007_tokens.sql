-- What each call to a model came to. Money is in millionths of a dollar. Task, loop and day are those
-- of the iteration; an iteration's calls are written with its end.
CREATE TABLE token_record (
    iteration_id     TEXT NOT NULL REFERENCES iteration (id),
    seq              INTEGER NOT NULL,
    run              INTEGER NOT NULL,
    agent            TEXT NOT NULL,
    model            TEXT,
    caller           TEXT NOT NULL CHECK (caller IN ('agent', 'subagent', 'rest')),
    input            INTEGER NOT NULL,
    output           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    -- By the table of prices as it was then; none for a model without a price.
    cost_input       INTEGER,
    cost_output      INTEGER,
    cost_cache_read  INTEGER,
    cost_cache_write INTEGER,
    -- What the agent said.
    told             INTEGER,
    -- What counts of the two.
    spent            INTEGER NOT NULL,
    PRIMARY KEY (iteration_id, seq)
) STRICT, WITHOUT ROWID;

-- Sums that are kept up with each iteration, so that nobody has to read all calls: of everything
-- (repository ''), and in a repository in total, by model, loop, task, by task within a loop, and by
-- who asked which model within a loop. Each for every day, and for all days (day '').
CREATE TABLE token_total (
    repository_id    TEXT NOT NULL,
    dimension        TEXT NOT NULL
        CHECK (dimension IN ('total', 'model', 'loop', 'task', 'loop_task', 'loop_part')),
    key              TEXT NOT NULL,
    day              TEXT NOT NULL,
    calls            INTEGER NOT NULL,
    tool_calls       INTEGER NOT NULL,
    input            INTEGER NOT NULL,
    output           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    cost_input       INTEGER NOT NULL,
    cost_output      INTEGER NOT NULL,
    cost_cache_read  INTEGER NOT NULL,
    cost_cache_write INTEGER NOT NULL,
    unpriced_tokens  INTEGER NOT NULL,
    told             INTEGER NOT NULL,
    told_by_table    INTEGER NOT NULL,
    spent            INTEGER NOT NULL,
    PRIMARY KEY (repository_id, dimension, key, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX token_total_by_spent ON token_total (repository_id, dimension, day, spent);
