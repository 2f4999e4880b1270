-- mex.db version 9: what waits for a person, what must not be learned again, and which agent's sessions cost what.

CREATE TABLE proposals (                             -- no memories yet: a person decides (product C6, F5)
  seq        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,                   -- UUID version 4
  kind       TEXT NOT NULL CHECK (kind IN ('merge', 'hold')),
  reason     TEXT NOT NULL,
  memory_id  TEXT,                                   -- of a merge: the memory that stays
  other_id   TEXT,                                   -- of a merge: the one that would go into it
  candidate  TEXT,                                   -- of a hold: the candidate as JSON, its source included
  job_id     TEXT,
  created_at TEXT NOT NULL,
  CHECK ((kind = 'merge') = (memory_id IS NOT NULL AND other_id IS NOT NULL)),
  CHECK ((kind = 'hold') = (candidate IS NOT NULL))
);
CREATE UNIQUE INDEX proposals_pair ON proposals (memory_id, other_id) WHERE kind = 'merge';

CREATE TABLE refusals (                              -- salted hashes: what was refused cannot be read here
  seq        INTEGER PRIMARY KEY,
  kind       TEXT NOT NULL CHECK (kind IN ('never_again', 'declined', 'merge')),
  slot       TEXT NOT NULL,                          -- topic.sub_topic, a topic alone, or '' outside the schema
  length     INTEGER NOT NULL,                       -- of the folded value, in characters
  checksum   INTEGER NOT NULL,                       -- 16 bits of it, by which a long text is looked through quickly
  salt       TEXT NOT NULL,
  hash       TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (kind, slot, salt, hash)
);
CREATE INDEX refusals_slot ON refusals (kind, slot);

ALTER TABLE llm_usage ADD COLUMN agent TEXT;         -- whose sessions a call was for; jobs are pruned, costs stay
UPDATE llm_usage SET agent = (SELECT json_extract(j.payload, '$.adapter') FROM jobs j WHERE j.id = llm_usage.job_id);

CREATE INDEX llm_usage_time ON llm_usage (created_at);         -- what was spent today is asked before every call
ALTER TABLE jobs ADD COLUMN over_budget INTEGER NOT NULL DEFAULT 0 CHECK (over_budget IN (0, 1));  -- a person said so

CREATE INDEX history_time ON history (created_at, memory_id);  -- the journal, newest first
CREATE INDEX history_actor ON history (actor, created_at, memory_id);
