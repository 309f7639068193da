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
    created_ms bigint NOT NULL,
    policy text DEFAULT '{}'::text NOT NULL
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
    is_top boolean DEFAULT true NOT NULL
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
INSERT INTO public.drawloom_migrations VALUES (1, 'workflows', '2026-11-18 05:41:41.821587+00', true, '\x24452249657d30d474e7fbcd877e43573971de3e302df8b652cb7bb71df9f611328816a549b7ee0b63151c8bb01b3706', 68641003);
INSERT INTO public.drawloom_migrations VALUES (2, 'people', '2026-11-18 05:41:41.890638+00', true, '\x0303c3d2353b4e544deeedd8dcce6b9d888afec4ff1c761fd2ed9f9a0a0a68fc2a511545aa7253a9160ea2e0b6b46eb3', 8233249);
INSERT INTO public.drawloom_migrations VALUES (3, 'access', '2026-11-18 05:41:41.898969+00', true, '\x1ea5826d30f37bbb39a1067e43cf75e4a99dd7149b1fea758b658338a3771906718f2aa7fe0aa81ca7d78a4cff84074d', 27398024);
INSERT INTO public.drawloom_migrations VALUES (4, 'fewer rows', '2026-11-18 05:41:41.926536+00', true, '\xec5f92ffb5e49b20b1aed9f6ec3a1ea4a74cdd60b152b5c9d0aadcb3262d00129d1f485d26f6a80a73263d86a7ce9ce6', 1117841);
INSERT INTO public.drawloom_migrations VALUES (5, 'looking', '2026-11-18 05:41:41.927728+00', true, '\x7e627d6ebfd3eac1802cfa923b40ee07390ff6eaca5706dc1610462369e97947829b824022205bf7c03188b64616f969', 129476042);
INSERT INTO public.drawloom_migrations VALUES (6, 'calls', '2026-11-18 05:41:42.057451+00', true, '\x39ff25d01d3841ff5b8946d5918bcb16d057565523ff1611ef47a1991eeab51bbb6c74700691e827f598960692201106', 12878228);
INSERT INTO public.drawloom_migrations VALUES (7, 'limits', '2026-11-18 05:41:42.070453+00', true, '\x14eb5e2a3a1ebe4ef72232905476cc83e584afb4d0fbfa1dec46c60c4f6234ca88d03846d87d0d476c3d4e1fd5c30a99', 4627153);
INSERT INTO public.schedules VALUES ('night', 'nightly', '0 3 * * *', 'Asia/Tokyo', '{"depth":3}', true, 10, NULL, NULL, NULL, 1794980502153, '{"overlap":"allow"}');
INSERT INTO public.tokens OVERRIDING SYSTEM VALUE VALUES (1, 'ada', 'ci', 'viewer', '\x4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0', 1794980502155, NULL, NULL, NULL);
INSERT INTO public.users VALUES ('ada', 'Ada '' Lovelace', 'reviewer', true, false, 'ada@example.org', 'ada@example.org', NULL, 1, 1794980502136, 1794980502136);
INSERT INTO public.users VALUES ('reviewer', 'Ada '' Lovelace', 'reviewer', true, true, NULL, NULL, 'You review.
Be kind.', 1, 1794980502140, 1794980502140);
INSERT INTO public.views OVERRIDING SYSTEM VALUE VALUES (1, 'ada', 'Mine', 'tasks', '{"status":"on_hold"}', true, 1, 1794980502154, 1794980502154);
INSERT INTO public.workflow_calls VALUES ('r4', 4, 'r4/A', '{"task":"r4/A","seq":4,"attempt":1,"call":{"by":"ann","layers":[],"replies":[],"summary":"Said it.","confidence":null,"suggested_tags":[],"suggested_next_stage":null,"usage":{"input_tokens":0,"output_tokens":0},"begun_ms":1794980502283,"ended_ms":1794980502283}}');
INSERT INTO public.workflow_events VALUES ('r1', 2, '[11794980502089639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724","parent":null21794980502089A}}]');
INSERT INTO public.workflow_events VALUES ('r1', 3, '31794980502118Aw"}}');
INSERT INTO public.workflow_events VALUES ('r1', 13, '[41794980502121A51794980502121E","kind":"foreach","begin":"waiting","from":"A61794980502121group_opened","group":"E","total":371794980502121NA81794980502121E091794980502121E1101794980502121E2111794980502121E[0]/EA121794980502121E[1]/EA131794980502121E[2]/EA"}}]');
INSERT INTO public.workflow_events VALUES ('r1', 14, '141794980502125E[0]/Ew"}}');
INSERT INTO public.workflow_events VALUES ('r1', 16, '[151794980502130E[0]/E161794980502130E0]');
INSERT INTO public.workflow_events VALUES ('r1', 17, '171794980502132E[1]/Ew"}}');
INSERT INTO public.workflow_events VALUES ('r2', 3, '[1179498050217600b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b","parent":null21794980502176A31794980502176B}}]');
INSERT INTO public.workflow_events VALUES ('r3', 2, '[11794980502212254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166","parent":null21794980502212A}}]');
INSERT INTO public.workflow_events VALUES ('r4', 2, '[1179498050224714f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c","parent":null21794980502247A}}]');
INSERT INTO public.workflow_events VALUES ('r4', 5, '[31794980502283Aann41794980502283A51794980502283]');
INSERT INTO public.workflow_events VALUES ('r5', 2, '[11794980502318b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","parent":null21794980502318A}}]');
INSERT INTO public.workflow_events VALUES ('r6', 2, '[11794980502336b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","parent":null21794980502336run_queued","key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d"}}]');
INSERT INTO public.workflow_groups VALUES ('r1/E', '{"id":"r1/E","total":3,"next":3,"running":2,"succeeded":1,"failed":0,"closed":false,"pristine":true}');
INSERT INTO public.workflow_items VALUES ('r1/E', 1, '{"group":"r1/E","index":1,"value":"b''\"\\ä","status":"running","active":1,"result":null,"failure":null}');
INSERT INTO public.workflow_items VALUES ('r1/E', 2, '{"group":"r1/E","index":2,"value":null,"status":"running","active":1,"result":null,"failure":null}');
INSERT INTO public.workflow_items VALUES ('r1/E', 0, '{"group":"r1/E","index":0,"value":"a","status":"succeeded","active":0,"result":"r1/E[0]/E","failure":null}');
INSERT INTO public.workflow_logs VALUES ('r5', 'r5/A', 1, 1, 7, 'stderr', 'a word');
INSERT INTO public.workflow_names VALUES ('254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'looking');
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (1, '{"run":"r1","task":"r1/N","kind":"task_for_you","message":"`Note` is for you to do.","assignee":"ada"}', 'r1', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (2, '{"run":"r2","task":"r2/A","kind":"task_for_you","message":"`Look` is for you to do.","assignee":null}', 'r2', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (3, '{"run":"r2","task":"r2/B","kind":"task_for_you","message":"`Note` is for you to do.","assignee":null}', 'r2', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (4, '{"run":"r3","task":"r3/A","kind":"task_for_you","message":"`Look` is for you to do.","assignee":null}', 'r3', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (5, '{"run":"r4","task":"r4/A","kind":"task_for_you","message":"`Say` is for you to do.","assignee":null}', 'r4', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (6, '{"run":"r4","task":null,"kind":"run_completed","message":"The run is completed.","assignee":null}', 'r4', 0, 0);
INSERT INTO public.workflow_notices OVERRIDING SYSTEM VALUE VALUES (7, '{"run":"r5","task":"r5/A","kind":"task_for_you","message":"`Say` is for you to do.","assignee":null}', 'r5', 0, 0);
INSERT INTO public.workflow_ready VALUES ('r1/E[2]/E', 'r1', 1794980502121, NULL, NULL, 0);
INSERT INTO public.workflow_runs VALUES ('r1', '639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724', 'running', 1794980502089, '{"depth":3}', '{"id":"r1","workflow":"639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":4,"seq":17,"quiet_since":16,"spent":{"tokens":0,"micros":0},"created_ms":1794980502089,"ended_ms":null}', true);
INSERT INTO public.workflow_runs VALUES ('r2', '00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b', 'running', 1794980502176, '{}', '{"id":"r2","workflow":"00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":2,"seq":3,"spent":{"tokens":0,"micros":0},"created_ms":1794980502176,"ended_ms":null}', true);
INSERT INTO public.workflow_runs VALUES ('r3', '254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'running', 1794980502212, '{}', '{"id":"r3","workflow":"254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166","name":"looking","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":["seen"],"active":1,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1794980502212,"ended_ms":null}', true);
INSERT INTO public.workflow_runs VALUES ('r4', '14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c', 'completed', 1794980502247, '{}', '{"id":"r4","workflow":"14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c","status":"completed","reason":null,"pause":null,"result":"r4/A","parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":5,"spent":{"tokens":0,"micros":0},"created_ms":1794980502247,"ended_ms":1794980502283}', true);
INSERT INTO public.workflow_runs VALUES ('r5', 'b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'running', 1794980502318, '{}', '{"id":"r5","workflow":"b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":1,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1794980502318,"ended_ms":null,"slot":{"key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","max":1,"on_limit":"queue"}}', true);
INSERT INTO public.workflow_runs VALUES ('r6', 'b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'running', 1794980502336, '{}', '{"id":"r6","workflow":"b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1794980502336,"ended_ms":null,"slot":{"key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","max":1,"on_limit":"queue"},"is_queued":true}', true);
INSERT INTO public.workflow_slots VALUES ('run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'r5', 1, 1794980502318, true);
INSERT INTO public.workflow_slots VALUES ('run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'r6', 1, 1794980502336, false);
INSERT INTO public.workflow_tags VALUES ('seen', 1794980502212, 'r3');
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/A', 1, 'r1', '', 'r1/A', 1, 'completed', NULL, NULL, NULL, 1, false, 'r1A1794980502089{"items":["a","b''\"\\ä",]}17949805020891794980502121}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E', 4, 'r1', '', 'r1/E', 1, 'waiting', NULL, NULL, NULL, 0, true, 'r1E","kind":"foreach","execution":"automated","status":"waiting","from":"A"17949805021211794980502121}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/N', 5, 'r1', '', 'r1/N', 1, 'pending', 'ada', NULL, NULL, 0, true, 'r1Npending","from":"A"1794980502121,"assignee":"ada"1794980502121}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[2]/E', 8, 'r1', 'E[2]/', 'r1/E[2]/E', 1, 'pending', NULL, 1794980502121, NULL, 0, true, 'r1E[2]/Epending","from":"A"17949805021211794980502121}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[0]/E', 6, 'r1', 'E[0]/', 'r1/E[0]/E', 1, 'completed', NULL, NULL, NULL, 1, false, 'r1E[0]/E"A"1794980502121{"ok":true}17949805021211794980502130}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r1/E[1]/E', 7, 'r1', 'E[1]/', 'r1/E[1]/E', 1, 'in_progress', NULL, NULL, 1794980502133, 1, true, 'r1E[1]/Ein_progress","from":"A"1794980502121,"attempt":1,"fence":1w1794980502133}1794980502121}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r2/A', 12, 'r2', '', 'r2/A', 1, 'pending', NULL, NULL, NULL, 0, true, 'r2Apending","from":17949805021761794980502176}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r2/B', 13, 'r2', '', 'r2/B', 1, 'pending', NULL, NULL, NULL, 0, true, 'r2Bpending","from":17949805021761794980502176}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r3/A', 14, 'r3', '', 'r3/A', 1, 'pending', NULL, NULL, NULL, 0, true, 'r3Apending","from":17949805022121794980502212}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r4/A', 15, 'r4', '', 'r4/A', 1, 'completed', NULL, NULL, NULL, 1, false, 'r4Acompleted","from":1794980502247117949805022471794980502283}', NULL, 0);
INSERT INTO public.workflow_tasks OVERRIDING SYSTEM VALUE VALUES ('r5/A', 17, 'r5', '', 'r5/A', 1, 'pending', NULL, NULL, NULL, 0, true, 'r5Apending","from":17949805023181794980502318}', NULL, 0);
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
', 1794980502081);
INSERT INTO public.workflow_texts VALUES ('00b4f84d4e059bbaf60cfb077ab26d18ed0d992db11e13877e3ccef95d88d69b', 'graph TD
 A(Look)
 B(Note)
', 1794980502166);
INSERT INTO public.workflow_texts VALUES ('254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166', 'graph TD
 A(Look)
', 1794980502203);
INSERT INTO public.workflow_texts VALUES ('14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c', 'graph TD
 A(Say)
', 1794980502242);
INSERT INTO public.workflow_texts VALUES ('b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d', 'graph TD
 A(Say)
%% === WORKFLOW_CONFIG ===
%% @concurrency: { "max": 1 }
%% === END_CONFIG ===
', 1794980502309);
INSERT INTO public.workflow_timers VALUES ('r1', 'timeout:r1/E', 1795758102121, '{"run":"r1","key":"timeout:r1/E","at_ms":1795758102121,"due":{"due":"timeout","task":"r1/E"}}');
INSERT INTO public.workflow_triggers VALUES ('files', 'one');
SELECT pg_catalog.setval('public.tokens_id_seq', 1, true);
SELECT pg_catalog.setval('public.views_id_seq', 1, true);
SELECT pg_catalog.setval('public.workflow_notices_id_seq', 7, true);
SELECT pg_catalog.setval('public.workflow_tasks_number_seq', 17, true);
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
CREATE INDEX schedules_due ON public.schedules USING btree (next_ms) WHERE (is_enabled AND (next_ms IS NOT NULL));
CREATE UNIQUE INDEX tokens_named ON public.tokens USING btree ("user", name) WHERE (revoked_ms IS NULL);
CREATE INDEX views_shared ON public.views USING btree (name) WHERE is_shared;
CREATE INDEX workflow_notices_due ON public.workflow_notices USING btree (due_ms, id);
CREATE INDEX workflow_notices_run ON public.workflow_notices USING btree (run);
CREATE INDEX workflow_ready_oldest ON public.workflow_ready USING btree (rank, ready_ms, task);
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
