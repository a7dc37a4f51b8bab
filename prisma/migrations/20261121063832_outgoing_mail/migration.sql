-- CreateTable
CREATE TABLE "outgoing_mail" (
    "id" TEXT NOT NULL,
    "sealed" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_at" BIGINT NOT NULL,
    "expires_at" BIGINT NOT NULL,
    "created_at" BIGINT NOT NULL,

    CONSTRAINT "outgoing_mail_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "outgoing_mail_next_at_idx" ON "outgoing_mail"("next_at");

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
