-- What a loop is about, and what its iterations come to: a list of loops must not read iterations.
ALTER TABLE loop ADD COLUMN goal TEXT NOT NULL DEFAULT '';
ALTER TABLE loop ADD COLUMN iterations INTEGER NOT NULL DEFAULT 0;
-- Those that landed and were not taken back since.
ALTER TABLE loop ADD COLUMN verified INTEGER NOT NULL DEFAULT 0;
-- In millionths of a dollar, so that sums are exact. NULL as long as no agent told any.
ALTER TABLE loop ADD COLUMN cost_millionths INTEGER;
ALTER TABLE loop ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE loop ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;

CREATE INDEX loop_by_time ON loop (repository_id, started_at, id);

-- What went before, once.
UPDATE loop SET
    iterations = past.iterations,
    verified = past.verified,
    cost_millionths = past.cost_millionths,
    input_tokens = past.input_tokens,
    output_tokens = past.output_tokens
FROM (
    SELECT loop_id,
           COUNT(*) AS iterations,
           SUM(verdict IN ('verified', 'progress') AND reverted_by IS NULL) AS verified,
           SUM(CAST(round(record ->> '$.usage.costUsd' * 1000000) AS INTEGER)) AS cost_millionths,
           SUM(COALESCE(record ->> '$.usage.inputTokens', 0)) AS input_tokens,
           SUM(COALESCE(record ->> '$.usage.outputTokens', 0)) AS output_tokens
    FROM iteration WHERE ended_at IS NOT NULL GROUP BY loop_id
) AS past
WHERE past.loop_id = loop.id;

-- From here on in the transaction that ends an iteration, whoever writes it.
CREATE TRIGGER iteration_ends AFTER UPDATE OF ended_at ON iteration
WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL
BEGIN
    UPDATE loop SET
        iterations = iterations + 1,
        verified = verified + (NEW.verdict IN ('verified', 'progress')),
        cost_millionths = CASE
            WHEN NEW.record ->> '$.usage.costUsd' IS NULL THEN cost_millionths
            ELSE COALESCE(cost_millionths, 0)
                 + CAST(round(NEW.record ->> '$.usage.costUsd' * 1000000) AS INTEGER)
        END,
        input_tokens = input_tokens + COALESCE(NEW.record ->> '$.usage.inputTokens', 0),
        output_tokens = output_tokens + COALESCE(NEW.record ->> '$.usage.outputTokens', 0)
    WHERE id = NEW.loop_id;
END;

CREATE TRIGGER iteration_is_taken_back AFTER UPDATE OF reverted_by ON iteration
WHEN OLD.reverted_by IS NULL AND NEW.reverted_by IS NOT NULL
     AND NEW.verdict IN ('verified', 'progress')
BEGIN
    UPDATE loop SET verified = verified - 1 WHERE id = NEW.loop_id;
END;
