-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "admin_org_id" TEXT;

-- AlterTable
ALTER TABLE "organizations" ADD COLUMN     "mfa_required" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "sso_enabled" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "sso_only" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "organization_members" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "org_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "scopes" TEXT[],
    "user_title" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "status" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "organization_members_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "organization_groups" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "org_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "scopes" TEXT[],
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "organization_groups_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "organization_group_members" (
    "group_id" TEXT NOT NULL,
    "member_id" TEXT NOT NULL,

    CONSTRAINT "organization_group_members_pkey" PRIMARY KEY ("group_id","member_id")
);

-- CreateTable
CREATE TABLE "organization_invitations" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "org_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "email_key" TEXT NOT NULL,
    "scopes" TEXT[],
    "groups" TEXT[],
    "message" TEXT,
    "token_hash" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "expires_at" BIGINT NOT NULL,
    "accepted_at" BIGINT,
    "accepted_by_user_id" TEXT,
    "created_by" TEXT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "organization_invitations_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "organization_members_org_id_id_idx" ON "organization_members"("org_id", "id" DESC);

-- CreateIndex
CREATE INDEX "organization_members_user_id_id_idx" ON "organization_members"("user_id", "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "organization_members_org_id_user_id_key" ON "organization_members"("org_id", "user_id");

-- CreateIndex
CREATE INDEX "organization_groups_org_id_id_idx" ON "organization_groups"("org_id", "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "organization_groups_org_id_name_key" ON "organization_groups"("org_id", "name");

-- CreateIndex
CREATE INDEX "organization_group_members_member_id_idx" ON "organization_group_members"("member_id");

-- CreateIndex
CREATE UNIQUE INDEX "organization_invitations_token_hash_key" ON "organization_invitations"("token_hash");

-- CreateIndex
CREATE INDEX "organization_invitations_org_id_id_idx" ON "organization_invitations"("org_id", "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "organization_invitations_pending" ON "organization_invitations"("org_id", "email_key") WHERE (status = 'pending');

-- CreateIndex
CREATE UNIQUE INDEX "accounts_admin_org_id_key" ON "accounts"("admin_org_id");

-- CreateIndex
CREATE INDEX "organizations_issuer_id_status_id_idx" ON "organizations"("issuer_id", "status", "id" DESC);

-- CreateIndex
CREATE INDEX "organizations_sso_enabled" ON "organizations"("issuer_id", "id" DESC) WHERE (sso_enabled);

-- CreateIndex
CREATE INDEX "organizations_sso_only" ON "organizations"("issuer_id", "id" DESC) WHERE (sso_only);

-- CreateIndex
CREATE INDEX "organizations_mfa_required" ON "organizations"("issuer_id", "id" DESC) WHERE (mfa_required);

-- CreateIndex
CREATE INDEX "organizations_invitation_enabled" ON "organizations"("issuer_id", "id" DESC) WHERE (invitation_enabled);

-- AddForeignKey
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_admin_org_id_fkey" FOREIGN KEY ("admin_org_id") REFERENCES "organizations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_org_id_fkey" FOREIGN KEY ("org_id") REFERENCES "organizations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_groups" ADD CONSTRAINT "organization_groups_org_id_fkey" FOREIGN KEY ("org_id") REFERENCES "organizations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_group_members" ADD CONSTRAINT "organization_group_members_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "organization_groups"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_group_members" ADD CONSTRAINT "organization_group_members_member_id_fkey" FOREIGN KEY ("member_id") REFERENCES "organization_members"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_invitations" ADD CONSTRAINT "organization_invitations_org_id_fkey" FOREIGN KEY ("org_id") REFERENCES "organizations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON organization_members FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON organization_groups FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON organization_invitations FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
