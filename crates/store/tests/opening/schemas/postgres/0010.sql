CREATE FUNCTION public.drawloom_build_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO event_stream (stream_at, kind, subject, body) VALUES (NEW.stream_at, 'build', NEW.id,
        jsonb_build_object('change', CASE TG_OP WHEN 'INSERT' THEN 'added' ELSE 'edited' END,
            'at_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
            'status', NEW.status)::text);
    RETURN NULL;
END $$;
CREATE FUNCTION public.drawloom_build_place() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.stream_at := greatest(NEW.stream_at, pg_current_xact_id()::text::bigint);
    RETURN NEW;
END $$;
CREATE FUNCTION public.drawloom_build_progress() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    place bigint;
BEGIN
    UPDATE builds SET stream_at = greatest(stream_at, pg_current_xact_id()::text::bigint)
        WHERE id = NEW.build RETURNING stream_at INTO place;
    INSERT INTO event_stream (stream_at, kind, subject, body) VALUES (place, 'build', NEW.build,
        '{"change":"progress","at_ms":' || (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        || ',"progress":' || NEW.body || '}');
    RETURN NULL;
END $$;
CREATE FUNCTION public.drawloom_note_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
END $$;
CREATE TABLE public.audit_entries (
    id bigint NOT NULL,
    at_ms bigint NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    object text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL,
    detail text NOT NULL,
    address text NOT NULL
);
ALTER TABLE public.audit_entries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_entries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.build_progress (
    id bigint NOT NULL,
    build text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
);
ALTER TABLE public.build_progress ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.build_progress_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.builds (
    id text NOT NULL COLLATE pg_catalog."C",
    run bigint NOT NULL,
    status text NOT NULL,
    revision bigint NOT NULL,
    body text NOT NULL,
    stream_at bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.calls (
    id bigint NOT NULL,
    conversation bigint NOT NULL,
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
ALTER TABLE public.calls ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.calls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.conversations (
    id bigint NOT NULL,
    run bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    created_ms bigint NOT NULL
);
ALTER TABLE public.conversations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.conversations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.cost_sums (
    kind text NOT NULL COLLATE pg_catalog."C",
    day bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    tokens bigint NOT NULL,
    micros bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.drawloom_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);
CREATE TABLE public.event_stream (
    stream_at bigint NOT NULL,
    number bigint NOT NULL,
    kind text DEFAULT 'run'::text NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    seq bigint DEFAULT 0 NOT NULL,
    body text
);
ALTER TABLE public.event_stream ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.event_stream_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.facts (
    run bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL,
    at_ms bigint NOT NULL
);
CREATE TABLE public.idempotency_keys (
    owner text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    lease_ms bigint NOT NULL,
    expires_ms bigint NOT NULL,
    status bigint,
    headers text,
    body bytea
);
CREATE TABLE public.identities (
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    "user" text NOT NULL COLLATE pg_catalog."C",
    created_ms bigint NOT NULL
);
CREATE TABLE public.notes (
    id bigint NOT NULL,
    conversation bigint NOT NULL,
    turn bigint NOT NULL,
    outlives_turn bigint NOT NULL,
    body text NOT NULL
);
ALTER TABLE public.notes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.one_time_links (
    id bigint NOT NULL,
    purpose text NOT NULL,
    "user" text COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    created_ms bigint NOT NULL,
    expires_ms bigint NOT NULL,
    CONSTRAINT one_time_links_digest_check CHECK ((length(digest) = 32))
);
ALTER TABLE public.one_time_links ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.one_time_links_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.passwords (
    "user" text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    changed_ms bigint NOT NULL
);
CREATE TABLE public.project_keys (
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    created_ms bigint NOT NULL
);
CREATE TABLE public.run_files (
    run bigint NOT NULL,
    path text NOT NULL COLLATE pg_catalog."C",
    content bytea NOT NULL,
    is_gone boolean NOT NULL,
    is_executable boolean NOT NULL,
    before text,
    at_ms bigint NOT NULL
);
CREATE TABLE public.run_leases (
    run bigint NOT NULL,
    fence bigint NOT NULL,
    until_ms bigint NOT NULL
);
CREATE TABLE public.runs (
    id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL,
    state text NOT NULL,
    pid bigint NOT NULL,
    created_ms bigint NOT NULL,
    changed_ms bigint NOT NULL
);
ALTER TABLE public.runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.schedules (
    slug text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL,
    cron text NOT NULL,
    time_zone text NOT NULL,
    input text NOT NULL,
    is_enabled boolean NOT NULL,
    next_ms bigint,
    last_due_ms bigint,
    last_run text,
    last_error text,
    created_ms bigint NOT NULL,
    policy text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.search_documents (
    number bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    run text COLLATE pg_catalog."C",
    task text COLLATE pg_catalog."C",
    title text NOT NULL,
    body text NOT NULL,
    words text NOT NULL,
    at_ms bigint NOT NULL
);
ALTER TABLE public.search_documents ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.search_documents_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.server_claims (
    id bigint NOT NULL,
    "user" text NOT NULL COLLATE pg_catalog."C",
    claimed_ms bigint NOT NULL,
    CONSTRAINT server_claims_id_check CHECK ((id = 1))
);
CREATE TABLE public.sessions (
    id bigint NOT NULL,
    "user" text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    created_ms bigint NOT NULL,
    seen_ms bigint NOT NULL,
    expires_ms bigint NOT NULL,
    idle_ms_max bigint NOT NULL,
    user_agent text NOT NULL,
    address text NOT NULL,
    CONSTRAINT sessions_digest_check CHECK ((length(digest) = 32))
);
ALTER TABLE public.sessions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.stream_readers (
    name text NOT NULL COLLATE pg_catalog."C",
    major bigint NOT NULL,
    minor bigint NOT NULL
);
CREATE TABLE public.task_comments (
    id bigint NOT NULL,
    task text NOT NULL COLLATE pg_catalog."C",
    run text NOT NULL COLLATE pg_catalog."C",
    author text NOT NULL,
    body text NOT NULL,
    created_ms bigint NOT NULL,
    edited_ms bigint
);
ALTER TABLE public.task_comments ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.task_comments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.task_details (
    task text NOT NULL COLLATE pg_catalog."C",
    run text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL,
    summary text NOT NULL,
    extra_prompt text NOT NULL,
    additional_info text NOT NULL,
    urgency text NOT NULL,
    tags text NOT NULL,
    due_ms bigint,
    parent text COLLATE pg_catalog."C",
    created_by text NOT NULL,
    revision bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL
);
CREATE TABLE public.task_tags (
    tag text NOT NULL COLLATE pg_catalog."C",
    task text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.tokens (
    id bigint NOT NULL,
    "user" text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL,
    digest bytea NOT NULL,
    created_ms bigint NOT NULL,
    expires_ms bigint,
    used_ms bigint,
    revoked_ms bigint,
    scopes text DEFAULT ''::text NOT NULL,
    CONSTRAINT tokens_digest_check CHECK ((length(digest) = 32))
);
ALTER TABLE public.tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.turns (
    conversation bigint NOT NULL,
    number bigint NOT NULL,
    body text NOT NULL,
    at_ms bigint NOT NULL
);
CREATE TABLE public.users (
    slug text NOT NULL COLLATE pg_catalog."C",
    display_name text NOT NULL,
    role text NOT NULL,
    is_active boolean NOT NULL,
    is_agent boolean NOT NULL,
    email text,
    email_key text COLLATE pg_catalog."C",
    agent_prompt text,
    revision bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    CONSTRAINT users_check CHECK ((is_agent = (agent_prompt IS NOT NULL))),
    CONSTRAINT users_check1 CHECK ((is_agent = (email IS NULL)))
);
CREATE TABLE public.views (
    id bigint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    list text NOT NULL,
    filter text NOT NULL,
    is_shared boolean NOT NULL,
    revision bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL
);
ALTER TABLE public.views ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.views_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.webhook_deliveries (
    id bigint NOT NULL,
    webhook bigint NOT NULL,
    message text NOT NULL COLLATE pg_catalog."C",
    event text NOT NULL,
    body text NOT NULL,
    status text NOT NULL,
    attempts bigint NOT NULL,
    due_ms bigint NOT NULL,
    created_ms bigint NOT NULL,
    tried_ms bigint,
    last_status bigint,
    last_error text
);
ALTER TABLE public.webhook_deliveries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.webhooks (
    id bigint NOT NULL,
    url text NOT NULL,
    description text NOT NULL,
    events text NOT NULL,
    secrets text NOT NULL,
    is_enabled boolean NOT NULL,
    revision bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL
);
ALTER TABLE public.webhooks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhooks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.workflow_calls (
    run text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    task text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
);
CREATE TABLE public.workflow_duties (
    duty text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL,
    until_ms bigint NOT NULL
);
CREATE TABLE public.workflow_events (
    run text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE public.workflow_groups (
    id text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.workflow_items (
    "group" text NOT NULL COLLATE pg_catalog."C",
    index bigint NOT NULL,
    body text NOT NULL
)
WITH (fillfactor='33');
CREATE TABLE public.workflow_logs (
    run text NOT NULL COLLATE pg_catalog."C",
    task text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    number bigint NOT NULL,
    at_ms bigint NOT NULL,
    stream text NOT NULL,
    text text NOT NULL
);
CREATE TABLE public.workflow_names (
    hash text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.workflow_notices (
    id bigint NOT NULL,
    body text NOT NULL,
    run text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    tries bigint DEFAULT 0 NOT NULL,
    due_ms bigint DEFAULT 0 NOT NULL
);
ALTER TABLE public.workflow_notices ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.workflow_notices_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.workflow_ready (
    task text NOT NULL COLLATE pg_catalog."C",
    run text NOT NULL COLLATE pg_catalog."C",
    ready_ms bigint NOT NULL,
    assignee text,
    slot text COLLATE pg_catalog."C",
    rank bigint DEFAULT 0 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');
CREATE TABLE public.workflow_runs (
    id text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    created_ms bigint NOT NULL,
    input text,
    body text NOT NULL,
    is_top boolean DEFAULT true NOT NULL,
    stream_at bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.workflow_slots (
    key text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    max bigint NOT NULL,
    since_ms bigint NOT NULL,
    is_held boolean NOT NULL
);
CREATE TABLE public.workflow_tags (
    tag text NOT NULL COLLATE pg_catalog."C",
    created_ms bigint NOT NULL,
    run text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.workflow_tasks (
    id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    run text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    place text NOT NULL COLLATE pg_catalog."C",
    visit bigint NOT NULL,
    status text NOT NULL,
    assignee text,
    ready_ms bigint,
    lease_ms bigint,
    fence bigint NOT NULL,
    is_active boolean NOT NULL,
    body text NOT NULL,
    slot text COLLATE pg_catalog."C",
    rank bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE public.workflow_tasks ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.workflow_tasks_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.workflow_texts (
    hash text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL,
    created_ms bigint NOT NULL
);
CREATE TABLE public.workflow_timers (
    run text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    at_ms bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE public.workflow_triggers (
    name text NOT NULL COLLATE pg_catalog."C",
    seen text NOT NULL
);
CREATE TABLE public.workflow_versions (
    name text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    author text NOT NULL,
    created_ms bigint NOT NULL,
    message text NOT NULL,
    origin text NOT NULL
);
INSERT INTO public.audit_entries OVERRIDING SYSTEM VALUE VALUES (1, 1795038161362, 'own', 'server.claim', '', 'done', '', '');
INSERT INTO public.builds VALUES ('0000000070007', 2, 'queued', 0, '{"id":"0000000070007","prompt":"say something better","options":{"dryRun":false,"publish":"pull-request","start":"last-commit"},"status":"queued","revision":0,"checks":[],"result":{"files":[],"diffs":[],"impactedFiles":[],"impactedTests":[],"validation":[],"validationErrors":[],"repairAttempts":0,"tokenUsage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"cost":{"microUsd":0,"calls":0,"unpricedCalls":0,"phases":{}},"pushed":false,"notes":[]},"work":{"errorsByRound":[],"reviewRounds":0,"repairsBefore":0},"createdMs":7,"updatedMs":7}', 819);
INSERT INTO public.calls OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'generate', 'anthropic', 'claude-sonnet-4-5', 10, 5, 3, 2, 1, 25, 1700000000001);
INSERT INTO public.calls OVERRIDING SYSTEM VALUE VALUES (2, 1, 2, 'generate', 'anthropic', 'claude-sonnet-4-5', 10, 5, 3, 2, 1, 25, 1700000000002);
INSERT INTO public.calls OVERRIDING SYSTEM VALUE VALUES (3, 1, 3, 'generate', 'anthropic', 'claude-sonnet-4-5', 10, 5, 3, 2, 1, 25, 1700000000003);
INSERT INTO public.conversations OVERRIDING SYSTEM VALUE VALUES (1, 1, 'generate', 1795038161643);
INSERT INTO public.cost_sums VALUES ('day', 20775, '', 1, 5, 70);
INSERT INTO public.cost_sums VALUES ('run', 20775, 'r7', 1, 5, 70);
INSERT INTO public.cost_sums VALUES ('workflow', 20775, '', 1, 5, 70);
INSERT INTO public.cost_sums VALUES ('step', 20775, '/A', 1, 5, 70);
INSERT INTO public.cost_sums VALUES ('model', 20775, 'other', 1, 5, 70);
INSERT INTO public.cost_sums VALUES ('person', 20775, 'nobody', 1, 5, 70);
INSERT INTO public.drawloom_migrations VALUES (1, 'workflows', '2026-11-18 21:42:39.559922+00', true, '\x24452249657d30d474e7fbcd877e43573971de3e302df8b652cb7bb71df9f611328816a549b7ee0b63151c8bb01b3706', 136433446);
INSERT INTO public.drawloom_migrations VALUES (2, 'people', '2026-11-18 21:42:39.702307+00', true, '\x0303c3d2353b4e544deeedd8dcce6b9d888afec4ff1c761fd2ed9f9a0a0a68fc2a511545aa7253a9160ea2e0b6b46eb3', 33088366);
INSERT INTO public.drawloom_migrations VALUES (3, 'access', '2026-11-18 21:42:39.731885+00', true, '\x1ea5826d30f37bbb39a1067e43cf75e4a99dd7149b1fea758b658338a3771906718f2aa7fe0aa81ca7d78a4cff84074d', 23404085);
INSERT INTO public.drawloom_migrations VALUES (4, 'fewer rows', '2026-11-18 21:42:39.755537+00', true, '\xec5f92ffb5e49b20b1aed9f6ec3a1ea4a74cdd60b152b5c9d0aadcb3262d00129d1f485d26f6a80a73263d86a7ce9ce6', 14237191);
INSERT INTO public.drawloom_migrations VALUES (5, 'looking', '2026-11-18 21:42:39.769948+00', true, '\x7e627d6ebfd3eac1802cfa923b40ee07390ff6eaca5706dc1610462369e97947829b824022205bf7c03188b64616f969', 190774694);
INSERT INTO public.drawloom_migrations VALUES (6, 'calls', '2026-11-18 21:42:39.961204+00', true, '\x39ff25d01d3841ff5b8946d5918bcb16d057565523ff1611ef47a1991eeab51bbb6c74700691e827f598960692201106', 21571905);
INSERT INTO public.drawloom_migrations VALUES (7, 'limits', '2026-11-18 21:42:39.98282+00', true, '\x14eb5e2a3a1ebe4ef72232905476cc83e584afb4d0fbfa1dec46c60c4f6234ca88d03846d87d0d476c3d4e1fd5c30a99', 12420429);
INSERT INTO public.drawloom_migrations VALUES (8, 'server', '2026-11-18 21:42:39.995529+00', true, '\xff10629a10f336a27b7b34d58712bb04995ae18c9744e85d344dde9df03c340d36087757e4528c9b5969b2acebb7dbfa', 140852209);
INSERT INTO public.drawloom_migrations VALUES (9, 'reading', '2026-11-18 21:42:40.142457+00', true, '\xe558f33058f987bb2d587097dc7f38174496d7e78121f940a592e38d19be14a4f10d68c8592e2561a7be8c4b35e84bfa', 54576323);
INSERT INTO public.drawloom_migrations VALUES (10, 'agent', '2026-11-18 21:42:40.197311+00', true, '\xb80cf097ce99bc3f27e4f3e494a0b5e86dc6cdac3b74a4dec121e42ac422f62d5d3650f213f0f69396911c1bc2d9c1f9', 85033256);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (769, 1, 'run', 'r1', 2, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (770, 2, 'run', 'r1', 3, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (771, 3, 'run', 'r1', 13, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (772, 4, 'run', 'r1', 14, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (773, 5, 'run', 'r1', 16, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (774, 6, 'run', 'r1', 17, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (775, 7, 'user', 'ada', 0, '{"at_ms": 1795038160620, "change": "added"}');
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (776, 8, 'user', 'reviewer', 0, '{"at_ms": 1795038160647, "change": "added"}');
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (777, 9, 'schedule', 'night', 0, '{"at_ms": 1795038160654, "change": "added"}');
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (781, 10, 'run', 'r2', 3, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (783, 11, 'run', 'r3', 2, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (785, 12, 'run', 'r4', 2, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (786, 13, 'run', 'r4', 5, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (788, 14, 'run', 'r5', 2, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (789, 15, 'run', 'r6', 2, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (792, 16, 'user', 'own', 0, '{"at_ms": 1795038161228, "change": "added"}');
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (801, 17, 'workflow', 'review', 0, '{"at_ms": 1795038161435, "change": "added", "number": 1}');
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (802, 18, 'task', 'r9/A', 0, '{"at_ms": 1795038161437, "change": "added"}');
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (803, 19, 'task', 'r9/A', 0, '{"at_ms": 1795038161460, "change": "commented", "comment": 1}');
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (807, 20, 'run', 'r7', 2, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (808, 21, 'run', 'r7', 3, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (809, 22, 'run', 'r7', 5, NULL);
INSERT INTO public.event_stream OVERRIDING SYSTEM VALUE VALUES (819, 23, 'build', '0000000070007', 0, '{"at_ms": 1795038161692, "change": "added", "status": "queued"}');
INSERT INTO public.facts VALUES (1, 'task/a', '{"state":"done"}', 1795038161664);
INSERT INTO public.idempotency_keys VALUES ('ada', 'k1', '\x0101010101010101010101010101010101010101010101010101010101010101', 1795038221347, 10795038161347, 201, '{}', '\x7b226964223a317d');
INSERT INTO public.identities VALUES ('https://id.example.org', '248289761001', 'own', 1795038161297);
INSERT INTO public.one_time_links OVERRIDING SYSTEM VALUE VALUES (1, 'password_reset', 'own', '\x648aa5c579fb30f38af744d97d6ec840c7a91277a499a0d780f3e7314eca090b', 1795038161266, 9000000000000);
INSERT INTO public.passwords VALUES ('own', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA', 1795038161189);
INSERT INTO public.project_keys VALUES ('callback', 'k1', 1795038161722);
INSERT INTO public.run_files VALUES (3, 'src/a.rs', '\x0061', false, true, NULL, 1795038161720);
INSERT INTO public.run_leases VALUES (1, 1, 0);
INSERT INTO public.run_leases VALUES (3, 1, 0);
INSERT INTO public.runs OVERRIDING SYSTEM VALUE VALUES (1, 'plan', 'p.json', 'd1', 'running', 5133, 1795038161625, 1795038161625);
INSERT INTO public.runs OVERRIDING SYSTEM VALUE VALUES (2, 'build', '0000000070007', '', 'running', 5133, 1795038161668, 1795038161668);
INSERT INTO public.runs OVERRIDING SYSTEM VALUE VALUES (3, 'plan', 'f.json', 'd1', 'running', 5133, 1795038161698, 1795038161698);
INSERT INTO public.schedules VALUES ('night', 'nightly', '0 3 * * *', 'Asia/Tokyo', '{"depth":3}', true, 10, NULL, NULL, NULL, 1795038160648, '{"overlap":"allow"}');
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (1, 'reply', 'r4/A#4', 'r4', 'r4/A', 'A', 'Said it.', 'drawloomkindreply a said it', 1795038161011);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (2, 'workflow', 'review', NULL, NULL, 'review', 'graph TD
 A(Review)
', 'drawloomkindworkflow review graph td a review', 1795038161426);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (3, 'task', 'r9/A', 'r9', 'r9/A', 'Look at it', '
soon', 'drawloomkindtask look at it soon', 1795038161435);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (4, 'comment', '1', 'r9', 'r9/A', 'Comment by own', 'Fine.', 'drawloomkindcomment comment by own fine', 1795038161447);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (5, 'run', 'r1', 'r1', NULL, 'r1', 'r1  {"depth":3}', 'drawloomkindrun r1 r1 depth 3', 1795038160392);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (6, 'run', 'r2', 'r2', NULL, 'r2', 'r2  {}', 'drawloomkindrun r2 r2', 1795038160722);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (7, 'run', 'r3', 'r3', NULL, 'looking', 'r3 seen {}', 'drawloomkindrun looking r3 seen', 1795038160841);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (8, 'run', 'r4', 'r4', NULL, 'r4', 'r4  {}', 'drawloomkindrun r4 r4', 1795038160965);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (9, 'run', 'r5', 'r5', NULL, 'r5', 'r5  {}', 'drawloomkindrun r5 r5', 1795038161125);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (10, 'run', 'r6', 'r6', NULL, 'r6', 'r6  {}', 'drawloomkindrun r6 r6', 1795038161167);
INSERT INTO public.search_documents OVERRIDING SYSTEM VALUE VALUES (11, 'run', 'r7', 'r7', NULL, 'r7', 'r7  {"find":"lantern"}', 'drawloomkindrun r7 r7 find lantern', 1795038161525);
INSERT INTO public.server_claims VALUES (1, 'own', 1795038161189);
INSERT INTO public.sessions OVERRIDING SYSTEM VALUE VALUES (1, 'own', '\x9f4fb68f3e1dac82202f9aa581ce0bbf1f765df0e9ac3c8c57e20f685abab8ed', 1795038161322, 1795038161322, 9000000000000, 9000000000000, 'Mozilla/5.0', '127.0.0.1');
INSERT INTO public.stream_readers VALUES ('webhooks', 1, 65);
INSERT INTO public.task_comments OVERRIDING SYSTEM VALUE VALUES (1, 'r9/A', 'r9', 'own', 'Fine.', 1795038161447, NULL);
INSERT INTO public.task_details VALUES ('r9/A', 'r9', 'Look at it', '', '', 'null', 'normal', '["soon"]', NULL, NULL, '', 1, 1795038161435, 1795038161435);
INSERT INTO public.task_tags VALUES ('soon', 'r9/A');
INSERT INTO public.tokens OVERRIDING SYSTEM VALUE VALUES (1, 'ada', 'ci', 'viewer', '\x4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0', 1795038160664, NULL, NULL, NULL, '');
INSERT INTO public.turns VALUES (1, 1, '{"reply":{"turn":1,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 1"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 1"},{"tool_call":{"id":"call-1","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-1","name":"write_file","content":"{\"written\":1,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000001,"duration_ms":12}', 1700000000001);
INSERT INTO public.turns VALUES (1, 2, '{"reply":{"turn":2,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 2"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 2"},{"tool_call":{"id":"call-2","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-2","name":"write_file","content":"{\"written\":2,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000002,"duration_ms":12}', 1700000000002);
INSERT INTO public.turns VALUES (1, 3, '{"reply":{"turn":3,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 3"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 3"},{"tool_call":{"id":"call-3","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-3","name":"write_file","content":"{\"written\":3,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000003,"duration_ms":12}', 1700000000003);
INSERT INTO public.users VALUES ('ada', 'Ada '' Lovelace', 'reviewer', true, false, 'ada@example.org', 'ada@example.org', NULL, 1, 1795038160600, 1795038160600);
INSERT INTO public.users VALUES ('reviewer', 'Ada '' Lovelace', 'reviewer', true, true, NULL, NULL, 'You review.
Be kind.', 1, 1795038160640, 1795038160640);
INSERT INTO public.users VALUES ('own', 'Ada '' Lovelace', 'admin', true, false, 'own@example.org', 'own@example.org', NULL, 1, 1795038161189, 1795038161189);
INSERT INTO public.views OVERRIDING SYSTEM VALUE VALUES (1, 'ada', 'Mine', 'tasks', '{"status":"on_hold"}', true, 1, 1795038160662, 1795038160662);
INSERT INTO public.webhook_deliveries OVERRIDING SYSTEM VALUE VALUES (1, 1, 'msg_1', 'run.completed', '{}', 'waiting', 0, 1795038161406, 1795038161406, NULL, NULL, NULL);
INSERT INTO public.webhooks OVERRIDING SYSTEM VALUE VALUES (1, 'https://example.org/hook', '', '["run.completed"]', '["whsec_aGVsbG8="]', true, 1, 1795038161376, 1795038161376);
INSERT INTO public.workflow_calls VALUES ('r4', 4, 'r4/A', '{"task":"r4/A","seq":4,"attempt":1,"call":{"by":"ann","layers":[],"replies":[],"summary":"Said it.","confidence":null,"suggested_tags":[],"suggested_next_stage":null,"usage":{"input_tokens":0,"output_tokens":0},"begun_ms":1795038161011,"ended_ms":1795038161011}}');
INSERT INTO public.workflow_events VALUES ('r1', 2, '[11795038160392639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724","parent":null21795038160392A}}]');
INSERT INTO public.workflow_events VALUES ('r1', 3, '31795038160448Aw"}}');
INSERT INTO public.workflow_events VALUES ('r1', 13, '[41795038160470A51795038160470E","kind":"foreach","begin":"waiting","from":"A61795038160470group_opened","group":"E","total":371795038160470NA81795038160470E091795038160470E1101795038160470E2111795038160470E[0]/EA121795038160470E[1]/EA131795038160470E[2]/EA"}}]');
INSERT INTO public.workflow_events VALUES ('r1', 14, '141795038160505E[0]/Ew"}}');
INSERT INTO public.workflow_events VALUES ('r1', 16, '[151795038160550E[0]/E161795038160550E0]');
INSERT INTO public.workflow_events VALUES ('r1', 17, '171795038160584E[1]/Ew"}}');
INSERT INTO public.workflow_events VALUES ('r2', 3, '[1179503816072200b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b","parent":null21795038160722A31795038160722B}}]');
INSERT INTO public.workflow_events VALUES ('r3', 2, '[11795038160841254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166","parent":null21795038160841A}}]');
INSERT INTO public.workflow_events VALUES ('r4', 2, '[1179503816096514f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c","parent":null21795038160965A}}]');
INSERT INTO public.workflow_events VALUES ('r4', 5, '[31795038161011Aann41795038161011A51795038161011]');
INSERT INTO public.workflow_events VALUES ('r5', 2, '[11795038161125b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","parent":null21795038161125A}}]');
INSERT INTO public.workflow_events VALUES ('r6', 2, '[11795038161167b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","parent":null21795038161167run_queued","key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d"}}]');
INSERT INTO public.workflow_events VALUES ('r7', 2, '[117950381615253cf87262985b8d33c45baf46497a88ad032d447a05f7d17b437fe0335763bbde","parent":null21795038161525A}}]');
INSERT INTO public.workflow_events VALUES ('r7', 3, '31795038161575Aw"}}');
INSERT INTO public.workflow_events VALUES ('r7', 5, '[41795038161591A,"spent":{"tokens":5,"micros":70}51795038161591]');
INSERT INTO public.workflow_groups VALUES ('r1/E', '{"id":"r1/E","total":3,"next":3,"running":2,"succeeded":1,"failed":0,"closed":false,"pristine":true}');
INSERT INTO public.workflow_items VALUES ('r1/E', 1, '{"group":"r1/E","index":1,"value":"b''\"\\ä","status":"running","active":1,"result":null,"failure":null}');
INSERT INTO public.workflow_items VALUES ('r1/E', 2, '{"group":"r1/E","index":2,"value":null,"status":"running","active":1,"result":null,"failure":null}');
INSERT INTO public.workflow_items VALUES ('r1/E', 0, '{"group":"r1/E","index":0,"value":"a","status":"succeeded","active":0,"result":"r1/E[0]/E","failure":null}');
INSERT INTO public.workflow_logs VALUES ('r5', 'r5/A', 1, 1, 7, 'stderr', 'a word');
INSERT INTO public.workflow_names VALUES ('254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'looking');
INSERT INTO public.workflow_names VALUES ('eeeb91e3426e8b3da1310be824f71ce7a53de5cd986f684109b4e718797cbab4', 'review');
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (1, '{"run":"r1","task":"r1/N","kind":"task_for_you","message":"`Note` is for you to do.","assignee":"ada"}', 'r1', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (2, '{"run":"r2","task":"r2/A","kind":"task_for_you","message":"`Look` is for you to do.","assignee":null}', 'r2', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (3, '{"run":"r2","task":"r2/B","kind":"task_for_you","message":"`Note` is for you to do.","assignee":null}', 'r2', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (4, '{"run":"r3","task":"r3/A","kind":"task_for_you","message":"`Look` is for you to do.","assignee":null}', 'r3', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (5, '{"run":"r4","task":"r4/A","kind":"task_for_you","message":"`Say` is for you to do.","assignee":null}', 'r4', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (6, '{"run":"r4","task":null,"kind":"run_completed","message":"The run is completed.","assignee":null}', 'r4', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (7, '{"run":"r5","task":"r5/A","kind":"task_for_you","message":"`Say` is for you to do.","assignee":null}', 'r5', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (8, '{"run":"r7","task":null,"kind":"run_completed","message":"The run is completed.","assignee":null}', 'r7', 0, 0);
INSERT INTO public.workflow_ready VALUES ('r1/E[2]/E', 'r1', 1795038160470, NULL, 'lane:ai_interaction', 0);
INSERT INTO public.workflow_runs VALUES ('r1', '639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724', 'running', 1795038160392, '{"depth":3}', '{"id":"r1","workflow":"639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":4,"seq":17,"quiet_since":16,"spent":{"tokens":0,"micros":0},"created_ms":1795038160392,"ended_ms":null}', true, 774);
INSERT INTO public.workflow_runs VALUES ('r2', '00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b', 'running', 1795038160722, '{}', '{"id":"r2","workflow":"00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":2,"seq":3,"spent":{"tokens":0,"micros":0},"created_ms":1795038160722,"ended_ms":null}', true, 781);
INSERT INTO public.workflow_runs VALUES ('r3', '254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'running', 1795038160841, '{}', '{"id":"r3","workflow":"254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166","name":"looking","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":["seen"],"active":1,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1795038160841,"ended_ms":null}', true, 783);
INSERT INTO public.workflow_runs VALUES ('r4', '14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c', 'completed', 1795038160965, '{}', '{"id":"r4","workflow":"14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c","status":"completed","reason":null,"pause":null,"result":"r4/A","parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":5,"spent":{"tokens":0,"micros":0},"created_ms":1795038160965,"ended_ms":1795038161011}', true, 786);
INSERT INTO public.workflow_runs VALUES ('r5', 'b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'running', 1795038161125, '{}', '{"id":"r5","workflow":"b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":1,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1795038161125,"ended_ms":null,"slot":{"key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","max":1,"on_limit":"queue"}}', true, 788);
INSERT INTO public.workflow_runs VALUES ('r6', 'b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'running', 1795038161167, '{}', '{"id":"r6","workflow":"b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1795038161167,"ended_ms":null,"slot":{"key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","max":1,"on_limit":"queue"},"is_queued":true}', true, 789);
INSERT INTO public.workflow_runs VALUES ('r7', '3cf87262985b8d33c45baf46497a88ad032d447a05f7d17b437fe0335763bbde', 'completed', 1795038161525, '{"find":"lantern"}', '{"id":"r7","workflow":"3cf87262985b8d33c45baf46497a88ad032d447a05f7d17b437fe0335763bbde","status":"completed","reason":null,"pause":null,"result":"r7/A","parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":5,"quiet_since":2,"spent":{"tokens":5,"micros":70},"created_ms":1795038161525,"ended_ms":1795038161591}', true, 809);
INSERT INTO public.workflow_slots VALUES ('run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'r5', 1, 1795038161125, true);
INSERT INTO public.workflow_slots VALUES ('run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'r6', 1, 1795038161167, false);
INSERT INTO public.workflow_tags VALUES ('seen', 1795038160841, 'r3');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/A', 1, 'r1', '', 'r1/A', 1, 'completed', NULL, NULL, NULL, 1, false, 'r1A1795038160392{"items":["a","b''\"\\ä",]}17950381603921795038160470,"lane":"lane:ai_interaction"}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E', 4, 'r1', '', 'r1/E', 1, 'waiting', NULL, NULL, NULL, 0, true, 'r1E","kind":"foreach","execution":"automated","status":"waiting","from":"A"17950381604701795038160470,"lane":"lane:ai_interaction"}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/N', 5, 'r1', '', 'r1/N', 1, 'pending', 'ada', NULL, NULL, 0, true, 'r1Npending","from":"A"1795038160470,"assignee":"ada"1795038160470}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[2]/E', 8, 'r1', 'E[2]/', 'r1/E[2]/E', 1, 'pending', NULL, 1795038160470, NULL, 0, true, 'r1E[2]/Epending","from":"A"17950381604701795038160470,"lane":"lane:ai_interaction"}', 'lane:ai_interaction', 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[0]/E', 6, 'r1', 'E[0]/', 'r1/E[0]/E', 1, 'completed', NULL, NULL, NULL, 1, false, 'r1E[0]/E"A"1795038160470{"ok":true}17950381604701795038160550,"lane":"lane:ai_interaction"}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[1]/E', 7, 'r1', 'E[1]/', 'r1/E[1]/E', 1, 'in_progress', NULL, NULL, 1795038160585, 1, true, 'r1E[1]/Ein_progress","from":"A"1795038160470,"attempt":1,"fence":1w1795038160585}1795038160470,"lane":"lane:ai_interaction"}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r2/A', 12, 'r2', '', 'r2/A', 1, 'pending', NULL, NULL, NULL, 0, true, 'r2Apending","from":17950381607221795038160722}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r2/B', 13, 'r2', '', 'r2/B', 1, 'pending', NULL, NULL, NULL, 0, true, 'r2Bpending","from":17950381607221795038160722}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r3/A', 14, 'r3', '', 'r3/A', 1, 'pending', NULL, NULL, NULL, 0, true, 'r3Apending","from":17950381608411795038160841}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r4/A', 15, 'r4', '', 'r4/A', 1, 'completed', NULL, NULL, NULL, 1, false, 'r4Acompleted","from":1795038160965117950381609651795038161011}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r5/A', 17, 'r5', '', 'r5/A', 1, 'pending', NULL, NULL, NULL, 0, true, 'r5Apending","from":17950381611251795038161125}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r7/A', 18, 'r7', '', 'r7/A', 1, 'completed', NULL, NULL, NULL, 1, false, 'r7A179503816152515,"micros":70}17950381615251795038161591,"lane":"lane:ai_interaction"}', NULL, 0);
INSERT INTO public.workflow_texts VALUES ('639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724', 'graph TD
 A[List] --> E[[Each: Do]]
 E --> J[Join all] --> M(Look)
 A --> N(Note)
%% === WORKFLOW_CONFIG ===
%% @E: { "stepType": "foreach", "itemsPath": "output.items", "itemVariable": "item", "prompt": "Do {{item}}.", "retry": { "attempts": 9, "delay": 0.01, "maxDelay": 0.01 } }
%% @J: { "stepType": "join", "timeout": "9d" }
%% @M: { "timeout": "9d" }
%% @N: { "defaultAssigneeId": "ada" }
%% === END_CONFIG ===
', 1795038160335);
INSERT INTO public.workflow_texts VALUES ('00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b', 'graph TD
 A(Look)
 B(Note)
', 1795038160715);
INSERT INTO public.workflow_texts VALUES ('254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'graph TD
 A(Look)
', 1795038160797);
INSERT INTO public.workflow_texts VALUES ('14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c', 'graph TD
 A(Say)
', 1795038160926);
INSERT INTO public.workflow_texts VALUES ('b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'graph TD
 A(Say)
%% === WORKFLOW_CONFIG ===
%% @concurrency: { "max": 1 }
%% === END_CONFIG ===
', 1795038161102);
INSERT INTO public.workflow_texts VALUES ('eeeb91e3426e8b3da1310be824f71ce7a53de5cd986f684109b4e718797cbab4', 'graph TD
 A(Review)
', 1795038161426);
INSERT INTO public.workflow_texts VALUES ('3cf87262985b8d33c45baf46497a88ad032d447a05f7d17b437fe0335763bbde', 'graph TD
 A[Pay]
', 1795038161491);
INSERT INTO public.workflow_timers VALUES ('r1', 'timeout:r1/E', 1795815760470, '{"run":"r1","key":"timeout:r1/E","at_ms":1795815760470,"due":{"due":"timeout","task":"r1/E"}}');
INSERT INTO public.workflow_triggers VALUES ('files', 'one');
INSERT INTO public.workflow_versions VALUES ('review', 1, 'eeeb91e3426e8b3da1310be824f71ce7a53de5cd986f684109b4e718797cbab4', 'own', 1795038161426, 'first', 'file:.drawloom/workflows/review.mmd');
SELECT pg_catalog.setval('public.audit_entries_id_seq', 1, true);
SELECT pg_catalog.setval('public.build_progress_id_seq', 1, false);
SELECT pg_catalog.setval('public.calls_id_seq', 3, true);
SELECT pg_catalog.setval('public.conversations_id_seq', 1, true);
SELECT pg_catalog.setval('public.event_stream_number_seq', 23, true);
SELECT pg_catalog.setval('public.notes_id_seq', 1, false);
SELECT pg_catalog.setval('public.one_time_links_id_seq', 1, true);
SELECT pg_catalog.setval('public.runs_id_seq', 3, true);
SELECT pg_catalog.setval('public.search_documents_number_seq', 11, true);
SELECT pg_catalog.setval('public.sessions_id_seq', 1, true);
SELECT pg_catalog.setval('public.task_comments_id_seq', 1, true);
SELECT pg_catalog.setval('public.tokens_id_seq', 1, true);
SELECT pg_catalog.setval('public.views_id_seq', 1, true);
SELECT pg_catalog.setval('public.webhook_deliveries_id_seq', 1, true);
SELECT pg_catalog.setval('public.webhooks_id_seq', 1, true);
SELECT pg_catalog.setval('public.workflow_notices_id_seq', 8, true);
SELECT pg_catalog.setval('public.workflow_tasks_number_seq', 20, true);
ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.build_progress
    ADD CONSTRAINT build_progress_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.builds
    ADD CONSTRAINT builds_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.builds
    ADD CONSTRAINT builds_run_key UNIQUE (run);
ALTER TABLE ONLY public.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_run_key_key UNIQUE (run, key);
ALTER TABLE ONLY public.cost_sums
    ADD CONSTRAINT cost_sums_pkey PRIMARY KEY (kind, day, name);
ALTER TABLE ONLY public.drawloom_migrations
    ADD CONSTRAINT drawloom_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.event_stream
    ADD CONSTRAINT event_stream_pkey PRIMARY KEY (stream_at, number);
ALTER TABLE ONLY public.facts
    ADD CONSTRAINT facts_pkey PRIMARY KEY (run, key);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (owner, key);
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject);
ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.one_time_links
    ADD CONSTRAINT one_time_links_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.one_time_links
    ADD CONSTRAINT one_time_links_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_pkey PRIMARY KEY ("user");
ALTER TABLE ONLY public.project_keys
    ADD CONSTRAINT project_keys_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.run_files
    ADD CONSTRAINT run_files_pkey PRIMARY KEY (run, path);
ALTER TABLE ONLY public.run_leases
    ADD CONSTRAINT run_leases_pkey PRIMARY KEY (run);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (slug);
ALTER TABLE ONLY public.search_documents
    ADD CONSTRAINT search_documents_kind_name_key UNIQUE (kind, name);
ALTER TABLE ONLY public.search_documents
    ADD CONSTRAINT search_documents_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.server_claims
    ADD CONSTRAINT server_claims_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.stream_readers
    ADD CONSTRAINT stream_readers_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.task_comments
    ADD CONSTRAINT task_comments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.task_details
    ADD CONSTRAINT task_details_pkey PRIMARY KEY (task);
ALTER TABLE ONLY public.task_tags
    ADD CONSTRAINT task_tags_pkey PRIMARY KEY (tag, task);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (conversation, number);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key_key UNIQUE (email_key);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (slug);
ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_owner_name_key UNIQUE (owner, name);
ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_webhook_message_key UNIQUE (webhook, message);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_calls
    ADD CONSTRAINT workflow_calls_pkey PRIMARY KEY (run, seq);
ALTER TABLE ONLY public.workflow_duties
    ADD CONSTRAINT workflow_duties_pkey PRIMARY KEY (duty);
ALTER TABLE ONLY public.workflow_events
    ADD CONSTRAINT workflow_events_pkey PRIMARY KEY (run, seq);
ALTER TABLE ONLY public.workflow_groups
    ADD CONSTRAINT workflow_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_items
    ADD CONSTRAINT workflow_items_pkey PRIMARY KEY ("group", index);
ALTER TABLE ONLY public.workflow_logs
    ADD CONSTRAINT workflow_logs_pkey PRIMARY KEY (run, task, attempt, number);
ALTER TABLE ONLY public.workflow_names
    ADD CONSTRAINT workflow_names_pkey PRIMARY KEY (hash, name);
ALTER TABLE ONLY public.workflow_notices
    ADD CONSTRAINT workflow_notices_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_ready
    ADD CONSTRAINT workflow_ready_pkey PRIMARY KEY (task);
ALTER TABLE ONLY public.workflow_runs
    ADD CONSTRAINT workflow_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_slots
    ADD CONSTRAINT workflow_slots_pkey PRIMARY KEY (key, holder);
ALTER TABLE ONLY public.workflow_tags
    ADD CONSTRAINT workflow_tags_pkey PRIMARY KEY (tag, created_ms, run);
ALTER TABLE ONLY public.workflow_tasks
    ADD CONSTRAINT workflow_tasks_pkey PRIMARY KEY (place, visit);
ALTER TABLE ONLY public.workflow_texts
    ADD CONSTRAINT workflow_texts_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.workflow_timers
    ADD CONSTRAINT workflow_timers_pkey PRIMARY KEY (run, key);
ALTER TABLE ONLY public.workflow_triggers
    ADD CONSTRAINT workflow_triggers_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.workflow_versions
    ADD CONSTRAINT workflow_versions_pkey PRIMARY KEY (name, number);
CREATE INDEX audit_entries_actor ON public.audit_entries USING btree (actor, id);
CREATE INDEX audit_entries_object ON public.audit_entries USING btree (object, id);
CREATE INDEX build_progress_by_build ON public.build_progress USING btree (build, id);
CREATE INDEX builds_by_status ON public.builds USING btree (status, id);
CREATE INDEX calls_by_conversation ON public.calls USING btree (conversation);
CREATE INDEX cost_sums_highest ON public.cost_sums USING btree (kind, day, micros, name);
CREATE INDEX idempotency_keys_ended ON public.idempotency_keys USING btree (expires_ms);
CREATE INDEX notes_by_turn ON public.notes USING btree (conversation, turn);
CREATE INDEX runs_by_name ON public.runs USING btree (kind, name, id);
CREATE INDEX schedules_due ON public.schedules USING btree (next_ms) WHERE (is_enabled AND (next_ms IS NOT NULL));
CREATE INDEX search_documents_newest ON public.search_documents USING btree (kind, at_ms);
CREATE INDEX search_documents_run ON public.search_documents USING btree (run) WHERE (run IS NOT NULL);
CREATE INDEX search_documents_words ON public.search_documents USING gin (to_tsvector('simple'::regconfig, words));
CREATE INDEX sessions_of ON public.sessions USING btree ("user", id);
CREATE INDEX task_comments_of ON public.task_comments USING btree (task, id);
CREATE INDEX task_comments_run ON public.task_comments USING btree (run);
CREATE INDEX task_details_parent ON public.task_details USING btree (parent, created_ms, task) WHERE (parent IS NOT NULL);
CREATE INDEX task_details_run ON public.task_details USING btree (run, task);
CREATE INDEX task_tags_of ON public.task_tags USING btree (task);
CREATE UNIQUE INDEX tokens_named ON public.tokens USING btree ("user", name) WHERE (revoked_ms IS NULL);
CREATE INDEX views_shared ON public.views USING btree (name) WHERE is_shared;
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (due_ms, id) WHERE (status = 'waiting'::text);
CREATE INDEX webhook_deliveries_of ON public.webhook_deliveries USING btree (webhook, id);
CREATE INDEX workflow_notices_due ON public.workflow_notices USING btree (due_ms, id);
CREATE INDEX workflow_notices_run ON public.workflow_notices USING btree (run);
CREATE INDEX workflow_ready_oldest ON public.workflow_ready USING btree (rank, ready_ms, task);
CREATE INDEX workflow_ready_runs ON public.workflow_ready USING btree (run, ready_ms);
CREATE INDEX workflow_runs_newest ON public.workflow_runs USING btree (created_ms, id);
CREATE INDEX workflow_runs_of ON public.workflow_runs USING btree (workflow, status, created_ms, id);
CREATE INDEX workflow_runs_status ON public.workflow_runs USING btree (status, created_ms, id);
CREATE INDEX workflow_runs_top ON public.workflow_runs USING btree (created_ms, id) WHERE is_top;
CREATE INDEX workflow_tasks_active ON public.workflow_tasks USING btree (run, path) WHERE is_active;
CREATE INDEX workflow_tasks_asking ON public.workflow_tasks USING btree (number) WHERE ((status = 'on_hold'::text) OR ((status = 'pending'::text) AND (ready_ms IS NULL)));
CREATE INDEX workflow_tasks_leased ON public.workflow_tasks USING btree (lease_ms) WHERE (lease_ms IS NOT NULL);
CREATE INDEX workflow_tasks_open ON public.workflow_tasks USING btree (number) WHERE is_active;
CREATE INDEX workflow_tasks_unfinished ON public.workflow_tasks USING btree (status, number) WHERE (status = ANY (ARRAY['failed'::text, 'cancelled'::text]));
CREATE INDEX workflow_tasks_waiting ON public.workflow_tasks USING btree (assignee, number) WHERE ((status = 'on_hold'::text) OR ((status = 'pending'::text) AND (ready_ms IS NULL)));
CREATE INDEX workflow_timers_due ON public.workflow_timers USING btree (at_ms);
CREATE INDEX workflow_versions_of ON public.workflow_versions USING btree (hash);
CREATE TRIGGER build_progress_change AFTER INSERT ON public.build_progress FOR EACH ROW EXECUTE FUNCTION public.drawloom_build_progress();
CREATE TRIGGER builds_change AFTER INSERT OR UPDATE OF status, revision, body ON public.builds FOR EACH ROW EXECUTE FUNCTION public.drawloom_build_change();
CREATE TRIGGER builds_place BEFORE INSERT OR UPDATE OF status, revision, body ON public.builds FOR EACH ROW EXECUTE FUNCTION public.drawloom_build_place();
CREATE TRIGGER schedules_change AFTER INSERT OR DELETE OR UPDATE ON public.schedules FOR EACH ROW EXECUTE FUNCTION public.drawloom_note_change('schedule', 'slug', 'added');
CREATE TRIGGER task_comments_change AFTER INSERT ON public.task_comments FOR EACH ROW EXECUTE FUNCTION public.drawloom_note_change('task', 'task', 'commented', 'id', 'comment');
CREATE TRIGGER task_details_change AFTER INSERT OR UPDATE ON public.task_details FOR EACH ROW EXECUTE FUNCTION public.drawloom_note_change('task', 'task', 'added');
CREATE TRIGGER users_change AFTER INSERT OR UPDATE ON public.users FOR EACH ROW EXECUTE FUNCTION public.drawloom_note_change('user', 'slug', 'added');
CREATE TRIGGER workflow_versions_change AFTER INSERT ON public.workflow_versions FOR EACH ROW EXECUTE FUNCTION public.drawloom_note_change('workflow', 'name', 'added', 'number', 'number');
ALTER TABLE ONLY public.build_progress
    ADD CONSTRAINT build_progress_build_fkey FOREIGN KEY (build) REFERENCES public.builds(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.builds
    ADD CONSTRAINT builds_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.calls
    ADD CONSTRAINT calls_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.facts
    ADD CONSTRAINT facts_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_fkey FOREIGN KEY ("user") REFERENCES public.users(slug);
ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.one_time_links
    ADD CONSTRAINT one_time_links_user_fkey FOREIGN KEY ("user") REFERENCES public.users(slug);
ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_user_fkey FOREIGN KEY ("user") REFERENCES public.users(slug);
ALTER TABLE ONLY public.run_files
    ADD CONSTRAINT run_files_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.run_leases
    ADD CONSTRAINT run_leases_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.server_claims
    ADD CONSTRAINT server_claims_user_fkey FOREIGN KEY ("user") REFERENCES public.users(slug);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_fkey FOREIGN KEY ("user") REFERENCES public.users(slug);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_user_fkey FOREIGN KEY ("user") REFERENCES public.users(slug);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_owner_fkey FOREIGN KEY (owner) REFERENCES public.users(slug);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_webhook_fkey FOREIGN KEY (webhook) REFERENCES public.webhooks(id);
ALTER TABLE ONLY public.workflow_names
    ADD CONSTRAINT workflow_names_hash_fkey FOREIGN KEY (hash) REFERENCES public.workflow_texts(hash);
ALTER TABLE ONLY public.workflow_runs
    ADD CONSTRAINT workflow_runs_workflow_fkey FOREIGN KEY (workflow) REFERENCES public.workflow_texts(hash);
ALTER TABLE ONLY public.workflow_versions
    ADD CONSTRAINT workflow_versions_hash_fkey FOREIGN KEY (hash) REFERENCES public.workflow_texts(hash);
