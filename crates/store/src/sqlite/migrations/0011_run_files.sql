-- The files that a run has written so far and not committed anywhere, for the machine that goes on with it.

CREATE TABLE run_files (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    content BLOB NOT NULL,
    -- The run has deleted the file.
    is_gone INTEGER NOT NULL,
    is_executable INTEGER NOT NULL,
    -- A digest of what the run found there first; NULL where it found nothing.
    before TEXT,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (run, path)
) STRICT;

-- Secrets of the project that its machines share, such as the key of callbacks.
CREATE TABLE project_keys (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
