-- CreateIndex
CREATE INDEX "organization_groups_with_scopes" ON "organization_groups"("issuer_id") WHERE (scopes <> '{}');

-- CreateIndex
CREATE INDEX "organization_members_with_scopes" ON "organization_members"("issuer_id") WHERE (scopes <> '{}');

-- CreateIndex
CREATE INDEX "users_with_scopes" ON "users"("issuer_id") WHERE (scopes <> '{}');

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
