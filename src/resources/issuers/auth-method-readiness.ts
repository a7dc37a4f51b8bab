/**
 * Readiness of authentication methods. A federated method can be stored although it cannot work with its settings; the
 * sign-in page offers it only when it is ready (docs/contract.md#configuration-health). The sign-in page, GraphQL and
 * health use this module.
 */
import { presetNames, presetOf } from './oauth2-presets.js'
import { isUpstreamKind, type UpstreamKind, upstreamKinds } from './upstream-settings.js'

/** Returns whether a method kind can be the first factor of a sign-in. */
export const isFirstFactorKind = (kind: string): boolean => kind !== 'totp' && kind !== 'backup_codes'

/** The part of an authentication method that determines its readiness. */
export interface MethodSettings {
  method: string
  settings: Record<string, unknown>
  /** The encrypted settings by name. Only the names and the flag `unusable` are read; the ciphertext may be missing. */
  secrets: Record<string, { unusable?: boolean }>
}

/** SQL expression for the `secrets` of the authentication method `m` without their ciphertext. */
export const secretsSql = `(SELECT coalesce(jsonb_object_agg(key, value - 'encrypted'), '{}') FROM jsonb_each(m.secrets))`

/**
 * Why a method is not ready and how to fix it, in one sentence each. `problem` can start with a lower-case field name.
 */
export interface ReadinessProblem {
  problem: string
  fix: string
}

/** Returns the problem of a method and its fix as one text; undefined if the method is ready. */
export function readinessMessage(method: MethodSettings): string | undefined {
  const reason = readinessProblem(method)
  return reason && `${reason.problem} ${reason.fix}`
}

/** Returns the problem of a method and its fix; undefined if the method is ready. */
export function readinessProblem({ method, settings, secrets }: MethodSettings): ReadinessProblem | undefined {
  if (!isUpstreamKind(method)) return undefined
  const { required, secret } = upstreamKinds[method]
  const isSet = (key: string) => (key === secret ? Object.hasOwn(secrets, key) : Boolean(settings[key]))
  const missing = required.filter((key) => !isSet(key))
  if (missing.length > 0)
    return {
      problem: missingFieldsMessage(missing),
      fix: `Add ${listOf(missing)} to the settings.`,
    }
  return readinessChecks[method]?.({ settings, secrets })
}

type ReadinessCheck = (method: Omit<MethodSettings, 'method'>) => ReadinessProblem | undefined

/** The kinds that need more than their required settings, with the check of each. */
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
      fix: 'Set private_key to the content of the .p8 file from Apple.',
    }
  },
}

const missingFieldsMessage = (keys: readonly string[]): string =>
  `${listOf(keys)} ${keys.length === 1 ? 'is' : 'are'} missing.`

/** Returns the names as an enumeration: `a`, `a and b`, `a, b and c`. */
function listOf(names: readonly string[]): string {
  const [last, ...others] = [...names].reverse()
  return others.length === 0 ? `${last}` : `${others.reverse().join(', ')} and ${last}`
}
