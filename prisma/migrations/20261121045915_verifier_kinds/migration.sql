-- DropIndex
DROP INDEX "verifiers_one_each";

-- AlterTable
ALTER TABLE "verifiers" ADD COLUMN     "code_hashes" TEXT[],
ADD COLUMN     "credential_id" TEXT,
ADD COLUMN     "sign_count" BIGINT,
ADD COLUMN     "used_step" BIGINT;

-- CreateTable
CREATE TABLE "enrollments" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT,
    "description" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "sealed" TEXT,
    "data" JSONB NOT NULL DEFAULT '{}',
    "tries" INTEGER NOT NULL DEFAULT 0,
    "expires_at" BIGINT NOT NULL,
    "created_at" BIGINT NOT NULL,

    CONSTRAINT "enrollments_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "enrollments_user_id_idx" ON "enrollments"("user_id");

-- CreateIndex
CREATE INDEX "enrollments_expires_at_idx" ON "enrollments"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "verifiers_one_each" ON "verifiers"("user_id", "type") WHERE (type IN ('password', 'totp', 'backup_codes'));

-- CreateIndex
CREATE UNIQUE INDEX "verifiers_credential_id" ON "verifiers"("issuer_id", "credential_id") WHERE (credential_id IS NOT NULL);

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
