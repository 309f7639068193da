-- Users, people and agents alike, and schedules, as in SQLite.

CREATE TABLE users (
    slug text COLLATE "C" PRIMARY KEY,
    display_name text NOT NULL,
    role text NOT NULL,
    is_active boolean NOT NULL,
    is_agent boolean NOT NULL,
    -- People have one; as it is written to.
    email text,
    -- The same in small letters: two ways to write it are one address.
    email_key text COLLATE "C" UNIQUE,
    -- Agents have one.
    agent_prompt text,
    revision bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    CHECK (is_agent = (agent_prompt IS NOT NULL)),
    CHECK (is_agent = (email IS NULL))
);

CREATE TABLE schedules (
    slug text COLLATE "C" PRIMARY KEY,
    workflow text NOT NULL,
    cron text NOT NULL,
    time_zone text NOT NULL,
    input text NOT NULL,
    is_enabled boolean NOT NULL,
    -- Nothing where no time is left.
    next_ms bigint,
    last_due_ms bigint,
    -- What came of it: one of these two.
    last_run text,
    last_error text,
    created_ms bigint NOT NULL
);

CREATE INDEX schedules_due ON schedules (next_ms) WHERE is_enabled AND next_ms IS NOT NULL;
