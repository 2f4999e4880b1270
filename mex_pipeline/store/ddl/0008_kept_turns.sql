-- mex.db version 8: kept turns have an order within their session; what was forgotten for good is not read again.

ALTER TABLE turns ADD COLUMN position INTEGER NOT NULL DEFAULT 0;  -- the order within the session, whatever is kept later
ALTER TABLE turns ADD COLUMN previous_key TEXT;                    -- the turn right before it in the source, kept or not
UPDATE turns SET position = seq;
CREATE INDEX turns_session ON turns (agent, coalesce(session_id, source_file, job_id, ''), position);

-- 1: something that this message said was forgotten for good, and reading it anew passes it over (product B6)
ALTER TABLE seen_messages ADD COLUMN purged INTEGER NOT NULL DEFAULT 0 CHECK (purged IN (0, 1));
