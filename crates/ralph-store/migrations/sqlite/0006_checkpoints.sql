-- Where a loop stood: at the end of each iteration, between its phases, at its stop, and when a person
-- asked. The body is the canonical form that is hashed; the hash before it in its loop is part of it.
-- What stands beside the body is for looking it up, and is checked against it.
CREATE TABLE checkpoint (
    -- A UUIDv7: in the order of time.
    id            TEXT PRIMARY KEY,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    loop_id       TEXT NOT NULL REFERENCES loop (id),
    -- Which one of its loop, from 1.
    n             INTEGER NOT NULL,
    -- The newest iteration of the loop; none before the first.
    iteration     INTEGER,
    phase         TEXT NOT NULL,
    at            TEXT NOT NULL,
    body          TEXT NOT NULL,
    hash          TEXT NOT NULL,
    prev_hash     TEXT,
    -- The tip of the branch.
    tip_commit    TEXT NOT NULL,
    UNIQUE (loop_id, n)
) STRICT;

CREATE INDEX checkpoint_by_repository ON checkpoint (repository_id, id);
