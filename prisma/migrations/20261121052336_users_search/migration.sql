-- DropIndex
DROP INDEX "users_issuer_id_status_id_idx";

-- DropIndex
DROP INDEX "users_live";

-- CreateIndex
CREATE INDEX "users_to_purge" ON "users"("purge_at") WHERE (purge_at IS NOT NULL);

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- Lists of users. The collation keeps the planner off the primary key, which would serve the order as well but lead
-- through the newer users of all other issuers.
CREATE INDEX users_list ON users (issuer_id, id COLLATE "C" DESC) WHERE status NOT IN ('deleted', 'pending_deletion');
CREATE INDEX users_list_by_status ON users (issuer_id, status, id COLLATE "C" DESC);
-- Search by the beginning of a username, a name or an email address (src/resources/users/listing.ts): ordered by bytes,
-- whatever the collation of the database.
CREATE INDEX users_by_username ON users (issuer_id, username_key text_pattern_ops)
  WHERE status NOT IN ('deleted', 'pending_deletion');
CREATE INDEX users_by_name ON users (issuer_id, lower(profile->>'name') text_pattern_ops)
  WHERE status NOT IN ('deleted', 'pending_deletion') AND profile->>'name' IS NOT NULL;
CREATE INDEX users_by_given_name ON users (issuer_id, lower(profile->>'given_name') text_pattern_ops)
  WHERE status NOT IN ('deleted', 'pending_deletion') AND profile->>'given_name' IS NOT NULL;
CREATE INDEX users_by_family_name ON users (issuer_id, lower(profile->>'family_name') text_pattern_ops)
  WHERE status NOT IN ('deleted', 'pending_deletion') AND profile->>'family_name' IS NOT NULL;
CREATE INDEX users_by_email ON users (issuer_id, lower(profile->>'email') text_pattern_ops)
  WHERE status NOT IN ('deleted', 'pending_deletion') AND profile->>'email' IS NOT NULL;
