-- DropIndex
DROP INDEX "jobs_task_run_at_idx";

-- AlterTable
ALTER TABLE "jobs" ADD COLUMN     "error" TEXT,
ADD COLUMN     "failed_at" BIGINT,
ADD COLUMN     "holder" TEXT;

-- CreateTable
CREATE TABLE "periodic_jobs" (
    "name" TEXT NOT NULL,
    "next_at" BIGINT NOT NULL,
    "holder" TEXT,
    "held_until" BIGINT NOT NULL DEFAULT 0,
    "started_at" BIGINT,
    "ended_at" BIGINT,
    "took" INTEGER,
    "result" TEXT,
    "error" TEXT,
    "succeeded_at" BIGINT,
    "failures" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "periodic_jobs_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE INDEX "jobs_to_do" ON "jobs"("task", "run_at") WHERE (failed_at IS NULL);

-- CreateIndex
CREATE INDEX "jobs_failed" ON "jobs"("failed_at") WHERE (failed_at IS NOT NULL);

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- Sessions that leave when nobody needs to read them any more (src/resources/sessions/purge.ts).
CREATE INDEX sessions_ended ON sessions (expires_at) WHERE status IN ('revoked', 'expired');
