-- Standard names for columns, tables, indexes and stored JSON keys. Renames only: no table is rewritten. Processes of an
-- older version must be stopped first, because they use the old names (docs/upgrading.md).

-- Job queue and periodic jobs
ALTER TABLE jobs RENAME COLUMN holder TO lease_owner;
ALTER INDEX jobs_to_do RENAME TO jobs_due;

ALTER TABLE periodic_jobs RENAME COLUMN next_at TO next_run_at;
ALTER TABLE periodic_jobs RENAME COLUMN holder TO lease_owner;
ALTER TABLE periodic_jobs RENAME COLUMN held_until TO lease_expires_at;
ALTER TABLE periodic_jobs RENAME COLUMN took TO duration_ms;
ALTER TABLE periodic_jobs RENAME COLUMN failures TO consecutive_failures;

-- Webhooks
ALTER TABLE webhook_lanes RENAME TO webhook_delivery_queues;
ALTER TABLE webhook_delivery_queues RENAME CONSTRAINT webhook_lanes_pkey TO webhook_delivery_queues_pkey;
ALTER TABLE webhook_delivery_queues RENAME CONSTRAINT webhook_lanes_webhook_id_fkey TO webhook_delivery_queues_webhook_id_fkey;
ALTER INDEX webhook_lanes_account_id_idx RENAME TO webhook_delivery_queues_account_id_idx;
ALTER TABLE webhook_delivery_queues RENAME COLUMN holder TO lease_owner;
ALTER TABLE webhook_delivery_queues RENAME COLUMN held_until TO lease_expires_at;
ALTER TABLE webhook_delivery_queues RENAME COLUMN failures TO consecutive_failures;
ALTER TABLE webhook_delivery_queues RENAME COLUMN open_until TO breaker_open_until;
ALTER TABLE webhook_delivery_queues RENAME COLUMN open_for TO breaker_open_ms;

ALTER TABLE webhook_days RENAME TO webhook_daily_counts;
ALTER TABLE webhook_daily_counts RENAME CONSTRAINT webhook_days_pkey TO webhook_daily_counts_pkey;
ALTER TABLE webhook_daily_counts RENAME CONSTRAINT webhook_days_webhook_id_fkey TO webhook_daily_counts_webhook_id_fkey;

ALTER INDEX webhooks_in_force RENAME TO webhooks_active;
ALTER INDEX webhook_deliveries_not_accepted RENAME TO webhook_deliveries_failed;

-- Users, credentials, sign-in
ALTER TABLE users RENAME COLUMN owned_since TO proofs_valid_after;
ALTER TABLE verifiers RENAME COLUMN sealed TO encrypted_secret;
ALTER TABLE verifiers RENAME COLUMN used_step TO last_used_time_step;
ALTER INDEX verifiers_one_each RENAME TO verifiers_one_per_type;
ALTER TABLE enrollments RENAME COLUMN sealed TO encrypted_secret;
ALTER TABLE enrollments RENAME COLUMN tries TO attempts;
ALTER TABLE login_failures RENAME COLUMN pending TO pending_attempts;
ALTER INDEX auth_methods_one_each RENAME TO auth_methods_one_per_method;
ALTER INDEX clients_live RENAME TO clients_not_deleted;

-- Idempotency keys, rate limits, console sessions, payments
ALTER TABLE idempotent_requests RENAME COLUMN sealed TO encrypted_response;
ALTER TABLE idempotent_requests RENAME COLUMN lease_until TO lease_expires_at;
ALTER TABLE rate_limits RENAME COLUMN taken TO batch_size;
ALTER TABLE console_sessions RENAME COLUMN renewing_until TO renewal_lease_expires_at;
ALTER TABLE topup_attempts RENAME COLUMN settling_until TO settlement_lease_expires_at;

-- Progress of event counting
ALTER TABLE event_progress RENAME COLUMN counted_to TO counted_up_to;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.

-- State of periodic jobs
UPDATE periodic_jobs SET result = CASE result WHEN 'ok' THEN 'succeeded' WHEN 'stopped' THEN 'interrupted' END
WHERE result IN ('ok', 'stopped');
UPDATE periodic_jobs SET name = CASE name
  WHEN 'event-partitions' THEN 'maintain-event-partitions' WHEN 'refill-spare-keys' THEN 'refill-signing-key-pool' END
WHERE name IN ('event-partitions', 'refill-spare-keys');

ALTER INDEX webhook_deliveries_of_tests RENAME TO webhook_deliveries_test_actor;

-- Events. Staging tables exist while events move out of the default partition; they are not partitions of events yet.
ALTER FUNCTION event_place() RENAME TO event_commit_position;
ALTER FUNCTION event_horizon() RENAME TO event_commit_horizon;
ALTER TABLE events RENAME COLUMN place TO commit_position;

DO $$
DECLARE
  staging_table TEXT;
  relation RECORD;
