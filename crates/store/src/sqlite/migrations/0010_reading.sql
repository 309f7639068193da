-- Tables and indexes that people's questions are answered from: the inbox, costs, and texts to search.

-- Tasks that wait for a person, of each assignee.
CREATE INDEX workflow_tasks_waiting ON workflow_tasks (assignee, number)
WHERE status = 'on_hold' OR (status = 'pending' AND ready_ms IS NULL);
CREATE INDEX workflow_tasks_asking ON workflow_tasks (number)
WHERE status = 'on_hold' OR (status = 'pending' AND ready_ms IS NULL);

-- What attempts cost, added up: one row for each day and run, workflow, step, model or person.
CREATE TABLE cost_sums (
    kind TEXT NOT NULL,
    -- Days since 1970-01-01 (UTC).
    day INTEGER NOT NULL,
    name TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    -- Millionths of a US dollar.
    micros INTEGER NOT NULL,
    PRIMARY KEY (kind, day, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX cost_sums_highest ON cost_sums (kind, day, micros, name);

-- Runs that are there already count on the day on which they began.
CREATE TEMP TABLE spent_before AS
SELECT created_ms / 86400000 AS day, id, coalesce(body ->> '$.name', '') AS workflow,
    body ->> '$.spent.tokens' AS tokens, body ->> '$.spent.micros' AS micros
FROM workflow_runs
WHERE coalesce(body ->> '$.spent.tokens', 0) > 0 OR coalesce(body ->> '$.spent.micros', 0) > 0;

INSERT INTO cost_sums (kind, day, name, attempts, tokens, micros)
SELECT 'day', day, '', count(*), sum(tokens), sum(micros) FROM temp.spent_before GROUP BY day;
INSERT INTO cost_sums (kind, day, name, attempts, tokens, micros)
SELECT 'workflow', day, workflow, count(*), sum(tokens), sum(micros) FROM temp.spent_before
GROUP BY day, workflow;
INSERT INTO cost_sums (kind, day, name, attempts, tokens, micros)
SELECT 'run', day, id, 1, tokens, micros FROM temp.spent_before;

DROP TABLE temp.spent_before;

-- Texts to search: of runs, of tasks with their prompts, replies and comments, and of workflows.
CREATE TABLE search_documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    -- Tells documents of a kind apart.
    name TEXT NOT NULL,
    run TEXT,
    task TEXT,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    -- The words of title and body in small letters, between single spaces.
    words TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    UNIQUE (kind, name)
) STRICT;

CREATE INDEX search_documents_run ON search_documents (run) WHERE run IS NOT NULL;
CREATE INDEX search_documents_newest ON search_documents (kind, at_ms);

CREATE VIRTUAL TABLE search_words USING fts5 (
    words, content = 'search_documents', content_rowid = 'number',
    tokenize = 'unicode61 remove_diacritics 0'
);

CREATE TRIGGER search_documents_added AFTER INSERT ON search_documents BEGIN
    INSERT INTO search_words (rowid, words) VALUES (NEW.number, NEW.words);
END;
CREATE TRIGGER search_documents_removed AFTER DELETE ON search_documents BEGIN
    INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', OLD.number, OLD.words);
END;
CREATE TRIGGER search_documents_edited AFTER UPDATE ON search_documents BEGIN
    INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', OLD.number, OLD.words);
    INSERT INTO search_words (rowid, words) VALUES (NEW.number, NEW.words);
END;
