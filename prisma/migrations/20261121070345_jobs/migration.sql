-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "host" TEXT;

-- CreateTable
CREATE TABLE "jobs" (
    "id" TEXT NOT NULL,
    "task" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "run_at" BIGINT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" BIGINT NOT NULL,

    CONSTRAINT "jobs_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "jobs_task_run_at_idx" ON "jobs"("task", "run_at");

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
