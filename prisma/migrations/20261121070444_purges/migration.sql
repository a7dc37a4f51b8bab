-- CreateIndex
CREATE INDEX "api_keys_to_purge" ON "api_keys"("status_at") WHERE (status = 'revoked');

-- CreateIndex
CREATE INDEX "clients_to_purge" ON "clients"("deleted_at") WHERE (status = 'deleted');

-- CreateIndex
CREATE INDEX "organization_invitations_issuer_id_email_key_idx" ON "organization_invitations"("issuer_id", "email_key");

-- CreateIndex
CREATE INDEX "organization_invitations_accepted_by" ON "organization_invitations"("accepted_by_user_id") WHERE (accepted_by_user_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "organization_invitations_expires_at_idx" ON "organization_invitations"("expires_at");

-- CreateIndex
CREATE INDEX "personal_tokens_to_purge" ON "personal_tokens"("status_at") WHERE (status = 'revoked');

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
