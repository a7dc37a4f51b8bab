-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- New ones are made before old ones go, so that nobody who only reads waits for it.

-- A page of a type that is rare at an issuer or a client stands in one place, as that of each alone does.
CREATE INDEX events_by_issuer_type ON events (account_id, issuer_id, type, id) WHERE issuer_id IS NOT NULL;
CREATE INDEX events_by_client_type ON events (account_id, client_id, type, id) WHERE client_id IS NOT NULL;

-- What else may be asked of one user's events is read here, without the rows.
CREATE INDEX events_of_user ON events (account_id, user_id, id) INCLUDE (created_at, type, issuer_id, client_id)
  WHERE user_id IS NOT NULL;

-- Counts of an account are read from here too: their rows lie among those of all others.
CREATE UNIQUE INDEX event_counts_with_count
  ON event_counts (account_id, unit, starts_at, type, auth_type, issuer_id) INCLUDE (count);

DROP INDEX events_by_user;
ALTER INDEX events_of_user RENAME TO events_by_user;
ALTER TABLE event_counts DROP CONSTRAINT event_counts_pkey;
ALTER TABLE event_counts ADD CONSTRAINT event_counts_pkey PRIMARY KEY USING INDEX event_counts_with_count;
