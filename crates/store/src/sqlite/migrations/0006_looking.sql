-- Lists of runs are read from indexes, whatever they are filtered by.

ALTER TABLE workflow_runs ADD COLUMN is_top INTEGER NOT NULL DEFAULT 1;
UPDATE workflow_runs SET is_top = 0 WHERE body ->> '$.parent' IS NOT NULL;

CREATE INDEX workflow_runs_top ON workflow_runs (created_ms, id) WHERE is_top = 1;
CREATE INDEX workflow_runs_status ON workflow_runs (status, created_ms, id);
CREATE INDEX workflow_runs_of ON workflow_runs (workflow, status, created_ms, id);

-- The names a text is known by: its title, and the files it was started from.
CREATE TABLE workflow_names (
    hash TEXT NOT NULL REFERENCES workflow_texts (hash),
    name TEXT NOT NULL,
    PRIMARY KEY (hash, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_tags (
    tag TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    run TEXT NOT NULL,
    PRIMARY KEY (tag, created_ms, run)
) STRICT, WITHOUT ROWID;

INSERT INTO workflow_tags (tag, created_ms, run)
SELECT DISTINCT tag.value, runs.created_ms, runs.id
FROM workflow_runs AS runs, json_each(runs.body, '$.tags') AS tag;

-- A notice leaves with its run, and is delivered again later if a reader failed.
ALTER TABLE workflow_notices ADD COLUMN run TEXT NOT NULL DEFAULT '';
ALTER TABLE workflow_notices ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_notices ADD COLUMN due_ms INTEGER NOT NULL DEFAULT 0;
UPDATE workflow_notices SET run = body ->> '$.run';

CREATE INDEX workflow_notices_run ON workflow_notices (run);
CREATE INDEX workflow_notices_due ON workflow_notices (due_ms, id);

-- Place and visit name a task, and a run's tasks stand together by their places: no second name, and no
-- look through all tasks when a run leaves.
CREATE TABLE workflow_steps (
    -- The order in which they came to be.
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    -- The items it stands in.
    path TEXT NOT NULL,
    -- Run, items and step: what visits are counted for.
    place TEXT NOT NULL,
    visit INTEGER NOT NULL,
    status TEXT NOT NULL,
    assignee TEXT,
    -- When a worker may claim it; nothing where none may.
    ready_ms INTEGER,
    -- When its lease ends; nothing where nobody has one.
    lease_ms INTEGER,
    fence INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

INSERT INTO workflow_steps
    (number, run, path, place, visit, status, assignee, ready_ms, lease_ms, fence, is_active, body)
SELECT rowid, run, path, place, visit, status, assignee, ready_ms, lease_ms, body ->> '$.fence',
    is_active, body
FROM workflow_tasks ORDER BY rowid;

DROP TABLE workflow_tasks;
ALTER TABLE workflow_steps RENAME TO workflow_tasks;

CREATE UNIQUE INDEX workflow_tasks_visits ON workflow_tasks (place, visit);
CREATE INDEX workflow_tasks_ready ON workflow_tasks (ready_ms, place, visit)
WHERE ready_ms IS NOT NULL;
CREATE INDEX workflow_tasks_leased ON workflow_tasks (lease_ms) WHERE lease_ms IS NOT NULL;
CREATE INDEX workflow_tasks_active ON workflow_tasks (run, path) WHERE is_active = 1;

-- Lists of tasks over all runs, in the order in which they were created. Few have not ended, and few
-- have ended otherwise than well.
CREATE INDEX workflow_tasks_open ON workflow_tasks (number) WHERE is_active = 1;
CREATE INDEX workflow_tasks_unfinished ON workflow_tasks (status)
WHERE status IN ('failed', 'cancelled');
