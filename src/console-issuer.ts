/**
 * The console issuer: an issuer of the system account with a public client, at which administrators sign in. First start
 * creates it. Every later start and `gatehouse admin recover` repair it, so that no deletion is for good (decision 0067).
 */
import { newId } from './kernel/ids.js'
import { ALL, actions, stems } from './kernel/scopes.js'
import type { Context } from './platform/context.js'
import { type Issuer, type Prisma, sql } from './platform/database.js'
import { announce } from './platform/notify.js'
import { callbackFault } from './resources/clients/callbacks.js'
import { createClient } from './resources/clients/clients.js'
import { type ConsolePlace, consolePlace } from './resources/console-place.js'
import { emit } from './resources/events/events.js'
import { changesBetween } from './resources/events/names.js'
import { createAuthMethod, updateAuthMethod } from './resources/issuers/auth-methods.js'
import { hasSignIn } from './resources/issuers/console-sign-in.js'
import { createIssuer } from './resources/issuers/issuers.js'
import { insertApiKey } from './resources/keys/api-keys.js'
import type { InIssuer } from './resources/place.js'

const LOCK = 72_707_371

/**
 * Waits for the other process that creates or repairs what the deployment cannot do without, until the end of this
 * transaction. Call it first in the transaction.
 */
export async function lockDeployment(inside: Context): Promise<void> {
  await inside.db.$executeRawUnsafe('SELECT pg_advisory_xact_lock($1::bigint)', LOCK)
}

/** What was repaired, in words for the log and for the command line. */
export type Repair = 'issuer' | 'client' | 'sign-in method'

/**
 * Creates the console issuer, or repairs it: an issuer or client that was deleted or disabled is active again, with the
 * same id, so that users, passkeys and sessions stay good. What is no longer in the database is created. Call it under
 * `lockDeployment`.
 */
export async function ensureConsole(inside: Context): Promise<{ place: ConsolePlace; repaired: Repair[] }> {
  const before = await consolePlace(inside)
  const accountId = (await systemAccount(inside)) ?? (await createSystemAccount(inside))
  const repaired: Repair[] = []
  const found = before && (await inside.db.issuer.findFirst({ where: { id: before.issuer_id, accountId } }))
  if (found?.status !== 'active') repaired.push('issuer')
  const issuer = found ? await activeIssuer(inside, found) : await newIssuer(inside, accountId)
  const at = { accountId, issuerId: issuer.id }
  if (!(await hasSignIn(inside, issuer.id))) {
    repaired.push('sign-in method')
    await passwordMethod(inside, at)
  }
  const client = await consoleClient(inside, at, before?.client_id)
  if (client.repaired) repaired.push('client')
  const place = { account_id: accountId, issuer_id: issuer.id, client_id: client.id }
  if (!before || before.issuer_id !== place.issuer_id || before.client_id !== place.client_id) {
    const row = { name: 'console', value: place }
    await inside.db.deployment.upsert({ where: { name: 'console' }, create: row, update: row })
  }
  return { place, repaired: before ? repaired : [] }
}

async function systemAccount({ db }: Context): Promise<string | undefined> {
  return (await db.account.findFirst({ where: { system: true }, select: { id: true } }))?.id
}

async function createSystemAccount(inside: Context): Promise<string> {
  const now = inside.now()
  const id = newId('acc', now)
  await inside.db.account.create({ data: { id, system: true, name: 'System', createdAt: now, updatedAt: now } })
  await emit(inside, 'account.created', { accountId: id, target: { type: 'account', id } })
  const { apiKey } = inside.config.bootstrap
  if (apiKey) {
    const restrictions = { scopes: [ALL] }
    await insertApiKey(
      inside,
      { accountId: id },
      { id: apiKey.id, name: 'Bootstrap key', restrictions, secret: apiKey.secret },
    )
  }
  return id
}

const newIssuer = (inside: Context, accountId: string): Promise<Issuer> =>
  createIssuer(inside, { accountId }, { name: 'Gatehouse console' })

