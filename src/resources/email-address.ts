/** SQL: the email address of the user `u`, or null. Must give the same result as `rawEmailOf` for a row. */
export const emailAddressSql = `CASE WHEN u.username_type = 'email' THEN u.username ELSE u.profile->>'email' END`
