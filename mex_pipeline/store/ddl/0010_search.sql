-- mex.db version 10: any part of a word is found by an index, stems are, and so are quotes and kept turns.
-- `folded`, `sought` and `segmented` are functions of meX (store/functions.py): words are written by meX alone.

DROP TRIGGER memories_ai;
DROP TRIGGER memories_ad;
DROP TRIGGER memories_au;
DROP TABLE memories_fts;

ALTER TABLE memories ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1));  -- a person wants it first
ALTER TABLE memories ADD COLUMN sought TEXT NOT NULL DEFAULT '';   -- the content as its parts are compared with words
UPDATE memories SET sought = sought(content);

CREATE VIRTUAL TABLE memories_fts USING fts5 (       -- words: ranked, stemmed
  tokens, content = 'memories', content_rowid = 'seq', tokenize = 'porter unicode61 remove_diacritics 2', prefix = '1'
);
CREATE VIRTUAL TABLE memories_grams USING fts5 (     -- any three characters: where they stand is looked up in the row
  sought, content = 'memories', content_rowid = 'seq', tokenize = 'trigram case_sensitive 1', detail = none
);
INSERT INTO memories_fts (memories_fts) VALUES ('rebuild');
INSERT INTO memories_grams (memories_grams) VALUES ('rebuild');

CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts (rowid, tokens) VALUES (new.seq, new.tokens);
  INSERT INTO memories_grams (rowid, sought) VALUES (new.seq, new.sought);
END;
CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, tokens) VALUES ('delete', old.seq, old.tokens);
  INSERT INTO memories_grams (memories_grams, rowid, sought) VALUES ('delete', old.seq, old.sought);
  DELETE FROM embeddings WHERE seq = old.seq;
END;
CREATE TRIGGER memories_au AFTER UPDATE OF tokens, sought ON memories
WHEN old.tokens <> new.tokens OR old.sought <> new.sought BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, tokens) VALUES ('delete', old.seq, old.tokens);
  INSERT INTO memories_fts (rowid, tokens) VALUES (new.seq, new.tokens);
  INSERT INTO memories_grams (memories_grams, rowid, sought) VALUES ('delete', old.seq, old.sought);
  INSERT INTO memories_grams (rowid, sought) VALUES (new.seq, new.sought);
END;
CREATE TRIGGER memories_reworded AFTER UPDATE OF content ON memories WHEN old.content <> new.content BEGIN
  DELETE FROM embeddings WHERE seq = new.seq;
END;

CREATE VIRTUAL TABLE quotes_fts USING fts5 (tokens, tokenize = 'porter unicode61 remove_diacritics 2', prefix = '1');
INSERT INTO quotes_fts (rowid, tokens) SELECT seq, segmented(quote) FROM memory_sources WHERE quote IS NOT NULL;
CREATE TRIGGER sources_ai AFTER INSERT ON memory_sources WHEN new.quote IS NOT NULL BEGIN
  INSERT INTO quotes_fts (rowid, tokens) VALUES (new.seq, segmented(new.quote));
END;
CREATE TRIGGER sources_ad AFTER DELETE ON memory_sources BEGIN
  DELETE FROM quotes_fts WHERE rowid = old.seq;
END;
CREATE TRIGGER sources_au AFTER UPDATE OF quote ON memory_sources BEGIN
  DELETE FROM quotes_fts WHERE rowid = old.seq;
  INSERT INTO quotes_fts (rowid, tokens) SELECT new.seq, segmented(new.quote) WHERE new.quote IS NOT NULL;
END;

CREATE VIRTUAL TABLE turns_fts USING fts5 (tokens, tokenize = 'porter unicode61 remove_diacritics 2', prefix = '1');
INSERT INTO turns_fts (rowid, tokens) SELECT seq, segmented(text) FROM turns;
CREATE TRIGGER turns_ai AFTER INSERT ON turns BEGIN
  INSERT INTO turns_fts (rowid, tokens) VALUES (new.seq, segmented(new.text));
END;
CREATE TRIGGER turns_ad AFTER DELETE ON turns BEGIN
  DELETE FROM turns_fts WHERE rowid = old.seq;
END;
CREATE TRIGGER turns_au AFTER UPDATE OF text ON turns BEGIN
  DELETE FROM turns_fts WHERE rowid = old.seq;
  INSERT INTO turns_fts (rowid, tokens) VALUES (new.seq, segmented(new.text));
END;

CREATE TABLE embeddings (                            -- filled by a job, dropped with the words they stand for
  seq    INTEGER PRIMARY KEY,                        -- of the memory
  model  TEXT NOT NULL,
  scale  REAL NOT NULL,                              -- a component is its int8 value times this
  vector BLOB NOT NULL
);
CREATE INDEX embeddings_model ON embeddings (model, seq);
CREATE INDEX memories_pinned ON memories (seq) WHERE is_pinned = 1;
CREATE INDEX history_purges ON history (seq) WHERE event = 'delete';  -- asked whenever a reply is kept

DROP INDEX memories_slot;
CREATE INDEX memories_slot ON memories (             -- the best of a slot first: the tiers sort as their names do
  topic, sub_topic, is_pinned DESC, confidence, updated_at DESC, seq DESC, expires_at
) WHERE forgotten_at IS NULL AND sub_topic IS NOT NULL;  -- records, of which there is no end, are none of its business
