/**
 * Remembers single-use values, such as the `jti` of a DPoP proof or of a client assertion, in the table
 * `idp_artifacts`, so that a replay is detected in every process.
 */
import type { Context } from '../platform/context.js'
import { sha256 } from '../platform/crypto/secrets.js'
import type { DatabaseHandle } from '../platform/postgres/database.js'
import { inBatches } from '../platform/postgres/query-coalescing.js'

/** What a single-use value belongs to. It is the value of `kind` in `idp_artifacts`. */
export type SingleUseKind = 'ClientAssertion' | 'DPoPProof'

interface SingleUseValue {
  issuer_id: string
  kind: SingleUseKind
  /** SHA-256 of the value. */
  id: string
  expires_at: number
  now: number
}

// A row whose value has expired is used again, because the purge job deletes expired rows later. The rows are sorted, so
// that concurrent statements lock common rows in the same order.
const useText = `
  INSERT INTO idp_artifacts (issuer_id, kind, id, payload, expires_at)
  SELECT issuer_id, kind, id, '{}', expires_at
  FROM jsonb_to_recordset($1::jsonb) AS v(issuer_id text, kind text, id text, expires_at bigint)
  ORDER BY issuer_id, kind, id
  ON CONFLICT (issuer_id, kind, id) DO UPDATE SET expires_at = excluded.expires_at
    WHERE idp_artifacts.expires_at <= $2
  RETURNING issuer_id, kind, id`

type ValueKey = Pick<SingleUseValue, 'issuer_id' | 'kind' | 'id'>
const keyOf = ({ issuer_id, kind, id }: ValueKey): string => `${issuer_id} ${kind} ${id}`

const consumers = new WeakMap<DatabaseHandle, (value: SingleUseValue) => Promise<boolean>>()

/** Returns the function that consumes a value, in one statement with the values of concurrent requests. */
function consumerOf(database: DatabaseHandle): (value: SingleUseValue) => Promise<boolean> {
  let consumer = consumers.get(database)
  if (!consumer) {
    consumer = inBatches<SingleUseValue, boolean>({
      // One statement can change a row only once, so uses of the same value run one after the other.
      exclusiveKeysOf: (value) => [keyOf(value)],
      async runBatch(batch) {
        const values = [JSON.stringify(batch), Math.min(...batch.map(({ now }) => now))]
        const rows = await database.query<ValueKey & Record<string, unknown>>('single-use-values', useText, values)
        const used = new Set(rows.map(keyOf))
        return batch.map((value) => used.has(keyOf(value)))
      },
    })
    consumers.set(database, consumer)
  }
  return consumer
}

/**
 * Consumes a single-use value of an issuer. Of several concurrent uses, in any process, exactly one succeeds. The use is
 * committed immediately, so a value stays used if the request fails afterwards.
 * @param value a text that is unique for the sender, such as the client id or key thumbprint together with the `jti`
 * @param expiresAt Unix milliseconds. From then on the value is rejected for its age, so that it is forgotten.
 * @returns false if the value was used before
 */
export const consumeValue = (
  context: Context,
  issuerId: string,
  kind: SingleUseKind,
  value: string,
  expiresAt: number,
): Promise<boolean> =>
  consumerOf(context.database)({
    issuer_id: issuerId,
    kind,
    id: sha256(value),
    expires_at: expiresAt,
    now: context.now(),
  })
