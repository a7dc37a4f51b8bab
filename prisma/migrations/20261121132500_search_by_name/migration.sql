

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- Search by the beginning of a name (src/resources/search.ts): a page is a range of one of these. By the collation of
-- bytes the names with one beginning lie together, whatever the collation of the database.
CREATE INDEX accounts_by_name ON accounts (lower(name) COLLATE "C", id COLLATE "C");
CREATE INDEX issuers_by_name ON issuers (account_id, lower(name) COLLATE "C", id COLLATE "C");
CREATE INDEX clients_by_name ON clients (issuer_id, lower(name) COLLATE "C", id COLLATE "C");
CREATE INDEX organizations_by_name ON organizations (issuer_id, lower(name) COLLATE "C", id COLLATE "C");
CREATE INDEX agents_by_name ON agents (issuer_id, lower(name) COLLATE "C", id COLLATE "C");
CREATE INDEX organization_groups_by_name ON organization_groups (org_id, lower(name) COLLATE "C", id COLLATE "C");
CREATE INDEX organization_invitations_by_email
  ON organization_invitations (org_id, email_key COLLATE "C", id COLLATE "C");
-- A user's sessions by the states that few of them are in; the other states are those of the clock.
CREATE INDEX sessions_of_user_by_status ON sessions (issuer_id, user_id, status, id COLLATE "C" DESC)
  WHERE status IN ('revoked', 'suspended');
