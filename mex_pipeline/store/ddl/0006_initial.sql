-- mex.db version 6 (seed 004 §3.1 is version 5; product B1, H1, H11).
-- Times are UTC ISO strings, inside jobs, workers, events and seen messages integer milliseconds (product H10).

CREATE TABLE memories (
  seq              INTEGER PRIMARY KEY,              -- the order of equal times; keeps the full-text index through VACUUM
  id               TEXT NOT NULL UNIQUE,             -- UUID version 4
  topic            TEXT,
  sub_topic        TEXT,
  content          TEXT NOT NULL,
  is_ai_inferred   INTEGER NOT NULL CHECK (is_ai_inferred IN (0, 1)),
  confidence       TEXT NOT NULL CHECK (confidence IN ('confirmed', 'explicit', 'inferred', 'speculated', 'uncertain')),
  evidence         TEXT,
  embedding        BLOB,
  created_at       TEXT NOT NULL,
  updated_at       TEXT NOT NULL,
  forgotten_at     TEXT,
  forgotten_reason TEXT,
  expires_at       TEXT,
  occurred_at      TEXT,                             -- when it happened (product B4)
  valid_from       TEXT NOT NULL,                    -- when it was said (product B11)
  valid_to         TEXT,
  times_seen       INTEGER NOT NULL DEFAULT 1,       -- reinforcement (product B5)
  last_seen_at     TEXT,
  tokens           TEXT NOT NULL                     -- content cut into search tokens by store/tokens.py
);
CREATE INDEX memories_slot ON memories (topic, sub_topic) WHERE forgotten_at IS NULL;
CREATE INDEX memories_created ON memories (created_at, seq);

CREATE VIRTUAL TABLE memories_fts USING fts5 (
  tokens, content = 'memories', content_rowid = 'seq', tokenize = 'unicode61 remove_diacritics 2', prefix = '1'
);
CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts (rowid, tokens) VALUES (new.seq, new.tokens);
END;
CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, tokens) VALUES ('delete', old.seq, old.tokens);
END;
CREATE TRIGGER memories_au AFTER UPDATE OF tokens ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, tokens) VALUES ('delete', old.seq, old.tokens);
  INSERT INTO memories_fts (rowid, tokens) VALUES (new.seq, new.tokens);
END;

CREATE TABLE memory_sources (                        -- provenance (product B3)
  seq          INTEGER PRIMARY KEY,
  memory_id    TEXT NOT NULL,
  agent        TEXT NOT NULL,
  session_id   TEXT,
  message_id   TEXT,
  message_key  TEXT,
  role         TEXT,
  said_at      TEXT,
  quote        TEXT,
  quote_start  INTEGER,                              -- character offsets into the turn's text
  quote_end    INTEGER,
  verified     INTEGER NOT NULL CHECK (verified IN (0, 1)),
  project      TEXT,
  source_file  TEXT,
  job_id       TEXT,
  created_at   TEXT NOT NULL
);
CREATE INDEX memory_sources_memory ON memory_sources (memory_id);
CREATE INDEX memory_sources_message ON memory_sources (agent, message_key);

CREATE TABLE history (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  memory_id   TEXT NOT NULL,
  event       TEXT NOT NULL CHECK (event IN ('add', 'update', 'forget', 'restore', 'approve', 'delete',
                                             'reinforce', 'expire', 'move', 'undo', 'import', 'purge')),
  old_content TEXT,
  new_content TEXT,
  actor       TEXT NOT NULL CHECK (actor IN ('user', 'ai')),
  evidence    TEXT,
  created_at  TEXT NOT NULL,
  job_id      TEXT,
  before      TEXT,                                  -- the row's whole states as JSON (product B8)
  after       TEXT
);
CREATE INDEX history_memory ON history (memory_id);
CREATE INDEX history_job ON history (job_id) WHERE job_id IS NOT NULL;

CREATE TABLE llm_usage (
  id                TEXT PRIMARY KEY,
  purpose           TEXT NOT NULL,
  model             TEXT NOT NULL,
  prompt_tokens     INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  created_at        TEXT NOT NULL,
  job_id            TEXT
);
CREATE INDEX llm_usage_job ON llm_usage (job_id);

CREATE TABLE extraction_state (
  source_file       TEXT NOT NULL,                   -- the state key: real path, or path#session
  extractor         TEXT NOT NULL CHECK (extractor IN ('model', 'rules')),
  last_position     INTEGER NOT NULL,                -- byte offset; 0 for sources that are rewritten
  last_extracted_at TEXT NOT NULL,
  agent             TEXT NOT NULL,
  session_id        TEXT,
  project           TEXT,
  cursor            TEXT NOT NULL,                   -- JSON: offsets and fingerprints
  PRIMARY KEY (source_file, extractor)
) WITHOUT ROWID;

CREATE TABLE seen_messages (                         -- never purged: keys hold no content (product B6)
  agent     TEXT NOT NULL,
  key       TEXT NOT NULL,
  extractor TEXT NOT NULL CHECK (extractor IN ('model', 'rules')),
  job_id    TEXT NOT NULL,
  seen_at   INTEGER NOT NULL,
  PRIMARY KEY (agent, key, extractor)
) WITHOUT ROWID;

