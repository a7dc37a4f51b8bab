/** SQL: the address that mail of the user `u` goes to; null for a user without one. `addressOf` says the same of a row. */
export const addressSql = `CASE WHEN u.username_type = 'email' THEN u.username ELSE u.profile->>'email' END`
