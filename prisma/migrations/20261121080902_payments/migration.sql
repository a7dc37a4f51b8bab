-- CreateTable
CREATE TABLE "payment_methods" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "label" TEXT,
    "status" TEXT NOT NULL,
    "disabled_at" BIGINT,
    "allowed_payer_wallets" JSONB,
    "auto_topup_micro_usd" BIGINT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "payment_methods_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "credits" (
    "account_id" TEXT NOT NULL,
    "balance_micro_usd" BIGINT NOT NULL,
    "entry_at" BIGINT NOT NULL,

    CONSTRAINT "credits_pkey" PRIMARY KEY ("account_id")
);

-- CreateTable
CREATE TABLE "ledger_entries" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "amount_micro_usd" BIGINT NOT NULL,
    "balance_micro_usd" BIGINT NOT NULL,
    "description" TEXT,
    "network" TEXT,
    "transaction_id" TEXT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "topup_attempts" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "method_id" TEXT NOT NULL,
    "amount_micro_usd" BIGINT NOT NULL,
    "network" TEXT NOT NULL,
    "payment_key" TEXT NOT NULL,
    "identifier" TEXT,
    "request" TEXT,
    "state" TEXT NOT NULL,
    "settling_until" BIGINT NOT NULL,
    "payer" TEXT,
    "transaction_id" TEXT,
    "reason" TEXT,
    "entry_id" TEXT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "topup_attempts_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "payment_methods_account_id_created_at_id_idx" ON "payment_methods"("account_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "payment_methods_one_active" ON "payment_methods"("account_id", "type") WHERE (status = 'active');

-- CreateIndex
CREATE INDEX "ledger_entries_account_id_created_at_id_idx" ON "ledger_entries"("account_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "ledger_entries_payment" ON "ledger_entries"("network", "transaction_id");

-- CreateIndex
CREATE UNIQUE INDEX "topup_attempts_payment_key_key" ON "topup_attempts"("payment_key");

-- CreateIndex
CREATE INDEX "topup_attempts_identifier" ON "topup_attempts"("account_id", "identifier");

-- AddForeignKey
ALTER TABLE "payment_methods" ADD CONSTRAINT "payment_methods_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON payment_methods FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
-- Whatever goes wrong above, nobody spends what is not there.
ALTER TABLE credits ADD CONSTRAINT credits_not_negative CHECK (balance_micro_usd >= 0);
