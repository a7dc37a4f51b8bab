/**
 * Issuer settings (docs/contract.md#issuer-settings). Known keys are validated. Unknown keys are kept, except in
 * `security.redirect_uri_rules`, where they are errors.
 */
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { languages } from '../../kernel/language.js'
import { limits } from '../../kernel/limits.js'
import { customClaimsRule } from '../claims/custom-claim-rules.js'
import { clientAssertionsSchema } from '../clients/authentication-method.js'
import { redirectUriRulesSchema } from '../clients/redirect-uri-rules.js'
import { resourceRules } from '../clients/settings.js'

const wholeSeconds = z
  .int('must be a whole number of seconds.')
  .min(1, 'must be at least 1 second.')
  .max(limits.maxSessionSettingSeconds, 'must be at most one year.')
const countRule = (max: number) =>
  z.int('must be a whole number.').min(0, 'must not be negative.').max(max, `must be at most ${max}.`)
const domainRule = fieldSchemas
  .text(limits.maxHostLength)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i, 'must be a domain name.')
const colorRule = fieldSchemas.text(9).regex(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i, 'must be a color such as #1d4ed8.')
const originRule = fieldSchemas.text(limits.maxUrlLength).refine(isOrigin, {
  error: 'must be an origin such as https://app.example.com, without a path.',
  params: { code: 'invalid_format' },
})

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text
}

const passwordPolicyRule = z.looseObject({
  min_length: z
    .int('must be a whole number.')
    .min(limits.lowestPasswordMinLength, `must be at least ${limits.lowestPasswordMinLength}.`)
    .max(limits.highestPasswordMinLength, `must be at most ${limits.highestPasswordMinLength}.`)
    .optional(),
  max_length: z
    .int('must be a whole number.')
    .min(limits.lowestPasswordMaxLength, `must be at least ${limits.lowestPasswordMaxLength}.`)
    .max(limits.maxPasswordLength, `must be at most ${limits.maxPasswordLength}.`)
    .optional(),
  require_lowercase: fieldSchemas.boolean.optional(),
  require_uppercase: fieldSchemas.boolean.optional(),
  require_digit: fieldSchemas.boolean.optional(),
  require_symbol: fieldSchemas.boolean.optional(),
  disallow_common: fieldSchemas.boolean.optional(),
  disallow_user_info: fieldSchemas.boolean.optional(),
  history: countRule(limits.maxPasswordHistory).optional(),
  max_age_days: z
    .int('must be a whole number.')
    .min(1, 'must be at least 1.')
    .max(limits.maxPasswordAgeDays, `must be at most ${limits.maxPasswordAgeDays}.`)
    .nullable()
    .optional(),
  check_breached: fieldSchemas.boolean.optional(),
})

const organizationPolicies = ['all', 'selected', 'none'] as const

/** Dynamic client registration (docs/contract.md#dynamic-client-registration). */
const dynamicRegistrationRules = z.looseObject({
  enabled: fieldSchemas.boolean.optional(),
  /** Whether a client needs an initial access token to register itself; true if absent. */
  initial_access_token_required: fieldSchemas.boolean.optional(),
  /** Scopes that registered clients may have in addition to those of OpenID Connect. */
  allowed_scopes: fieldSchemas.scopes.optional(),
  /** Resources (RFC 8707) that registered clients may request, in addition to those in their own settings. */
  allowed_resources: resourceRules.optional(),
})

