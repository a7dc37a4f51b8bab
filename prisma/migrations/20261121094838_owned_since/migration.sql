-- AlterTable
ALTER TABLE "users" ADD COLUMN     "owned_since" BIGINT;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
