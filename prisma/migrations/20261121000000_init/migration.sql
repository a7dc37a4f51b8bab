-- CreateTable
CREATE TABLE "accounts" (
    "id" TEXT NOT NULL,
    "system" BOOLEAN NOT NULL DEFAULT false,
    "name" TEXT,
    "description" TEXT,
    "logo_url" TEXT,
    "owner_user_id" TEXT,
    "billing_mode_override" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deployment" (
    "name" TEXT NOT NULL,
    "value" JSONB NOT NULL,

    CONSTRAINT "deployment_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "clients" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "logo_url" TEXT,
    "type" TEXT NOT NULL,
    "confidential" BOOLEAN NOT NULL,
    "settings" JSONB NOT NULL,
    "secrets" JSONB NOT NULL DEFAULT '[]',
    "status" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "deleted_at" BIGINT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "clients_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "domains" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "verified" BOOLEAN NOT NULL DEFAULT false,
    "verified_at" BIGINT,
    "issuer_id" TEXT,
    "verification_token" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "domains_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "events" (
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT,
    "org_id" TEXT,
    "user_id" TEXT,
    "client_id" TEXT,
    "agent_id" TEXT,
    "session_id" TEXT,
    "auth_type" TEXT NOT NULL,
    "actor" JSONB NOT NULL,
    "target" JSONB NOT NULL,
    "context" JSONB NOT NULL,
    "data" JSONB NOT NULL DEFAULT '{}',
    "changes" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotent_requests" (
    "account_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "lease_until" BIGINT,
    "lease_id" TEXT,
    "status" INTEGER,
    "etag" TEXT,
    "body" TEXT,
    "expires_at" BIGINT NOT NULL,

    CONSTRAINT "idempotent_requests_pkey" PRIMARY KEY ("account_id","key")
);

-- CreateTable
CREATE TABLE "rate_limits" (
    "key" TEXT NOT NULL,
    "tokens" DOUBLE PRECISION NOT NULL,
    "taken" DOUBLE PRECISION NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "rate_limits_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "idp_artifacts" (
    "issuer_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "uid" TEXT,
    "grant_id" TEXT,
    "payload" JSONB NOT NULL,
    "expires_at" BIGINT,
    "consumed_at" BIGINT,

    CONSTRAINT "idp_artifacts_pkey" PRIMARY KEY ("issuer_id","kind","id")
);

-- CreateTable
CREATE TABLE "login_states" (
    "issuer_id" TEXT NOT NULL,
    "uid" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "state" JSONB NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "expires_at" BIGINT NOT NULL,

    CONSTRAINT "login_states_pkey" PRIMARY KEY ("issuer_id","uid")
);

-- CreateTable
CREATE TABLE "revoked_tokens" (
    "issuer_id" TEXT NOT NULL,
    "jti" TEXT NOT NULL,
    "expires_at" BIGINT NOT NULL,

    CONSTRAINT "revoked_tokens_pkey" PRIMARY KEY ("issuer_id","jti")
);

