-- CreateTable
CREATE TABLE "agents" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "model" TEXT,
    "provider" TEXT,
    "version" TEXT,
    "scopes" TEXT[],
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "status" TEXT NOT NULL,
    "status_reason" TEXT,
    "verifier_types" TEXT[],
    "has_verifiers" BOOLEAN NOT NULL DEFAULT false,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "agents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agent_verifiers" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "name" TEXT,
    "network" TEXT,
    "address" TEXT,
    "address_key" TEXT,
    "hash" TEXT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "agent_verifiers_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "agents_issuer_id_id_idx" ON "agents"("issuer_id", "id" DESC);

-- CreateIndex
CREATE INDEX "agents_issuer_id_status_id_idx" ON "agents"("issuer_id", "status", "id" DESC);

-- CreateIndex
CREATE INDEX "agents_issuer_id_model_id_idx" ON "agents"("issuer_id", "model", "id" DESC);

-- CreateIndex
CREATE INDEX "agents_issuer_id_provider_id_idx" ON "agents"("issuer_id", "provider", "id" DESC);

-- CreateIndex
CREATE INDEX "agents_issuer_id_has_verifiers_id_idx" ON "agents"("issuer_id", "has_verifiers", "id" DESC);

-- CreateIndex
CREATE INDEX "agent_verifiers_agent_id_id_idx" ON "agent_verifiers"("agent_id", "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "agent_verifiers_wallet" ON "agent_verifiers"("agent_id", "network", "address_key") WHERE (type = 'wallet');

-- AddForeignKey
ALTER TABLE "agents" ADD CONSTRAINT "agents_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "issuers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_verifiers" ADD CONSTRAINT "agent_verifiers_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON agents FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
