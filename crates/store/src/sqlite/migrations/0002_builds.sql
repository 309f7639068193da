-- Build jobs. Each has a run, to which its conversations, its costs and its lock belong.

CREATE TABLE builds (
    id TEXT PRIMARY KEY,
    run INTEGER NOT NULL UNIQUE REFERENCES runs (id) ON DELETE CASCADE,
    -- How it stands and how often it was changed, which a change has to name; both are in the body
    -- as well.
    status TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE INDEX builds_by_status ON builds (status, id);

-- What happened to a job, in the order it happened.
CREATE TABLE build_progress (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    build TEXT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    body TEXT NOT NULL
) STRICT;

CREATE INDEX build_progress_by_build ON build_progress (build, id);
