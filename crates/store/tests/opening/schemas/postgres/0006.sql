CREATE TABLE public.drawloom_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
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
    created_ms bigint NOT NULL
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
    assignee text
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');
CREATE TABLE public.workflow_runs (
    id text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    created_ms bigint NOT NULL,
    input text,
    body text NOT NULL,
    is_top boolean DEFAULT true NOT NULL
)
WITH (fillfactor='50');
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
    body text NOT NULL
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
INSERT INTO public.drawloom_migrations VALUES (1, 'workflows', '2026-11-18 01:48:27.70728+00', true, '\x24452249657d30d474e7fbcd877e43573971de3e302df8b652cb7bb71df9f611328816a549b7ee0b63151c8bb01b3706', 39261505);
INSERT INTO public.drawloom_migrations VALUES (2, 'people', '2026-11-18 01:48:27.746887+00', true, '\x0303c3d2353b4e544deeedd8dcce6b9d888afec4ff1c761fd2ed9f9a0a0a68fc2a511545aa7253a9160ea2e0b6b46eb3', 2834958);
INSERT INTO public.drawloom_migrations VALUES (3, 'access', '2026-11-18 01:48:27.749786+00', true, '\x1ea5826d30f37bbb39a1067e43cf75e4a99dd7149b1fea758b658338a3771906718f2aa7fe0aa81ca7d78a4cff84074d', 8070150);
INSERT INTO public.drawloom_migrations VALUES (4, 'fewer rows', '2026-11-18 01:48:27.758038+00', true, '\xec5f92ffb5e49b20b1aed9f6ec3a1ea4a74cdd60b152b5c9d0aadcb3262d00129d1f485d26f6a80a73263d86a7ce9ce6', 6335756);
INSERT INTO public.drawloom_migrations VALUES (5, 'looking', '2026-11-18 01:48:27.764551+00', true, '\x7e627d6ebfd3eac1802cfa923b40ee07390ff6eaca5706dc1610462369e97947829b824022205bf7c03188b64616f969', 87278088);
INSERT INTO public.drawloom_migrations VALUES (6, 'calls', '2026-11-18 01:48:27.852077+00', true, '\x39ff25d01d3841ff5b8946d5918bcb16d057565523ff1611ef47a1991eeab51bbb6c74700691e827f598960692201106', 1232966);
INSERT INTO public.schedules VALUES ('night', 'nightly', '0 3 * * *', 'Asia/Tokyo', '{"depth":3}', true, 10, NULL, NULL, NULL, 1794966507957);
INSERT INTO public.tokens OVERRIDING SYSTEM VALUE VALUES (1, 'ada', 'ci', 'viewer', '\x4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0', 1794966507958, NULL, NULL, NULL);
INSERT INTO public.users VALUES ('ada', 'Ada '' Lovelace', 'reviewer', true, false, 'ada@example.org', 'ada@example.org', NULL, 1, 1794966507943, 1794966507943);
INSERT INTO public.users VALUES ('reviewer', 'Ada '' Lovelace', 'reviewer', true, true, NULL, NULL, 'You review.
Be kind.', 1, 1794966507957, 1794966507957);
INSERT INTO public.views OVERRIDING SYSTEM VALUE VALUES (1, 'ada', 'Mine', 'tasks', '{"status":"on_hold"}', true, 1, 1794966507958, 1794966507958);
INSERT INTO public.workflow_calls VALUES ('r4', 4, 'r4/A', '{"task":"r4/A","seq":4,"attempt":1,"call":{"by":"ann","layers":[],"replies":[],"summary":"Said it.","confidence":null,"suggested_tags":[],"suggested_next_stage":null,"usage":{"input_tokens":0,"output_tokens":0},"begun_ms":1794966508215,"ended_ms":1794966508215}}');
INSERT INTO public.workflow_events VALUES ('r1', 2, '[{"run":"r1","seq":1,"at_ms":1794966507863,"what":{"what":"run_started","workflow":"639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724","parent":null}},{"run":"r1","seq":2,"at_ms":1794966507863,"what":{"what":"task_created","task":"r1/A","kind":"work","begin":"pending","from":null}}]');
INSERT INTO public.workflow_events VALUES ('r1', 3, '{"run":"r1","seq":3,"at_ms":1794966507876,"what":{"what":"task_moved","task":"r1/A","by":"claim","attempt":1,"why":"w"}}');
INSERT INTO public.workflow_events VALUES ('r1', 13, '[{"run":"r1","seq":4,"at_ms":1794966507884,"what":{"what":"task_moved","task":"r1/A","by":"complete","attempt":1}},{"run":"r1","seq":5,"at_ms":1794966507884,"what":{"what":"task_created","task":"r1/E","kind":"foreach","begin":"waiting","from":"r1/A"}},{"run":"r1","seq":6,"at_ms":1794966507884,"what":{"what":"group_opened","group":"r1/E","total":3}},{"run":"r1","seq":7,"at_ms":1794966507884,"what":{"what":"task_created","task":"r1/N","kind":"work","begin":"pending","from":"r1/A"}},{"run":"r1","seq":8,"at_ms":1794966507884,"what":{"what":"item_started","group":"r1/E","index":0}},{"run":"r1","seq":9,"at_ms":1794966507884,"what":{"what":"item_started","group":"r1/E","index":1}},{"run":"r1","seq":10,"at_ms":1794966507884,"what":{"what":"item_started","group":"r1/E","index":2}},{"run":"r1","seq":11,"at_ms":1794966507884,"what":{"what":"task_created","task":"r1/E[0]/E","kind":"work","begin":"pending","from":"r1/A"}},{"run":"r1","seq":12,"at_ms":1794966507884,"what":{"what":"task_created","task":"r1/E[1]/E","kind":"work","begin":"pending","from":"r1/A"}},{"run":"r1","seq":13,"at_ms":1794966507884,"what":{"what":"task_created","task":"r1/E[2]/E","kind":"work","begin":"pending","from":"r1/A"}}]');
INSERT INTO public.workflow_events VALUES ('r1', 14, '{"run":"r1","seq":14,"at_ms":1794966507893,"what":{"what":"task_moved","task":"r1/E[0]/E","by":"claim","attempt":1,"why":"w"}}');
INSERT INTO public.workflow_events VALUES ('r1', 16, '[{"run":"r1","seq":15,"at_ms":1794966507898,"what":{"what":"task_moved","task":"r1/E[0]/E","by":"complete","attempt":1}},{"run":"r1","seq":16,"at_ms":1794966507898,"what":{"what":"item_ended","group":"r1/E","index":0,"status":"succeeded"}}]');
INSERT INTO public.workflow_events VALUES ('r1', 17, '{"run":"r1","seq":17,"at_ms":1794966507906,"what":{"what":"task_moved","task":"r1/E[1]/E","by":"claim","attempt":1,"why":"w"}}');
INSERT INTO public.workflow_events VALUES ('r2', 3, '[{"run":"r2","seq":1,"at_ms":1794966508039,"what":{"what":"run_started","workflow":"00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b","parent":null}},{"run":"r2","seq":2,"at_ms":1794966508039,"what":{"what":"task_created","task":"r2/A","kind":"work","begin":"pending","from":null}},{"run":"r2","seq":3,"at_ms":1794966508039,"what":{"what":"task_created","task":"r2/B","kind":"work","begin":"pending","from":null}}]');
INSERT INTO public.workflow_events VALUES ('r3', 2, '[{"run":"r3","seq":1,"at_ms":1794966508126,"what":{"what":"run_started","workflow":"254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166","parent":null}},{"run":"r3","seq":2,"at_ms":1794966508126,"what":{"what":"task_created","task":"r3/A","kind":"work","begin":"pending","from":null}}]');
INSERT INTO public.workflow_events VALUES ('r4', 2, '[{"run":"r4","seq":1,"at_ms":1794966508195,"what":{"what":"run_started","workflow":"14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c","parent":null}},{"run":"r4","seq":2,"at_ms":1794966508195,"what":{"what":"task_created","task":"r4/A","kind":"work","begin":"pending","from":null}}]');
INSERT INTO public.workflow_events VALUES ('r4', 5, '[{"run":"r4","seq":3,"at_ms":1794966508215,"what":{"what":"task_moved","task":"r4/A","by":"claim","attempt":1,"why":"ann"}},{"run":"r4","seq":4,"at_ms":1794966508215,"what":{"what":"task_moved","task":"r4/A","by":"complete","attempt":1}},{"run":"r4","seq":5,"at_ms":1794966508215,"what":{"what":"run_ended","status":"completed","reason":null}}]');
INSERT INTO public.workflow_groups VALUES ('r1/E', '{"id":"r1/E","total":3,"next":3,"running":2,"succeeded":1,"failed":0,"closed":false,"pristine":true}');
INSERT INTO public.workflow_items VALUES ('r1/E', 1, '{"group":"r1/E","index":1,"value":"b''\"\\ä","status":"running","active":1,"result":null,"failure":null}');
INSERT INTO public.workflow_items VALUES ('r1/E', 2, '{"group":"r1/E","index":2,"value":null,"status":"running","active":1,"result":null,"failure":null}');
INSERT INTO public.workflow_items VALUES ('r1/E', 0, '{"group":"r1/E","index":0,"value":"a","status":"succeeded","active":0,"result":"r1/E[0]/E","failure":null}');
INSERT INTO public.workflow_names VALUES ('254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'looking');
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (1, '{"run":"r1","task":"r1/N","kind":"task_for_you","message":"`Note` is for you to do.","assignee":"ada"}', 'r1', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (2, '{"run":"r2","task":"r2/A","kind":"task_for_you","message":"`Look` is for you to do.","assignee":null}', 'r2', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (3, '{"run":"r2","task":"r2/B","kind":"task_for_you","message":"`Note` is for you to do.","assignee":null}', 'r2', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (4, '{"run":"r3","task":"r3/A","kind":"task_for_you","message":"`Look` is for you to do.","assignee":null}', 'r3', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (5, '{"run":"r4","task":"r4/A","kind":"task_for_you","message":"`Say` is for you to do.","assignee":null}', 'r4', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (6, '{"run":"r4","task":null,"kind":"run_completed","message":"The run is completed.","assignee":null}', 'r4', 0, 0);
INSERT INTO public.workflow_ready VALUES ('r1/E[2]/E', 'r1', 1794966507884, NULL);
INSERT INTO public.workflow_runs VALUES ('r1', '639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724', 'running', 1794966507863, '{"depth":3}', '{"id":"r1","workflow":"639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":4,"seq":17,"quiet_since":16,"spent":{"tokens":0,"micros":0},"created_ms":1794966507863,"ended_ms":null}', true);
INSERT INTO public.workflow_runs VALUES ('r2', '00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b', 'running', 1794966508039, '{}', '{"id":"r2","workflow":"00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":2,"seq":3,"spent":{"tokens":0,"micros":0},"created_ms":1794966508039,"ended_ms":null}', true);
INSERT INTO public.workflow_runs VALUES ('r3', '254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'running', 1794966508126, '{}', '{"id":"r3","workflow":"254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166","name":"looking","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":["seen"],"active":1,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1794966508126,"ended_ms":null}', true);
INSERT INTO public.workflow_runs VALUES ('r4', '14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c', 'completed', 1794966508195, '{}', '{"id":"r4","workflow":"14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c","status":"completed","reason":null,"pause":null,"result":"r4/A","parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":5,"spent":{"tokens":0,"micros":0},"created_ms":1794966508195,"ended_ms":1794966508215}', true);
INSERT INTO public.workflow_tags VALUES ('seen', 1794966508126, 'r3');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/A', 1, 'r1', '', 'r1/A', 1, 'completed', NULL, NULL, NULL, 1, false, '{"id":"r1/A","kind":"work","execution":"automated","status":"completed","from":null,"ready_ms":1794966507863,"attempt":1,"fence":1,"lease":null,"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":{"items":["a","b''\"\\ä",null]},"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966507863,"ended_ms":1794966507884}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E', 4, 'r1', '', 'r1/E', 1, 'waiting', NULL, NULL, NULL, 0, true, '{"id":"r1/E","kind":"foreach","execution":"automated","status":"waiting","from":"r1/A","ready_ms":1794966507884,"attempt":0,"fence":0,"lease":null,"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":null,"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966507884,"ended_ms":null}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/N', 5, 'r1', '', 'r1/N', 1, 'pending', 'ada', NULL, NULL, 0, true, '{"id":"r1/N","kind":"work","execution":"manual","status":"pending","from":"r1/A","ready_ms":1794966507884,"attempt":0,"fence":0,"lease":null,"assignee":"ada","fallen_back":false,"turns":0,"note":null,"output":null,"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966507884,"ended_ms":null}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[2]/E', 8, 'r1', 'E[2]/', 'r1/E[2]/E', 1, 'pending', NULL, 1794966507884, NULL, 0, true, '{"id":"r1/E[2]/E","kind":"work","execution":"automated","status":"pending","from":"r1/A","ready_ms":1794966507884,"attempt":0,"fence":0,"lease":null,"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":null,"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966507884,"ended_ms":null}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[0]/E', 6, 'r1', 'E[0]/', 'r1/E[0]/E', 1, 'completed', NULL, NULL, NULL, 1, false, '{"id":"r1/E[0]/E","kind":"work","execution":"automated","status":"completed","from":"r1/A","ready_ms":1794966507884,"attempt":1,"fence":1,"lease":null,"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":{"ok":true},"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966507884,"ended_ms":1794966507898}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[1]/E', 7, 'r1', 'E[1]/', 'r1/E[1]/E', 1, 'in_progress', NULL, NULL, 1794966507907, 1, true, '{"id":"r1/E[1]/E","kind":"work","execution":"automated","status":"in_progress","from":"r1/A","ready_ms":1794966507884,"attempt":1,"fence":1,"lease":{"worker":"w","until_ms":1794966507907},"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":null,"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966507884,"ended_ms":null}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r2/A', 12, 'r2', '', 'r2/A', 1, 'pending', NULL, NULL, NULL, 0, true, '{"id":"r2/A","kind":"work","execution":"manual","status":"pending","from":null,"ready_ms":1794966508039,"attempt":0,"fence":0,"lease":null,"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":null,"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966508039,"ended_ms":null}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r2/B', 13, 'r2', '', 'r2/B', 1, 'pending', NULL, NULL, NULL, 0, true, '{"id":"r2/B","kind":"work","execution":"manual","status":"pending","from":null,"ready_ms":1794966508039,"attempt":0,"fence":0,"lease":null,"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":null,"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966508039,"ended_ms":null}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r3/A', 14, 'r3', '', 'r3/A', 1, 'pending', NULL, NULL, NULL, 0, true, '{"id":"r3/A","kind":"work","execution":"manual","status":"pending","from":null,"ready_ms":1794966508126,"attempt":0,"fence":0,"lease":null,"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":null,"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966508126,"ended_ms":null}');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r4/A', 15, 'r4', '', 'r4/A', 1, 'completed', NULL, NULL, NULL, 1, false, '{"id":"r4/A","kind":"work","execution":"manual","status":"completed","from":null,"ready_ms":1794966508195,"attempt":1,"fence":1,"lease":null,"assignee":null,"fallen_back":false,"turns":0,"note":null,"output":1,"partial":false,"failure":null,"hold":null,"tags":[],"arrivals":[],"passed":[],"spent":{"tokens":0,"micros":0},"created_ms":1794966508195,"ended_ms":1794966508215}');
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
', 1794966507858);
INSERT INTO public.workflow_texts VALUES ('00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b', 'graph TD
 A(Look)
 B(Note)
', 1794966507997);
INSERT INTO public.workflow_texts VALUES ('254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'graph TD
 A(Look)
', 1794966508100);
INSERT INTO public.workflow_texts VALUES ('14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c', 'graph TD
 A(Say)
', 1794966508159);
INSERT INTO public.workflow_timers VALUES ('r1', 'timeout:r1/E', 1795744107884, '{"run":"r1","key":"timeout:r1/E","at_ms":1795744107884,"due":{"due":"timeout","task":"r1/E"}}');
SELECT pg_catalog.setval('public.tokens_id_seq', 1, true);
SELECT pg_catalog.setval('public.views_id_seq', 1, true);
SELECT pg_catalog.setval('public.workflow_notices_id_seq', 6, true);
SELECT pg_catalog.setval('public.workflow_tasks_number_seq', 16, true);
ALTER TABLE ONLY public.drawloom_migrations
    ADD CONSTRAINT drawloom_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (slug);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key_key UNIQUE (email_key);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (slug);
ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_owner_name_key UNIQUE (owner, name);
ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.workflow_names
    ADD CONSTRAINT workflow_names_pkey PRIMARY KEY (hash, name);
ALTER TABLE ONLY public.workflow_notices
    ADD CONSTRAINT workflow_notices_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_ready
    ADD CONSTRAINT workflow_ready_pkey PRIMARY KEY (task);
ALTER TABLE ONLY public.workflow_runs
    ADD CONSTRAINT workflow_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_tags
    ADD CONSTRAINT workflow_tags_pkey PRIMARY KEY (tag, created_ms, run);
ALTER TABLE ONLY public.workflow_tasks
    ADD CONSTRAINT workflow_tasks_pkey PRIMARY KEY (place, visit);
ALTER TABLE ONLY public.workflow_texts
    ADD CONSTRAINT workflow_texts_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.workflow_timers
    ADD CONSTRAINT workflow_timers_pkey PRIMARY KEY (run, key);
CREATE INDEX schedules_due ON public.schedules USING btree (next_ms) WHERE (is_enabled AND (next_ms IS NOT NULL));
CREATE UNIQUE INDEX tokens_named ON public.tokens USING btree ("user", name) WHERE (revoked_ms IS NULL);
CREATE INDEX views_shared ON public.views USING btree (name) WHERE is_shared;
CREATE INDEX workflow_notices_due ON public.workflow_notices USING btree (due_ms, id);
CREATE INDEX workflow_notices_run ON public.workflow_notices USING btree (run);
CREATE INDEX workflow_ready_oldest ON public.workflow_ready USING btree (ready_ms, task);
CREATE INDEX workflow_ready_runs ON public.workflow_ready USING btree (run, ready_ms);
CREATE INDEX workflow_runs_newest ON public.workflow_runs USING btree (created_ms, id);
CREATE INDEX workflow_runs_of ON public.workflow_runs USING btree (workflow, status, created_ms, id);
CREATE INDEX workflow_runs_status ON public.workflow_runs USING btree (status, created_ms, id);
CREATE INDEX workflow_runs_top ON public.workflow_runs USING btree (created_ms, id) WHERE is_top;
CREATE INDEX workflow_tasks_active ON public.workflow_tasks USING btree (run, path) WHERE is_active;
CREATE INDEX workflow_tasks_leased ON public.workflow_tasks USING btree (lease_ms) WHERE (lease_ms IS NOT NULL);
CREATE INDEX workflow_tasks_open ON public.workflow_tasks USING btree (number) WHERE is_active;
CREATE INDEX workflow_tasks_unfinished ON public.workflow_tasks USING btree (status, number) WHERE (status = ANY (ARRAY['failed'::text, 'cancelled'::text]));
CREATE INDEX workflow_timers_due ON public.workflow_timers USING btree (at_ms);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_user_fkey FOREIGN KEY ("user") REFERENCES public.users(slug);
ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_owner_fkey FOREIGN KEY (owner) REFERENCES public.users(slug);
ALTER TABLE ONLY public.workflow_names
    ADD CONSTRAINT workflow_names_hash_fkey FOREIGN KEY (hash) REFERENCES public.workflow_texts(hash);
ALTER TABLE ONLY public.workflow_runs
    ADD CONSTRAINT workflow_runs_workflow_fkey FOREIGN KEY (workflow) REFERENCES public.workflow_texts(hash);
