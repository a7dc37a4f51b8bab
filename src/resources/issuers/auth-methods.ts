/** How people sign in at an issuer (spec 2.4, decisions D12). Secrets of upstream providers are sealed and write-only. */
import { z } from 'zod'
import { conflict, invalid, invalidField, notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { isObject, type JsonObject, mergePatch } from '../../kernel/merge.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type AuthMethod, isDuplicate, type Prisma, transaction } from '../../platform/database.js'
import { announce } from '../../platform/notify.js'
import { requireAuthorityOfIssuer } from '../authority.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { after, type InIssuer, ofLivingIssuer, requireIssuer } from '../place.js'
import { revise } from '../revise.js'
import { requireConsoleSignIn } from './console-sign-in.js'
import { type MethodSettings, notReadyReason } from './readiness.js'
import {
  checkUpstream,
  federated,
  isUpstreamKind,
  isUsableSecret,
  secretTarget,
  type UpstreamSettings,
} from './upstream-settings.js'

const methods = [
  'password',
  'email_link',
  'email_otp',
  'passkey',
  'totp',
  'backup_codes',
  'oidc',
  'oauth2',
  'apple',
  'github',
] as const
export const authMethodKinds = methods
export type AuthMethodKind = (typeof methods)[number]

export interface MethodPlace extends InIssuer {
  methodId: string
}

const createRules = z.strictObject({
  name: rules.name,
  method: z.enum(methods, `must be one of ${methods.join(', ')}.`),
  enabledLogin: rules.boolean.optional(),
  enabledSignup: rules.boolean.optional(),
  featured: rules.boolean.optional(),
  firstFactorOnly: rules.boolean.optional(),
  settings: rules.object.optional(),
})

const updateRules = createRules.omit({ method: true }).partial().extend({ method: z.unknown().optional() })

/** Newest first. */
export async function listAuthMethods(
  context: Context,
  place: InIssuer,
  request: PageRequest,
): Promise<Page<AuthMethod>> {
  const { accountId, issuerId } = place
  const limit = limitOf(request)
  const rows = await context.db.authMethod.findMany({
    where: { AND: [{ accountId, issuerId, ...ofLivingIssuer }, after('am', request.cursor)] },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, place)
  return pageOf(rows, limit)
}

const find = (context: Context, { accountId, issuerId, methodId }: MethodPlace) =>
  context.db.authMethod.findFirst({ where: { id: methodId, accountId, issuerId, ...ofLivingIssuer } })

/** @throws not_found */
export async function getAuthMethod(context: Context, place: MethodPlace): Promise<AuthMethod> {
  const method = await find(context, place)
  if (!method) throw notFound('authentication method')
  return method
}

/**
 * A method by which people may sign in as users who are here already asks for their authority (decisions D30).
 * @throws invalid_request, insufficient_scope, not_found, conflict for a second one of a kind that stands once
 */
export async function createAuthMethod(context: Context, place: InIssuer, input: unknown): Promise<AuthMethod> {
  const values = check(createRules, input)
  checkVariant(values.method, values.firstFactorOnly, 'settings' in values)
  const { settings, secrets } = checkSettings(context, values.method, values.settings ?? {}, {})
  return transaction(context, async (inside) => {
    await requireIssuer(inside, place)
    if (letsIn(values.method, settings)) await requireAuthorityOfIssuer(inside, place.issuerId)
    const now = inside.now()
    try {
      const method = await inside.db.authMethod.create({
        data: {
          id: newId('am', now),
          accountId: place.accountId,
          issuerId: place.issuerId,
          name: values.name,
          method: values.method,
          enabledLogin: values.enabledLogin ?? true,
          enabledSignup: values.enabledSignup ?? false,
          featured: values.featured ?? false,
          firstFactorOnly: isUpstreamKind(values.method),
          settings: settings as Prisma.InputJsonObject,
          secrets: secrets as Prisma.InputJsonObject,
          createdAt: now,
          updatedAt: now,
        },
      })
      await told(inside, 'issuer.auth_method.created', method)
      return method
    } catch (error) {
      if (isDuplicate(error)) throw conflict(`This issuer has a ${values.method} method already.`)
      throw error
    }
  })
}

/**
 * PATCH: settings by JSON Merge Patch; `method` never changes. A method that lets people in again, another provider behind
 * a federated one, or the end of a second factor changes how everybody signs in and asks for the authority of the
 * issuer's users (decisions D30).
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed
 */
export async function updateAuthMethod(context: Context, place: MethodPlace, input: unknown, ifMatch?: string | null) {
  const { settings, method, ...values } = check(updateRules, input)
  if (method !== undefined)
    throw invalidField('method', 'immutable', 'cannot be changed; delete this one and make another.')
  return revise<AuthMethod, Prisma.AuthMethodUncheckedUpdateManyInput>(context, {
    what: 'authentication method',
    table: 'auth_methods',
    ifMatch,
    read: (now) => find(now, place),
    change: async (row, inside) => {
      const kind = row.method as AuthMethodKind
      if (values.firstFactorOnly !== undefined) checkVariant(kind, values.firstFactorOnly, true)
      const merged =
        settings &&
        checkSettings(context, kind, mergePatch(row.settings, settings) as JsonObject, row.secrets as JsonObject)
      // Enabled again, a provider lets its former people in, whether or not it finds others by their address.
      const opens = values.enabledLogin === true && !row.enabledLogin && !isSecondFactor(kind)
      const redirects = isUpstreamKind(kind) && settings !== undefined
      if (opens || redirects || (values.enabledLogin === false && endsFactor(row)))
        await requireAuthorityOfIssuer(inside, place.issuerId)
      return {
        ...values,
        ...(merged as { settings: Prisma.InputJsonObject; secrets: Prisma.InputJsonObject } | undefined),
      }
    },
    write: async (now, version, data) =>
      (await now.db.authMethod.updateManyAndReturn({ where: { id: place.methodId, updatedAt: version }, data }))[0],
    also: async (inside, before, row) => {
      await requireConsoleSignIn(inside, row.issuerId)
      await told(inside, 'issuer.auth_method.updated', row, before)
    },
  })
}

/** @throws insufficient_scope where it ends a second factor, not_found, precondition_failed */
export async function deleteAuthMethod(context: Context, place: MethodPlace, ifMatch?: string | null): Promise<void> {
  await revise<AuthMethod, object>(context, {
    what: 'authentication method',
    table: 'auth_methods',
    ifMatch,
    read: (now) => find(now, place),
    change: async (row, inside) => {
      if (endsFactor(row)) await requireAuthorityOfIssuer(inside, place.issuerId)
      return {}
    },
    write: async (now, version) => {
      const where = { id: place.methodId, updatedAt: version }
      const row = await now.db.authMethod.findFirst({ where })
      return (await now.db.authMethod.deleteMany({ where })).count === 1 ? row : null
    },
    also: async (inside, _, row) => {
      await requireConsoleSignIn(inside, row.issuerId)
      await told(inside, 'issuer.auth_method.deleted', row)
    },
  })
}

async function told(
  context: Context,
  type: 'issuer.auth_method.created' | 'issuer.auth_method.updated' | 'issuer.auth_method.deleted',
  row: AuthMethod,
  before?: AuthMethod,
): Promise<void> {
  const { accountId, issuerId, id } = row
  await emit(context, type, {
    accountId,
    issuerId,
    target: { type: 'auth_method', id },
    data: { method: row.method, name: row.name },
    changes: before ? changesBetween('auth_method', before, row) : {},
  })
  await announce(context, 'issuer', issuerId)
}

/** Methods that are asked for after another one, and let nobody in by themselves. */
const isSecondFactor = (method: string): boolean => method === 'totp' || method === 'backup_codes'

/** May people sign in by this new method as users who are here already? A new provider knows them by their address only. */
const letsIn = (method: string, settings: unknown): boolean =>
  isUpstreamKind(method) ? (settings as UpstreamSettings).link_by_email !== false : !isSecondFactor(method)

/** Without this method its users' second factors are asked of them no more. */
const endsFactor = ({ method, enabledLogin }: AuthMethod): boolean =>
  enabledLogin && (isSecondFactor(method) || method === 'passkey')

/** `first_factor_only` belongs to the federated methods, where it must be literally true (decisions D12). */
function checkVariant(method: AuthMethodKind, firstFactorOnly: boolean | undefined, hasSettings: boolean): void {
  if (!isUpstreamKind(method)) {
    if (firstFactorOnly === undefined) return
    throw invalidField('firstFactorOnly', 'unknown_field', `does not belong to the method ${method}.`)
  }
  const missing = [...(firstFactorOnly === undefined ? ['firstFactorOnly'] : []), ...(hasSettings ? [] : ['settings'])]
  const message = `is required for the method ${method}.`
  if (missing.length > 0) throw invalid(missing.map((field) => ({ field, code: 'required', message })))
  if (firstFactorOnly !== true)
    throw invalidField('firstFactorOnly', 'invalid_value', `must be true for the method ${method}.`)
}

/** The secret of an upstream provider as it is stored. */
type StoredUpstreamSecret = {
  sealed: string
  /** What the secret is for. */
  target: string
  /** It is stored as it was given, but the method cannot be used with it (decisions D35). */
  unusable?: true
}

/**
 * Takes the secret out of the settings and seals it; a stored one stays unless a new one is given. When the address
 * that the secret was for changes, it must be given again (security rule 19).
 */
function checkSettings(context: Context, method: AuthMethodKind, given: JsonObject, stored: JsonObject) {
  if (!isUpstreamKind(method)) return { settings: given, secrets: {} }
  const variant = federated[method]
  const { [variant.secret]: secret, [`${variant.secret}_set`]: _shown, ...settings } = given
  const sealedFor = stored[variant.secret] as StoredUpstreamSecret | undefined
  const target = secretTarget(settings)
  const kept = secret === undefined && sealedFor?.target === target ? sealedFor : undefined
  const missing = variant.required.filter((key) => {
    const value = key === variant.secret ? (secret ?? (kept && 'kept')) : settings[key]
    return typeof value !== 'string' || value === ''
  })
  if (missing.length > 0) {
    throw invalid(
      missing.map((key) => ({
        field: `settings.${key}`,
        code: 'required',
        message:
          key === variant.secret && sealedFor
            ? 'must be given again, because what it belongs to has changed.'
            : `is required as a non-empty string for the method ${method}.`,
      })),
    )
  }
  checkUpstream(context.config, method, settings)
  const secrets: StoredUpstreamSecret = kept ?? {
    sealed: context.sealer.seal(secret as string),
    target,
    ...(isUsableSecret(method, secret as string) ? {} : { unusable: true }),
  }
  return { settings, secrets: { [variant.secret]: secrets } }
}

/** Settings as answers show them: the secret is only said to be there. */
export function shownSettings(method: AuthMethod): JsonObject {
  const settings = isObject(method.settings) ? method.settings : {}
  if (!isUpstreamKind(method.method)) return settings
  const { secret } = federated[method.method]
  return { ...settings, [`${secret}_set`]: secret in (method.secrets as JsonObject) }
}

/** Why a stored method cannot be used yet, and how to fix it (decisions D35); null when it can. */
export const notReady = ({ method, settings, secrets }: AuthMethod): string | null =>
  notReadyReason({ method, settings: settings as JsonObject, secrets: secrets as MethodSettings['secrets'] }) ?? null

/** The newest authentication methods of several issuers, in one query. */
export async function authMethodsOf(
  context: Context,
  issuerIds: readonly string[],
  limit: number,
): Promise<Page<AuthMethod>[]> {
  const rows = await context.db.issuer.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...issuerIds] } },
    select: { id: true, authMethods: { orderBy: { id: 'desc' }, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.authMethods]))
  return issuerIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}
