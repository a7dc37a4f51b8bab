/**
 * Remembers single-use values, such as the `jti` of a DPoP proof or of a client assertion, in the table
 * `idp_artifacts`, so that a replay is detected in every process.
 */
import type { Context } from '../platform/context.js'
import { sha256 } from '../platform/crypto/secrets.js'

/** What a single-use value belongs to. It is the value of `kind` in `idp_artifacts`. */
export type SingleUseKind = 'ClientAssertion' | 'DPoPProof'

// A row whose value has expired is used again, because the purge job deletes expired rows later.
const useText = `
  INSERT INTO idp_artifacts (issuer_id, kind, id, payload, expires_at) VALUES ($1, $2, $3, '{}', $4)
  ON CONFLICT (issuer_id, kind, id) DO UPDATE SET expires_at = excluded.expires_at
    WHERE idp_artifacts.expires_at <= $5
  RETURNING 1 AS used`

/**
 * Consumes a single-use value of an issuer. Of several concurrent uses, in any process, exactly one succeeds. The use is committed
 * immediately, so a value stays used if the request fails afterwards.
 * @param value a text that is unique for the sender, such as the client id or key thumbprint together with the `jti`
 * @param expiresAt Unix milliseconds. From then on the value is rejected for its age, so that it is forgotten.
 * @returns false if the value was used before
 */
export async function consumeValue(
  context: Context,
  issuerId: string,
  kind: SingleUseKind,
  value: string,
  expiresAt: number,
): Promise<boolean> {
  const values = [issuerId, kind, sha256(value), expiresAt, context.now()]
  const rows = await context.database.query<{ used: number }>('single-use-value', useText, values)
  return rows.length > 0
}