export const issuerSettingsRules = z.looseObject(
  {
    signup: z
      .looseObject({
        mode: z.enum(['open', 'invite_only'], 'must be open or invite_only.').optional(),
        allowed_domains: z.array(domainRule, 'must be an array of domain names.').optional(),
        blocked_domains: z.array(domainRule, 'must be an array of domain names.').optional(),
        require_email_verification: fieldSchemas.boolean.optional(),
        require_admin_approval: fieldSchemas.boolean.optional(),
      })
      .optional(),
    sessions: z
      .looseObject({
        absolute_lifetime: wholeSeconds.optional(),
        idle_timeout: wholeSeconds.optional(),
        device_fingerprinting: fieldSchemas.boolean.optional(),
      })
      .optional(),
    security: z
      .looseObject({
        cors_origins: z
          .array(originRule, 'must be an array of origins.')
          .max(limits.maxCorsOrigins, `must have at most ${limits.maxCorsOrigins} entries.`)
          .optional(),
        redirect_uri_rules: redirectUriRulesSchema.optional(),
        mfa_required: fieldSchemas.boolean.optional(),
        password_policy: passwordPolicyRule
          .refine((policy) => (policy.min_length ?? 8) <= (policy.max_length ?? 128), {
            error: 'must not be larger than max_length.',
            path: ['min_length'],
          })
          .optional(),
        openid_policy: z
          .looseObject({
            /** The security profile that every client of the issuer must follow; null for none. */
            profile: z.literal('fapi2', 'must be fapi2 or null.').nullable().optional(),
            client_id_metadata_document: z
              .looseObject({
                enabled: fieldSchemas.boolean.optional(),
                organization_policy: z
                  .enum(organizationPolicies, `must be one of ${organizationPolicies.join(', ')}.`)
                  .optional(),
                /** Resources (RFC 8707) that clients with a metadata document may request. */
                allowed_resources: resourceRules.optional(),
                /** Scopes that clients with a metadata document may request in addition to those of OpenID Connect. */
                allowed_scopes: fieldSchemas.scopes.optional(),
              })
              .optional(),
            client_assertions: clientAssertionsSchema.optional(),
            dynamic_registration: dynamicRegistrationRules.optional(),
          })
          .optional(),
      })
      .optional(),
    openid: z.looseObject({ claims: customClaimsRule.optional() }).optional(),
    branding: z
      .looseObject({
        display_name: fieldSchemas.text(limits.maxNameLength).nullable().optional(),
        logo_url: fieldSchemas.url.optional(),
        language: z.enum(languages, `must be one of ${languages.join(', ')}.`).optional(),
        theme: z
          .looseObject({
            primary_color: colorRule.optional(),
            background_color: colorRule.optional(),
            text_color: colorRule.optional(),
          })
          .optional(),
      })
      .optional(),
  },
  'must be an object.',
)

export type IssuerSettings = z.infer<typeof issuerSettingsRules>

/** Default settings of a new issuer (docs/contract.md#issuers). */
export const defaultIssuerSettings: IssuerSettings = {
  security: { openid_policy: { client_id_metadata_document: { enabled: false, organization_policy: 'all' } } },
}

/** Returns the policy for clients with a metadata document (docs/contract.md#client-id-metadata-documents). */
export const metadataDocumentPolicyOf = (settings: IssuerSettings) =>
  settings.security?.openid_policy?.client_id_metadata_document

/** Returns the policy for dynamic client registration, with its defaults. */
export function dynamicRegistrationPolicyOf(settings: IssuerSettings) {
  const policy = settings.security?.openid_policy?.dynamic_registration ?? {}
  return {
    enabled: policy.enabled === true,
    isTokenRequired: policy.initial_access_token_required !== false,
    allowedScopes: policy.allowed_scopes ?? [],
    allowedResources: policy.allowed_resources ?? [],
  }
}

/** The lists of scopes that settings of an issuer grant to clients that no administrator has created. */
export const unmanagedClientScopes: readonly ((settings: IssuerSettings) => readonly string[])[] = [
  (settings) => metadataDocumentPolicyOf(settings)?.allowed_scopes ?? [],
  (settings) => dynamicRegistrationPolicyOf(settings).allowedScopes,
]

/** Returns the settings of a stored issuer. */
export const issuerSettingsOf = (issuer: { settings: unknown }): IssuerSettings => issuer.settings as IssuerSettings

/** Returns whether the issuer requires the FAPI 2.0 Security Profile (docs/contract.md#fapi-20-security-profile). */
export const isFapi2 = (settings: IssuerSettings): boolean => settings.security?.openid_policy?.profile === 'fapi2'
