/** Events of refused token and authorization requests: at most one per client, reason and minute (decisions D37). */
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { transaction } from '../../platform/database.js'
import { sha256 } from '../../platform/secrets.js'
import { emit } from '../events/events.js'

export interface Denial {
  readonly type: 'token.denied' | 'authorization.denied'
  readonly accountId: string
  readonly issuerId: string
  readonly client: { readonly kind: 'client' | 'agent'; readonly id: string }
  /** Whose requests count together. */
  readonly subject: string
  readonly reason: string
  readonly data: Record<string, string | null>
}

/** A bucket of one token a minute, whatever RATE_LIMITS says: one process wins it. */
const firstText = `
  INSERT INTO rate_limits AS last (key, tokens, taken, updated_at) VALUES ($1, 0, 1, $2::bigint)
  ON CONFLICT (key) DO UPDATE SET updated_at = $2::bigint WHERE last.updated_at <= $2::bigint - ${MINUTE}
  RETURNING true AS first`

/** Writes the event, unless this or another process has written one like it within a minute. */
export async function recordDenial(context: Context, denial: Denial): Promise<void> {
  const { type, accountId, issuerId, client, subject, reason, data } = denial
  await transaction(context, async (inside) => {
    const key = `denied:${sha256(`${subject} ${reason}`)}`
    const [first] = await inside.query<{ first: boolean }>('denial-first', firstText, [key, context.now()])
    if (!first) return
    const id = client.kind === 'agent' ? { agentId: client.id } : { clientId: client.id }
    await emit(inside, type, { accountId, issuerId, ...id, target: { type: client.kind, id: client.id }, data })
  })
}