CREATE TABLE turns (                                 -- kept turns (product B10)
  seq         INTEGER PRIMARY KEY,
  agent       TEXT NOT NULL,
  key         TEXT NOT NULL,
  session_id  TEXT,
  message_id  TEXT,
  source_file TEXT,
  project     TEXT,
  role        TEXT NOT NULL,
  kind        TEXT NOT NULL,
  said_at     TEXT,
  text        TEXT NOT NULL,
  job_id      TEXT,
  kept_at     TEXT NOT NULL,
  UNIQUE (agent, key)
);

CREATE TABLE kept_replies (                          -- replies that were paid for, until their job ends (product P4, H5)
  key         TEXT PRIMARY KEY,
  job_id      TEXT NOT NULL,
  source_file TEXT NOT NULL,
  reply       TEXT NOT NULL,
  kept_at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX kept_replies_job ON kept_replies (job_id);

CREATE TABLE endpoints (                             -- how structured output is asked for where (product C12)
  base_url        TEXT NOT NULL,
  model           TEXT NOT NULL,
  response_format TEXT NOT NULL CHECK (response_format IN ('json_schema', 'json_object', 'prompt')),
  learned_at      INTEGER NOT NULL,
  PRIMARY KEY (base_url, model)
) WITHOUT ROWID;

CREATE TABLE jobs (                                  -- the truth about background work (docs/jobs.md)
  seq               INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  kind              TEXT NOT NULL,
  payload           TEXT NOT NULL,                   -- JSON: adapter, path, options; never conversation text
  payload_v         INTEGER NOT NULL,
  given_text        TEXT,                            -- text handed over with the request; gone when the job ends well
  state             TEXT NOT NULL CHECK (state IN ('queued', 'running', 'retrying', 'succeeded', 'failed', 'cancelled')),
  reason            TEXT,
  outcome           TEXT CHECK (outcome IN ('committed', 'nothing_to_remember', 'all_rejected', 'skipped',
                                            'unparseable', 'source_gone', 'llm_error', 'poison')),
  priority          INTEGER NOT NULL DEFAULT 0,
  available_at      INTEGER NOT NULL,
  first_enqueued_at INTEGER NOT NULL,
  published_at      INTEGER,
  dedup_key         TEXT,
  lock_key          TEXT,
  batch_id          TEXT,
  trigger           TEXT NOT NULL,
  coalesced         INTEGER NOT NULL DEFAULT 0,
  attempt           INTEGER NOT NULL DEFAULT 0,
  max_attempts      INTEGER NOT NULL,
  crashes           INTEGER NOT NULL DEFAULT 0,
  snoozes           INTEGER NOT NULL DEFAULT 0,
  bad_outputs       INTEGER NOT NULL DEFAULT 0,
  fence             INTEGER NOT NULL DEFAULT 0,      -- +1 at every claim, never down
  lease_owner       TEXT,
  lease_until       INTEGER,
  beat              INTEGER NOT NULL DEFAULT 0,
  cancel_requested  INTEGER NOT NULL DEFAULT 0,
  max_run_ms        INTEGER NOT NULL,
  end_off           INTEGER,                         -- where the first attempt stopped reading (product H6)
  end_size          INTEGER,                         -- how long the source was then
  progress_done     INTEGER,
  progress_total    INTEGER,
  progress_note     TEXT,
  errors            TEXT NOT NULL DEFAULT '[]',      -- JSON: the last ten {at, attempt, code, params, retryable}
  result            TEXT,
  created_at        INTEGER NOT NULL,
  started_at        INTEGER,
  finished_at       INTEGER,
  worker_version    TEXT,
  CHECK ((state = 'running') = (lease_owner IS NOT NULL)),
  CHECK ((state IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL))
);
CREATE UNIQUE INDEX jobs_one_running ON jobs (lock_key) WHERE state = 'running' AND lock_key IS NOT NULL;
CREATE UNIQUE INDEX jobs_one_waiting ON jobs (dedup_key) WHERE state IN ('queued', 'retrying') AND dedup_key IS NOT NULL;
CREATE INDEX jobs_ready ON jobs (priority DESC, available_at, seq) WHERE state IN ('queued', 'retrying');
CREATE INDEX jobs_leases ON jobs (lease_owner) WHERE state = 'running';
CREATE INDEX jobs_done ON jobs (state, finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE job_events (
  seq    INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  at     INTEGER NOT NULL,
  event  TEXT NOT NULL,
  fence  INTEGER,
  note   TEXT
);
CREATE INDEX job_events_job ON job_events (job_id);

CREATE TABLE workers (                               -- for people; liveness is the kernel's file lock
  owner      TEXT PRIMARY KEY,
  host       TEXT NOT NULL,
  pid        INTEGER NOT NULL,
  version    TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  state      TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE queue_control (
  scope        TEXT PRIMARY KEY,                     -- '*', 'llm', 'worker:stop'
  paused_until INTEGER,
  reason       TEXT,
  at           INTEGER NOT NULL
) WITHOUT ROWID;
