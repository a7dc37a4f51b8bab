/**
 * First start on an empty database (decisions part 0): the system account, its console issuer and client, the first
 * administrator and key from the environment, or a one-time setup link. Later starts change nothing.
 */
import { conflict } from './kernel/errors.js'
import { newId } from './kernel/ids.js'
import { ALL, actions, stems } from './kernel/scopes.js'
import { MINUTE } from './kernel/time.js'
import type { Context } from './platform/context.js'
import { type Prisma, sql, transaction } from './platform/database.js'
import { randomSecret, sha256 } from './platform/secrets.js'
import { giveMissingAdministrators } from './resources/accounts/administrators.js'
import { callbackFault } from './resources/clients/callbacks.js'
import { createClient } from './resources/clients/clients.js'
import { type ConsolePlace, consolePlace } from './resources/console-place.js'
import { keepPasskey, type NewPasskey } from './resources/credentials/passkey.js'
import { createVerifier } from './resources/credentials/verifiers.js'
import { keepPlacesRising } from './resources/events/counting.js'
import { emit } from './resources/events/events.js'
import { createAuthMethod } from './resources/issuers/auth-methods.js'
import { createIssuer } from './resources/issuers/issuers.js'
import { insertApiKey } from './resources/keys/api-keys.js'
import { createUser } from './resources/users/users.js'

/** How long a setup link works (milliseconds). */
const LINK_LIFE = 30 * MINUTE
const BOOTSTRAP_LOCK = 72_707_371

/**
 * Makes what a deployment cannot do without. Safe to run in several processes at once.
 * @returns the setup link to print, if there is no administrator yet
 */
export async function bootstrap(context: Context): Promise<{ setupLink: string | undefined }> {
  const start = await transaction(context, async (inside) => {
    await inside.db.$executeRawUnsafe('SELECT pg_advisory_xact_lock($1::bigint)', BOOTSTRAP_LOCK)
    await keepPlacesRising(inside)
    const place = (await consolePlace(inside)) ?? (await makeConsole(inside))
    await followAddress(inside, place)
    if (await hasAdministrator(inside)) return { setupLink: undefined }
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

async function makeConsole(context: Context): Promise<ConsolePlace> {
  const now = context.now()
  const account = await context.db.account.create({
    data: { id: newId('acc', now), system: true, name: 'System', createdAt: now, updatedAt: now },
  })
  await emit(context, 'account.created', { accountId: account.id, target: { type: 'account', id: account.id } })
  const issuer = await createIssuer(context, { accountId: account.id }, { name: 'Gatehouse console' })
  const at = { accountId: account.id, issuerId: issuer.id }
  await createAuthMethod(context, at, { name: 'Password', method: 'password' })
  const { client } = await createClient(context, at, {
    name: 'Console',
    type: 'internal',
    confidential: false,
    settings: consoleSettings(context),
  })
  const place = { account_id: account.id, issuer_id: issuer.id, client_id: client.id }
  await context.db.deployment.create({ data: { name: 'console', value: place } })
  const { apiKey } = context.config.bootstrap
  if (apiKey) {
    const restrictions = { scopes: [ALL] }
    await insertApiKey(context, at, { id: apiKey.id, name: 'Bootstrap key', restrictions, secret: apiKey.secret })
  }
  return place
}

/** What the console's client may do: sign in with code and PKCE, and ask for tokens for the Core API. */
function consoleSettings(context: Context) {
  const { baseUrl } = context.config
  const callback = `${baseUrl}/console/callback`
  const usable = callbackFault('spa', callback) === undefined
  // A notice to a private address would be refused on its way out; the console notices the end of a session by itself.
  const told = usable && (baseUrl.startsWith('https:') || context.config.allowPrivateNetworks)
  if (!usable) context.log.warn(`${baseUrl} is neither https nor loopback, so nobody can sign in to the console there`)
  return {
    openid: {
      application_type: 'spa',
      redirect_uris: usable ? [callback] : [],
      post_logout_redirect_uris: usable ? [`${baseUrl}/console`] : [],
      grant_types: ['authorization_code', 'refresh_token'],
      allowed_resources: [baseUrl],
      ...(told && { backchannel_logout_uri: `${baseUrl}/console/backchannel-logout` }),
    },
    scopes: [ALL, ...Object.keys(stems).flatMap((stem) => actions.map((action) => `${stem}:${action}`))],
  }
}

/** BASE_URL may change between starts; the console's client follows it. */
async function followAddress(context: Context, place: ConsolePlace): Promise<void> {
  const client = await context.db.client.findUnique({ where: { id: place.client_id } })
  const { openid } = (client?.settings ?? {}) as {
    openid?: { allowed_resources?: string[]; backchannel_logout_uri?: string }
  }
  const wanted = consoleSettings(context)
  const same =
    openid?.allowed_resources?.includes(context.config.baseUrl) &&
    openid.backchannel_logout_uri === wanted.openid.backchannel_logout_uri
  if (!client || same) return
  const settings = wanted as Prisma.InputJsonObject
  await context.db.client.update({ where: { id: client.id }, data: { settings, updatedAt: context.now() } })
}

async function hasAdministrator(context: Context): Promise<boolean> {
  const account = await context.db.account.findFirst({ where: { system: true }, select: { ownerUserId: true } })
  return account?.ownerUserId !== null
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
    await inside.db.$executeRawUnsafe('SELECT pg_advisory_xact_lock($1::bigint)', BOOTSTRAP_LOCK)
    const place = await consolePlace(inside)
    if (!place || (await hasAdministrator(inside)))
      throw conflict('There is an administrator already; further ones are members of the administrator organization.')
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
    if (!used || !place || (await hasAdministrator(inside))) return undefined
    return makeAdministrator(inside, place, admin)
  })
  if (userId !== undefined) await giveMissingAdministrators(context)
  return userId
}
