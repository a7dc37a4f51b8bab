/**
 * First start on an empty database (decisions part 0): the system account, its console issuer and client, the first
 * administrator and key from the environment, or a one-time setup link. Later starts only repair the console
 * (decision 0067).
 */
import { consoleOwner, ensureConsole, lockDeployment } from './console-issuer.js'
import { conflict } from './kernel/errors.js'
import { MINUTE } from './kernel/time.js'
import type { Context } from './platform/context.js'
import { sql, transaction } from './platform/database.js'
import { randomSecret, sha256 } from './platform/secrets.js'
import { giveMissingAdministrators } from './resources/accounts/administrators.js'
import { type ConsolePlace, consolePlace } from './resources/console-place.js'
import { keepPasskey, type NewPasskey } from './resources/credentials/passkey.js'
import { createVerifier } from './resources/credentials/verifiers.js'
import { keepPlacesRising } from './resources/events/counting.js'
import { createAuthMethod } from './resources/issuers/auth-methods.js'
import { createUser } from './resources/users/users.js'

/** How long a setup link works (milliseconds). */
const LINK_LIFE = 30 * MINUTE

/**
 * Makes what a deployment cannot do without. Safe to run in several processes at once.
 * @returns the setup link to print, if there is no administrator yet
 */
export async function bootstrap(context: Context): Promise<{ setupLink: string | undefined }> {
  const start = await transaction(context, async (inside) => {
    await lockDeployment(inside)
    await keepPlacesRising(inside)
    const { place, repaired } = await ensureConsole(inside)
    if (repaired.length > 0) context.log.warn(`repaired the console: ${repaired.join(', ')}`)
    const owner = await consoleOwner(inside, place)
    if (owner === 'away')
      context.log.warn('the owner of the system account cannot sign in; see gatehouse admin recover')
    if (owner !== 'none') return { setupLink: undefined }
    const { admin } = context.config.bootstrap
    if (admin) {
      await makeAdministrator(inside, place, admin)
      return { setupLink: undefined }
    }
    return { setupLink: await newSetupLink(inside) }
  })
  await giveMissingAdministrators(context)
  return start
}

/** The first administrator, with one way to sign in. A passkey names its owner, so there the user's id is given. */
export type FirstAdministrator = { email: string } & ({ password: string } | { passkey: NewPasskey; userId: string })

/**
 * Makes the first administrator: a user of the console issuer who owns the system account, and so is an operator.
 * @returns the user's id
 * @throws invalid_request for an email or password that the rules refuse
 */
export async function makeAdministrator(
  context: Context,
  place: ConsolePlace,
  admin: FirstAdministrator,
): Promise<string> {
  const at = { accountId: place.account_id, issuerId: place.issuer_id }
  const person = { usernameType: 'email', username: admin.email, emailVerified: true }
  const user = await createUser(context, at, person, { id: 'userId' in admin ? admin.userId : undefined })
  if ('passkey' in admin) {
    const offered = await context.db.authMethod.findFirst({ where: { ...at, method: 'passkey' }, select: { id: true } })
    if (!offered) await createAuthMethod(context, at, { name: 'Passkey', method: 'passkey' })
    await keepPasskey(context, user, admin.passkey, { name: 'Passkey' })
  } else {
    const password = { type: 'password', name: 'Password', password: admin.password }
    await createVerifier(context, { ...at, userId: user.id }, password)
  }
  await context.db.account.update({
    where: { id: place.account_id },
    data: { ownerUserId: user.id, updatedAt: context.now() },
  })
  await context.db.deployment.deleteMany({ where: { name: 'setup' } })
  return user.id
}

/**
 * The same for the command line, once: of two at the same moment one comes too late. Ends the setup link.
 * @returns the user's id
 * @throws conflict when there is an administrator; invalid_request
 */
export async function makeFirstAdministrator(
  context: Context,
  admin: { email: string; password: string },
): Promise<string> {
  const userId = await transaction(context, async (inside) => {
    await lockDeployment(inside)
    const place = await consolePlace(inside)
    if (!place || (await consoleOwner(inside, place)) !== 'none') {
      const others = 'further ones are members of the administrator organization'
      throw conflict(
        `There is an administrator already; ${others}. If no administrator can sign in, run gatehouse admin recover.`,
      )
    }
    return makeAdministrator(inside, place, admin)
  })
  await giveMissingAdministrators(context)
  return userId
}

/** Each start without an administrator makes a new link and ends the one before. */
async function newSetupLink(context: Context): Promise<string> {
  const token = randomSecret()
  const value = { hash: sha256(token), expires_at: context.now() + LINK_LIFE }
  await context.db.deployment.upsert({ where: { name: 'setup' }, create: { name: 'setup', value }, update: { value } })
  return `${context.config.baseUrl}/setup?token=${token}`
}

/** Is this the token of the setup link in force? */
export async function setupTokenFits(context: Context, token: string): Promise<boolean> {
  const row = await context.db.deployment.findUnique({ where: { name: 'setup' } })
  const value = row?.value as { hash: string; expires_at: number } | undefined
  return value !== undefined && value.hash === sha256(token) && value.expires_at > context.now()
}

/**
 * Uses the setup link: makes the administrator and ends the link in one transaction, so that it works once.
 * @returns the administrator's user id; undefined when the link is not in force
 * @throws invalid_request for an email or password that the rules refuse
 */
export async function consumeSetupLink(
  context: Context,
  token: string,
  admin: FirstAdministrator,
): Promise<string | undefined> {
  const userId = await transaction(context, async (inside) => {
    const [used] = await sql(
      inside.db,
      `DELETE FROM deployment WHERE name = 'setup' AND value->>'hash' = $1 AND (value->>'expires_at')::bigint > $2 RETURNING name`,
      sha256(token),
      inside.now(),
    )
    const place = await consolePlace(inside)
    if (!used || !place || (await consoleOwner(inside, place)) !== 'none') return undefined
    return makeAdministrator(inside, place, admin)
  })
  if (userId !== undefined) await giveMissingAdministrators(context)
  return userId
}
