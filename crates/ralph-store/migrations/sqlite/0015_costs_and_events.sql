-- What is known of a cost: `estimated` by the price of the model's family, or not known at all.
ALTER TABLE token_record ADD COLUMN basis TEXT NOT NULL DEFAULT 'listed'
    CHECK (basis IN ('listed', 'estimated'));

-- Tokens whose cost is by the price of a family.
ALTER TABLE token_total ADD COLUMN estimated_tokens INTEGER NOT NULL DEFAULT 0;
-- Tokens whose cost neither the table of prices nor an agent told; `spent` does not hold it.
ALTER TABLE token_total ADD COLUMN unknown_tokens INTEGER NOT NULL DEFAULT 0;
-- The part of `spent` that is by the price of a family, in millionths of a dollar.
ALTER TABLE token_total ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;

-- What went before: where no agent told anything, nothing is known of what has no price.
UPDATE token_total SET unknown_tokens = unpriced_tokens WHERE told = 0;

-- What happened to a loop and its agents that a person may want to look up: changes of health,
-- interventions, questions, the circuit breaker, budgets. As it was told, in the order in which it
-- happened. Only added to.
CREATE TABLE loop_event (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    loop_id       TEXT NOT NULL,
    -- The iteration during which it happened; none between two.
    iteration     INTEGER,
    at            TEXT NOT NULL,
    kind          TEXT NOT NULL,
    -- The event as `ralph run --json` prints it.
    body          TEXT NOT NULL
) STRICT;

CREATE INDEX loop_event_by_loop ON loop_event (loop_id, id);
