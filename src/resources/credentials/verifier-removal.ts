/** Events and emails about removed credentials (docs/contract.md#proof-of-a-mailbox). */
import type { Context } from '../../platform/context.js'
import { sql, type Verifier } from '../../platform/postgres/database.js'
import { emailAddressSql } from '../email-address.js'
import { recordEvent } from '../events/record-event.js'
import type { MessageKind } from '../messages/message-texts.js'
import { type Message, sendMessage } from '../messages/messages.js'

/** The values of `reason` of `recordVerifierRemoval` (`data.reason` in the event), with the email for each. */
const mailKinds = {
  /** A caller of the API deleted the verifier. */
  deleted: 'credential_removed',
  /** A new set of backup codes was created. */
  replaced: 'backup_codes_replaced',
  /** A user who signed up without an invitation verified an email address for the first time (decision 0048). */
  mailbox_proved: 'credentials_removed',
  /** The user of a recovery link reported the credential as lost (decision 0053). */
  recovered: 'credential_removed',
} as const satisfies Record<string, MessageKind>

const recipientText = `
  SELECT ${emailAddressSql} AS email, i.name, i.settings
  FROM users u JOIN issuers i ON i.id = u.issuer_id WHERE u.id = $1 AND u.issuer_id = $2`

/**
 * Records the removal of verifiers: one event `user.verifier.deleted` per verifier, and one email if the user has an
 * email address. Call it in the transaction that deletes the verifiers.
 * @param verifiers verifiers of one user
 */
export async function recordVerifierRemoval(
  context: Context,
  verifiers: readonly Verifier[],
  reason: keyof typeof mailKinds,
): Promise<void> {
  const [first] = verifiers
  if (!first) return
  for (const { accountId, issuerId, userId, id, type } of verifiers) {
    const target = { type: 'verifier', id }
    await recordEvent(context, 'user.verifier.deleted', { accountId, issuerId, userId, target, data: { type, reason } })
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
  await sendMessage(context, row, { to: row.email, kind: mailKinds[reason], credentials })
}
