-- AlterTable
ALTER TABLE "agent_verifiers" ADD COLUMN     "last_used_at" BIGINT;

-- CreateTable
CREATE TABLE "agent_challenges" (
    "issuer_id" TEXT NOT NULL,
    "nonce_hash" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "network" TEXT NOT NULL,
    "address_key" TEXT NOT NULL,
    "expires_at" BIGINT NOT NULL,
    "consumed_at" BIGINT,

    CONSTRAINT "agent_challenges_pkey" PRIMARY KEY ("issuer_id","nonce_hash")
);

-- CreateIndex
CREATE INDEX "agent_challenges_expires_at_idx" ON "agent_challenges"("expires_at");

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
