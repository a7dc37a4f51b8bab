/**
 * Client settings (docs/contract.md#clients, docs/contract.md#token-lifetimes). Known keys are validated. Unknown keys
 * are kept, except in `openid.token_exchange`, where they are errors.
 */
import { z } from 'zod'
import { type ErrorDetail, invalidFields } from '../../kernel/errors.js'
import { checkInput, fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { isResourceUri } from '../../kernel/uri.js'
import { customClaimsRule } from '../claims/custom-claim-rules.js'
import { authenticationMethodErrors, authenticationRules } from './authentication-method.js'
import { type ApplicationType, redirectUriError, redirectUriErrors } from './redirect-uris.js'
import { registeredMetadataRules } from './registered-metadata.js'

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials', TOKEN_EXCHANGE] as const
export type GrantType = (typeof grantTypes)[number]

export const defaultTokenAges = {
  default_access_token_age: limits.defaultAccessTokenLifetimeSeconds,
  default_id_token_age: limits.defaultIdTokenLifetimeSeconds,
  default_refresh_token_age: limits.defaultRefreshTokenLifetimeSeconds,
} as const
type TokenAgeName = keyof typeof defaultTokenAges

const applicationTypes = ['web', 'spa', 'native', 'm2m'] as const
const algorithms = ['ES256', 'RS256', 'EdDSA'] as const

const ageRule = z
  .int('must be a whole number of seconds.')
  .min(1, 'must be at least 1 second.')
  .max(limits.maxTokenLifetimeSeconds, `must be at most ${limits.maxTokenLifetimeSeconds} seconds (21 days).`)
const ageRules = {
  default_access_token_age: ageRule.optional(),
  default_id_token_age: ageRule.optional(),
  default_refresh_token_age: ageRule.optional(),
}
const stringListRule = (max: number) =>
  z
    .array(fieldSchemas.text(limits.maxUrlLength), 'must be an array of strings.')
    .max(max, `must have at most ${max} entries.`)
const resourceRule = fieldSchemas.text(limits.maxUrlLength).refine(isResourceUri, {
  error: 'must be an absolute URI without a fragment.',
  params: { code: 'invalid_format' },
})
/** Resource indicators (RFC 8707) for which a client may request tokens. */
export const resourceRules = z
  .array(resourceRule, 'must be an array of URIs.')
  .max(limits.maxAllowedResources, `must have at most ${limits.maxAllowedResources} entries.`)
const exchangeResourcesRule = z
  .array(
    z.strictObject({
      resource: resourceRule,
      scopes: fieldSchemas.scopes.refine((list) => list.length > 0, 'must not be empty.'),
    }),
    'must be an array of {"resource": …, "scopes": […]}.',
  )
  .min(1, 'must not be empty.')
  .max(limits.maxExchangeResources, `must have at most ${limits.maxExchangeResources} entries.`)

const openidRules = z.looseObject(
  {
    application_type: z.enum(applicationTypes, `must be one of ${applicationTypes.join(', ')}.`).optional(),
    redirect_uris: stringListRule(limits.maxRedirectUris).optional(),
    post_logout_redirect_uris: stringListRule(limits.maxRedirectUris).optional(),
    grant_types: z
      .array(z.enum(grantTypes, `must be one of ${grantTypes.join(', ')}.`), 'must be an array of grant types.')
      .optional(),
    response_types: z
      .array(z.literal('code', 'must be code.'), 'must be an array of response types.')
      .max(1, 'must have at most 1 entry.')
      .optional(),
    ...authenticationRules,
    response_signature_alg: z.enum(algorithms, `must be one of ${algorithms.join(', ')}.`).optional(),
    allowed_audiences: stringListRule(limits.maxAllowedAudiences).optional(),
    allowed_resources: resourceRules.optional(),
    claims: customClaimsRule.optional(),
    token_exchange: z
      .strictObject(
        {
          subject_resources: exchangeResourcesRule,
          target_resources: exchangeResourcesRule,
          max_access_token_age: z
            .int('must be a whole number of seconds.')
            .min(
              limits.minExchangedTokenLifetimeSeconds,
              `must be at least ${limits.minExchangedTokenLifetimeSeconds} seconds.`,
            )
            .max(
              limits.maxExchangedTokenLifetimeSeconds,
              `must be at most ${limits.maxExchangedTokenLifetimeSeconds} seconds.`,
            )
            .optional(),
        },
        'must be an object.',
      )
      .nullable()
      .optional(),
    /** Whether the client must push its authorization requests (RFC 9126 section 6). */
    require_pushed_authorization_requests: fieldSchemas.boolean.optional(),
    backchannel_logout_uri: fieldSchemas.url.optional(),
    backchannel_logout_session_required: fieldSchemas.boolean.optional(),
    /** Whether each token request must have a DPoP proof (RFC 9449 section 5.2). */
    dpop_bound_access_tokens: fieldSchemas.boolean.optional(),
    ...registeredMetadataRules,
    ...ageRules,
  },
  'must be an object.',
)

const settingsRules = z.looseObject(
  {
    openid: openidRules.optional(),
    scopes: fieldSchemas.scopes.optional(),
    restrictions: z
      .looseObject({
        organizations: z
          .looseObject({
            policy: z.enum(['none', 'allowlist'], 'must be none or allowlist.').optional(),
            allowed_org_ids: z
              .array(fieldSchemas.text(limits.maxIdLength), 'must be an array of organization ids.')
              .max(
                limits.maxAllowedOrganizations,
                `must have at most ${limits.maxAllowedOrganizations.toLocaleString('en-US')} entries.`,
              )
              .optional(),
            /** Whether the user is asked to select an organization if the authorization request does not select one. */
            ask: fieldSchemas.boolean.optional(),
          })
          .optional(),
      })
      .optional(),
    ...ageRules,
  },
  'must be an object.',
)

export type ClientSettings = z.infer<typeof settingsRules>

/** Returns the settings of a stored client. */
export const clientSettingsOf = (client: { settings: unknown }): ClientSettings => client.settings as ClientSettings

/** Returns the application type. The default is `web` for confidential and `spa` for public clients. */
export function applicationType(client: { confidential: boolean; settings: unknown }): ApplicationType {
  return clientSettingsOf(client).openid?.application_type ?? (client.confidential ? 'web' : 'spa')
}

/** Returns the grant types of a client: `grant_types` of its settings, or the default for its application type. */
export function grantTypesOf(client: { confidential: boolean; settings: unknown }): readonly GrantType[] {
  const registeredGrantTypes = clientSettingsOf(client).openid?.grant_types
  return (
    registeredGrantTypes ??
    (applicationType(client) === 'm2m' ? ['client_credentials'] : ['authorization_code', 'refresh_token'])
  )
}

/**
 * Returns whether a client is a confidential machine-to-machine client without redirect URIs and response types, whose
 * only grant type is token exchange (docs/contract.md#token-exchange rule 3). Does not check the status or the token
 * exchange policy of the client.
 */
export function isTokenExchangeActor(client: { confidential: boolean; settings: unknown }): boolean {
  const { openid = {} } = clientSettingsOf(client)
  const grants = grantTypesOf(client)
  return (
    client.confidential &&
    applicationType(client) === 'm2m' &&
    grants.length === 1 &&
    grants[0] === TOKEN_EXCHANGE &&
    (openid.redirect_uris ?? []).length === 0 &&
    (openid.response_types ?? []).length === 0
  )
}

/**
 * Returns a token lifetime in seconds (docs/contract.md#token-lifetimes): the value at the top level of the settings or
 * in `openid`, otherwise the default.
 */
export function tokenAge(client: { settings: unknown }, name: TokenAgeName): number {
  const settings = clientSettingsOf(client)
  return settings[name] ?? settings.openid?.[name] ?? defaultTokenAges[name]
}

/**
 * Validates the settings of a client as a whole.
 * @throws invalid_request with one detail per error
 */
export function checkClientSettings(confidential: boolean, value: unknown): ClientSettings {
  const settings = checkInput(settingsRules, value, ['settings'])
  const errors = [...tokenAgeErrors(settings), ...openidErrors(confidential, settings)]
  if (errors.length > 0) throw invalidFields(errors)
  return settings
}

function tokenAgeErrors(settings: ClientSettings): ErrorDetail[] {
  return (Object.keys(defaultTokenAges) as TokenAgeName[]).flatMap((name) => {
    const [one, other] = [settings[name], settings.openid?.[name]]
    if (one === undefined || other === undefined || one === other) return []
    return [
      {
        field: `settings.${name}`,
        code: 'contradiction',
        message: `differs from settings.openid.${name}. Set only one of them.`,
      },
    ]
  })
}

function openidErrors(confidential: boolean, settings: ClientSettings): ErrorDetail[] {
  const client = { confidential, settings }
  const type = applicationType(client)
  const {
    redirect_uris = [],
    post_logout_redirect_uris = [],
    response_types = [],
    token_exchange,
    backchannel_logout_uri,
  } = settings.openid ?? {}
  const grants = grantTypesOf(client)
  const errors = [
    ...redirectUriErrors('settings.openid.redirect_uris', type, redirect_uris),
    ...redirectUriErrors('settings.openid.post_logout_redirect_uris', type, post_logout_redirect_uris),
    ...authenticationMethodErrors(confidential, settings.openid ?? {}, grants.includes(TOKEN_EXCHANGE)),
  ]
  const addError = (key: string, message: string) =>
    errors.push({ field: `settings.openid.${key}`, code: 'invalid_value', message })
  const logoutUriError = backchannel_logout_uri && redirectUriError('web', backchannel_logout_uri)
  if (logoutUriError) addError('backchannel_logout_uri', logoutUriError)
  if (type === 'm2m' && !confidential) addError('application_type', 'm2m requires a confidential client.')
  if (!confidential && grants.includes('client_credentials'))
    addError('grant_types', 'client_credentials requires a confidential client.')
  if (!confidential && grants.includes(TOKEN_EXCHANGE))
    addError('grant_types', 'token exchange requires a confidential client.')
  if (type === 'm2m' && grants.some((grant) => grant === 'authorization_code' || grant === 'refresh_token')) {
    addError(
      'grant_types',
      'a machine-to-machine client does not sign in users; remove authorization_code and refresh_token.',
    )
  }
  if (token_exchange) {
    // An actor of a token exchange has no other grant type (docs/contract.md#token-exchange rule 3).
    if (type !== 'm2m' || !confidential)
      addError('token_exchange', 'requires a confidential client with application_type m2m.')
    if (grants.length !== 1 || grants[0] !== TOKEN_EXCHANGE) {
      addError('grant_types', `must be exactly ["${TOKEN_EXCHANGE}"] for a client with token_exchange.`)
    }
    if (response_types.length > 0) addError('response_types', 'must be empty for a client with token_exchange.')
  }
  return errors
}
