-- What a team looks at: the rows of all its journals in one place. The views ask as whoever reads them, so that the
-- policies of the tables hold.
--
-- A copied journal holds rows that another one holds too. Of a loop that several have, the row with more iterations is
-- shown, then the one that ended or began last, then that of the smaller origin. All stay in the tables.

CREATE VIEW ralph_team.loop WITH (security_invoker = true) AS
SELECT l.tenant, l.origin, m.name AS machine, l.repository_id, r.common_dir, l.id, l.worktree, l.source, l.goal,
       l.branch, l.agent, l.iterations, l.verified,
       coalesce(
           (SELECT t.spent FROM ralph.token_total t
            WHERE t.tenant = l.tenant AND t.origin = l.origin AND t.repository_id = l.repository_id
              AND t.dimension = 'loop' AND t.key = l.id AND t.day = '' AND t.spent > 0),
           l.cost_millionths
       ) AS spent,
       l.input_tokens, l.output_tokens, l.started_at, l.ended_at, l.stop, l.paused_at, l.checkpoints
FROM ralph.loop l
JOIN ralph.repository r ON r.tenant = l.tenant AND r.origin = l.origin AND r.id = l.repository_id
LEFT JOIN ralph.machine m ON m.tenant = l.tenant AND m.origin = l.origin
WHERE NOT EXISTS (
    SELECT 1 FROM ralph.loop o
    WHERE o.tenant = l.tenant AND o.id = l.id AND o.origin <> l.origin
      AND (o.iterations > l.iterations
           OR (o.iterations = l.iterations
               AND (coalesce(o.ended_at, o.started_at) > coalesce(l.ended_at, l.started_at)
                    OR (coalesce(o.ended_at, o.started_at) = coalesce(l.ended_at, l.started_at)
                        AND o.origin < l.origin))))
);

-- The sums of each loop, of its tasks and of its models, by day and for all days (day ''). Sums of a whole journal are
-- not here: those of a copied one would count twice. Runs outside of loops have the name of their work as the loop.
CREATE VIEW ralph_team.cost WITH (security_invoker = true) AS
SELECT t.tenant, t.origin, m.name AS machine, t.repository_id, t.dimension,
       split_part(t.key, E'\x1f', 1) AS loop_id, t.key, t.day, t.calls, t.tool_calls, t.input, t.output,
       t.cache_read, t.cache_write, t.cost_input, t.cost_output, t.cost_cache_read, t.cost_cache_write,
       t.unpriced_tokens, t.told, t.told_by_table, t.spent, t.estimated_tokens, t.unknown_tokens, t.estimated
FROM ralph.token_total t
LEFT JOIN ralph.machine m ON m.tenant = t.tenant AND m.origin = t.origin
WHERE t.dimension IN ('loop', 'loop_task', 'loop_part')
  AND NOT EXISTS (
    SELECT 1 FROM ralph.loop l
    JOIN ralph.loop o ON o.tenant = l.tenant AND o.id = l.id AND o.origin <> l.origin
    WHERE l.tenant = t.tenant AND l.origin = t.origin AND l.id = split_part(t.key, E'\x1f', 1)
      AND (o.iterations > l.iterations
           OR (o.iterations = l.iterations
               AND (coalesce(o.ended_at, o.started_at) > coalesce(l.ended_at, l.started_at)
                    OR (coalesce(o.ended_at, o.started_at) = coalesce(l.ended_at, l.started_at)
                        AND o.origin < l.origin))))
);

-- Of a question that several journals hold, an answered one is shown, then that of the smaller origin.
CREATE VIEW ralph_team.question WITH (security_invoker = true) AS
SELECT q.tenant, q.origin, m.name AS machine, q.repository_id, r.common_dir, q.id, q.source, q.task_id, q.iteration,
       q.asked_by, q.question, q.body, q.asked_at, q.answer, q.answered_at
FROM ralph.escalation q
JOIN ralph.repository r ON r.tenant = q.tenant AND r.origin = q.origin AND r.id = q.repository_id
LEFT JOIN ralph.machine m ON m.tenant = q.tenant AND m.origin = q.origin
WHERE NOT EXISTS (
    SELECT 1 FROM ralph.escalation o
    WHERE o.tenant = q.tenant AND o.repository_id = q.repository_id AND o.id = q.id AND o.origin <> q.origin
      AND o.asked_at = q.asked_at
      AND ((o.answered_at IS NOT NULL AND q.answered_at IS NULL)
           OR ((o.answered_at IS NOT NULL) = (q.answered_at IS NOT NULL) AND o.origin < q.origin))
);

CREATE VIEW ralph_team.checkpoint WITH (security_invoker = true) AS
SELECT c.tenant, c.origin, m.name AS machine, c.repository_id, c.loop_id, c.id, c.n, c.iteration, c.phase, c.at,
       c.hash, c.prev_hash, c.tip_commit
FROM ralph.checkpoint c
LEFT JOIN ralph.machine m ON m.tenant = c.tenant AND m.origin = c.origin
WHERE NOT EXISTS (
    SELECT 1 FROM ralph.checkpoint o WHERE o.tenant = c.tenant AND o.id = c.id AND o.origin < c.origin
);

CREATE VIEW ralph_team.machine WITH (security_invoker = true) AS
SELECT tenant, origin, name, seq, first_seen, last_seen, clock_skew_ms FROM ralph.machine;

GRANT SELECT ON ralph_team.loop, ralph_team.cost, ralph_team.question, ralph_team.checkpoint, ralph_team.machine
TO ralph_app;
