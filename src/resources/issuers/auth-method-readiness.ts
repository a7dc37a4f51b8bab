/**
 * Readiness of authentication methods. A federated method can be stored with incomplete settings; the sign-in page
 * offers it only when it is ready (docs/contract.md#configuration-health). The sign-in page, GraphQL and health use
 * this module.
 */
import { presetNames, presetOf } from './oauth2-presets.js'
import { isUpstreamKind, type UpstreamKind, upstreamKinds } from './upstream-settings.js'

/** Returns whether a method kind can be the first factor of a sign-in. */
export const isFirstFactorKind = (kind: string): boolean => kind !== 'totp' && kind !== 'backup_codes'

/** The part of an authentication method that determines its readiness. */
export interface MethodSettings {
  method: string
  settings: Record<string, unknown>
  /** The encrypted settings by name, with or without their ciphertext. */
  secrets: Record<string, { unusable?: boolean }>
}

/** SQL expression for the secrets of a method `m` without their ciphertext. */
export const secretsSql = `(SELECT coalesce(jsonb_object_agg(key, value - 'encrypted'), '{}') FROM jsonb_each(m.secrets))`

/** The problem and its fix, one sentence each. The problem can start with a field name in lower case. */
export interface ReadinessProblem {
  problem: string
  fix: string
}

/** @returns the problem and its fix, or undefined if the method is ready */
export function readinessMessage(method: MethodSettings): string | undefined {
  const reason = readinessProblem(method)
  return reason && `${reason.problem} ${reason.fix}`
}

/** @returns undefined if the method is ready */
export function readinessProblem({ method, settings, secrets }: MethodSettings): ReadinessProblem | undefined {
  if (!isUpstreamKind(method)) return undefined
  const { required, secret } = upstreamKinds[method]
  const isSet = (key: string) => (key === secret ? Object.hasOwn(secrets, key) : Boolean(settings[key]))
  const missing = required.filter((key) => !isSet(key))
  if (missing.length > 0)
    return {
      problem: missingFieldsMessage(missing),
      fix: `Add ${missing.length === 1 ? 'it' : 'them'} to the settings.`,
    }
  return readinessChecks[method]?.({ settings, secrets })
}

type ReadinessCheck = (method: Omit<MethodSettings, 'method'>) => ReadinessProblem | undefined

/** Checks beyond the required settings. */
const readinessChecks: Partial<Record<UpstreamKind, ReadinessCheck>> = {
  oauth2({ settings }) {
    if (presetOf(settings['provider'])) return undefined
    const missing = ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'].filter((key) => !settings[key])
    if (missing.length === 0) return undefined
    const known = `The provider is not one of ${presetNames.join(', ')}`
    const again = missing.includes('token_endpoint') ? ' and set client_secret again' : ''
    return { problem: missingFieldsMessage(missing), fix: `${known}; add its endpoints to the settings${again}.` }
  },

  apple({ secrets }) {
    if (secrets['private_key']?.unusable !== true) return undefined
    return {
      problem: 'private_key is not an EC P-256 private key in PEM form.',
      fix: 'Set it to the content of the .p8 file from Apple.',
    }
  },
}

function missingFieldsMessage(keys: readonly string[]): string {
  const [last, ...others] = [...keys].reverse()
  return others.length === 0 ? `${last} is missing.` : `${others.reverse().join(', ')} and ${last} are missing.`
}
