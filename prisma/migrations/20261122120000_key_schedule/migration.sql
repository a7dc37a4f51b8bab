-- The order in which keys sign is data of its own. The key that signed until now, the newest, goes on signing; a next
-- key comes from the periodic job rotate-keys, because its private half is encrypted with SECRET_KEY.
ALTER TABLE "signing_keys" ADD COLUMN "signs_from" BIGINT;
UPDATE "signing_keys" SET "signs_from" = "created_at";
ALTER TABLE "signing_keys" ALTER COLUMN "signs_from" SET NOT NULL;

-- DropIndex
DROP INDEX "signing_keys_issuer_id_created_at_idx";

-- CreateIndex
CREATE INDEX "signing_keys_issuer_id_signs_from_idx" ON "signing_keys"("issuer_id", "signs_from");

-- Whether a rotation is due shows in the keys; no process takes these jobs any more.
DROP TABLE "key_rotations";
DELETE FROM "jobs" WHERE "task" = 'rotate_keys';

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
