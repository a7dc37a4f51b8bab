/**
 * Settings of federated authentication methods (docs/contract.md#authentication-methods): required fields, validation
 * and access to the encrypted secret. Unknown keys are kept.
 */
import { createPrivateKey } from 'node:crypto'
import { z } from 'zod'
import type { Config } from '../../config.js'
import { checkInput, fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { JsonObject } from '../../kernel/merge-patch.js'
import { isLoopback } from '../../kernel/uri.js'
import type { Context } from '../../platform/context.js'
import { issuerUrl } from '../issuer-url.js'
import type { InIssuer } from '../resource-path.js'
import type { OAuth2Provider } from './oauth2-presets.js'

export type UpstreamKind = 'oidc' | 'oauth2' | 'apple' | 'github'

/** The names of the required settings of each kind, and the name of the setting that is the secret. */
export const upstreamKinds: Readonly<Record<UpstreamKind, { required: readonly string[]; secret: string }>> = {
  oidc: { required: ['issuer_url', 'client_id', 'client_secret'], secret: 'client_secret' },
  oauth2: { required: ['provider', 'client_id', 'client_secret', 'redirect_uri'], secret: 'client_secret' },
  apple: { required: ['client_id', 'team_id', 'key_id', 'private_key'], secret: 'private_key' },
  github: { required: ['client_id', 'client_secret'], secret: 'client_secret' },
}

export const isUpstreamKind = (kind: string): kind is UpstreamKind => Object.hasOwn(upstreamKinds, kind)

/** The settings of a federated method after validation. The kind determines which of the optional keys can exist. */
export interface UpstreamSettings extends Partial<OAuth2Provider> {
  client_id: string
  /** Whether to link to an existing user with the same verified email; true if absent. */
  link_by_email?: boolean
  issuer_url?: string
  provider?: string
  redirect_uri?: string
  team_id?: string
  key_id?: string
  base_url?: string
}

const invalidFormat = { code: 'invalid_format' }

/**
 * Returns the rule of a URL, which must be https.
 * @param mayUseHttp returns whether a URL may be http; by default, if ALLOW_PRIVATE_NETWORKS is set
 */
const urlRule = ({ allowPrivateNetworks }: Config, mayUseHttp: (url: URL) => boolean = () => allowPrivateNetworks) =>
  z
    .string('must be a string.')
    .max(limits.maxUrlLength, `must have at most ${limits.maxUrlLength.toLocaleString('en-US')} characters.`)
    .refine(
      (text) => {
        const url = URL.canParse(text) ? new URL(text) : undefined
        const hasAllowedScheme = url && (url.protocol === 'https:' || (url.protocol === 'http:' && mayUseHttp(url)))
        return hasAllowedScheme && !url.username && !url.password && !url.hash && !/[\s\\]/.test(text)
      },
      {
        error: 'must be an https URL without a username, password, fragment, whitespace or backslash.',
        params: invalidFormat,
      },
    )
const urlWithoutQueryRule = (config: Config, mayUseHttp?: (url: URL) => boolean) =>
  urlRule(config, mayUseHttp).refine((text) => !text.includes('?'), {
    error: 'must not contain a query.',
    params: invalidFormat,
  })

const claimRule = z
  .string('must be a string.')
  .regex(/^[\w:/-]{1,100}(\.[\w:/-]{1,100}){0,3}$/, 'must be a field name; use a dot for a nested field.')
const tokenAuthMethodRule = z.enum(
  ['client_secret_basic', 'client_secret_post'],
  'must be client_secret_basic or client_secret_post.',
)
const sharedRules = {
  client_id: fieldSchemas.text(500),
  link_by_email: fieldSchemas.boolean.optional(),
  scopes: fieldSchemas.scopes.optional(),
}

const rulesByKind: Readonly<Record<UpstreamKind, (config: Config) => z.ZodType<object>>> = {
  oidc: (config) =>
    z.looseObject({
      ...sharedRules,
      issuer_url: urlWithoutQueryRule(config).refine((text) => !text.includes('/.well-known/'), {
        error: 'must be the issuer URL without /.well-known/…; discovery appends that path.',
        params: invalidFormat,
      }),
      token_endpoint_auth_method: tokenAuthMethodRule.optional(),
    }),

  oauth2: (config) =>
    z.looseObject({
      ...sharedRules,
      // The name of a preset, or any other name if the endpoints are set.
      provider: fieldSchemas.text(100),
      // http is allowed for loopback hosts, because the server never requests this URL and an IdP on a developer's
      // machine has no https.
      redirect_uri: urlWithoutQueryRule(config, ({ hostname }) => isLoopback(hostname)),
      authorization_endpoint: urlRule(config).optional(),
      token_endpoint: urlRule(config).optional(),
      userinfo_endpoint: urlRule(config).optional(),
      subject_claim: claimRule.optional(),
      email_claim: claimRule.optional(),
      email_verified_claim: claimRule.optional(),
      token_endpoint_auth_method: tokenAuthMethodRule.optional(),
      pkce: fieldSchemas.boolean.optional(),
    }),

  apple: (config) =>
    z.looseObject({
      ...sharedRules,
      team_id: fieldSchemas.text(100),
      key_id: fieldSchemas.text(100),
      // Apple has one issuer URL. Tests, which set ALLOW_PRIVATE_NETWORKS, replace it.
      issuer_url: config.allowPrivateNetworks
        ? urlWithoutQueryRule(config).optional()
        : z.undefined('cannot be set, because Apple has only one issuer URL.').optional(),
    }),

  github: (config) => z.looseObject({ ...sharedRules, base_url: urlWithoutQueryRule(config).optional() }),
}

/**
 * Validates the settings of a federated method, without its secret.
 * @throws invalid_request with one detail per error
 */
export function checkUpstreamSettings(config: Config, kind: UpstreamKind, settings: JsonObject): void {
  checkInput(rulesByKind[kind](config), settings, ['settings'])
}

/** Returns whether the secret has a valid format. For Apple it must be an EC P-256 private key in PEM form (ES256). */
export function isUsableSecret(kind: UpstreamKind, secret: string): boolean {
  if (kind !== 'apple') return true
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(secret)
    return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    return false
  }
}