BEGIN
  FOR staging_table IN
    SELECT relname FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname ~ '^events_making_'
  LOOP
    EXECUTE format('ALTER TABLE %I RENAME COLUMN place TO commit_position', staging_table);
  END LOOP;
  -- Indexes of partitions have generated names; an index of a primary key renames its constraint, too.
  FOR relation IN
    SELECT * FROM (
      SELECT relname AS old_name, CASE WHEN relkind = 'r' THEN 'TABLE' ELSE 'INDEX' END AS kind,
        regexp_replace(regexp_replace(regexp_replace(regexp_replace(relname,
          '^events_making_other', 'events_staging_default'),
          '^events_making_', 'events_staging_'),
          '^events_other', 'events_default'),
          '_place(_idx\d*)?$', '_commit_position\1') AS new_name
      FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i', 'I') AND relname ~ '^events_') names
    WHERE new_name <> old_name
  LOOP
    EXECUTE format('ALTER %s %I RENAME TO %I', relation.kind, relation.old_name, relation.new_name);
  END LOOP;
END
$$;

DROP FUNCTION make_event_partition(BIGINT);
-- Creates the partition of the month (UTC) that contains a time in Unix milliseconds, unless it exists.
CREATE FUNCTION create_event_partition(at_ms BIGINT) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  month TIMESTAMP := date_trunc('month', to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC');
  month_table TEXT := 'events_' || to_char(month, 'YYYY_MM');
  starts BIGINT := extract(epoch FROM month)::bigint * 1000;
  ends BIGINT := extract(epoch FROM month + interval '1 month')::bigint * 1000;
BEGIN
  IF to_regclass(month_table) IS NOT NULL THEN
    RETURN NULL;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE events INCLUDING ALL)', month_table);
  -- No event may enter the default partition between the move and the attachment.
  LOCK TABLE events_default IN ACCESS EXCLUSIVE MODE;
  EXECUTE format(
    'WITH moved AS (DELETE FROM events_default WHERE created_at >= %s AND created_at < %s RETURNING *)
     INSERT INTO %I SELECT * FROM moved', starts, ends, month_table);
  EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', month_table, starts, ends);
  RETURN month_table;
END
$$;

-- Extended statistics on the ids of parent resources
ALTER STATISTICS clients_place RENAME TO clients_parent_ids;
ALTER STATISTICS users_place RENAME TO users_parent_ids;
ALTER STATISTICS organizations_place RENAME TO organizations_parent_ids;
ALTER STATISTICS agents_place RENAME TO agents_parent_ids;
ALTER STATISTICS organization_members_place RENAME TO organization_members_parent_ids;
ALTER STATISTICS organization_groups_place RENAME TO organization_groups_parent_ids;
ALTER STATISTICS organization_invitations_place RENAME TO organization_invitations_parent_ids;
ALTER STATISTICS api_keys_place RENAME TO api_keys_parent_ids;
ALTER STATISTICS personal_tokens_place RENAME TO personal_tokens_parent_ids;
ALTER STATISTICS sessions_place RENAME TO sessions_parent_ids;
ALTER STATISTICS notes_place RENAME TO notes_parent_ids;

-- Keys of stored JSON
CREATE FUNCTION pg_temp.rename_key(object JSONB, old_key TEXT, new_key TEXT) RETURNS JSONB LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN object ? old_key THEN (object - old_key) || jsonb_build_object(new_key, object->old_key) ELSE object END;
CREATE FUNCTION pg_temp.rename_key_in(object JSONB, member TEXT, old_key TEXT, new_key TEXT) RETURNS JSONB LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN object->member ? old_key
    THEN jsonb_set(object, ARRAY[member], pg_temp.rename_key(object->member, old_key, new_key)) ELSE object END;

-- Email in the queue
UPDATE jobs SET payload = pg_temp.rename_key(payload, 'sealed', 'encrypted') WHERE task = 'mail' AND payload ? 'sealed';

-- What /v1 shows of an authentication method stays the same, so its updated_at does too.
ALTER TABLE auth_methods DISABLE TRIGGER USER;
UPDATE auth_methods m SET secrets = (
  SELECT jsonb_object_agg(key, pg_temp.rename_key(value, 'sealed', 'encrypted')) FROM jsonb_each(m.secrets))
WHERE secrets <> '{}';
ALTER TABLE auth_methods ENABLE TRIGGER USER;

-- Sign-ins in progress: first the members of nested objects, then the names of these objects.
UPDATE login_states s SET state = renamed.state
FROM login_states old
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(old.state, 'sent', 'tries', 'attempts') AS state) s1
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(s1.state, 'sent', 'void', 'isDummy') AS state) s2
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(s2.state, 'linking', 'owners', 'ownerIds') AS state) s3
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(s3.state, 'claimed', 'owners', 'ownerIds') AS state) s4
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(s4.state, 'signUp', 'proved', 'emailProved') AS state) s5
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(s5.state, 'recovery', 'lost', 'lostCredentialIds') AS state) s6
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(s6.state, 'recovery', 'lostFactor', 'lostSecondFactor') AS state) s7
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(s7.state, 'enrolling', 'sealed', 'encryptedSecret') AS state) s8
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key_in(
    pg_temp.rename_key_in(s8.state, 'upstream', 'sealed', 'encryptedBindings'), 'upstream', 'answer', 'encryptedResponse') AS state) s9
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key(s9.state, 'sent', 'emailChallenge') AS state) s10
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key(s10.state, 'linking', 'linkOffer') AS state) s11
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key(s11.state, 'claimed', 'pendingLink') AS state) s12
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key(s12.state, 'mailbox', 'provenEmail') AS state) s13
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key(s13.state, 'asBefore', 'reusesSession') AS state) s14
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key(s14.state, 'mustChange', 'mustChangePassword') AS state) s15
  CROSS JOIN LATERAL (SELECT pg_temp.rename_key(s15.state, 'offersCodes', 'offersBackupCodes') AS state) renamed
WHERE old.issuer_id = s.issuer_id AND old.uid = s.uid AND renamed.state <> old.state;
