/**
 * Settings of the methods that let people in through another provider (spec 2.4): what each kind needs, what its values
 * must look like, and where its sealed secret is read. Unknown keys are kept (decisions D26).
 */
import { createPrivateKey } from 'node:crypto'
import { z } from 'zod'
import type { Config } from '../../config.js'
import { check, rules } from '../../kernel/input.js'
import type { JsonObject } from '../../kernel/merge.js'
import { isLoopback } from '../../kernel/uri.js'
import type { Context } from '../../platform/context.js'
import { issuerUrl } from '../issuer-url.js'
import type { InIssuer } from '../place.js'
import type { OAuth2Provider } from './oauth2-presets.js'

export type UpstreamKind = 'oidc' | 'oauth2' | 'apple' | 'github'

/** What each kind cannot do without, and which of it is the secret. */
export const federated: Readonly<Record<UpstreamKind, { required: readonly string[]; secret: string }>> = {
  oidc: { required: ['issuer_url', 'client_id', 'client_secret'], secret: 'client_secret' },
  oauth2: { required: ['provider', 'client_id', 'client_secret', 'redirect_uri'], secret: 'client_secret' },
  apple: { required: ['client_id', 'team_id', 'key_id', 'private_key'], secret: 'private_key' },
  github: { required: ['client_id', 'client_secret'], secret: 'client_secret' },
}

export const isUpstreamKind = (kind: string): kind is UpstreamKind => Object.hasOwn(federated, kind)

/** The settings as they stand once checked; `oidc`, `apple`, `github` and `oauth2` have some keys each. */
export interface UpstreamSettings extends Partial<OAuth2Provider> {
  client_id: string
  /** May a confirmed address lead to a user who has the same one, confirmed as well? True if not said. */
  link_by_email?: boolean
  issuer_url?: string
  provider?: string
  redirect_uri?: string
  team_id?: string
  key_id?: string
  base_url?: string
}

const invalidFormat = { code: 'invalid_format' }

/** An address that is called or that people are sent to. @param plain may it be http? */
const address = ({ allowPrivateNetworks }: Config, plain: (url: URL) => boolean = () => allowPrivateNetworks) =>
  z
    .string('must be a string.')
    .max(2048, 'must have at most 2,048 characters.')
    .refine(
      (text) => {
        const url = URL.canParse(text) ? new URL(text) : undefined
        const fits = url && (url.protocol === 'https:' || (url.protocol === 'http:' && plain(url)))
        return fits && !url.username && !url.password && !url.hash && !/[\s\\]/.test(text)
      },
      { error: 'must be an https URL without credentials and fragment.', params: invalidFormat },
    )
const withoutQuery = (config: Config, plain?: (url: URL) => boolean) =>
  address(config, plain).refine((text) => !text.includes('?'), { error: 'must have no query.', params: invalidFormat })

const claim = z
  .string('must be a string.')
  .regex(/^[\w:/-]{1,100}(\.[\w:/-]{1,100}){0,3}$/, 'must be the name of a member; a dot leads into an object.')
const authMethod = z.enum(
  ['client_secret_basic', 'client_secret_post'],
  'must be client_secret_basic or client_secret_post.',
)
const shared = {
  client_id: rules.text(500),
  link_by_email: rules.boolean.optional(),
  scopes: rules.scopes.optional(),
}

const rulesOf: Readonly<Record<UpstreamKind, (config: Config) => z.ZodType<object>>> = {
  oidc: (config) =>
    z.looseObject({
      ...shared,
      issuer_url: withoutQuery(config).refine((text) => !text.includes('/.well-known/'), {
        error: 'must be the issuer itself, without /.well-known/…: discovery finds the rest.',
        params: invalidFormat,
      }),
      token_endpoint_auth_method: authMethod.optional(),
    }),

  oauth2: (config) =>
    z.looseObject({
      ...shared,
      // A preset, or any other name; that one can be used once it comes with endpoints.
      provider: rules.text(100),
      // The server never requests it, and an IdP on a developer's machine has no https.
      redirect_uri: withoutQuery(config, ({ hostname }) => isLoopback(hostname)),
      authorization_endpoint: address(config).optional(),
      token_endpoint: address(config).optional(),
      userinfo_endpoint: address(config).optional(),
      subject_claim: claim.optional(),
      email_claim: claim.optional(),
      email_verified_claim: claim.optional(),
      token_endpoint_auth_method: authMethod.optional(),
      pkce: rules.boolean.optional(),
    }),

  apple: (config) =>
    z.looseObject({
      ...shared,
      team_id: rules.text(100),
      key_id: rules.text(100),
      // Apple has one address; another one is for tests, which need to reach this machine.
      issuer_url: config.allowPrivateNetworks
        ? withoutQuery(config).optional()
        : z.undefined('cannot be set: Apple has one address.').optional(),
    }),

  github: (config) => z.looseObject({ ...shared, base_url: withoutQuery(config).optional() }),
}

/**
 * Checks the settings of one kind.
 * @throws invalid_request with a detail per fault
 */
export function checkUpstream(config: Config, kind: UpstreamKind, settings: JsonObject): void {
  check(rulesOf[kind](config), settings, ['settings'])
}

/** Can this secret be used? Any client secret can; Apple's must be an EC P-256 private key in PEM form (ES256). */
export function isUsableSecret(kind: UpstreamKind, secret: string): boolean {
  if (kind !== 'apple') return true
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(secret)
    return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    return false
  }
}

/** Whom the secret is for: when that changes, the secret must be given again (security rule 19). */
export function secretTarget(settings: JsonObject): string {
  const { issuer_url, provider, token_endpoint, base_url, client_id } = settings
  const named = [issuer_url, provider, token_endpoint, base_url].filter((part) => part !== undefined)
  return named.length > 0 ? named.map(String).join(' ') : String(client_id ?? '')
}

/** Where a provider sends the browser back to, whichever custom domain it came from: to be registered there. */
export const callbackUrl = (config: Config, issuerId: string, methodId: string): string =>
  `${issuerUrl(config, issuerId)}/callback/${methodId}`

/**
 * The secret of a method, in the clear.
 * @returns undefined when the method has gone meanwhile
 */
export async function openUpstreamSecret(
  context: Context,
  { accountId, issuerId }: InIssuer,
  methodId: string,
): Promise<string | undefined> {
  const row = await context.db.authMethod.findFirst({
    where: { id: methodId, accountId, issuerId },
    select: { method: true, secrets: true },
  })
  if (!row || !isUpstreamKind(row.method)) return undefined
  const kept = (row.secrets as JsonObject)[federated[row.method].secret] as { sealed: string } | undefined
  return kept && context.sealer.open(kept.sealed)
}
