-- AlterTable
ALTER TABLE "idempotent_requests" ADD COLUMN     "sealed" TEXT;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
