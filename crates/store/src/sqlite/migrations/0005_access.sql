-- What users keep for themselves: saved views of lists, and tokens of their programs.

CREATE TABLE views (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL REFERENCES users (slug),
    name TEXT NOT NULL,
    -- Of which list.
    list TEXT NOT NULL,
    filter TEXT NOT NULL,
    is_shared INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    UNIQUE (owner, name)
) STRICT;

CREATE INDEX views_shared ON views (name) WHERE is_shared = 1;

CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    "user" TEXT NOT NULL REFERENCES users (slug),
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    -- SHA-256 of the secret, which is kept nowhere.
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    used_ms INTEGER,
    revoked_ms INTEGER
) STRICT;

-- The name of one that is revoked can be given again.
CREATE UNIQUE INDEX tokens_named ON tokens ("user", name) WHERE revoked_ms IS NULL;
