/** A person chooses a new password while signing in, because the one just used may not be used again. */
import { notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import type { Context } from '../../platform/context.js'
import type { Prisma, Verifier } from '../../platform/database.js'
import { hashPassword, verifyPassword } from '../../platform/secrets.js'
import { emit } from '../events/events.js'
import { sendMessage } from '../messages/messages.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import { lockOwner, toldVerifier } from './kind.js'
import { mailboxOf } from './mail-owner.js'
import { checkPassword, passwordPolicyOf } from './password-policy.js'
import type { SignInUser } from './sign-in.js'

/** The new password is the one that had to be changed. */
export class SamePassword extends Error {}

/**
 * Checks and hashes a new password; slow, so it is done before the transaction.
 * @returns what to do in the transaction of the step: the password verifier is replaced, temporary passwords go, and
 * sessions begun with the old password end
 * @throws invalid_request with one detail per broken rule of the policy; SamePassword
 */
export async function prepareNewPassword(
  context: Context,
  issuer: { name: string; settings: unknown },
  user: SignInUser,
  password: string,
): Promise<(inside: Context) => Promise<void>> {
  const { issuerId, id: userId } = user
  const row = await context.db.user.findFirst({
    where: { id: userId, issuerId, status: 'active' },
    include: { verifiers: { where: { type: { in: passwords } } } },
  })
  if (!row) throw notFound('user')
  const current = row.verifiers.find((verifier) => verifier.type === 'password')
  for (const { hash } of row.verifiers) {
    if (await verifyPassword(hash, password)) throw new SamePassword()
  }
  const policy = passwordPolicyOf(issuer)
  const previousHashes = [...(current?.hash ? [current.hash] : []), ...(current?.previousHashes ?? [])].slice(
    0,
    policy.history,
  )
  await checkPassword(
    context,
    policy,
    password,
    { username: row.username, profile: row.profile, previousHashes },
    'new_password',
  )
  const hash = await hashPassword(password)

  return async (inside) => {
    await lockOwner(inside, user)
    const now = inside.now()
    const secret = { hash, previousHashes, secretSetAt: now, mustChange: false, expiresAt: null, updatedAt: now }
    // As they are now: an administrator, or they themselves elsewhere, may have been quicker.
    const present = await inside.db.verifier.findMany({ where: { userId, issuerId, type: { in: passwords } } })
    const before = present.find(({ type }) => type === 'password')
    const verifier = before
      ? await inside.db.verifier.update({ where: { id: before.id }, data: secret })
      : await inside.db.verifier.create({ data: newVerifier(user, now, secret) })
    await toldVerifier(inside, before ? 'user.verifier.updated' : 'user.verifier.created', verifier, before)
    for (const temporary of present.filter(({ type }) => type === 'temporary_password')) {
      await inside.db.verifier.deleteMany({ where: { id: temporary.id } })
      await tellReplaced(inside, temporary)
    }
    await endSessionsOfUser(inside, user, 'password_changed')
    const { email } = (await mailboxOf(inside, user)) ?? {}
    if (email) await sendMessage(inside, issuer, { to: email, kind: 'password_changed' })
  }
}

const passwords = ['password', 'temporary_password']

type Secret = Pick<Prisma.VerifierUncheckedCreateInput, 'hash' | 'mustChange' | 'updatedAt'> & {
  previousHashes: string[]
}

function newVerifier({ accountId, issuerId, id: userId }: SignInUser, now: number, secret: Secret) {
  return {
    ...secret,
    id: newId('vrf', now),
    accountId,
    issuerId,
    userId,
    type: 'password',
    createdBy: userId,
    createdAt: now,
  }
}

async function tellReplaced(context: Context, { accountId, issuerId, userId, id, type }: Verifier): Promise<void> {
  const target = { type: 'verifier', id }
  const data = { type, reason: 'replaced' }
  await emit(context, 'user.verifier.deleted', { accountId, issuerId, userId, target, data })
}
