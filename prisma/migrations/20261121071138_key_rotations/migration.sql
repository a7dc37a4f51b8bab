-- CreateTable
CREATE TABLE "key_rotations" (
    "issuer_id" TEXT NOT NULL,
    "period" TEXT NOT NULL,
    "done_at" BIGINT,

    CONSTRAINT "key_rotations_pkey" PRIMARY KEY ("issuer_id","period")
);

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