-- CreateTable
CREATE TABLE "login_failures" (
    "user_id" TEXT NOT NULL,
    "failures" INTEGER NOT NULL,
    "pending" INTEGER NOT NULL DEFAULT 0,
    "locked_until" BIGINT,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "login_failures_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "issuers" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "links" JSONB NOT NULL DEFAULT '{}',
    "available_scopes" TEXT[],
    "status" TEXT NOT NULL,
    "settings" JSONB NOT NULL DEFAULT '{}',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "username_key" TEXT NOT NULL,
    "deleted_at" BIGINT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "issuers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "auth_methods" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "enabled_login" BOOLEAN NOT NULL,
    "enabled_signup" BOOLEAN NOT NULL,
    "featured" BOOLEAN NOT NULL,
    "first_factor_only" BOOLEAN NOT NULL,
    "settings" JSONB NOT NULL DEFAULT '{}',
    "secrets" JSONB NOT NULL DEFAULT '{}',
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "auth_methods_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "signing_keys" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "kid" UUID NOT NULL,
    "alg" TEXT NOT NULL,
    "public_jwk" JSONB NOT NULL,
    "private_jwk" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,

    CONSTRAINT "signing_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "spare_keys" (
    "kid" UUID NOT NULL,
    "alg" TEXT NOT NULL,
    "public_jwk" JSONB NOT NULL,
    "private_jwk" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,

    CONSTRAINT "spare_keys_pkey" PRIMARY KEY ("kid")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT,
    "org_id" TEXT,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "tags" TEXT[],
    "restrictions" JSONB NOT NULL,
    "secrets" JSONB NOT NULL,
    "secret_hint" TEXT NOT NULL,
    "expires_at" BIGINT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "status" TEXT NOT NULL,
    "status_by" TEXT,
    "status_reason" TEXT,
    "status_at" BIGINT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "organizations" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "name" TEXT,
    "description" TEXT,
    "logo_url" TEXT,
    "org_type" TEXT,
    "max_members" INTEGER,
    "default_member_scopes" TEXT[],
    "scopes" TEXT[],
    "creator_scopes" TEXT[],
    "invitation_enabled" BOOLEAN NOT NULL DEFAULT false,
    "invitation_message" TEXT,
    "address" JSONB,
    "business_details" JSONB NOT NULL DEFAULT '{}',
    "contact" JSONB NOT NULL DEFAULT '{}',
    "security" JSONB NOT NULL DEFAULT '{}',
    "sso" JSONB NOT NULL DEFAULT '{}',
    "custom_fields" JSONB NOT NULL DEFAULT '{}',
    "social_links" JSONB NOT NULL DEFAULT '[]',
    "status" TEXT NOT NULL,
    "status_reason" TEXT,
    "status_by" TEXT,
    "created_by_user_id" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "organizations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sessions" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "org_id" TEXT,
    "browser_uid" TEXT NOT NULL,
    "grant_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "device" JSONB NOT NULL DEFAULT '{}',
    "auth_time" INTEGER NOT NULL,
    "acr" TEXT,
    "amr" TEXT[],
    "access_token_jti" TEXT[],
    "refresh_token_jti" TEXT[],
    "last_activity_at" BIGINT NOT NULL,
    "expires_at" BIGINT NOT NULL,
    "idle_expires_at" BIGINT,
    "revoked_at" BIGINT,
    "revocation_reason" TEXT,
    "suspended_at" BIGINT,
    "suspension_reason" TEXT,
    "reason_details" TEXT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "users" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "username_type" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "username_key" TEXT NOT NULL,
    "username_hash" TEXT NOT NULL,
    "profile" JSONB NOT NULL DEFAULT '{}',
    "security" JSONB NOT NULL DEFAULT '{}',
    "compliance" JSONB NOT NULL DEFAULT '{}',
    "preferences" JSONB NOT NULL DEFAULT '{}',
    "custom_fields" JSONB NOT NULL DEFAULT '{}',
    "scopes" TEXT[],
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "requires_approval" BOOLEAN NOT NULL DEFAULT false,
    "signup_reason" TEXT,
    "triggered_rule" TEXT,
    "email_verified" BOOLEAN NOT NULL DEFAULT false,
    "status" TEXT NOT NULL,
    "status_at" BIGINT,
    "status_reason" TEXT,
    "status_by" TEXT,
    "approval" JSONB,
    "region" TEXT,
    "purge_at" BIGINT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "verifiers" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "issuer_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "name" TEXT,
    "description" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "hash" TEXT,
    "previous_hashes" TEXT[],
    "secret_set_at" BIGINT,
    "sealed" TEXT,
    "data" JSONB NOT NULL DEFAULT '{}',
    "must_change" BOOLEAN NOT NULL DEFAULT false,
    "expires_at" BIGINT,
    "last_used_at" BIGINT,
    "created_by" TEXT,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "verifiers_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "accounts_owner_user_id_idx" ON "accounts"("owner_user_id");

-- CreateIndex
CREATE UNIQUE INDEX "accounts_one_system" ON "accounts"("system") WHERE (system);

-- CreateIndex
CREATE INDEX "clients_issuer_id_status_id_idx" ON "clients"("issuer_id", "status", "id" DESC);

-- CreateIndex
CREATE INDEX "clients_live" ON "clients"("issuer_id", "id" DESC) WHERE (status <> 'deleted');

-- CreateIndex
CREATE UNIQUE INDEX "domains_account_id_host_key" ON "domains"("account_id", "host");

-- CreateIndex
CREATE UNIQUE INDEX "domains_verified_host" ON "domains"("host") WHERE (verified);

-- CreateIndex
CREATE INDEX "events_account_id_id_idx" ON "events"("account_id", "id" DESC);

-- CreateIndex
CREATE INDEX "idempotent_requests_expires_at_idx" ON "idempotent_requests"("expires_at");

-- CreateIndex
CREATE INDEX "rate_limits_updated_at_idx" ON "rate_limits"("updated_at");

-- CreateIndex
CREATE INDEX "idp_artifacts_uid" ON "idp_artifacts"("issuer_id", "kind", "uid") WHERE (uid IS NOT NULL);

-- CreateIndex
CREATE INDEX "idp_artifacts_grant" ON "idp_artifacts"("issuer_id", "grant_id") WHERE (grant_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "idp_artifacts_expires_at_idx" ON "idp_artifacts"("expires_at");

-- CreateIndex
CREATE INDEX "login_states_expires_at_idx" ON "login_states"("expires_at");

-- CreateIndex
CREATE INDEX "revoked_tokens_expires_at_idx" ON "revoked_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "issuers_of_account" ON "issuers"("account_id", "id" DESC) WHERE (status <> 'deleted');

-- CreateIndex
CREATE INDEX "auth_methods_issuer_id_id_idx" ON "auth_methods"("issuer_id", "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "auth_methods_one_each" ON "auth_methods"("issuer_id", "method") WHERE (method IN ('password', 'email_link', 'email_otp', 'totp', 'backup_codes'));

-- CreateIndex
CREATE UNIQUE INDEX "signing_keys_kid_key" ON "signing_keys"("kid");

-- CreateIndex
CREATE INDEX "signing_keys_issuer_id_created_at_idx" ON "signing_keys"("issuer_id", "created_at");

-- CreateIndex
CREATE INDEX "spare_keys_alg_idx" ON "spare_keys"("alg");

-- CreateIndex
CREATE INDEX "api_keys_of_account" ON "api_keys"("account_id", "id" DESC) WHERE (org_id IS NULL);

-- CreateIndex
CREATE INDEX "api_keys_of_org" ON "api_keys"("org_id", "id" DESC) WHERE (org_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "organizations_issuer_id_id_idx" ON "organizations"("issuer_id", "id" DESC);

-- CreateIndex
CREATE INDEX "sessions_issuer_id_user_id_id_idx" ON "sessions"("issuer_id", "user_id", "id" DESC);

-- CreateIndex
CREATE INDEX "sessions_issuer_id_browser_uid_idx" ON "sessions"("issuer_id", "browser_uid");

-- CreateIndex
CREATE INDEX "sessions_grant_id_idx" ON "sessions"("grant_id");

-- CreateIndex
CREATE INDEX "users_issuer_id_status_id_idx" ON "users"("issuer_id", "status", "id" DESC);

-- CreateIndex
CREATE INDEX "users_live" ON "users"("issuer_id", "id" DESC) WHERE (status NOT IN ('deleted', 'pending_deletion'));

-- CreateIndex
CREATE UNIQUE INDEX "users_username" ON "users"("issuer_id", "username_key") WHERE (status NOT IN ('deleted', 'pending_deletion'));

-- CreateIndex
CREATE INDEX "verifiers_user_id_id_idx" ON "verifiers"("user_id", "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "verifiers_one_each" ON "verifiers"("user_id", "type") WHERE (type IN ('password', 'totp'));

-- AddForeignKey
ALTER TABLE "clients" ADD CONSTRAINT "clients_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "issuers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "domains" ADD CONSTRAINT "domains_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "issuers" ADD CONSTRAINT "issuers_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "auth_methods" ADD CONSTRAINT "auth_methods_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "issuers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "signing_keys" ADD CONSTRAINT "signing_keys_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "issuers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organizations" ADD CONSTRAINT "organizations_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "issuers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "users" ADD CONSTRAINT "users_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "issuers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "verifiers" ADD CONSTRAINT "verifiers_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- A version is a tag (spec 4.1): each write raises updated_at by at least one, also within a millisecond and when a
-- process's clock is behind.
CREATE FUNCTION raise_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := greatest(NEW.updated_at, OLD.updated_at + 1);
  RETURN NEW;
END
$$;

CREATE TRIGGER raise_updated_at BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON domains FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON issuers FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON auth_methods FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON verifiers FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON api_keys FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON organizations FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
CREATE TRIGGER raise_updated_at BEFORE UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION raise_updated_at();
