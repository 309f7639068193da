-- Every step writes its task twice and several events: what is kept for that is kept small.

-- Events of a run share rows from now on. Rows that are there stay as they are.

-- Place and visit name a task; its name need not be looked for, and a run's tasks stand together by
-- their places. Whoever writes a task has its run, so that nobody else need look for that.
ALTER TABLE workflow_tasks DROP CONSTRAINT workflow_tasks_run_fkey;
ALTER TABLE workflow_tasks DROP CONSTRAINT workflow_tasks_pkey;
ALTER TABLE workflow_tasks ADD CONSTRAINT workflow_tasks_pkey PRIMARY KEY USING INDEX workflow_tasks_visits;
DROP INDEX workflow_tasks_numbers;

-- An item waits, is under way and has ended: a page has room for all three of each.
ALTER TABLE workflow_items SET (fillfactor = 33);
