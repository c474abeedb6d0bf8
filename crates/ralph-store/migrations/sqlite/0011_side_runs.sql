-- Runs of agents outside of any loop: a plan, an interview. Their calls are one JSON array, in the form
-- of a token record; they add to the sums of the repository and of everything, and to no loop.
CREATE TABLE side_run (
    -- A UUIDv7: in the order of time.
    id            TEXT PRIMARY KEY,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    work          TEXT NOT NULL CHECK (work IN ('plan', 'interview')),
    at            TEXT NOT NULL,
    tool_calls    INTEGER NOT NULL,
    calls         TEXT NOT NULL
) STRICT;

CREATE INDEX side_run_by_repository ON side_run (repository_id, id);

-- What a loop was foreseen to cost, as JSON, once that could be said.
ALTER TABLE loop ADD COLUMN forecast TEXT;
