/**
 * How a client authenticates: the settings `openid.token_endpoint_auth_method`, `openid.jwks` and `openid.jwks_uri`
 * (docs/contract.md#client-assertions), and the setting of the issuer that allows client assertions.
 */
import { z } from 'zod'
import { canonicalJson } from '../../kernel/canonical-json.js'
import { type ErrorDetail, invalidField } from '../../kernel/errors.js'
import { fieldSchemas } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import { jwksRule, jwksUriRule, requireAllowedJwksUri } from './public-key-sets.js'

/** The authentication methods (OpenID Connect Core 1.0 section 9), in the order of messages. */
const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const

/** The keys of `settings.openid` that say how a client authenticates. */
export const authenticationRules = {
  token_endpoint_auth_method: z.enum(methods, `must be one of ${methods.join(', ')}.`).optional(),
  jwks: jwksRule.optional(),
  jwks_uri: jwksUriRule.optional(),
}

/** `settings.security.openid_policy.client_assertions` of an issuer. */
export const clientAssertionsSchema = z.looseObject({ enabled: fieldSchemas.boolean.optional() }, 'must be an object.')

const authenticationSchema = z.looseObject(authenticationRules)
type AuthenticationSettings = z.infer<typeof authenticationSchema>

/** The settings of a client, as far as they say how it authenticates. */
interface Settings {
  openid?: AuthenticationSettings | undefined
}

/** Returns whether a client authenticates with `private_key_jwt`, and therefore has no secret. */
export const usesPrivateKeyJwt = (settings: Settings): boolean =>
  settings.openid?.token_endpoint_auth_method === 'private_key_jwt'

/**
 * Returns the errors of the authentication method and the keys.
 * @param exchangesTokens whether the client may use the token exchange grant
 */
export function authenticationMethodErrors(
  confidential: boolean,
  { token_endpoint_auth_method: method, jwks, jwks_uri }: AuthenticationSettings,
  exchangesTokens: boolean,
): ErrorDetail[] {
  const error = (key: keyof typeof authenticationRules, message: string): ErrorDetail => ({
    field: `settings.openid.${key}`,
    code: 'invalid_value',
    message,
  })
  if (method === 'none' && confidential)
    return [error('token_endpoint_auth_method', 'none is only for public clients. Use another method.')]
  if (method !== undefined && method !== 'none' && !confidential)
    return [error('token_endpoint_auth_method', `${method} requires a confidential client. Use none or omit it.`)]
  if (method !== 'private_key_jwt') {
    const message = 'requires token_endpoint_auth_method private_key_jwt. Remove it, or change the method.'
    return [...(jwks ? [error('jwks', message)] : []), ...(jwks_uri !== undefined ? [error('jwks_uri', message)] : [])]
  }
  if (exchangesTokens)
    return [
      error('token_endpoint_auth_method', 'token exchange requires client_secret_basic (docs/token-exchange.md).'),
    ]
  if (jwks && jwks_uri !== undefined) return [error('jwks_uri', 'is not allowed together with jwks. Set only one.')]
  if (!jwks && jwks_uri === undefined)
    return [error('jwks', 'or jwks_uri is required with token_endpoint_auth_method private_key_jwt.')]
  return []
}

/**
 * Returns whether an issuer accepts client assertions (docs/contract.md#client-assertions), which the profile `fapi2`
 * requires.
 */
export function areClientAssertionsEnabled({ settings }: { settings: unknown }): boolean {
  const { security } = settings as {
    security?: { openid_policy?: { client_assertions?: z.infer<typeof clientAssertionsSchema>; profile?: unknown } }
  }
  const { client_assertions, profile } = security?.openid_policy ?? {}
  return client_assertions?.enabled === true || profile === 'fapi2'
}

/**
 * Requires that an issuer accepts client assertions.
 * @param field the field of the request that would have no effect otherwise
 * @throws invalid_request naming the setting of the issuer
 */
export function requireClientAssertionsEnabled(issuer: { settings: unknown }, field: string, value: string): void {
  if (areClientAssertionsEnabled(issuer)) return
  throw invalidField(
    field,
    'not_enabled',
    `${value} requires that the issuer has settings.security.openid_policy.client_assertions.enabled true.`,
  )
}

/**
 * Checks the authentication method of new or changed settings against the issuer and the rules of outbound requests.
 * @param before the settings before the change; undefined for a new client
 * @throws invalid_request
 */
export function requireUsableAuthenticationMethod(
  context: Context,
  issuer: { settings: unknown },
  after: Settings,
  before?: Settings,
): void {
  if (!usesPrivateKeyJwt(after)) return
  if (!before || !usesPrivateKeyJwt(before))
    requireClientAssertionsEnabled(issuer, 'settings.openid.token_endpoint_auth_method', 'private_key_jwt')
  const { jwks_uri } = after.openid ?? {}
  if (jwks_uri !== undefined && jwks_uri !== before?.openid?.jwks_uri)
    requireAllowedJwksUri(context, 'settings.openid.jwks_uri', jwks_uri)
}

/**
 * Returns whether a change replaces a credential of a client: its authentication method or keys. Such a change requires
 * the same as a rotation of the secret: the scopes of the client (docs/contract.md#authority-for-changes) and a recent
 * sign-in (docs/contract.md#recent-sign-in).
 */
export function changesAuthentication(before: Settings, after: Settings): boolean {
  const partsOf = ({ openid = {} }: Settings) =>
    Object.keys(authenticationRules).map((key) => openid[key as keyof typeof authenticationRules] ?? null)
  return canonicalJson(partsOf(before)) !== canonicalJson(partsOf(after))
}
