-- How many are under way at a time, which come first, what commands print, and what triggers have seen.

ALTER TABLE workflow_tasks ADD COLUMN slot TEXT;
-- Less the higher the priority is: a list in order has the first ones first.
ALTER TABLE workflow_tasks ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;

DROP INDEX workflow_tasks_ready;
CREATE INDEX workflow_tasks_ready ON workflow_tasks (rank, ready_ms, place, visit, slot)
WHERE ready_ms IS NOT NULL;

-- Who holds room of a key, and who waits for it.
CREATE TABLE workflow_slots (
    key TEXT NOT NULL,
    holder TEXT NOT NULL,
    max INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    is_held INTEGER NOT NULL,
    PRIMARY KEY (key, holder)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_logs (
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    stream TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, task, attempt, number)
) STRICT, WITHOUT ROWID;

-- What a trigger has seen, so that it starts a run for each change once.
CREATE TABLE workflow_triggers (
    name TEXT PRIMARY KEY,
    seen TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Overlap, catching up and jitter, as JSON.
ALTER TABLE schedules ADD COLUMN policy TEXT NOT NULL DEFAULT '{}';
