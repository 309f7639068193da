-- Tables and indexes that people's questions are answered from: the inbox, costs, and texts to search.

-- Tasks that wait for a person, of each assignee.
CREATE INDEX workflow_tasks_waiting ON workflow_tasks (assignee, number)
WHERE status = 'on_hold' OR (status = 'pending' AND ready_ms IS NULL);
CREATE INDEX workflow_tasks_asking ON workflow_tasks (number)
WHERE status = 'on_hold' OR (status = 'pending' AND ready_ms IS NULL);

-- What attempts cost, added up: one row for each day and run, workflow, step, model or person.
CREATE TABLE cost_sums (
    kind text COLLATE "C" NOT NULL,
    -- Days since 1970-01-01 (UTC).
    day bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    attempts bigint NOT NULL,
    tokens bigint NOT NULL,
    -- Millionths of a US dollar.
    micros bigint NOT NULL,
    PRIMARY KEY (kind, day, name)
) WITH (fillfactor = 50);

CREATE INDEX cost_sums_highest ON cost_sums (kind, day, micros, name);

-- Runs that are there already count on the day on which they began.
WITH spent AS (
    SELECT created_ms / 86400000 AS day, id, coalesce(body::json ->> 'name', '') AS workflow,
        coalesce((body::json -> 'spent' ->> 'tokens')::bigint, 0) AS tokens,
        coalesce((body::json -> 'spent' ->> 'micros')::bigint, 0) AS micros
    FROM workflow_runs
), paid AS (
    SELECT * FROM spent WHERE tokens > 0 OR micros > 0
)
INSERT INTO cost_sums (kind, day, name, attempts, tokens, micros)
SELECT 'day', day, '', count(*), sum(tokens), sum(micros) FROM paid GROUP BY day
UNION ALL
SELECT 'workflow', day, workflow, count(*), sum(tokens), sum(micros) FROM paid GROUP BY day, workflow
UNION ALL
SELECT 'run', day, id, 1, tokens, micros FROM paid;

-- Texts to search: of runs, of tasks with their prompts, replies and comments, and of workflows.
CREATE TABLE search_documents (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    -- Tells documents of a kind apart.
    name text COLLATE "C" NOT NULL,
    run text COLLATE "C",
    task text COLLATE "C",
    title text NOT NULL,
    body text NOT NULL,
    -- The words of title and body in small letters, between single spaces.
    words text NOT NULL,
    at_ms bigint NOT NULL,
    UNIQUE (kind, name)
);

CREATE INDEX search_documents_run ON search_documents (run) WHERE run IS NOT NULL;
CREATE INDEX search_documents_newest ON search_documents (kind, at_ms);
CREATE INDEX search_documents_words ON search_documents USING gin (to_tsvector('simple', words));
