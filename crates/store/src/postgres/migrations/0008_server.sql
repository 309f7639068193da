-- The tables that a server stands on, as in SQLite: how people sign in, what programs repeat, who did
-- what, who is told, versions of workflows, details of tasks, and the one stream of events.

CREATE TABLE passwords (
    "user" text COLLATE "C" PRIMARY KEY REFERENCES users (slug),
    -- An argon2id string.
    hash text COLLATE "C" NOT NULL,
    changed_ms bigint NOT NULL
);

CREATE TABLE identities (
    issuer text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL REFERENCES users (slug),
    created_ms bigint NOT NULL,
    PRIMARY KEY (issuer, subject)
);

CREATE TABLE one_time_links (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    purpose text NOT NULL,
    "user" text COLLATE "C" REFERENCES users (slug),
    -- SHA-256 of the secret, which is kept nowhere.
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_ms bigint NOT NULL,
    expires_ms bigint NOT NULL
);

-- At most one row: the first claim.
CREATE TABLE server_claims (
    id bigint PRIMARY KEY CHECK (id = 1),
    "user" text COLLATE "C" NOT NULL REFERENCES users (slug),
    claimed_ms bigint NOT NULL
);

CREATE TABLE sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "user" text COLLATE "C" NOT NULL REFERENCES users (slug),
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_ms bigint NOT NULL,
    seen_ms bigint NOT NULL,
    expires_ms bigint NOT NULL,
    idle_ms_max bigint NOT NULL,
    user_agent text NOT NULL,
    address text NOT NULL
);

CREATE INDEX sessions_of ON sessions ("user", id);

-- Words that narrow a token further than its role; none means no narrower.
ALTER TABLE tokens ADD COLUMN scopes text NOT NULL DEFAULT '';

CREATE TABLE idempotency_keys (
    owner text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    -- SHA-256 of the request.
    digest bytea NOT NULL,
    -- Until when the first request may take.
    lease_ms bigint NOT NULL,
    expires_ms bigint NOT NULL,
    -- The response; nothing while the request is under way.
    status bigint,
    headers text,
    body bytea,
    PRIMARY KEY (owner, key)
);

CREATE INDEX idempotency_keys_ended ON idempotency_keys (expires_ms);

CREATE TABLE audit_entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    action text NOT NULL,
    object text COLLATE "C" NOT NULL,
    outcome text NOT NULL,
    detail text NOT NULL,
    address text NOT NULL
);

CREATE INDEX audit_entries_actor ON audit_entries (actor, id);
CREATE INDEX audit_entries_object ON audit_entries (object, id);

CREATE TABLE webhooks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL,
    description text NOT NULL,
    -- Lists of texts.
    events text NOT NULL,
    secrets text NOT NULL,
    is_enabled boolean NOT NULL,
    revision bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL
);

CREATE TABLE webhook_deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook bigint NOT NULL REFERENCES webhooks (id),
    message text COLLATE "C" NOT NULL,
    event text NOT NULL,
    body text NOT NULL,
    status text NOT NULL,
    attempts bigint NOT NULL,
    due_ms bigint NOT NULL,
    created_ms bigint NOT NULL,
    tried_ms bigint,
    last_status bigint,
    last_error text,
    UNIQUE (webhook, message)
);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_ms, id) WHERE status = 'waiting';
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (webhook, id);

CREATE TABLE workflow_versions (
    name text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    hash text COLLATE "C" NOT NULL REFERENCES workflow_texts (hash),
    author text NOT NULL,
    created_ms bigint NOT NULL,
    message text NOT NULL,
    origin text NOT NULL,
    PRIMARY KEY (name, number)
);

CREATE INDEX workflow_versions_of ON workflow_versions (hash);

CREATE TABLE task_details (
    task text COLLATE "C" PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    title text NOT NULL,
    summary text NOT NULL,
    extra_prompt text NOT NULL,
    additional_info text NOT NULL,
    urgency text NOT NULL,
    tags text NOT NULL,
    due_ms bigint,
    parent text COLLATE "C",
    created_by text NOT NULL,
    revision bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL
);

CREATE INDEX task_details_run ON task_details (run, task);
CREATE INDEX task_details_parent ON task_details (parent, created_ms, task) WHERE parent IS NOT NULL;

CREATE TABLE task_tags (
    tag text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    PRIMARY KEY (tag, task)
);

CREATE INDEX task_tags_of ON task_tags (task);

CREATE TABLE task_comments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task text COLLATE "C" NOT NULL,
    run text COLLATE "C" NOT NULL,
    author text NOT NULL,
    body text NOT NULL,
    created_ms bigint NOT NULL,
    edited_ms bigint
);

CREATE INDEX task_comments_of ON task_comments (task, id);
CREATE INDEX task_comments_run ON task_comments (run);

-- The one order of all changes. A page of a run's events is named here and kept where it was; other
-- changes have their document here. A sequence alone has holes that fill later: so rows are ordered by
-- the transaction that wrote them, and a row is final when no older transaction is under way. A run's
-- pages are never ordered before its earlier ones: a transaction that is older than the one that wrote
-- those takes the younger one's number.
CREATE TABLE event_stream (
    stream_at bigint NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL DEFAULT 'run',
    subject text COLLATE "C" NOT NULL,
    -- The number of the last event of a page.
    seq bigint NOT NULL DEFAULT 0,
    body text,
    PRIMARY KEY (stream_at, number)
);

ALTER TABLE workflow_runs ADD COLUMN stream_at bigint NOT NULL DEFAULT 0;

-- How far readers have come that go on after their death.
CREATE TABLE stream_readers (
    name text COLLATE "C" PRIMARY KEY,
    major bigint NOT NULL,
    minor bigint NOT NULL
);

-- Arguments: the kind, the column that names the subject, the word for an insert, and a column to tell.
CREATE FUNCTION drawloom_note_change() RETURNS trigger LANGUAGE plpgsql AS $note$
DECLARE
    kept jsonb := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
    told jsonb := jsonb_build_object('change', CASE TG_OP WHEN 'INSERT' THEN TG_ARGV[2]
        WHEN 'UPDATE' THEN 'edited' ELSE 'removed' END,
        'at_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
BEGIN
    IF TG_NARGS > 3 THEN
        told := told || jsonb_build_object(TG_ARGV[4], kept -> TG_ARGV[3]);
    END IF;
    INSERT INTO event_stream (stream_at, kind, subject, body) VALUES
        (pg_current_xact_id()::text::bigint, TG_ARGV[0], kept ->> TG_ARGV[1], told::text);
    RETURN NULL;
END $note$;

CREATE TRIGGER users_change AFTER INSERT OR UPDATE ON users FOR EACH ROW
    EXECUTE FUNCTION drawloom_note_change('user', 'slug', 'added');
CREATE TRIGGER schedules_change AFTER INSERT OR UPDATE OR DELETE ON schedules FOR EACH ROW
    EXECUTE FUNCTION drawloom_note_change('schedule', 'slug', 'added');
CREATE TRIGGER workflow_versions_change AFTER INSERT ON workflow_versions FOR EACH ROW
    EXECUTE FUNCTION drawloom_note_change('workflow', 'name', 'added', 'number', 'number');
CREATE TRIGGER task_details_change AFTER INSERT OR UPDATE ON task_details FOR EACH ROW
    EXECUTE FUNCTION drawloom_note_change('task', 'task', 'added');
CREATE TRIGGER task_comments_change AFTER INSERT ON task_comments FOR EACH ROW
    EXECUTE FUNCTION drawloom_note_change('task', 'task', 'commented', 'id', 'comment');
