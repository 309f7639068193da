-- Users, people and agents alike, and schedules.

CREATE TABLE users (
    slug TEXT PRIMARY KEY,
    display_name TEXT NOT NULL,
    role TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    is_agent INTEGER NOT NULL,
    -- People have one; as it is written to.
    email TEXT,
    -- The same in small letters: two ways to write it are one address.
    email_key TEXT UNIQUE,
    -- Agents have one.
    agent_prompt TEXT,
    revision INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    CHECK ((is_agent = 1) = (agent_prompt IS NOT NULL)),
    CHECK ((is_agent = 0) = (email IS NOT NULL))
) STRICT;

CREATE TABLE schedules (
    slug TEXT PRIMARY KEY,
    workflow TEXT NOT NULL,
    cron TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    input TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    -- Nothing where no time is left.
    next_ms INTEGER,
    last_due_ms INTEGER,
    -- What came of it: one of these two.
    last_run TEXT,
    last_error TEXT,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX schedules_due ON schedules (next_ms) WHERE is_enabled = 1 AND next_ms IS NOT NULL;
