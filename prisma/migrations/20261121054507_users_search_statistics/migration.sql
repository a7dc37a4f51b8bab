-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- How often a name occurs decides whether its index or the list's is the better way; of partial indexes with expressions
-- alone the planner does not learn it.
CREATE STATISTICS users_name ON (lower(profile->>'name')) FROM users;
CREATE STATISTICS users_given_name ON (lower(profile->>'given_name')) FROM users;
CREATE STATISTICS users_family_name ON (lower(profile->>'family_name')) FROM users;
CREATE STATISTICS users_email ON (lower(profile->>'email')) FROM users;
