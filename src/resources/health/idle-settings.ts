/** Settings of an issuer that are stored and have no effect: those that nothing reads, and those that another one rules out. */
import { z } from 'zod'
import { isObject } from '../../kernel/merge.js'
import { startOf } from '../../kernel/text.js'
import { documentPolicyOf, type IssuerSettings, issuerSettingsRules } from '../issuers/settings.js'
import { DEFAULT_LIFETIME } from '../sessions/sessions.js'
import type { IssuerFacts } from './facts.js'

export interface IdleSetting {
  path: string
  /** A clause that follows the path. */
  reason: string
  /** A sentence. */
  fix: string
}

/** Sections whose unknown keys are mistakes. Tenants keep keys of their own beside them. */
const sections = ['security', 'signup', 'sessions'] as const

/** Paths of keys that are not in the rules, outermost first. */
function unknownKeys(rule: unknown, value: unknown, path: string): string[] {
  const inner = rule instanceof z.ZodOptional || rule instanceof z.ZodNullable ? rule.unwrap() : rule
  if (inner !== rule) return unknownKeys(inner, value, path)
  if (!(rule instanceof z.ZodObject) || !isObject(value)) return []
  return Object.entries(value).flatMap(([key, one]) => {
    const at = `${path}.${startOf(key, 100)}`
    return Object.hasOwn(rule.shape, key) ? unknownKeys(rule.shape[key], one, at) : [at]
  })
}

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0

type Look = (facts: { settings: IssuerSettings; methods: IssuerFacts['methods'] }) => IdleSetting[]

const unknown: Look = ({ settings }) =>
  sections
    .flatMap((section) => unknownKeys(issuerSettingsRules.shape[section], settings[section], `settings.${section}`))
    .map((path) => ({
      path,
      reason: 'is not a known setting',
      fix: 'Correct its name, or set it to null to remove it.',
    }))

const passwordPolicy: Look = ({ settings: { security }, methods }) =>
  Object.keys(security?.password_policy ?? {}).length === 0 || methods.some(({ method }) => method === 'password')
    ? []
    : [
        {
          path: 'settings.security.password_policy',
          reason: 'applies to passwords, and this issuer has no password method',
          fix: 'Add an authentication method of kind password, or set settings.security.password_policy to null.',
        },
      ]

const idleTimeout: Look = ({ settings: { sessions = {} } }) => {
  const { idle_timeout, absolute_lifetime = DEFAULT_LIFETIME } = sessions
  if (idle_timeout === undefined || idle_timeout < absolute_lifetime) return []
  return [
    {
      path: 'settings.sessions.idle_timeout',
      reason: `is ${idle_timeout} seconds, and sessions end after ${absolute_lifetime} seconds in any case`,
      fix: 'Set it below settings.sessions.absolute_lifetime, or to null.',
    },
  ]
}

const mailDomains: Look = ({ settings: { signup = {} } }) =>
  (['allowed_domains', 'blocked_domains'] as const)
    .filter((key) => signup.mode === 'invite_only' && isFilled(signup[key]))
    .map((key) => ({
      path: `settings.signup.${key}`,
      reason: 'applies to open sign-up, and sign-up is by invitation, where the invited address counts',
      fix: `Set settings.signup.mode to open, or settings.signup.${key} to an empty array.`,
    }))

const documents: Look = ({ settings }) => {
  const policy = documentPolicyOf(settings)
  const path = 'settings.security.openid_policy.client_id_metadata_document'
  return (['allowed_resources', 'allowed_scopes'] as const)
    .filter((key) => policy?.enabled !== true && isFilled(policy?.[key]))
    .map((key) => ({
      path: `${path}.${key}`,
      reason: 'applies to client ID metadata documents, which are not enabled',
      fix: `Set ${path}.enabled to true, or ${path}.${key} to an empty array.`,
    }))
}

const looks: readonly Look[] = [unknown, passwordPolicy, idleTimeout, mailDomains, documents]

/** @param facts the settings and authentication methods of an issuer */
export const idleSettings: Look = (facts) => looks.flatMap((look) => look(facts))
