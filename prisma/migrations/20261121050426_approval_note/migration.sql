-- AlterTable
ALTER TABLE "users" ADD COLUMN     "approval_note" TEXT;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
