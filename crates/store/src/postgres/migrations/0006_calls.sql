-- What was said to whoever did an attempt, and what they said. Kept apart from the tasks, because few
-- look for it and it is long.
CREATE TABLE workflow_calls (
    run TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    task TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
);
