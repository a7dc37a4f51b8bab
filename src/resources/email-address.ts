/** SQL: the email address of the user `u`, or null. Must agree with `addressOf`, which reads it from a row. */
export const emailAddressSql = `CASE WHEN u.username_type = 'email' THEN u.username ELSE u.profile->>'email' END`
