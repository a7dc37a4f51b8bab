-- CreateTable
CREATE TABLE "console_sessions" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "sid" TEXT NOT NULL,
    "tokens" TEXT NOT NULL,
    "access_expires_at" BIGINT NOT NULL,
    "renewing_until" BIGINT,
    "version" INTEGER NOT NULL DEFAULT 0,
    "created_at" BIGINT NOT NULL,
    "expires_at" BIGINT NOT NULL,

    CONSTRAINT "console_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "console_sessions_sid_idx" ON "console_sessions"("sid");

-- CreateIndex
CREATE INDEX "console_sessions_expires_at_idx" ON "console_sessions"("expires_at");

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
