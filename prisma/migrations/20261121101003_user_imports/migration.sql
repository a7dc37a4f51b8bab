-- CreateTable
CREATE TABLE "imported_users" (
    "issuer_id" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "external_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,

    CONSTRAINT "imported_users_pkey" PRIMARY KEY ("issuer_id","source","external_id")
);

-- CreateIndex
CREATE INDEX "imported_users_user_id_idx" ON "imported_users"("user_id");

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- Hashes that other products made (src/resources/credentials/decoys.ts): the fewer are left, the smaller it is.
CREATE INDEX verifiers_foreign_hash ON verifiers (issuer_id)
  WHERE hash IS NOT NULL AND hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%';