/**
 * Returns a text that identifies where the secret is sent: the URLs or the preset in the settings or, without any
 * (Apple, github.com), the client ID. If the text changes, the secret must be given again
 * (docs/contract.md#secret-storage).
 */
export function secretTarget(settings: JsonObject): string {
  const { issuer_url, provider, token_endpoint, base_url, client_id } = settings
  const targetParts = [issuer_url, provider, token_endpoint, base_url].filter((part) => part !== undefined)
  return targetParts.length > 0 ? targetParts.map(String).join(' ') : String(client_id ?? '')
}

/** Returns the redirect URI to register with the provider. It has the host of IDP_URL, also for custom domains. */
export const upstreamRedirectUri = (config: Config, issuerId: string, methodId: string): string =>
  `${issuerUrl(config, issuerId)}/callback/${methodId}`

/**
 * Decrypts the secret of a federated method.
 * @returns undefined if the method does not exist, is not federated or has no secret
 */
export async function decryptUpstreamSecret(
  context: Context,
  { accountId, issuerId }: InIssuer,
  methodId: string,
): Promise<string | undefined> {
  const row = await context.db.authMethod.findFirst({
    where: { id: methodId, accountId, issuerId },
    select: { method: true, secrets: true },
  })
  if (!row || !isUpstreamKind(row.method)) return undefined
  const stored = (row.secrets as JsonObject)[upstreamKinds[row.method].secret] as { encrypted: string } | undefined
  return stored && context.encryptor.decrypt(stored.encrypted)
}
