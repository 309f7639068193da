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
PRAGMA foreign_keys = OFF;
INSERT INTO "_sqlx_migrations" VALUES (1,'agent','2026-11-16 10:11:08',1,X'0B40653FF9B6A8CB0FEA1C52C0B50E380C6D4033BB3CBDE5249834D9D27DBB3FD3B0370F9F6C72FC353789185F849E8A',475486);
INSERT INTO "_sqlx_migrations" VALUES (2,'builds','2026-11-16 10:11:08',1,X'1A0DA3BB4C678D5BDEB6F4964DA43B562F493EFCC1E261C89402C98E2C26D91E1FDE0767462F44A43E66CCAEA9689A85',386483);
INSERT INTO "builds" VALUES ('0000000070007',2,'queued',0,'{"id":"0000000070007","prompt":"say something better","options":{"dryRun":false,"publish":"pull-request"},"status":"queued","revision":0,"checks":[],"result":{"files":[],"diffs":[],"impactedFiles":[],"impactedTests":[],"validation":[],"validationErrors":[],"repairAttempts":0,"tokenUsage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"cost":{"microUsd":0,"calls":0,"unpricedCalls":0,"phases":{}},"pushed":false,"notes":[]},"work":{"errorsByRound":[]},"createdMs":7,"updatedMs":7}');
INSERT INTO "calls" VALUES (1,1,1,'generate','anthropic','claude-sonnet-4-5',10,5,3,2,1,25,1700000000001);
INSERT INTO "calls" VALUES (2,1,2,'generate','anthropic','claude-sonnet-4-5',10,5,3,2,1,25,1700000000002);
INSERT INTO "calls" VALUES (3,1,3,'generate','anthropic','claude-sonnet-4-5',10,5,3,2,1,25,1700000000003);
INSERT INTO "conversations" VALUES (1,1,'generate',1794823868198);
INSERT INTO "facts" VALUES (1,'task/a','{"state":"done"}',1794823868224);
INSERT INTO "runs" VALUES (1,'plan','p.json','d1','running',25400,1794823868180,1794823868180);
INSERT INTO "runs" VALUES (2,'build','0000000070007','','running',25400,1794823868237,1794823868237);
INSERT INTO "turns" VALUES (1,1,'{"reply":{"turn":1,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 1"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 1"},{"tool_call":{"id":"call-1","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-1","name":"write_file","content":"{\"written\":1,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000001,"duration_ms":12}',1700000000001);
INSERT INTO "turns" VALUES (1,2,'{"reply":{"turn":2,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 2"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 2"},{"tool_call":{"id":"call-2","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-2","name":"write_file","content":"{\"written\":2,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000002,"duration_ms":12}',1700000000002);
INSERT INTO "turns" VALUES (1,3,'{"reply":{"turn":3,"phase":"generate","asked":[{"role":"user","parts":[{"text":"question 3"}],"cache":"off"}],"answer":{"role":"assistant","parts":[{"text":"answer 3"},{"tool_call":{"id":"call-3","name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"half a","signature":null}}],"cache":"off"},"stop":"tool_use","calls":[{"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cache_read":3,"cache_write":2,"reasoning":1},"cost":{"known":25},"counted":"by_provider"}],"answered_in_ms":10},"results":[{"id":"call-3","name":"write_file","content":"{\"written\":3,\"text\":\"ä ␀ \\u0000 ''\\\"\"}","outcome":"done"}],"deeds":[{"did":"wrote","path":"src/a.rs","change":"created","lines_added":3,"lines_removed":0,"bytes":42}],"at_ms":1700000000003,"duration_ms":12}',1700000000003);
PRAGMA application_id = 1146246988;
PRAGMA user_version = 2;
