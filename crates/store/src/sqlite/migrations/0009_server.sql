-- The tables that a server stands on: how people sign in, what programs repeat, who did what, who is told,
-- versions of workflows, details of tasks, and the one stream of events.

CREATE TABLE passwords (
    "user" TEXT PRIMARY KEY REFERENCES users (slug),
    -- An argon2id string.
    hash TEXT NOT NULL,
    changed_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    "user" TEXT NOT NULL REFERENCES users (slug),
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT;

CREATE TABLE one_time_links (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    purpose TEXT NOT NULL,
    "user" TEXT REFERENCES users (slug),
    -- SHA-256 of the secret, which is kept nowhere.
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;

-- At most one row: the first claim.
CREATE TABLE server_claims (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    "user" TEXT NOT NULL REFERENCES users (slug),
    claimed_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    "user" TEXT NOT NULL REFERENCES users (slug),
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_ms INTEGER NOT NULL,
    seen_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    idle_ms_max INTEGER NOT NULL,
    user_agent TEXT NOT NULL,
    address TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_of ON sessions ("user", id);

-- Words that narrow a token further than its role; none means no narrower.
ALTER TABLE tokens ADD COLUMN scopes TEXT NOT NULL DEFAULT '';

CREATE TABLE idempotency_keys (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    -- SHA-256 of the request.
    digest BLOB NOT NULL,
    -- Until when the first request may take.
    lease_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    -- The response; nothing while the request is under way.
    status INTEGER,
    headers TEXT,
    body BLOB,
    PRIMARY KEY (owner, key)
) STRICT;

CREATE INDEX idempotency_keys_ended ON idempotency_keys (expires_ms);

CREATE TABLE audit_entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT NOT NULL,
    address TEXT NOT NULL
) STRICT;

CREATE INDEX audit_entries_actor ON audit_entries (actor, id);
CREATE INDEX audit_entries_object ON audit_entries (object, id);

CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL,
    description TEXT NOT NULL,
    -- Lists of texts.
    events TEXT NOT NULL,
    secrets TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE webhook_deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook INTEGER NOT NULL REFERENCES webhooks (id),
    message TEXT NOT NULL,
    event TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_ms INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    tried_ms INTEGER,
    last_status INTEGER,
    last_error TEXT,
    UNIQUE (webhook, message)
) STRICT;

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_ms, id) WHERE status = 'waiting';
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (webhook, id);

CREATE TABLE workflow_versions (
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    hash TEXT NOT NULL REFERENCES workflow_texts (hash),
    author TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    message TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (name, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX workflow_versions_of ON workflow_versions (hash);

CREATE TABLE task_details (
    task TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    extra_prompt TEXT NOT NULL,
    additional_info TEXT NOT NULL,
    urgency TEXT NOT NULL,
    tags TEXT NOT NULL,
    due_ms INTEGER,
    parent TEXT,
    created_by TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX task_details_run ON task_details (run, task);
CREATE INDEX task_details_parent ON task_details (parent, created_ms, task) WHERE parent IS NOT NULL;

CREATE TABLE task_tags (
    tag TEXT NOT NULL,
    task TEXT NOT NULL,
    PRIMARY KEY (tag, task)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_tags_of ON task_tags (task);

CREATE TABLE task_comments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL,
    run TEXT NOT NULL,
    author TEXT NOT NULL,
    body TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    edited_ms INTEGER
) STRICT;

CREATE INDEX task_comments_of ON task_comments (task, id);
CREATE INDEX task_comments_run ON task_comments (run);

-- The one order of all changes. A page of a run's events is named here and kept where it was; other
-- changes have their document here. There is one writer at a time, so that positions grow as
-- transactions end. It begins empty: events from before have no position.
CREATE TABLE event_stream (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL DEFAULT 'run',
    subject TEXT NOT NULL,
    -- The number of the last event of a page.
    seq INTEGER NOT NULL DEFAULT 0,
    body TEXT
) STRICT;

-- How far readers have come that go on after their death.
CREATE TABLE stream_readers (
    name TEXT PRIMARY KEY,
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL
) STRICT;

CREATE TRIGGER users_added AFTER INSERT ON users BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('user', NEW.slug,
        json_object('change', 'added', 'at_ms', NEW.updated_ms));
END;
CREATE TRIGGER users_edited AFTER UPDATE ON users BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('user', NEW.slug,
        json_object('change', 'edited', 'at_ms', NEW.updated_ms));
END;
CREATE TRIGGER schedules_added AFTER INSERT ON schedules BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('schedule', NEW.slug,
        json_object('change', 'added', 'at_ms', CAST(unixepoch('subsec') * 1000 AS INTEGER)));
END;
CREATE TRIGGER schedules_edited AFTER UPDATE ON schedules BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('schedule', NEW.slug,
        json_object('change', 'edited', 'at_ms', CAST(unixepoch('subsec') * 1000 AS INTEGER)));
END;
CREATE TRIGGER schedules_removed AFTER DELETE ON schedules BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('schedule', OLD.slug,
        json_object('change', 'removed', 'at_ms', CAST(unixepoch('subsec') * 1000 AS INTEGER)));
END;
CREATE TRIGGER builds_added AFTER INSERT ON builds BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('build', NEW.id,
        json_object('change', 'added', 'at_ms', CAST(unixepoch('subsec') * 1000 AS INTEGER),
        'status', NEW.status));
END;
CREATE TRIGGER builds_edited AFTER UPDATE ON builds BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('build', NEW.id,
        json_object('change', 'edited', 'at_ms', CAST(unixepoch('subsec') * 1000 AS INTEGER),
        'status', NEW.status));
END;
CREATE TRIGGER build_progress_added AFTER INSERT ON build_progress BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('build', NEW.build,
        json_object('change', 'progress', 'at_ms', CAST(unixepoch('subsec') * 1000 AS INTEGER),
        'progress', json(NEW.body)));
END;
CREATE TRIGGER workflow_versions_added AFTER INSERT ON workflow_versions BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('workflow', NEW.name,
        json_object('change', 'added', 'at_ms', NEW.created_ms, 'number', NEW.number));
END;
CREATE TRIGGER task_details_added AFTER INSERT ON task_details BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('task', NEW.task,
        json_object('change', 'added', 'at_ms', NEW.updated_ms));
END;
CREATE TRIGGER task_details_edited AFTER UPDATE ON task_details BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('task', NEW.task,
        json_object('change', 'edited', 'at_ms', NEW.updated_ms));
END;
CREATE TRIGGER task_comments_added AFTER INSERT ON task_comments BEGIN
    INSERT INTO event_stream (kind, subject, body) VALUES ('task', NEW.task,
        json_object('change', 'commented', 'at_ms', NEW.created_ms, 'comment', NEW.id));
END;
