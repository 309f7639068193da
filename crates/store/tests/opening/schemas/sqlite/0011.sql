CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    -- The file it was started from, relative to the project.
    name TEXT NOT NULL,
    -- A digest of what that file said.
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    -- Who works on it; whether they live is for the lock to say.
    pid INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_by_name ON runs (kind, name, id);
CREATE TABLE facts (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (run, key)
) STRICT;
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (run, key)
) STRICT;
CREATE TABLE turns (
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (conversation, number)
) STRICT;
CREATE TABLE notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    outlives_turn INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX notes_by_turn ON notes (conversation, turn);
CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    phase TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    micro_usd INTEGER,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX calls_by_conversation ON calls (conversation);
CREATE TABLE builds (
    id TEXT PRIMARY KEY,
    run INTEGER NOT NULL UNIQUE REFERENCES runs (id) ON DELETE CASCADE,
    -- How it stands and how often it was changed, which a change has to name; both are in the body
    -- as well.
    status TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX builds_by_status ON builds (status, id);
CREATE TABLE build_progress (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    build TEXT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX build_progress_by_build ON build_progress (build, id);
CREATE TABLE workflow_texts (
    hash TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE workflow_runs (
    id TEXT PRIMARY KEY,
    workflow TEXT NOT NULL REFERENCES workflow_texts (hash),
    status TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    input TEXT,
    body TEXT NOT NULL
, is_top INTEGER NOT NULL DEFAULT 1) STRICT;
CREATE INDEX workflow_runs_newest ON workflow_runs (created_ms, id);
CREATE TABLE workflow_groups (
    id TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE workflow_items (
    "group" TEXT NOT NULL,
    "index" INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY ("group", "index")
) STRICT, WITHOUT ROWID;
CREATE TABLE workflow_timers (
    run TEXT NOT NULL,
    key TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_timers_due ON workflow_timers (at_ms);
CREATE TABLE workflow_events (
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE workflow_notices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    body TEXT NOT NULL
, run TEXT NOT NULL DEFAULT '', tries INTEGER NOT NULL DEFAULT 0, due_ms INTEGER NOT NULL DEFAULT 0) STRICT;
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
, policy TEXT NOT NULL DEFAULT '{}') STRICT;
CREATE INDEX schedules_due ON schedules (next_ms) WHERE is_enabled = 1 AND next_ms IS NOT NULL;
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
, scopes TEXT NOT NULL DEFAULT '') STRICT;
CREATE UNIQUE INDEX tokens_named ON tokens ("user", name) WHERE revoked_ms IS NULL;
CREATE INDEX workflow_runs_top ON workflow_runs (created_ms, id) WHERE is_top = 1;
CREATE INDEX workflow_runs_status ON workflow_runs (status, created_ms, id);
CREATE INDEX workflow_runs_of ON workflow_runs (workflow, status, created_ms, id);
CREATE TABLE workflow_names (
    hash TEXT NOT NULL REFERENCES workflow_texts (hash),
    name TEXT NOT NULL,
    PRIMARY KEY (hash, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE workflow_tags (
    tag TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    run TEXT NOT NULL,
    PRIMARY KEY (tag, created_ms, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_notices_run ON workflow_notices (run);
CREATE INDEX workflow_notices_due ON workflow_notices (due_ms, id);
CREATE TABLE "workflow_tasks" (
    -- The order in which they came to be.
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    -- The items it stands in.
    path TEXT NOT NULL,
    -- Run, items and step: what visits are counted for.
    place TEXT NOT NULL,
    visit INTEGER NOT NULL,
    status TEXT NOT NULL,
    assignee TEXT,
    -- When a worker may claim it; nothing where none may.
    ready_ms INTEGER,
    -- When its lease ends; nothing where nobody has one.
    lease_ms INTEGER,
    fence INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    body TEXT NOT NULL
, slot TEXT, rank INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE UNIQUE INDEX workflow_tasks_visits ON workflow_tasks (place, visit);
CREATE INDEX workflow_tasks_leased ON workflow_tasks (lease_ms) WHERE lease_ms IS NOT NULL;
CREATE INDEX workflow_tasks_active ON workflow_tasks (run, path) WHERE is_active = 1;
CREATE INDEX workflow_tasks_open ON workflow_tasks (number) WHERE is_active = 1;
CREATE INDEX workflow_tasks_unfinished ON workflow_tasks (status)
WHERE status IN ('failed', 'cancelled');
CREATE TABLE workflow_calls (
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    task TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT;
CREATE INDEX workflow_tasks_ready ON workflow_tasks (rank, ready_ms, place, visit, slot)
WHERE ready_ms IS NOT NULL;
CREATE TABLE workflow_slots (
    key TEXT NOT NULL,
    holder TEXT NOT NULL,
    max INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    is_held INTEGER NOT NULL,
    PRIMARY KEY (key, holder)
) STRICT, WITHOUT ROWID;
CREATE TABLE workflow_logs (
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    stream TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, task, attempt, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE workflow_triggers (
    name TEXT PRIMARY KEY,
    seen TEXT NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE event_stream (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL DEFAULT 'run',
    subject TEXT NOT NULL,
    -- The number of the last event of a page.
    seq INTEGER NOT NULL DEFAULT 0,
    body TEXT
) STRICT;
CREATE TABLE stream_readers (
    name TEXT PRIMARY KEY,
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL
) STRICT;
CREATE INDEX workflow_tasks_waiting ON workflow_tasks (assignee, number)
WHERE status = 'on_hold' OR (status = 'pending' AND ready_ms IS NULL);
CREATE INDEX workflow_tasks_asking ON workflow_tasks (number)
WHERE status = 'on_hold' OR (status = 'pending' AND ready_ms IS NULL);
CREATE TABLE cost_sums (
    kind TEXT NOT NULL,
    -- Days since 1970-01-01 (UTC).
    day INTEGER NOT NULL,
    name TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    -- Millionths of a US dollar.
    micros INTEGER NOT NULL,
    PRIMARY KEY (kind, day, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX cost_sums_highest ON cost_sums (kind, day, micros, name);
CREATE TABLE search_documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    -- Tells documents of a kind apart.
    name TEXT NOT NULL,
    run TEXT,
    task TEXT,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    -- The words of title and body in small letters, between single spaces.
    words TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    UNIQUE (kind, name)
) STRICT;
CREATE INDEX search_documents_run ON search_documents (run) WHERE run IS NOT NULL;
CREATE INDEX search_documents_newest ON search_documents (kind, at_ms);
CREATE VIRTUAL TABLE search_words USING fts5 (
    words, content = 'search_documents', content_rowid = 'number',
    tokenize = 'unicode61 remove_diacritics 0'
);
CREATE TABLE run_files (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    content BLOB NOT NULL,
    -- The run has deleted the file.
    is_gone INTEGER NOT NULL,
    is_executable INTEGER NOT NULL,
    -- A digest of what the run found there first; NULL where it found nothing.
    before TEXT,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (run, path)
) STRICT;
CREATE TABLE project_keys (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
PRAGMA foreign_keys = OFF;
INSERT INTO "_sqlx_migrations" VALUES (1,'agent','2026-11-18 21:41:26',1,X'0B40653FF9B6A8CB0FEA1C52C0B50E380C6D4033BB3CBDE5249834D9D27DBB3FD3B0370F9F6C72FC353789185F849E8A',613585);
INSERT INTO "_sqlx_migrations" VALUES (10,'reading','2026-11-18 21:41:26',1,X'280027D9867252D9388BF0335188C77C9009847122882A901662F5DF39CBB263690D88B08F77337966F79A13CDDFD361',2002809);
INSERT INTO "_sqlx_migrations" VALUES (11,'run files','2026-11-18 21:41:26',1,X'9B4D15BFB2D07E3F89DF1AA19C5E06B723A0FEC929E4BB6AD9221255926F1212E62275C01D3F45AD8BF11233A93E1BB7',429081);
INSERT INTO "_sqlx_migrations" VALUES (2,'builds','2026-11-18 21:41:26',1,X'1A0DA3BB4C678D5BDEB6F4964DA43B562F493EFCC1E261C89402C98E2C26D91E1FDE0767462F44A43E66CCAEA9689A85',378226);
INSERT INTO "_sqlx_migrations" VALUES (3,'workflows','2026-11-18 21:41:26',1,X'BD0AE07D4B988B187A2D301ABD69645B9D4D88442DE4DD05661E27D84688FA641938FB2EE3077E09C14DA18F582EBD35',1669607);
INSERT INTO "_sqlx_migrations" VALUES (4,'people','2026-11-18 21:41:26',1,X'90D77A8629E3D184D836CABBD0CCEF7D23470B6C83564C33AAD121B05C204681A04F2FCC4F536309957E24747108FF8F',451393);
INSERT INTO "_sqlx_migrations" VALUES (5,'access','2026-11-18 21:41:26',1,X'7E48134D5E3617D115159FBDF5EDB4D33550E0B83E13B6568EF81A5572C81878C19B0EA0958E5263EAC663564ABC2C8D',400197);
INSERT INTO "_sqlx_migrations" VALUES (6,'looking','2026-11-18 21:41:26',1,X'E059873312B4504276C67CBD5010913123ADEF26852BED7C4D2C2471C5EDE05679D7149075AC403DEEEA8AC9EEE676C5',3972036);
INSERT INTO "_sqlx_migrations" VALUES (7,'calls','2026-11-18 21:41:26',1,X'9C90F731D545296CB6D112B8E40344468203C83E0F13284D850A2A1DD0A8B3F6BB12DC274D8E782A60F58FF5A3EC551C',267540);
INSERT INTO "_sqlx_migrations" VALUES (8,'limits','2026-11-18 21:41:26',1,X'07A3D7C1DF4834FF60C0E32179173F43971E6966307D0A05B3CD08CC17A4974C9088DB792C88263D2EDA8ECBAC243E48',2511339);
INSERT INTO "_sqlx_migrations" VALUES (9,'server','2026-11-18 21:41:26',1,X'253B7932A2ACC465F715EF34F8571E2571E8F9EF8153282206B3DC0457CAF1CE825657E644F948CF66439FF2351F47F1',3181590);
INSERT INTO "audit_entries" VALUES (1,1795038087894,'own','server.claim','','done','','');
INSERT INTO "builds" VALUES ('0000000070007',2,'queued',0,'{"id":"0000000070007","prompt":"say something better","options":{"dryRun":false,"publish":"pull-request","start":"last-commit"},"status":"queued","revision":0,"checks":[],"result":{"files":[],"diffs":[],"impactedFiles":[],"impactedTests":[],"validation":[],"validationErrors":[],"repairAttempts":0,"tokenUsage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"cost":{"microUsd":0,"calls":0,"unpricedCalls":0,"phases":{}},"pushed":false,"notes":[]},"work":{"errorsByRound":[],"reviewRounds":0,"repairsBefore":0},"createdMs":7,"updatedMs":7}');
INSERT INTO "calls" VALUES (1,1,1,'generate','anthropic','claude-sonnet-4-5',10,5,3,2,1,25,1700000000001);
INSERT INTO "calls" VALUES (2,1,2,'generate','anthropic','claude-sonnet-4-5',10,5,3,2,1,25,1700000000002);
INSERT INTO "calls" VALUES (3,1,3,'generate','anthropic','claude-sonnet-4-5',10,5,3,2,1,25,1700000000003);
INSERT INTO "conversations" VALUES (1,1,'generate',1795038086375);
INSERT INTO "cost_sums" VALUES ('day',20775,'',1,5,70);
INSERT INTO "cost_sums" VALUES ('model',20775,'other',1,5,70);
INSERT INTO "cost_sums" VALUES ('person',20775,'nobody',1,5,70);
INSERT INTO "cost_sums" VALUES ('run',20775,'r7',1,5,70);
INSERT INTO "cost_sums" VALUES ('step',20775,'/A',1,5,70);
INSERT INTO "cost_sums" VALUES ('workflow',20775,'',1,5,70);
INSERT INTO "event_stream" VALUES (1,'build','0000000070007',0,'{"change":"added","at_ms":1795038086388,"status":"queued"}');
INSERT INTO "event_stream" VALUES (10,'schedule','night',0,'{"change":"added","at_ms":1795038086504}');
INSERT INTO "event_stream" VALUES (11,'run','r3',2,NULL);
INSERT INTO "event_stream" VALUES (12,'run','r4',2,NULL);
INSERT INTO "event_stream" VALUES (13,'run','r4',5,NULL);
INSERT INTO "event_stream" VALUES (14,'run','r5',2,NULL);
INSERT INTO "event_stream" VALUES (15,'run','r6',2,NULL);
INSERT INTO "event_stream" VALUES (16,'user','own',0,'{"change":"added","at_ms":1795038087810}');
INSERT INTO "event_stream" VALUES (17,'workflow','review',0,'{"change":"added","at_ms":1795038087910,"number":1}');
INSERT INTO "event_stream" VALUES (18,'task','r9/A',0,'{"change":"added","at_ms":1795038087919}');
INSERT INTO "event_stream" VALUES (19,'task','r9/A',0,'{"change":"commented","at_ms":1795038087925,"comment":1}');
INSERT INTO "event_stream" VALUES (2,'run','r1',2,NULL);
INSERT INTO "event_stream" VALUES (20,'run','r7',2,NULL);
INSERT INTO "event_stream" VALUES (21,'run','r7',3,NULL);
INSERT INTO "event_stream" VALUES (22,'run','r7',5,NULL);
INSERT INTO "event_stream" VALUES (3,'run','r1',3,NULL);
INSERT INTO "event_stream" VALUES (4,'run','r1',13,NULL);
INSERT INTO "event_stream" VALUES (5,'run','r1',14,NULL);
INSERT INTO "event_stream" VALUES (6,'run','r1',16,NULL);
INSERT INTO "event_stream" VALUES (7,'run','r1',17,NULL);
INSERT INTO "event_stream" VALUES (8,'user','ada',0,'{"change":"added","at_ms":1795038086495}');
INSERT INTO "event_stream" VALUES (9,'user','reviewer',0,'{"change":"added","at_ms":1795038086503}');
INSERT INTO "facts" VALUES (1,'task/a','{"state":"done"}',1795038086386);
INSERT INTO "idempotency_keys" VALUES ('ada','k1',X'0101010101010101010101010101010101010101010101010101010101010101',1795038147887,10795038087887,201,'{}',X'7B226964223A317D');
INSERT INTO "identities" VALUES ('https://id.example.org','248289761001','own',1795038087884);
INSERT INTO "one_time_links" VALUES (1,'password_reset','own',X'648AA5C579FB30F38AF744D97D6EC840C7A91277A499A0D780F3E7314ECA090B',1795038087882,9000000000000);
INSERT INTO "passwords" VALUES ('own','$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA',1795038087810);
INSERT INTO "project_keys" VALUES ('callback','k1',1795038088262);
INSERT INTO "run_files" VALUES (3,'src/a.rs',X'0061',0,1,NULL,1795038088261);
INSERT INTO "runs" VALUES (1,'plan','p.json','d1','running',5735,1795038086374,1795038086374);
INSERT INTO "runs" VALUES (2,'build','0000000070007','','running',5735,1795038086388,1795038086388);
INSERT INTO "runs" VALUES (3,'plan','f.json','d1','running',5735,1795038088260,1795038088260);
INSERT INTO "schedules" VALUES ('night','nightly','0 3 * * *','Asia/Tokyo','{"depth":3}',1,10,NULL,NULL,NULL,1795038086504,'{"overlap":"allow"}');
INSERT INTO "search_documents" VALUES (1,'reply','r4/A#4','r4','r4/A','A','Said it.','drawloomkindreply a said it',1795038087230);
INSERT INTO "search_documents" VALUES (10,'run','r7','r7',NULL,'r7','r7  {"find":"lantern"}','drawloomkindrun r7 r7 find lantern',1795038088109);
INSERT INTO "search_documents" VALUES (2,'workflow','review',NULL,NULL,'review','graph TD
 A(Review)
','drawloomkindworkflow review graph td a review',1795038087910);
INSERT INTO "search_documents" VALUES (3,'task','r9/A','r9','r9/A','Look at it','

soon','drawloomkindtask look at it soon',1795038087919);
INSERT INTO "search_documents" VALUES (4,'comment','1','r9','r9/A','Comment by own','Fine.','drawloomkindcomment comment by own fine',1795038087925);
INSERT INTO "search_documents" VALUES (5,'run','r1','r1',NULL,'r1','r1  {"depth":3}','drawloomkindrun r1 r1 depth 3',1795038086465);
INSERT INTO "search_documents" VALUES (6,'run','r3','r3',NULL,'looking','r3 seen {}','drawloomkindrun looking r3 seen',1795038086888);
INSERT INTO "search_documents" VALUES (7,'run','r4','r4',NULL,'r4','r4  {}','drawloomkindrun r4 r4',1795038087074);
INSERT INTO "search_documents" VALUES (8,'run','r5','r5',NULL,'r5','r5  {}','drawloomkindrun r5 r5',1795038087468);
INSERT INTO "search_documents" VALUES (9,'run','r6','r6',NULL,'r6','r6  {}','drawloomkindrun r6 r6',1795038087615);
INSERT INTO "server_claims" VALUES (1,'own',1795038087810);
INSERT INTO "sessions" VALUES (1,'own',X'9F4FB68F3E1DAC82202F9AA581CE0BBF1F765DF0E9AC3C8C57E20F685ABAB8ED',1795038087886,1795038087886,9000000000000,9000000000000,'Mozilla/5.0','127.0.0.1');
INSERT INTO "stream_readers" VALUES ('webhooks',1,65);
INSERT INTO "task_comments" VALUES (1,'r9/A','r9','own','Fine.',1795038087925,NULL);
INSERT INTO "task_details" VALUES ('r9/A','r9','Look at it','','','null','normal','["soon"]',NULL,NULL,'',1,1795038087919,1795038087919);
INSERT INTO "task_tags" VALUES ('soon','r9/A');
INSERT INTO "tokens" VALUES (1,'ada','ci','viewer',X'4BB06F8E4E3A7715D201D573D0AA423762E55DABD61A2C02278FA56CC6D294E0',1795038086505,NULL,NULL,NULL,'');
INSERT INTO "turns" VALUES (1,1,'{"reply":{"turn":1,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 1"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 1"},{"tool_call":{"id":"call-1","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-1","name":"write_file","content":"{\"written\":1,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000001,"duration_ms":12}',1700000000001);
INSERT INTO "turns" VALUES (1,2,'{"reply":{"turn":2,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 2"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 2"},{"tool_call":{"id":"call-2","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-2","name":"write_file","content":"{\"written\":2,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000002,"duration_ms":12}',1700000000002);
INSERT INTO "turns" VALUES (1,3,'{"reply":{"turn":3,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 3"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 3"},{"tool_call":{"id":"call-3","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-3","name":"write_file","content":"{\"written\":3,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000003,"duration_ms":12}',1700000000003);
INSERT INTO "users" VALUES ('ada','Ada '' Lovelace','reviewer',1,0,'ada@example.org','ada@example.org',NULL,1,1795038086495,1795038086495);
INSERT INTO "users" VALUES ('own','Ada '' Lovelace','admin',1,0,'own@example.org','own@example.org',NULL,1,1795038087810,1795038087810);
INSERT INTO "users" VALUES ('reviewer','Ada '' Lovelace','reviewer',1,1,NULL,NULL,'You review.
Be kind.',1,1795038086503,1795038086503);
INSERT INTO "views" VALUES (1,'ada','Mine','tasks','{"status":"on_hold"}',1,1,1795038086505,1795038086505);
INSERT INTO "webhook_deliveries" VALUES (1,1,'msg_1','run.completed','{}','waiting',0,1795038087902,1795038087902,NULL,NULL,NULL);
INSERT INTO "webhooks" VALUES (1,'https://example.org/hook','','["run.completed"]','["whsec_aGVsbG8="]',1,1,1795038087895,1795038087895);
INSERT INTO "workflow_calls" VALUES ('r4',4,'r4/A','{"task":"r4/A","seq":4,"attempt":1,"call":{"by":"ann","layers":[],"replies":[],"summary":"Said it.","confidence":null,"suggested_tags":[],"suggested_next_stage":null,"usage":{"input_tokens":0,"output_tokens":0},"begun_ms":1795038087230,"ended_ms":1795038087230}}');
INSERT INTO "workflow_events" VALUES ('r1',13,'[41795038086470A51795038086470E","kind":"foreach","begin":"waiting","from":"A61795038086470group_opened","group":"E","total":371795038086470NA81795038086470E091795038086470E1101795038086470E2111795038086470E[0]/EA121795038086470E[1]/EA131795038086470E[2]/EA"}}]');
INSERT INTO "workflow_events" VALUES ('r1',14,'141795038086475E[0]/Ew"}}');
INSERT INTO "workflow_events" VALUES ('r1',16,'[151795038086477E[0]/E161795038086477E0]');
INSERT INTO "workflow_events" VALUES ('r1',17,'171795038086487E[1]/Ew"}}');
INSERT INTO "workflow_events" VALUES ('r1',2,'[11795038086465639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724","parent":null21795038086465A}}]');
INSERT INTO "workflow_events" VALUES ('r1',3,'31795038086468Aw"}}');
INSERT INTO "workflow_events" VALUES ('r3',2,'[11795038086888254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166","parent":null21795038086888A}}]');
INSERT INTO "workflow_events" VALUES ('r4',2,'[1179503808707414f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c","parent":null21795038087074A}}]');
INSERT INTO "workflow_events" VALUES ('r4',5,'[31795038087230Aann41795038087230A51795038087230]');
INSERT INTO "workflow_events" VALUES ('r5',2,'[11795038087468b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","parent":null21795038087468A}}]');
INSERT INTO "workflow_events" VALUES ('r6',2,'[11795038087615b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","parent":null21795038087615run_queued","key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d"}}]');
INSERT INTO "workflow_events" VALUES ('r7',2,'[117950380881093cf87262985b8d33c45baf46497a88ad032d447a05f7d17b437fe0335763bbde","parent":null21795038088109A}}]');
INSERT INTO "workflow_events" VALUES ('r7',3,'31795038088135Aw"}}');
INSERT INTO "workflow_events" VALUES ('r7',5,'[41795038088143A,"spent":{"tokens":5,"micros":70}51795038088143]');
INSERT INTO "workflow_groups" VALUES ('r1/E','{"id":"r1/E","total":3,"next":3,"running":2,"succeeded":1,"failed":0,"closed":false,"pristine":true}');
INSERT INTO "workflow_items" VALUES ('r1/E',0,'{"group":"r1/E","index":0,"value":"a","status":"succeeded","active":0,"result":"r1/E[0]/E","failure":null}');
INSERT INTO "workflow_items" VALUES ('r1/E',1,'{"group":"r1/E","index":1,"value":"b''\"\\ä","status":"running","active":1,"result":null,"failure":null}');
INSERT INTO "workflow_items" VALUES ('r1/E',2,'{"group":"r1/E","index":2,"value":null,"status":"running","active":1,"result":null,"failure":null}');
INSERT INTO "workflow_logs" VALUES ('r5','r5/A',1,1,7,'stderr','a word');
INSERT INTO "workflow_names" VALUES ('254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166','looking');
INSERT INTO "workflow_names" VALUES ('eeeb91e3426e8b3da1310be824f71ce7a53de5cd986f684109b4e718797cbab4','review');
INSERT INTO "workflow_notices" VALUES (1,'{"run":"r1","task":"r1/N","kind":"task_for_you","message":"`Note` is for you to do.","assignee":"ada"}','r1',0,0);
INSERT INTO "workflow_notices" VALUES (2,'{"run":"r3","task":"r3/A","kind":"task_for_you","message":"`Look` is for you to do.","assignee":null}','r3',0,0);
INSERT INTO "workflow_notices" VALUES (3,'{"run":"r4","task":"r4/A","kind":"task_for_you","message":"`Say` is for you to do.","assignee":null}','r4',0,0);
INSERT INTO "workflow_notices" VALUES (4,'{"run":"r4","task":null,"kind":"run_completed","message":"The run is completed.","assignee":null}','r4',0,0);
INSERT INTO "workflow_notices" VALUES (5,'{"run":"r5","task":"r5/A","kind":"task_for_you","message":"`Say` is for you to do.","assignee":null}','r5',0,0);
INSERT INTO "workflow_notices" VALUES (6,'{"run":"r7","task":null,"kind":"run_completed","message":"The run is completed.","assignee":null}','r7',0,0);
INSERT INTO "workflow_runs" VALUES ('r1','639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724','running',1795038086465,'{"depth":3}','{"id":"r1","workflow":"639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":4,"seq":17,"quiet_since":2,"spent":{"tokens":0,"micros":0},"created_ms":1795038086465,"ended_ms":null}',1);
INSERT INTO "workflow_runs" VALUES ('r3','254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166','running',1795038086888,'{}','{"id":"r3","workflow":"254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166","name":"looking","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":["seen"],"active":1,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1795038086888,"ended_ms":null}',1);
INSERT INTO "workflow_runs" VALUES ('r4','14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c','completed',1795038087074,'{}','{"id":"r4","workflow":"14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c","status":"completed","reason":null,"pause":null,"result":"r4/A","parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":5,"spent":{"tokens":0,"micros":0},"created_ms":1795038087074,"ended_ms":1795038087230}',1);
INSERT INTO "workflow_runs" VALUES ('r5','b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d','running',1795038087468,'{}','{"id":"r5","workflow":"b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":1,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1795038087468,"ended_ms":null,"slot":{"key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","max":1,"on_limit":"queue"}}',1);
INSERT INTO "workflow_runs" VALUES ('r6','b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d','running',1795038087615,'{}','{"id":"r6","workflow":"b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","status":"running","reason":null,"pause":null,"result":null,"parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":2,"spent":{"tokens":0,"micros":0},"created_ms":1795038087615,"ended_ms":null,"slot":{"key":"run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d","max":1,"on_limit":"queue"},"is_queued":true}',1);
INSERT INTO "workflow_runs" VALUES ('r7','3cf87262985b8d33c45baf46497a88ad032d447a05f7d17b437fe0335763bbde','completed',1795038088109,'{"find":"lantern"}','{"id":"r7","workflow":"3cf87262985b8d33c45baf46497a88ad032d447a05f7d17b437fe0335763bbde","status":"completed","reason":null,"pause":null,"result":"r7/A","parent":null,"depth":0,"assignee":null,"tags":[],"active":0,"seq":5,"quiet_since":2,"spent":{"tokens":5,"micros":70},"created_ms":1795038088109,"ended_ms":1795038088143}',1);
INSERT INTO "workflow_slots" VALUES ('run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d','r5',1,1795038087468,1);
INSERT INTO "workflow_slots" VALUES ('run:b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d','r6',1,1795038087615,0);
INSERT INTO "workflow_tags" VALUES ('seen',1795038086888,'r3');
INSERT INTO "workflow_tasks" VALUES (1,'r1','','r1/A',1,'completed',NULL,NULL,NULL,1,0,'r1A1795038086465{"items":["a","b''\"\\ä",]}17950380864651795038086470,"lane":"lane:ai_interaction"}',NULL,0);
INSERT INTO "workflow_tasks" VALUES (10,'r7','','r7/A',1,'completed',NULL,NULL,NULL,1,0,'r7A179503808810915,"micros":70}17950380881091795038088143,"lane":"lane:ai_interaction"}',NULL,0);
INSERT INTO "workflow_tasks" VALUES (2,'r1','','r1/E',1,'waiting',NULL,NULL,NULL,0,1,'r1E","kind":"foreach","execution":"automated","status":"waiting","from":"A"17950380864701795038086470,"lane":"lane:ai_interaction"}',NULL,0);
INSERT INTO "workflow_tasks" VALUES (3,'r1','','r1/N',1,'pending','ada',NULL,NULL,0,1,'r1Npending","from":"A"1795038086470,"assignee":"ada"1795038086470}',NULL,0);
INSERT INTO "workflow_tasks" VALUES (4,'r1','E[0]/','r1/E[0]/E',1,'completed',NULL,NULL,NULL,1,0,'r1E[0]/E"A"1795038086470{"ok":true}17950380864701795038086477,"lane":"lane:ai_interaction"}',NULL,0);
INSERT INTO "workflow_tasks" VALUES (5,'r1','E[1]/','r1/E[1]/E',1,'in_progress',NULL,NULL,1795038086488,1,1,'r1E[1]/Ein_progress","from":"A"1795038086470,"attempt":1,"fence":1w1795038086488}1795038086470,"lane":"lane:ai_interaction"}',NULL,0);
INSERT INTO "workflow_tasks" VALUES (6,'r1','E[2]/','r1/E[2]/E',1,'pending',NULL,1795038086470,NULL,0,1,'r1E[2]/Epending","from":"A"17950380864701795038086470,"lane":"lane:ai_interaction"}','lane:ai_interaction',0);
INSERT INTO "workflow_tasks" VALUES (7,'r3','','r3/A',1,'pending',NULL,NULL,NULL,0,1,'r3Apending","from":17950380868881795038086888}',NULL,0);
INSERT INTO "workflow_tasks" VALUES (8,'r4','','r4/A',1,'completed',NULL,NULL,NULL,1,0,'r4Acompleted","from":1795038087074117950380870741795038087230}',NULL,0);
INSERT INTO "workflow_tasks" VALUES (9,'r5','','r5/A',1,'pending',NULL,NULL,NULL,0,1,'r5Apending","from":17950380874681795038087468}',NULL,0);
INSERT INTO "workflow_texts" VALUES ('14f5edc70204dea0b8975cbd4b1e0c42d6f882c680976d32a1220cc95996744c','graph TD
 A(Say)
',1795038086974);
INSERT INTO "workflow_texts" VALUES ('254f0c410ac1707b093a868ebf196653515f5565b79e6d20586461b381b95166','graph TD
 A(Look)
',1795038086686);
INSERT INTO "workflow_texts" VALUES ('3cf87262985b8d33c45baf46497a88ad032d447a05f7d17b437fe0335763bbde','graph TD
 A[Pay]
',1795038088050);
INSERT INTO "workflow_texts" VALUES ('639c149a522f247a97409216d45b29e9764dbf4eda03c3b27962392f3c728724','graph TD
 A[List] --> E[[Each: Do]]
 E --> J[Join all] --> M(Look)
 A --> N(Note)
%% === WORKFLOW_CONFIG ===
%% @E: { "stepType": "foreach", "itemsPath": "output.items", "itemVariable": "item", "prompt": "Do {{item}}.", "retry": { "attempts": 9, "delay": 0.01, "maxDelay": 0.01 } }
%% @J: { "stepType": "join", "timeout": "9d" }
%% @M: { "timeout": "9d" }
%% @N: { "defaultAssigneeId": "ada" }
%% === END_CONFIG ===
',1795038086452);
INSERT INTO "workflow_texts" VALUES ('b4f8fc1b4c00c2731a78ecebaa3a698e86f597491081e0659bd140838ab56a9d','graph TD
 A(Say)
%% === WORKFLOW_CONFIG ===
%% @concurrency: { "max": 1 }
%% === END_CONFIG ===
',1795038087362);
INSERT INTO "workflow_texts" VALUES ('eeeb91e3426e8b3da1310be824f71ce7a53de5cd986f684109b4e718797cbab4','graph TD
 A(Review)
',1795038087910);
INSERT INTO "workflow_timers" VALUES ('r1','timeout:r1/E',1795815686470,'{"run":"r1","key":"timeout:r1/E","at_ms":1795815686470,"due":{"due":"timeout","task":"r1/E"}}');
INSERT INTO "workflow_triggers" VALUES ('files','one');
INSERT INTO "workflow_versions" VALUES ('review',1,'eeeb91e3426e8b3da1310be824f71ce7a53de5cd986f684109b4e718797cbab4','own',1795038087910,'first','file:.drawloom/workflows/review.mmd');
INSERT INTO search_words (search_words) VALUES ('rebuild');
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
CREATE TRIGGER search_documents_added AFTER INSERT ON search_documents BEGIN
    INSERT INTO search_words (rowid, words) VALUES (NEW.number, NEW.words);
END;
CREATE TRIGGER search_documents_removed AFTER DELETE ON search_documents BEGIN
    INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', OLD.number, OLD.words);
END;
CREATE TRIGGER search_documents_edited AFTER UPDATE ON search_documents BEGIN
    INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', OLD.number, OLD.words);
    INSERT INTO search_words (rowid, words) VALUES (NEW.number, NEW.words);
END;
PRAGMA application_id = 1146246988;
PRAGMA user_version = 11;
