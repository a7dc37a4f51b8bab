/**
 * Sets a new password during a sign-in, because the old one is temporary, expired or marked with `must_change`, or
 * because the user has forgotten it.
 */
import { notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import type { Context } from '../../platform/context.js'
import { hashPassword, verifyPassword } from '../../platform/crypto/secrets.js'
import type { Prisma, Verifier } from '../../platform/postgres/database.js'
import { recordEvent } from '../events/record-event.js'
import { sendMessage } from '../messages/messages.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import { lockMailbox } from './mailbox.js'
import { checkNewPassword, passwordPolicyOf } from './password-policy.js'
import type { SignInUser } from './sign-in.js'
import { lockVerifierOwner, recordVerifierEvent } from './verifier-kind.js'

/** Thrown if the new password equals the current password or a temporary password of the user. */
export class SamePasswordError extends Error {}

/**
 * Checks and hashes a new password. Call it before the transaction, because hashing is slow.
 * @returns a function to call in the transaction of the sign-in step. It replaces the password, deletes temporary
 *   passwords, ends the user's sessions and notifies the user by email. It throws not_found if the user has been
 *   deleted.
 * @throws the errors of `checkNewPassword`, not_found if the user is not active, SamePasswordError
 */
export async function prepareNewPassword(
  context: Context,
  issuer: { name: string; settings: unknown },
  user: SignInUser,
  password: string,
): Promise<(tx: Context) => Promise<void>> {
  const { issuerId, id: userId } = user
  const row = await context.db.user.findFirst({
    where: { id: userId, issuerId, status: 'active' },
    include: { verifiers: { where: { type: { in: passwordTypes } } } },
  })
  if (!row) throw notFound('user')
  const current = row.verifiers.find((verifier) => verifier.type === 'password')
  for (const { hash } of row.verifiers) {
    if (await verifyPassword(hash, password)) throw new SamePasswordError()
  }
  const policy = passwordPolicyOf(issuer)
  const previousHashes = [...(current?.hash ? [current.hash] : []), ...(current?.previousHashes ?? [])].slice(
    0,
    policy.history,
  )
  await checkNewPassword(
    context,
    policy,
    password,
    { username: row.username, profile: row.profile, previousHashes },
    'new_password',
  )
  const hash = await hashPassword(password)

  return async (tx) => {
    await lockVerifierOwner(tx, user)
    const now = tx.now()
    const columns = { hash, previousHashes, secretSetAt: now, mustChange: false, expiresAt: null, updatedAt: now }
    // The passwords are read again, because an administrator or another browser may have changed them since the check.
    const existing = await tx.db.verifier.findMany({ where: { userId, issuerId, type: { in: passwordTypes } } })
    const before = existing.find(({ type }) => type === 'password')
    const verifier = before
      ? await tx.db.verifier.update({ where: { id: before.id }, data: columns })
      : await tx.db.verifier.create({ data: newPasswordVerifier(user, now, columns) })
    await recordVerifierEvent(tx, before ? 'user.verifier.updated' : 'user.verifier.created', verifier, before)
    for (const temporary of existing.filter(({ type }) => type === 'temporary_password')) {
      await tx.db.verifier.deleteMany({ where: { id: temporary.id } })
      await recordVerifierReplaced(tx, temporary)
    }
    await endSessionsOfUser(tx, user, 'password_changed')
    const { email } = (await lockMailbox(tx, user)) ?? {}
    if (email) await sendMessage(tx, issuer, { to: email, kind: 'password_changed' })
  }
}

const passwordTypes = ['password', 'temporary_password']

type PasswordColumns = Pick<Prisma.VerifierUncheckedCreateInput, 'hash' | 'mustChange' | 'updatedAt'> & {
  previousHashes: string[]
}

function newPasswordVerifier({ accountId, issuerId, id: userId }: SignInUser, now: number, columns: PasswordColumns) {
  return {
    ...columns,
    id: newId('vrf', now),
    accountId,
    issuerId,
    userId,
    type: 'password',
    createdBy: userId,
    createdAt: now,
  }
}

async function recordVerifierReplaced(
  context: Context,
  { accountId, issuerId, userId, id, type }: Verifier,
): Promise<void> {
  const target = { type: 'verifier', id }
  const data = { type, reason: 'replaced' }
  await recordEvent(context, 'user.verifier.deleted', { accountId, issuerId, userId, target, data })
}
