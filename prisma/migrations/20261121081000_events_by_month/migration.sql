-- DropIndex
DROP INDEX "events_account_id_id_idx";

-- AlterTable
ALTER TABLE "events" DROP CONSTRAINT "events_pkey",
ADD CONSTRAINT "events_pkey" PRIMARY KEY ("account_id", "id", "created_at");

-- CreateTable
CREATE TABLE "event_hours" (
    "account_id" TEXT NOT NULL,
    "starts_at" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "auth_type" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "org_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "key" UUID NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "event_hours_pkey" PRIMARY KEY ("account_id","starts_at","key")
);

-- CreateTable
CREATE TABLE "event_counts" (
    "account_id" TEXT NOT NULL,
    "unit" TEXT NOT NULL,
    "starts_at" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "auth_type" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "event_counts_pkey" PRIMARY KEY ("account_id","unit","starts_at","type","auth_type","issuer_id")
);

-- CreateTable
CREATE TABLE "event_progress" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "generation" INTEGER NOT NULL DEFAULT 0,
    "counted_to" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "event_progress_pkey" PRIMARY KEY ("id")
);

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
INSERT INTO event_progress DEFAULT VALUES;

-- What is older than the retention is looked for by time alone.
CREATE INDEX event_hours_by_time ON event_hours USING brin (starts_at);
CREATE INDEX event_counts_by_time ON event_counts USING brin (starts_at);

-- Places in the order of commits (docs/decisions/0025): transaction numbers, above them the number of the database cluster
-- that gave them, so that they rise even when a dump is restored into a cluster that counts from the beginning.
CREATE FUNCTION event_place() RETURNS BIGINT LANGUAGE sql VOLATILE
  RETURN (SELECT (generation::bigint << 44) + pg_current_xact_id()::text::bigint FROM event_progress);

-- All events below this place are committed and visible; whatever commits from now on gets a place at or above it.
CREATE FUNCTION event_horizon() RETURNS BIGINT LANGUAGE sql STABLE
  RETURN (SELECT (generation::bigint << 44) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM event_progress);

-- The table, made anew by months. Ids are ordered by bytes, so that the primary key serves the list of an account.
ALTER TABLE events RENAME TO events_before;
ALTER TABLE events_before RENAME CONSTRAINT events_pkey TO events_before_pkey;
CREATE TABLE events (
  id TEXT COLLATE "C" NOT NULL,
  type TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  account_id TEXT NOT NULL,
  issuer_id TEXT,
  org_id TEXT,
  user_id TEXT,
  client_id TEXT,
  agent_id TEXT,
  session_id TEXT,
  auth_type TEXT NOT NULL,
  actor JSONB NOT NULL,
  target JSONB NOT NULL,
  context JSONB NOT NULL,
  data JSONB NOT NULL DEFAULT '{}',
  changes JSONB NOT NULL DEFAULT '{}',
  place BIGINT NOT NULL DEFAULT event_place(),
  CONSTRAINT events_pkey PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX events_by_type ON events (account_id, type, id);
CREATE INDEX events_by_issuer ON events (account_id, issuer_id, id) WHERE issuer_id IS NOT NULL;
CREATE INDEX events_by_client ON events (account_id, client_id, id) WHERE client_id IS NOT NULL;
CREATE INDEX events_by_user ON events (account_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX events_by_account_place ON events (account_id, place);
CREATE INDEX events_by_place ON events (place);

-- For what comes when no worker has made its month; the month takes it over when it is made.
CREATE TABLE events_other PARTITION OF events DEFAULT;

-- Makes the partition of the month (UTC) that a moment in Unix milliseconds lies in, unless it is there.
CREATE FUNCTION make_event_partition(moment BIGINT) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  month TIMESTAMP := date_trunc('month', to_timestamp(moment / 1000.0) AT TIME ZONE 'UTC');
  month_table TEXT := 'events_' || to_char(month, 'YYYY_MM');
  starts BIGINT := extract(epoch FROM month)::bigint * 1000;
  ends BIGINT := extract(epoch FROM month + interval '1 month')::bigint * 1000;
BEGIN
  IF to_regclass(month_table) IS NOT NULL THEN
    RETURN NULL;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE events INCLUDING ALL)', month_table);
  -- Nothing may come into the default partition between the move and the attachment.
  LOCK TABLE events_other IN ACCESS EXCLUSIVE MODE;
  EXECUTE format(
    'WITH moved AS (DELETE FROM events_other WHERE created_at >= %s AND created_at < %s RETURNING *)
     INSERT INTO %I SELECT * FROM moved', starts, ends, month_table);
  EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', month_table, starts, ends);
  RETURN month_table;
END
$$;

DO $$
DECLARE
  month TIMESTAMP;
  first BIGINT := coalesce((SELECT min(created_at) FROM events_before), extract(epoch FROM now())::bigint * 1000);
BEGIN
  FOR month IN
    SELECT generate_series(
      date_trunc('month', to_timestamp(first / 1000.0) AT TIME ZONE 'UTC'),
      date_trunc('month', now() AT TIME ZONE 'UTC') + interval '3 months', interval '1 month')
  LOOP
    PERFORM make_event_partition(extract(epoch FROM month)::bigint * 1000);
  END LOOP;
END
$$;

INSERT INTO events (id, type, created_at, account_id, issuer_id, org_id, user_id, client_id, agent_id, session_id,
  auth_type, actor, target, context, data, changes, place)
SELECT id, type, created_at, account_id, issuer_id, org_id, user_id, client_id, agent_id, session_id,
  auth_type, actor, target, context, data, changes,
  -- Before all places to come, one each, so that they can be counted in portions.
  row_number() OVER (ORDER BY id COLLATE "C") - 1 - count(*) OVER ()
FROM events_before;
UPDATE event_progress SET counted_to = coalesce((SELECT min(place) FROM events), 0);
DROP TABLE events_before;

-- Sessions whose end is still to be told of (src/resources/sessions/expiry.ts).
CREATE INDEX sessions_to_expire ON sessions (expires_at) WHERE status NOT IN ('revoked', 'expired');
