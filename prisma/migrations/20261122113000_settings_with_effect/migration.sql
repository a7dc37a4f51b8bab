-- Organization sign-in was stored and never enforced; until it is, it is off.
UPDATE organizations SET
  sso = sso
    || CASE WHEN sso ? 'enabled' THEN '{"enabled": false}'::jsonb ELSE '{}' END
    || CASE WHEN sso ? 'only' THEN '{"only": false}'::jsonb ELSE '{}' END,
  sso_enabled = false,
  sso_only = false,
  updated_at = greatest(updated_at + 1, (extract(epoch FROM now()) * 1000)::bigint)
WHERE sso_enabled OR sso_only;

-- redirect_uri_rules took any key and any value, without effect. What the rules understand now is kept; an unknown key
-- would make every later change of the issuer's settings an error.
UPDATE issuers SET
  settings = jsonb_set(settings, '{security,redirect_uri_rules}', (
    SELECT coalesce(jsonb_object_agg(key, value), '{}')
    FROM jsonb_each(CASE jsonb_typeof(settings #> '{security,redirect_uri_rules}')
      WHEN 'object' THEN settings #> '{security,redirect_uri_rules}' ELSE '{}' END)
    WHERE key IN ('allow_loopback', 'allow_private_use_schemes') AND jsonb_typeof(value) = 'boolean')),
  updated_at = greatest(updated_at + 1, (extract(epoch FROM now()) * 1000)::bigint)
WHERE settings #> '{security,redirect_uri_rules}' IS NOT NULL
  AND settings #> '{security,redirect_uri_rules}' <> '{}';
