/** Settings of a client (spec 2.5, decisions D16, D26). Open: known keys are checked, unknown ones kept. */
import { z } from 'zod'
import { type Detail, invalid } from '../../kernel/errors.js'
import { check, rules } from '../../kernel/input.js'
import { isResourceUri } from '../../kernel/uri.js'
import { type ApplicationType, callbackFault, callbackFaults, MAX_CALLBACKS } from './callbacks.js'

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials', TOKEN_EXCHANGE] as const
export type GrantType = (typeof grantTypes)[number]

/** In seconds. */
export const MAX_TOKEN_AGE = 1_814_400
export const defaultAges = {
  default_access_token_age: 1800,
  default_id_token_age: 3600,
  default_refresh_token_age: 604_800,
} as const
type AgeName = keyof typeof defaultAges

const applicationTypes = ['web', 'spa', 'native', 'm2m'] as const
const algorithms = ['ES256', 'RS256', 'EdDSA'] as const

const age = z
  .int('must be a whole number of seconds.')
  .min(1, 'must be at least 1 second.')
  .max(MAX_TOKEN_AGE, `must be at most ${MAX_TOKEN_AGE} seconds (21 days).`)
const ages = {
  default_access_token_age: age.optional(),
  default_id_token_age: age.optional(),
  default_refresh_token_age: age.optional(),
}
const texts = (max: number) =>
  z.array(rules.text(2048), 'must be an array of strings.').max(max, `must have at most ${max} entries.`)
const resource = rules.text(2048).refine(isResourceUri, {
  error: 'must be an absolute URI without a fragment.',
  params: { code: 'invalid_format' },
})
/** Resources that tokens may be meant for (RFC 8707). */
export const resourceRules = z.array(resource, 'must be an array of URIs.').max(100, 'must have at most 100 entries.')
const exchangeTargets = z
  .array(
    z.strictObject({ resource, scopes: rules.scopes.refine((list) => list.length > 0, 'must not be empty.') }),
    'must be an array of {"resource": …, "scopes": […]}.',
  )
  .min(1, 'must not be empty.')
  .max(50, 'must have at most 50 entries.')

const openid = z.looseObject(
  {
    application_type: z.enum(applicationTypes, `must be one of ${applicationTypes.join(', ')}.`).optional(),
    redirect_uris: texts(MAX_CALLBACKS).optional(),
    post_logout_redirect_uris: texts(MAX_CALLBACKS).optional(),
    grant_types: z
      .array(z.enum(grantTypes, `must be one of ${grantTypes.join(', ')}.`), 'must be an array of grant types.')
      .optional(),
    response_types: z
      .array(z.literal('code', 'must be code.'), 'must be an array of response types.')
      .max(1, 'must have at most 1 entry.')
      .optional(),
    response_signature_alg: z.enum(algorithms, `must be one of ${algorithms.join(', ')}.`).optional(),
    allowed_audiences: texts(100).optional(),
    allowed_resources: resourceRules.optional(),
    token_exchange: z
      .strictObject(
        {
          subject_resources: exchangeTargets,
          target_resources: exchangeTargets,
          max_access_token_age: z
            .int('must be a whole number of seconds.')
            .min(30, 'must be at least 30 seconds.')
            .max(300, 'must be at most 300 seconds.')
            .optional(),
        },
        'must be an object.',
      )
      .nullable()
      .optional(),
    backchannel_logout_uri: rules.url.optional(),
    backchannel_logout_session_required: rules.boolean.optional(),
    ...ages,
  },
  'must be an object.',
)

const settingsRules = z.looseObject(
  {
    openid: openid.optional(),
    scopes: rules.scopes.optional(),
    restrictions: z
      .looseObject({
        organizations: z
          .looseObject({
            policy: z.enum(['none', 'allowlist'], 'must be none or allowlist.').optional(),
            allowed_org_ids: z
              .array(rules.text(64), 'must be an array of organization ids.')
              .max(1000, 'must have at most 1,000 entries.')
              .optional(),
            /** Are people to choose one of their organizations where a request selects none? */
            ask: rules.boolean.optional(),
          })
          .optional(),
      })
      .optional(),
    ...ages,
  },
  'must be an object.',
)

