-- What /v1 shows of a client stays the same, so its updated_at does too.
ALTER TABLE clients DISABLE TRIGGER USER;

-- Since when the current secret of a client has been in use: since its last rotation, else since the client was created.
UPDATE clients c SET secrets = (
  SELECT jsonb_agg(CASE
    WHEN s.secret->>'expires_at' IS NULL THEN s.secret || jsonb_build_object('created_at', coalesce(
      (SELECT max(e.created_at) FROM events e
       WHERE e.account_id = c.account_id AND e.client_id = c.id AND e.type = 'client.secret.rotated'), c.created_at))
    ELSE s.secret END ORDER BY s.at)
  FROM jsonb_array_elements(c.secrets) WITH ORDINALITY AS s(secret, at))
WHERE c.secrets <> '[]';

ALTER TABLE clients ENABLE TRIGGER USER;
