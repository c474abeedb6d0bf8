-- The number of the newest checkpoint that a loop was given: one that is taken out at the end of its chain is
-- missed by it, and no number is given twice.
ALTER TABLE loop ADD COLUMN checkpoints INTEGER NOT NULL DEFAULT 0;

UPDATE loop SET checkpoints = past.n
FROM (SELECT loop_id, MAX(n) AS n FROM checkpoint GROUP BY loop_id) AS past
WHERE past.loop_id = loop.id;

CREATE TRIGGER checkpoint_is_made AFTER INSERT ON checkpoint
BEGIN
    UPDATE loop SET checkpoints = MAX(checkpoints, NEW.n) WHERE id = NEW.loop_id;
END;
