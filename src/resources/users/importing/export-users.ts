/** Exports the users of an issuer in the format of gatehouse.ts, which the import can read (docs/import.md). */
import { limits } from '../../../kernel/limits.js'
import type { Context } from '../../../platform/context.js'
import { transaction } from '../../../platform/postgres/transaction.js'
import { recordEvent } from '../../events/record-event.js'
import { deletedUserStatuses, type InIssuer, requireIssuer } from '../../resource-path.js'
import { toGatehouse } from './gatehouse.js'

/**
 * Records the event of the export and yields every user who is not deleted, oldest first. The users are read in
 * batches, so that memory use does not depend on their number.
 * @param withCredentials whether to include password hashes and TOTP secrets
 * @throws not_found
 */
export async function* exportUsers(
  context: Context,
  path: InIssuer,
  withCredentials: boolean,
): AsyncGenerator<Record<string, unknown>[]> {
  const { accountId, issuerId } = path
  await requireIssuer(context, path)
  await transaction(context, (tx) =>
    recordEvent(tx, 'user.export.started', {
      accountId,
      issuerId,
      target: { type: 'issuer', id: issuerId },
      data: { with_credentials: withCredentials },
    }),
  )
  const decrypt = withCredentials ? (ciphertext: string) => context.encryptor.decrypt(ciphertext) : undefined
  for (let lastId = ''; ; ) {
    const users = await context.db.user.findMany({
      where: { accountId, issuerId, id: { gt: lastId }, status: { notIn: deletedUserStatuses } },
      include: { verifiers: true },
      orderBy: { id: 'asc' },
      take: limits.userExportBatchSize,
    })
    yield users.map((user) => toGatehouse(user, decrypt))
    if (users.length < limits.userExportBatchSize) return
    lastId = users.at(-1)!.id
  }
}
