-- Workflows: texts, and the rows of their runs, as in SQLite. A row is a document with the columns
-- beside it that it is found by. Documents are texts: `jsonb` would refuse some and reorder others.

CREATE TABLE workflow_texts (
    hash text COLLATE "C" PRIMARY KEY,
    source text NOT NULL,
    created_ms bigint NOT NULL
);

-- Every command rewrites the row of its run: room is left for that on the page.
CREATE TABLE workflow_runs (
    id text COLLATE "C" PRIMARY KEY,
    workflow text COLLATE "C" NOT NULL REFERENCES workflow_texts (hash),
    status text NOT NULL,
    created_ms bigint NOT NULL,
    input text,
    body text NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX workflow_runs_newest ON workflow_runs (created_ms, id);

CREATE TABLE workflow_tasks (
    id text COLLATE "C" PRIMARY KEY,
    -- The order in which they came to be.
    number bigint GENERATED ALWAYS AS IDENTITY,
    run text COLLATE "C" NOT NULL REFERENCES workflow_runs (id),
    -- The items it stands in.
    path text COLLATE "C" NOT NULL,
    -- Run, items and step: what visits are counted for.
    place text COLLATE "C" NOT NULL,
    visit bigint NOT NULL,
    status text NOT NULL,
    assignee text,
    -- When a worker may claim it; nothing where none may.
    ready_ms bigint,
    -- When its lease ends; nothing where nobody has one.
    lease_ms bigint,
    fence bigint NOT NULL,
    is_active boolean NOT NULL,
    body text NOT NULL
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX workflow_tasks_visits ON workflow_tasks (place, visit);
CREATE INDEX workflow_tasks_numbers ON workflow_tasks (run, number);
CREATE INDEX workflow_tasks_leased ON workflow_tasks (lease_ms) WHERE lease_ms IS NOT NULL;
CREATE INDEX workflow_tasks_active ON workflow_tasks (run, path) WHERE is_active;

-- What workers look through, again and again: narrow, and as long as there is work that waits.
CREATE TABLE workflow_ready (
    task text COLLATE "C" PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    ready_ms bigint NOT NULL,
    assignee text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX workflow_ready_oldest ON workflow_ready (ready_ms, task);
CREATE INDEX workflow_ready_runs ON workflow_ready (run, ready_ms);

CREATE TABLE workflow_groups (
    id text COLLATE "C" PRIMARY KEY,
    body text NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE workflow_items (
    "group" text COLLATE "C" NOT NULL,
    "index" bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY ("group", "index")
) WITH (fillfactor = 70);

CREATE TABLE workflow_timers (
    run text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    at_ms bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (run, key)
);

CREATE INDEX workflow_timers_due ON workflow_timers (at_ms);

CREATE TABLE workflow_events (
    run text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE workflow_notices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    body text NOT NULL
);

-- Duties that one process has at a time: timers, schedules, throwing away what is old.
CREATE TABLE workflow_duties (
    duty text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    until_ms bigint NOT NULL
);
