/**
 * The console issuer: an issuer of the system account at which administrators sign in, with a public client for the
 * console. The first start creates both. Later starts and `gatehouse admin recover` repair them, so that a deleted
 * or disabled issuer or client, or changed settings of the client, do not lock everyone out
 * (docs/decisions/0053-administrator-recovery.md).
 */
import { newId } from '../kernel/ids.js'
import { ALL_SCOPES, scopeActions, scopeResources } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { type Issuer, type Prisma, sql } from '../platform/postgres/database.js'
import { notify } from '../platform/postgres/notifications.js'
import { createClient } from '../resources/clients/clients.js'
import { redirectUriError } from '../resources/clients/redirect-uris.js'
import { type ConsolePath, consolePath } from '../resources/console-path.js'
import { changesBetween } from '../resources/events/event-fields.js'
import { recordEvent } from '../resources/events/record-event.js'
import { createAuthMethod, updateAuthMethod } from '../resources/issuers/auth-methods.js'
import { hasUsableSignInMethod } from '../resources/issuers/console-sign-in-method.js'
import { createIssuer } from '../resources/issuers/issuers.js'
import { insertApiKey } from '../resources/keys/api-keys.js'
import type { InIssuer } from '../resources/resource-path.js'

const DEPLOYMENT_LOCK_KEY = 72_707_371

/**
 * Locks the deployment until the end of the transaction, so that only one process creates or repairs the required
 * resources. Call this function first in the transaction.
 */
export async function lockDeployment(tx: Context): Promise<void> {
  await tx.db.$executeRawUnsafe('SELECT pg_advisory_xact_lock($1::bigint)', DEPLOYMENT_LOCK_KEY)
}

/** A repaired resource, as text for the log and the command line. */
export type Repair = 'issuer' | 'client' | 'sign-in method'

/**
 * Creates or repairs the system account, the console issuer, its client and its sign-in method. An issuer or client
 * that is not active is reactivated with the same ID, so that users, passkeys and sessions stay valid. Call
 * `lockDeployment` first in the same transaction.
 * @returns the path of the console issuer and what was repaired; `repaired` is empty on the first start and does not
 *   contain changes of the client's settings
 */
export async function ensureConsole(tx: Context): Promise<{ path: ConsolePath; repaired: Repair[] }> {
  const existingPath = await consolePath(tx)
  const accountId = (await findSystemAccountId(tx)) ?? (await createSystemAccount(tx))
  const repaired: Repair[] = []
  const existingIssuer =
    existingPath && (await tx.db.issuer.findFirst({ where: { id: existingPath.issuer_id, accountId } }))
  if (existingIssuer?.status !== 'active') repaired.push('issuer')
  const issuer = existingIssuer ? await reactivateIssuer(tx, existingIssuer) : await createConsoleIssuer(tx, accountId)
  const issuerPath = { accountId, issuerId: issuer.id }
  if (!(await hasUsableSignInMethod(tx, issuer.id))) {
    repaired.push('sign-in method')
    await ensurePasswordMethod(tx, issuerPath)
  }
  const client = await ensureConsoleClient(tx, issuerPath, existingPath?.client_id)
  if (client.repaired) repaired.push('client')
  const path = { account_id: accountId, issuer_id: issuer.id, client_id: client.id }
  if (!existingPath || existingPath.issuer_id !== path.issuer_id || existingPath.client_id !== path.client_id) {
    const row = { name: 'console', value: path }
    await tx.db.deployment.upsert({ where: { name: 'console' }, create: row, update: row })
  }
  return { path, repaired: existingPath ? repaired : [] }
}

async function findSystemAccountId({ db }: Context): Promise<string | undefined> {
  return (await db.account.findFirst({ where: { system: true }, select: { id: true } }))?.id
}

async function createSystemAccount(tx: Context): Promise<string> {
  const now = tx.now()
  const id = newId('acc', now)
  await tx.db.account.create({ data: { id, system: true, name: 'System', createdAt: now, updatedAt: now } })
  await recordEvent(tx, 'account.created', { accountId: id, target: { type: 'account', id } })
  const { apiKey } = tx.config.bootstrap
  if (apiKey) {
    const restrictions = { scopes: [ALL_SCOPES] }
    await insertApiKey(tx, { accountId: id }, { name: 'Bootstrap key', restrictions, secret: apiKey.secret }, apiKey.id)
  }
  return id
}

const createConsoleIssuer = (tx: Context, accountId: string): Promise<Issuer> =>
  createIssuer(tx, { accountId }, { name: 'Gatehouse console' })

async function reactivateIssuer(tx: Context, issuer: Issuer): Promise<Issuer> {
  if (issuer.status === 'active') return issuer
  const { id, accountId } = issuer
  const data = { status: 'active', deletedAt: null, updatedAt: tx.now() }
  const active = await tx.db.issuer.update({ where: { id }, data })
  const target = { type: 'issuer', id }
  await recordEvent(tx, 'issuer.updated', {
    accountId,
    issuerId: id,
    target,
    changes: changesBetween('issuer', issuer, active),
  })
  await notify(tx, 'issuer', id)
  return active
}