async function activeIssuer(inside: Context, issuer: Issuer): Promise<Issuer> {
  if (issuer.status === 'active') return issuer
  const { id, accountId } = issuer
  const data = { status: 'active', deletedAt: null, updatedAt: inside.now() }
  const active = await inside.db.issuer.update({ where: { id }, data })
  const target = { type: 'issuer', id }
  await emit(inside, 'issuer.updated', {
    accountId,
    issuerId: id,
    target,
    changes: changesBetween('issuer', issuer, active),
  })
  await announce(inside, 'issuer', id)
  return active
}

/** Lets people sign in by password. */
async function passwordMethod(inside: Context, at: InIssuer): Promise<void> {
  const row = await inside.db.authMethod.findFirst({ where: { ...at, method: 'password' }, select: { id: true } })
  if (row) await updateAuthMethod(inside, { ...at, methodId: row.id }, { enabledLogin: true })
  else await createAuthMethod(inside, at, { name: 'Password', method: 'password' })
}

/** The client of the console, active and with what it needs to sign people in at the present BASE_URL. */
async function consoleClient(
  inside: Context,
  at: InIssuer,
  id: string | undefined,
): Promise<{ id: string; repaired: boolean }> {
  const wanted = consoleSettings(inside)
  const found = id === undefined ? null : await inside.db.client.findFirst({ where: { id, ...at } })
  if (!found) {
    const input = { name: 'Console', type: 'internal', confidential: false, settings: wanted }
    const { client } = await createClient(inside, at, input)
    return { id: client.id, repaired: true }
  }
  const isActive = found.status === 'active'
  if (isActive && fits(found.settings, wanted)) return { id: found.id, repaired: false }
  const data = {
    status: 'active',
    deletedAt: null,
    settings: wanted as Prisma.InputJsonObject,
    updatedAt: inside.now(),
  }
  const client = await inside.db.client.update({ where: { id: found.id }, data })
  const target = { type: 'client', id: client.id }
  const changes = changesBetween('client', found, client)
  await emit(inside, 'client.updated', { ...at, clientId: client.id, target, changes })
  await announce(inside, 'client', client.id)
  return { id: client.id, repaired: !isActive }
}

/** Do the stored settings allow all that the console asks for? BASE_URL may have changed since they were written. */
function fits(stored: unknown, { openid, scopes }: ReturnType<typeof consoleSettings>): boolean {
  const now = stored as { openid?: Record<string, unknown>; scopes?: string[] }
  const { application_type, backchannel_logout_uri, ...lists } = openid
  return (
    now.openid?.['application_type'] === application_type &&
    now.openid['backchannel_logout_uri'] === backchannel_logout_uri &&
    scopes.every((scope) => now.scopes?.includes(scope)) &&
    Object.entries(lists).every(([name, wanted]) => {
      const held = now.openid?.[name]
      return Array.isArray(held) && wanted.every((value) => held.includes(value))
    })
  )
}

/** What the console's client may do: sign in with code and PKCE, and ask for tokens for the Core API. */
function consoleSettings(context: Context) {
  const { baseUrl } = context.config
  const callback = `${baseUrl}/console/callback`
  const usable = callbackFault('spa', callback) === undefined
  // A notice to a private address would be refused on its way out; the console notices the end of a session by itself.
  const told = usable && (baseUrl.startsWith('https:') || context.config.allowPrivateNetworks)
  if (!usable)
    context.log.warn(
      `${baseUrl} is neither https nor a loopback address, so the console cannot be used there: set BASE_URL to an https address`,
    )
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

const ownerText = `
  SELECT a.owner_user_id AS "ownerUserId", EXISTS (SELECT 1 FROM users u WHERE u.id = a.owner_user_id
    AND u.issuer_id = $1 AND u.status = 'active') AS active FROM accounts a WHERE a.system`

/** Whether the system account has an owner, and whether that user can sign in (`active`) or not (`away`). */
export async function consoleOwner(inside: Context, { issuer_id }: ConsolePlace): Promise<'none' | 'active' | 'away'> {
  const [row] = await sql<{ ownerUserId: string | null; active: boolean }>(inside.db, ownerText, issuer_id)
  if (!row?.ownerUserId) return 'none'
  return row.active ? 'active' : 'away'
}
