-- AlterTable
ALTER TABLE "verifiers" ADD COLUMN     "method_id" TEXT,
ADD COLUMN     "upstream_issuer" TEXT,
ADD COLUMN     "upstream_subject" TEXT;

-- CreateIndex
CREATE UNIQUE INDEX "verifiers_upstream" ON "verifiers"("issuer_id", "method_id", "upstream_issuer", "upstream_subject") WHERE (type = 'oauth');

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
