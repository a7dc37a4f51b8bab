/** An export of an issuer's users, which an import takes back (docs/import.md). */
import type { Context } from '../../../platform/context.js'
import { transaction } from '../../../platform/database.js'
import { emit } from '../../events/events.js'
import { goneUser, type InIssuer, requireIssuer } from '../../place.js'
import { toOwn } from './own.js'

const PORTION = 500

/**
 * Every user that is not deleted, the oldest first, in portions, so that memory does not grow with them.
 * @param withCredentials password hashes and TOTP secrets come along
 * @throws not_found
 */
export async function* exportUsers(
  context: Context,
  place: InIssuer,
  withCredentials: boolean,
): AsyncGenerator<Record<string, unknown>[]> {
  const { accountId, issuerId } = place
  await requireIssuer(context, place)
  await transaction(context, (inside) =>
    emit(inside, 'user.export.started', {
      accountId,
      issuerId,
      target: { type: 'issuer', id: issuerId },
      data: { with_credentials: withCredentials },
    }),
  )
  const open = withCredentials ? (sealed: string) => context.sealer.open(sealed) : undefined
  for (let after = ''; ; ) {
    const users = await context.db.user.findMany({
      where: { accountId, issuerId, id: { gt: after }, status: { notIn: goneUser } },
      include: { verifiers: true },
      orderBy: { id: 'asc' },
      take: PORTION,
    })
    yield users.map((user) => toOwn(user, open))
    if (users.length < PORTION) return
    after = users.at(-1)!.id
  }
}
