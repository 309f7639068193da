-- What the agent does: runs, the tasks in them, their conversations, and what was paid.

CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    -- The file it was started from, relative to the project.
    name TEXT NOT NULL,
    -- A digest of what that file said.
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    -- Who works on it; whether they live is for the lock to say.
    pid INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_by_name ON runs (kind, name, id);

-- Small facts about a run, such as what became of a task.
CREATE TABLE facts (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (run, key)
) STRICT;

CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (run, key)
) STRICT;

CREATE TABLE turns (
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (conversation, number)
) STRICT;

CREATE TABLE notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    outlives_turn INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE INDEX notes_by_turn ON notes (conversation, turn);

-- Every call that was paid for, in the buckets providers bill by. No price known is NULL.
CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    phase TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    micro_usd INTEGER,
    at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX calls_by_conversation ON calls (conversation);
