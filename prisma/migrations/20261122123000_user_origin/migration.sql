-- AlterTable
ALTER TABLE "users" ADD COLUMN     "email_ever_verified" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "origin" TEXT NOT NULL DEFAULT 'administrator';

-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.

-- What /v1 shows of a user stays the same, so its updated_at does too.
ALTER TABLE users DISABLE TRIGGER USER;

-- Users from before. A user whose creation cannot be shown to have been a sign-up keeps the default, which removes
-- nothing; so does one whose address was confirmed before an administrator replaced it.
UPDATE users SET email_ever_verified = true WHERE email_verified;
UPDATE users u SET origin = 'import' FROM imported_users i WHERE i.user_id = u.id;
UPDATE users u SET origin = 'sign_up'
WHERE NOT u.email_verified AND u.origin = 'administrator'
  AND EXISTS (SELECT 1 FROM events e WHERE e.account_id = u.account_id AND e.user_id = u.id
    AND e.type = 'user.created' AND e.auth_type = 'unauthenticated')
  AND NOT EXISTS (SELECT 1 FROM events e WHERE e.account_id = u.account_id AND e.user_id = u.id
    AND e.type = 'user.updated' AND e.changes ? 'email_verified');

ALTER TABLE users ENABLE TRIGGER USER;
