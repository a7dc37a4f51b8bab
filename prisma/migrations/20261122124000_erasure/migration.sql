-- DropIndex
DROP INDEX "note_mentions_account_id_user_id_note_id_idx";

-- CreateIndex
CREATE INDEX "note_mentions_user_id_account_id_note_id_idx" ON "note_mentions"("user_id", "account_id", "note_id" DESC);

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.

-- Events that a person caused and that are about something else, so few: to be found when the person is erased.
CREATE INDEX events_by_other_actor ON events ((actor->>'id'), id)
  WHERE actor->>'type' IN ('user', 'personal_token') AND (user_id IS NULL OR user_id <> actor->>'id');
-- Events of invitations hold the address that was invited.
CREATE INDEX events_of_invitations ON events ((target->>'id')) WHERE type LIKE 'organization.invitation.%';
-- Test deliveries hold who tried the webhook.
CREATE INDEX webhook_deliveries_of_tests ON webhook_deliveries ((test_event->'actor'->>'id')) WHERE test_event IS NOT NULL;

-- Users whom an older version has wiped become due again, so that the job erases what that version left.
UPDATE users SET purge_at = coalesce(status_at, updated_at) WHERE status = 'deleted';
-- Invitations that were removed before, unless a user accepted them: then the purge of that user finds them.
UPDATE events e SET data = data || '{"email": null}'
WHERE type LIKE 'organization.invitation.%'
  AND NOT EXISTS (SELECT FROM organization_invitations i WHERE i.id = e.target->>'id')
  AND NOT EXISTS (SELECT FROM events a WHERE a.type LIKE 'organization.invitation.%'
    AND a.target->>'id' = e.target->>'id' AND a.type = 'organization.invitation.accepted');
