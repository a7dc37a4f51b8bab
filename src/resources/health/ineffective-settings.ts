/** Finds stored settings of an issuer without effect: unknown settings, and settings that another setting overrides. */
import { z } from 'zod'
import { limits } from '../../kernel/limits.js'
import { isObject } from '../../kernel/merge-patch.js'
import { truncateText } from '../../kernel/text.js'
import { type IssuerSettings, issuerSettingsRules, metadataDocumentPolicyOf } from '../issuers/settings.js'
import type { IssuerFacts } from './health-facts.js'

export interface IneffectiveSetting {
  path: string
  /** The end of the sentence “{path} has no effect: it …”. */
  reason: string
  /** A sentence that describes the fix. */
  fix: string
}

/** Sections whose unknown keys are reported. In other sections, tenants may store their own keys. */
const checkedSections = ['security', 'signup', 'sessions'] as const

/** Returns the paths of the keys in a value that its rule does not contain. */
function unknownKeys(rule: unknown, value: unknown, path: string): string[] {
  const unwrapped = rule instanceof z.ZodOptional || rule instanceof z.ZodNullable ? rule.unwrap() : rule
  if (unwrapped !== rule) return unknownKeys(unwrapped, value, path)
  if (!(rule instanceof z.ZodObject) || !isObject(value)) return []
  return Object.entries(value).flatMap(([key, one]) => {
    const at = `${path}.${truncateText(key, 100)}`
    return Object.hasOwn(rule.shape, key) ? unknownKeys(rule.shape[key], one, at) : [at]
  })
}

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0

type SettingsCheck = (facts: { settings: IssuerSettings; methods: IssuerFacts['methods'] }) => IneffectiveSetting[]

const unknownSettings: SettingsCheck = ({ settings }) =>
  checkedSections
    .flatMap((section) => unknownKeys(issuerSettingsRules.shape[section], settings[section], `settings.${section}`))
    .map((path) => ({
      path,
      reason: 'is not a known setting',
      fix: 'Correct the name of the setting, or set the setting to null to remove it.',
    }))

const unusedPasswordPolicy: SettingsCheck = ({ settings: { security }, methods }) =>
  Object.keys(security?.password_policy ?? {}).length === 0 || methods.some(({ method }) => method === 'password')
    ? []
    : [
        {
          path: 'settings.security.password_policy',
          reason: 'applies only to passwords, but this issuer has no password method',
          fix: 'Add an authentication method of kind password, or set settings.security.password_policy to null.',
        },
      ]

const ineffectiveIdleTimeout: SettingsCheck = ({ settings: { sessions = {} } }) => {
  const { idle_timeout, absolute_lifetime = limits.defaultSessionLifetimeSeconds } = sessions
  if (idle_timeout === undefined || idle_timeout < absolute_lifetime) return []
  return [
    {
      path: 'settings.sessions.idle_timeout',
      reason: `is ${idle_timeout} seconds, but sessions end after ${absolute_lifetime} seconds anyway`,
      fix: 'Set settings.sessions.idle_timeout to less than settings.sessions.absolute_lifetime, or to null.',
    },
  ]
}

const ineffectiveSignupDomains: SettingsCheck = ({ settings: { signup = {} } }) =>
  (['allowed_domains', 'blocked_domains'] as const)
    .filter((key) => signup.mode === 'invite_only' && isFilled(signup[key]))
    .map((key) => ({
      path: `settings.signup.${key}`,
      reason: 'applies only to open sign-up, but sign-up is by invitation only',
      fix: `Set settings.signup.mode to open, or settings.signup.${key} to an empty array.`,
    }))

const unusedMetadataDocumentPolicy: SettingsCheck = ({ settings }) => {
  const policy = metadataDocumentPolicyOf(settings)
  const path = 'settings.security.openid_policy.client_id_metadata_document'
  return (['allowed_resources', 'allowed_scopes'] as const)
    .filter((key) => policy?.enabled !== true && isFilled(policy?.[key]))
    .map((key) => ({
      path: `${path}.${key}`,
      reason: 'applies only to client ID metadata documents, which are not enabled',
      fix: `Set ${path}.enabled to true, or ${path}.${key} to an empty array.`,
    }))
}

const unusedRegistrationPolicy: SettingsCheck = ({ settings }) => {
  const policy = settings.security?.openid_policy?.dynamic_registration
  const path = 'settings.security.openid_policy.dynamic_registration'
  return (['allowed_resources', 'allowed_scopes'] as const)
    .filter((key) => policy?.enabled !== true && isFilled(policy?.[key]))
    .map((key) => ({
      path: `${path}.${key}`,
      reason: 'applies only to dynamic client registration, which is not enabled',
      fix: `Set ${path}.enabled to true, or ${path}.${key} to an empty array.`,
    }))
}

const settingsChecks: readonly SettingsCheck[] = [
  unknownSettings,
  unusedPasswordPolicy,
  ineffectiveIdleTimeout,
  ineffectiveSignupDomains,
  unusedMetadataDocumentPolicy,
  unusedRegistrationPolicy,
]

/** Returns the settings without effect. @param facts the settings and authentication methods of an issuer */
export const ineffectiveSettings: SettingsCheck = (facts) => settingsChecks.flatMap((check) => check(facts))
