/** Events and mail for removed credentials (decision D31). */
import type { Context } from '../../platform/context.js'
import { sql, type Verifier } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { addressSql } from '../mail-address.js'
import { type Message, sendMessage } from '../messages/messages.js'
import type { MessageKind } from '../messages/texts.js'

/** Why a credential was removed, as `data.reason` of `user.verifier.deleted`, and the mail that says so. */
const mails = {
  /** By a DELETE of the verifier. */
  deleted: 'credential_removed',
  /** By a new set of backup codes. */
  replaced: 'backup_codes_replaced',
  /** By the first proof of the mailbox of a self-made account (decision 0062). */
  mailbox_proved: 'credentials_removed',
  /** By the owner of a recovery link (decision 0067). */
  recovered: 'credential_removed',
} as const satisfies Record<string, MessageKind>

const recipientText = `
  SELECT ${addressSql} AS email, i.name, i.settings
  FROM users u JOIN issuers i ON i.id = u.issuer_id WHERE u.id = $1 AND u.issuer_id = $2`

/**
 * Records that verifiers of one user were removed: an event for each, and one mail to the user, if they have an address.
 * Call it in the transaction that deletes them.
 */
export async function recordRemoval(
  context: Context,
  verifiers: readonly Verifier[],
  reason: keyof typeof mails,
): Promise<void> {
  const [first] = verifiers
  if (!first) return
  for (const { accountId, issuerId, userId, id, type } of verifiers) {
    const target = { type: 'verifier', id }
    await emit(context, 'user.verifier.deleted', { accountId, issuerId, userId, target, data: { type, reason } })
  }
  const { userId, issuerId } = first
  const [row] = await sql<{ email: string | null; name: string; settings: unknown }>(
    context.db,
    recipientText,
    userId,
    issuerId,
  )
  if (!row?.email) return
  const credentials = [...new Set(verifiers.map(({ type }) => type))] as NonNullable<Message['credentials']>
  await sendMessage(context, row, { to: row.email, kind: mails[reason], credentials })
}
