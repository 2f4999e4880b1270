-- mex.db version 7: the queue knows more about endpoints, batches and sources, and keeps no clock of its own.

ALTER TABLE jobs DROP COLUMN lease_until;            -- liveness is the lock file and the beat, never a wall clock
ALTER TABLE jobs DROP COLUMN max_run_ms;             -- the deadline follows from the settings of the run
CREATE INDEX jobs_batch ON jobs (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX jobs_source ON jobs (lock_key);

ALTER TABLE queue_control ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;  -- of one endpoint, in a row, without a success

ALTER TABLE extraction_state ADD COLUMN looked_size INTEGER;               -- how long the source was when it was last read
