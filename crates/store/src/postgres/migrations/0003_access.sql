-- What users keep for themselves, as in SQLite: saved views of lists, and tokens of their programs.

CREATE TABLE views (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text COLLATE "C" NOT NULL REFERENCES users (slug),
    name text COLLATE "C" NOT NULL,
    -- Of which list.
    list text NOT NULL,
    filter text NOT NULL,
    is_shared boolean NOT NULL,
    revision bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    UNIQUE (owner, name)
);

CREATE INDEX views_shared ON views (name) WHERE is_shared;

CREATE TABLE tokens (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "user" text COLLATE "C" NOT NULL REFERENCES users (slug),
    name text COLLATE "C" NOT NULL,
    role text NOT NULL,
    -- SHA-256 of the secret, which is kept nowhere.
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_ms bigint NOT NULL,
    expires_ms bigint,
    used_ms bigint,
    revoked_ms bigint
);

-- The name of one that is revoked can be given again.
CREATE UNIQUE INDEX tokens_named ON tokens ("user", name) WHERE revoked_ms IS NULL;