export type ClientSettings = z.infer<typeof settingsRules>

/** The settings of a stored client. */
export const settingsOf = (client: { settings: unknown }): ClientSettings => client.settings as ClientSettings

/** What kind of application this is; where nobody said so, a public client is a single-page application. */
export function applicationType(client: { confidential: boolean; settings: unknown }): ApplicationType {
  return settingsOf(client).openid?.application_type ?? (client.confidential ? 'web' : 'spa')
}

/** The grants that the client may use; where nobody said so, what its kind of application needs. */
export function grantTypesOf(client: { confidential: boolean; settings: unknown }): readonly GrantType[] {
  const given = settingsOf(client).openid?.grant_types
  return given ?? (applicationType(client) === 'm2m' ? ['client_credentials'] : ['authorization_code', 'refresh_token'])
}

/**
 * Is this client made for token exchange and nothing else (spec 4.18 rule 3)? Its status is another question, and so is
 * whether it is allowed anything.
 */
export function isActor(client: { confidential: boolean; settings: unknown }): boolean {
  const { openid = {} } = settingsOf(client)
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

/** A token lifetime in seconds (decisions D16): at the top of the settings, or under `openid`. */
export function tokenAge(client: { settings: unknown }, name: AgeName): number {
  const settings = settingsOf(client)
  return settings[name] ?? settings.openid?.[name] ?? defaultAges[name]
}

/**
 * Checks the merged settings of a client as a whole.
 * @throws invalid_request with one detail per fault
 */
export function checkSettings(confidential: boolean, value: unknown): ClientSettings {
  const settings = check(settingsRules, value, ['settings'])
  const faults = [...ageFaults(settings), ...openidFaults(confidential, settings)]
  if (faults.length > 0) throw invalid(faults)
  return settings
}

function ageFaults(settings: ClientSettings): Detail[] {
  return (Object.keys(defaultAges) as AgeName[]).flatMap((name) => {
    const [one, other] = [settings[name], settings.openid?.[name]]
    if (one === undefined || other === undefined || one === other) return []
    return [
      {
        field: `settings.${name}`,
        code: 'contradiction',
        message: `differs from settings.openid.${name}; keep one of them.`,
      },
    ]
  })
}

function openidFaults(confidential: boolean, settings: ClientSettings): Detail[] {
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
  const faults = [
    ...callbackFaults('settings.openid.redirect_uris', type, redirect_uris),
    ...callbackFaults('settings.openid.post_logout_redirect_uris', type, post_logout_redirect_uris),
  ]
  const fault = (key: string, message: string) =>
    faults.push({ field: `settings.openid.${key}`, code: 'invalid_value', message })
  const logoutFault = backchannel_logout_uri && callbackFault('web', backchannel_logout_uri)
  if (logoutFault) fault('backchannel_logout_uri', logoutFault)
  if (type === 'm2m' && !confidential) fault('application_type', 'm2m needs a confidential client.')
  if (!confidential && grants.includes('client_credentials'))
    fault('grant_types', 'client_credentials needs a confidential client.')
  if (!confidential && grants.includes(TOKEN_EXCHANGE))
    fault('grant_types', 'token exchange needs a confidential client.')
  if (type === 'm2m' && grants.some((grant) => grant === 'authorization_code' || grant === 'refresh_token')) {
    fault('grant_types', 'a machine-to-machine client signs nobody in; leave out authorization_code and refresh_token.')
  }
  if (token_exchange) {
    // Spec 4.18 rule 3: the actor does nothing else.
    if (type !== 'm2m' || !confidential) fault('token_exchange', 'needs a confidential client of application_type m2m.')
    if (grants.length !== 1 || grants[0] !== TOKEN_EXCHANGE) {
      fault('grant_types', `must be exactly ["${TOKEN_EXCHANGE}"] for a client with token_exchange.`)
    }
    if (response_types.length > 0) fault('response_types', 'must be empty for a client with token_exchange.')
  }
  return faults
}
