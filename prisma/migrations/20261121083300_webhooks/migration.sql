-- CreateTable
CREATE TABLE "webhooks" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "name" TEXT,
    "description" TEXT,
    "url" TEXT NOT NULL,
    "event_types" TEXT[],
    "auth" TEXT NOT NULL,
    "secrets" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "status" TEXT NOT NULL,
    "deleted_at" BIGINT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "webhooks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_lanes" (
    "webhook_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "holder" TEXT,
    "held_until" BIGINT NOT NULL DEFAULT 0,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "open_until" BIGINT NOT NULL DEFAULT 0,
    "open_for" BIGINT NOT NULL DEFAULT 0,
    "last_delivery_at" BIGINT,

    CONSTRAINT "webhook_lanes_pkey" PRIMARY KEY ("webhook_id")
);

-- CreateTable
CREATE TABLE "webhook_days" (
    "webhook_id" TEXT NOT NULL,
    "day" INTEGER NOT NULL,
    "succeeded" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "webhook_days_pkey" PRIMARY KEY ("webhook_id","day")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "webhook_id" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "event_at" BIGINT NOT NULL,
    "event_type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "attempt_count" INTEGER NOT NULL DEFAULT 0,
    "last_response_status" INTEGER,
    "last_error" TEXT,
    "first_attempt_at" BIGINT,
    "last_attempt_at" BIGINT,
    "next_attempt_at" BIGINT,
    "test_event" JSONB,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "webhooks_account_id_created_at_id_idx" ON "webhooks"("account_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "webhooks_in_force" ON "webhooks"("account_id") WHERE (status IN ('active', 'failing'));

-- CreateIndex
CREATE INDEX "webhooks_to_purge" ON "webhooks"("deleted_at") WHERE (status = 'deleted');

-- CreateIndex
CREATE INDEX "webhook_lanes_account_id_idx" ON "webhook_lanes"("account_id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_webhook_id_created_at_id_idx" ON "webhook_deliveries"("webhook_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "webhook_deliveries_webhook_id_event_type_created_at_id_idx" ON "webhook_deliveries"("webhook_id", "event_type", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "webhook_deliveries_not_accepted" ON "webhook_deliveries"("webhook_id", "created_at" DESC, "id" DESC) WHERE (status IN ('failing', 'failed'));

-- CreateIndex
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries"("webhook_id", "next_attempt_at") WHERE (next_attempt_at IS NOT NULL);

-- AddForeignKey
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_lanes" ADD CONSTRAINT "webhook_lanes_webhook_id_fkey" FOREIGN KEY ("webhook_id") REFERENCES "webhooks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_days" ADD CONSTRAINT "webhook_days_webhook_id_fkey" FOREIGN KEY ("webhook_id") REFERENCES "webhooks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON webhooks FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
-- Records leave by time alone.
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries USING brin (created_at);
-- Each delivery is written three times: made, taken, finished.
ALTER TABLE webhook_deliveries SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
