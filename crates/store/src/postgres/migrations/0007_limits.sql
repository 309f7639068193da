-- How many are under way at a time, which come first, what commands print, and what triggers have seen,
-- as in SQLite.

ALTER TABLE workflow_tasks ADD COLUMN slot text COLLATE "C";
ALTER TABLE workflow_tasks ADD COLUMN rank bigint NOT NULL DEFAULT 0;
ALTER TABLE workflow_ready ADD COLUMN slot text COLLATE "C";
-- Less the higher the priority is: a list in order has the first ones first.
ALTER TABLE workflow_ready ADD COLUMN rank bigint NOT NULL DEFAULT 0;

DROP INDEX workflow_ready_oldest;
CREATE INDEX workflow_ready_oldest ON workflow_ready (rank, ready_ms, task);

-- Who holds room of a key, and who waits for it.
CREATE TABLE workflow_slots (
    key text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    max bigint NOT NULL,
    since_ms bigint NOT NULL,
    is_held boolean NOT NULL,
    PRIMARY KEY (key, holder)
);

CREATE TABLE workflow_logs (
    run text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    number bigint NOT NULL,
    at_ms bigint NOT NULL,
    stream text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (run, task, attempt, number)
);

-- What a trigger has seen, so that it starts a run for each change once.
CREATE TABLE workflow_triggers (
    name text COLLATE "C" PRIMARY KEY,
    seen text NOT NULL
);

-- Overlap, catching up and jitter, as JSON.
ALTER TABLE schedules ADD COLUMN policy text NOT NULL DEFAULT '{}';
