-- Lists of runs are read from indexes, whatever they are filtered by, as in SQLite.

ALTER TABLE workflow_runs ADD COLUMN is_top boolean NOT NULL DEFAULT true;
UPDATE workflow_runs SET is_top = false WHERE body::json ->> 'parent' IS NOT NULL;

CREATE INDEX workflow_runs_top ON workflow_runs (created_ms, id) WHERE is_top;
CREATE INDEX workflow_runs_status ON workflow_runs (status, created_ms, id);
CREATE INDEX workflow_runs_of ON workflow_runs (workflow, status, created_ms, id);

-- The names a text is known by: its title, and the files it was started from.
CREATE TABLE workflow_names (
    hash text COLLATE "C" NOT NULL REFERENCES workflow_texts (hash),
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (hash, name)
);

CREATE TABLE workflow_tags (
    tag text COLLATE "C" NOT NULL,
    created_ms bigint NOT NULL,
    run text COLLATE "C" NOT NULL,
    PRIMARY KEY (tag, created_ms, run)
);

INSERT INTO workflow_tags (tag, created_ms, run)
SELECT DISTINCT tag, created_ms, id
FROM workflow_runs, json_array_elements_text(body::json -> 'tags') AS tag;

-- A notice leaves with its run, and is delivered again later if a reader failed.
ALTER TABLE workflow_notices ADD COLUMN run text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE workflow_notices ADD COLUMN tries bigint NOT NULL DEFAULT 0;
ALTER TABLE workflow_notices ADD COLUMN due_ms bigint NOT NULL DEFAULT 0;
UPDATE workflow_notices SET run = body::json ->> 'run';

CREATE INDEX workflow_notices_run ON workflow_notices (run);
CREATE INDEX workflow_notices_due ON workflow_notices (due_ms, id);

-- Lists of tasks over all runs. Few have not ended, and few have ended otherwise than well; a list of
-- all goes by the primary key.
CREATE INDEX workflow_tasks_open ON workflow_tasks (number) WHERE is_active;
CREATE INDEX workflow_tasks_unfinished ON workflow_tasks (status, number)
WHERE status IN ('failed', 'cancelled');
