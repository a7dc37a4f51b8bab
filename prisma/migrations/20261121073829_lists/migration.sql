-- DropIndex
DROP INDEX "agents_issuer_id_has_verifiers_id_idx";

-- DropIndex
DROP INDEX "agents_issuer_id_id_idx";

-- DropIndex
DROP INDEX "agents_issuer_id_model_id_idx";

-- DropIndex
DROP INDEX "agents_issuer_id_provider_id_idx";

-- DropIndex
DROP INDEX "agents_issuer_id_status_id_idx";

-- DropIndex
DROP INDEX "api_keys_of_account";

-- DropIndex
DROP INDEX "api_keys_of_org";

-- DropIndex
DROP INDEX "clients_issuer_id_status_id_idx";

-- DropIndex
DROP INDEX "clients_live";

-- DropIndex
DROP INDEX "issuers_of_account";

-- DropIndex
DROP INDEX "organization_groups_org_id_id_idx";

-- DropIndex
DROP INDEX "organization_invitations_org_id_id_idx";

-- DropIndex
DROP INDEX "organization_members_org_id_id_idx";

-- DropIndex
DROP INDEX "organization_members_user_id_id_idx";

-- DropIndex
DROP INDEX "organizations_invitation_enabled";

-- DropIndex
DROP INDEX "organizations_issuer_id_id_idx";

-- DropIndex
DROP INDEX "organizations_issuer_id_status_id_idx";

-- DropIndex
DROP INDEX "organizations_mfa_required";

-- DropIndex
DROP INDEX "organizations_sso_enabled";

-- DropIndex
DROP INDEX "organizations_sso_only";

-- DropIndex
DROP INDEX "personal_tokens_user_id_id_idx";

-- DropIndex
DROP INDEX "sessions_issuer_id_user_id_id_idx";

-- CreateIndex
CREATE INDEX "agents_issuer_id_created_at_id_idx" ON "agents"("issuer_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "agents_issuer_id_status_created_at_id_idx" ON "agents"("issuer_id", "status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "agents_issuer_id_model_created_at_id_idx" ON "agents"("issuer_id", "model", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "agents_issuer_id_provider_created_at_id_idx" ON "agents"("issuer_id", "provider", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "agents_issuer_id_has_verifiers_created_at_id_idx" ON "agents"("issuer_id", "has_verifiers", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "api_keys_of_account" ON "api_keys"("account_id", "created_at" DESC, "id" DESC) WHERE (org_id IS NULL);

-- CreateIndex
CREATE INDEX "api_keys_of_org" ON "api_keys"("org_id", "created_at" DESC, "id" DESC) WHERE (org_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "clients_issuer_id_status_created_at_id_idx" ON "clients"("issuer_id", "status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "clients_live" ON "clients"("issuer_id", "created_at" DESC, "id" DESC) WHERE (status <> 'deleted');

-- CreateIndex
CREATE INDEX "issuers_of_account" ON "issuers"("account_id", "created_at" DESC, "id" DESC) WHERE (status <> 'deleted');

-- CreateIndex
CREATE INDEX "organization_groups_org_id_created_at_id_idx" ON "organization_groups"("org_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "organization_invitations_org_id_created_at_id_idx" ON "organization_invitations"("org_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "organization_invitations_org_id_status_created_at_id_idx" ON "organization_invitations"("org_id", "status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "organization_members_org_id_created_at_id_idx" ON "organization_members"("org_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "organization_members_org_id_status_created_at_id_idx" ON "organization_members"("org_id", "status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "organization_members_user_id_created_at_id_idx" ON "organization_members"("user_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "organizations_issuer_id_created_at_id_idx" ON "organizations"("issuer_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "organizations_issuer_id_status_created_at_id_idx" ON "organizations"("issuer_id", "status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "organizations_sso_enabled" ON "organizations"("issuer_id", "created_at" DESC, "id" DESC) WHERE (sso_enabled);

-- CreateIndex
CREATE INDEX "organizations_sso_only" ON "organizations"("issuer_id", "created_at" DESC, "id" DESC) WHERE (sso_only);

-- CreateIndex
CREATE INDEX "organizations_mfa_required" ON "organizations"("issuer_id", "created_at" DESC, "id" DESC) WHERE (mfa_required);

-- CreateIndex
CREATE INDEX "organizations_invitation_enabled" ON "organizations"("issuer_id", "created_at" DESC, "id" DESC) WHERE (invitation_enabled);

-- CreateIndex
CREATE INDEX "personal_tokens_user_id_created_at_id_idx" ON "personal_tokens"("user_id", "created_at" DESC, "id" DESC);

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- Sessions of a user. The collation keeps the planner off the primary key, as for users (docs/decisions/0012).
CREATE INDEX sessions_of_user ON sessions (issuer_id, user_id, id COLLATE "C" DESC);
-- Who is in an organization is in its issuer and account. Told nothing, the planner multiplies the three, expects a row or
-- two where there are thousands, and reads and sorts them all.
CREATE STATISTICS clients_place (dependencies) ON account_id, issuer_id FROM clients;
CREATE STATISTICS users_place (dependencies) ON account_id, issuer_id FROM users;
CREATE STATISTICS organizations_place (dependencies) ON account_id, issuer_id FROM organizations;
CREATE STATISTICS agents_place (dependencies) ON account_id, issuer_id FROM agents;
CREATE STATISTICS organization_members_place (dependencies) ON account_id, issuer_id, org_id FROM organization_members;
CREATE STATISTICS organization_groups_place (dependencies) ON account_id, issuer_id, org_id FROM organization_groups;
CREATE STATISTICS organization_invitations_place (dependencies) ON account_id, issuer_id, org_id
  FROM organization_invitations;
CREATE STATISTICS api_keys_place (dependencies) ON account_id, issuer_id, org_id FROM api_keys;
CREATE STATISTICS personal_tokens_place (dependencies) ON account_id, issuer_id, user_id FROM personal_tokens;
CREATE STATISTICS sessions_place (dependencies) ON account_id, issuer_id, user_id FROM sessions;
CREATE STATISTICS notes_place (dependencies) ON account_id, issuer_id, subject_type, subject_id FROM notes;
