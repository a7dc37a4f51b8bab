/**
 * Settings of an issuer (spec 2.3, decisions D9, D26). The object is open: known keys are checked, unknown ones kept.
 */
import { z } from 'zod'
import { rules } from '../../kernel/input.js'
import { languages } from '../../kernel/language.js'
import { redirectUriRulesRules } from '../clients/redirect-uri-rules.js'
import { resourceRules } from '../clients/settings.js'

const wholeSeconds = z
  .int('must be a whole number of seconds.')
  .min(1, 'must be at least 1 second.')
  .max(31_536_000, 'must be at most one year.')
const count = (max: number) =>
  z.int('must be a whole number.').min(0, 'must not be negative.').max(max, `must be at most ${max}.`)
const domain = rules.text(253).regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i, 'must be a domain name.')
const colour = rules.text(9).regex(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i, 'must be a colour such as #1d4ed8.')
const origin = rules.text(2048).refine(isOrigin, {
  error: 'must be an origin such as https://app.example.com, without a path.',
  params: { code: 'invalid_format' },
})

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text
}

const passwordPolicy = z.looseObject({
  min_length: z
    .int('must be a whole number.')
    .min(8, 'must be at least 8.')
    .max(128, 'must be at most 128.')
    .optional(),
  max_length: z
    .int('must be a whole number.')
    .min(64, 'must be at least 64.')
    .max(1024, 'must be at most 1024.')
    .optional(),
  require_lowercase: rules.boolean.optional(),
  require_uppercase: rules.boolean.optional(),
  require_digit: rules.boolean.optional(),
  require_symbol: rules.boolean.optional(),
  disallow_common: rules.boolean.optional(),
  disallow_user_info: rules.boolean.optional(),
  history: count(24).optional(),
  max_age_days: z
    .int('must be a whole number.')
    .min(1, 'must be at least 1.')
    .max(3650, 'must be at most 3650.')
    .nullable()
    .optional(),
  check_breached: rules.boolean.optional(),
})

const organizationPolicies = ['all', 'selected', 'none'] as const

export const issuerSettingsRules = z.looseObject(
  {
    signup: z
      .looseObject({
        mode: z.enum(['open', 'invite_only'], 'must be open or invite_only.').optional(),
        allowed_domains: z.array(domain, 'must be an array of domain names.').optional(),
        blocked_domains: z.array(domain, 'must be an array of domain names.').optional(),
        require_email_verification: rules.boolean.optional(),
        require_admin_approval: rules.boolean.optional(),
      })
      .optional(),
    sessions: z
      .looseObject({
        absolute_lifetime: wholeSeconds.optional(),
        idle_timeout: wholeSeconds.optional(),
        device_fingerprinting: rules.boolean.optional(),
      })
      .optional(),
    security: z
      .looseObject({
        cors_origins: z
          .array(origin, 'must be an array of origins.')
          .max(100, 'must have at most 100 entries.')
          .optional(),
        redirect_uri_rules: redirectUriRulesRules.optional(),
        mfa_required: rules.boolean.optional(),
        password_policy: passwordPolicy
          .refine((policy) => (policy.min_length ?? 8) <= (policy.max_length ?? 128), {
            error: 'must not be larger than max_length.',
            path: ['min_length'],
          })
          .optional(),
        openid_policy: z
          .looseObject({
            client_id_metadata_document: z
              .looseObject({
                enabled: rules.boolean.optional(),
                organization_policy: z
                  .enum(organizationPolicies, `must be one of ${organizationPolicies.join(', ')}.`)
                  .optional(),
                /** What such clients may get tokens for besides themselves, with which scopes besides OpenID Connect's. */
                allowed_resources: resourceRules.optional(),
                allowed_scopes: rules.scopes.optional(),
              })
              .optional(),
          })
          .optional(),
      })
      .optional(),
    branding: z
      .looseObject({
        display_name: rules.text(200).nullable().optional(),
        logo_url: rules.url.optional(),
        language: z.enum(languages, `must be one of ${languages.join(', ')}.`).optional(),
        theme: z
          .looseObject({
            primary_color: colour.optional(),
            background_color: colour.optional(),
            text_color: colour.optional(),
          })
          .optional(),
      })
      .optional(),
  },
  'must be an object.',
)

export type IssuerSettings = z.infer<typeof issuerSettingsRules>

/** What a new issuer's settings say where the caller says nothing (spec 2.3). */
export const newIssuerSettings: IssuerSettings = {
  security: { openid_policy: { client_id_metadata_document: { enabled: false, organization_policy: 'all' } } },
}

/** What clients with a metadata document may do here (spec 2.3, 4.17). */
export const documentPolicyOf = (settings: IssuerSettings) =>
  settings.security?.openid_policy?.client_id_metadata_document

/** The settings of a stored issuer. */
export const settingsOf = (issuer: { settings: unknown }): IssuerSettings => issuer.settings as IssuerSettings
