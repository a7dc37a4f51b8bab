-- CreateTable
CREATE TABLE "client_registrations" (
    "client_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "initial_access_token_id" TEXT,
    "used_at" BIGINT,
    "created_at" BIGINT NOT NULL,

    CONSTRAINT "client_registrations_pkey" PRIMARY KEY ("client_id")
);

-- CreateTable
CREATE TABLE "initial_access_tokens" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "name" TEXT,
    "hash" TEXT NOT NULL,
    "max_uses" INTEGER NOT NULL,
    "uses" INTEGER NOT NULL DEFAULT 0,
    "expires_at" BIGINT NOT NULL,
    "revoked_at" BIGINT,
    "last_used_at" BIGINT,
    "created_by" TEXT,
    "allowed_scopes" TEXT[],
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "initial_access_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "client_registrations_issuer_id_idx" ON "client_registrations"("issuer_id");

-- CreateIndex
CREATE INDEX "client_registrations_unused" ON "client_registrations"("created_at") WHERE (used_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "initial_access_tokens_hash_key" ON "initial_access_tokens"("hash");

-- CreateIndex
CREATE INDEX "initial_access_tokens_issuer_id_id_idx" ON "initial_access_tokens"("issuer_id", "id" DESC);

-- CreateIndex
CREATE INDEX "initial_access_tokens_expires_at_idx" ON "initial_access_tokens"("expires_at");

-- AddForeignKey
ALTER TABLE "client_registrations" ADD CONSTRAINT "client_registrations_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "clients"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "initial_access_tokens" ADD CONSTRAINT "initial_access_tokens_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "issuers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON initial_access_tokens FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
