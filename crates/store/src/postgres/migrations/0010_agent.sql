-- Runs of tasks, plans and builds with their conversations, as SQLite has them since its first version;
-- leases on them instead of file locks; and the files that a run has written, for the machine that goes
-- on with it.

CREATE TABLE runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    -- The file it was started from, relative to the project.
    name text COLLATE "C" NOT NULL,
    -- A digest of what that file said.
    digest text NOT NULL,
    state text NOT NULL,
    -- The process that worked on it last, on whatever machine.
    pid bigint NOT NULL,
    created_ms bigint NOT NULL,
    changed_ms bigint NOT NULL
);

CREATE INDEX runs_by_name ON runs (kind, name, id);

-- Who holds a run and until when. The fence grows with every holder, and every write of a holder names
-- its own: one that was taken for dead writes nothing any more.
CREATE TABLE run_leases (
    run bigint PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    fence bigint NOT NULL,
    until_ms bigint NOT NULL
);

-- Small facts about a run, such as what became of a task.
CREATE TABLE facts (
    run bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key text COLLATE "C" NOT NULL,
    body text NOT NULL,
    at_ms bigint NOT NULL,
    PRIMARY KEY (run, key)
);

CREATE TABLE conversations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key text COLLATE "C" NOT NULL,
    created_ms bigint NOT NULL,
    UNIQUE (run, key)
);

CREATE TABLE turns (
    conversation bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    number bigint NOT NULL,
    body text NOT NULL,
    at_ms bigint NOT NULL,
    PRIMARY KEY (conversation, number)
);

CREATE TABLE notes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn bigint NOT NULL,
    outlives_turn bigint NOT NULL,
    body text NOT NULL
);

CREATE INDEX notes_by_turn ON notes (conversation, turn);

-- Every call that was paid for, in the buckets providers bill by. No price known is NULL.
CREATE TABLE calls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn bigint NOT NULL,
    phase text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    input bigint NOT NULL,
    output bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write bigint NOT NULL,
    reasoning bigint NOT NULL,
    micro_usd bigint,
    at_ms bigint NOT NULL
);

CREATE INDEX calls_by_conversation ON calls (conversation);

-- Build jobs. Each has a run, to which its conversations, its costs and its lease belong.
CREATE TABLE builds (
    id text COLLATE "C" PRIMARY KEY,
    run bigint NOT NULL UNIQUE REFERENCES runs (id) ON DELETE CASCADE,
    -- Its status and the number of its changes, which a change has to name; both are in the body as well.
    status text NOT NULL,
    revision bigint NOT NULL,
    body text NOT NULL,
    -- The youngest transaction that has told of it: no event is ordered before an earlier one.
    stream_at bigint NOT NULL DEFAULT 0
);

CREATE INDEX builds_by_status ON builds (status, id);

-- What happened to a job, in the order it happened.
CREATE TABLE build_progress (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    build text COLLATE "C" NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    body text NOT NULL
);

CREATE INDEX build_progress_by_build ON build_progress (build, id);

-- The files that a run has written so far and not committed anywhere.
CREATE TABLE run_files (
    run bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    path text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    -- The run has deleted the file.
    is_gone boolean NOT NULL,
    is_executable boolean NOT NULL,
    -- A digest of what the run found there first; NULL where it found nothing.
    before text,
    at_ms bigint NOT NULL,
    PRIMARY KEY (run, path)
);

CREATE FUNCTION drawloom_build_place() RETURNS trigger LANGUAGE plpgsql AS $place$
BEGIN
    NEW.stream_at := greatest(NEW.stream_at, pg_current_xact_id()::text::bigint);
    RETURN NEW;
END $place$;

CREATE FUNCTION drawloom_build_change() RETURNS trigger LANGUAGE plpgsql AS $change$
BEGIN
    INSERT INTO event_stream (stream_at, kind, subject, body) VALUES (NEW.stream_at, 'build', NEW.id,
        jsonb_build_object('change', CASE TG_OP WHEN 'INSERT' THEN 'added' ELSE 'edited' END,
            'at_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
            'status', NEW.status)::text);
    RETURN NULL;
END $change$;

-- The body goes in as it is: a text with a zero in it is JSON, and no jsonb.
CREATE FUNCTION drawloom_build_progress() RETURNS trigger LANGUAGE plpgsql AS $progress$
DECLARE
    place bigint;
BEGIN
    UPDATE builds SET stream_at = greatest(stream_at, pg_current_xact_id()::text::bigint)
        WHERE id = NEW.build RETURNING stream_at INTO place;
    INSERT INTO event_stream (stream_at, kind, subject, body) VALUES (place, 'build', NEW.build,
        '{"change":"progress","at_ms":' || (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        || ',"progress":' || NEW.body || '}');
    RETURN NULL;
END $progress$;

CREATE TRIGGER builds_place BEFORE INSERT OR UPDATE OF status, revision, body ON builds FOR EACH ROW
    EXECUTE FUNCTION drawloom_build_place();
CREATE TRIGGER builds_change AFTER INSERT OR UPDATE OF status, revision, body ON builds FOR EACH ROW
    EXECUTE FUNCTION drawloom_build_change();
CREATE TRIGGER build_progress_change AFTER INSERT ON build_progress FOR EACH ROW
    EXECUTE FUNCTION drawloom_build_progress();

-- Secrets of the project that its machines share, such as the key of callbacks.
CREATE TABLE project_keys (
    name text COLLATE "C" PRIMARY KEY,
    value text NOT NULL,
    created_ms bigint NOT NULL
);
