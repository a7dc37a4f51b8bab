-- AlterTable
ALTER TABLE "agent_verifiers" ADD COLUMN     "jwks" JSONB,
ADD COLUMN     "jwks_uri" TEXT;
