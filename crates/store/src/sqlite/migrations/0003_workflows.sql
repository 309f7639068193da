-- Workflows: texts, and the rows of their runs. A row is a document with the columns beside it that
-- it is found by. Names are those of `flow`: a task is named by its run, the items it stands in, its
-- step and its visit.

CREATE TABLE workflow_texts (
    hash TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE workflow_runs (
    id TEXT PRIMARY KEY,
    workflow TEXT NOT NULL REFERENCES workflow_texts (hash),
    status TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    input TEXT,
    body TEXT NOT NULL
) STRICT;

CREATE INDEX workflow_runs_newest ON workflow_runs (created_ms, id);

CREATE TABLE workflow_tasks (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL REFERENCES workflow_runs (id),
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
    is_active INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX workflow_tasks_visits ON workflow_tasks (place, visit);
CREATE INDEX workflow_tasks_ready ON workflow_tasks (ready_ms, id) WHERE ready_ms IS NOT NULL;
CREATE INDEX workflow_tasks_leased ON workflow_tasks (lease_ms) WHERE lease_ms IS NOT NULL;
CREATE INDEX workflow_tasks_active ON workflow_tasks (run, path) WHERE is_active = 1;

CREATE TABLE workflow_groups (
    id TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE workflow_items (
    "group" TEXT NOT NULL,
    "index" INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY ("group", "index")
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_timers (
    run TEXT NOT NULL,
    key TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX workflow_timers_due ON workflow_timers (at_ms);

CREATE TABLE workflow_events (
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_notices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    body TEXT NOT NULL
) STRICT;
