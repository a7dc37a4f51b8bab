-- CreateTable
CREATE TABLE "notes" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT,
    "subject_type" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "pinned" BOOLEAN NOT NULL DEFAULT false,
    "created_by" TEXT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "notes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "note_mentions" (
    "note_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "account_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "display_name" TEXT NOT NULL,

    CONSTRAINT "note_mentions_pkey" PRIMARY KEY ("note_id","position")
);

-- CreateTable
CREATE TABLE "note_references" (
    "note_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "account_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "ref_id" TEXT NOT NULL,
    "display_text" TEXT,

    CONSTRAINT "note_references_pkey" PRIMARY KEY ("note_id","position")
);

-- CreateIndex
CREATE INDEX "notes_account_id_pinned_created_at_id_idx" ON "notes"("account_id", "pinned" DESC, "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "notes_account_id_subject_type_subject_id_pinned_created_at__idx" ON "notes"("account_id", "subject_type", "subject_id", "pinned" DESC, "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "notes_of_issuer" ON "notes"("account_id", "issuer_id", "pinned" DESC, "created_at" DESC, "id" DESC) WHERE (issuer_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "notes_account_id_created_by_pinned_created_at_id_idx" ON "notes"("account_id", "created_by", "pinned" DESC, "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "note_mentions_account_id_user_id_note_id_idx" ON "note_mentions"("account_id", "user_id", "note_id" DESC);

-- CreateIndex
CREATE INDEX "note_references_account_id_type_ref_id_note_id_idx" ON "note_references"("account_id", "type", "ref_id", "note_id" DESC);

-- AddForeignKey
ALTER TABLE "note_mentions" ADD CONSTRAINT "note_mentions_note_id_fkey" FOREIGN KEY ("note_id") REFERENCES "notes"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "note_references" ADD CONSTRAINT "note_references_note_id_fkey" FOREIGN KEY ("note_id") REFERENCES "notes"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
