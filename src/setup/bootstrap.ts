/**
 * First start on an empty database (docs/contract.md#first-start): creates the system account, the API key from the
 * environment if there is one, the console issuer and its client, and the first administrator from the environment or a
 * setup link. Later starts repair the console issuer, its client and its sign-in method
 * (docs/decisions/0053-administrator-recovery.md), and, as long as there is no administrator, create one from the
 * environment or print a new setup link.
 */

import { conflict } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { Context } from '../platform/context.js'
import { randomSecret, sha256 } from '../platform/crypto/secrets.js'
import { sql } from '../platform/postgres/database.js'
import { transaction } from '../platform/postgres/transaction.js'
import { createMissingAdministratorOrganizations } from '../resources/accounts/administrators.js'
import { type ConsolePath, consolePath } from '../resources/console-path.js'
import { savePasskey } from '../resources/credentials/passkey.js'
import type { NewPasskey } from '../resources/credentials/passkey-data.js'
import { createVerifier } from '../resources/credentials/verifiers.js'
import { advanceGenerationAfterRestore } from '../resources/events/event-counts.js'
import { createAuthMethod } from '../resources/issuers/auth-methods.js'
import { createUser } from '../resources/users/users.js'
import { consoleOwnerState, ensureConsole, lockDeployment } from './console-issuer.js'

/**
 * Creates or repairs the required resources of a deployment. Several processes may call this function in parallel.
 * @returns the setup link to print; undefined if there is an administrator or this call has created one
 */
export async function bootstrap(context: Context): Promise<{ setupLink: string | undefined }> {
  const result = await transaction(context, async (tx) => {
    await lockDeployment(tx)
    await advanceGenerationAfterRestore(tx)
    const { path, repaired } = await ensureConsole(tx)
    if (repaired.length > 0) context.log.warn(`repaired the console: ${repaired.join(', ')}`)
    const owner = await consoleOwnerState(tx, path)
    if (owner === 'inactive')
      context.log.warn('the owner of the system account cannot sign in; run gatehouse admin recover')
    if (owner !== 'none') return { setupLink: undefined }
    const { admin } = context.config.bootstrap
    if (admin) {
      await createAdministrator(tx, path, admin)
      return { setupLink: undefined }
    }
    return { setupLink: await createSetupLink(tx) }
  })
  await createMissingAdministratorOrganizations(context)
  return result
}

/**
 * The first administrator with one credential. A passkey contains the user ID as its user handle, so `userId` is chosen
 * before the user is created.
 */
export type FirstAdministrator = { email: string } & ({ password: string } | { passkey: NewPasskey; userId: string })

/**
 * Creates the first administrator: a user of the console issuer who owns the system account and therefore is an
 * operator. Deletes the setup link.
 * @returns the user ID
 * @throws invalid_request for an invalid email or password; conflict if another user has this email as username
 */
export async function createAdministrator(
  context: Context,
  path: ConsolePath,
  admin: FirstAdministrator,
): Promise<string> {
  const issuerPath = { accountId: path.account_id, issuerId: path.issuer_id }
  const userInput = { usernameType: 'email', username: admin.email, emailVerified: true }
  const user = await createUser(context, issuerPath, userInput, { id: 'userId' in admin ? admin.userId : undefined })
  if ('passkey' in admin) {
    const passkeyMethod = await context.db.authMethod.findFirst({
      where: { ...issuerPath, method: 'passkey' },
      select: { id: true },
    })
    if (!passkeyMethod) await createAuthMethod(context, issuerPath, { name: 'Passkey', method: 'passkey' })
    await savePasskey(context, user, admin.passkey, { name: 'Passkey' })
  } else {
    const password = { type: 'password', name: 'Password', password: admin.password }
    await createVerifier(context, { ...issuerPath, userId: user.id }, password)
  }
  await context.db.account.update({
    where: { id: path.account_id },
    data: { ownerUserId: user.id, updatedAt: context.now() },
  })
  await context.db.deployment.deleteMany({ where: { name: 'setup' } })
  return user.id
}

/**
 * Creates the first administrator for the command line, and deletes the setup link. If two processes call this function
 * at the same time, one call throws conflict.
 * @returns the user ID
 * @throws conflict if there is an administrator already, or if another user has this email as username; invalid_request
 *   for an invalid email or password
 */
export async function createFirstAdministrator(
  context: Context,
  admin: { email: string; password: string },
): Promise<string> {
  const userId = await transaction(context, async (tx) => {
    await lockDeployment(tx)
    const path = await consolePath(tx)
    if (!path || (await consoleOwnerState(tx, path)) !== 'none') {
      const others = 'add other administrators as members of the administrator organization'
      throw conflict(
        `There is an administrator already; ${others}. If no administrator can sign in, run gatehouse admin recover.`,
      )
    }
    return createAdministrator(tx, path, admin)
  })
  await createMissingAdministratorOrganizations(context)
  return userId
}

/** Creates a setup link and invalidates the previous setup link. */
async function createSetupLink(context: Context): Promise<string> {
  const token = randomSecret()
  const value = { hash: sha256(token), expires_at: context.now() + limits.setupLinkLifetime }
  await context.db.deployment.upsert({ where: { name: 'setup' }, create: { name: 'setup', value }, update: { value } })
  return `${context.config.baseUrl}/setup?token=${token}`
}

/** Returns true if the token belongs to the current setup link and the link has not expired. */
export async function isValidSetupToken(context: Context, token: string): Promise<boolean> {
  const row = await context.db.deployment.findUnique({ where: { name: 'setup' } })
  const value = row?.value as { hash: string; expires_at: number } | undefined
  return value !== undefined && value.hash === sha256(token) && value.expires_at > context.now()
}

/**
 * Creates the administrator and deletes the setup link in one transaction, so that the link works only once.
 * @returns the user ID; undefined if the link is not valid or there is an administrator already
 * @throws the errors of `createAdministrator`
 */
export async function consumeSetupLink(
  context: Context,
  token: string,
  admin: FirstAdministrator,
): Promise<string | undefined> {
  const userId = await transaction(context, async (tx) => {
    const [used] = await sql(
      tx.db,
      `DELETE FROM deployment WHERE name = 'setup' AND value->>'hash' = $1 AND (value->>'expires_at')::bigint > $2 RETURNING name`,
      sha256(token),
      tx.now(),
    )
    const path = await consolePath(tx)
    if (!used || !path || (await consoleOwnerState(tx, path)) !== 'none') return undefined
    return createAdministrator(tx, path, admin)
  })
  if (userId !== undefined) await createMissingAdministratorOrganizations(context)
  return userId
}