/** Enables the authentication method `password` for sign-in, or creates it. */
async function ensurePasswordMethod(tx: Context, path: InIssuer): Promise<void> {
  const row = await tx.db.authMethod.findFirst({ where: { ...path, method: 'password' }, select: { id: true } })
  if (row) await updateAuthMethod(tx, { ...path, methodId: row.id }, { enabledLogin: true })
  else await createAuthMethod(tx, path, { name: 'Password', method: 'password' })
}

/**
 * Creates or repairs the client of the console, so that it is active and has the required settings for the current
 * BASE_URL.
 * @returns `repaired` is true if the client was created or reactivated; a change of the settings does not count
 */
async function ensureConsoleClient(
  tx: Context,
  path: InIssuer,
  id: string | undefined,
): Promise<{ id: string; repaired: boolean }> {
  const requiredSettings = consoleClientSettings(tx)
  const existingClient = id === undefined ? null : await tx.db.client.findFirst({ where: { id, ...path } })
  if (!existingClient) {
    const input = { name: 'Console', type: 'internal', confidential: false, settings: requiredSettings }
    const client = await createClient(tx, path, input)
    return { id: client.id, repaired: true }
  }
  const isActive = existingClient.status === 'active'
  if (isActive && hasRequiredSettings(existingClient.settings, requiredSettings))
    return { id: existingClient.id, repaired: false }
  const data = {
    status: 'active',
    deletedAt: null,
    settings: requiredSettings as Prisma.InputJsonObject,
    updatedAt: tx.now(),
  }
  const client = await tx.db.client.update({ where: { id: existingClient.id }, data })
  const target = { type: 'client', id: client.id }
  const changes = changesBetween('client', existingClient, client)
  await recordEvent(tx, 'client.updated', { ...path, clientId: client.id, target, changes })
  await notify(tx, 'client', client.id)
  return { id: client.id, repaired: !isActive }
}

/**
 * Returns true if the stored settings contain everything that the console requires. After a change of BASE_URL, the
 * stored settings lack the new redirect URIs.
 */
function hasRequiredSettings(stored: unknown, { openid, scopes }: ReturnType<typeof consoleClientSettings>): boolean {
  const current = stored as { openid?: Record<string, unknown>; scopes?: string[] }
  const { application_type, backchannel_logout_uri, ...lists } = openid
  return (
    current.openid?.['application_type'] === application_type &&
    current.openid['backchannel_logout_uri'] === backchannel_logout_uri &&
    scopes.every((scope) => current.scopes?.includes(scope)) &&
    Object.entries(lists).every(([name, requiredValues]) => {
      const storedValues = current.openid?.[name]
      return Array.isArray(storedValues) && requiredValues.every((value) => storedValues.includes(value))
    })
  )
}

/**
 * Returns the required settings of the console's client: authorization code with PKCE, refresh tokens, and access
 * tokens for the Core API. Logs a warning if BASE_URL cannot be used for redirect URIs.
 */
function consoleClientSettings(context: Context) {
  const { baseUrl } = context.config
  const redirectUri = `${baseUrl}/console/callback`
  const isUsable = redirectUriError('spa', redirectUri) === undefined
  // An http address is a loopback address here, and outbound requests to loopback addresses are refused unless
  // ALLOW_PRIVATE_NETWORKS is set. Without back-channel logout, the console detects the end of a session when the
  // GraphQL API refuses its access token.
  const hasBackchannelLogout = isUsable && (baseUrl.startsWith('https:') || context.config.allowPrivateNetworks)
  if (!isUsable)
    context.log.warn(
      `BASE_URL ${baseUrl} is neither an https nor a loopback address, so administrators cannot sign in to the console; set BASE_URL to an https address`,
    )
  return {
    openid: {
      application_type: 'spa',
      redirect_uris: isUsable ? [redirectUri] : [],
      post_logout_redirect_uris: isUsable ? [`${baseUrl}/console`] : [],
      grant_types: ['authorization_code', 'refresh_token'],
      allowed_resources: [baseUrl],
      ...(hasBackchannelLogout && { backchannel_logout_uri: `${baseUrl}/console/backchannel-logout` }),
    },
    scopes: [
      ALL_SCOPES,
      ...Object.keys(scopeResources).flatMap((stem) => scopeActions.map((action) => `${stem}:${action}`)),
    ],
  }
}

const consoleOwnerSql = `
  SELECT a.owner_user_id AS "ownerUserId", EXISTS (SELECT 1 FROM users u WHERE u.id = a.owner_user_id
    AND u.issuer_id = $1 AND u.status = 'active') AS active FROM accounts a WHERE a.system`

/**
 * Returns whether the system account has an owner, and whether that user is an active user of the console issuer
 * (`active`) or not (`inactive`).
 */
export async function consoleOwnerState(
  tx: Context,
  { issuer_id }: ConsolePath,
): Promise<'none' | 'active' | 'inactive'> {
  const [row] = await sql<{ ownerUserId: string | null; active: boolean }>(tx.db, consoleOwnerSql, issuer_id)
  if (!row?.ownerUserId) return 'none'
  return row.active ? 'active' : 'inactive'
}
